"""Budgets: how often a mechanism may be used, and at which level."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.auditing.composition import repeated_epsilon
from tests.support.compositions import FOUR, PRIOR, exact_leakage
from tests.support.strategies import mechanisms, pairs


@given(pairs(max_size=3, max_outputs=3), st.floats(0, 2))
def test_the_number_of_releases_is_the_largest_that_fits(pair, epsilon):
    prior, mechanism = pair
    try:
        n = ex.composition.releases_within(prior, mechanism, epsilon)
    except ex.errors.SizeError:
        return
    if n == math.inf:
        assert ex.composition.leakage_limit(prior, mechanism) <= epsilon + 1e-11
        assert repeated_epsilon(prior, mechanism, 30) <= epsilon + 1e-9
    elif n == 0:
        assert ex.epsilon_pml(prior, mechanism) > epsilon
    else:
        assert repeated_epsilon(prior, mechanism, n) <= epsilon + 1e-11
        assert repeated_epsilon(prior, mechanism, n + 1) > epsilon


def test_the_number_of_releases_of_randomized_response_by_trying_them_one_by_one():
    mechanism = ex.theory.randomized_response_for_pml(PRIOR, 0.1)
    for budget in (0.05, 0.1, 0.35, 1.0, 1.5):
        tried = next(
            n for n in itertools.count() if repeated_epsilon(PRIOR, mechanism, n + 1) > budget + 1e-12
        )
        assert ex.composition.releases_within(PRIOR, mechanism, budget) == tried
    assert ex.composition.releases_within(PRIOR, mechanism, PRIOR.epsilon_max) == math.inf
    assert ex.composition.releases_within(PRIOR, ex.Mechanism(np.ones((3, 1))), 0) == math.inf


@pytest.mark.parametrize("t", [1e-9, 1e-13, 1e-40, 1e-140])
def test_rows_that_differ_in_rare_reports_only_are_told_apart(t):
    """Leakage is pointwise: however rare the second and third report, together they name the input."""
    prior = ex.Prior.uniform(3)
    mechanism = ex.Mechanism([[1 - t, t, 0], [1 - 2 * t, t, t], [1 - t, 0, t]])
    assert ex.epsilon_pml(prior, mechanism) == pytest.approx(math.log(3 / 2))
    assert exact_leakage(prior, [(mechanism, 1), (mechanism, 2)]) == pytest.approx(math.log(3))
    assert ex.composition.leakage_limit(prior, mechanism) == pytest.approx(math.log(3))
    assert ex.composition.releases_within(prior, mechanism, 0.5) == 1
    assert ex.composition.releases_within(prior, mechanism, 0.4) == 0


@given(mechanisms(4, max_outputs=3), st.lists(st.integers(0, 3), min_size=2, max_size=9), st.randoms())
def test_the_limit_is_found_through_rows_repeated_in_any_order(mechanism, chosen, random):
    """Rows that went through another scale, and back by division, are still the same; others are not."""
    P = mechanism.matrix[chosen]
    scaled = np.array([row * random.uniform(0.1, 10) for row in P])
    noisy = ex.Mechanism(scaled / scaled.sum(axis=1, keepdims=True))
    prior = ex.Prior.from_counts([random.randint(1, 9) for _ in chosen])
    mass = {}
    for row, p in zip(P.tolist(), prior.probabilities.tolist(), strict=True):
        mass[tuple(row)] = mass.get(tuple(row), 0) + p
    assert ex.composition.leakage_limit(prior, noisy) == pytest.approx(
        -math.log(min(mass.values())), abs=1e-12
    )


def test_outputs_that_are_proportional_but_for_one_part_in_1e12_are_not_merged():
    """In a million reports the difference adds up to more than rounding."""
    d = 4e-13
    mechanism = ex.Mechanism([[0.5, 0.5], [0.5 * (1 + d), 0.5 * (1 - d)]])
    n = 1_000_000
    up = Fraction(mechanism.matrix[1, 0]) / Fraction(mechanism.matrix[0, 0])
    exact = -math.log((1 + math.exp(-n * math.log1p(float(up - 1)))) / 2)
    assert exact > 1e-7
    assert repeated_epsilon(ex.Prior.uniform(2), mechanism, n) == pytest.approx(exact, abs=3e-9)


def test_what_is_disclosed_once_may_be_disclosed_any_number_of_times():
    """A mechanism without randomness tells nothing new the second time."""
    fixed = ex.Mechanism([[1, 0], [0, 1], [0, 1]], PRIOR.labels)
    assert ex.composition.leakage_limit(PRIOR, fixed) == pytest.approx(math.log(2))
    assert ex.composition.releases_within(PRIOR, fixed, math.log(2)) == math.inf
    assert ex.composition.repeat_release(PRIOR, fixed, 50).epsilon == pytest.approx(math.log(2))


@pytest.mark.parametrize("family", [None, ex.theory.randomized_response_for_pml])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_level_for_each_of_n_releases_keeps_the_budget_and_uses_it(family, n):
    plan = ex.composition.epsilon_per_release(PRIOR, n, 0.8, family)
    assert plan.total <= 0.8 + 1e-12
    assert plan.total == pytest.approx(ex.composition.repeat_release(PRIOR, plan.mechanism, n).epsilon)
    assert plan.total > 0.79
    assert plan.epsilon == pytest.approx(ex.epsilon_pml(PRIOR, plan.mechanism))
    assert ex.composition.releases_within(PRIOR, plan.mechanism, 0.8) >= n
    if n == 1:
        assert plan.epsilon == pytest.approx(0.8, abs=1e-3)


def test_dividing_the_budget_can_break_it():
    """Two releases at half the budget each leak more than the budget."""
    mechanism = ex.theory.closed_form.uniform(FOUR, math.log(4 / 3))
    budget = 2 * math.log(4 / 3)
    assert repeated_epsilon(FOUR, mechanism, 2) > budget
    assert ex.composition.releases_within(FOUR, mechanism, budget) == 1
    plan = ex.composition.epsilon_per_release(FOUR, 2, budget)
    assert plan.total <= budget + 1e-12
