// extremal.js: verify a certified mechanism and draw reports from it, on the device of the person who answers.
//
//   import { load } from "./extremal.js";
//   const mechanism = load(await (await fetch("mechanism.json")).text());
//   await mechanism.verify();                  // throws unless the file keeps its promise, in exact arithmetic
//   const report = mechanism.draw("never");    // send this, and nothing else
//
// It reads no clock, sends nothing and needs no network; only drawOnce() stores anything, the report. The page "file
// format" of extremal's documentation specifies it; Python draws the same from the same words. Licence: Apache-2.0.

const BITS = 62n;
const WHOLE = 1n << BITS;
const MEMBERS = [
  "bits", "digest", "epsilon", "format", "inputs", "library", "method", "outputs", "prior", "prior_set",
  "realised_epsilon", "version", "weights",
];
const OPTIONAL = ["evidence", "file_digest"]; // nothing is drawn or proved from these
const DIGESTED = ["bits", "epsilon", "inputs", "outputs", "prior", "prior_set", "weights"];

/** What is wrong with a mechanism, an answer or a browser, in words for a person. */
export class ExtremalError extends Error {}

export function must(holds, message) {
  if (!holds) throw new ExtremalError(message);
}

function mustRead(holds, problem) {
  must(holds, `This mechanism file is malformed: ${problem}.`);
}

/** The mechanism in a file: its text, or what JSON.parse makes of it. Call verify() before you draw. */
export function load(json) {
  must(
    typeof BigInt === "function" && globalThis.crypto && crypto.subtle && globalThis.isSecureContext !== false,
    "No private report can be drawn here: that needs a current browser, and a page that came over https.",
  );
  let file = json;
  if (typeof json === "string") {
    try {
      file = JSON.parse(json);
    } catch {
      throw new ExtremalError("This is not a mechanism file: it is not JSON.");
    }
  }
  return new Mechanism(file);
}

class Mechanism {
  #file;
  #rows; // of each answer, by its key
  #weights; // one list of BigInt a row
  #tables = null; // made by verify()

  constructor(file) {
    must(
      file !== null && typeof file === "object" && file.format === "extremal-mechanism" && file.version === 2,
      "This is not a mechanism file of version 2.",
    );
    must(
      Object.keys(file).filter((name) => !OPTIONAL.includes(name)).sort().join() === MEMBERS.join(),
      "This mechanism file has members that it should not have, or lacks some.",
    );
    const lists = ["inputs", "outputs", "prior", "weights"];
    mustRead(lists.every((name) => Array.isArray(file[name])), "a list is missing");
    const [n, m] = [file.inputs.length, file.outputs.length];
    mustRead(
      n >= 2 && m >= 1 && file.prior.length === n && file.weights.length === m && file.bits === Number(BITS),
      "its lists do not fit together",
    );
    must(n * m <= 1 << 24, "This mechanism file is too large.");
    this.#file = structuredClone(file);
    this.#rows = numbered(file.inputs);
    numbered(file.outputs);
    this.#weights = rowsOfWeights(file.weights, n);
  }

  /** The possible answers, as written in the file. */
  get inputs() {
    return structuredClone(this.#file.inputs);
  }

  /** The possible reports. */
  get outputs() {
    return structuredClone(this.#file.outputs);
  }

  /** The level that is certified, in nats: no report multiplies anybody's chance of a right guess by more than e^epsilon. */
  get epsilon() {
    return Number(this.#file.epsilon);
  }

  get digest() {
    return this.#file.digest;
  }

  /**
   * Proves that every row sums to 2^62 and that no report leaks more than epsilon, in exact integers, and checks the
   * digest. Returns {epsilon, factor, digest}; throws what is wrong.
   */
  async verify() {
    const { epsilon, prior, prior_set: priors } = this.#file;
    mustRead(isDecimal(epsilon) && Number(epsilon) >= 0, "its epsilon is no number");
    mustRead(
      prior.every((p) => isDecimal(p) && Number(p) >= 1e-150),
      "a probability is too small",
    );
    for (const row of this.#weights) {
      must(sum(row) === WHOLE, "A row of weights does not sum to 2^62.");
    }
    const masses = [knownPrior(prior), ...(priors === null ? [] : [setOfPriors(priors, prior)])];
    const [c, k] = expBelow(Number(epsilon));
    for (let y = 0; y < this.#file.outputs.length; y++) {
      const column = this.#weights.map((row) => row[y]);
      const largest = column.reduce((a, b) => (b > a ? b : a));
      for (const mass of masses) {
        must(
          (largest * mass.total) << k <= c * smallestSum(mass, column),
          "A report leaks more than the file says. Do not use this mechanism.",
        );
      }
    }
    must((await digestOf(this.#file)) === this.#file.digest, "This mechanism file was altered or damaged.");
    this.#tables = this.#weights.map(aliasTable);
    return { epsilon: Number(epsilon), factor: Math.exp(Number(epsilon)), digest: this.#file.digest };
  }

  /** A report for an answer, drawn with secure randomness. `word` replaces the randomness in tests only. */
  draw(answer, word = randomWord()) {
    must(this.#tables !== null, "Call verify() first: reports are drawn only from a mechanism that was verified.");
    const row = this.#rows.get(keyOf(answer));
    must(row !== undefined, "This is not one of the possible answers.");
    return structuredClone(this.#file.outputs[drawn(this.#tables[row], word)]);
  }

  /** The report that this browser keeps for a question: see once(). */
  drawOnce(answer, question) {
    return once(this, answer, question);
  }

  /**
   * What a report can tell: for every answer the chance that it sends this report, and its probability before and after
   * the report is known. It is the same whoever sends the report.
   */
  reveals(report) {
    const y = this.#file.outputs.findIndex((output) => keyOf(output) === keyOf(report));
    must(y >= 0, "This is not one of the possible reports.");
    const before = this.#file.prior.map(Number);
    const chance = this.#weights.map((row) => Number(row[y]) / 2 ** 62);
    const total = before.reduce((sum, p, i) => sum + p * chance[i], 0);
    return this.#file.inputs.map((answer, i) => (
      { answer, chance: chance[i], before: before[i], after: (before[i] * chance[i]) / total }));
  }
}

/**
 * The report that this browser keeps for a question of this site, whatever the answer is now; drawn and kept if there is
 * none. The answer is not kept. Throws where the browser keeps nothing, or a report from another mechanism.
 */
export async function once(mechanism, answer, question) {
  const { digest } = mechanism;
  const name = `question ${question}`;
  const all = await kept((reports) => {
    reports[name] ??= { digest, report: mechanism.draw(answer) };
  });
  must(
    all[name].digest === digest,
    "This browser keeps a report from an earlier version of this question, and makes no second one.",
  );
  return all[name].report;
}

/**
 * All that this browser keeps for this site, after change(it): read, changed and written in one step, so that of two tabs
 * the second finds what the first left. Resolves when it is stored; otherwise nothing has changed.
 */
export function kept(change) {
  let wrong = new ExtremalError(
    "This browser keeps nothing for this page, so it would draw again each time. Please use another window or browser.",
  );
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("extremal", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = reject;
  }).then((database) => new Promise((resolve, reject) => {
    const step = database.transaction("kept", "readwrite", { durability: "strict" });
    const store = step.objectStore("kept");
    store.get("all").onsuccess = ({ target: { result: all = {} } }) => {
      try {
        change(all);
        store.put(all, "all");
      } catch (error) {
        wrong = error;
        step.abort();
      }
      step.oncomplete = () => resolve(all);
    };
    step.onabort = reject;
  }).finally(() => database.close())).catch(() => { throw wrong; });
}

/** A uniform 64-bit word from the operating system. */
export function randomWord() {
  return crypto.getRandomValues(new Uint8Array(8)).reduceRight((word, byte) => (word << 8n) | BigInt(byte), 0n);
}

/** One text for each label: labels are equal if and only if these are. */
export function keyOf(label) {
  return JSON.stringify(label) ?? "";
}

function numbered(labels) {
  const rows = new Map(labels.map((label, i) => [keyOf(label), i]));
  mustRead(rows.size === labels.length, "a label occurs twice");
  return rows;
}

/** The rows of weights, from columns of [weight, "0-3,7"]. */
function rowsOfWeights(columns, n) {
  const rows = Array.from({ length: n }, () => Array(columns.length).fill(0n));
  columns.forEach((column, y) => {
    mustRead(Array.isArray(column), "a column is no list");
    for (const pair of column) {
      mustRead(
        Array.isArray(pair) && pair.length === 2 && /^[1-9]\d{0,18}$/.test(pair[0]) && typeof pair[1] === "string",
        "a weight is no whole number",
      );
      const weight = BigInt(pair[0]);
      for (const range of pair[1].split(",")) {
        const ends = /^(\d{1,8})(?:-(\d{1,8}))?$/.exec(range);
        mustRead(ends, "rows are not numbered");
        const [first, last] = [Number(ends[1]), Number(ends[2] ?? ends[1])];
        mustRead(first <= last && last < n, "there is no such row");
        for (let i = first; i <= last; i++) {
          mustRead(rows[i][y] === 0n, "a weight is given twice");
          rows[i][y] = weight;
        }
      }
    }
  });
  return rows;
}

export function isDecimal(text) {
  return typeof text === "string" && /^(\d+\.\d+|\d+(\.\d+)?e[+-]\d+)$/.test(text) && Number.isFinite(Number(text));
}

/** Doubles as whole numbers over one common denominator, exactly: [numerators, denominator]. */
export function overOneDenominator(texts) {
  const parts = texts.map((text) => {
    const bits = new BigUint64Array(Float64Array.of(Number(text)).buffer)[0];
    const [exponent, fraction] = [(bits >> 52n) & 0x7ffn, bits & 0xfffffffffffffn];
    return exponent === 0n ? [fraction, 0n] : [fraction | (1n << 52n), exponent - 1n]; // times 2^(exponent - 1074)
  });
  return [parts.map(([fraction, exponent]) => fraction << exponent), 1n << 1074n];
}

// A prior center_i / total in whole numbers, and how far it may move: by up_i and down_i, by `movable` in all.

export function knownPrior(prior) {
  const [center, u] = overOneDenominator(prior);
  const total = sum(center);
  const off = (total - u) << 54n; // rounded to a double, the sum is 1 up to 4e-16
  must(-7n * u < off && off < 6n * u, "The probabilities do not sum to 1.");
  return { center, total, up: [], down: [], movable: 0n };
}

/** A set of priors, widened so that it holds its center divided by the exact sum; in units of 1 / (2 s u). */
function setOfPriors(set, prior) {
  const n = prior.length;
  const lists = [set.center, set.lower, set.upper];
  mustRead(
    Object.keys(set).sort().join() === "center,confidence,description,lower,radius,upper" &&
      lists.every((list) => Array.isArray(list) && list.length === n && list.every(isDecimal)) &&
      isDecimal(set.radius),
    "its set of priors is none",
  );
  const [scaled, u] = overOneDenominator([...lists.flat(), ...prior, set.radius]);
  const [a, lower, upper, p] = [0, 1, 2, 3].map((k) => scaled.slice(k * n, (k + 1) * n));
  const [r, s] = [scaled[4 * n], sum(a)];
  const slight = (x) => x << 39n <= u; // what rounding may miss
  const holds = (q) =>
    q.every((x, i) => slight(lower[i] - x) && slight(x - upper[i])) && slight(sum(q.map((x, i) => size(x - a[i]))) - r);
  mustRead(
    r <= 2n * u && lower.every((x, i) => x <= upper[i] && upper[i] <= u) && slight(size(s - u)) && holds(a) && holds(p),
    "its set of priors is none",
  );
  const center = a.map((x) => 2n * u * x);
  return {
    center,
    total: 2n * s * u,
    up: center.map((x, i) => positive(2n * s * upper[i] - x)),
    down: center.map((x, i) => positive(x - 2n * s * lower[i])),
    movable: r * s + s * size(s - u),
  };
}

/** The smallest sum of prior times weights: mass moves from the largest weights to the smallest. */
function smallestSum({ center, up, down, movable }, weights) {
  let value = sum(center.map((x, i) => x * weights[i]));
  let left = movable;
  if (left === 0n) return value;
  const order = [...weights.keys()].sort((i, j) => (weights[i] < weights[j] ? -1 : weights[i] > weights[j] ? 1 : 0));
  let [low, high] = [0, order.length - 1];
  let [room, stock] = [up[order[low]], down[order[high]]];
  while (left > 0n && weights[order[low]] < weights[order[high]]) {
    const step = [room, stock, left].reduce((x, y) => (y < x ? y : x));
    value -= step * (weights[order[high]] - weights[order[low]]);
    [room, stock, left] = [room - step, stock - step, left - step];
    if (room === 0n) room = up[order[++low]];
    else if (stock === 0n) stock = down[order[--high]];
  }
  return value;
}

function positive(x) {
  return x > 0n ? x : 0n;
}

function size(x) {
  return x < 0n ? -x : x;
}

export function sum(numbers) {
  return numbers.reduce((total, x) => total + x, 0n);
}

/** [a, k] with a / 2^k <= e^epsilon, short of it by less than 2^-90 of e^epsilon - 1: rounded down at every step. */
export function expBelow(epsilon) {
  if (epsilon <= 0) return [1n, 0n];
  const [[level], unit] = overOneDenominator([Math.min(epsilon, 800)]);
  const exponent = level.toString(2).length - 1074; // level / unit < 2^exponent
  const s = BigInt(Math.max(exponent, 0));
  const k = 128n + 2n * s + BigInt(Math.max(-exponent, 0));
  const x = (level << (k - s)) / unit;
  let [total, term] = [1n << k, 1n << k];
  for (let j = 1n; term > 0n; j++) {
    term = ((term * x) >> k) / j;
    total += term;
  }
  for (let i = 0n; i < s; i++) total = (total * total) >> k;
  return [total, k];
}

function digestOf(file) {
  const covered = Object.fromEntries(DIGESTED.map((name) => [name, file[name]]));
  if (file.prior_set) {
    const { center, confidence, lower, radius, upper } = file.prior_set;
    covered.prior_set = { center, confidence, lower, radius, upper };
  }
  return sha256("extremal-mechanism-digest-2\0" + JSON.stringify(covered));
}

export async function sha256(text) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** 2^b buckets of equal mass, each a threshold and an alias, whose masses add up to the weights exactly. */
function aliasTable(weights) {
  const b = Math.max(1, 32 - Math.clz32(weights.length - 1));
  const buckets = 2 ** b;
  const size = 1n << (BITS - BigInt(b));
  const w = Array.from({ length: buckets }, (_, j) => weights[j] ?? 0n);
  const table = w.map((_, j) => [size, j]);
  const heavy = [...w.keys()].filter((j) => w[j] >= size);
  let h = heavy.shift();
  let left = w[h]; // what the heavy outcome h still has to put into buckets
  const settle = () => {
    while (left < size) {
      const next = heavy.shift();
      table[h] = [left, next];
      left = w[next] - (size - left);
      h = next;
    }
  };
  for (let j = 0; j < buckets; j++) {
    if (w[j] < size) {
      settle();
      table[j] = [w[j], h];
      left -= size - w[j];
    }
  }
  settle();
  return table;
}

/** The number of the output that a word gives: its top bits choose a bucket, the next ones are compared with it. */
function drawn(table, word) {
  const b = BigInt(31 - Math.clz32(table.length));
  const bucket = Number(word >> (64n - b));
  const rest = (word >> 2n) & ((1n << (BITS - b)) - 1n);
  const [threshold, alias] = table[bucket];
  return rest < threshold ? bucket : alias;
}
