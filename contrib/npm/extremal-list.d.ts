import type { Label, Verified } from "./extremal.js";

export interface List {
  readonly inputs: Label[];
  readonly epsilon: number;
  readonly digest: string;
  /** Throws unless the file keeps its promise, in exact arithmetic. */
  verify(): Promise<Verified>;
  /** A report, drawn with secure randomness; `word` replaces the randomness in tests only. */
  draw(answer: Label, word?: bigint): number;
  /** The report that this browser keeps under this name; drawn and kept if there is none. */
  drawOnce(answer: Label, question: string): Promise<number>;
}

/** The list in a file: its text, or what JSON.parse makes of it. Call verify() before you draw. */
export function loadList(json: string | object): Promise<List>;
