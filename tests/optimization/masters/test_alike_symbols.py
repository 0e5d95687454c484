"""Symbols that a set of priors treats alike."""

import math

import numpy as np
import pytest

import extremal as ex
from extremal.model.lift_sets import SetLifts
from extremal.optimization.effort import Effort
from extremal.optimization.masters.classes import ClassMaster, arranged
from extremal.optimization.oracles.nested.pricing import NestedPricer, SumLattice
from extremal.optimization.set_levels import robust_vertices
from tests.support.solving import design_by


def sets_of_few_classes(rng, n):
    """One set of each kind around counts of which many are equal."""
    counts = rng.choice([3, 5, 8, 21], size=n)
    prior = ex.Prior.from_counts(counts)
    p = prior.probabilities
    return [
        ex.PriorSet.l1_ball(prior, rng.uniform(0.02, 0.5)),
        ex.PriorSet.at_least(prior, 0.5 * p.min()),
        ex.PriorSet.intervals(0.8 * p, np.minimum(1.2 * p, 1), nominal=prior),
        ex.PriorSet.from_counts(counts),
    ]


def test_symbols_are_alike_if_the_set_does_not_change_when_they_are_exchanged():
    prior = ex.Prior([0.3, 0.2, 0.2, 0.3])
    assert len(set(SetLifts(ex.PriorSet.l1_ball(prior, 0.1), 1.0).classes)) == 2
    different = ex.PriorSet.intervals([0.1, 0.1, 0.05, 0.1], [0.5, 0.5, 0.5, 0.5], nominal=prior)
    assert len(set(SetLifts(different, 1.0).classes)) == 3


def test_columns_are_arranged_within_classes():
    lifts = np.array([[0.0, 1.0, 2.0, 3.0, 1.5], [4.0, 0.0, 5.0, 0.0, 0.0]])
    classes = np.array([0, 1, 0, 1, 0])
    expected = [[2.0, 3.0, 1.5, 1.0, 0.0], [5.0, 0.0, 4.0, 0.0, 0.0]]
    assert arranged(lifts, classes).tolist() == expected


def test_a_solution_over_classes_is_spread_over_all_symbols():
    priors = ex.PriorSet.l1_ball(ex.Prior.from_counts([5, 5, 5, 5, 5, 2, 2, 2]), 0.1)
    pi, classes = priors.nominal.probabilities, SetLifts(priors, 1.0).classes
    columns = robust_vertices(priors, 2.0)
    gains = ex.mutual_information.f(columns) @ pi
    master = ClassMaster(pi, 0.0, 2.0, 1.0, classes)
    kept = master.add(columns, gains)
    assert kept == len(np.unique(np.round(arranged(columns, classes), 9), axis=0)) < len(columns)
    solution = master.solve()
    lifts, weights = master.used(solution.weights)
    assert len(lifts) <= len(pi)
    assert weights @ lifts == pytest.approx(np.ones(8), abs=1e-12)
    assert weights @ (ex.mutual_information.f(lifts) @ pi) == pytest.approx(solution.value, rel=1e-9)
    assert len(np.unique(solution.dual)) == 2


@pytest.mark.parametrize(
    "n", [3, pytest.param(5, marks=pytest.mark.slow), pytest.param(7, marks=pytest.mark.slow)]
)
def test_pricing_bounds_every_column_where_symbols_are_equal(n):
    """Prices that differ within a class, too: then the symbols are not equal.

    No bound may rest on a constraint that only rounding breaks.
    """
    rng = np.random.default_rng(n)
    f = ex.mutual_information.f
    for _ in range(12 - n):
        for priors in sets_of_few_classes(rng, n):
            pi, classes = priors.nominal.probabilities, SetLifts(priors, 1.0).classes
            for c in np.exp([0.1, 0.5, 1, 2, 3]):
                lifts, pricer = robust_vertices(priors, c), NestedPricer(priors, c, f)
                for noise in (rng.standard_normal(n)[classes], rng.standard_normal(n)):
                    y = pi * noise
                    best = (f(lifts) @ pi - lifts @ y).max()
                    for threshold in (best - 0.1, best - 1e-4, best + 1e-9):
                        bound = pricer.price(y, threshold, 2.0, Effort()).bound
                        assert best - 1e-11 <= bound <= max(best, threshold) + 1e-5
                    assert pricer.price(y, best - 0.5, 2.0, Effort(), 2000).bound >= best - 1e-11


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_column_generation_over_classes_agrees_with_enumeration(epsilon):
    rng = np.random.default_rng(3)
    for utility in (ex.mutual_information, ex.utilities.hellinger):
        for priors in sets_of_few_classes(rng, 7):
            if epsilon >= priors.epsilon_max:
                continue
            listed = design_by(priors, epsilon, utility, oracle="enumeration")
            found = design_by(priors, epsilon, utility, oracle="column-generation")
            assert found.gap <= 1e-6
            assert found.value == pytest.approx(listed.value, rel=1e-6)
            assert found.upper_bound >= listed.value * (1 - 1e-9)
            assert found.upper_bound == pytest.approx(math.fsum(found.proof), rel=1e-9)
            assert ex.epsilon_pml(priors, found.mechanism) <= epsilon + 1e-12
            assert found.mechanism.shape[1] <= priors.size


@pytest.mark.parametrize(
    ("epsilon", "exponent"), [(4.0, 1.0), pytest.param(0.1, 0.3, marks=pytest.mark.slow)]
)
def test_thirty_symbols_are_proven_where_few_are_in_a_column_or_few_are_not(epsilon, exponent):
    """Cases in which the levels of single symbols decide, and the wrong ones could be decided first."""
    prior = ex.Prior.from_counts(1 / np.arange(1, 31) ** exponent)
    p = prior.probabilities
    priors = ex.PriorSet.intervals(0.8 * p, 1.2 * p, nominal=prior)
    found = ex.design(priors, epsilon, ex.mutual_information)
    assert found.gap <= 1e-3
    assert ex.epsilon_pml(priors, found.mechanism) <= epsilon + 1e-12


def test_sums_of_counts_bound_every_column():
    """Where h of some sum is exactly what is needed, too: rounding must not hide those columns."""
    rng = np.random.default_rng(0)
    f = ex.mutual_information.f
    counts = np.array([1, 1, 2, 2, 4])
    prior = ex.Prior.from_counts(counts)
    p = prior.probabilities
    for priors in (ex.PriorSet.l1_ball(prior, 0.2), ex.PriorSet.intervals(0.8 * p, 1.2 * p, nominal=prior)):
        for c in (1.1, 2.0, 5.0, 1 / 0.4, 10.0):  # the ball has h = 0.4 and intervals h = 0.4 for half of all
            lifts = robust_vertices(priors, c)
            lattice = SumLattice.of(priors, c, f, min(c, 10.0))
            for y in p * rng.standard_normal((20, 5)):
                best = (f(lifts) @ p - lifts @ y).max()
                assert lattice.price(y, best - 1e-3).bound >= best - 1e-13
                assert lattice.price(y, best - 1e-3).inner.any(axis=1).all()
    assert SumLattice.of(ex.PriorSet.from_counts(counts), 2.0, f, 2.0) is None


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_many_labels_with_ties_are_proven(epsilon):
    prior = ex.Prior.from_counts(1 + np.arange(100) % 9)
    p = prior.probabilities
    for priors in (ex.PriorSet.l1_ball(prior, 0.1), ex.PriorSet.intervals(0.8 * p, 1.2 * p, nominal=prior)):
        design = ex.design(priors, epsilon, ex.mutual_information)
        assert design.gap <= 1e-6
        assert ex.epsilon_pml(priors, design.mechanism) <= epsilon + 1e-12
