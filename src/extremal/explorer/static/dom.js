// Small helpers for elements. Text is always set as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function say(id, message) {
  $(id).textContent = message;
  $(id).hidden = !message;
}

export const percent = (share) => share > 0 && share < 0.001 ? "<0.1 %" : `${(100 * share).toFixed(1)} %`;
export const points = (half) => half === null || half >= 1 ? "nothing" : `± ${(100 * half).toFixed(1)}`;
export const whole = (count) => Math.round(count).toLocaleString("en");

// A picture that the server has drawn, as SVG text.
export function drawn(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

// A table that scrolls by itself where it is too wide; the first cell of a row is its name.
export function table(name, head, rows) {
  const found = make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)))),
    make("tbody", {}, ...rows.map(([first, ...cells]) => make("tr", {}, make("th", { scope: "row" }, first),
      ...cells.map((cell) => cell instanceof Node ? cell : make("td", {}, cell))))));
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": name }, found);
}
