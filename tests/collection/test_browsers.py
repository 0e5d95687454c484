"""What must hold on a respondent's device, in Chromium, Firefox and WebKit; long walks are in Chromium alone.

The quick tests look at the same in Chromium: test_form.py, test_routes.py, test_draws.py and test_looks.py.
"""

import hashlib
import json
from pathlib import Path

import pytest

from tests.support import routes
from tests.support.survey_site import (
    HOLD_RETRIES,
    ID,
    INDEXED,
    RETRY,
    TRACES,
    certified,
    common_report,
    randomness,
    serving,
    subsets,
    survey,
    word_for,
)
from tests.support.webdriver import EACH, opened, until

pytestmark = pytest.mark.slow
VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverleihungsurkunde"
ARABIC = "نعم، مرة واحدة على الأقل"
VISITS = certified({"never": 0.5, "once": 0.3, WORD: 0.2}, 0.4)
PILLS = certified(subsets([0.3, 0.2]), 0.5)
FILES = survey(
    [
        (
            {"name": "visits", "text": f"{WORD}?", "kind": "single", "answers": ["never", "once", WORD]},
            [VISITS],
        ),
        (
            {
                "name": "pills",
                "text": "Which?",
                "kind": "several",
                "form": "joint",
                "answers": [WORD, ARABIC],
            },
            [PILLS],
        ),
        ({"name": "age", "text": ARABIC, "kind": "clear", "answers": ["young", "old"]}, []),
    ],
    introduction=f"{WORD}\n\n{ARABIC}",
)
# A page that lends what it loads to the tests: scripts of some drivers cannot load modules themselves.
LENT = {
    "/lent.html": '<!doctype html><title>lent</title><script type="module" src="lent.js"></script>',
    "/lent.js": 'import { load } from "./extremal.js"; window.load = load;',
}
DRAW = """async (files, draws) => {
    const mechanisms = files.map((file) => window.load(file));
    for (const mechanism of mechanisms) await mechanism.verify();
    return draws.map(([k, answer, word]) => mechanisms[k].draw(answer, BigInt(word)));
}"""
VISIBLE = "(id) => document.getElementById(id)?.checkVisibility() === true"
SPEAK = """(lang) => {
    const chooser = document.getElementById("language");
    chooser.value = lang;
    chooser.dispatchEvent(new Event("change"));
}"""
KEPT = f"async () => JSON.stringify(await ({INDEXED})())"
# What reaches beyond the right side, or would have to be scrolled to; a text of one line may be cut off on purpose.
TOO_WIDE = """() => [
    ...(document.documentElement.scrollWidth > innerWidth ? [`the page: ${document.documentElement.scrollWidth}`] : []),
    ...[...document.querySelectorAll("body *")]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 0.5)
        .map((e) => e.outerHTML.slice(0, 80)),
]"""


@pytest.fixture(scope="module", params=EACH)
def browser_tab(request):
    with opened(request.param) as tab:
        yield tab


@pytest.fixture
def tab(browser_tab):
    """A tab that is as wide as a phone."""
    browser_tab.size(390)
    return browser_tab


@pytest.fixture
def site():
    """Each test has a site of its own, where no browser has been."""
    with serving(FILES) as found:
        yield found


def shown(tab, name):
    until(tab, VISIBLE, name)


def visited(tab, site):
    tab.goto(site.address)
    shown(tab, "start")


def answered(tab, visits=0, pills="00", age=1):
    """All questions are answered, and the page asks whether the answers are right."""
    tab.click("#start")
    tab.click("#question-0 label", visits)
    for item in [i for i in (0, 1) if pills[i] == "1"] or [2]:
        tab.click("#question-1 label", item)
    tab.click("#question-2 label", age)
    tab.click("#questions > button")
    shown(tab, "draw")


def drawn(tab):
    tab.click("#draw")
    shown(tab, "send")
    return tab.evaluate("document.getElementById('body').textContent")


def test_every_browser_draws_the_vectors(tab):
    with serving(LENT) as site:
        tab.goto(f"{site.address}lent.html")
        until(tab, "typeof window.load === 'function'")
        files = [json.dumps(document) for document in VECTORS["mechanisms"]]
        assert tab.evaluate(DRAW, files, [draw[:3] for draw in VECTORS["draws"]]) == [
            draw[3] for draw in VECTORS["draws"]
        ]


def test_all_that_leaves_or_stays_depends_on_the_answers_only_through_the_reports(browser_tab):
    """Equal reports by chosen randomness, from different answers: all requests and all that stays are equal bytes."""
    reports = [common_report(VISITS), common_report(PILLS)]
    seen = set()
    for visits, pills in ((0, "00"), (1, "10"), (2, "11")):
        words = [
            word_for(VISITS, VISITS.mechanism.inputs[visits], reports[0]),
            word_for(PILLS, pills, reports[1]),
        ]
        tab = browser_tab.another()  # without a history
        with serving(FILES) as site:
            visited(tab, site)
            tab.evaluate(randomness(*words))
            answered(tab, visits, pills)
            asked = tab.evaluate(TRACES)
            assert json.loads(drawn(tab))["reports"] == {
                "visits": reports[0],
                "pills": reports[1],
                "age": "old",
            }
            tab.click("#send")
            shown(tab, "done")
            everything = [asked, tab.evaluate(TRACES), repr(sorted(site.requests))]
            assert len(site.bodies) == 1
            seen.add(json.dumps(everything).replace(site.address.split(":")[-1].strip("/"), "PORT"))
        tab.close()
    assert len(seen) == 1


def test_a_reload_keeps_the_report_and_only_the_report(tab, site):
    visited(tab, site)
    answered(tab, 2)
    tab.reload()
    shown(tab, "start")  # nothing was drawn
    assert json.loads(tab.evaluate(KEPT)) == [["extremal", "kept", "all", {}]]
    answered(tab, 2)
    first = drawn(tab)
    assert [entry[:3] for entry in json.loads(tab.evaluate(KEPT))] == [["extremal", "kept", "all"]]
    assert json.loads(tab.evaluate(KEPT))[0][3][f"survey {ID}"][""]["body"] == first
    tab.reload()
    shown(tab, "send")
    assert tab.evaluate("document.getElementById('body').textContent") == first
    assert tab.evaluate("document.querySelectorAll('input').length") == 0
    tab.click("#send")
    shown(tab, "done")
    tab.reload()
    shown(tab, "done")
    assert set(site.bodies) == {first.encode()}


def test_without_a_network_the_report_waits_and_counts_once(tab, site):
    visited(tab, site)
    tab.evaluate(HOLD_RETRIES)
    answered(tab)
    first = drawn(tab)
    site.down = True
    tab.click("#send")
    until(tab, "document.getElementById('progress').textContent.includes('tries again')")
    assert site.bodies == []
    site.down = False
    until(tab, "window.retries.length > 0")
    tab.evaluate(RETRY)
    shown(tab, "done")
    assert list(site.stored.values()) == [first.encode()]


def test_two_tabs_share_one_report(tab, site):
    visited(tab, site)
    second = tab.another()
    try:
        visited(second, site)
        answered(tab, 0)
        answered(second, 2)
        first = drawn(tab)
        shown(second, "send")  # it follows by itself
        assert second.evaluate("document.getElementById('body').textContent") == first
        assert second.evaluate("document.querySelectorAll('input').length") == 0
        tab.click("#send")
        shown(tab, "done")
        shown(second, "done")
        assert list(site.stored.values()) == [first.encode()]
    finally:
        second.close()


def walked(tab, way, lang):
    """One way through the questions of `routes`, in a language, with a turn back."""
    visits, pain, pills = way
    tab.evaluate(SPEAK, lang)
    tab.click("#start")
    answers = [(0, [visits]), (1, pain if pain is None else [pain]), (2, pills), (3, [0]), (4, [0])]
    for question, chosen in [(q, chosen) for q, chosen in answers if chosen is not None]:
        until(tab, "(q) => document.getElementById(`question-${q}`).checkVisibility()", question)
        for k in chosen:
            tab.click(f"#question-{question} label", k)
        if question == 3:
            tab.click("#previous")
            until(tab, "(q) => !document.getElementById(`question-${q}`).checkVisibility()", question)
            tab.click("#questions > button")
        tab.click("#questions > button")
    shown(tab, "draw")


def test_no_way_no_language_and_no_way_back_leaves_the_browser(browser_tab):
    """Equal reports: equal requests and traces from all ways through questions that depend on private answers."""
    mechanisms = (routes.VISITS, routes.PAIN, routes.PILLS, routes.WORK)
    reports = [common_report(mechanism) for mechanism in mechanisms]
    seen = set()
    for way, lang in ((routes.WAYS[0], "en"), (routes.WAYS[1], "ar"), (routes.WAYS[3], "ar")):
        tab = browser_tab.another()
        with serving(survey(routes.QUESTIONS, pages="question", **routes.BOTH)) as site:
            site.languages = ("en", "ar")
            visited(tab, site)
            tab.evaluate(randomness(*routes.words_for(way, reports)))
            walked(tab, way, lang)
            sent = json.loads(drawn(tab))["reports"]
            assert list(sent.values()) == [*reports[:3], "yes", reports[3]]
            tab.click("#send")
            shown(tab, "done")
            tab.evaluate(SPEAK, "en")
            everything = [tab.evaluate(TRACES), repr(sorted(site.requests))]
            seen.add(json.dumps(everything).replace(site.address.split(":")[-1].strip("/"), "PORT"))
        tab.close()
    assert len(seen) == 1


def test_field_mode_collects_without_a_network_and_forgets(tab):
    digest = hashlib.sha256(f"extremal-field\0{ID}\0code".encode()).hexdigest()
    with serving(survey(routes.QUESTIONS[:1], field=digest)) as site:
        visited(tab, site)
        tab.click("#interviewers summary")
        tab.evaluate("() => { document.getElementById('code').value = 'code'; }")
        tab.click("#interviewers .quiet")
        shown(tab, "field")
        site.down = True
        ids = []
        for k in range(2):
            tab.click("#start")
            tab.click("#question-0 label", k)
            tab.click("#questions > button")
            shown(tab, "draw")
            ids.append(json.loads(drawn(tab))["id"])
            tab.click("#send")
            shown(tab, "done")
            assert tab.evaluate("document.getElementById('reports').textContent") == ""
            tab.click("#next")
            shown(tab, "start")
        ((_, _, _, kept),) = json.loads(tab.evaluate(KEPT))
        assert sorted(json.loads(body)["id"] for body in kept[f"field {ID}"]["queue"]) == sorted(ids)
        site.down = False
        tab.click("#send-all")
        shown(tab, "field-off")
        assert set(site.stored) == set(ids)


@pytest.mark.parametrize("width", [320, 390])
def test_right_to_left_nothing_is_wider_than_a_phone(tab, width):
    tab.size(width)
    with serving(survey(routes.QUESTIONS, **routes.BOTH)) as site:
        site.languages = ("ar", "en")
        visited(tab, site)
        tab.evaluate(SPEAK, "ar")
        assert tab.evaluate("document.documentElement.dir") == "rtl"
        edge = "(id) => innerWidth - document.getElementById(id).getBoundingClientRect().right"
        assert (
            tab.evaluate(edge, "language") < tab.evaluate("innerWidth") / 3
        )  # the chooser begins at the right
        assert tab.evaluate(TOO_WIDE) == []
        tab.click("#start")
        assert tab.evaluate(TOO_WIDE) == []
        tab.click("#question-0 label", 0)
        tab.click("#question-3 label", 1)
        tab.click("#questions > button")
        shown(tab, "draw")
        assert tab.evaluate(TOO_WIDE) == []
        drawn(tab)
        assert tab.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_is_wider_than_a_phone(tab, site, width):
    tab.size(width)
    visited(tab, site)
    assert tab.evaluate("innerWidth") == width
    tab.click("#start")
    assert tab.evaluate(TOO_WIDE) == []
    tab.reload()
    shown(tab, "start")
    assert tab.evaluate(TOO_WIDE) == []
    answered(tab, 2, "11")
    assert tab.evaluate(TOO_WIDE) == []
    drawn(tab)
    tab.click("summary")
    assert tab.evaluate(TOO_WIDE) == []
    tab.click("#send")
    shown(tab, "done")
    assert tab.evaluate(TOO_WIDE) == []
