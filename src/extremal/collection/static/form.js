// The survey on the device of the person who answers. What they choose lives in the state of the inputs and nowhere
// else: it is read once, when the report is drawn, and erased. What is kept and sent is the report.
//
// The order is draw, keep, show, send; the draw is part of the step that keeps it. A reload before that finds nothing drawn
// that anybody has seen; a reload after it finds the report. It is kept for the whole site under the id of the survey: no
// reload, crash, second tab, other path, corrected text or new mechanism leads to a second one.

const TIMEOUT = 30e3; // of one attempt to send
const LONGEST_WAIT = 60e3; // between two attempts
const INSECURE = "This page did not come over https. Anybody on the way could have changed it, so it makes no report. " +
  "Nothing has been sent. Please open the link that begins with https://, or tell those who sent you here.";
const FRAMED = "This page was opened inside another page, which could watch it. Nothing has been sent. Please open it in a " +
  "tab of its own.";
const CHANGED = "The survey has changed since this device made its report. It keeps that report and makes no second one.";
const OLD = "This browser is too old for this survey: it cannot make a private report. " +
  "Nothing has been sent. Please use a current browser.";
const INDEPENDENT = "if what you choose is independent from item to item";

const $ = (id) => document.getElementById(id);

let survey;
let questions; // the survey's, each with its verified mechanisms
let kept; // of extremal.js: what this browser keeps, and changes to it
let record = null; // what it keeps about this person: {body, state, drawn}; body is the text that is sent, never an answer
let records = {}; // about everybody who answered this survey here, by their invitations
let channel; // to the other tabs
let token = "";
let another = false; // somebody said that they are not the person whose report is kept
let attempts = 0;
let busy = false;
let fresh = false; // whether the report was drawn since this page was loaded
let timer;

/** An element; its children are text or elements, never markup. */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Shows one part of the page and moves the reader to its heading. */
function show(id) {
  for (const part of ["other", "intro", "questions", "confirm", "report", "done"]) $(part).hidden = part !== id;
  const heading = id === "questions" ? $("fields").querySelector("input") : $(`${id}-title`);
  scrollTo(0, 0);
  if (heading) heading.focus({ preventScroll: true });
}

function notice(text, kind = "") {
  $("notices").append(make("p", { className: `notice ${kind}`, dir: "auto" }, text));
}

function stop(text) {
  show("");
  notice(text, "wrong");
}

// ---- What this browser keeps

/** Under which invitation the record stands; without invitations one person answers on a device, whoever it was. */
function owner() {
  return survey.invitation || token in records ? token : Object.keys(records)[0] || "";
}

/** Reads what is kept, after change(), which may set `record`; tells whether there is something about other surveys. */
async function keep(change = () => {}) {
  const name = `survey ${survey.id}`;
  const all = await kept((everything) => {
    records = everything[name] || {};
    record = records[owner()] || null;
    change();
    if (record) everything[name] = records = { ...records, [owner()]: record };
  });
  return Object.keys(all).some((other) => other !== name);
}

/** Writes down what has become of the report, and tells the other tabs. A browser that cannot has kept the report. */
async function mark(state) {
  const before = record;
  let changed = false;
  const change = () => {
    record = record || before;
    changed = record.state !== state && record.state !== "sent";
    if (changed) record = { ...record, state };
  };
  await keep(change).catch(change);
  if (changed) channel.postMessage(survey.id);
}

// ---- Loading: everything at once, the same for everybody.

async function get(address, integrity = "", tries = 3) {
  try {
    const answer = await fetch(address, { credentials: "omit", integrity });
    if (answer.ok) return await answer.text();
  } catch {
    // Networks of phones come and go.
  }
  if (tries === 1) throw new TypeError(`${address} is missing`);
  await new Promise((resolve) => { setTimeout(resolve, 1000); });
  return get(address, integrity, tries - 1);
}

function labelText(label) {
  if (label === null || typeof label !== "object") return String(label);
  return label.float || label.int || JSON.stringify(label);
}

/** The question with its mechanisms, if they are what the survey says: verified, and about these answers. */
async function prepare(load, question) {
  const { kind, answers, form } = question;
  const mechanisms = await Promise.all(question.mechanisms.map(async (address) => load(await get(address))));
  for (const mechanism of mechanisms) await mechanism.verify();
  const expected =
    kind !== "several" ? answers
    : form === "each" ? ["no", "yes"]
    : Array.from({ length: 2 ** answers.length }, (_, i) => i.toString(2).padStart(answers.length, "0"));
  const wanted = kind === "clear" ? 0 : form === "each" ? answers.length : 1;
  const fits = (mechanism, i) => mechanism.digest === question.digests[i] &&
    JSON.stringify(mechanism.inputs.map(labelText).sort()) === JSON.stringify([...expected].sort());
  if (mechanisms.length !== wanted || !mechanisms.every(fits)) {
    throw new Error("The files of this survey do not fit together.");
  }
  return { ...question, mechanisms };
}

async function begin() {
  if (!window.isSecureContext) return stop(INSECURE);
  if (window.top !== window) return stop(FRAMED);
  const parts = [window.BigInt, window.crypto && crypto.getRandomValues && crypto.subtle, window.structuredClone];
  if (!parts.every(Boolean)) return stop(OLD);
  let load;
  try {
    const digest = document.querySelector("meta[name=survey]").content;
    const [text, module] = await Promise.all([get(`survey.json?${encodeURIComponent(digest)}`, digest), import("./extremal.js")]);
    ({ load, kept } = module);
    survey = JSON.parse(text);
    if (typeof survey.id !== "string" || !/^[\w-]{8,64}$/.test(survey.id)) throw new Error("It has no id.");
    questions = await Promise.all(survey.questions.map((question) => prepare(load, question)));
  } catch (error) {
    if (error instanceof SyntaxError && !load) return stop(OLD); // extremal.js, in a browser that cannot read it
    if (error instanceof TypeError || error instanceof SyntaxError) {
      stop("The survey could not be loaded. Please check your connection. Nothing has been sent.");
      $("notices").append(make("button", { type: "button", onclick: () => location.reload() }, "Try again"));
      return undefined;
    }
    return stop(`This survey cannot be trusted, so you cannot answer it here. ${error.message} Nothing has been sent.`);
  }
  document.title = $("title").textContent = survey.title;
  if (survey.invitation) {
    token = (/^#([0-9a-f]{32})$/.exec(location.hash) || ["", ""])[1];
    if (!token) return stop("This survey is by invitation. Please open the whole link that you were sent.");
  }
  let others;
  try {
    others = await keep();
  } catch (error) {
    return stop(`${error.message} Nothing has been sent.`);
  }
  channel = new BroadcastChannel("extremal");
  channel.onmessage = ({ data }) => data === survey.id && keep().then(() => record && resume(), () => {});
  return resume() || introduce(others);
}

function introduce(others) {
  $("introduction").textContent = survey.introduction || "";
  $("contact").textContent = survey.contact ? `Contact: ${survey.contact}` : "";
  const mechanisms = questions.flatMap((question) => question.mechanisms);
  $("promise").hidden = mechanisms.length === 0;
  $("open").hidden = questions.every((question) => question.kind !== "clear");
  $("check").textContent = limits(questions.filter((question) => question.kind !== "clear"));
  if (others) {
    notice("This device has answered another survey at this address. If it asked you the same, note that two reports " +
      "together can tell more about you than one.");
  }
  ask();
  show("intro");
}

/** What this device has checked, and what it has to take from the survey. */
function limits(asked) {
  const limit = (level, among) => times(Math.exp(Math.max(...among.map(level))));
  const stated = asked.filter(isStated);
  const proved = asked.filter((question) => !isStated(question));
  const sum = ({ mechanisms }) => mechanisms.reduce((level, mechanism) => level + mechanism.epsilon, 0);
  return [
    proved.length ? "Checked just now by this device, in exact arithmetic: the report on one question makes no guess about " +
      `your answer more than ${limit(sum, proved)} as likely to be right.` : "",
    stated.length ? `For ${stated.map(({ text }) => `“\u2068${text}\u2069”`).join(", ")} the survey states: the reports on ` +
      `all items make no guess about what you chose more than ${limit(({ level }) => level, stated)} as likely to be ` +
      "right. This device has checked the report on each item by itself." : "",
    "This holds for someone who knows only how common each answer is" +
      `${asked.some(({ independent }) => independent) ? `, ${INDEPENDENT}` : ""}.`,
  ].filter(Boolean).join(" ");
}

// ---- Asking

function ask() {
  $("fields").replaceChildren(...questions.map((question, q) => {
    const { kind, help, answers, required } = question;
    const text = questions.length > 1 ? `${q + 1}. ${question.text}` : question.text;
    const several = kind === "several";
    const choices = several ? [...answers, "None of these"]
      : required || kind !== "clear" ? answers : [...answers, "I prefer not to answer"];
    const field = make("fieldset", { id: `question-${q}` },
      make("legend", { dir: "auto" }, text),
      kind === "clear" ? make("span", { className: "mark open" }, "Not private: sent as it is")
        : make("span", { className: "mark" }, "Private: stays on this device"));
    if (help) field.append(make("p", { className: "small text", dir: "auto", id: `help-${q}` }, help));
    if (help) field.setAttribute("aria-describedby", `help-${q}`);
    if (several) field.append(make("p", { className: "small" }, "Choose all that apply."));
    choices.forEach((choice, i) => field.append(make("label", {},
      make("input", { type: several ? "checkbox" : "radio", name: `question-${q}`, value: i }),
      make("span", { dir: "auto" }, choice))));
    field.addEventListener("change", ({ target }) => {
      field.className = "";
      $("missing").textContent = "";
      if (several) exclude(target, answers.length);
    });
    return field;
  }));
}

/** "None of these" and the items exclude each other. */
function exclude(changed, none) {
  if (!changed.checked) return;
  for (const input of inputsOf(changed.closest("fieldset"))) {
    if ((Number(input.value) === none) !== (Number(changed.value) === none)) input.checked = false;
  }
}

function inputsOf(field) {
  return [...field.querySelectorAll("input")];
}

/** Whether every question has an answer; leads to the first that has none. */
function complete() {
  const lacking = questions.map((question, q) => {
    const optional = question.kind === "clear" && !question.required;
    const field = $(`question-${q}`);
    const lacks = !optional && !inputsOf(field).some((input) => input.checked);
    field.className = lacks ? "lacking" : "";
    return lacks;
  });
  const first = lacking.indexOf(true);
  if (first < 0) return true;
  $("missing").textContent = questions.length > 1 ? `Please answer question ${first + 1}.` : "Please choose an answer.";
  inputsOf($(`question-${first}`))[0].focus();
  return false;
}

// ---- Drawing

/** What is sent for one question. For a private one this is the only place where an answer is read. */
function drawn(question, q) {
  const checked = inputsOf($(`question-${q}`)).map((input) => input.checked);
  const { kind, answers, form, mechanisms } = question;
  const draw = (mechanism, answer) => mechanism.draw(mechanism.inputs.find((label) => labelText(label) === answer));
  if (kind === "several") {
    const bits = answers.map((_, i) => (checked[i] ? 1 : 0));
    return form === "each" ? mechanisms.map((mechanism, i) => draw(mechanism, ["no", "yes"][bits[i]]))
      : draw(mechanisms[0], bits.join(""));
  }
  const answer = answers[checked.indexOf(true)];
  return kind === "clear" ? (answer === undefined ? null : answer) : draw(mechanisms[0], answer);
}

/** Draws and keeps the report in one step, unless one is kept already, and erases the answers. */
async function draw() {
  if (!record && !complete()) return show("questions"); // Back and forward have erased them
  try {
    await keep(() => {
      if (record || (Object.keys(records).length && !another)) return;
      const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
      const reports = Object.fromEntries(questions.map((question, q) => [question.name, drawn(question, q)]));
      const body = { survey: survey.digest, id: id.join(""), reports };
      if (token) body.token = token;
      fresh = true;
      record = { body: JSON.stringify(body), state: "drawn", drawn: digests() };
    });
  } catch (error) {
    record = null;
    $("questions").reset();
    return stop(`${error.message} Nothing has been sent.`);
  }
  channel.postMessage(survey.id);
  return resume();
}

/** Goes on where the record says; false if nothing was drawn yet. */
function resume() {
  if (!record && (another || !Object.keys(records).length)) return false;
  $("questions").reset();
  $("fields").replaceChildren();
  if (!record) {
    show("other");
    return true;
  }
  if (record.body) describe(record);
  if (record.state === "sent") {
    finish(record);
  } else {
    $("progress").textContent = "";
    show("report");
    if (record.state === "queued") send();
  }
  return true;
}

// ---- Explaining

/** A factor, rounded up as everywhere in the package: two decimals, and near 1 two digits of what it adds. */
function times(factor) {
  const added = factor - 1;
  const decimals = added >= 0.1 || added < 1e-12 ? 2 : 1 - Math.floor(Math.log10(added));
  const whole = Math.ceil(added * 10 ** decimals - 1e-8);
  return `${Number((1 + whole / 10 ** decimals).toFixed(decimals))} times`;
}

/** A probability as a percentage that never hides what is certain or ruled out. */
function percent(p) {
  if (p === 0) return "ruled out";
  if (p === 1) return "certain";
  const rounded = Math.round(100 * p);
  return rounded === 0 ? "under 1%" : rounded === 100 ? "over 99%" : `${rounded}%`;
}

/** For every answer or item: its text and its probability before and after the report is known. */
function tells({ kind, answers, form, mechanisms }, report) {
  if (kind !== "several") return mechanisms[0].reveals(report).map((row) => ({ ...row, text: labelText(row.answer) }));
  const share = (rows, which, has) => rows.reduce((sum, row) => sum + (has(row.answer) ? row[which] : 0), 0);
  return answers.map((text, i) => {
    const rows = form === "each" ? mechanisms[i].reveals(report[i]) : mechanisms[0].reveals(report);
    const has = (label) => (form === "each" ? label === "yes" : labelText(label)[i] === "1");
    return { text, before: share(rows, "before", has), after: share(rows, "after", has) };
  });
}

/** Whether items depend on each other: then only the survey knows what the reports on all of them tell together. */
function isStated({ form, independent }) {
  return form === "each" && !independent;
}

/** How many times likelier this report makes any guess, at most. */
function leak({ form, mechanisms }, report) {
  const largest = (mechanism, value) => Math.max(...mechanism.reveals(value).map((row) => row.after / row.before));
  return form === "each" ? mechanisms.reduce((product, mechanism, i) => product * largest(mechanism, report[i]), 1)
    : largest(mechanisms[0], report);
}

function explain(question, report) {
  const rows = tells(question, report);
  const several = question.kind === "several";
  const named = (row) => `${several ? "that you chose " : ""}“\u2068${row.text}\u2069”`; // isolated: it may run right to left
  const most = rows.reduce((a, b) => (b.after / b.before > a.after / a.before ? b : a));
  const gone = rows.filter((row) => row.after === 0).map(named);
  const mixed = question.form === "joint" && question.mechanisms[0].reveals(report).some((row) => row.after === 0);
  const sentences = [
    most.after > most.before
      ? `With this report it looks more likely ${several ? "" : "that your answer is "}${named(most)}: ` +
        `${percent(most.after)} instead of ${percent(most.before)}.`
      : `With this report ${several ? "nothing in the list" : "no answer"} looks more likely than before.`,
    gone.length ? `It rules out ${gone.join(", ")}.` : mixed ? "It rules out some combinations." : "",
    isStated(question)
      ? "These figures are from the report on each item by itself. The survey states: all of them together make no guess " +
        `about what you chose more than ${times(Math.exp(question.level))} as likely to be right.`
      : `It makes no guess about your answer more than ${times(leak(question, report))} as likely to be right` +
        `${question.independent ? `, ${INDEPENDENT}` : ""}.`,
  ];
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ...[several ? "You chose" : "Your answer is", "Before", "With it"]
      .map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, row.text),
      make("td", {}, percent(row.before)), make("td", {}, percent(row.after))))));
  const said = question.form === "each" ? question.answers.map((item, i) => `\u2068${item}\u2069: ${labelText(report[i])}`).join("; ")
    : typeof report === "number" ? `number ${report}` : labelText(report);
  return [
    make("p", { dir: "auto" }, "Report: ", make("b", { dir: "auto" }, said)),
    make("p", { dir: "auto" }, sentences.filter(Boolean).join(" ")),
    make("details", {}, make("summary", {}, "How likely each answer looks"), table),
  ];
}

/** The digests of each question's mechanisms. */
function digests() {
  return Object.fromEntries(questions.map(({ name, mechanisms }) => [name, mechanisms.map(({ digest }) => digest).join()]));
}

function describe({ body, drawn }) {
  const sent = JSON.parse(body);
  const now = digests();
  $("reports").replaceChildren(...Object.entries(sent.reports).map(([name, report]) => {
    const question = questions.find((other) => other.name === name);
    const as = (text, value) => make("p", { dir: "auto" }, text, make("b", {}, value));
    return make("div", { className: "card" }, make("h3", { dir: "auto" }, question ? question.text : name),
      ...(question && question.kind === "clear" && drawn[name] === now[name]
        ? [as("Answer, sent as it is: ", report === null ? "none" : String(report))]
        : survey.learns && !fresh ? [as("Report: ", JSON.stringify(report))] // the same for all: it shows no stage
          : drawn[name] !== now[name] ? [as("Report, made for an earlier version of this question: ", JSON.stringify(report))]
            : explain(question, report)));
  }));
  const known = "“Likely” is meant for someone who knows only how common each answer is, and sees this report.";
  $("together").textContent = (sent.survey !== survey.digest && !survey.learns ? [CHANGED]
    : [questions.some(({ kind }) => kind !== "clear") ? known : "", survey.together]).filter(Boolean).join("\n");
  $("body").textContent = body;
  if (survey.post === null) $("send").textContent = "Save my report as a file";
}

// ---- Sending

function save(name, text, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
}

/** "accepted", "refused: why", or "later" where the report may or may not have arrived. */
async function post(body) {
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

/** How the sending goes, below a report that may be longer than the screen. */
function tell(text) {
  if ($("progress").textContent === text) return;
  $("progress").textContent = text;
  $("progress").scrollIntoView({ block: "nearest" });
}

async function send() {
  if (busy || record.state === "sent") return;
  if (survey.post === null) {
    save(`report-${JSON.parse(record.body).id.slice(0, 8)}.json`, record.body, "application/json");
    finish(record);
    return;
  }
  busy = true;
  clearTimeout(timer);
  $("sending").hidden = true;
  $("drawn").hidden = true;
  if (!attempts) tell("Sending…");
  await mark("queued");
  const result = record.state === "sent" ? "accepted" : await post(record.body); // another tab was faster
  if (result !== "later") await mark(result === "accepted" ? "sent" : "drawn");
  busy = false;
  if (record.state === "sent") {
    finish(record);
  } else if (result === "later") {
    tell("Your report has not been confirmed yet. Your device keeps it and tries again by itself: " +
      "keep this page open, or come back to it later. It counts once, however often it is sent.");
    timer = setTimeout(send, Math.min(LONGEST_WAIT, 1000 * 2 ** attempts) * (0.5 + Math.random() / 2));
    attempts += 1;
  } else {
    $("sending").hidden = false;
    tell(`Your report was not accepted. ${result.slice(9)}`);
  }
}

function sendNow() {
  if (record && record.state === "queued") send();
}

function finish({ body }) {
  const file = survey.post === null;
  $("thanks").textContent = !file ? "Your report has arrived. Your private answers never left this device."
    : `Your report is saved as a file. Please send that file${survey.contact ? ` to ${survey.contact}` : " on"}. ` +
      "Your private answers are not in it.";
  for (const part of ["number", "receipt", "look", "forget"]) $(part).hidden = !body;
  $("receipt").hidden = $("forget").hidden = !body || file;
  if (body) $("id").textContent = JSON.parse(body).id;
  $("sending").hidden = !file;
  $("drawn").hidden = true;
  $("back").hidden = false;
  $("progress").textContent = "";
  $("report-title").textContent = file ? "This is what is in the file" : "This was sent";
  show("done");
}

function receipt() {
  const { id, reports, survey: digest } = JSON.parse(record.body);
  const texts = Object.fromEntries(questions.map((question) => [question.name, question.text]));
  const lines = Object.entries(reports).map(([name, report]) => `${texts[name] || name}\n  ${JSON.stringify(report)}`);
  save(`receipt-${id.slice(0, 8)}.txt`,
    `Receipt: ${survey.title}\n\nReceipt code ${id}\nSurvey ${digest}\n\nWhat was sent:\n${lines.join("\n")}\n`,
    "text/plain");
}

/** Keeps only that this device has answered. */
async function forget() {
  await keep(() => { record = { state: "sent" }; });
  for (const part of ["reports", "id", "body"]) $(part).textContent = "";
  finish(record);
  channel.postMessage(survey.id);
}

/** A click, but not the second one of a double click, which was meant for what stood there before. */
function onClick(id, action) {
  $(id).addEventListener("click", (event) => event.detail < 2 && action());
}

onClick("another", () => {
  another = true;
  introduce();
});
onClick("start", () => show("questions"));
onClick("change", () => show("questions"));
onClick("draw", draw);
onClick("send", send);
onClick("receipt", receipt);
onClick("look", () => show("report"));
onClick("back", () => show("done"));
onClick("forget", forget);
$("questions").addEventListener("submit", (event) => {
  event.preventDefault();
  if (complete()) show("confirm");
});
addEventListener("online", sendNow);
addEventListener("visibilitychange", () => document.hidden || sendNow());
addEventListener("hashchange", () => location.reload());
addEventListener("pagehide", () => $("questions").reset()); // the next person's Back button finds no answers
begin().finally(() => $("waiting").remove());
