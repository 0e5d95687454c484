import type { Label } from "./extremal.js";
import type { Settings } from "./elements.js";

/** A trial of jsPsych 8 with one private question. Its data hold the report, and no response time. */
export default class ExtremalPlugin {
  static info: { name: string; version: string; parameters: Record<string, object>; data: Record<string, object> };
  constructor(jsPsych: { finishTrial(data: { report: Label; skipped: boolean }): void });
  trial(display: HTMLElement, settings: Settings & { button_label: string }): void;
}
