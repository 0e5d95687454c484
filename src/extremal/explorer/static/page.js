// What a person has chosen, and what the page knows about it.

import { $ } from "./dom.js";

export const page = { epsilon: 0.7, prior: null, curve: null, curveKey: "", reports: null, upload: null, example: "" };

export function state() {
  return {
    prior: $("prior").value, kind: $("kind").value, pseudocount: Number($("pseudocount").value) || 0, robust: $("robust").checked,
    allow_true_answers: $("allow").checked, epsilon: page.epsilon, utility: $("utility").value, people: Math.round(Number($("people").value)) || 0,
    width: Math.min(Math.max($("measure").clientWidth, 300), 900),
  };
}
