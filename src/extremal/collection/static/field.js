// field.js: one device, one person after the other. Field mode is switched on by who holds the device, with a code; no
// server can do it. It keeps reports in random order until they are sent, and forgets each person otherwise.

import { $, field, forgetAnswers, introduce, keep, modes, notice, offer, post, random, record, say, show, speak,
  survey, thank, words } from "./form.js";
import { sha256 } from "./extremal.js";
import { button, make } from "./words.js";

const LEFT = ["reports", "number", "body", "together", "progress", "notices", "missing"]; // what a person leaves on the page
const box = make("section", { id: "field", className: "notice" });
const door = make("form", { id: "interviewers", autocomplete: "off" });
let busy = false;

/** What is shown to who holds the device. */
modes.tell = () => {
  const quiet = (id, key, action) => button(say(key), action, { id, className: "quiet" });
  box.hidden = !field;
  door.hidden = Boolean(field);
  const code = make("input", { id: "code", type: "password", autocomplete: "off" });
  door.replaceChildren(make("details", {}, make("summary", {}, say("interviewers")),
    make("label", {}, make("span", {}, say("field_code")), code),
    make("button", { className: "quiet" }, say("field_on"))));
  if (!field) return;
  box.replaceChildren(
    make("h2", {}, say("field_title")),
    make("p", { id: "waiting-reports" }, say("field_waits", { number: words.number(field.queue.length) })),
    make("details", { open: !$("intro").hidden || !$("done").hidden }, make("summary", {}, say("interviewers")),
      quiet("next", "next_person", () => keep(() => ({ record: null })).then(next)),
      field.queue.length ? quiet("send-all", "field_send", sendAll) : quiet("field-off", "field_off", switchOff)),
  );
};

/** Nothing of the last person is left, not even their language. */
function next() {
  forgetAnswers();
  for (const part of LEFT) $(part).textContent = "";
  $("sending").hidden = $("drawn").hidden = false;
  speak(offer([...$("language").options].map(({ value }) => value)));
  introduce();
  show("intro");
  modes.tell();
}

async function switchOn() {
  const right = await sha256(`extremal-field\0${survey.id}\0${$("code").value}`) === survey.field;
  $("code").value = $("notices").textContent = "";
  if (!right) return notice(say("field_wrong"), "wrong");
  await keep(() => ({ field: { queue: [] }, record: null }));
  return next();
}

async function switchOff() {
  await keep(() => (field.queue.length ? {} : { field: null, record: null }));
  location.reload();
}

/** The report waits at a random place among the others, and nothing else is left of who gave it. */
modes.handIn = async () => {
  await keep(() => {
    if (!record) return {};
    const place = Math.floor(random() * (field.queue.length + 1));
    return { field: { queue: [...field.queue.slice(0, place), record.body, ...field.queue.slice(place)] }, record: null };
  });
  for (const part of LEFT) $(part).textContent = "";
  thank();
  for (const part of ["number", "receipt", "look", "forget", "keeps"]) $(part).hidden = true;
  show("done");
  modes.tell();
};

async function sendAll() {
  if (busy) return;
  busy = true;
  $("notices").textContent = "";
  for (const body of [...field.queue]) {
    const result = await post(body);
    if (result === "accepted") await keep(() => ({ field: { queue: field.queue.filter((other) => other !== body) } }));
    else if (!$("notices").textContent) notice(`${say("field_failed")} ${result.slice(9)}`, "wrong");
    modes.tell();
  }
  busy = false;
}

$("notices").after(box);
$("start").addEventListener("click", () => { for (const part of box.querySelectorAll("details")) part.open = false; });
$("intro").append(door);
door.addEventListener("submit", (event) => {
  event.preventDefault();
  switchOn();
});
modes.tell();
