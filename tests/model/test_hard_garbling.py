"""The page on hard garbling: its rate is the optimum, by Theorem 2 and by looking at every rate."""

import math
import re
from collections import Counter
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import extremal as ex

PAGE = Path(__file__).parents[2].joinpath("docs", "hard-garbling.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("p", [0.01, 0.1, 0.37, 0.49])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.8, 1.0])
def test_the_design_of_two_answers_is_garbling_at_the_rate_of_the_page(p, part):
    low, high = -math.log(1 - p), -math.log(p)
    epsilon = low + part * (high - low)
    g = (math.exp(-epsilon) - p) / (1 - p)
    design = ex.design(ex.Prior({"yes": p, "no": 1 - p}), epsilon)
    columns = sorted(design.mechanism.matrix.T.tolist(), reverse=True)  # what reports are called is no matter
    assert np.allclose(columns, [[1, g], [0, 1 - g]], atol=1e-9)
    assert 1 / (p + g * (1 - p)) == pytest.approx(math.exp(epsilon))


@pytest.mark.parametrize("factor", [1.5, 2.0, 4.0])
def test_no_other_rates_under_the_limit_tell_the_share_better(factor):
    """Over a grid of all mechanisms with two reports, yes to yes with a and no to yes with b."""
    p, prior = 0.1, ex.Prior({"yes": 0.1, "no": 0.9})
    best = ex.shares(prior, ex.design(prior, math.log(factor)).mechanism)
    for a in np.linspace(0, 1, 41):
        for b in np.linspace(0, 1, 41):
            said = p * a + (1 - p) * b
            if 0 < said < 1 and max(a, b) <= factor * said and max(1 - a, 1 - b) <= factor * (1 - said):
                assert ex.shares(prior, ex.Mechanism([[a, 1 - a], [b, 1 - b]], prior.labels)) <= best + 1e-9


def test_what_blocks_tell_is_what_counting_them_all_gives():
    """The page has a formula for how many times likelier a recorded "yes" makes a true one, and for how many."""
    seen, truly = Counter(), Counter()
    for answers, forced in product(product((0, 1), repeat=5), combinations(range(5), 2)):
        reports = tuple(max(answers[i], i in forced) for i in range(5))
        chance = 0.1 ** sum(answers) * 0.9 ** (5 - sum(answers)) / 10
        for i in range(5):
            seen[reports, i] += chance / 5 * reports[i]
            truly[reports, i] += chance / 5 * answers[i]
    factors = {at: truly[at] / mass / 0.1 for at, mass in seen.items() if mass}
    told = re.findall(r"of the block: ([\d.]+), or more for ([\d.]+)% of people", PAGE)
    assert len(told) == 4
    for factor, people in told:
        above = [at for at in factors if factors[at] > float(factor) - 0.05]
        assert min(factors[at] for at in above) == pytest.approx(float(factor), abs=0.05)
        assert 100 * sum(seen[at] for at in above) == pytest.approx(float(people), abs=0.05)
    assert max(factors.values()) == pytest.approx(6.4)


def test_the_page_compares_with_randomized_response_at_one_limit():
    priors = [
        ex.Prior([0.1, 0.9]),
        ex.Prior([0.5, 0.3, 0.2]),
        ex.Prior.from_data(ex.datasets.anes96()["party"]),
    ]
    for prior, times in zip(priors, re.findall(r"([\d.]+) times (?:as|for)", PAGE), strict=True):
        response = ex.shares(prior, ex.theory.randomized_response_for_pml(prior, math.log(2)))
        assert ex.design(prior, math.log(2)).value / response == pytest.approx(float(times), abs=0.05)
