"""What the browser draws: the shared vectors, and the certified distribution.

vectors.json holds mechanisms and [mechanism, answer, word, report], computed with the code in
docs/api/file-format.md: edge words, random ones, and for every bucket of every row the words just below and at its
threshold.
"""

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import chisquare

import extremal as ex
from extremal.certification.certified import Certified
from tests.support.draws import by_node, by_python
from tests.support.survey_site import certified, serving

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
FILES = [json.dumps(document) for document in VECTORS["mechanisms"]]
DRAWS = [draw[:3] for draw in VECTORS["draws"]]
REPORTS = [draw[3] for draw in VECTORS["draws"]]
DRAW = """async ([files, draws]) => {
    const { load } = await import("/extremal.js");
    const mechanisms = files.map(load);
    for (const mechanism of mechanisms) await mechanism.verify();
    return draws.map(([k, answer, word]) => mechanisms[k].draw(answer, BigInt(word)));
}"""
DRAW_MANY = """async ([file, answers, size]) => {
    const { load } = await import("/extremal.js");
    const mechanism = load(file);
    await mechanism.verify();
    return Array.from({ length: size }, (_, i) => mechanism.draw(answers[i % answers.length]));
}"""


@pytest.fixture(scope="module")
def page(browser):
    with serving({"/empty.html": "<!doctype html><title>empty</title>"}) as site:
        context = browser.new_context()
        opened = context.new_page()
        opened.goto(site.address + "empty.html")
        yield opened
        context.close()


def test_python_draws_the_vectors():
    for k, text in enumerate(FILES):
        mine = [draw for draw in VECTORS["draws"] if draw[0] == k]
        _, answers, words, reports = zip(*mine, strict=True)
        assert by_python(Certified.from_json(text), answers, [int(word) for word in words]) == list(reports)


@pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("EXTREMAL_REQUIRE_NODE"), reason="needs node"
)
def test_node_draws_the_vectors():
    assert by_node(FILES, DRAWS)[1] == REPORTS


def test_the_browser_draws_the_vectors(page):
    assert page.evaluate(DRAW, [FILES, DRAWS]) == REPORTS


@pytest.mark.parametrize("size", [20_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_draws_of_the_browser_keep_epsilon_and_fit_the_certified_integers(page, size):
    mechanism = certified({"never": 0.5, "once": 0.3, "often": 0.2}, 0.6)
    answers = list(mechanism.mechanism.inputs)
    reports = page.evaluate(DRAW_MANY, [mechanism.to_json(), answers, size])
    secrets = (answers * (len(reports) // len(answers) + 1))[: len(reports)]
    audit = ex.audit_pairs(secrets, reports, epsilon=0.6, prior=mechanism.prior, confidence=1 - 1e-9)
    assert not audit.violation
    if size == 200_000:
        assert audit.epsilon_lower > 0.45  # it would have seen a claim of 0.45 broken
    for row, answer in enumerate(answers):
        counts = Counter(reports[row :: len(answers)])
        exact = {y: int(w) for y, w in zip(mechanism.mechanism.outputs, mechanism.weights[row], strict=True)}
        assert {y for y, w in exact.items() if w == 0} & set(counts) == set(), answer
        possible = [y for y, w in exact.items() if w]
        expected = [exact[y] / 2**62 * counts.total() for y in possible]
        assert chisquare([counts[y] for y in possible], expected).pvalue > 1e-9
