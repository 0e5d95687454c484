// What the page asks of the server.

// The link in the terminal carries the token after the #. It leaves the address at once and stays with this tab.
// Nothing else is ever written to the address: browsers keep it in their history.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) sessionStorage.setItem("token", given);
  if (location.hash) history.replaceState(null, "", location.pathname);
  return Boolean(given);
}

const credentials = () => ({ "X-Explorer-Token": sessionStorage.getItem("token") ?? "" });

export class Refused extends Error {}

async function checked(response) {
  if (!response.ok) throw new Refused((await response.json()).message);
  return response;
}

export const options = async () => (await checked(await fetch("api/options", { headers: credentials() }))).json();

export const post = async (task, document, signal) => checked(await fetch(`api/${task}`, {
  method: "POST", headers: { "Content-Type": "application/json", ...credentials() }, body: JSON.stringify(document), signal,
}));

export async function* messages(task, document, signal) {
  const response = await post(task, document, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
