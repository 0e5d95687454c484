// What a person takes along: files, and reports for a sample.

import { messages, post } from "./ask.js";
import { $, make, say } from "./dom.js";
import { page, state } from "./page.js";
import { showSample } from "./results.js";

function save(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function download(name, button) {
  say("file-error", "");
  button.disabled = true;
  try {
    save(name, await (await post("file", { state: state(), name })).blob());
  } catch (error) {
    say("file-error", error.message);
  }
  button.disabled = false;
}

export async function privatise() {
  say("sample-error", "");
  $("draw").disabled = true;
  try {
    for await (const message of messages("privatize", { state: state(), sample: $("sample").value })) {
      if (message.type === "error") throw new Error(message.message);
      if (message.type !== "sample") continue;
      page.reports = message.reports;
      showSample(message);
    }
  } catch (error) {
    say("sample-error", error.message);
  }
  $("draw").disabled = false;
}

export function exampleSample() { // not secret, so no secure randomness is needed
  const { labels, probabilities } = page.prior;
  $("sample").value = Array.from({ length: 200 }, () => {
    let left = Math.random();
    const k = probabilities.findIndex((p) => (left -= p) < 0);
    return labels[k < 0 ? 0 : k];
  }).join("\n");
}

export const saveReports = () => save("reports.csv", new Blob(
  [["report", ...page.reports.map((r) => `"${String(r).replaceAll('"', '""')}"`)].join("\n") + "\n"], { type: "text/csv" }));
