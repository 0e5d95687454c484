// words.js: what the survey's page and <extremal-question> say in the same words. Licence: Apache-2.0.

/** An element; its children are text or elements, never markup. */
export function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A button that does not take the second click of a double click, which was meant for what stood there before. */
export function button(text, action, properties = {}) {
  return make("button", { type: "button", onclick: (event) => event.detail < 2 && action(), ...properties }, text);
}

/** A text of the form, kept apart from the sentence around it: it may run in the other direction. */
export function quoted(text) {
  return `“\u2068${text}\u2069”`;
}

export function labelText(label) {
  if (label === null || typeof label !== "object") return String(label);
  return label.float || label.int || JSON.stringify(label);
}

/** Says the sentences of a catalogue, English ones where it lacks one, with numbers as its language writes them. */
export function speaker(lang, texts, english) {
  const say = (key, values = {}) => (texts[key] || english[key]).replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const number = (x, digits = 0) => x.toLocaleString(lang, { maximumFractionDigits: digits });
  return { lang, say, number };
}

/** A factor, rounded up: two decimals, and near 1 two digits of what it adds. */
export function rounded(factor, number) {
  const added = factor - 1;
  const digits = added >= 0.1 || added < 1e-12 ? 2 : 1 - Math.floor(Math.log10(added));
  return number(1 + Math.ceil(added * 10 ** digits - 1e-8) / 10 ** digits, digits);
}

/** A chance in people out of a hundred, which never hides what is certain or ruled out. */
export function people(chance, { say, number }) {
  const whole = Math.round(100 * chance);
  if (chance > 0 && whole === 0) return say("under", { number: number(1) });
  if (chance < 1 && whole === 100) return say("over", { number: number(99) });
  return number(whole);
}

/** For each answer of a mechanism what 100 people who give it send. */
export function sendings(mechanism, words) {
  const { say } = words;
  const reports = mechanism.outputs.map((output) => [quoted(labelText(output)), mechanism.reveals(output)]);
  return mechanism.inputs.map((_, i) => say("of_hundred", {
    sent: reports.filter(([, rows]) => rows[i].chance > 0)
      .map(([report, rows]) => say("send", { people: people(rows[i].chance, words), report })).join("; "),
  }));
}

/** For each answer how many of 100 people who give it send this report. */
export function senders(mechanism, report, textOf, words) {
  return mechanism.reveals(report).map(({ answer, chance }) => make("li", {},
    words.say("would_send", { answer: quoted(textOf(answer)), people: people(chance, words) })));
}

/** Whether some report leaves an answer no chance. */
export function rulesOut(mechanism) {
  return mechanism.outputs.some((output) => mechanism.reveals(output).some(({ chance }) => chance === 0));
}
