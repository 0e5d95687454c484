// extremal-list.js: verify the file of a list of answers and draw reports from it, for up to some hundred thousand answers.
//
//   import { loadList } from "./extremal-list.js";
//   const list = await loadList(await (await fetch("towns.json")).text());
//   await list.verify();                    // throws unless the file keeps its promise, in exact arithmetic
//   const report = list.draw("Lyon");       // a whole number: send this, and nothing else
//
// It also asks for an answer: a field that finds answers while somebody types, on this device alone. All answers are here
// before anything is typed. What is typed and chosen is in the field and in memory, in no attribute and no storage.
// It stands beside extremal.js, and like it sends nothing. The page "file format" of extremal's documentation says what a
// report is; Python draws the same ones from the same random words, bit for bit. Licence: Apache-2.0.

import { expBelow, isDecimal, keyOf, knownPrior, must, once, randomWord, sha256, sum } from "./extremal.js";

const WHOLE = 1n << 62n;
const LARGEST = 1 << 24;
const MEMBERS = [
  "answers", "digest", "epsilon", "format", "inside", "labels", "outside", "prime", "prior", "size", "steps", "version",
];

/** The list in a file: its text, or what JSON.parse makes of it. Call verify() before you draw. */
export async function loadList(json) {
  must(
    globalThis.crypto?.subtle && globalThis.DecompressionStream && globalThis.isSecureContext !== false,
    "No private report can be drawn here: that needs a current browser, and a page that came over https.",
  );
  let file = json;
  try {
    if (typeof json === "string") file = JSON.parse(json);
    must(Object.keys(file).sort().join() === MEMBERS.join() && file.format === "extremal-windows" && file.version === 2);
    file = { ...file, labels: file.labels === null ? null : await unpacked(file.labels) };
  } catch {
    must(false, "This is not the file of a list of answers, version 2.");
  }
  return new List(file);
}

class List {
  #file;
  #codes; // the number of each answer, by its key
  #verified = false;

  constructor(file) {
    const { answers: n, labels, prior, prime: p, size, steps, inside, outside } = file;
    const lists = [labels, prior].every((list) => list === null || (Array.isArray(list) && list.length === n));
    const whole = [n, p, size, steps].every((x) => Number.isInteger(x) && x >= 1 && x <= 2 * LARGEST);
    must(
      lists && whole && [inside, outside].every((x) => /^(0|[1-9]\d{0,18})$/.test(x)) && n >= 2 && n <= LARGEST && n <= p,
      "This file of a list is malformed.",
    );
    this.#file = file;
    this.#codes = new Map((labels ?? [...Array(n).keys()]).map((label, i) => [keyOf(label), i]));
    must(this.#codes.size === n, "This file of a list is malformed: an answer occurs twice.");
  }

  /** The possible answers, as written in the file. */
  get inputs() {
    return structuredClone(this.#file.labels ?? [...Array(this.#file.answers).keys()]);
  }

  /** The level that is proved, in nats: no report multiplies anybody's chance of a right guess by more than e^epsilon. */
  get epsilon() {
    return Number(this.#file.epsilon);
  }

  /** Whether some report leaves an answer no chance. */
  get rulesOut() {
    return this.#file.outside === "0";
  }

  get digest() {
    return this.#file.digest;
  }

  /**
   * Proves that the weights of the places sum to 2^62 and that no report leaks more than epsilon, in exact integers, and
   * checks the digest. Returns {epsilon, factor, digest}; throws what is wrong.
   */
  async verify() {
    const { answers: n, prime: p, size, steps, epsilon, prior, digest } = this.#file;
    const [inside, outside] = [BigInt(this.#file.inside), BigInt(this.#file.outside)];
    const extra = WHOLE - BigInt(size) * inside - BigInt(p - size) * outside;
    must(
      isPrime(p) && (p - 1) % steps === 0 && size % ((p - 1) / steps) === 0 && size < p,
      "The sets of this list are none.",
    );
    must(0n <= extra && extra < BigInt(size) && outside <= inside, "The weights of this list do not sum to 2^62.");
    must(isDecimal(epsilon) && (prior ?? []).every((x) => isDecimal(x) && Number(x) >= 1e-150), "A number is none.");
    const { center, total } = prior === null ? { center: [], total: 1n } : knownPrior(prior);
    const light = sum(center.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).slice(0, Math.max(1, size - (p - n))));
    const [c, k] = expBelow(Number(epsilon));
    must(
      ((inside + (extra > 0n ? 1n : 0n)) * total) << k <= c * (outside * total + (inside - outside) * light),
      "A report leaks more than the file says. Do not use this list.",
    );
    const covered = Object.fromEntries(MEMBERS.filter((m) => m !== "digest").map((m) => [m, this.#file[m]]));
    const found = await sha256("extremal-windows-digest-1\0" + JSON.stringify(covered));
    must(found === digest, "This file of a list was altered or damaged.");
    this.#verified = true;
    return { epsilon: Number(epsilon), factor: Math.exp(Number(epsilon)), digest };
  }

  /** A report for an answer, drawn with secure randomness. The two words replace the randomness in tests only. */
  draw(answer, step = randomWord(), place = randomWord()) {
    must(this.#verified, "Call verify() first: reports are drawn only from a list that was verified.");
    const code = this.#codes.get(keyOf(answer));
    must(code !== undefined, "This is not one of the possible answers.");
    const { prime: p, steps } = this.#file;
    const chosen = Number(step % BigInt(steps));
    const start = (code + p - this.#number(chosen, this.#place(place >> 2n))) % p;
    return chosen * p + start;
  }

  /** The report that this browser keeps for a question of this site: see once() in extremal.js. */
  drawOnce(answer, question) {
    return once(this, answer, question);
  }

  /** How many codes a report stands for; in how many of 100 reports the own answer is one, and any other answer. */
  get reveals() {
    const { prime: p, size, outside } = this.#file;
    const own = 100 - (100 * (p - size) * Number(outside)) / Number(WHOLE);
    return { answers: size, own, other: (100 * size - own) / (p - 1) };
  }

  /** The place that a number below 2^62 gives: places are cut off one after the other. */
  #place(u) {
    const [d, a, b] = [BigInt(this.#file.size), BigInt(this.#file.inside), BigInt(this.#file.outside)];
    const extra = WHOLE - d * a - (BigInt(this.#file.prime) - d) * b;
    const [first, second] = [extra * (a + 1n), extra + d * a];
    if (u < first) return Number(u / (a + 1n));
    return Number(u < second ? extra + (u - first) / a : d + (u - second) / b);
  }

  /** What stands at a place of a step: g^(step + c + s t), for place c n + t, and 0 at the last one. */
  #number(step, place) {
    const { prime: p, steps } = this.#file;
    if (place === p - 1) return 0;
    const n = (p - 1) / steps;
    return power(primitiveRoot(p), (step + Math.floor(place / n) + steps * (place % n)) % (p - 1), p);
  }
}

/** A list as a file holds it: deflated JSON in base64. */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

/** x^k modulo p < 2^25: products stay below 2^53. */
function power(x, k, p) {
  let result = 1;
  for (; k > 0; k = Math.floor(k / 2), x = (x * x) % p) if (k % 2) result = (result * x) % p;
  return result;
}

function primeFactors(n) {
  const found = [];
  for (let d = 2; n > 1; d++) {
    if (d * d > n) d = n;
    if (n % d === 0) found.push(d);
    while (n % d === 0) n /= d;
  }
  return found;
}

function isPrime(n) {
  return n > 1 && primeFactors(n)[0] === n;
}

function primitiveRoot(p) {
  const factors = primeFactors(p - 1);
  for (let g = 1; ; g++) if (factors.every((q) => power(g, (p - 1) / q, p) !== 1)) return g;
}

// ---- Asking for one of thousands of answers

const SHOWN = 50; // answers found that are shown
const LETTERS = { // which have no accent to lose, or another form or keyboard
  ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i", ς: "σ", ی: "ي", ى: "ي", ک: "ك", ة: "ه",
};

/** A text as it is searched for: without accents, case and signs between words. */
export function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[ßæœøłđðþıςیىکة]/g, (letter) => LETTERS[letter])
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

/** A question of a survey with a list: verified, and with what its page asks and tells in place of that of a table. */
export async function prepared(question, get) {
  const list = await loadList(await get(question.mechanisms[0]));
  await list.verify();
  must(list.digest === question.digests[0], "The files of this survey do not fit together.");
  const answers = list.inputs.map(String);
  const find = finder(answers, question.also ? await unpacked(question.also) : []);
  let picked = null; // erased with the other answers, when the form is reset
  const field = (q, labels, words) => {
    document.forms.questions.addEventListener("reset", () => { picked = null; });
    const always = labels.indexOf(words.say("prefer_not"));
    return combobox({ id: `search-${q}`, labels, find, picked, always, choose: (place) => { picked = place; }, ...words });
  };
  return { ...question, answers, mechanisms: [list], own: {
    field, rulesOut: list.rulesOut, chosen: () => (picked === null ? [] : [answers[picked]]),
    tells: (words, report) => told(list, answers.length, words, report),
    card: (text, words) => make("div", { className: "card" }, make("h3", { dir: "auto" }, text), ...told(list, answers.length, words)),
  } };
}

/** What reports stand for, the same for everybody, and the one that was drawn. */
function told({ reveals, epsilon }, all, { say, number }, report) {
  const [own, other] = [reveals.own, reveals.other].map((people) => number(people, people < 10 ? 1 : 0));
  const factor = number(Math.ceil(100 * Math.exp(epsilon) - 1e-6) / 100, 2);
  return [
    ...(report === undefined ? [] : [make("p", { className: "chance" }, say("chance", { report: number(report) }))]),
    make("p", {}, say("list_sends", { all: number(all), own, other })),
    ...(report === undefined ? [] : [make("p", {}, say("makes", { factor }))]),
  ];
}

/**
 * A field that offers answers while somebody types, for keyboard and screen reader: a combobox with a list below it.
 * `picked` is the number of the answer that was chosen before, or null; choose(number or null) is told each change, and so
 * is whoever listens to "change". The answer with the number `always` is offered whatever is typed.
 */
export function combobox({ id, labels, find, picked = null, always = -1, choose, say, number = String }) {
  let found = [];
  let active = -1;
  const list = make("ul", { id: `${id}-list`, role: "listbox", hidden: true });
  const count = make("p", { className: "small", role: "status" });
  const input = make("input", { id, type: "text", className: "search", autocomplete: "off", spellcheck: false,
    autocapitalize: "none", enterKeyHint: "done", dir: "auto", value: "" });
  const given = { role: "combobox", autocorrect: "off", translate: "no", "aria-autocomplete": "list", "aria-haspopup": "listbox",
    "aria-expanded": "false", "aria-controls": list.id, "aria-label": say("list_search"), writingsuggestions: "false" };
  for (const [name, value] of Object.entries(given)) input.setAttribute(name, value);
  list.setAttribute("aria-label", say("list_search"));
  tell(picked);
  if (picked !== null) input.value = labels[picked];

  function close() {
    list.hidden = true;
    list.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  }

  /** Checked says that there is an answer, as of a radio button. */
  function tell(place) {
    input.checked = place !== null;
    choose(place);
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function pick(place) {
    input.value = labels[place];
    found = [];
    count.textContent = "";
    close();
    tell(place);
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
    const shown = found.slice(0, SHOWN);
    if (always >= 0 && !shown.some(({ i }) => i === always)) shown.push({ i: always, k: 0 });
    active = -1;
    input.removeAttribute("aria-activedescendant");
    list.replaceChildren(...shown.map(({ i, k, text }, place) => make("li",
      { id: `${id}-${place}`, role: "option", dir: "auto", onclick: () => pick(i) },
      labels[i], ...(k ? [make("span", { className: "small", dir: "auto" }, ` (${text})`)] : []))));
    list.hidden = !shown.length;
    input.setAttribute("aria-expanded", String(Boolean(shown.length)));
    count.textContent = input.value.trim() ? say("list_found", { number: number(found.length) }) : "";
  }

  /** Typing on means another answer; an answer that is written in full is chosen when the field is left. */
  input.addEventListener("input", () => {
    tell(null);
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
      if (active >= 0) list.children[active].click();
      else if (found.length === 1) pick(found[0].i);
    } else if (key === "Escape") {
      if (list.hidden) {
        input.value = count.textContent = "";
        tell(null);
      } else close();
    }
  });
  input.addEventListener("blur", () => {
    const [first, second] = list.hidden ? [] : found;
    close();
    if (first && first.rank === 0 && !(second && second.rank === 0)) pick(first.i);
  });
  document.addEventListener("reset", () => {
    close(); // the next person's Back button finds nothing that was found
    count.textContent = "";
  });
  input.addEventListener("focus", () => always >= 0 && !input.value && open());
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  style();
  const hint = make("p", { className: "small", ariaHidden: "true" }, say("list_search"));
  return make("div", { className: "combobox" }, hint, input, list, count);
}

const STYLE = `
.combobox { margin-top: .45rem; }
.combobox p { margin: .2rem 0; }
input.search { width: 100%; height: auto; min-height: 3rem; padding: .45rem .7rem; font: inherit; color: inherit;
  background: var(--paper); border: 1px solid var(--line); border-radius: 8px; }
.combobox ul { list-style: none; margin: .2rem 0; padding: 0; max-height: 19rem; overflow-y: auto; border: 1px solid var(--line);
  border-radius: 8px; background: var(--paper); }
.combobox li { margin: 0; padding: .6rem .7rem; min-height: 2.8rem; cursor: pointer; }
.combobox li + li { border-top: 1px solid var(--line); }
.combobox li[aria-selected], .combobox li:hover { background: var(--pale); outline: 2px solid var(--blue); outline-offset: -2px; }`;

/** Styles without a file of their own: where a browser has no such sheets, the field is plain. */
function style() {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  } catch {}
}

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
