"""Reading and pressing what is in a closed shadow root, as a person does: through the accessibility tree and a mouse.

Scripts and selectors of a page do not reach in there; the protocol that drives the browser does.
"""

from contextlib import suppress
from dataclasses import dataclass

from tests.support.draws import by_python

# Everything that a page's own listeners, observers and properties show; window.seen grows, snap() looks.
SPY = """
    const calls = window.addEventListener.bind(window);
    window.seen = [];
    const tell = (where) => (event) => {
        if (event.type === "message") return seen.push(["message", JSON.stringify(event.data)]);
        const told = { where, target: event.target?.nodeName ?? "window" };
        for (const name of ["detail", "key", "code", "data", "clientX", "clientY", "which", "newState"]) {
            if (name in event) told[name] = event[name];
        }
        return seen.push([event.type, told]);
    };
    const types = Object.keys(HTMLElement.prototype).concat(Object.keys(window)).filter((n) => /^on[a-z]/.test(n));
    const asked = [...new Set(types.map((n) => n.slice(2)))].concat(["focusin", "focusout"]);
    const quiet = ["pageshow", "pagehide", "load", "readystatechange", "beforeunload", "unload", "animationframe"];
    for (const type of asked) if (!quiet.includes(type)) calls(type, tell("window"));
    document.addEventListener("DOMContentLoaded", () => {
        const host = document.querySelector("extremal-question");
        for (const type of asked) host.addEventListener(type, tell("element"));
        new MutationObserver((records) => records.forEach((r) => seen.push(["mutation", r.type, r.target.nodeName])))
            .observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
        for (const type of ["event", "first-input", "layout-shift", "longtask"]) {
            new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
                const shown = [entry.target, ...(entry.sources ?? []).map(({ node }) => node)].filter(Boolean);
                if (shown.some((node) => node.getRootNode() !== document)) seen.push(["inside", shown.map(String)]);
            })).observe({ type, buffered: true, ...(type === "event" ? { durationThreshold: 16 } : {}) });
        }
    });
    window.snap = () => {
        const host = document.querySelector("extremal-question");
        const boxes = [...document.querySelectorAll("*")].map((e) => JSON.stringify(e.getBoundingClientRect()));
        const pseudo = [":focus", ":focus-within", ":hover", ":active", ":invalid", ":user-invalid", ":autofill",
            ":checked", ":default", ":indeterminate", ":modal", ":target"].filter((s) => host.matches(s));
        const middle = host.getBoundingClientRect();
        const [x, y] = [middle.x + middle.width / 2, middle.y + middle.height / 2];
        const caret = document.caretPositionFromPoint?.(x, y)?.offsetNode.nodeName;
        const selection = getSelection();
        return JSON.stringify([
            document.documentElement.outerHTML, host.getHTML({ serializableShadowRoots: true }),
            String(host.shadowRoot), boxes, pseudo, [scrollX, scrollY], document.activeElement.nodeName,
            document.elementFromPoint(x, y)?.nodeName, caret, String(selection),
            selection.anchorNode?.nodeName, selection.anchorNode?.getRootNode() === document,
            host.value, host.report, host.skipped, host.validationMessage, { ...host }, Object.keys(host.dataset),
            Object.entries(host.validity), [...new FormData(document.forms[0])], document.forms[0].elements.length,
            host.innerText, host.textContent, Object.values(getComputedStyle(host)), document.title, location.href,
            history.length, JSON.stringify(history.state), { ...localStorage }, { ...sessionStorage }, document.cookie,
            document.getAnimations().length, performance.getEntriesByType("resource").length, name,
        ]);
    };
"""
# Draws from one word, window.word.
FIXED = """
    Crypto.prototype.getRandomValues = function (array) {
        const word = BigInt(window.word);
        if (array.length === 8) array.forEach((_, i) => { array[i] = Number((word >> BigInt(8 * i)) & 255n); });
        return array;
    };
"""


def words(certified):
    """(report, answer, word): one word for every report that an answer can send."""
    found = {}
    for k in range(64):
        word = (k << 58) | (1 << 57)
        for answer in certified.inputs:
            (report,) = by_python(certified, [answer], [word])
            found.setdefault((report, answer), word)
    return sorted((report, answer, word) for (report, answer), word in found.items())


@dataclass(frozen=True)
class Node:
    """What a screen reader is told about an element."""

    role: str
    name: str
    description: str
    states: dict
    number: int  # of the element, for the browser


class Inside:
    """A page, or the only frame in it, as its accessibility tree has it."""

    def __init__(self, page, framed=False):
        self.page, self.framed = page, framed
        self.session = page.context.new_cdp_session(page)
        self.session.send("DOM.enable")

    def nodes(self):
        def value(node, name):
            return node.get(name, {}).get("value", "")

        where = {}
        if self.framed:
            frames = self.session.send("Page.getFrameTree")["frameTree"].get("childFrames", [])
            if not frames:
                return []
            where["frameId"] = frames[0]["frame"]["id"]
        tree = self.session.send("Accessibility.getFullAXTree", where)["nodes"]
        return [
            Node(
                value(node, "role"),
                value(node, "name"),
                value(node, "description"),
                {p["name"]: p["value"].get("value") for p in node.get("properties", [])},
                node["backendDOMNodeId"],
            )
            for node in tree
            if not node["ignored"] and "backendDOMNodeId" in node
        ]

    def text(self):
        """All that can be read."""
        return "\n".join(node.name for node in self.nodes() if node.role == "StaticText")

    def find(self, role, name=""):
        """The first element of this role whose name holds this text; None if there is none."""
        found = (node for node in self.nodes() if node.role == role and name in node.name)
        return next(found, None)

    def wait(self, role, name=""):
        for _ in range(1500):
            if found := self.find(role, name):
                return found
            self.page.wait_for_timeout(20)
        raise AssertionError(f"no {role} {name!r} among {[(n.role, n.name) for n in self.nodes()]}")

    def says(self, text):
        """Wait until this can be read."""
        for _ in range(1500):
            if text in self.text():
                return self
            self.page.wait_for_timeout(20)
        raise AssertionError(f"{text!r} is not in\n{self.text()}")

    def press(self, role, name=""):
        """Click the middle of an element."""
        from playwright.sync_api import Error

        quad, before = [], None
        while quad != before or not quad:  # until it stays where it is, and is not just being made anew
            asked = {"backendNodeId": self.wait(role, name).number}
            before, quad = quad, []
            with suppress(Error):  # it is gone
                self.session.send("DOM.scrollIntoViewIfNeeded", asked)
                self.page.wait_for_timeout(20)
                quad = next(iter(self.session.send("DOM.getContentQuads", asked)["quads"]), [])
        self.page.mouse.click(sum(quad[0::2]) / 4, sum(quad[1::2]) / 4)

    def answer(self, name, start="Go to the answers", draw="Draw my report"):
        """From the consent to the report."""
        self.press("button", start)
        self.press("radio", name)
        self.press("button", draw)
