"""The survey's pages on a phone: readable, operable and named for everybody, light and dark, whatever the texts are."""

import pytest

from tests.support.browser import PHONE, barriers, screenshot, until
from tests.support.survey_site import HOLD_RETRIES, RETRY, certified, serving, subsets, survey

pytestmark = pytest.mark.slow  # every step of the page, in several sizes

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
            {
                "name": "each",
                "text": ARABIC,
                "kind": "several",
                "form": "each",
                "level": 0.7,
                "answers": ["Car", ARABIC],
            },
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


@pytest.fixture(scope="module")
def site():
    with serving(FILES) as found:
        yield found


def test_every_step_can_be_read_reached_and_named_on_a_phone(browser, site):
    site.restart()
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()

    def looks_right(step):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            screenshot(page, f"form-{step}-{scheme}")
            assert barriers(page) == []

    page.goto(site.address)
    page.wait_for_selector("#start:visible")
    looks_right("1-introduction")
    page.click("#decline")
    looks_right("1-declined")
    page.click("#return")
    page.click("#start")
    page.click("text=Continue")
    looks_right("2-lacking")
    for q, i in [(0, 0), (1, 3), (2, 1), (3, 2), (4, 0)]:
        page.locator(f"#question-{q} label").nth(i).click()
    looks_right("3-answered")
    page.click("text=Continue")
    looks_right("4-confirm")
    page.click("#draw")
    for details in page.locator("#report details").all():
        details.locator("summary").click()
    looks_right("5-report")
    site.replies.append((503, {"error": "full"}, False))
    page.evaluate(HOLD_RETRIES)
    page.click("#send")
    until(page, "document.getElementById('progress').textContent.includes('again')")
    place = page.locator("#progress").bounding_box()
    assert 0 <= place["y"] <= PHONE["height"] - place["height"]  # in sight, below a long report
    looks_right("6-later")
    page.evaluate(RETRY)
    page.wait_for_selector("#done:visible")
    looks_right("7-done")
    context.close()
