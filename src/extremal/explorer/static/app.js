// The page's state, what it asks of the server, and what it shows. Figures come from the library; nothing is computed here.

import { heatMap, leakageBars, listTable, make, percent, short, tradeoff, words } from "./charts.js";

const $ = (id) => document.getElementById(id);
const STEPS = 1000; // of the slider
const LARGEST_FILE = 5e6;
const YOUNG = 250; // milliseconds
const THREE = "never, 0.5\nonce, 0.3\noften, 0.2";

const page = { epsilon: 0.5, prior: null, design: null, curve: null, curveKey: "", reports: null, upload: null, options: null };
let exploring = null; // the request under way
let drawing = null; // the AbortController of the curve

// ---- state -------------------------------------------------------------------------------------------------------

function state() {
  return {
    prior: $("prior").value, kind: $("kind").value, pseudocount: Number($("pseudocount").value) || 0,
    epsilon: page.epsilon, utility: $("utility").value,
    reports: Math.round(Number($("reports").value)) || 0, confidence: Number($("confidence").value) || 0,
  };
}

// The link in the terminal carries the token after the #. It leaves the address at once and stays with this tab.
// Nothing else is ever written to the address: browsers keep it in their history.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) sessionStorage.setItem("token", given);
  if (location.hash) history.replaceState(null, "", location.pathname);
  return Boolean(given);
}

// ---- asking ------------------------------------------------------------------------------------------------------

const credentials = () => ({ "X-Explorer-Token": sessionStorage.getItem("token") ?? "" });

const post = (task, document, signal) => fetch(`api/${task}`, {
  method: "POST", headers: { "Content-Type": "application/json", ...credentials() }, body: JSON.stringify(document), signal,
});

class Refused extends Error {}

async function* messages(task, document, signal) {
  const response = await post(task, document, signal);
  if (!response.ok) throw new Refused((await response.json()).message);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

let wanted = false, waiting = 0, later = 0;
function refresh() { // at most one request a frame
  wanted = true;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(next);
}

function next() {
  // A request that will be answered in a moment is let finish, so that a moving slider shows where it passes.
  clearTimeout(later);
  if (!wanted) return;
  const left = exploring && !exploring.shown ? exploring.begin + YOUNG - performance.now() : 0;
  if (left > 0) later = setTimeout(next, left);
  else explore();
}

async function explore() {
  wanted = false;
  $("begin").hidden = true;
  exploring?.abort.abort();
  const begin = performance.now();
  const mine = exploring = { abort: new AbortController(), begin, shown: false };
  const busy = new Busy(begin);
  try {
    for await (const message of messages("explore", { state: state() }, mine.abort.signal)) {
      if (mine !== exploring) return;
      if (message.type === "error") return fail(message.message, busy);
      if (message.type === "prior") showPrior(message);
      if (message.type === "working" || message.type === "progress") busy.progress(message);
      if (message.type === "design") {
        showDesign(message);
        busy.first();
        mine.shown = true;
        if (wanted) return next();
        if (page.prior.size <= 20) drawCurve();
      }
      if (message.type === "errors") showErrors(message);
    }
    busy.end(`Computed in ${Math.round(performance.now() - begin)} ms`);
    drawCurve();
  } catch (error) {
    if (error instanceof Refused) fail(error.message, busy);
    else if (error.name !== "AbortError") fail(`The explorer does not answer (${error.message}). Is it still running?`, busy);
    else if (mine === exploring) busy.end("Cancelled. What is shown is not for the present choices.", true);
  } finally {
    busy.stop();
    if (mine === exploring) {
      exploring = null;
      next();
    }
  }
}

class Busy { // says what is going on where it takes longer than a blink
  constructor(begin) {
    this.begin = begin;
    this.round = "";
    this.gap = "";
    this.shown = false;
    this.timer = setInterval(() => this.tick(), 100);
    this.late = setTimeout(() => { this.shown = true; this.tick(); $("results").classList.add("stale"); }, 250);
  }
  progress(message) {
    if (message.round) this.round = `, round ${message.round}`;
    if (message.upper_bound) {
      const gap = (message.upper_bound - message.value) / Math.max(message.value, 1e-300);
      this.gap = `, at most ${gap < 1e-9 ? "0" : short(100 * gap, 2)} % below the best possible so far`;
    }
  }
  tick() {
    if (!this.shown) return;
    const seconds = (performance.now() - this.begin) / 1000;
    $("status").textContent = `Computing, ${seconds.toFixed(0)} s${this.round}${this.gap}`;
    $("progress").hidden = $("cancel").hidden = false;
    $("progress").removeAttribute("value"); // how long it takes is not known
  }
  first() {
    $("results").classList.remove("stale");
    clearTimeout(this.late);
    this.late = setTimeout(() => { this.shown = true; this.tick(); }, 250);
    this.gap ||= ", a first design is shown";
  }
  end(text, stale = false) {
    this.stop();
    $("status").textContent = text;
    $("progress").hidden = $("cancel").hidden = true;
    $("results").classList.toggle("stale", stale);
  }
  stop() {
    clearInterval(this.timer);
    clearTimeout(this.late);
  }
}

function fail(message, busy) {
  say("prior-error", message);
  $("prior-words").textContent = "";
  $("prior").setAttribute("aria-invalid", "true");
  busy.end("Nothing to show for these choices.", true);
}

function say(id, message) {
  $(id).textContent = message;
  $(id).hidden = !message;
}

async function drawCurve() {
  const { prior, kind, pseudocount, utility } = state();
  const key = JSON.stringify([prior, kind, pseudocount, utility]);
  if (key === page.curveKey) return showCurve();
  drawing?.abort();
  const mine = drawing = new AbortController();
  page.curveKey = key;
  page.curve = null;
  showCurve();
  const late = setTimeout(() => { $("curve-state").hidden = false; }, 400);
  try {
    for await (const message of messages("curve", { state: state() }, mine.signal)) {
      if (mine !== drawing) return;
      if (message.type === "points") {
        $("curve-progress").value = message.done / message.points;
        $("curve-status").textContent = `${message.done} of ${message.points} points`;
      }
      if (message.type === "curve") { page.curve = message; showCurve(); }
    }
  } catch (error) {
    if (error.name !== "AbortError") page.curveKey = "";
  } finally {
    clearTimeout(late);
    if (mine === drawing) $("curve-state").hidden = true;
  }
}

// ---- showing -----------------------------------------------------------------------------------------------------

function showPrior(prior) {
  page.prior = prior;
  say("prior-error", "");
  $("prior").removeAttribute("aria-invalid");
  $("prior-words").textContent = `${prior.size} answers, read as ${prior.words}; entropy ${short(prior.entropy)} nats.`;
  $("top").textContent = short(prior.epsilon_max);
  $("marks").replaceChildren(...(prior.edges.length <= 200 ? prior.edges.slice(1, -1) : []).map((edge) => {
    const mark = make("i", { className: edge <= page.epsilon ? "passed" : "" });
    mark.style.left = `${100 * edge / prior.epsilon_max}%`;
    return mark;
  }));
  showEpsilon();
}

function showEpsilon() {
  if (document.activeElement !== $("epsilon")) $("epsilon").value = Number(page.epsilon.toFixed(4));
  if (!page.prior) return;
  const { edges, epsilon_max: top, size } = page.prior;
  $("slider").value = Math.round(STEPS * Math.min(page.epsilon / top, 1));
  const region = edges.filter((edge) => page.epsilon >= edge - 1e-12).length;
  const said = region > size ? "full disclosure is allowed"
    : region === 1 ? "no report can rule out any answer"
    : `a report can rule out up to ${region - 1} of ${size} answers`;
  $("region").textContent = `Region ${Math.min(region, size)} of ${size}: ${said}.`;
  $("slider").setAttribute("aria-valuetext", `${short(page.epsilon)} nats, ${said}`);
  for (const [k, mark] of [...$("marks").children].entries()) mark.className = edges[k + 1] <= page.epsilon ? "passed" : "";
}

function showDesign(design) {
  page.design = design;
  showEpsilon();
  heatMap($("matrix"), design);
  leakageBars($("leakage"), design);
  showCurve();
  const gain = design.response > 0 ? design.value / design.response : 0;
  const share = design.ceiling > 0 ? design.value / design.ceiling : 0;
  const bound = design.upper_bound === null ? "" : `; at most ${(Math.ceil(1000 * design.upper_bound) / 10).toFixed(1)} % is possible`;
  $("tiles").replaceChildren(
    tile(`×${short(design.factor)}`, "at most: how much likelier a report can make any guess"),
    ...(design.efficiency ? [
      tile(percent(design.value), `efficiency for ${design.utility}${bound}`),
      tile(design.value ? `${short(1 / design.value)} ×` : "–", "as many people as without privacy, for the same accuracy"),
      tile(gain ? `${short(gain)} ×` : "–", "the efficiency of randomized response at this leakage"),
    ] : [
      tile(percent(share), `of the answer's ${design.utility} is kept (${short(design.value)})`),
      tile(gain ? `${short(gain)} ×` : "–", "what randomized response keeps at this leakage"),
      tile(percent(design.agreement), `of reports are the true answer (${percent(design.response_agreement)} with randomized response)`),
    ]));
  const proof = design.upper_bound === null ? "no bound is known"
    : design.gap < 1e-9 ? "proven optimal" : `proven to be at most ${short(100 * design.gap, 2)} % below the best possible`;
  $("method").textContent = `${design.inputs.length} answers, ${design.outputs.length} reports; ${proof}` +
    `${design.final ? "" : ", still improving"}; method ${design.method}; certified for ε = ${short(design.epsilon, 6)}.`;
  $("matrix").dataset.epsilon = design.epsilon;
  $("matrix").dataset.final = design.final;
  const open = $("risk").querySelector("details")?.open ?? false;
  const [lead, ...rest] = design.words;
  const part = ({ title, text }) => [make("h3", {}, title), ...text.map((line) => make("p", {}, line))];
  const guess = design.sections.find(({ title }) => title === "What an observer can guess");
  $("risk").replaceChildren(make("p", { className: "lead" }, lead), ...rest.map((line) => make("p", {}, line)),
    ...(guess ? part(guess) : []),
    make("details", { open }, make("summary", {}, "More of the audit"),
      ...design.sections.filter((section) => section !== guess && section.title !== "In short").flatMap(part)));
}

const tile = (figure, text) => make("div", { className: "tile" }, make("b", {}, figure), make("span", {}, text));

function showCurve() {
  if (!page.prior || !(page.curve || page.design)) return;
  tradeoff($("curve"), page.curve, page.design, page.prior.edges, setEpsilon);
  $("curve-words").textContent = words(page.curve, page.design);
}

function showErrors(errors) {
  if (errors.skipped) return $("errors").replaceChildren(make("p", { className: "hint" }, errors.skipped));
  const error = (value) => value === null ? "none" : `± ${value.toFixed(3)}`;
  const rms = (value) => value === null ? "cannot tell all shares apart" : `is off by ${value.toFixed(4)} (root mean square)`;
  const rows = errors.labels.slice(0, 40).map((label, k) => [String(label),
    error(errors.optimal.errors[k]), errors.optimal.widths[k].toFixed(3), error(errors.response.errors[k])]);
  $("errors").replaceChildren(
    make("p", { className: "lead" }, errors.sentence),
    make("p", {}, `From ${errors.reports.toLocaleString("en")} reports, an estimate of the shares ${rms(errors.optimal.root_mean_square)}; ` +
      `with randomized response it ${rms(errors.response.root_mean_square)}.`),
    make("div", { className: "scroll" }, listTable(["answer", "standard error", "interval width", "with rand. resp."], rows)),
    make("p", { className: "hint" }, `Width of intervals that hold for all shares together with confidence ${errors.confidence}. ` +
      "None: a mechanism that keeps most information may merge answers, whose shares it then cannot tell apart."));
}

function showSample(sample) {
  page.reports = sample.reports;
  $("save-reports").disabled = false;
  const rows = sample.rows.map((row) => [String(row.label), percent(row.sample), row.reported === null ? "–" : percent(row.reported),
    percent(row.estimate), `${percent(row.lower)} – ${percent(row.upper)}`]);
  const pairs = sample.answers.slice(0, 8).map((answer, k) => `${answer} → ${sample.reports[k]}`).join("; ");
  $("drawn").replaceChildren(
    make("p", {}, `${sample.count} reports drawn. The first: ${pairs}${sample.count > 8 ? "; …" : "."}`),
    make("div", { className: "scroll" }, listTable(["answer", "in the sample", "in the reports", "estimated back", "interval"], rows)));
}

// ---- acting ------------------------------------------------------------------------------------------------------

function setEpsilon(epsilon) {
  page.epsilon = Math.max(epsilon, 0);
  showEpsilon();
  refresh();
}

function setPrior(text, kind = "auto") {
  $("prior").value = text;
  $("kind").value = kind;
  refresh();
}

async function upload(column) {
  say("prior-error", "");
  try {
    const { name, text } = page.upload;
    for await (const message of messages("read", { name, text, ...(column ? { column } : {}) })) {
      if (message.type === "error") throw new Error(message.message);
      $("column-field").hidden = message.columns.length < 2;
      $("column").replaceChildren(...message.columns.map((c) => make("option", { value: c, selected: c === message.column }, c)));
      setPrior(message.text, message.kind);
    }
  } catch (error) {
    say("prior-error", error.message);
  }
}

async function choose(file) {
  if (!file) return;
  if (file.size > LARGEST_FILE) return say("prior-error", "the file must have at most 5 MB; count the answers first");
  try {
    page.upload = { name: file.name, text: new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()) };
  } catch {
    return say("prior-error", "the file must be UTF-8 text (CSV or JSON), got other bytes");
  }
  upload();
}

function save(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function download(name, button) {
  say("file-error", "");
  button.disabled = true;
  try {
    const response = await post("file", { state: state(), name });
    if (!response.ok) throw new Error((await response.json()).message);
    save(name, await response.blob());
  } catch (error) {
    say("file-error", error.message);
  }
  button.disabled = false;
}

async function privatise() {
  say("sample-error", "");
  $("draw").disabled = true;
  try {
    for await (const message of messages("privatize", { state: state(), sample: $("sample").value })) {
      if (message.type === "error") throw new Error(message.message);
      if (message.type === "sample") showSample(message);
    }
  } catch (error) {
    say("sample-error", error.message);
  }
  $("draw").disabled = false;
}

function exampleSample() { // not secret, so no secure randomness is needed
  const { labels, probabilities } = page.prior;
  $("sample").value = Array.from({ length: 200 }, () => {
    let left = Math.random();
    const k = probabilities.findIndex((p) => (left -= p) < 0);
    return labels[k < 0 ? 0 : k];
  }).join("\n");
}

function edge(up) {
  const edges = page.prior?.edges ?? [];
  const found = up ? edges.find((e) => e > page.epsilon + 1e-9) : edges.findLast((e) => e < page.epsilon - 1e-9);
  if (found !== undefined) setEpsilon(found);
}

function listen() {
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["prior", "kind", "pseudocount", "utility", "reports", "confidence"]) $(id).addEventListener("input", refresh);
  $("slider").addEventListener("input", () => setEpsilon(Number(((page.prior?.epsilon_max ?? 1) * $("slider").value / STEPS).toFixed(6))));
  $("epsilon").addEventListener("input", () => { if ($("epsilon").value !== "") setEpsilon(Number($("epsilon").value)); });
  $("lower").addEventListener("click", () => edge(false));
  $("higher").addEventListener("click", () => edge(true));
  $("example").addEventListener("click", () => setPrior(page.options.example));
  $("small").addEventListener("click", () => setPrior(THREE));
  $("even").addEventListener("click", () => {
    if (page.prior) setPrior(page.prior.labels.map((label) => `${label}, 1`).join("\n"), "counts");
  });
  $("upload").addEventListener("change", () => choose($("upload").files[0]));
  $("column").addEventListener("change", () => upload($("column").value));
  $("cancel").addEventListener("click", () => exploring?.abort.abort());
  $("curve-cancel").addEventListener("click", () => drawing?.abort());
  $("draw").addEventListener("click", privatise);
  $("fill").addEventListener("click", exampleSample);
  $("save-reports").addEventListener("click", () => save("reports.csv", new Blob(
    [["report", ...page.reports.map((r) => `"${String(r).replaceAll('"', '""')}"`)].join("\n") + "\n"], { type: "text/csv" })));
  $("begin").addEventListener("click", refresh);
  new ResizeObserver(() => showCurve()).observe($("curve"));
}

async function start() {
  addEventListener("hashchange", () => { if (takeToken()) location.reload(); });
  const opened = takeToken();
  const response = await fetch("api/options", { headers: credentials() });
  if (!response.ok) return lock((await response.json()).message);
  page.options = await response.json();
  $("utility").replaceChildren(...Object.entries(page.options.utilities).map(([value, name]) => make("option", { value }, name)));
  const titles = { mechanism: "Mechanism", report: "Report", matrix: "Matrix", leakage: "Leakage", prior: "Prior", tradeoff: "Trade-off" };
  $("files").replaceChildren(...page.options.files.map((name) => {
    const [what, kind] = name.split(".");
    const button = make("button", { type: "button", className: what === "mechanism" ? "" : "quiet", "data-name": name }, `${titles[what]} (${kind.toUpperCase()})`);
    button.addEventListener("click", () => download(name, button));
    return button;
  }));
  $("prior").value = page.options.example;
  page.epsilon = 0.7;
  showEpsilon();
  listen();
  if (opened) return explore();
  // Any site can link to this page: without the token in the link, nothing is computed until a person asks for it.
  $("status").textContent = "Nothing is computed yet.";
  $("begin").hidden = false;
}

function lock(message) {
  $("status").textContent = `${message[0].toUpperCase()}${message.slice(1)}.`;
  for (const control of document.querySelectorAll("input, select, textarea, button")) control.disabled = true;
}

start();
