// The researcher's page: reports so far, shares with intervals, progress. The secret is typed or pasted in, and kept in
// memory alone: browsers remember addresses, also what stands after a #.

const REFRESH = 4000;
const $ = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");

let secret = "";
let shown = ""; // the answer that the page shows
let timer;

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function percent(share) {
  return `${(100 * share).toFixed(1)}%`;
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

/** A fetch with the secret in a header. */
async function ask(address) {
  const answer = await fetch(address, { headers: { Authorization: `Bearer ${secret}` }, credentials: "omit", cache: "no-store" });
  if (answer.status === 401 || answer.status === 403) {
    secret = "";
    throw new Error("That is not the right secret. The terminal that runs the survey shows it.");
  }
  if (!answer.ok) throw new Error("The server has no results at the moment. This page will try again.");
  return answer;
}

/** Shows what there is now, and goes on. */
async function refresh() {
  clearTimeout(timer);
  if (!secret) {
    $("unlock").hidden = false;
    $("results").hidden = true;
    return;
  }
  $("loading").hidden = Boolean(shown);
  try {
    const text = await (await ask("results.json")).text();
    if (text !== shown) render(JSON.parse(text));
    shown = text;
    $("updated").textContent = `As of ${new Date().toLocaleTimeString()}.`;
    problem("");
  } catch (error) {
    problem(error instanceof TypeError ? "The server does not answer. This page will try again." : error.message);
    if (!secret) {
      $("loading").hidden = true;
      return refresh();
    }
  }
  $("loading").hidden = true;
  timer = setTimeout(refresh, document.hidden ? 10 * REFRESH : REFRESH);
  return undefined;
}

function render(results) {
  document.title = `${whole.format(results.reports)} reports: ${results.title}`;
  $("title").textContent = results.title;
  $("count").textContent = whole.format(results.reports);
  $("counted").textContent = results.reports === 1 ? "report so far" : "reports so far";
  progress(results);
  $("questions").replaceChildren(...results.questions.map((question) => card(question, results)));
  $("exports").replaceChildren(...results.exports.map((name) =>
    make("button", { type: "button", onclick: () => download(name) }, `Save ${name}`)));
  $("unlock").hidden = true;
  $("results").hidden = false;
}

/** How far the collection is: towards what the questions need for the wanted width, or the wanted number of people. */
function progress({ reports, closed, wanted, questions, stages }) {
  const needed = Math.max(0, ...questions.map((question) => question.needed || 0));
  const goal = needed || (wanted && wanted.people) || 0;
  $("progress").hidden = !goal;
  const sentences = [];
  if (goal) {
    $("progress").max = goal;
    $("progress").value = Math.min(reports, goal);
    $("progress").setAttribute("aria-label", `${whole.format(reports)} of ${whole.format(goal)} reports`);
  }
  if (needed && wanted) {
    const width = Number((100 * wanted.width).toFixed(2));
    sentences.push(`About ${whole.format(needed)} reports give intervals of the width you want (${width} percentage points) for every private question.`);
  }
  if (goal) sentences.push(reports < goal ? `${whole.format(goal - reports)} more to go.` : "That many have arrived.");
  if (wanted && wanted.people) sentences.push(`You planned for ${whole.format(wanted.people)} people.`);
  $("wanted").textContent = sentences.join(" ");
  // Where priors are learned: the stage that runs, and what could not be learned for one of them.
  const said = stages.filter((stage) => stage.said).map((stage) => `Stage ${stage.number}: ${stage.said}`);
  $("stages").textContent = stages.length ? [`Stage ${stages.at(-1).number} is running.`, ...said].join(" ") : "";
  $("stages").hidden = !stages.length || (closed && !said.length);
  $("waiting").textContent = closed ? "The survey is closed." :
    "Results grow in steps of five reports, so that two looks never show what one person sent. The newest five to nine reports follow when you close the survey.";
}

/** The interval, that for every look behind it, and the share. */
function bar({ share, low, high, always }) {
  const bands = [...(always ? [["u", ...always]] : []), ["i", low, high]].map(([tag, from, to]) => {
    const band = make(tag, {});
    band.style.left = percent(from);
    band.style.width = percent(to - from);
    return band;
  });
  const mark = make("b", {});
  mark.style.left = percent(share);
  const track = make("div", { className: "track" }, ...bands, mark);
  track.setAttribute("aria-hidden", "true"); // the figures stand beside it
  return track;
}

const look = (text) => make("span", { className: "look" }, text);
const key = (kind, text) => make("p", { className: "small" }, make("span", { className: `key ${kind}`, ariaHidden: "true" }), text);

function card({ text, rows, mean, needed, promise, always, note }, { confidence, intervals, reports }) {
  const level = `${Math.round(100 * confidence)}% interval`;
  const kind = intervals === "all" || !always ? "all together" : "each by itself";
  const head = [["Answer"], ["Share"], [level, look(kind), look(always ? "below: at any time" : "")], []].map((title) =>
    title.length ? make("th", { scope: "col" }, ...title) : make("td", { className: "bar" }));
  const lines = rows.flatMap((row) => {
    const wide = make("td", { className: "bar" }, bar(row));
    const narrow = make("tr", { className: "bar" }, make("td", { colSpan: 3 }, bar(row)));
    return [
      make("tr", {}, make("th", { scope: "row", dir: "auto" }, row.label), make("td", {}, percent(row.share)),
        make("td", {}, `${percent(row.low)} – ${percent(row.high)}`, look((row.always || []).map(percent).join(" – "))), wide),
      narrow,
    ];
  });
  const section = make("section", { className: "card" }, make("h2", { dir: "auto" }, text));
  if (rows.length) {
    section.append(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines)));
  }
  if (mean) {
    const [share, low, high, least, most] = [mean.share, mean.low, mean.high, ...mean.always].map((score) => score.toFixed(2));
    section.append(make("p", {}, `Mean score ${share} (${level} ${low} – ${high})`, look(`However often you look ${least} – ${most}`)));
  }
  if (promise) section.append(key("", promise));
  if (always) section.append(key("wide", always));
  if (needed && reports < needed) {
    section.append(make("p", { className: "small" }, `${whole.format(needed - reports)} more reports for the wanted width.`));
  }
  if (note) section.append(make("p", { className: "small" }, note));
  return section;
}

async function download(name) {
  try {
    const link = make("a", { href: URL.createObjectURL(await (await ask(name)).blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
  } catch (error) {
    problem(error.message);
  }
}

$("unlock").addEventListener("submit", (event) => {
  event.preventDefault();
  secret = $("secret").value.trim();
  $("secret").value = "";
  refresh();
});
addEventListener("visibilitychange", () => document.hidden || refresh());
refresh();
