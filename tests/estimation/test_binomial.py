"""Binomial limits against sums in 50 digits, and for many reports against the Edgeworth expansion."""

import math
from decimal import Decimal, localcontext
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import extremal as ex
from extremal.estimation.intervals import deviation, lower_limit, upper_limit
from tests.support.wording import refused


def at_most(k, n, p):
    """P[Bin(n, p) <= k], by adding up all terms from the smallest to the largest count."""
    with localcontext() as context:
        context.prec = 50
        p = Decimal(p)
        term = (n * (1 - p).ln()).exp()
        total = term
        for j in range(1, k + 1):
            term *= (n - j + 1) * p / (j * (1 - p))
            total += term
        return total


LARGE = [10**6, 10**8, 10**9, 10**10, 10**12, 10**13, 10**15, 2**53 - 1]


@pytest.mark.parametrize("n", LARGE)
@pytest.mark.parametrize("k", [1, 10, 998, 999, 1000, 1001, 1500])
@pytest.mark.parametrize("alpha", [0.025, 1e-4])
def test_limits_of_rare_events_are_those_of_the_sum_of_all_terms(n, k, alpha):
    low, high = float(lower_limit(k, n, alpha)), float(upper_limit(k, n, alpha))
    assert float(1 - at_most(k - 1, n, low)) == pytest.approx(alpha, rel=1e-5)
    assert float(at_most(k, n, high)) == pytest.approx(alpha, rel=1e-5)


@pytest.mark.parametrize("n", LARGE)
@pytest.mark.parametrize("k", [999, 1000, 1001])
def test_limits_of_events_that_fail_rarely_hold_as_exactly_as_doubles_near_1_can(n, k):
    """A probability near 1 has steps of 1e-16; the limit lies on the safe side of the solution."""
    low, high = float(lower_limit(n - k, n, 0.025)), float(upper_limit(n - k, n, 0.025))
    fails = [Decimal(1) - Decimal(p) for p in (low, high)]
    step = Decimal(2) ** -53
    assert float(at_most(k, n, fails[0])) <= 0.025 * (1 + 1e-5)
    assert float(at_most(k, n, fails[0] - 2 * step)) >= 0.025 * (1 - 1e-5)
    assert float(1 - at_most(k - 1, n, fails[1])) <= 0.025 * (1 + 1e-5)
    assert float(1 - at_most(k - 1, n, fails[1] + 2 * step)) >= 0.025 * (1 - 1e-5)


def beta_distribution(a, b, p):
    """P[Beta(a, b) <= p] for a and b so large that the third term of the Edgeworth expansion is below 1e-9."""
    with localcontext() as context:
        context.prec = 50
        a, b = Decimal(a), Decimal(b)
        total = a + b
        deviation = (a * b / (total * total * (total + 1))).sqrt()
        z = float((Decimal(p) - a / total) / deviation)
        skewness = float(2 * (b - a) * (total + 1).sqrt() / ((total + 2) * (a * b).sqrt()))
    normal = NormalDist()
    return normal.cdf(z) - normal.pdf(z) * skewness / 6 * (z * z - 1)


@pytest.mark.parametrize("n", [10**11, 10**13, 10**14, 10**15, 2**53 - 1])
@pytest.mark.parametrize("share", [0.01, 1 / 3, 0.9])
def test_limits_from_very_many_reports_do_not_collapse(n, share):
    k = round(n * share)
    for alpha in (0.025, 1e-3):
        low, high = float(lower_limit(k, n, alpha)), float(upper_limit(k, n, alpha))
        assert beta_distribution(k, n - k + 1, low) == pytest.approx(alpha, rel=1e-5)
        assert 1 - beta_distribution(k + 1, n - k, high) == pytest.approx(alpha, rel=1e-5)


@given(st.integers(1, 60), st.data(), st.floats(1e-6, 0.4))
@example(1, None, 0.05)
def test_limits_from_few_reports_are_those_of_the_sum_of_all_terms(n, data, alpha):
    k = 1 if data is None else data.draw(st.integers(0, n))
    low, high = float(lower_limit(k, n, alpha)), float(upper_limit(k, n, alpha))
    assert (low == 0) == (k == 0)
    assert (high == 1) == (k == n)
    if k > 0:
        assert float(1 - at_most(k - 1, n, low)) == pytest.approx(alpha, rel=1e-6)
    if k < n:
        assert float(at_most(k, n, high)) == pytest.approx(alpha, rel=1e-6)


def test_limits_are_taken_element_by_element():
    """One element that had to be mended does not disturb its neighbours."""
    together = lower_limit(np.array([[0, 1000], [5, 10**9]]), 1e9, 0.025)
    assert together.shape == (2, 2)
    for place, k in np.ndenumerate(np.array([[0, 1000], [5, 10**9]])):
        assert together[place] == lower_limit(k, 1e9, 0.025)


@pytest.mark.parametrize("n", [1e12, 1e14, 1e15, 8e15])
def test_deviations_of_very_many_reports_shrink_like_the_root_of_their_number(n):
    few, many = (deviation(np.array([2.0]), np.array([5.0]), size, 0.01)[0] for size in (1e10, n))
    assert many == pytest.approx(few * math.sqrt(1e10 / n), rel=1e-3)


def test_more_reports_than_doubles_can_tell_are_refused():
    prior = ex.Prior([0.5, 0.3, 0.2])
    response = ex.theory.randomized_response(prior, 1.0)
    assert ex.planning.expected_error(prior, response, 2**53 - 1).width < 1e-6
    with refused(ex.errors.OptionError, "n"):
        ex.planning.expected_error(prior, response, 2**53)
    with refused(ex.errors.ValuesError, "reports", "2^53"):
        ex.estimate(response, {0: 2**52, 1: 2**52, 2: 5})
    few = ex.estimate(response, {0: 2**52, 1: 2**51, 2: 2**51 - 5})
    assert np.all(few.lower < few.shares)
    assert np.all(few.shares < few.upper)
