// What was found, on the page. Sentences and pictures come from the server; nothing is computed here.

import { $, drawn, make, percent, points, table, whole } from "./dom.js";

let digest = "";

export function showDesign(design) {
  showAnswer(design.answer);
  $("alarm").hidden = !design.alarm;
  $("alarm-text").textContent = design.alarm;
  if (!design.alarm) $("allow").checked = false; // it was meant for another design
  $("promise-card").classList.toggle("alarm", Boolean(design.alarm));
  $("warnings").replaceChildren(...design.warnings.map((text) => make("p", { className: "warning" }, text)));
  $("factor").textContent = design.alarm ? "No protection" : `× ${design.factor}`;
  $("factor-words").textContent = design.alarm ? "" : "at most, on any chance of guessing right";
  $("open").replaceChildren(...[design.often, ...design.open].filter(Boolean)
    .map((text, k) => make("p", { className: k === 0 && design.often ? "lead" : "" }, text)));
  showMechanism(design);
  const part = ({ title, text, more }) => [make("h3", {}, title), ...text.map((line) => make("p", {}, line)),
    ...(more.length ? [make("details", {}, make("summary", {}, "All reports that rule out answers"), ...more.map((line) => make("p", {}, line)))] : [])];
  $("risk").replaceChildren(...design.sections.flatMap(part));
  if (design.digest !== digest) clearSample(); // what was drawn belongs to another mechanism
  digest = design.digest;
}

function showAnswer(answer) {
  $("headline").textContent = answer.headline;
  $("answer").classList.toggle("wrong", !answer.identified);
  $("beside").textContent = answer.text;
  const needed = answer.identified ? answer.needed : [];
  const most = Math.max(...needed.map(([, count]) => count ?? 0), 1);
  $("needed").replaceChildren(...needed.flatMap(([name, count]) => {
    const bar = make("div", { className: name === "this design" ? "bar" : "bar other" });
    bar.style.width = `${count === null ? 100 : Math.max(100 * count / most, 0.5)}%`;
    return [make("span", {}, name), make("div", { className: "track", "aria-hidden": "true" }, bar),
      make("span", { className: "value" }, count === null ? "no number is enough" : `${whole(count)} people`)];
  }));
  $("needed-title").hidden = !needed.length;
  const rows = answer.rows ?? null;
  $("precision-card").hidden = !answer.identified || rows === null;
  $("precision").replaceChildren(...(rows === null ? [] : [table("Precision of each share",
    ["answer", "share", "this design", "rand. response"],
    rows.map(([label, share, ours, theirs]) => [String(label), percent(share), points(ours), points(theirs)]))]));
}

function showMechanism({ mechanism, method, epsilon, final }) {
  const numbers = mechanism.matrix === null
    ? make("p", { className: "hint" }, "There are too many numbers to list here; the mechanism file holds them.")
    : make("details", { open: $("matrix").querySelector("details")?.open ?? false }, make("summary", {}, "As numbers"),
      table("The mechanism", ["answer ↓ report →", ...mechanism.outputs.map(String)], [
        ...mechanism.matrix.map((row, i) => [String(mechanism.inputs[i]),
          ...row.map((p) => make("td", { title: `${p}` }, p === 0 ? "0" : p < 0.0005 ? "<.001" : p.toFixed(3)))]),
        ["of all reports", ...mechanism.often.map(percent)]]));
  $("matrix").replaceChildren(drawn(mechanism.svg), make("p", { className: "hint" }, mechanism.caption), numbers);
  $("method").textContent = method;
  Object.assign($("matrix").dataset, { epsilon, final });
}

export function showSample(sample) {
  $("save-reports").disabled = false;
  const rows = sample.rows.map((row) => [String(row.label), percent(row.sample), row.identified ? percent(row.estimate) : "cannot be told apart",
    row.identified ? `${percent(row.lower)} to ${percent(row.upper)}` : "–"]);
  const pairs = sample.answers.slice(0, 5).map((answer, k) => `${answer} → ${sample.reports[k]}`).join("; ");
  $("drawn").replaceChildren(
    make("p", {}, `${whole(sample.count)} reports drawn. The first: ${pairs}${sample.count > 5 ? "; …" : "."}`),
    table("Shares, estimated back", ["answer", "in the sample", "estimated", "95 % interval"], rows),
    make("p", { className: "hint" }, sample.promise));
}

function clearSample() {
  $("drawn").replaceChildren();
  $("save-reports").disabled = true;
}
