"""The survey's pages on a phone: readable, operable and named for everybody, light and dark, whatever the texts are."""

import pytest

from tests.support.browser import PHONE, screenshot, until
from tests.support.survey_site import certified, serving, subsets, survey

pytestmark = pytest.mark.xdist_group("browser")

LONG = "A very long answer that goes on and on, so that it needs several lines on a phone, or even more than that"
WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverleihungsurkunde"
ARABIC, EMOJI = "نعم، مرة واحدة على الأقل", "😀🎉 👩‍👩‍👧‍👦"
FILES = survey(
    [
        (
            {
                "name": "single",
                "text": f"How often, and why, and with whom, in the last twelve months, did you see a {WORD}?",
                "help": "Count everything.\nAlso at night.",
                "kind": "single",
                "answers": [ARABIC, EMOJI, LONG],
            },
            [certified({ARABIC: 0.2, EMOJI: 0.5, LONG: 0.3}, 0.5)],
        ),
        (
            {"name": "scale", "text": "How content?", "kind": "scale", "answers": ["1", "2", "3", "4", "5"]},
            [certified({1: 0.1, 2: 0.2, 3: 0.3, 4: 0.25, 5: 0.15}, 0.7)],
        ),
        (
            {
                "name": "joint",
                "text": "Which?",
                "kind": "several",
                "form": "joint",
                "answers": ["Pills", LONG],
            },
            [certified(subsets([0.3, 0.1]), 0.8)],
        ),
        (
            {"name": "each", "text": ARABIC, "kind": "several", "form": "each", "answers": ["Car", ARABIC]},
            [certified({"no": 1 - p, "yes": p}, 0.3) for p in (0.3, 0.4)],
        ),
        (
            {
                "name": "open",
                "text": "How old?",
                "kind": "clear",
                "answers": ["young", "old"],
                "required": False,
            },
            [],
        ),
    ],
    introduction=f"{LONG}.\n\n{LONG}.",
)
# What a person could not read, reach or name. Contrast as WCAG 2.2 defines it, of every text on its ground.
CHECKS = """() => {
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
        if (e.tagName !== "PROGRESS" && (box.height < 36 || box.width < 36)) wrong.push(`hard to hit: ${e.outerHTML}`);
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


@pytest.fixture(scope="module")
def site():
    with serving(FILES) as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_step_can_be_read_reached_and_named_on_a_phone(browser, site, scheme):
    site.restart()
    context = browser.new_context(viewport=PHONE, color_scheme=scheme)
    page = context.new_page()

    def looks_right(step):
        screenshot(page, f"form-{step}-{scheme}")
        assert page.evaluate(CHECKS) == []

    page.goto(site.address)
    page.wait_for_selector("#start:visible")
    looks_right("1-introduction")
    page.click("#start")
    page.click("text=Continue")
    looks_right("2-lacking")
    for q, i in [(0, 0), (1, 3), (2, 1), (3, 2), (4, 0)]:
        page.locator(f"#question-{q} label").nth(i).click()
    looks_right("3-answered")
    page.click("text=Continue")
    looks_right("4-confirm")
    page.click("#draw")
    for details in page.locator("details").all():
        details.locator("summary").click()
    looks_right("5-report")
    site.replies.append((503, {"error": "full"}, False))
    page.click("#send")
    until(page, "document.getElementById('progress').textContent.includes('again')")
    looks_right("6-later")
    page.wait_for_selector("#done:visible")
    looks_right("7-done")
    context.close()
