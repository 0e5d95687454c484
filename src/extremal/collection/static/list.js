// list.js: a question with thousands of answers: search as you type, on this device alone. All answers are here before
// anything is typed, so no request depends on it. What is typed and chosen is in the field and in `picked`, in no attribute
// and no storage, and is erased with the other answers.

import { make } from "./words.js";

const SHOWN = 50; // answers found that are shown
const LETTERS = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i" }; // which have no accent to lose

/** A text as it is searched for: without accents, case and signs between words. */
export function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter])
    .replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}

/** Finds answers by their words or other spellings: numbers of answers, the best first, and the spelling that led there. */
export function finder(labels, also = []) {
  const entries = labels.flatMap((label, i) => [label, ...(also[i] || [])].map((text, k) => ({ i, k, text, key: ` ${folded(text)}` })));
  return (typed) => {
    const query = folded(typed);
    if (!query) return [];
    const words = query.split(" ");
    const best = new Map();
    for (const entry of entries) {
      const { i, key } = entry;
      if (!words.every((word) => key.includes(word))) continue;
      const rank = key === ` ${query}` ? 0 : key.startsWith(` ${query}`) ? 1 : words.every((word) => key.includes(` ${word}`)) ? 2 : 3;
      if (!best.has(i) || rank < best.get(i).rank) best.set(i, { ...entry, rank });
    }
    return [...best.values()].sort((a, b) => a.rank - b.rank || a.key.length - b.key.length || a.i - b.i);
  };
}

/**
 * A field that offers answers while somebody types, for keyboard and screen reader: a combobox with a list below it.
 * `picked` is the number of the answer that was chosen before, or null; choose(number or null) is told each change.
 */
export function combobox({ id, labels, find, picked, choose, say, number, describedBy }) {
  let found = [];
  let active = -1;
  const list = make("ul", { id: `${id}-list`, role: "listbox", hidden: true });
  const count = make("p", { className: "small", role: "status" });
  const input = make("input", { id, type: "text", className: "search", autocomplete: "off", spellcheck: false,
    autocapitalize: "none", enterKeyHint: "done", dir: "auto", value: "" });
  const given = { role: "combobox", autocorrect: "off", translate: "no", "aria-autocomplete": "list", "aria-haspopup": "listbox",
    "aria-expanded": "false", "aria-controls": list.id, "aria-label": say("search"), "data-lpignore": "true",
    writingsuggestions: "false", ...(describedBy ? { "aria-describedby": describedBy } : {}) };
  for (const [name, value] of Object.entries(given)) input.setAttribute(name, value);
  list.setAttribute("aria-label", say("answers"));
  if (picked !== null) input.value = labels[picked];

  function close() {
    list.hidden = true;
    list.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  }

  function pick(place) {
    input.value = labels[place];
    found = [];
    close();
    count.textContent = say("chosen");
    choose(place);
  }

  function move(to) {
    const items = list.children;
    if (!items.length) return;
    if (items[active]) items[active].removeAttribute("aria-selected");
    active = (to + items.length) % items.length;
    items[active].setAttribute("aria-selected", "true");
    items[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", items[active].id);
  }

  function open() {
    found = find(input.value);
    active = -1;
    input.removeAttribute("aria-activedescendant");
    list.replaceChildren(...found.slice(0, SHOWN).map(({ i, k, text }, place) => make("li",
      { id: `${id}-${place}`, role: "option", dir: "auto", onclick: () => pick(i) },
      labels[i], ...(k ? [make("span", { className: "small", dir: "auto" }, ` (${text})`)] : []))));
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(Boolean(found.length)));
    const more = found.length > SHOWN ? "found_more" : found.length ? "found" : "found_none";
    count.textContent = input.value.trim() ? say(more, { number: number(found.length), shown: number(SHOWN) }) : "";
  }

  /** Typing on means another answer; an answer that is written in full is chosen when the field is left. */
  input.addEventListener("input", () => {
    choose(null);
    open();
  });
  input.addEventListener("keydown", (event) => {
    const { key, isComposing } = event;
    if (isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    const steps = { ArrowDown: active + 1, ArrowUp: active < 0 ? -1 : active - 1 };
    if (key in steps) {
      event.preventDefault();
      if (list.hidden) open();
      move(steps[key]);
    } else if (key === "Enter" && !list.hidden) {
      event.preventDefault(); // of sending the form
      if (active >= 0 || found.length === 1) pick(found[Math.max(active, 0)].i);
    } else if (key === "Escape") {
      if (list.hidden) {
        input.value = count.textContent = "";
        choose(null);
      } else close();
    }
  });
  input.addEventListener("blur", () => {
    const [first, second] = list.hidden ? [] : found;
    close();
    if (first && first.rank === 0 && !(second && second.rank === 0)) pick(first.i);
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  return make("div", { className: "combobox" }, input, list, count);
}
