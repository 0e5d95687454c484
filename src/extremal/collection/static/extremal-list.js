// extremal-list.js: verify the file of a list of answers and draw reports from it, for up to some hundred thousand answers.
//
//   import { loadList } from "./extremal-list.js";
//   const list = await loadList(await (await fetch("towns.json")).text());
//   await list.verify();                    // throws unless the file keeps its promise, in exact arithmetic
//   const report = list.draw("Lyon");       // a whole number: send this, and nothing else
//
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

  /** How many answers a report stands for, and in how many of 100 cases the own answer is one of them. */
  get reveals() {
    const { prime: p, size, outside } = this.#file;
    return { answers: size, own: 100 - (100 * (p - size) * Number(outside)) / Number(WHOLE) };
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

async function unpacked(text) {
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
