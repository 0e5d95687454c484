"""Debian's chromium, driven by Playwright; `tests/conftest.py` starts it once.

Without them the tests are skipped, unless EXTREMAL_REQUIRE_BROWSER=1 (.ci/run sets it). EXTREMAL_SCREENSHOTS=DIR keeps
pictures of the pages there, to look at.
"""

import importlib.util
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

# The first has no windows to draw: it takes two thirds of the processor time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}

# What a person could not read, reach or name. Contrast as WCAG 2.2 defines it, of every text on its ground.
BARRIERS = """() => {
    const wrong = [];
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const rgba = (color) => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = (color) => rgba(color).slice(0, 3)
        .map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
        .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
    const below = (e) => {
        for (; e; e = e.parentElement) {
            const color = getComputedStyle(e).backgroundColor;
            if (rgba(color)[3] === 255) return color;
        }
        return "white";
    };
    const visible = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let texts = 0;
    while (walker.nextNode()) {
        const e = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !visible(e)) continue;
        texts += 1;
        const style = getComputedStyle(e);
        const [a, b] = [luminance(style.color), luminance(below(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${walker.currentNode.data}`);
        if (parseFloat(style.fontSize) < 13) wrong.push(`small: ${walker.currentNode.data}`);
    }
    if (!texts) wrong.push("nothing to read");
    for (const e of document.querySelectorAll("input, button, summary, progress")) {
        if (!visible(e)) continue;
        const name = [...(e.labels || [])].map(l => l.innerText).join() || e.innerText || e.getAttribute("aria-label");
        if (!name) wrong.push(`no name: ${e.outerHTML}`);
        const box = (e.closest("label") || e).getBoundingClientRect();
        if (e.tagName === "PROGRESS") continue;
        if (box.height < 36 || box.width < 36) wrong.push(`hard to hit: ${e.outerHTML}`);
        if (e.tabIndex < 0) wrong.push(`no keyboard: ${e.outerHTML}`);
    }
    for (const e of document.querySelectorAll("fieldset")) {
        if (!e.querySelector(":scope > legend:first-child")?.innerText) wrong.push("a group without a name");
    }
    const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
    if (new Set(ids).size < ids.length) wrong.push("an id twice");
    for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
        for (const e of document.querySelectorAll(`[${name}]`)) {
            if (!ids.includes(e.getAttribute(name))) wrong.push(`${name} leads nowhere`);
        }
    }
    const levels = [...document.querySelectorAll("h1, h2, h3")].filter(visible).map(e => Number(e.tagName[1]));
    if (levels[0] !== 1 || levels.some((level, i) => i && level > levels[i - 1] + 1)) wrong.push(`headings ${levels}`);
    if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the screen");
    for (const e of document.querySelectorAll("body *")) {
        if (visible(e) && e.getBoundingClientRect().right > innerWidth + 0.5) wrong.push(`too wide: ${e.outerHTML}`);
    }
    if (!document.documentElement.lang || !document.title || !document.querySelector("main")) wrong.push("no frame");
    return wrong;
}"""


def chromium():
    """The path of the browser; a skip, or a failure where it is required, if there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None or importlib.util.find_spec("playwright") is None:
        if os.environ.get("EXTREMAL_REQUIRE_BROWSER") == "1":
            pytest.fail("EXTREMAL_REQUIRE_BROWSER=1, but there is no chromium or no playwright")
        pytest.skip("needs chromium and playwright")
    return found


@contextmanager
def started():
    """A browser, until the block ends. There can be one in a process."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Device:
    """A phone or a desk on which one test after the other opens pages as if it were new.

    A new context of the browser is a second of processor time, because it starts several processes.
    """

    def __init__(self, browser, **options):
        self.context = browser.new_context(**options)
        self.errors, self.said, self.requests = [], [], []  # since it was last made as new
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.context.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.tab = None

    def as_new(self, script=""):
        """The one tab of a device on which no site has left anything.

        A script that starts with every document stays for good: its tab is not used again.
        """
        page = None if script else self.tab
        for other in self.context.pages:
            if other is not page:
                other.close()
        if page is None or page.is_closed():
            page = self.context.new_page()
        else:
            page.goto("about:blank")
        visited = {
            "{0.scheme}://{0.netloc}".format(urlsplit(url)) for url in self.requests if url.startswith("http")
        }
        session = self.context.new_cdp_session(page)
        for origin in visited:
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.send("Page.resetNavigationHistory")
        session.detach()
        for seen in (self.errors, self.said, self.requests):
            seen.clear()
        if script:
            page.add_init_script(script)
        self.tab = None if script else page
        return page

    def close(self):
        self.context.close()


def until(page, expression, seconds=60):
    """Wait until an expression holds; the pages' security policy forbids them to do this themselves."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"not true after {seconds} s: {expression}"
        page.wait_for_timeout(40)


def screenshot(page, name):
    folder = os.environ.get("EXTREMAL_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def barriers(page):
    """What keeps people from reading, reaching or naming what the page shows now."""
    return page.evaluate(BARRIERS)


def axe(page, rules=None):
    """What axe's rules, or these of them, find wrong with the page as it is: the rule and the elements."""
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = page.evaluate("async (options) => (await axe.run(options)).violations", options)
    return [f"{v['id']}: {[node['target'] for node in v['nodes']][:3]}" for v in found]
