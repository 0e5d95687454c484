"""The pages with the real server and store: a phone answers, the researcher sees it."""

import csv
import gzip
import io
import itertools
import json
import random
import re
import secrets
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from extremal.collection.designs import check
from extremal.collection.learning import go_on
from extremal.collection.page import page_of, sentences, write_form
from extremal.collection.results import results
from extremal.collection.server import Settings, running
from extremal.collection.store import Submission, create_store
from extremal.collection.survey import parse_survey
from extremal.collection.wordings import LANGUAGES
from tests.support.browser import DESKTOP, PHONE, Device, barriers, screenshot, until
from tests.support.learners import TRUTH, learning, submissions
from tests.support.phones import stored
from tests.support.survey_site import HOLD_RETRIES, RETRY, kept, serving

RESPONDENTS = Path(__file__).parents[2].joinpath("docs", "respondents.md").read_text(encoding="utf-8")
SURVEY = """
title = "Habits at work"
introduction = "Four questions about habits."
contact = "ada@example.org"
width = 0.2
people = 900

[[question]]
name = "drinks"
text = "How often did you drink at work last month?"
kind = "single"
answers = ["never", "once", "often"]
epsilon = 0.6
prior = [0.5, 0.3, 0.2]

[[question]]
name = "mood"
text = "How content are you?"
kind = "scale"
answers = {"1" = 1, "2" = 2, "3" = 3}
epsilon = 0.6
prior = [0.2, 0.5, 0.3]

[[question]]
name = "pills"
text = "Which have you taken?"
kind = "several"
answers = ["sleeping pills", "stimulants"]
epsilon = 0.8
prior = [0.3, 0.2]

[[question]]
name = "age"
text = "How old are you?"
kind = "clear"
answers = ["under 40", "40 or older"]
required = false
"""


def published_in(folder, text=SURVEY):
    return check(parse_survey(text, folder / "survey.toml"))[0]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return published_in(tmp_path_factory.mktemp("survey"))


@pytest.fixture
def served(published, tmp_path):
    """A store and its running server: (store, address, secret)."""
    with create_store(tmp_path / "survey.db", published) as store, running(store) as (address, secret):
        yield store, address, secret


@pytest.fixture(scope="module")
def phone(browser):
    found = Device(browser, viewport=PHONE)
    yield found
    found.close()


@pytest.fixture
def device(phone):
    """Makes new phones, one after the other; nothing may fail on their pages."""

    def made(script=""):
        assert phone.errors == []
        return phone.as_new(script)

    phone.errors.clear()
    yield made
    assert phone.errors == []


def answer(page, *choices):
    page.click("#start")
    for q, i in enumerate(choices):
        page.locator(f"#question-{q} label").nth(i).click()
    page.click("text=Continue")
    page.click("#draw")


def test_a_phone_answers_and_the_store_holds_what_it_kept(served, device):
    store, address, _ = served
    page = device()
    page.goto(address)
    answer(page, 1, 2, 0, 1)
    page.click("#send")
    page.wait_for_selector("#done:visible")
    ((record,),) = [people.values() for people in kept(page).values()]
    sent = json.loads(record["body"])
    assert stored(store) == {sent["id"]: list(sent["reports"].values())}
    assert sent["reports"]["age"] == "40 or older"


def test_the_page_for_respondents_names_all_that_the_page_loads(served, device):
    page = device()
    page.goto(served[1])
    answer(page, 1, 2, 0, 1)
    names = page.evaluate(
        "performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname)"
    )
    listed = re.search(r"list must show only (.*?)\. ", RESPONDENTS.replace("\n", " "))[1]
    some = {"field.js", "extremal-list.js"}  # of some surveys
    assert {re.sub(r"/.*", "/", name[1:]) for name in names} == set(re.findall(r"`(.*?)`", listed)) - some


def test_a_lost_reply_counts_once(served, device):
    store, address, _ = served
    page = device()
    page.goto(address)
    answer(page, 0, 0, 2)
    lost = []

    def lose(route):
        lost.append(route.fetch().json())
        route.abort()

    page.route("**/reports", lose, times=1)
    page.click("#send")
    page.wait_for_selector("#done:visible")
    assert lost == [{"accepted": True}]
    assert store.count() == 1


def test_an_invitation_works_once_and_says_so(device, tmp_path):
    published = published_in(tmp_path, SURVEY.replace("width = 0.2", "width = 0.2\ninvitation = true"))
    with create_store(tmp_path / "survey.db", published) as store, running(store) as (address, _):
        (token,) = store.invite(1)
        for told in ("#done:visible", "#progress:has-text('was used already')"):
            page = device()
            page.goto(f"{address}#{token}")
            answer(page, 0, 0, 0)
            page.click("#send")
            page.wait_for_selector(told)
        assert store.count() == 1


def some_reports(published, size):
    """Reports of a few hundred people, drawn by the library."""
    rng = random.Random(1)
    answers = {
        "drinks": rng.choices(["never", "once", "often"], [5, 3, 2], k=size),
        "mood": rng.choices(["1", "2", "3"], [2, 5, 3], k=size),
        "pills": rng.choices(["00", "01", "10", "11"], [5, 2, 2, 1], k=size),
        "age": rng.choices(["under 40", "40 or older", None], k=size),
    }
    columns = []
    for question in published.questions:
        if question.form == "each":
            parts = [
                m.privatize([("no", "yes")[int(a[i])] for a in answers[question.name]])
                for i, m in enumerate(question.mechanisms)
            ]
            columns.append([list(row) for row in zip(*parts, strict=True)])
        elif question.mechanisms:
            columns.append(question.mechanisms[0].privatize(answers[question.name]))
        else:
            columns.append(answers[question.name])
    names = [question.name for question in published.questions]
    for row in zip(*columns, strict=True):
        yield Submission(secrets.token_hex(16), published.content(dict(zip(names, row, strict=True))), None)


def test_the_researcher_watches_the_results(served, published, device):
    store, address, secret = served
    page = device(f"({HOLD_RETRIES})()")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{address}results")
    page.fill("#secret", secret)
    page.keyboard.press("Enter")
    page.wait_for_selector("#results:visible")
    assert page.inner_text("#count") == "0"
    assert "steps of five" in page.inner_text("#waiting")
    assert barriers(page) == []
    store.add(some_reports(published, 300))
    store.finish()
    until(page, "retries.length > 0")
    page.evaluate(RETRY)  # it looks again by itself, after seconds
    until(page, "document.getElementById('count').textContent === '300'")
    figures = results(store)
    shown = [
        [cell.strip() for cell in row.locator("th, td").all_inner_texts()][:3]
        for row in page.locator("tbody tr:not(.bar)").all()
    ]
    assert shown == [
        [
            row["label"],
            f"{100 * row['share']:.1f}%",
            f"{100 * row['low']:.1f}% – {100 * row['high']:.1f}%\n"
            f"{100 * row['always'][0]:.1f}% – {100 * row['always'][1]:.1f}%",
        ]
        for question in figures["questions"]
        for row in question["rows"]
    ]
    mean = next(question["mean"] for question in figures["questions"] if question["mean"])
    assert f"Mean score {mean['share']:.2f}" in page.inner_text("#questions")
    said = page.inner_text("#questions")
    assert said.count("Intervals: about 95% for each row by itself") == len(figures["questions"])
    assert said.count("Intervals: at least 95% for all rows together, however often you look") == len(
        figures["questions"]
    )
    head = page.inner_text("thead >> nth=0")
    assert "95% interval\neach by itself" in head
    assert "at any time" in head
    needed = max(question["needed"] or 0 for question in figures["questions"])
    assert f"{needed - 300:,} more to go." in page.inner_text("#wanted")
    assert "the width you want (20 percentage points)" in page.inner_text("#wanted")
    assert page.evaluate("document.getElementById('progress').value") == 300
    with page.expect_download() as waiting:
        page.click("text=Save reports.csv")
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"))))
    assert len(rows) == 300
    assert page.inner_text("#waiting") == "The survey is closed."
    assert [url for url in requests if secret in url] == []
    assert secret not in page.url
    assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    for size, scheme in itertools.product((PHONE, DESKTOP), ("light", "dark")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        screenshot(page, f"results-{size['width']}-{scheme}")
        assert barriers(page) == []


def test_results_need_the_secret(served, device):
    _, address, secret = served
    page = device(f"({HOLD_RETRIES})()")  # it asks once
    page.goto(f"{address}results#{secret}")  # an address, which the browser's history keeps, opens nothing
    page.wait_for_selector("#unlock:visible")
    page.fill("#secret", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#problem:visible")
    assert "not the right secret" in page.inner_text("#problem")
    assert barriers(page) == []
    asked = []
    page.route(
        "**/results.json", lambda route: asked.append(route)
    )  # nothing comes back until the test says so
    page.fill("#secret", secret)
    page.keyboard.press("Enter")
    page.wait_for_selector("#loading:visible")
    assert "Loading" in page.inner_text("#loading")
    while not asked:
        page.wait_for_timeout(20)
    asked[0].continue_()
    page.unroute("**/results.json")  # the tab is that of the next test, too
    page.wait_for_selector("#results:visible")
    assert page.is_hidden("#loading")
    assert page.is_hidden("#problem")


def test_the_researcher_reads_which_stage_runs_and_what_was_not_learned(device, tmp_path):
    survey = learning(tmp_path)
    with create_store(tmp_path / "s.db", survey) as store:
        others = {**TRUTH, "smokes": [0.6, 0.4]}  # the next people differ from the first
        for people, truth in ((200, TRUTH), (400, others)):
            store.add(submissions(store, store.current, people, truth=truth))
            go_on(store)
        assert store.stages[-1].said
        with running(store, Settings("s" * 20)) as (address, _):
            page = device()
            page.goto(f"{address}results")
            page.fill("#secret", "s" * 20)
            page.keyboard.press("Enter")
            page.wait_for_selector("#results:visible")
            assert page.inner_text("#stages") == f"Stage 3 is running. Stage 3: {store.stages[-1].said}"
            assert page.inner_text("#questions").count("test that all stages have the same shares") == 2
            assert barriers(page) == []


def test_the_static_folder_gives_a_file_that_fits_the_survey(published, device, tmp_path):
    folder = tmp_path / "form"
    files = {
        f"/{path.relative_to(folder)}": path.read_text("utf-8") for path in write_form(published, folder)
    }
    with serving(files) as site:
        page = device()
        page.goto(site.address + "index.html")
        answer(page, 2, 1, 1)
        with page.expect_download() as waiting:
            page.click("#send")
        document = json.loads(waiting.value.path().read_text(encoding="utf-8"))
        assert document["survey"] == published.digest
        published.content(document["reports"])  # raises if it does not fit
        assert site.bodies == []


def test_the_page_is_light(published):
    """What a phone loads for an English survey beside its questions and probabilities: readable, no build step."""
    own = {name: text.encode() for name, text in page_of(published, "reports").files.items()}
    code = [
        text for name, text in own.items() if name != "survey.json" and not name.startswith("mechanisms/")
    ]
    assert len(code) == 7
    assert sum(map(len, code)) < 70_000
    assert sum(len(gzip.compress(text)) for text in code) < 25_000
    for lang in LANGUAGES:
        assert len(gzip.compress(sentences(lang).encode())) < 4_000


def test_a_form_on_another_host_posts_to_the_server(published, device, tmp_path):
    """The folder's own policy lets reports go to that address alone, and the server lets pages of that host post."""
    with serving({}) as site:
        origin = site.address.rstrip("/")
        settings = Settings("secret", frozenset({origin}), log=lambda line: None)
        with (
            create_store(tmp_path / "survey.db", published) as store,
            running(store, settings) as (address, _),
        ):
            folder = tmp_path / "form"
            paths = write_form(replace(published, post=f"{address}reports"), folder)
            site.restart({f"/{path.relative_to(folder)}": path.read_text("utf-8") for path in paths})
            site.policy = "frame-ancestors 'none'"  # any host's: the page brings its own
            page = device()
            page.goto(site.address + "index.html")
            answer(page, 0, 0, 1)
            page.click("#send")
            page.wait_for_selector("#done:visible")
            assert store.count() == 1
            assert site.bodies == []
            refused = page.evaluate("fetch('http://localhost:9/').then(() => 'sent', error => error.name)")
            assert refused == "TypeError"
