"""Programs over classes of equal symbols, against programs over the symbols."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extremal as ex
from extremal.optimization.masters.classes import ClassMaster
from extremal.optimization.masters.linear import Master
from extremal.optimization.oracles.knapsack import oracle as program
from extremal.optimization.oracles.knapsack.separable import Separable
from extremal.theory.lift_vectors import lift_vertices
from tests.support.pricing import SEPARABLE
from tests.support.solving import design_by

LOWS = st.sampled_from([0.0, 0.0, 0.4])


@st.composite
def tied(draw):
    """A problem whose masses repeat."""
    masses = draw(st.lists(st.sampled_from([1, 2, 3, 7]), min_size=3, max_size=8))
    pi = np.array(masses) / sum(masses)
    low = draw(LOWS)
    high = 1 + (1 / pi.min() - 1) * draw(st.floats(0.05, 0.95))
    return Separable(pi, draw(st.sampled_from(SEPARABLE)).f, low, high)


@given(tied())
def test_the_optimum_over_classes_is_that_over_symbols_and_spreads_over_them(problem):
    V = lift_vertices(problem.pi, problem.low, problem.high)
    group = np.unique(problem.pi, return_inverse=True)[1]
    single = Master(problem.pi, problem.low, problem.high, 1.0)
    joint = ClassMaster(problem.pi, problem.low, problem.high, 1.0, group)
    for master in (single, joint):
        master.add(V, problem.mu(V))
    best = single.refine(single.solve())
    solution = joint.refine(joint.solve())
    assert solution.value == pytest.approx(best.value, rel=1e-9, abs=1e-12)
    assert math.fsum(solution.dual) == pytest.approx(best.value, rel=1e-9, abs=1e-12)
    assert np.max(problem.mu(V) - V @ solution.dual) <= 1e-9 * max(1.0, problem.high)
    lifts, weights = joint.used(solution.weights)
    assert len(weights) <= problem.size
    np.testing.assert_allclose(weights @ lifts, 1, atol=1e-13)
    np.testing.assert_allclose(lifts @ problem.pi, 1, atol=1e-12)
    assert lifts.min() >= problem.low - 1e-12
    assert lifts.max() <= problem.high * (1 + 1e-12)
    assert problem.mu(lifts) @ weights == pytest.approx(best.value, rel=1e-9, abs=1e-12)


@given(tied())
def test_columns_that_differ_by_an_exchange_of_equal_symbols_count_once(problem):
    V = lift_vertices(problem.pi, problem.low, problem.high)
    group = np.unique(problem.pi, return_inverse=True)[1]
    master = ClassMaster(problem.pi, problem.low, problem.high, 1.0, group)
    added = master.add(V, problem.mu(V))
    kinds = np.sign(V - problem.low) + (problem.high <= V)
    orbits = {tuple(sorted(zip(group.tolist(), row.tolist(), strict=True))) for row in kinds}
    assert added == len(orbits)
    assert master.add(V, problem.mu(V)) == 0


@settings(max_examples=15)
@given(st.lists(st.integers(1, 4), min_size=25, max_size=60), st.floats(0.2, 2.5))
def test_a_prior_from_counts_is_solved_over_classes_to_the_tolerance(counts, epsilon):
    prior = ex.Prior.from_counts(counts)
    design = design_by(prior, epsilon, ex.mutual_information, oracle="column-generation")
    assert design.gap <= 1e-6
    assert ex.check_design(design).ok


def test_equal_symbols_share_a_row_only_if_that_makes_the_program_smaller():
    counts = [3] * 30 + [1] * 20
    tied = Separable(np.array(counts) / sum(counts), ex.mutual_information.f, 0.0, 2.0)
    assert isinstance(program._master(tied, 1.0), ClassMaster)
    distinct = np.arange(1, 51) / np.arange(1, 51).sum()
    assert not isinstance(
        program._master(Separable(distinct, ex.mutual_information.f, 0.0, 2.0), 1.0), ClassMaster
    )


@pytest.mark.slow
def test_a_thousand_symbols_in_a_few_classes_are_solved_and_certified_in_one_go():
    rng = np.random.default_rng(3)
    prior = ex.Prior.from_counts(rng.choice([1, 2, 3, 5], 1000))
    design = design_by(prior, 5.0, ex.mutual_information, oracle="column-generation")
    assert design.gap <= 1e-6
    assert design.mechanism.shape[1] <= 1000
    assert ex.epsilon_pml(prior, design.mechanism) <= 5.0 + 1e-12
