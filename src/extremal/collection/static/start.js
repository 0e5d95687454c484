// start.js: runs the scripts of the page, each if it has the digest that the page names. One that imports others comes
// after them: a browser that has refused a file may load it again, without its digest, for an import.

/** Runs a script; fails if it is not the one that the page names. */
export function add(name) {
  const { integrity } = document.querySelector(`link[href="${name}"]`);
  const script = document.createElement("script");
  return new Promise((resolve, reject) => {
    if (!integrity) throw new TypeError(`${name} is not named`);
    Object.assign(script, { type: "module", src: name, integrity, onload: resolve });
    script.onerror = () => reject(new TypeError(`${name} is missing`));
    document.head.append(script);
  });
}

Promise.all([add("extremal.js"), add("words.js")]).then(() => add("form.js")).catch(() => {
  document.getElementById("waiting").prepend("This did not work. ");
});
