"""Theorem 5: the program over lift vectors by enumeration and by column generation, and the master program below.

What the enumeration is compared with is in `oracles`: the same program written differently, solved by scipy.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import extremal as ex
from extremal.errors import SolverError
from extremal.optimization.effort import Effort
from extremal.optimization.generate import relative_gap
from extremal.optimization.masters.linear import Master, enumerate_program
from extremal.optimization.oracles.knapsack.oracle import (
    chord_generation,
    column_generation,
    fill,
    heuristic_generation,
)
from extremal.optimization.oracles.knapsack.separable import Separable
from extremal.optimization.tuning import FINE_CELLS
from extremal.theory.lift_vectors import lift_vertices
from tests.support import oracles
from tests.support.examples import at_most
from tests.support.pricing import SEPARABLE
from tests.support.solving import design_by
from tests.support.strategies import designs

LOWS = st.sampled_from([0.0, 0.0, 0.0, 0.2, 0.9])


@st.composite
def programs(draw, min_size=2, max_size=7):
    """Masses, bounds on lifts and a utility, as a function of lift vectors in rows."""
    prior, epsilon = draw(designs(min_size, max_size, highest=lambda prior: prior.epsilon_max))
    high = max(oracles.largest_lift(prior, epsilon), 1 + 1e-6)
    utility = draw(st.sampled_from([*SEPARABLE, *oracles.asymmetric(prior.size)]))
    return prior, draw(LOWS), high, utility


def of_rows(prior, utility):
    return lambda lifts: utility.columns(prior, np.ascontiguousarray(lifts.T))


def assert_feasible(solution, pi, low, high):
    """Lifts within their bounds and of mean 1, weights that average them to 1."""
    assert solution.lifts.min() >= low
    assert solution.lifts.max() <= high
    assert solution.weights.min() > 0
    np.testing.assert_allclose(solution.lifts @ pi, 1, atol=2e-14)
    np.testing.assert_allclose(solution.weights @ solution.lifts, 1, atol=2e-13)


def rounded(program, value):
    """1e-9 of a value, and what rounding may do to it: columns are doubles of the size of 1, or of the largest mu."""
    prior, low, high, utility = program
    gains = of_rows(prior, utility)(lift_vertices(prior.probabilities, low, high))
    return 1e-9 * abs(value) + 2e-15 * max(1.0, float(np.abs(gains).max()))


# Algorithm 1


@given(designs(max_size=7), st.sampled_from([0.0, -1e-15, 1e-15]), LOWS)
def test_no_vertex_appears_twice_at_the_edge_of_a_region_or_next_to_it(design, shift, low):
    """Algorithm 1 as the paper has it yields a vertex once for each way to write it."""
    prior, _ = design
    pi = prior.probabilities
    for edge in prior.region_edges[1:]:
        high = max(min(math.exp(edge + shift), 1 / pi.min()), 1.0)
        V = lift_vertices(pi, low, high)
        kinds = (low < V).astype(int) + (high <= V)
        assert len(np.unique(kinds, axis=0)) == len(V)
        np.testing.assert_allclose(V @ pi, 1, atol=2e-14)


# Enumeration


@given(programs(max_size=6))
def test_enumeration_attains_the_optimum_of_the_oracle(program):
    """Theorem 5, in every region up to N, for utilities that are not symmetric or separable too."""
    prior, low, high, utility = program
    if low > 0:
        return
    solution = enumerate_program(prior.probabilities, 0.0, high, of_rows(prior, utility))
    assert_feasible(solution, prior.probabilities, 0.0, high)
    best = oracles.optimum(prior, high, utility)
    assert solution.value == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(programs())
def test_enumeration_proves_its_optimum_by_a_dual_feasible_vector(program):
    prior, low, high, utility = program
    pi, mu = prior.probabilities, of_rows(prior, utility)
    solution = enumerate_program(pi, low, high, mu)
    assert_feasible(solution, pi, low, high)
    assert len(solution.weights) <= prior.size
    V = lift_vertices(pi, low, high)
    assert (mu(V) - V @ solution.proof).max() <= rounded(program, 0)
    assert solution.upper == math.fsum(solution.proof)
    assert abs(solution.upper - solution.value) <= rounded(program, solution.value)


# Column generation


@given(programs(max_size=8))
@at_most(60)
def test_column_generation_attains_the_optimum_of_enumeration_and_proves_it(program):
    prior, low, high, utility = program
    if not isinstance(utility, ex.FInformation):
        return
    problem = Separable(prior.probabilities, utility.f, low, high, FINE_CELLS)
    best = enumerate_program(prior.probabilities, low, high, of_rows(prior, utility))
    solution = column_generation(problem, 1e-10, Effort())
    assert_feasible(solution, prior.probabilities, low, high)
    assert solution.value == pytest.approx(best.value, rel=1e-9, abs=rounded(program, 0))
    assert solution.upper - solution.value <= rounded(program, solution.value)
    assert math.fsum(solution.proof) <= solution.upper + 1e-15


@pytest.mark.parametrize("utility", SEPARABLE, ids=lambda utility: utility.name)
def test_a_run_that_ends_early_brackets_the_optimum(utility):
    """Whenever it is interrupted, value <= optimum <= upper."""
    prior = ex.Prior(np.random.default_rng(4).dirichlet(np.ones(14)))
    problem = Separable(prior.probabilities, utility.f, 0.0, 2.0)
    best = enumerate_program(prior.probabilities, 0.0, 2.0, of_rows(prior, utility)).value
    for stop in (0, 1, 2):
        seen = []

        def interrupt(value, upper, seen=seen, stop=stop):
            seen.append((value, upper))
            if len(seen) > stop:
                raise KeyboardInterrupt

        solution = column_generation(problem, 0.0, Effort(progress=interrupt))
        assert solution.stats.interrupted, stop
        assert_feasible(solution, prior.probabilities, 0.0, 2.0)
        assert solution.value <= best * (1 + 1e-12), stop
        assert solution.upper >= best * (1 - 1e-12), stop
    late = column_generation(problem, 1e-6, Effort(time_limit=0.0))
    assert late.stats.stopped
    assert late.value <= best * (1 + 1e-12)
    assert late.upper >= best * (1 - 1e-12)


def test_progress_reports_a_value_that_never_falls_and_a_bound_that_never_rises():
    problem = Separable(np.random.default_rng(2).dirichlet(np.ones(26)), ex.mutual_information.f, 0.0, 1.6)
    seen = []
    solution = column_generation(problem, 1e-6, Effort(progress=lambda *pair: seen.append(pair)))
    values, uppers = np.array(seen).T
    assert len(seen) == solution.stats.rounds > 1
    assert (np.diff(values) >= -1e-9).all()
    assert (np.diff(uppers) <= 0).all()
    assert (values <= uppers + 1e-9).all()
    assert solution.gap <= 1e-6


def test_a_good_start_saves_rounds_and_leads_to_the_same_value():
    problem = Separable(np.random.default_rng(2).dirichlet(np.ones(20)), ex.mutual_information.f, 0.0, 1.6)
    cold = column_generation(problem, 1e-7, Effort())
    warm = column_generation(problem, 1e-7, Effort(), start=cold.lifts)
    assert warm.stats.rounds < cold.stats.rounds
    assert warm.value == pytest.approx(cold.value, rel=2e-7)


@pytest.mark.parametrize("utility", SEPARABLE, ids=lambda utility: utility.name)
def test_a_bound_by_chords_holds_for_any_finer_prior(utility):
    """Chords do not see how finely a symbol can be filled, if it can be both full and empty."""
    masses = np.random.default_rng(0).dirichlet(np.full(7, 5.0))
    coarse = Separable(masses, utility.f, 0.0, 1.9)
    lowest, highest = coarse.reach
    assert lowest.max() == 0
    assert highest.min() == 1.9
    bound = chord_generation(coarse, 0.0, Effort())
    fine = ex.Prior(np.repeat(masses / 2, 2))
    best = enumerate_program(fine.probabilities, 0.0, 1.9, of_rows(fine, utility)).value
    assert bound.value <= best * (1 + 1e-12)
    assert bound.upper >= best * (1 - 1e-12)


def test_the_relative_gap_is_0_where_nothing_is_open_and_infinite_where_nothing_is_known():
    assert relative_gap(1.0, 1.5) == 0.5
    assert relative_gap(1.0, 1.0) == 0
    assert relative_gap(1.0, 1 - 1e-16) == 0
    assert relative_gap(0.0, 0.0) == 0
    assert relative_gap(0.0, 1e-9) == math.inf
    assert relative_gap(1.0, math.inf) == math.inf
    assert relative_gap(-2.0, -1.5) == 0.25  # losses are negative gains


# Local search for any mu


@given(programs(min_size=3, max_size=7))
@at_most(40)
def test_local_search_is_feasible_no_better_than_the_optimum_and_claims_nothing(program):
    prior, low, high, utility = program
    mu = of_rows(prior, utility)
    best = enumerate_program(prior.probabilities, low, high, mu)
    solution = heuristic_generation(prior.probabilities, low, high, mu, Effort(), patience=2)
    assert_feasible(solution, prior.probabilities, low, high)
    assert solution.value <= best.value + rounded(program, best.value)
    assert solution.upper == math.inf
    assert solution.proof is None
    # So few symbols have so few vertices that it finds all that matter.
    assert solution.value == pytest.approx(best.value, rel=1e-7, abs=rounded(program, best.value))


def test_local_search_stops_at_its_time_limit_and_on_an_interrupt():
    prior = ex.Prior(np.random.default_rng(0).dirichlet(np.ones(20)))
    calls = []

    def mu(lifts):
        calls.append(len(lifts))
        if len(calls) > 30:
            raise KeyboardInterrupt
        return of_rows(prior, ex.mutual_information)(lifts)

    stopped = heuristic_generation(prior.probabilities, 0.0, 1.5, mu, Effort(time_limit=0.0))
    assert not stopped.stats.interrupted
    assert stopped.stats.stopped
    assert stopped.stats.rounds == 1
    calls.clear()

    # Once the search has begun, an interrupt leaves what was found.
    def later(lifts):
        calls.append(len(lifts))
        if len(calls) == 30:
            raise KeyboardInterrupt
        return of_rows(prior, ex.mutual_information)(lifts)

    solution = heuristic_generation(prior.probabilities, 0.0, 1.5, later, Effort())
    assert solution.stats.interrupted
    assert_feasible(solution, prior.probabilities, 0.0, 1.5)


@given(programs(), st.integers(0, 10))
def test_filling_in_any_order_makes_a_vertex_that_prefers_the_first(program, seed):
    prior, low, high, _ = program
    order = np.random.default_rng(seed).permutation(prior.size)
    (lifts,) = fill(prior.probabilities, low, high, order[None])
    assert lifts @ prior.probabilities == pytest.approx(1, abs=2e-14)
    assert low <= lifts.min()
    assert lifts.max() <= high * (1 + 1e-15)
    assert (np.diff(lifts[order]) <= 1e-15 * high).all()
    assert ((lifts > low) & (lifts < high * (1 - 1e-15))).sum() <= 1


# The master program


@given(programs(max_size=6))
@at_most(50)
def test_the_master_program_is_the_linear_program_over_its_columns(program):
    prior, low, high, utility = program
    pi, mu = prior.probabilities, of_rows(prior, utility)
    V = lift_vertices(pi, low, high)
    gains = mu(V)
    master = Master(pi, low, high, max(float(np.abs(gains).max()), 1e-300))
    assert master.add(V, gains) == len(V)
    assert master.add(V, gains) == 0
    solution = master.refine(master.solve())
    reference = linprog(-gains / master.scale, A_eq=V.T, b_eq=np.ones(prior.size))
    if reference.status == 0:
        assert solution.value == pytest.approx(-reference.fun * master.scale, abs=1e-6 * master.scale)
    np.testing.assert_allclose(solution.weights @ V, 1, atol=1e-12)
    assert (gains - V @ solution.dual).max() <= rounded(program, 0)
    assert math.fsum(solution.dual) == pytest.approx(solution.value, abs=rounded(program, 0))


@given(programs(max_size=6))
@at_most(50)
def test_refining_leaves_the_program_as_it_was(program):
    prior, low, high, utility = program
    V = lift_vertices(prior.probabilities, low, high)
    gains = of_rows(prior, utility)(V)
    master = Master(prior.probabilities, low, high, max(float(np.abs(gains).max()), 1e-300))
    master.add(V, gains)
    first = master.refine(master.solve())
    again = master.solve()
    assert again.value == pytest.approx(first.value, abs=1e-8 * master.scale)
    lifts, weights = master.used(first.weights)
    np.testing.assert_allclose(weights @ lifts, 1, atol=1e-12)
    assert len(weights) <= len(V)


def test_columns_added_later_are_used_and_twins_are_not_added():
    pi = np.array([0.5, 0.3, 0.2])
    V = lift_vertices(pi, 0.0, 2.0)
    prior = ex.Prior(pi)
    gains = of_rows(prior, ex.mutual_information)(V)
    master = Master(pi, 0.0, 2.0, 1.0)
    assert master.add(np.ones((1, 3)), np.zeros(1)) == 1
    assert master.solve().value == pytest.approx(0, abs=1e-12)
    assert master.add(np.concatenate((V, V[:1])), np.append(gains, gains[0])) == len(V)
    best = enumerate_program(pi, 0.0, 2.0, of_rows(prior, ex.mutual_information)).value
    assert master.solve().value == pytest.approx(best, abs=1e-8)
    # Neither a rounding of the partial symbol nor another mixture of known columns is mistaken.
    part = np.flatnonzero((V[0] > 0) & (V[0] < 2.0))
    twin = V[:1].copy()
    twin[0, part] *= 1 + 1e-15
    assert master.add(twin, gains[:1]) == 0
    assert master.add(np.full((1, 3), 1.0), np.zeros(1)) == 0
    assert master.add(np.array([[1.1, 0.9, 0.9]]), np.zeros(1)) == 1
    assert master.add(np.array([[1.2, 0.8, 0.8]]), np.zeros(1)) == 1


def test_a_program_that_has_no_solution_is_reported():
    master = Master(np.array([0.5, 0.3, 0.2]), 0.0, 2.0, 1.0)
    master.add(np.array([[2.0, 0.0, 0.0]]), np.zeros(1))
    with pytest.raises(SolverError, match="infeasible"):
        master.solve()


def test_vertices_that_differ_by_less_than_1e_9_are_different():
    """A lift of 3e-9 instead of 0 costs 3e-5 in squared Hellinger: columns must not be merged by rounding."""
    prior = ex.Prior.from_counts([3, 4, 4, 4, 1, 4, 4])
    epsilon = math.log(3) + 3.3e-9
    best = oracles.optimum(prior, math.exp(epsilon), ex.utilities.hellinger)
    for method in ("enumeration", "column-generation"):
        design = design_by(prior, epsilon, ex.utilities.hellinger, oracle=method, tolerance=1e-10)
        assert design.value == pytest.approx(best, rel=1e-9)
        assert design.gap <= 1e-9


@pytest.mark.parametrize(
    ("counts", "shift", "utility"),
    [
        ([3, 2, 5, 1, 4], -1.8e-13, ex.utilities.total_variation),
        ([1, 1, 1, 1, 1, 1], 2.3e-9, ex.utilities.jensen_shannon),
        ([1, 1, 1, 1, 1, 1], 2.3e-9, ex.utilities.hellinger),
        ([2, 1, 1, 1, 1, 2], -1e-11, ex.utilities.hellinger),
        ([2, 1, 1, 1, 1, 2], 1e-12, ex.mutual_information),
    ],
)
def test_next_to_an_edge_the_program_is_solved_to_full_precision(counts, shift, utility):
    """The solver accepts errors of 1e-9; repairing them afterwards would cost sqrt(1e-9) in squared Hellinger."""
    prior = ex.Prior.from_counts(counts)
    for k in range(1, prior.size):
        epsilon = prior.region_edges[k] + shift
        designs = [
            design_by(prior, epsilon, utility, oracle=method, tolerance=1e-10)
            for method in ("enumeration", "column-generation")
        ]
        assert designs[0].value == pytest.approx(designs[1].value, rel=1e-9)
        assert max(design.gap for design in designs) <= 1e-9
