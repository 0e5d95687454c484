// jspsych.js: a private question as a trial of jsPsych 8. The data get the report, and no response time.
//
//   import ExtremalPlugin from "./jspsych.js";
//   { type: ExtremalPlugin, text: "…", question: "drinks at work, 2026", person: participant, mechanism: "mechanism.json" }
//
// jsPsych adds time_elapsed to every trial: leave it out of what you store. Needs elements.js. Licence: Apache-2.0.

import { questionOf } from "./elements.js";

const optional = { default: null };

export default class ExtremalPlugin {
  static info = {
    name: "extremal-question",
    version: "1",
    parameters: {
      answers: optional, // texts of the answers, by their labels
      button_label: { default: "Continue" },
      collector: optional,
      lang: optional,
      link: optional,
      mechanism: optional, // the address of a mechanism file, or what it holds
      person: optional, // who answers, where several people share a browser
      question: optional, // under this name the browser keeps the report
      src: optional, // the address of a page for <extremal-frame>, in place of the others
      text: optional,
      together: optional,
    },
    data: { report: {}, skipped: {} },
  };

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  trial(display, settings) {
    const element = questionOf(settings);
    const go = Object.assign(document.createElement("button"), { type: "button", textContent: settings.button_label });
    go.className = "jspsych-btn";
    go.hidden = true;
    element.addEventListener("change", () => { go.hidden = element.report === undefined && !element.skipped; });
    go.addEventListener("click", () => {
      this.jsPsych.finishTrial({ report: element.report ?? null, skipped: element.skipped });
    });
    display.replaceChildren(element, go);
  }
}
