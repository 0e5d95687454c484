// The survey on the device of the person who answers. What they choose is in the state of the inputs, or in
// memory for lists: it says which question comes next, is read again for the draw, and is erased. All languages are loaded;
// which one is shown is neither kept nor sent.
//
// The order is decide, draw, keep, show, send; the draw is part of the step that keeps it. A reload before that finds
// nothing drawn, a reload after it the report. It is kept for the whole site under the id of the survey: no reload, crash,
// second tab, other path, corrected text or new mechanism leads to a second one.

import { kept, load } from "./extremal.js";
import { add } from "./start.js";
import { labelText, make, people, quoted, rounded, rulesOut, senders, sendings, speaker } from "./words.js";

const TIMEOUT = 30e3; // of one attempt to send
const LONGEST_WAIT = 60e3; // between two attempts
const CERTAIN = 20; // times as likely: a guess may be all but certain
const MANY = 12; // answers whose chances are not shown unasked
const NOT_ASKED = "not asked"; // the answer to a private question that was skipped
const PARTS = ["other", "intro", "declined", "questions", "confirm", "report", "done"];

export const $ = (id) => document.getElementById(id);

export let survey;
let questions; // the survey's, each with its verified mechanisms
let sections;
let pages; // lists of numbers of questions
let at = 0; // the page shown
let catalogues = {}; // the page's own sentences, by language
export let words; // those of the language that is shown: {lang, say, number}
export let record = null; // what it keeps about this person: {body, state, drawn}; body is what is sent, never an answer
let records = {}; // about everybody who answered this survey here, by their invitations
export let field = null; // in field mode {queue, current}: the reports that wait, and the record of who answers now
export const modes = {}; // what other scripts add
let others = false; // whether other surveys were answered here
let channel; // to the other tabs
let token = "";
let another = false; // somebody said that they are not the person whose report is kept
let attempts = 0;
let busy = false;
let fresh = false; // whether the report was drawn just now
let timer;

export const say = (...given) => words.say(...given);

function told(thing, key) {
  const there = (thing.words || {})[words.lang] || {};
  return there[key] === undefined ? thing[key] : there[key];
}

export function show(id) {
  for (const part of PARTS) $(part).hidden = part !== id;
  const heading = id !== "questions" ? $(`${id}-title`)
    : $("where").textContent ? $("where") : $("fields").querySelector("div:not([hidden]) input");
  scrollTo(0, 0);
  if (heading) heading.focus({ preventScroll: true });
}

function shown() {
  return PARTS.find((part) => !$(part).hidden);
}

export function notice(text, kind = "", properties = {}) {
  $("notices").append(make("p", { className: `notice ${kind}`, dir: "auto", ...properties }, text));
}

function stop(text, detail = "") {
  show("");
  notice(text, "wrong");
  if (detail) notice(detail, "small", { lang: "en", dir: "ltr" });
}

// ---- Languages

export function speak(lang) {
  words = speaker(lang, catalogues[lang] || {}, catalogues.en);
  Object.assign(document.documentElement, { lang, dir: say("direction") });
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = say(element.dataset.text);
  $("language").setAttribute("aria-label", say("language"));
  $("questions").setAttribute("aria-label", survey ? told(survey, "title") : "");
}

function choose(lang) {
  const checked = [...$("fields").querySelectorAll("input")].map((input) => input.checked);
  const part = shown();
  speak(lang);
  $("notices").textContent = $("missing").textContent = "";
  introduce(checked);
  if (record) describe();
  if (part === "confirm") decide();
  if (part === "done") thank();
  if (modes.tell) modes.tell();
}

export function offer(languages) {
  const own = navigator.languages.map((tag) => tag.split("-")[0]);
  const first = [...navigator.languages, ...own].find((tag) => languages.includes(tag)) || languages[0];
  $("language").hidden = languages.length < 2;
  $("language").replaceChildren(...languages.map((lang) => make("option", { value: lang, lang, selected: lang === first },
    catalogues[lang].name)));
  $("language").onchange = ({ target }) => choose(target.value);
  return first;
}

// ---- What this browser keeps

/** Under which invitation the record stands; without them one person answers on a device. */
function owner() {
  return survey.invitation || token in records ? token : Object.keys(records)[0] || "";
}

/** Reads what is kept, and changes it to what change() gives as `record` or `field`, in one step. */
export async function keep(change = () => {}) {
  const [name, mode] = [`survey ${survey.id}`, `field ${survey.id}`];
  const all = await kept((everything) => {
    field = everything[mode] || null;
    records = field ? {} : everything[name] || {};
    record = (field ? field.current : records[owner()]) || null;
    ({ record, field } = { record, field, ...change() });
    if (field) everything[mode] = field = { ...field, current: record };
    else delete everything[mode];
    if (!field && record) everything[name] = records = { ...records, [owner()]: record };
  });
  others = Object.keys(all).some((other) => other !== name && other !== mode);
}

/** Writes down what has become of the report, and tells the other tabs. */
async function mark(state) {
  const before = record;
  let changed = false;
  await keep(() => {
    const now = record || before;
    changed = now.state !== state && now.state !== "sent";
    const due = changed && state === "queued" && survey.hold ? { due: Date.now() + 1000 * survey.hold * random() } : {};
    return { record: changed ? { ...now, state, ...due } : now };
  }).catch(() => { record = { ...before, state }; });
  if (changed) channel.postMessage(survey.id);
}

export function random() {
  return crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
}

// ---- Loading: everything at once, the same for everybody.

async function get(address, integrity = "", tries = 3) {
  try {
    const answer = await fetch(address, { credentials: "omit", integrity });
    if (answer.ok) return await answer.text();
  } catch {} // networks of phones come and go
  if (tries === 1) throw new TypeError(`${address} is missing`);
  await new Promise((resolve) => { setTimeout(resolve, 1000); });
  return get(address, integrity, tries - 1);
}

/** Loads the catalogues of the survey's languages; the page names all: "en sha256-…". */
async function learn(languages) {
  const known = document.querySelector("meta[name=texts]").content.split(" ");
  const needed = known.filter((lang, i) => i % 2 === 0 && (lang === "en" || languages.includes(lang)));
  await Promise.all(needed.map(async (lang) => {
    catalogues[lang] = JSON.parse(await get(`texts/${lang}.json`, known[known.indexOf(lang) + 1]));
  }));
}

function hides(question) {
  const { ask_if: condition, kind } = question;
  return kind !== "clear" && condition && survey.questions.find(({ name }) => name === condition.question).kind !== "clear";
}

/** The question with its mechanisms, if they are what the survey says: verified, and about these answers. */
async function prepare(question) {
  if (question.script) return (await import(`./${question.script}`)).prepared(question, get);
  const { kind, answers, form } = question;
  const mechanisms = await Promise.all(question.mechanisms.map(async (address) => load(await get(address))));
  for (const mechanism of mechanisms) await mechanism.verify();
  const expected = [
    ...(kind !== "several" ? answers
      : form === "each" ? ["no", "yes"]
      : Array.from({ length: 2 ** answers.length }, (_, i) => i.toString(2).padStart(answers.length, "0"))),
    ...(hides(question) ? [NOT_ASKED] : []),
  ];
  const wanted = kind === "clear" ? 0 : form === "each" ? answers.length : 1;
  const fits = (mechanism, i) => mechanism.digest === question.digests[i] &&
    JSON.stringify(mechanism.inputs.map(labelText).sort()) === JSON.stringify([...expected].sort());
  if (mechanisms.length !== wanted || !mechanisms.every(fits)) {
    throw new Error("The files of this survey do not fit together.");
  }
  return { ...question, mechanisms };
}

/** Whether a question follows an earlier one, and is left out openly only after an open answer. */
function follows({ ask_if: condition, kind, form, script }, q) {
  const other = condition ? numberOf(condition.question) : -1;
  const hidden = kind !== "clear" && form !== "each" && !script; // else it cannot report "not asked"
  return !condition || (other >= 0 && other < q && (questions[other].kind === "clear" || hidden));
}

/** Whether a section is asked after an earlier open answer. */
function opens({ ask_if: condition, questions: inside }) {
  const other = condition ? numberOf(condition.question) : -1;
  return !condition || (other >= 0 && other < Math.min(...inside) && questions[other].kind === "clear");
}

async function begin() {
  const [digest, ...languages] = document.querySelector("meta[name=survey]").content.split(" ");
  try {
    const [, text] = await Promise.all([learn(languages), get(`survey.json?${encodeURIComponent(digest)}`, digest)]);
    const own = navigator.languages.map((tag) => tag.split("-")[0]).find((lang) => lang in catalogues);
    speak(languages.includes(own) ? own : "en");
    const parts = [window.BigInt, window.crypto && crypto.getRandomValues && crypto.subtle];
    if (!window.isSecureContext) return stop(say("insecure_page"));
    if (window.top !== window) return stop(say("framed"));
    if (!parts.every(Boolean)) return stop(say("old"));
    survey = JSON.parse(text);
    if (typeof survey.id !== "string" || !/^[\w-]{8,64}$/.test(survey.id)) throw new Error("It has no id.");
    ({ questions, sections = [{ questions: [...questions.keys()] }] } = survey);
    if (!questions.every(follows) || !sections.every(opens)) throw new Error("What is asked would tell private answers.");
    for (const { script } of questions) if (script) await add(script);
    questions = await Promise.all(questions.map(prepare));
  } catch (error) {
    if (words && !(error instanceof TypeError || error instanceof SyntaxError)) return stop(say("untrusted_page"), error.message);
    stop(words ? say("lost") : $("waiting").textContent);
    return $("notices").append(make("button", { type: "button", onclick: () => location.reload() }, words ? say("retry") : "↻"));
  }
  return open(languages);
}

async function open(languages) {
  for (const lang of languages) catalogues[lang] = catalogues[lang] || survey.texts[lang];
  for (const lang in survey.said) catalogues[lang] = { ...survey.said[lang], ...catalogues[lang] };
  pages = survey.pages === "question" ? questions.map((_, q) => [q]) : sections.map((section) => section.questions);
  speak(offer(languages.length ? languages : ["en"]));
  if (survey.invitation) {
    token = (/^#([0-9a-f]{32})$/.exec(location.hash) || ["", ""])[1];
    if (!token) return stop(say("by_invitation"));
  }
  try {
    await keep();
  } catch (error) {
    return stop(say("forgetful_page"));
  }
  channel = new BroadcastChannel("extremal");
  channel.onmessage = ({ data }) => data === survey.id && keep().then(() => record && resume(), () => {});
  introduce();
  if (survey.field) await add("field.js");
  if (resume()) return undefined;
  const [first, last] = [survey.opens, survey.closes].map((date) => date && new Date(date));
  const day = (date) => date.toLocaleString(words.lang, { dateStyle: "long", timeStyle: "short" });
  if (first && Date.now() < first) return stop(say("not_open", { date: day(first) }));
  if ((last && Date.now() >= last) || !await isOpen()) return stop(say("closed"));
  return show("intro");
}

async function isOpen() {
  if (survey.post !== "reports" || field) return true;
  return get("open.json", "", 1).then((text) => JSON.parse(text).open !== false, () => true);
}

// ---- Before anything is asked: what reports can tell, who gets them, and what is sent as it is

export function introduce(checked = []) {
  document.title = $("title").textContent = told(survey, "title");
  $("introduction").textContent = told(survey, "introduction") || "";
  const hidden = questions.filter(({ kind }) => kind !== "clear");
  const clear = questions.filter(({ kind }) => kind === "clear");
  const items = (lines) => lines.filter(Boolean).map((line) => make("li", { dir: "auto" }, line));
  $("promise").hidden = !hidden.length;
  if (hidden.length) {
    const rules = hidden.some(({ own, mechanisms }) => (own ? own.rulesOut : mechanisms.some(rulesOut)));
    $("promises").replaceChildren(...items([say("stays_page"), say("mixes"), ...total(hidden), rules && say("rules_out")]));
    $("check").textContent = limits(hidden);
  }
  const named = (key) => told(survey, key) && say(key, { [key]: `\u2068${told(survey, key)}\u2069` });
  $("facts").replaceChildren(...items([
    clear.length && say("sent_open", { questions: listed(clear) }), named("collector"), named("contact"),
  ]));
  $("respondents").hidden = !survey.respondents;
  if (survey.respondents) $("respondents").href = survey.respondents;
  if (others && !$("notices").textContent) notice(say("second"));
  if (!record) ask(checked);
}

/** What everything together can tell, as the survey states it; of one question the device says it itself. */
function total(hidden) {
  const { epsilon, conditions, learned } = survey.together;
  const [factor, alone] = [Math.exp(epsilon), hidden.length === 1 && !isStated(hidden[0])];
  const shares = Object.fromEntries(Object.entries(learned || {}).map(([key, x]) => [key, x.toLocaleString(words.lang)]));
  return [
    ...(factor > CERTAIN ? [say("total_certain")] : alone ? []
      : [say("total", { factor: rounded(factor, words.number) }), ...conditions.map((condition) => say(`if_${condition}`))]),
    ...(learned && (fresh || !record) ? [say("if_learned", shares)] : []), // a report that is kept shows no stage
  ];
}

const listed = (asked) => asked.map((question) => quoted(told(question, "text"))).join(", ");

function limits(asked) {
  const limit = (level, among) => rounded(Math.exp(Math.max(...among.map(level))), words.number);
  const stated = asked.filter(isStated);
  const proved = asked.filter((question) => !isStated(question));
  const sum = ({ mechanisms }) => mechanisms.reduce((level, { epsilon }) => level + epsilon, 0);
  return [
    proved.length && say("checked", { factor: limit(sum, proved) }),
    stated.length && say("stated", { questions: listed(stated), factor: limit(({ level }) => level, stated) }),
    say("known"),
    asked.some(({ independent }) => independent) && say("if_items"),
  ].filter(Boolean).join(" ");
}

// ---- Asking

function answerText(question, label) {
  const name = labelText(label);
  if (name === NOT_ASKED && hides(question)) return say("not_asked");
  if (question.kind === "several" && question.form !== "each") {
    return texts(question).filter((_, i) => name[i] === "1").join(", ") || say("none");
  }
  const place = question.answers.indexOf(name);
  return place < 0 ? name : texts(question)[place];
}

/** The texts of a question's answers: brackets of numbers as the language writes them, and "I prefer not to say". */
function texts(question) {
  const own = told(question, "answers");
  const edges = own !== question.answers ? [] : (question.brackets || []).map((edge) => words.number(edge, 9));
  return own.map((text, i) => {
    if (i > edges.length || !edges.length) return text === catalogues.en.prefer_not ? say("prefer_not") : text;
    return say(i === 0 ? "below" : i === edges.length ? "from" : "between", { low: edges[i - 1], high: edges[i] });
  });
}

function ask(checked = []) {
  $("fields").replaceChildren(...sections.map((section) => {
    const [title, text] = [told(section, "title"), told(section, "text")];
    return make("div", { className: "section" },
      ...(title ? [make("h2", { dir: "auto" }, title)] : []),
      ...(text ? [make("p", { className: "text", dir: "auto" }, text)] : []),
      ...section.questions.map((q) => wrapped(questions[q], q)));
  }));
  $("fields").querySelectorAll("input").forEach((input, i) => { input.checked = checked[i] === true; });
  refresh();
}

function wrapped(question, q) {
  const { kind, own, required } = question;
  const [before, help, text] = ["before", "help", "text"].map((key) => told(question, key));
  const several = kind === "several";
  const more = several ? [say("none")] : required || kind !== "clear" ? [] : [say("prefer_not")];
  const choices = [...new Set([...texts(question), ...more])];
  const field = make("fieldset", { id: `question-${q}` },
    make("legend", { dir: "auto" }, questions.length > 1 ? `${words.number(q + 1)}. ${text}` : text),
    kind === "clear" ? make("span", { className: "mark open" }, say("open_mark"))
      : make("span", { className: "mark" }, say("private")));
  if (help) field.append(make("p", { className: "small text", dir: "auto", id: `help-${q}` }, help));
  if (help) field.setAttribute("aria-describedby", `help-${q}`);
  if (several) field.append(make("p", { className: "small" }, say("several")));
  if (own) field.append(own.field(q, choices, words));
  else choices.forEach((choice, i) => field.append(make("label", {},
    make("input", { type: several ? "checkbox" : "radio", name: `question-${q}`, value: i, autocomplete: "off" }),
    make("span", { dir: "auto" }, choice))));
  field.addEventListener("change", ({ target }) => {
    field.className = "";
    $("missing").textContent = "";
    if (several) exclude(target, question.answers.length);
    refresh();
  });
  return make("div", { id: `ask-${q}` }, ...(before ? [make("p", { className: "text", dir: "auto" }, before)] : []), field);
}

function exclude(changed, none) {
  if (!changed.checked) return;
  for (const input of inputsOf(changed.closest("fieldset"))) {
    if ((Number(input.value) === none) !== (Number(changed.value) === none)) input.checked = false;
  }
}

function inputsOf(field) {
  return [...field.querySelectorAll("input")];
}

function chosen(q) {
  const { answers, own } = questions[q];
  if (own) return own.chosen();
  const inputs = inputsOf($(`question-${q}`));
  return answers.filter((_, i) => inputs[i].checked);
}

/**
 * Whether a question is "asked"; "skipped", which only this device knows, as a private answer decided it; or "out", which
 * everybody may know, as it follows from what is sent as it is.
 */
function status(q) {
  const { ask_if: condition } = questions[q];
  const section = sections.find((one) => one.questions.includes(q));
  if (section.ask_if && !meets(section.ask_if)) return "out";
  if (!condition) return "asked";
  const other = numberOf(condition.question);
  if (status(other) === "out") return "out";
  return meets(condition) ? "asked" : questions[other].kind === "clear" ? "out" : "skipped";
}

function numberOf(name) {
  return questions.findIndex((question) => question.name === name);
}

function meets({ question, answers }) {
  const other = numberOf(question);
  return status(other) === "asked" && chosen(other).some((name) => answers.includes(name));
}

function refresh() {
  const open = pages.map((page) => page.filter((q) => status(q) === "asked"));
  const now = open[at];
  questions.forEach((_, q) => { $(`ask-${q}`).hidden = !now.includes(q); });
  for (const section of $("fields").children) section.hidden = [...section.children].every((part) => part.hidden || !part.id);
  const values = { page: words.number(at + 1), pages: words.number(pages.length) };
  $("where").textContent = pages.length > 1 ? say("page_of", values) : "";
  return [...pages.keys()].filter((i) => open[i].length);
}

/** The next page with something to ask, or the last one; goes back to the beginning, and on to the decision. */
function go(step) {
  const used = refresh();
  const next = used[used.indexOf(at) + step];
  $("missing").textContent = "";
  if (next === undefined) return step > 0 ? decide() : show("intro");
  at = next;
  refresh();
  return show("questions");
}

function start() {
  [at] = refresh();
  refresh();
  show("questions");
  if (!history.state) history.pushState("asked", ""); // one entry for everybody, with which Back turns a page here
}

/** Whether every question that is asked, on this page or on all, has an answer; leads to the first that has none. */
function complete(among) {
  const lacking = questions.map(({ kind, required }, q) => {
    const field = $(`question-${q}`);
    const optional = kind === "clear" && !required;
    const lacks = among.includes(q) && !optional && status(q) === "asked" && !inputsOf(field).some((input) => input.checked);
    field.className = lacks ? "lacking" : "";
    return lacks;
  });
  const first = lacking.indexOf(true);
  if (first < 0) return true;
  at = pages.findIndex((page) => page.includes(first));
  refresh();
  show("questions");
  $("missing").textContent = questions.length > 1 ? say("please_answer", { number: words.number(first + 1) }) : say("please_choose");
  inputsOf($(`question-${first}`))[0].focus();
  return false;
}

function decide() {
  if (!complete([...questions.keys()])) return;
  $("sendings").replaceChildren(...questions.filter(({ kind }) => kind !== "clear").map((question) => {
    const { mechanisms, form, answers } = question;
    if (question.own) return question.own.card(told(question, "text"), words);
    const few = mechanisms.every(({ outputs }) => outputs.length <= MANY);
    const rows = mechanisms.flatMap((mechanism, k) => sendings(mechanism, words).map((sent, i) => {
      const label = labelText(mechanism.inputs[i]);
      const text = form === "each" ? `${texts(question)[k]}: ${label}` : answerText(question, label);
      return make("li", {}, make("b", { dir: "auto" }, text), " — ", sent);
    }));
    return make("details", { open: few && mechanisms.length * answers.length <= MANY, className: "card" },
      make("summary", { dir: "auto" }, told(question, "text")), make("ul", {}, ...rows));
  }));
  show("confirm");
}

// ---- Drawing

/** What is sent for one question. For a private one this is the only place where an answer is drawn from. */
function drawn(question, q) {
  const { kind, answers, form, mechanisms } = question;
  const draw = (mechanism, answer) => mechanism.draw(mechanism.inputs.find((label) => labelText(label) === answer));
  const now = status(q);
  if (now === "out") return null;
  if (now === "skipped") return draw(mechanisms[0], NOT_ASKED);
  const names = chosen(q);
  if (kind === "several") {
    const bits = answers.map((name) => (names.includes(name) ? 1 : 0));
    return form === "each" ? mechanisms.map((mechanism, i) => draw(mechanism, ["no", "yes"][bits[i]]))
      : draw(mechanisms[0], bits.join(""));
  }
  return kind === "clear" ? (names.length ? names[0] : null) : draw(mechanisms[0], names[0]);
}

/** Draws and keeps the report in one step, unless one is kept, and erases the answers. */
async function draw() {
  if (!record && !complete([...questions.keys()])) return undefined; // Back and forward have erased them
  try {
    await keep(() => {
      if (record || (Object.keys(records).length && !another)) return {};
      const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
      const reports = Object.fromEntries(questions.map((question, q) => [question.name, drawn(question, q)]));
      const body = { survey: survey.digest, id: id.join(""), reports };
      if (token) body.token = token;
      fresh = true;
      return { record: { body: JSON.stringify(body), state: "drawn", drawn: digests() } };
    });
  } catch (error) {
    record = null;
    forgetAnswers();
    return stop(say("forgetful_page"));
  }
  channel.postMessage(survey.id);
  return resume();
}

export function forgetAnswers() {
  $("questions").reset();
  for (const part of ["fields", "sendings", "where"]) $(part).textContent = "";
}

/** Goes on where the record says; false if nothing was drawn yet. */
function resume() {
  if (!record && (another || !Object.keys(records).length)) return false;
  forgetAnswers();
  if (!record) {
    show("other");
    return true;
  }
  if (record.body) describe();
  if (record.state === "sent") {
    finish();
  } else {
    $("progress").textContent = "";
    show("report");
    if (record.state === "queued") send();
  }
  return true;
}

// ---- Explaining

function percent(p) {
  return p === 0 ? say("gone") : p === 1 ? say("sure") : `${people(p, words)}%`;
}

function tells(question, report) {
  const { kind, form, mechanisms } = question;
  if (kind !== "several") {
    return mechanisms[0].reveals(report).map((row) => ({ ...row, text: answerText(question, row.answer) }));
  }
  const share = (rows, which, has) => rows.reduce((sum, row) => sum + (has(row.answer) ? row[which] : 0), 0);
  return texts(question).map((text, i) => {
    const rows = form === "each" ? mechanisms[i].reveals(report[i]) : mechanisms[0].reveals(report);
    const has = (label) => (form === "each" ? label === "yes" : labelText(label)[i] === "1");
    return { text, before: share(rows, "before", has), after: share(rows, "after", has) };
  });
}

/** Whether only the survey knows what the reports on all items tell. */
function isStated({ form, independent }) {
  return form === "each" && !independent;
}

function leak({ form, mechanisms }, report) {
  const largest = (mechanism, value) => Math.max(...mechanism.reveals(value).map((row) => row.after / row.before));
  return form === "each" ? mechanisms.reduce((product, mechanism, i) => product * largest(mechanism, report[i]), 1)
    : largest(mechanisms[0], report);
}

function explain(question, report) {
  const { form, kind, mechanisms } = question;
  if (question.own) return question.own.tells(words, report);
  const rows = tells(question, report);
  const gone = rows.filter((row) => row.after === 0).map(({ text }) => quoted(text));
  const mixed = form === "joint" && mechanisms[0].reveals(report).some((row) => row.after === 0);
  const factor = rounded(isStated(question) ? Math.exp(question.level) : leak(question, report), words.number);
  const sentences = [
    gone.length ? say("ruled_out", { answers: gone.join(", ") }) : mixed ? say("ruled_mixed") : "",
    say(isStated(question) ? "makes_stated" : "makes", { factor }),
    question.independent ? say("if_items") : "",
  ];
  const cells = (tag, ...texts) => texts.map((text) => make(tag, {}, text));
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ...cells("th", say(kind === "several" ? "chose" : "answer_is"), say("before"), say("with_it")))),
    make("tbody", {}, ...rows.map(({ text, before, after }) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, text),
      ...cells("td", percent(before), percent(after))))));
  const said = form !== "each" ? quoted(labelText(report))
    : texts(question).map((item, i) => `\u2068${item}\u2069: ${labelText(report[i])}`).join("; ");
  const all = form === "each" || mechanisms[0].inputs.length > MANY ? []
    : senders(mechanisms[0], report, (label) => answerText(question, label), words);
  return [
    make("p", { className: "chance" }, say("chance", { report: said })),
    ...(all.length ? [make("ul", {}, ...all)] : []),
    make("p", {}, sentences.filter(Boolean).join(" ")),
    make("details", {}, make("summary", {}, say("how_likely")), table),
  ];
}

function digests() {
  return Object.fromEntries(questions.map(({ name, mechanisms }) => [name, mechanisms.map(({ digest }) => digest).join()]));
}

export function describe() {
  const { body, drawn: made } = record;
  if (!body) return;
  const sent = JSON.parse(body);
  const now = digests();
  $("reports").replaceChildren(...Object.entries(sent.reports).map(([name, report]) => {
    const question = questions[numberOf(name)];
    const answer = () => (report !== null ? quoted(answerText(question, report)) : question.kind === "clear" ? "—" : say("not_asked"));
    return make("div", { className: "card" }, make("h3", { dir: "auto" }, question ? told(question, "text") : name),
      ...(question && made[name] === now[name] && (question.kind === "clear" || report === null)
        ? [make("p", {}, say("as_it_is", { answer: answer() }))]
        : survey.learns && !fresh ? [make("p", {}, say("chance", { report: quoted(labelText(report)) }))] // it shows no stage
          : made[name] !== now[name] ? [make("p", {}, say("earlier", { report: JSON.stringify(report) }))]
            : explain(question, report)));
  }));
  const hidden = questions.filter(({ kind }) => kind !== "clear");
  $("together").textContent = (sent.survey !== survey.digest && !survey.learns ? [say("changed_page")]
    : hidden.length ? [say("likely"), ...total(hidden)] : []).join("\n");
  $("body").textContent = body;
  $("send").textContent = say(field ? "hand_in" : survey.post === null ? "save_file" : "send_page");
  $("report-title").textContent = say(record.state !== "sent" ? "report_title" : survey.post === null ? "in_file" : "was_sent");
}

// ---- Sending

function save(name, text, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
}

/** "accepted", "refused: why", or "later" where the report may or may not have arrived. */
export async function post(body) {
  const abort = new AbortController();
  const limit = setTimeout(() => abort.abort(), TIMEOUT);
  try {
    const answer = await fetch(survey.post, {
      method: "POST", headers: { "Content-Type": "application/json" }, body,
      credentials: "omit", cache: "no-store", redirect: "error", signal: abort.signal,
    });
    if ([408, 429].includes(answer.status) || answer.status >= 500) return "later";
    const document = await answer.json(); // a hotel's login page is not JSON
    if (answer.ok) return document.accepted === true ? "accepted" : "later";
    return `refused: ${document.error}`;
  } catch {
    return "later";
  } finally {
    clearTimeout(limit);
  }
}

function tell(text, detail = "") {
  if ($("progress").textContent === text + detail) return;
  $("progress").replaceChildren(text, make("span", { lang: "en", dir: "auto" }, detail));
  $("progress").scrollIntoView({ block: "nearest" });
}

async function send() {
  if (busy || record.state === "sent") return undefined;
  if (field) return modes.handIn();
  if (survey.post === null) {
    save(`report-${JSON.parse(record.body).id.slice(0, 8)}.json`, record.body, "application/json");
    return finish();
  }
  busy = true;
  clearTimeout(timer);
  $("sending").hidden = true;
  $("drawn").hidden = true;
  if (!attempts) tell(say("sending"));
  await mark("queued");
  const early = record.due - Date.now();
  if (early > 0) return again(early, say("holding", { minutes: words.number(Math.ceil(survey.hold / 60)) }));
  const result = record.state === "sent" ? "accepted" : await post(record.body); // another tab was faster
  if (result !== "later") await mark(result === "accepted" ? "sent" : "drawn");
  busy = false;
  if (record.state === "sent") return finish();
  if (result === "later") {
    attempts += 1;
    return again(Math.min(LONGEST_WAIT, 500 * 2 ** attempts) * (0.5 + Math.random() / 2), say("waits"));
  }
  $("sending").hidden = false;
  return tell(say("refused"), ` ${result.slice(9)}`);
}

function again(wait, text) {
  busy = false;
  tell(text);
  timer = setTimeout(send, wait);
}

function sendNow() {
  if (record && record.state === "queued" && !(record.due > Date.now())) send();
}

function finish() {
  const file = survey.post === null;
  if (record.body) describe();
  thank();
  for (const part of ["number", "receipt", "look", "forget"]) $(part).hidden = !record.body;
  $("receipt").hidden = $("forget").hidden = !record.body || file;
  $("sending").hidden = !file;
  $("drawn").hidden = true;
  $("back").hidden = false;
  $("progress").textContent = "";
  if (file) $("report-title").textContent = say("in_file");
  show("done");
}

export function thank() {
  const contact = survey.post === null && told(survey, "contact");
  $("thanks").textContent = say(field ? "handed_in" : survey.post === null ? "saved" : "arrived") +
    (contact ? ` ${say("contact", { contact: `\u2068${contact}\u2069` })}` : "");
  if (record && record.body) $("number").textContent = say("code", { code: `\u2068${JSON.parse(record.body).id}\u2069` });
}

function receipt() {
  const { id, survey: digest } = JSON.parse(record.body);
  const lines = [...$("reports").children].map(({ children: [text, report] }) => `${text.textContent}\n  ${report.textContent}`);
  save(`receipt-${id.slice(0, 8)}.txt`,
    `${told(survey, "title")}\n\n${say("code", { code: id })}\n${digest}\n\n${say("was_sent")}\n${lines.join("\n")}\n`, "text/plain");
}

async function forget() {
  await keep(() => ({ record: { state: "sent" } }));
  for (const part of ["reports", "number", "body"]) $(part).textContent = "";
  finish();
  channel.postMessage(survey.id);
}

/** A click, but not the second one of a double click, which was meant for what stood there before. */
function onClick(id, action) {
  $(id).addEventListener("click", (event) => event.detail < 2 && action());
}

onClick("another", () => {
  another = true;
  introduce();
  show("intro");
});
onClick("start", start);
onClick("decline", () => show("declined"));
onClick("return", () => show("intro"));
onClick("previous", () => go(-1));
onClick("change", () => show("questions"));
onClick("refuse", () => {
  forgetAnswers();
  ask();
  show("declined");
});
onClick("draw", draw);
onClick("send", send);
onClick("receipt", receipt);
onClick("look", () => show("report"));
onClick("back", () => show("done"));
onClick("forget", forget);
$("questions").addEventListener("submit", (event) => {
  event.preventDefault();
  if (complete(pages[at])) go(1);
});
addEventListener("popstate", () => {
  if (!["questions", "confirm"].includes(shown())) return;
  if (shown() === "confirm") show("questions");
  else go(-1);
  if (shown() !== "intro") history.pushState("asked", "");
});
addEventListener("online", sendNow);
addEventListener("visibilitychange", () => document.hidden || sendNow());
addEventListener("hashchange", () => location.reload());
addEventListener("pagehide", () => $("questions").reset()); // the next person's Back button finds no answers
begin().finally(() => $("waiting").remove());
