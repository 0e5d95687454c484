// The start of the page, and which control does what.

import { options, takeToken } from "./ask.js";
import { choose, endEpsilon, fromSlider, mark, setPrior, showEpsilon, typedEpsilon, upload, wish } from "./choose.js";
import { $, make } from "./dom.js";
import { page } from "./page.js";
import { cancel, cancelCurve, explore, refresh, showCurve } from "./search.js";
import { download, exampleSample, privatise, saveReports } from "./take.js";

const THREE = "never, 0.5\nonce, 0.3\noften, 0.2";

function listen() {
  const on = (id, event, act) => $(id).addEventListener(event, act);
  on("controls", "submit", (event) => event.preventDefault());
  for (const id of ["kind", "pseudocount", "robust", "utility", "people"]) on(id, "input", refresh);
  on("prior", "input", refresh);
  on("slider", "input", fromSlider);
  on("epsilon", "input", typedEpsilon);
  on("epsilon", "change", endEpsilon);
  on("lower", "click", () => mark(false));
  on("higher", "click", () => mark(true));
  on("wish", "click", wish);
  on("example", "click", () => setPrior(page.example));
  on("small", "click", () => setPrior(THREE));
  on("even", "click", () => { if (page.prior) setPrior(page.prior.labels.map((label) => `${label}, 1`).join("\n"), "counts"); });
  on("upload", "change", () => choose($("upload").files[0]));
  for (const id of ["column", "second"]) on(id, "change", () => upload({ column: $("column").value, second: $("second").value || null }));
  on("cancel", "click", cancel);
  on("curve-cancel", "click", cancelCurve);
  on("draw", "click", privatise);
  on("fill", "click", exampleSample);
  on("save-reports", "click", saveReports);
  on("begin", "click", refresh);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !$("menu").open) return;
    $("menu").open = false;
    $("menu").querySelector("summary").focus();
  });
  document.addEventListener("click", (event) => { if (!$("menu").contains(event.target)) $("menu").open = false; });
  new ResizeObserver(showCurve).observe($("curve"));
}

function fill({ purposes, measures, files, example }) {
  const group = (label, names) => make("optgroup", { label }, ...Object.entries(names).map(([value, name]) => make("option", { value }, name)));
  $("utility").replaceChildren(group("To estimate", purposes), group("As much information as possible", measures));
  $("menu-files").replaceChildren(...Object.entries(files).flatMap(([title, names]) => [make("h3", {}, title),
    ...Object.entries(names).map(([name, words]) => {
      const button = make("button", { type: "button", className: "quiet", "data-name": name }, words);
      button.addEventListener("click", () => download(name, button));
      return button;
    })]));
  $("prior").value = page.example = example;
}

async function start() {
  addEventListener("hashchange", () => { if (takeToken()) location.reload(); });
  const opened = takeToken();
  try {
    fill(await options());
  } catch (error) {
    $("status").textContent = `${error.message[0].toUpperCase()}${error.message.slice(1)}.`;
    for (const control of document.querySelectorAll("input, select, textarea, button")) control.disabled = true;
    return;
  }
  showEpsilon();
  listen();
  if (opened) return explore();
  // Any site can link to this page: without the token in the link, nothing is computed until a person asks for it.
  $("status").textContent = "Nothing is computed yet.";
  $("begin").hidden = false;
}

start();
