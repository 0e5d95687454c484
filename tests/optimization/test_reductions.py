"""Merged alphabets: whatever blocks are formed, the value is attained and the bound holds for the full prior."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.optimization.effort import Effort, Stats, Why
from extremal.optimization.generate import Solution
from extremal.optimization.masters.linear import enumerate_program
from extremal.optimization.oracles.knapsack.oracle import (
    _better,
    _spread,
    chord_generation,
    column_generation,
    merge,
    solve_separable,
)
from extremal.optimization.oracles.knapsack.separable import Separable
from tests.support.examples import at_most
from tests.support.pricing import SEPARABLE, families


def spread_over(problem, block, tolerance=1e-6, nodes=4e7):
    """The solution over given blocks, for the full problem."""
    merged = Separable(np.bincount(block, weights=problem.pi), problem.f, problem.low, problem.high)
    coarse = chord_generation(merged, tolerance, Effort(nodes=nodes))
    return coarse, _spread(problem, merged, block, coarse, tolerance)


def value_of(problem, solution):
    """The value of the mechanism that a solution describes, by the definition of f-information."""
    P = solution.lifts.T * solution.weights
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    rho = problem.pi @ P
    return math.fsum(rho * (problem.pi @ problem.f(P / rho)))


@pytest.mark.parametrize("blocks", [10, 40, 120])
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_blocks_are_numbered_hold_neighbours_in_mass_and_are_small_unless_a_symbol_is_large(blocks, epsilon):
    for name, pi in families(300).items():
        problem = Separable(pi, ex.mutual_information.f, 0.0, math.exp(epsilon))
        block = merge(problem, blocks)
        assert sorted(set(block.tolist())) == list(range(block.max() + 1)), name
        ascending = block[np.argsort(pi, kind="stable")]
        assert (np.diff(ascending) >= 0).all(), name
        mass = np.bincount(block, weights=pi)
        share = math.exp(-epsilon)
        largest = np.where(np.bincount(block) > 1, mass, 0.0).max()
        assert largest <= min(share, 1 - share) / 6 + 1e-15, name
        for k in np.flatnonzero(mass > 1.3 / blocks + 1e-15):
            assert (block == k).sum() == 1, name


@given(
    st.lists(st.integers(0, 4), min_size=8, max_size=8),
    st.sampled_from([(0.0, 1.3), (0.0, 2.5), (0.3, 1.8)]),
    st.sampled_from(SEPARABLE),
    st.booleans(),
)
@at_most(50)
def test_a_solution_over_any_blocks_is_one_over_the_symbols_and_its_bound_holds(
    numbers, bounds, utility, counted
):
    """The chord argument is proven anew for the full problem, so blocks that are far too large only cost precision."""
    _, block = np.unique(np.array(numbers), return_inverse=True)
    if block.max() == 0:
        return
    rng = np.random.default_rng(sum(numbers))
    pi = ex.Prior.from_counts(rng.integers(1, 9, 8)).probabilities if counted else rng.dirichlet(np.ones(8))
    problem = Separable(pi, utility.f, *bounds)
    coarse, solution = spread_over(problem, block)
    best = enumerate_program(pi, *bounds, problem.mu)
    assert solution.value == coarse.value
    assert value_of(problem, solution) == pytest.approx(solution.value, rel=1e-9, abs=1e-14)
    assert solution.value <= best.value * (1 + 1e-9) + 1e-14
    assert solution.upper >= best.value * (1 - 1e-9) - 1e-14
    assert math.fsum(solution.proof) == pytest.approx(solution.upper, rel=1e-12)
    assert (problem.mu(best.lifts) - best.lifts @ solution.proof).max() <= 1e-12


FAST = [("geometric 0.8", 0.0, 1.5), ("Dirichlet", 0.5, 0.7)]
SLOW = [(name, *level) for name in families(50) for level in ((0.0, 0.4), (0.0, 1.5), (0.5, 0.7))]


@pytest.mark.parametrize(
    ("name", "low", "epsilon"),
    [*FAST, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW if case not in FAST)],
)
def test_merged_and_unmerged_agree_on_fifty_symbols(name, low, epsilon):
    problem = Separable(families(50)[name], ex.mutual_information.f, low, math.exp(epsilon))
    block = merge(problem, 30)
    assert block.max() + 1 < 50
    _, merged = spread_over(problem, block)
    whole = column_generation(problem, 1e-6, Effort(nodes=6e7), start=merged.lifts)
    assert value_of(problem, merged) == pytest.approx(merged.value, rel=1e-9)
    assert merged.value <= whole.upper
    assert whole.value <= merged.upper
    assert merged.gap <= 0.02
    assert max(merged.value, whole.value) <= min(merged.upper, whole.upper)


def test_all_of_it_reaches_the_tolerance_on_two_hundred_symbols():
    problem = Separable(families(200)["Zipf 1"], ex.mutual_information.f, 0.0, 2.0)
    solution = solve_separable(problem, 1e-6, Effort(nodes=4e8))
    assert solution.gap <= 1e-6
    assert value_of(problem, solution) == pytest.approx(solution.value, rel=1e-9)


def test_an_interrupt_in_the_merged_program_leaves_a_solution_of_the_full_one():
    problem = Separable(families(60)["Zipf 1"], ex.mutual_information.f, 0.0, 1.5)
    best = solve_separable(problem, 1e-6, Effort(nodes=2e8))
    for stop in (1, 3):
        calls = []

        def interrupt(value, upper, calls=calls, stop=stop):
            calls.append((value, upper))
            if len(calls) == stop:
                raise KeyboardInterrupt

        solution = solve_separable(problem, 0.0, Effort(nodes=2e8, progress=interrupt))
        assert solution.stats.interrupted, stop
        assert len(calls) == stop
        assert solution.lifts.shape[1] == 60
        assert value_of(problem, solution) == pytest.approx(solution.value, rel=1e-9)
        assert solution.value <= best.upper, stop
        assert solution.upper >= best.value, stop


def test_the_better_of_two_solutions_has_the_larger_value_and_the_smaller_bound():
    one = Solution(np.ones((1, 2)), np.ones(1), 1.0, 2.0, np.array([1.0, 1.0]), Stats(1, 2, 3))
    two = Solution(
        np.zeros((1, 2)), np.ones(1), 1.5, 3.0, np.array([1.0, 2.0]), Stats(1, 2, 3, why=Why.INTERRUPTED)
    )
    for best in (_better(one, two), _better(two, one)):
        assert best.value == 1.5
        assert best.upper == 2.0
        assert best.lifts is two.lifts
        assert best.proof is one.proof
        assert (best.stats.rounds, best.stats.columns, best.stats.nodes) == (2, 4, 6)
        assert best.stats.interrupted


@pytest.mark.slow
def test_equal_symbols_have_the_bound_of_theorem_4():
    prior = ex.Prior.uniform(5000)
    design = ex.design(prior, 1.0, ex.mutual_information)
    full = int(5000 / math.e)
    lifts = np.array([math.e] * full + [5000 - math.e * full])
    exact = float(np.sum(lifts * np.log(lifts))) / 5000
    assert design.upper_bound == pytest.approx(exact, rel=1e-12)
    assert design.gap < 1e-4
    assert ex.check_design(design).ok
