// elements.js: <extremal-question> asks a private question inside somebody else's form, <extremal-frame> shows one that
// another site asks. The form gets the report, drawn on the device of the person who answers, and nothing else.
//
//   <script type="module" src="elements.js"></script>
//   <extremal-question name="drinks" question="drinks at work, 2026" mechanism="mechanism.json"
//     text="How often did you drink at work last month?"></extremal-question>
//
// The answer is the state of a radio button in a closed shadow root. It is read once, when the report is drawn, and
// erased. Nothing that the page around sees depends on it: no attribute, part, size, event or message. A program on that
// page can still watch where people tap and type; <extremal-frame> keeps those of a page that is not trusted away.
// Needs extremal.js, texts.js and words.js beside it, and nothing else. Licence: Apache-2.0.

import { ExtremalError, kept, load } from "./extremal.js";
import texts from "./texts.js";
import { button as pressed, labelText, make, quoted, rounded, rulesOut, senders, sendings, speaker } from "./words.js";

export { labelText, texts };

const CERTAIN = 20; // a guess that gets so many times as likely to be right may be all but certain
const SETTINGS = ["answers", "collector", "hosts", "link", "mechanism", "person", "question", "text", "together"];
// Would leave the shadow root and say where somebody tapped, or which key they pressed.
const EVENTS = [
  "auxclick", "beforeinput", "change", "click", "contextmenu", "copy", "cut", "dblclick", "dragstart", "input", "keydown",
  "keypress", "keyup", "mousedown", "mousemove", "mouseout", "mouseover", "mouseup", "paste", "pointercancel",
  "pointerdown", "pointermove", "pointerout", "pointerover", "pointerrawupdate", "pointerup", "select", "selectstart",
  "touchcancel", "touchend", "touchmove", "touchstart", "wheel",
];
const CROSSINGS = ["mouseenter", "mouseleave", "pointerenter", "pointerleave"]; // told to the element itself
// Whether an answer is chosen changes colours and never sizes: the page around can measure them.
const STYLE = `
  :host { display: block; max-width: 42rem; margin-inline: auto; }
  :host([hidden]) { display: none; }
  [part~="box"] { background: var(--extremal-paper, Canvas); color: var(--extremal-ink, CanvasText); padding: .9rem 1rem;
    border: 1px solid var(--extremal-line, #767f8a); border-radius: 10px; line-height: 1.5;
    overflow-wrap: anywhere; text-align: start; white-space: normal; }
  [part~="box"]:focus, [tabindex="-1"]:focus { outline: none; }
  p, ul { margin: .5rem 0; }
  ul { padding-inline-start: 1.3rem; }
  fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
  legend { padding: 0; }
  [part~="question"] { font-weight: 600; }
  [part~="mark"] { display: inline-block; margin: 0; padding: .1rem .5rem; border-radius: 4px; font-size: .85em;
    font-weight: 600; border: 1px solid; }
  [part~="small"], small { font-size: .9em; }
  label { display: flex; gap: .7rem; align-items: center; min-height: 3rem; padding: .45rem .7rem; margin: .45rem 0;
    box-sizing: border-box; border: 1px solid var(--extremal-line, #767f8a); border-radius: 8px; cursor: pointer;
    user-select: none; -webkit-user-select: none; }
  label:has(:checked) { border-color: var(--extremal-accent, #005a8d);
    box-shadow: inset 0 0 0 1px var(--extremal-accent, #005a8d); }
  input { flex: none; width: 1.35rem; height: 1.35rem; margin: 0; accent-color: var(--extremal-accent, #005a8d); }
  label span { flex: 1; min-width: 0; }
  small { display: block; }
  button { font: inherit; font-weight: 600; display: block; width: 100%; min-height: 3rem; margin: .6rem 0;
    padding: .5rem 1rem; border-radius: 8px; border: 1px solid var(--extremal-accent, #005a8d);
    background: var(--extremal-accent, #005a8d); color: var(--extremal-on-accent, #fff); cursor: pointer; }
  button.quiet { background: transparent; color: inherit; border-color: currentColor; }
  a { color: inherit; }
  [role="alert"] { font-weight: 600; min-height: 1.5em; }
  :focus-visible { outline: 3px solid #d98300; outline-offset: 2px; }
  iframe { border: 0; display: block; width: 100%; height: 30rem; }
`;
const Base = globalThis.HTMLElement ?? class {}; // so that a server can import this module

/** Why nothing is asked: the key of a sentence, and what is wrong with the page, for those who make it. */
class Stop extends Error {
  constructor(key, detail = "") {
    super(detail);
    this.key = key;
  }
}

function must(holds, key, detail) {
  if (!holds) throw new Stop(key, detail);
}

/** The sentences in the language of an element; English where a catalogue lacks one. */
function spoken(element) {
  const tag = element.closest("[lang]")?.lang || document.documentElement.lang || "en";
  const lang = [tag, tag.split("-")[0], "en"].find((name) => Object.hasOwn(texts, name));
  return speaker(lang, texts[lang], texts.en);
}

/** What both elements have: a closed shadow root, and a value that the form around gets. */
class Box {
  constructor(element) {
    this.element = element;
    this.internals = element.attachInternals();
    this.root = element.attachShadow({ mode: "closed" });
    this.body = make("div", { part: "box", tabIndex: -1 });
    this.root.append(this.body);
    for (const type of EVENTS) this.root.addEventListener(type, (event) => event.stopPropagation());
    for (const type of CROSSINGS) element.addEventListener(type, (event) => event.stopImmediatePropagation(), true);
    this.settle({}, false);
  }

  /** In the language of the element, and styled in the document where it is now. */
  speak() {
    const words = spoken(this.element);
    this.body.lang = words.lang;
    this.body.dir = words.say("direction");
    const sheet = new this.element.ownerDocument.defaultView.CSSStyleSheet();
    sheet.replaceSync(STYLE);
    this.root.adoptedStyleSheets = [sheet];
    this.words = words;
    return words;
  }

  /** Shows these; the reader goes on at the first of them if they were in here. */
  show(...nodes) {
    const here = this.root.activeElement !== null;
    this.body.replaceChildren(make("p", { part: "mark" }, this.words.say("private")), ...nodes);
    if (!here) return;
    nodes[0].tabIndex = -1;
    nodes[0].focus({ preventScroll: true });
  }

  /** The sentence in place of a question that cannot be asked. */
  stop(error, retry) {
    const known = error instanceof Stop;
    const key = known ? error.key : error instanceof ExtremalError ? "untrusted" : "unavailable";
    const detail = known || error instanceof ExtremalError ? error.message : "";
    this.settle({}, true);
    this.show(make("p", { part: "stop" }, `${this.words.say(key)} ${this.words.say("nothing_sent")}`),
      ...(detail ? [make("p", { part: "small", lang: "en", dir: "ltr" }, detail)] : []),
      ...(key === "unavailable" ? [button(this.words.say("retry"), retry, "quiet")] : []));
  }

  /** The report that the form gets, whether the question was skipped; and whether a form may go without. */
  settle({ report, skipped = false }, free) {
    const value = report === undefined ? "" : labelText(report);
    const news = value !== (this.value ?? "") || skipped !== (this.skipped ?? false);
    Object.assign(this, { report, value, skipped, free });
    this.internals.setFormValue(report === undefined ? null : value);
    this.validate();
    if (!news) return;
    for (const type of ["input", "change"]) this.element.dispatchEvent(new Event(type, { bubbles: true, composed: true }));
  }

  validate() {
    const lacking = this.element.hasAttribute("required") && !this.free && !this.skipped && this.report === undefined;
    if (lacking) this.internals.setValidity({ valueMissing: true }, spoken(this.element).say("value_missing"), this.body);
    else this.internals.setValidity({});
  }
}

function button(text, action, className = "") {
  return pressed(text, action, { part: `button ${className}`.trim(), className });
}

/** What a form sees of both elements: the value of a field. */
class Field extends Base {
  static formAssociated = true;

  #box = new Box(this);

  /** Only the constructor of an element gets the box: what is in it is nobody else's business. */
  constructor(take) {
    super();
    take(this.#box);
  }

  /** The report as the form gets it; empty if there is none. */
  get value() {
    return this.#box.value;
  }

  /** The report as it is in the mechanism's file; undefined if there is none. */
  get report() {
    return structuredClone(this.#box.report);
  }

  /** Whether somebody chose not to answer. */
  get skipped() {
    return this.#box.skipped;
  }

  get form() {
    return this.#box.internals.form;
  }

  get name() {
    return this.getAttribute("name") ?? "";
  }

  set name(name) {
    this.setAttribute("name", name);
  }

  get validity() {
    return this.#box.internals.validity;
  }

  get validationMessage() {
    return this.#box.internals.validationMessage;
  }

  checkValidity() {
    return this.#box.internals.checkValidity();
  }

  reportValidity() {
    return this.#box.internals.reportValidity();
  }

  formDisabledCallback(disabled) {
    this.#box.body.inert = disabled;
  }
}

const alive = new Set(); // the questions of this page

export class ExtremalQuestion extends Field {
  static observedAttributes = [...SETTINGS, "lang", "required"];

  #box;

  #file = null; // given by a script instead of an address

  #mechanism;

  #round = 0; // counts beginnings: what an earlier one was waiting for is too late

  #host = ""; // the page around the frame that this page is in, once it has said that it is there

  constructor() {
    let box;
    super((made) => { box = made; });
    this.#box = box;
  }

  /** A mechanism file's address, or what JSON.parse makes of one. */
  set mechanism(given) {
    this.#file = typeof given === "object" ? given : null;
    if (this.#file === null) this.setAttribute("mechanism", given);
    else this.#changed("mechanism");
  }

  focus(options) {
    (this.#box.root.querySelector("input, button, a") ?? this.#box.body).focus(options);
  }

  connectedCallback() {
    alive.add(this);
    addEventListener("message", this.#greeted);
    addEventListener("pagehide", this.#erase);
    this.#begin();
  }

  disconnectedCallback() {
    alive.delete(this);
    removeEventListener("message", this.#greeted);
    removeEventListener("pagehide", this.#erase);
    this.#round += 1;
    this.#erase();
  }

  attributeChangedCallback(name, before, now) {
    if (before !== now) this.#changed(name);
  }

  #changed(name) {
    if (["mechanism", "person", "question"].includes(name)) this.#box.settle({}, false); // that was another question's
    if (!this.isConnected) return;
    if (name === "required") this.#box.validate();
    else this.#begin();
  }

  formResetCallback() {
    this.#begin();
  }

  /** Nobody's answer stays in a page that is left, or in an element that is taken out. */
  #erase = () => {
    for (const input of this.#inputs()) input.checked = false;
  };

  /** An action that does nothing once the page has set something else: what people read was of what was before. */
  #still(action) {
    const round = this.#round;
    return () => (round === this.#round ? action() : undefined);
  }

  #inputs() {
    return [...this.#box.root.querySelectorAll("input")];
  }

  // Under this name the browser keeps the report: one for each question, and person where the page names them.
  #keptAs() {
    const [question, person] = [this.getAttribute("question"), this.getAttribute("person")];
    return person === null ? question : JSON.stringify([question, person]);
  }

  /** The record that the browser keeps, and whether it keeps one of somebody else on this question. */
  async #lookUp() {
    const question = this.getAttribute("question");
    const mine = `question ${this.#keptAs()}`;
    const anybody = `question ${JSON.stringify([question]).slice(0, -1)},`;
    let record;
    let others;
    await kept((all) => {
      record = all[mine];
      others = Object.keys(all).some((name) => name !== mine && (name === `question ${question}` || name.startsWith(anybody)));
    }).catch((error) => { throw new Stop("forgetful", error.message); });
    must(!record || record.digest === this.#mechanism.digest, "changed");
    return { record, others };
  }

  async #begin() {
    this.#round += 1;
    const round = this.#round;
    this.#erase();
    this.#box.validate();
    await null; // a host that sets attributes one by one has set them all
    if (round !== this.#round) return;
    const { say } = this.#box.speak();
    if (!this.#box.body.childElementCount) this.#box.show(make("p", {}, say("loading")));
    try {
      const given = this.#settings();
      if (given.hosts && !this.#host) {
        for (const host of given.hosts) window.parent.postMessage({ extremal: "ready" }, host);
        return;
      }
      this.#mechanism = load(this.#file ?? await text(given.mechanism));
      await this.#mechanism.verify();
      this.#check(given);
      const { record, others } = await this.#lookUp();
      if (round !== this.#round) return;
      if (record) this.#finish(record.report, "kept");
      else this.#introduce(given, others);
    } catch (error) {
      if (round === this.#round) this.#box.stop(error, () => this.#begin());
    }
  }

  /** What the page says about the question; a page that says too little asks nothing. */
  #settings() {
    must(globalThis.isSecureContext && globalThis.crypto?.subtle, "insecure");
    const given = Object.fromEntries(SETTINGS.map((name) => [name, this.getAttribute(name)]));
    for (const name of ["question", "text"]) must(given[name], "setup", `The attribute "${name}" is missing.`);
    must(this.#file || given.mechanism, "setup", 'The attribute "mechanism" is missing.');
    given.hosts = given.hosts?.split(/\s+/).filter(Boolean);
    given.together = given.together === null ? null : Number(given.together);
    must(given.together === null || given.together >= 1, "setup", 'The attribute "together" must be a factor of 1 or more.');
    try {
      given.answers = given.answers && JSON.parse(given.answers);
    } catch {
      must(false, "setup", 'The attribute "answers" is not JSON.');
    }
    return given;
  }

  /** Texts are there for all answers, and for no others. */
  #check({ answers }) {
    if (!answers) return;
    const labels = this.#mechanism.inputs.map(labelText);
    const lacking = labels.filter((label) => typeof answers[label] !== "string");
    const extra = Object.keys(answers).filter((label) => !labels.includes(label));
    must(!lacking.length, "setup", `"answers" has no text for ${lacking.join(", ")}.`);
    must(!extra.length, "setup", `"answers" has texts for ${extra.join(", ")}, which the mechanism does not know.`);
  }

  #introduce({ collector, link, text: question, together }, others) {
    const { words } = this.#box;
    const { say, number } = words;
    const factor = Math.exp(this.#mechanism.epsilon);
    const lines = [
      say("stays"),
      say("limit", { factor: rounded(factor, number) }),
      factor > CERTAIN ? say("certain") : "",
      rulesOut(this.#mechanism) ? say("rules_out") : "",
      together === null ? say("alone")
        : together > CERTAIN ? say("together_certain") : say("together", { factor: rounded(together, number) }),
      say("clear"),
      collector ? say("collector", { collector: `\u2068${collector}\u2069` }) : "",
    ].filter(Boolean);
    this.#box.settle({}, false);
    this.#box.show(
      make("p", { part: "question", dir: "auto" }, question),
      ...(others ? [make("p", { part: "others" }, say("others"))] : []),
      make("ul", { part: "words" }, ...lines.map((line) => make("li", {}, line))),
      ...(link ? [make("p", {}, make("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, say("respondents")))] : []),
      button(say("start"), this.#still(() => this.#ask())),
      button(say("skip"), this.#still(() => this.#skip()), "quiet"),
    );
  }

  #ask() {
    const { words } = this.#box;
    const { say } = words;
    const given = this.#settings();
    const { inputs } = this.#mechanism;
    const sent = sendings(this.#mechanism, words);
    const rows = inputs.map((label, i) => {
      const input = make("input", { type: "radio", name: "answer", autocomplete: "off" });
      input.setAttribute("aria-labelledby", `answer-${i}`);
      input.setAttribute("aria-describedby", `sends-${i}`);
      return make("label", {}, input, make("span", {},
        make("span", { id: `answer-${i}`, dir: "auto" }, this.#textOf(label, given.answers)),
        make("small", { id: `sends-${i}` }, sent[i])));
    });
    const missing = make("p", { part: "missing" });
    missing.setAttribute("role", "alert");
    this.#box.show(
      make("fieldset", { part: "answers", onchange: () => { missing.textContent = ""; } },
        make("legend", { part: "question", dir: "auto" }, given.text), ...rows),
      make("p", { part: "words" }, say("decide")),
      missing,
      button(say("draw"), this.#still(() => {
        if (this.#inputs().some((input) => input.checked)) return this.#draw();
        missing.textContent = say("choose");
        return this.#inputs()[0].focus();
      })),
      button(say("skip"), this.#still(() => this.#skip()), "quiet"),
    );
  }

  #textOf(label, answers) {
    const text = labelText(label);
    return answers?.[text] ?? (text === texts.en.prefer_not ? this.#box.words.say("prefer_not") : text);
  }

  /** The only place where an answer is read. What is drawn is kept in the same step; a report that is kept is used. */
  async #draw() {
    const round = this.#round;
    const answer = this.#mechanism.inputs[this.#inputs().findIndex((input) => input.checked)];
    try {
      const { record } = await this.#lookUp();
      if (round !== this.#round) return; // the mechanism may be another now, of which nobody has read
      const report = await this.#mechanism.drawOnce(answer, this.#keptAs());
      if (round !== this.#round) return;
      this.#finish(report, record ? "kept" : "drawn");
      for (const other of alive) if (other !== this && other.#keptAs() === this.#keptAs()) other.#begin();
    } catch (error) {
      if (round === this.#round) this.#box.stop(error, () => this.#begin());
    }
  }

  /** Shows the report, and gives it to the form. From here on everything depends on the report alone. */
  #finish(report, how) {
    const { words } = this.#box;
    const { say } = words;
    const answers = this.#settings().answers;
    const rows = senders(this.#mechanism, report, (answer) => this.#textOf(answer, answers), words);
    this.#box.show(
      make("p", { part: "report", dir: "auto" }, say(how, { report: quoted(labelText(report)) })),
      make("ul", { part: "words" }, ...rows),
      make("p", { part: "small" }, say("leave")),
    );
    this.#box.settle({ report }, false);
    this.#tell();
  }

  #skip() {
    const { say } = this.#box.words;
    this.#erase();
    this.#box.show(make("p", {}, say("skipped")), button(say("unskip"), () => this.#begin(), "quiet"));
    this.#box.settle({ skipped: true }, false);
    this.#tell();
  }

  // ---- Inside a frame: the page around, if it is one that `hosts` names, gets the report and how tall this is.

  #greeted = ({ source, origin, data }) => {
    const hosts = this.getAttribute("hosts")?.split(/\s+/) ?? [];
    if (source !== window.parent || source === window || !hosts.includes(origin) || data?.extremal !== "hello") return;
    if (this.#host) return;
    this.#host = origin;
    const page = document.documentElement;
    new ResizeObserver(() => this.#send({ extremal: "height", height: page.offsetHeight + 2 })).observe(page);
    this.#begin();
  };

  #tell() {
    this.#send({ extremal: "report", report: this.#box.report ?? null, skipped: this.#box.skipped });
  }

  #send(message) {
    if (this.#host) window.parent.postMessage(message, this.#host);
  }
}

/** A file that everybody gets in the same way. */
async function text(address) {
  const answer = await fetch(address, { credentials: "omit" });
  must(answer.ok, "unavailable");
  return answer.text();
}

function addressOf(src) {
  try {
    return new URL(src, document.baseURI);
  } catch {
    return null;
  }
}

/** A question that another site asks, in a frame: programs of this page can neither read nor watch it. */
export class ExtremalFrame extends Field {
  static observedAttributes = ["lang", "required", "src"];

  #box;

  #frame = null;

  #origin = "";

  constructor() {
    let box;
    super((made) => { box = made; });
    this.#box = box;
  }

  connectedCallback() {
    addEventListener("message", this.#hear);
    this.#begin();
  }

  disconnectedCallback() {
    removeEventListener("message", this.#hear);
  }

  attributeChangedCallback(name, before, now) {
    if (before === now) return;
    if (name === "src") this.#box.settle({}, false);
    if (!this.isConnected) return;
    if (name === "required") this.#box.validate();
    else this.#begin();
  }

  #begin() {
    const { say } = this.#box.speak();
    this.#frame = null;
    this.#box.validate();
    try {
      must(globalThis.isSecureContext, "insecure");
      must(this.getAttribute("src"), "setup", 'The attribute "src" is missing.');
      const address = addressOf(this.getAttribute("src"));
      must(/^https?:$/.test(address?.protocol), "setup", 'The attribute "src" is not an address of the web.');
      must(address.origin !== location.origin, "setup", "A frame from the same address as this page keeps nothing from it.");
      this.#origin = address.origin;
      this.#frame = make("iframe", { src: address.href, title: say("private"), referrerPolicy: "no-referrer" });
      this.#frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-popups");
      this.#box.show(make("p", { part: "small" }, say("frame", { host: `\u2068${address.host}\u2069` })), this.#frame);
    } catch (error) {
      this.#box.stop(error, () => this.#begin());
    }
  }

  #hear = ({ source, origin, data }) => {
    if (!this.#frame || source !== this.#frame.contentWindow || origin !== this.#origin) return;
    if (data?.extremal === "ready") source.postMessage({ extremal: "hello" }, origin);
    if (data?.extremal === "height" && data.height > 0) this.#frame.style.height = `${Math.min(data.height, 5000)}px`;
    if (data?.extremal === "report") this.#box.settle({ report: data.report ?? undefined, skipped: data.skipped === true }, false);
  };
}

/** Gives an element the settings of a question that a survey tool describes; what is empty is taken away. */
export function configure(element, settings) {
  for (const name of [...SETTINGS, "lang", "name", "required", "src"]) {
    const value = settings[name];
    if (value === undefined || value === null || value === "" || value === false) element.removeAttribute(name);
    else if (name === "mechanism" && typeof value === "object") element.mechanism = value;
    else element.setAttribute(name, value === true ? "" : typeof value === "object" ? JSON.stringify(value) : value);
  }
  return element;
}

/** The element for such a question: a frame if they name the address of one. */
export function questionOf(settings) {
  return configure(document.createElement(settings.src ? "extremal-frame" : "extremal-question"), settings);
}

if (globalThis.customElements && !customElements.get("extremal-question")) {
  customElements.define("extremal-question", ExtremalQuestion);
  customElements.define("extremal-frame", ExtremalFrame);
}
