// When the server is asked for a design, and what the page says meanwhile.

import { messages, Refused } from "./ask.js";
import { setEpsilon, showPrior } from "./choose.js";
import { caption, drawCurve } from "./curve.js";
import { $, say } from "./dom.js";
import { page, state } from "./page.js";
import { showDesign } from "./results.js";

const YOUNG = 250; // milliseconds
const LATE = 200; // until results of other choices are taken away
let exploring = null; // the request under way
let drawing = null; // the AbortController of the curve

export const cancel = () => exploring?.abort.abort();
export const cancelCurve = () => drawing?.abort();

let wanted = false, waiting = 0, later = 0;
export function refresh() { // at most one request a frame
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

class Search { // a request with what is said while it runs
  constructor() {
    this.abort = new AbortController();
    this.begin = performance.now();
    this.shown = false; // a design for these choices
    this.words = "";
    this.late = setTimeout(() => { this.tick(); this.timer = setInterval(() => this.tick(), 500); }, LATE);
  }
  tick() {
    if (!this.shown) $("found").hidden = true; // never a result of other choices under a running search
    const seconds = Math.floor((performance.now() - this.begin) / 1000);
    $("status").textContent = `Searching, ${seconds} s${this.words}`;
    $("progress").hidden = $("cancel").hidden = false;
  }
  progress({ value, upper_bound: bound }) {
    if (bound) this.words = `: at most ${Number((100 * Math.max(1 - value / bound, 0)).toPrecision(2))} % below the best possible so far`;
  }
  result() {
    this.shown = true;
    $("found").hidden = false;
    this.words ||= ": a first design is shown";
  }
  end(text, found = true) {
    clearTimeout(this.late);
    clearInterval(this.timer);
    $("status").textContent = text;
    $("found").hidden = !found;
    $("progress").hidden = $("cancel").hidden = true;
  }
}

export async function explore() {
  wanted = false;
  $("begin").hidden = true;
  exploring?.abort.abort();
  const mine = exploring = new Search();
  $("found").setAttribute("aria-busy", "true");
  try {
    for await (const message of messages("explore", { state: state() }, mine.abort.signal)) {
      if (mine !== exploring) return;
      if (message.type === "error") throw new Refused(message.message);
      if (message.type === "prior") showPrior(message);
      if (message.type === "progress") mine.progress(message);
      if (message.type === "design") {
        mine.result();
        showDesign(message);
        if (wanted) return next();
        if (page.prior.size <= 20) drawTradeoff();
      }
    }
    mine.end(`Done in ${Math.round(performance.now() - mine.begin)} ms.`);
    drawTradeoff();
  } catch (error) {
    if (mine !== exploring) return;
    if (error.name === "AbortError") {
      mine.end("Cancelled.", false);
      $("begin").hidden = false;
    } else {
      const gone = `The explorer does not answer (${error.message}). Is it still running?`;
      say("error", error instanceof Refused ? error.message : gone);
      $("prior").setAttribute("aria-invalid", "true");
      for (const id of ["prior-words", "promise", "ruled-out"]) $(id).textContent = ""; // they were about other choices
      mine.end("Nothing to show for these choices.", false);
    }
  } finally {
    clearTimeout(mine.late);
    clearInterval(mine.timer);
    if (mine === exploring) {
      exploring = null;
      $("found").removeAttribute("aria-busy");
      next();
    }
  }
}

async function drawTradeoff() {
  const { robust, ...chosen } = state();
  if (robust) {
    drawing?.abort();
    Object.assign(page, { curveKey: "", curve: null });
    $("curve-words").textContent = "The curve is drawn for shares that are taken as known.";
    return $("curve").replaceChildren();
  }
  const key = JSON.stringify([chosen.prior, chosen.kind, chosen.pseudocount, chosen.utility]);
  if (key === page.curveKey) return showCurve(); // drawn, or under way
  drawing?.abort();
  const mine = drawing = new AbortController();
  Object.assign(page, { curveKey: key, curve: null });
  $("curve").replaceChildren();
  $("curve").setAttribute("aria-busy", "true");
  $("curve-state").hidden = true;
  $("curve-status").textContent = "";
  $("curve-progress").removeAttribute("value"); // nothing is known yet
  const late = setTimeout(() => { $("curve-state").hidden = false; }, 400);
  try {
    for await (const message of messages("curve", { state: state() }, mine.signal)) {
      if (mine !== drawing) return;
      if (message.type === "points") $("curve-status").textContent = `${message.done} of ${message.points} points`;
      if (message.type === "points") $("curve-progress").value = message.done / message.points;
      if (message.type === "curve") { page.curve = message; showCurve(); }
    }
  } catch (error) {
    if (mine === drawing) page.curveKey = "";
  } finally {
    clearTimeout(late);
    if (mine === drawing) {
      $("curve-state").hidden = true;
      $("curve").removeAttribute("aria-busy");
    }
  }
}

export function showCurve() {
  if (!page.curve) return;
  const { people } = state();
  drawCurve($("curve"), page.curve, page.epsilon, people, setEpsilon);
  $("curve-words").textContent = caption(page.curve, people);
}
