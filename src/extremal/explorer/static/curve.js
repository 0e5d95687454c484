// What a stronger promise costs: precision, or what is kept, against the factor on chances. A click chooses a level.

import { make } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const FACTORS = [1, 1.2, 1.5, 2, 3, 4, 6, 10, 20, 50, 100, 1000, 1e4, 1e6];
const WORST = 50; // points: beyond, nothing is known about a share

function node(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const line = (x1, y1, x2, y2, kind) => node("line", { x1, x2, y1, y2, class: kind });

function ticks(top) {
  const raw = top / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.8);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, k) => k * step);
}

function frame(target, curve, people) {
  const width = Math.max(300, target.clientWidth || 480), height = 300;
  const left = 54, right = 14, above = 12, below = 40;
  const scale = curve.unit === "kept" ? 1 : 1 / Math.sqrt(people);
  const last = curve.epsilons.at(-1);
  // As high as randomized response is where promises begin to be useful.
  const begin = curve.epsilons.findIndex((e) => e >= 0.15 * last);
  const worst = curve.response.slice(begin).find((v) => v !== null) ?? 1;
  const top = curve.unit === "kept" ? 100 : Math.min(curve.unit === "points" ? WORST : Infinity, worst * scale);
  return {
    width, height, left, right, above, below, last, top, scale,
    x: (e) => left + (width - left - right) * Math.min(e / last, 1),
    y: (v) => height - below - (height - above - below) * v / top,
  };
}

function axes(svg, f, unit) {
  for (const v of ticks(f.top)) svg.append(line(f.left, f.y(v), f.width - f.right, f.y(v), "grid"),
    node("text", { x: f.left - 6, y: f.y(v) + 4, "text-anchor": "end" },
      unit === "kept" ? `${v} %` : `± ${Number(v.toPrecision(3))}`));
  let place = -Infinity;
  for (const factor of FACTORS) {
    const at = f.x(Math.log(factor));
    if (Math.log(factor) > f.last || at - place < 40) continue;
    place = at;
    svg.append(line(at, f.above, at, f.height - f.below, "grid"),
      node("text", { x: at, y: f.height - f.below + 17, "text-anchor": "middle" }, `× ${factor}`));
  }
  svg.append(node("text", { x: f.width / 2, y: f.height - 5, "text-anchor": "middle" }, "largest factor on any guess"));
}

export function drawCurve(target, curve, epsilon, people, choose) {
  const f = frame(target, curve, people);
  const svg = node("svg", { viewBox: `0 0 ${f.width} ${f.height}`, role: "img", "aria-label": caption(curve, people) });
  axes(svg, f, curve.unit);
  for (const kind of ["response", "optimal"]) {
    const shown = curve.epsilons.map((e, k) => [e, curve[kind][k]])
      .filter(([, v]) => v !== null && v * f.scale <= f.top * 1.0001);
    svg.append(node("path", { class: kind,
      d: shown.map(([e, v], k) => `${k ? "L" : "M"}${f.x(e).toFixed(1)},${f.y(v * f.scale).toFixed(1)}`).join("") }));
  }
  svg.append(line(f.x(epsilon), f.above, f.x(epsilon), f.height - f.below, "here"));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * f.width;
    choose(Math.min(Math.max((at - f.left) / (f.width - f.left - f.right), 0), 1) * f.last);
  });
  target.replaceChildren(svg, make("p", { className: "legend" }, make("span", {}, "this design"),
    make("span", { className: "response" }, "randomized response"), make("span", { className: "here" }, "your choice")));
}

export function caption(curve, people) {
  const who = people === 1 ? "1 person" : `${people.toLocaleString("en")} people`;
  if (curve.unit === "points") return `How precise each share is with ${who}, in percentage points, by promise.`;
  if (curve.unit === "average") return `How precise the average is with ${who}, by promise.`;
  return `How much ${curve.name} is kept, by promise.`;
}
