"""The page on hard garbling: its rate is the optimum, by Theorem 2 and by looking at every rate."""

import math

import numpy as np
import pytest

import extremal as ex


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


@pytest.mark.parametrize(("forced", "least", "most", "share"), [(2, 4.0, 6.4, 0.17), (1, 5.5, 8.2, 0.15)])
def test_what_blocks_tell_by_a_formula(forced, least, most, share):
    """The page lists all blocks. Here: of k people who are recorded as "yes", `forced` were, and the others truly are.

    Each of the k is one of the others in C(k - 1, forced) of C(k, forced) ways, else "yes" with probability p.
    """
    p, comb = 0.1, math.comb
    alone = 1 / (p + forced / 5 * (1 - p))
    factors, above = [], 0.0
    for k in range(forced, 6):
        truly = (comb(k - 1, forced) + comb(k - 1, forced - 1) * p) / comb(k, forced)
        chance = comb(5 - forced, k - forced) * p ** (k - forced) * (1 - p) ** (5 - k)
        if truly / p > alone:
            factors.append(truly / p)
            above += k / 5 * chance
    assert (min(factors), max(factors)) == (pytest.approx(least), pytest.approx(most))
    assert round(above, 2) == share
