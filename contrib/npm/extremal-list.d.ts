import type { Label, Verified } from "./extremal.js";

export interface List {
  readonly inputs: Label[];
  readonly epsilon: number;
  readonly digest: string;
  /** Throws unless the file keeps its promise, in exact arithmetic. */
  verify(): Promise<Verified>;
  /** How many codes a report stands for; in how many of 100 reports the own answer is one, and any other answer. */
  readonly reveals: { answers: number; own: number; other: number };
  /** Whether some report leaves an answer no chance. */
  readonly rulesOut: boolean;
  /** A report, drawn with secure randomness; the words replace the randomness in tests only. */
  draw(answer: Label, step?: bigint, place?: bigint): number;
  /** The report that this browser keeps under this name; drawn and kept if there is none. */
  drawOnce(answer: Label, question: string): Promise<number>;
}

/** The list in a file: its text, or what JSON.parse makes of it. Call verify() before you draw. */
export function loadList(json: string | object): Promise<List>;

/** Numbers of the answers that a text finds, by their words or other spellings; the best first. */
export function finder(labels: string[], also?: string[][]): (typed: string) => { i: number; text: string }[];
