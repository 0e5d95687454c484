"""People who wander: back and forth, in other languages, with reloads, a second tab and cleared storage, all mixed."""

import itertools
import json
import random

import pytest

from tests.support import routes
from tests.support.survey_site import TRACES, common_report, randomness, serving, survey

REPORTS = [common_report(mechanism) for mechanism in (routes.VISITS, routes.PAIN, routes.PILLS, routes.WORK)]
SHOWN = "[...document.querySelectorAll('fieldset')].find((field) => field.checkVisibility())?.id"


def lead_to(page, question):
    """Wherever somebody is, to a question that they have reached before, or are to reach next."""
    for _ in range(20):
        if page.is_visible("#start"):
            page.click("#start")
        elif page.is_visible("#confirm"):
            page.click("#change")
        now = int(page.evaluate(SHOWN).removeprefix("question-"))
        if now == question:
            return
        page.click("#questions [type=submit]" if now < question else "#previous")
    raise AssertionError(f"question {question} cannot be reached")


def wander(page, chance):
    """A few steps that change nothing."""
    for _ in range(chance.randrange(3)):
        step = chance.randrange(4)
        if step == 0:
            page.select_option("#language", chance.choice(["en", "ar"]))
        elif step == 1 and page.is_visible("#previous"):
            page.click("#previous")
        elif step == 2 and page.is_visible("#questions"):
            page.click("#questions [type=submit]")
        elif step == 3 and page.is_visible("#questions"):
            page.go_back()


def choose(page, question, answers):
    lead_to(page, question)
    for k in answers:
        if not page.locator(f"#question-{question} input").nth(k).is_checked():
            page.locator(f"#question-{question} label").nth(k).click()


def answer(page, way, chance):
    """Other answers first, then those of a way, until the page asks whether to send a report."""
    visits, pain, pills = way
    choose(page, 0, [2 - visits])
    wander(page, chance)
    choose(page, 0, [visits])
    wander(page, chance)
    if pain is not None:
        choose(page, 1, [1 - pain])
        wander(page, chance)
        choose(page, 1, [pain])
    for question, answers in ((2, pills), (3, [0]), (4, [0])):
        if answers is not None:
            wander(page, chance)
            choose(page, question, answers)
    while not page.is_visible("#draw"):
        page.click("#questions [type=submit]")


@pytest.mark.slow
@pytest.mark.parametrize(("reload", "second_tab", "clear"), [*itertools.product([False, True], repeat=3)])
def test_wandering_leaves_nothing_but_the_reports(browser, reload, second_tab, clear):
    seen = {}
    for way in routes.WAYS:
        chance = random.Random(f"{way} {reload} {second_tab} {clear}")
        context = browser.new_context(viewport={"width": 320, "height": 700}, locale="en")
        with serving(survey(routes.QUESTIONS, pages="question", **routes.BOTH)) as site:
            site.languages = ("en", "ar")
            tabs = [context.new_page() for _ in range(1 + second_tab)]
            for page in tabs:
                page.goto(site.address)
                page.wait_for_selector("#start:visible")
            for page in tabs[1:]:
                answer(page, chance.choice(routes.WAYS), chance)
            page = tabs[0]
            if reload:
                answer(page, chance.choice(routes.WAYS), chance)
                page.reload()
                page.wait_for_selector("#start:visible")
            page.evaluate(randomness(*routes.words_for(way, REPORTS)))
            answer(page, way, chance)
            if clear:
                page.evaluate("localStorage.clear(), sessionStorage.clear()")
            page.click("#draw")
            page.wait_for_selector("#send:visible")
            if reload:
                page.reload()
                page.wait_for_selector("#send:visible")
            sent = json.loads(page.text_content("#body"))["reports"]
            assert list(sent.values()) == [*REPORTS[:3], "yes", REPORTS[3]]
            page.click("#send")
            for page in tabs:
                page.wait_for_selector("#done:visible")
                page.select_option("#language", "en")
            traces = [json.loads(page.evaluate(TRACES)) for page in tabs]
            loaded = sorted(
                {name for trace in traces for name in trace.pop()}
            )  # either tab may be the faster one
            everything = json.dumps([traces, loaded, repr(sorted(set(site.requests)))])
            port = site.address.split(":")[-1].strip("/")
            seen.setdefault(everything.replace(port, "PORT"), []).append(way)
        context.close()
    assert list(seen.values()) == [routes.WAYS]
