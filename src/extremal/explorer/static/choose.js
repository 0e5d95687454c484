// The controls: answers and how common they are, the limit, and the wish that a limit follows from.

import { messages } from "./ask.js";
import { $, make, say } from "./dom.js";
import { page, state } from "./page.js";
import { refresh } from "./search.js";

const STEPS = 1000; // of the slider
const LARGEST_FILE = 5e6;

export const fromSlider = () => setEpsilon(Number(((page.prior?.epsilon_max ?? 1) * $("slider").value / STEPS).toFixed(6)));

export function showPrior(prior) {
  page.prior = prior;
  say("error", "");
  $("prior").removeAttribute("aria-invalid");
  $("is-example").hidden = $("prior").value !== page.example;
  $("prior-words").textContent = prior.words;
  $("promise").textContent = prior.promise;
  $("ruled-out").textContent = prior.ruled_out;
  $("slider").setAttribute("aria-valuetext", prior.promise);
  $("most").textContent = `× ${prior.most}`;
  $("marks").replaceChildren(...(prior.edges.length <= 200 ? prior.edges.slice(1, -1) : []).map((edge) => {
    const mark = make("i", { className: edge <= page.epsilon ? "passed" : "" });
    mark.style.left = `${100 * edge / prior.epsilon_max}%`;
    return mark;
  }));
  showEpsilon();
}

export function showEpsilon() {
  if (document.activeElement !== $("epsilon")) $("epsilon").value = Number(page.epsilon.toFixed(4));
  if (page.prior) $("slider").value = Math.round(STEPS * Math.min(page.epsilon / page.prior.epsilon_max, 1));
}

export function setEpsilon(epsilon) {
  page.epsilon = epsilon;
  say("epsilon-error", "");
  showEpsilon();
  refresh();
}

export function typedEpsilon() {
  const typed = $("epsilon").valueAsNumber;
  if (typed >= 0) setEpsilon(typed);
  else if (typed < 0) say("epsilon-error", `ε must be 0 or more. The results are for ε = ${Number(page.epsilon.toFixed(4))}.`);
}

export function endEpsilon() { // what is no limit does not stay in the field
  if ($("epsilon").valueAsNumber >= 0) return;
  $("epsilon").value = Number(page.epsilon.toFixed(4));
  say("epsilon-error", "");
}

export function mark(up) { // to where a report can rule out one answer more, or fewer
  const edges = page.prior?.edges ?? [];
  const found = up ? edges.find((e) => e > page.epsilon + 1e-9) : edges.findLast((e) => e < page.epsilon - 1e-9);
  if (found !== undefined) setEpsilon(found);
}

export async function wish() {
  say("wish-error", "");
  $("wish").disabled = true;
  $("wish-words").textContent = "Searching…";
  try {
    for await (const message of messages("wish", { state: state(), points: Number($("wanted").value) })) {
      if (message.type === "error") throw new Error(message.message);
      if (message.type !== "wish") continue;
      $("wish-words").textContent = `ε = ${Number(message.epsilon.toFixed(4))} is enough.`;
      setEpsilon(message.epsilon);
    }
  } catch (error) {
    $("wish-words").textContent = "";
    say("wish-error", error.message);
  }
  $("wish").disabled = false;
}

export function setPrior(text, kind = "auto", warning = "") {
  $("prior").value = text;
  $("kind").value = kind;
  say("upload-error", "");
  say("counted", warning);
  say("menu-counted", warning);
  refresh();
}

export async function upload(columns = {}) {
  say("upload-error", "");
  try {
    for await (const message of messages("read", { ...page.upload, ...columns })) {
      if (message.type === "error") throw new Error(message.message);
      if (message.type !== "upload") continue;
      const choice = (name, chosen) => make("option", { value: name, selected: name === chosen }, name || "no other question");
      $("column-field").hidden = message.columns.length < 2;
      $("column").replaceChildren(...message.columns.map((name) => choice(name, message.column)));
      $("second").replaceChildren(...["", ...message.columns.filter((name) => name !== message.column)].map((name) => choice(name, message.second ?? "")));
      setPrior(message.text, message.kind, message.warning);
    }
  } catch (error) {
    say("upload-error", error.message);
  }
}

export async function choose(file) {
  if (!file) return;
  if (file.size > LARGEST_FILE) return say("upload-error", "The file must have at most 5 MB; count the answers first.");
  try {
    page.upload = { name: file.name, text: new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()) };
  } catch {
    return say("upload-error", "The file must be text (CSV or JSON in UTF-8).");
  }
  upload();
}
