"""Reports on lists in Chromium, Firefox and WebKit: what Python draws from the same words, and the certified law."""

import json
import random

import numpy as np
import pytest
from scipy.stats import chisquare

import extremal as ex
from extremal.lists.windows import pack, reports_of
from tests.support.survey_site import TRACES, certified, common_report, randomness, serving, survey, word_for
from tests.support.webdriver import EACH, opened, until
from tests.support.windows import weight

TOWNS = ["Łódź", "مكة", "O'Fallon, MO", "東京", "\u2028", "Lyon"]
SKEWED = ex.large.windows(ex.Prior(np.arange(1, 7) / 21, TOWNS), 0.8)
EVERY = ex.large.windows(TOWNS, 1.0)
MANY = ex.large.windows(
    ex.Prior.from_counts({f"Diagnosis {k}, é": 9000 // k + 1 for k in range(1, 22_001)}), 1.0
)
# A page that lends what it loads to the tests: scripts of some drivers cannot load modules themselves.
LENT = {
    "/lent.html": '<!doctype html><title>lent</title><script type="module" src="lent.js"></script>',
    "/lent.js": 'import { loadList } from "./extremal-list.js"; window.load = loadList;',
}
DRAW = """async (file, draws) => {
    const list = await window.load(file);
    const begin = performance.now();
    const { digest } = await list.verify();
    const taken = performance.now() - begin;
    return [digest, draws.map(([answer, ...words]) => list.draw(answer, ...words.map(BigInt))), taken];
}"""
DRAW_MANY = """async (file, answers, size) => {
    const list = await window.load(file);
    await list.verify();
    return answers.map((answer) => Array.from({ length: size }, () => list.draw(answer)));
}"""


@pytest.fixture(scope="module", params=EACH)
def tab(request):
    with opened(request.param) as found, serving(LENT) as site:
        found.goto(f"{site.address}lent.html")
        until(found, "typeof window.load === 'function'")
        yield found


@pytest.mark.parametrize("made", [SKEWED, EVERY, MANY])
def test_every_browser_draws_what_python_draws(tab, made):
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, made.answers, 40)
    steps, places = rng.integers(0, 2**64, (2, 40), dtype=np.uint64)
    labels = list(made.labels)
    draws = [
        [labels[x], str(step), str(place)]
        for x, step, place in zip(numbers.tolist(), steps.tolist(), places.tolist(), strict=True)
    ]
    digest, reports, _ = tab.evaluate(DRAW, made.to_json(), draws)
    assert digest == made.digest
    assert reports == reports_of(made, numbers, steps, places).tolist()


@pytest.mark.timed
def test_a_list_of_22000_answers_is_verified_within_two_seconds(tab):
    assert tab.evaluate(DRAW, MANY.to_json(), [])[2] < 2000


@pytest.mark.parametrize("made", [SKEWED, EVERY])
def test_draws_fit_the_certified_law_and_keep_epsilon(tab, made):
    size = 3000
    reports = tab.evaluate(DRAW_MANY, made.to_json(), TOWNS, size)
    y = np.arange(made.prime * made.steps)
    step, start = np.divmod(y, made.prime)
    for x, seen in enumerate(reports):
        place = made.layout.places(step, (x - start) % made.prime)
        law = np.array([weight(made, j) for j in place.tolist()], dtype=float)
        counts = np.bincount(seen, minlength=len(y))
        assert not counts[law == 0].any()
        expected = size * law[law > 0] / law.sum()
        assert chisquare(counts[law > 0], expected).pvalue > 1e-6
    secrets = [town for town in TOWNS for _ in range(size)]
    prior = made.prior or ex.Prior.uniform(TOWNS)
    drawn = [report for seen in reports for report in seen]
    assert not ex.audit_pairs(
        secrets, drawn, epsilon=made.epsilon, prior=prior, confidence=1 - 1e-9
    ).violation


def test_a_file_carries_its_labels_compressed():
    labels = json.loads(MANY.to_json())["labels"]
    assert len(labels) < len(json.dumps(list(MANY.labels))) / 3


# What leaves

HOMES = ["Łódź", "Lyon", "Nice", "東京", "Venice", *(f"Neustadt {k}" for k in range(40))]
ALSO = pack([["Lodz"], ["Lione"], *([] for _ in HOMES[2:])])
TOWN = ex.large.windows(HOMES, 1.0)
BORN = ex.large.windows(ex.Prior.from_counts(range(1, len(HOMES) + 1), labels=HOMES), 1.0)
SMOKES = certified({"yes": 0.4, "no": 0.6}, 0.3)
LIST = {"kind": "list", "answers": []}
FILES = survey(
    [
        ({"name": "town", "text": "Where do you live?", **LIST, "also": ALSO}, [TOWN]),
        ({"name": "born", "text": "Where were you born?", **LIST, "also": None}, [BORN]),
        ({"name": "smokes", "text": "Do you smoke?", "kind": "single", "answers": ["yes", "no"]}, [SMOKES]),
    ]
)
VISIBLE = "(id) => document.getElementById(id)?.checkVisibility() === true"


def words_for(windows, answer, report):
    """Two 64-bit words from which this answer gives this report."""
    step, start = divmod(report, windows.prime)
    place = int(windows.layout.places(step, np.array((windows.labels.index(answer) - start) % windows.prime)))
    u = sum(weight(windows, j) for j in range(place))
    return step, 4 * (u + random.Random(answer).randrange(weight(windows, place)))


def typed(tab, q, text):
    """Types as a person does, and chooses the first answer."""
    tab.evaluate(
        """(q, text) => {
            const e = document.getElementById(`search-${q}`);
            e.focus();
            for (let k = 1; k <= text.length; k++) {
                e.value = text.slice(0, k);
                e.dispatchEvent(new InputEvent("input", { bubbles: true }));
            }
            document.querySelector(`#search-${q}-list [role=option]`).click();
            e.blur();
        }""",
        q,
        text,
    )


def test_all_that_leaves_or_stays_depends_on_what_was_typed_only_through_the_reports(tab):
    """Two lists and a table of one person: equal reports from different answers are equal bytes, whatever was typed."""
    reports = {"town": TOWN.prime + 20, "born": BORN.prime + 7, "smokes": common_report(SMOKES)}
    seen = set()
    for town_typed, town, born_typed, born, smokes in (
        ("lodz", "Łódź", "nice", "Nice", "no"),
        ("lione", "Lyon", "東", "東京", "yes"),
        ("NEUSTADT 12", "Neustadt 12", "ven", "Venice", "no"),
    ):
        word = word_for(SMOKES, smokes, reports["smokes"])
        words = [*words_for(TOWN, town, reports["town"]), *words_for(BORN, born, reports["born"]), word]
        other = tab.another()
        with serving(FILES) as site:
            other.goto(site.address)
            until(other, VISIBLE, "start")
            other.evaluate(randomness(*words))
            other.click("#start")
            typed(other, 0, town_typed)
            typed(other, 1, born_typed)
            other.click("#question-2 label", 0 if smokes == "yes" else 1)
            other.click("#questions > button")
            until(other, VISIBLE, "draw")
            other.click("#draw")
            until(other, VISIBLE, "send")
            assert (
                json.loads(other.evaluate("document.getElementById('body').textContent"))["reports"]
                == reports
            )
            asked = other.evaluate(TRACES)
            other.click("#send")
            until(other, VISIBLE, "done")
            assert len(site.bodies) == 1
            everything = [asked, other.evaluate(TRACES), repr(sorted(site.requests))]
            seen.add(json.dumps(everything).replace(site.address.split(":")[-1].strip("/"), "PORT"))
        other.close()
    assert len(seen) == 1
