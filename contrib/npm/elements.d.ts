import type { Label } from "./extremal.js";

/** What a page says about a question. With `src` it is asked by another site, in a frame, and that page says the rest. */
export interface Settings {
  /** Texts of the answers, by the labels of the mechanism. */
  answers?: Record<string, string>;
  collector?: string;
  lang?: string;
  link?: string;
  /** The address of a mechanism file, or what JSON.parse makes of one. */
  mechanism?: string | object;
  name?: string;
  /** Who answers, where several people share a browser. */
  person?: string;
  /** Under this name the browser keeps the report. */
  question?: string;
  required?: boolean;
  src?: string;
  text?: string;
  /** By what factor everything that the form sends makes a guess likelier, if it is more than this report. */
  together?: number;
}

interface Field extends HTMLElement {
  /** The report as the form gets it; empty if there is none. */
  readonly value: string;
  /** The report as it is in the mechanism's file; undefined if there is none. */
  readonly report: Label | undefined;
  /** Whether somebody chose not to answer. */
  readonly skipped: boolean;
  readonly form: HTMLFormElement | null;
  name: string;
  readonly validity: ValidityState;
  readonly validationMessage: string;
  checkValidity(): boolean;
  reportValidity(): boolean;
}

/** Asks a private question; tells of its report by the events `input` and `change`. */
export interface ExtremalQuestion extends Field {
  set mechanism(given: string | object);
}
export interface ExtremalFrame extends Field {}
export const ExtremalQuestion: new () => ExtremalQuestion;
export const ExtremalFrame: new () => ExtremalFrame;

/** The sentences of the elements by language. */
export const texts: Record<string, Record<string, string>>;
export function configure<E extends HTMLElement>(element: E, settings: Settings): E;
export function questionOf(settings: Settings): ExtremalQuestion | ExtremalFrame;

declare global {
  interface HTMLElementTagNameMap {
    "extremal-question": ExtremalQuestion;
    "extremal-frame": ExtremalFrame;
  }
}
