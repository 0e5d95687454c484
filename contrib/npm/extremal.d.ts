/** A label of a mechanism file: text, a truth value, a number as `{int: "7"}` or `{float: "0.5"}`, or several of them. */
export type Label = string | number | boolean | null | { [kind: string]: string } | Label[];

/** What one report can tell about one answer. */
export interface Reveals {
  answer: Label;
  /** The probability that this answer sends the report. */
  chance: number;
  before: number;
  after: number;
}

export interface Verified {
  epsilon: number;
  factor: number;
  digest: string;
}

export interface Mechanism {
  readonly inputs: Label[];
  readonly outputs: Label[];
  readonly epsilon: number;
  readonly digest: string;
  /** Throws unless the file keeps its promise, in exact arithmetic. */
  verify(): Promise<Verified>;
  /** A report, drawn with secure randomness; `word` replaces the randomness in tests only. */
  draw(answer: Label, word?: bigint): Label;
  /** The report that this browser keeps under this name; drawn and kept if there is none. */
  drawOnce(answer: Label, question: string): Promise<Label>;
  reveals(report: Label): Reveals[];
}

/** What is wrong with a mechanism, an answer or a browser, in words for a person. */
export class ExtremalError extends Error {}

/** The mechanism in a file: its text, or what JSON.parse makes of it. Call verify() before you draw. */
export function load(json: string | object): Mechanism;
