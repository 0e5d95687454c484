"""Reports on lists in Chromium, Firefox and WebKit: what Python draws from the same words, and the certified law."""

import json

import numpy as np
import pytest
from scipy.stats import chisquare

import extremal as ex
from tests.support.survey_site import serving
from tests.support.webdriver import NEEDS, opened, until

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


@pytest.fixture(scope="module", params=sorted(NEEDS))
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
    assert reports == made.places.report(numbers, steps, places).tolist()


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
        law = np.array([made.places.weight(j) for j in place.tolist()], dtype=float)
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
