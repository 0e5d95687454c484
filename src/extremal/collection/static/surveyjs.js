// surveyjs.js: the question type "extremal" for SurveyJS. The survey gets the report.
//
//   import * as SurveyCore from "survey-core";
//   import { register } from "./surveyjs.js";
//   register(SurveyCore);
//   { type: "extremal", name: "drinks", title: "…", question: "drinks at work, 2026", mechanism: "mechanism.json" }
//
// Needs elements.js. Licence: Apache-2.0.

import { configure, questionOf } from "./elements.js";

const TYPE = "extremal";
const PROPERTIES = ["answers:value", "collector", "link", "mechanism:value", "person", "question", "src", "together:number"];

/** Teaches a survey-core, given as the module, the question type; once is enough. */
export function register({ CustomWidgetCollection, ElementFactory, Question, Serializer }) {
  if (Serializer.findClass(TYPE)) return;

  class QuestionExtremal extends Question {
    constructor(name) {
      super(name);
      this.titleLocation = "hidden"; // the element shows the title, next to what it means to answer
    }

    getType() {
      return TYPE;
    }

    /** A survey that is cleared, to begin anew, gets the report again: the browser makes no other. */
    onSurveyValueChanged(value) {
      super.onSurveyValueChanged(value);
      setTimeout(() => {
        if (this.isValueEmpty(this.value) && this.asked?.report !== undefined) this.value = this.asked.report;
      });
    }

    /** Whoever skips a required question may go on. */
    isEmpty() {
      return !this.skipped && super.isEmpty();
    }
  }

  const make = (name) => new QuestionExtremal(name);
  Serializer.addClass(TYPE, PROPERTIES, () => make(""), "question");
  ElementFactory.Instance.registerElement(TYPE, make);
  CustomWidgetCollection.Instance.addCustomWidget({
    name: TYPE,
    isFit: (question) => question.getType() === TYPE,
    afterRender(question, place) {
      const element = place.firstElementChild;
      if (element) configure(element, settings(question));
      else place.append(connected(question));
    },
    willUnmount(question, place) {
      question.asked = null;
      place.replaceChildren();
    },
  }, "customtype");
}

function settings(question) {
  const given = Object.fromEntries(PROPERTIES.map((property) => property.split(":")[0]).map((name) => [name, question[name]]));
  return { ...given, lang: question.survey.getLocale() || "en", text: question.locTitle.renderedHtml };
}

/** The element of a question, which tells it what becomes of it. */
function connected(question) {
  const element = questionOf(settings(question));
  question.asked = element;
  element.addEventListener("change", () => {
    question.skipped = element.skipped;
    question.value = element.report;
  });
  return element;
}
