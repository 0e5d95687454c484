// Drawing: each function fills an element from plain figures. Colours are Okabe and Ito's; lines differ by dash too.

const SVG = "http://www.w3.org/2000/svg";

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export const short = (value, digits = 3) => String(Number(Number(value).toPrecision(digits)));
export const percent = (share) => share > 0 && share < 0.001 ? "<0.1 %" : `${(100 * share).toFixed(1)} %`;

function shade(share) { // white to dark blue, in steps that the eye sees as equal
  const t = Math.sqrt(Math.min(Math.max(share, 0), 1));
  const mix = (from, to) => Math.round(from + (to - from) * t);
  return `rgb(${mix(246, 0)}, ${mix(249, 60)}, ${mix(252, 110)})`;
}

function digits(p, count) {
  if (p === 0) return "0";
  return p < 0.5 / 10 ** count ? `<.${"0".repeat(count - 1)}1` : p.toFixed(count);
}

export function heatMap(target, design) {
  if (design.image) return picture(target, design);
  const dense = design.outputs.length > 12;
  const head = make("tr", {}, make("th", { scope: "col" }, "answer ↓  report →"),
    ...design.outputs.map((y) => make("th", { scope: "col", title: String(y) }, String(y))));
  const rows = design.inputs.map((x, i) => make("tr", {}, make("th", { scope: "row", title: String(x) }, String(x)),
    ...design.matrix[i].map((p) => {
      const cell = make("td", { title: `${p}` }, digits(p, dense ? 2 : 3));
      cell.style.backgroundColor = shade(p);
      cell.style.color = p > 0.46 ? "#fff" : p === 0 ? "#5b6672" : "#000"; // where both have a contrast of 4.5
      return cell;
    })));
  const all = make("tr", {}, make("th", { scope: "row" }, "of all reports"),
    ...design.report_probabilities.map((p) => make("td", {}, percent(p))));
  target.replaceChildren(make("table", { className: dense ? "heat dense" : "heat" },
    make("thead", {}, head), make("tbody", {}, ...rows), make("tfoot", {}, all)));
}

function picture(target, design) {
  const [height, width] = design.shape;
  const levels = Uint8Array.from(atob(design.image), (c) => c.charCodeAt(0));
  const canvas = make("canvas", { width, height, role: "img",
    "aria-label": `Heat map of ${height} answers by ${width} reports; the darker, the more often.` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  levels.forEach((level, k) => {
    const [r, g, b] = shade(level / 255).match(/\d+/g);
    image.data.set([r, g, b, 255], 4 * k);
  });
  context.putImageData(image, 0, 0);
  if (Math.max(width, height) > 400) canvas.style.imageRendering = "auto"; // more rows than pixels: they are blended
  target.replaceChildren(canvas);
}

export function leakageBars(target, design) {
  const order = design.leakage.map((_, k) => k);
  const many = order.length > 30, shown = many ? 12 : 30;
  if (many) order.sort((a, b) => design.leakage[b] - design.leakage[a]);
  const top = Math.max(design.epsilon, ...design.leakage, 1e-9) * 1.02;
  const bars = make("div", { className: "bars" });
  for (const k of order.slice(0, shown)) {
    const bar = make("div", { className: "bar" });
    bar.style.width = `${100 * design.leakage[k] / top}%`;
    const limit = make("div", { className: "limit" });
    limit.style.left = `${100 * design.epsilon / top}%`;
    const value = make("span", { className: "value" },
      `${design.leakage[k].toFixed(3)}  ×${Math.exp(design.leakage[k]).toFixed(2)}`);
    const name = String(design.outputs[k]);
    bars.append(make("span", { className: "name", title: name }, name),
      make("div", { className: "track", "aria-hidden": "true" }, bar, limit), value);
  }
  target.replaceChildren(bars);
  if (many) target.append(make("p", { className: "hint" }, `The ${shown} of ${order.length} reports that leak most.`));
}

function node(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function ticks(top) {
  const raw = top / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.8);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, k) => k * step);
}

// choose(epsilon) is called when a person clicks into the picture.
export function tradeoff(target, curve, design, edges, choose) {
  const width = Math.max(300, target.clientWidth || 520), height = Math.min(320, 0.62 * width + 40);
  const left = 46, right = 14, above = 12, below = 40;
  const top = Math.max(edges[edges.length - 1], design ? design.epsilon : 0);
  const high = Math.max((design || curve).ceiling, 1e-12) * 1.08;
  const x = (e) => left + (width - left - right) * Math.min(e / top, 1);
  const y = (v) => height - below - (height - above - below) * v / high;
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words(curve, design) });
  if (edges.length <= 40) for (const e of edges.slice(1)) {
    svg.append(node("line", { x1: x(e), x2: x(e), y1: above, y2: height - below, stroke: "#dfe4ea" }));
  }
  for (const v of ticks(high)) {
    svg.append(node("line", { x1: left, x2: width - right, y1: y(v), y2: y(v), stroke: "#edf1f5" }),
      node("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end", fill: "#55606e" }, short(v)));
  }
  for (const e of ticks(top)) {
    svg.append(node("text", { x: x(e), y: height - below + 17, "text-anchor": "middle", fill: "#55606e" }, short(e)));
  }
  svg.append(node("text", { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle", fill: "#1c2530" },
    "ε in nats"));
  const ceiling = (design || curve).ceiling;
  svg.append(node("line", { x1: left, x2: width - right, y1: y(ceiling), y2: y(ceiling), stroke: "#666", "stroke-dasharray": "2 4" }));
  const path = (values) => curve.epsilons.map((e, k) => `${k ? "L" : "M"}${x(e).toFixed(1)},${y(values[k]).toFixed(1)}`).join("");
  if (curve) svg.append(
    node("path", { d: path(curve.response), fill: "none", stroke: "#d55e00", "stroke-width": 2.2, "stroke-dasharray": "7 4" }),
    node("path", { d: path(curve.optimal), fill: "none", stroke: "#0072b2", "stroke-width": 2.4 }));
  if (design) {
    const e = Math.min(design.epsilon, top);
    svg.append(node("line", { x1: x(e), x2: x(e), y1: above, y2: height - below, stroke: "#1c2530", "stroke-dasharray": "1 3" }),
      node("circle", { cx: x(e), cy: y(design.response), r: 5, fill: "#fff", stroke: "#d55e00", "stroke-width": 2.4 }),
      node("circle", { class: "now", cx: x(e), cy: y(design.value), r: 6, fill: "#0072b2", stroke: "#fff", "stroke-width": 2 }));
  }
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * width;
    choose(Math.min(Math.max((at - left) / (width - left - right), 0), 1) * top);
  });
  target.replaceChildren(svg, legend());
}

function legend() {
  return make("div", { className: "legend" }, make("span", {}, "optimal"),
    make("span", { className: "response" }, "randomized response"), make("span", { className: "itself" }, "the answer itself"));
}

export function words(curve, design) {
  if (!design) return `Curve of ${curve.utility} against ε.`;
  if (design.efficiency) {
    return `At ε = ${short(design.epsilon)} one report is worth ${short(design.value)} direct answers; ` +
      `with randomized response at the same leakage it is worth ${short(design.response)}.`;
  }
  const share = design.ceiling > 0 ? ` (${Math.round(100 * design.value / design.ceiling)} % of the answer's ${short(design.ceiling)})` : "";
  return `At ε = ${short(design.epsilon)} the optimal mechanism keeps ${short(design.value)} of ${design.utility}${share}; ` +
    `randomized response keeps ${short(design.response)} at the same leakage.`;
}

export function listTable(head, rows) {
  return make("table", { className: "list" },
    make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)))),
    make("tbody", {}, ...rows.map(([name, ...cells]) => make("tr", {},
      make("th", { scope: "row", title: name }, name), ...cells.map((cell) => make("td", {}, cell))))));
}
