"""Pricing against all lift vertices: columns that are columns, bounds that are bounds, exact where they say so."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.optimization.oracles.knapsack import separable as pricing
from extremal.optimization.oracles.knapsack.separable import Lattice, Separable, integer_counts
from extremal.optimization.tuning import FINE_CELLS
from tests.support.examples import at_most
from tests.support.pricing import SEPARABLE
from tests.support.strategies import designs, priors
from tests.support.vertex_pricing import CELLS, LOWS, duals, largest, pricings, problems, slack, vertices

# Columns


@given(problems(), st.data())
def test_lifts_have_mean_one_and_lie_between_the_bounds(problem, data):
    V = vertices(problem)
    full = problem.high <= V
    k = data.draw(st.integers(0, len(V) - 1))
    others = np.flatnonzero(~full[k])
    part = np.flatnonzero((problem.low < V[k]) & ~full[k])
    j = int(part[0]) if len(part) else int(others[0]) if len(others) else 0
    flags = full[k] & (np.arange(problem.size) != j)
    (lifts,) = problem.lifts(flags[None], np.array([j]))
    assert lifts.min() >= problem.low
    assert lifts.max() <= problem.high
    assert lifts @ problem.pi == pytest.approx(1, abs=2e-14)
    np.testing.assert_allclose((lifts - V[k]) * problem.pi, 0, atol=3e-14)


def test_a_symbol_that_is_full_or_empty_up_to_rounding_is_so_exactly():
    problem = Separable(np.full(10, 0.1), ex.utilities.hellinger.f, 0.0, 1 / 0.3, CELLS)
    flags = np.arange(10) < 3
    (three,) = problem.lifts(flags[None], np.array([7]))
    assert three[7] == 0
    (two,) = problem.lifts((np.arange(10) < 2)[None], np.array([2]))
    np.testing.assert_array_equal(two, three)


@given(problems())
def test_reach_holds_what_each_lift_can_be_and_no_more(problem):
    lowest, highest = problem.reach
    V = vertices(problem)
    tolerance = 1e-13 / problem.pi
    np.testing.assert_array_less(np.abs(V.min(axis=0) - lowest), tolerance)
    np.testing.assert_array_less(np.abs(V.max(axis=0) - highest), tolerance)


@given(designs(max_size=5), st.sampled_from(SEPARABLE))
def test_mu_is_the_utility_of_columns(design, utility):
    prior, epsilon = design
    V = ex.theory.extremal_lift_vectors(prior, epsilon)
    problem = Separable(prior.probabilities, utility.f, 0.0, 2.0)
    np.testing.assert_allclose(problem.mu(V), utility.columns(prior, V.T), rtol=1e-9, atol=1e-12)


# Bounds


@given(problems())
def test_the_analytic_dual_is_dual_feasible(problem):
    y = problem.analytic_dual()
    assert largest(problem, y) <= slack(problem, y)


@given(priors(min_size=3), st.floats(0, 3))
def test_the_analytic_bound_of_mutual_information_is_that_of_the_notes(prior, epsilon):
    """U* <= sum_i pi_i min(epsilon, log 1/pi_i) while every symbol can be empty."""
    pi = prior.probabilities
    epsilon = min(max(epsilon, -math.log1p(-pi.max())), prior.epsilon_max)
    problem = Separable(pi, ex.mutual_information.f, 0.0, math.exp(epsilon))
    expected = math.fsum(pi * np.minimum(epsilon, -np.log(pi)))
    assert math.fsum(problem.analytic_dual()) == pytest.approx(expected, rel=1e-11)


@given(pricings())
def test_the_chord_bound_is_no_less_than_the_largest_reduced_value(case):
    problem, y = case
    assert problem.chord_bound(y) >= largest(problem, y) - slack(problem, y)


@given(pricings(), st.floats(-1, 1))
def test_adding_a_multiple_of_the_prior_to_the_dual_shifts_every_bound_by_as_much(case, t):
    problem, y = case
    shifted = y + t * problem.pi
    assert problem.chord_bound(shifted) == pytest.approx(
        problem.chord_bound(y) - t, abs=2 * slack(problem, y)
    )
    exact, moved = (problem.exhaust(z, -1e9, 1, 10**6).bound for z in (y, shifted))
    assert moved == pytest.approx(exact - t, abs=2 * slack(problem, y))


@given(pricings())
def test_averaging_over_equal_masses_keeps_the_sum_and_does_not_raise_the_largest_reduced_value(case):
    problem, y = case
    mean = problem.symmetric(y)
    assert math.fsum(mean) == pytest.approx(math.fsum(y), abs=1e-14 * (1 + np.abs(y).sum()))
    assert largest(problem, mean) <= largest(problem, y) + slack(problem, y)
    for mass in np.unique(problem.pi):
        np.testing.assert_allclose(np.diff(mean[problem.pi == mass]), 0, atol=0)


# Branch and bound


@given(pricings(max_size=9), st.sampled_from([0.0, 0.5, 2.0]))
def test_exhausting_finds_the_largest_reduced_value_or_proves_the_threshold(case, share):
    problem, y = case
    best = largest(problem, y)
    threshold = best - share * (abs(best) + 0.1)
    priced = problem.exhaust(y, threshold, 300, 10**7)
    assert priced.bound == pytest.approx(max(threshold, best), abs=slack(problem, y))
    lifts = problem.lifts(priced.full, priced.partial)
    np.testing.assert_allclose(lifts @ problem.pi, 1, atol=2e-14)
    if share > 0:
        assert (problem.mu(lifts) - lifts @ y).max() == pytest.approx(best, abs=slack(problem, y))


@pytest.mark.parametrize("most_nodes", [1, 10, 100])
@given(pricings(max_size=9), st.integers(1, 3))
@at_most(40)
def test_exhausting_cut_short_bounds_all_the_same(most_nodes, case, each):
    problem, y = case
    priced = problem.exhaust(y, -1e9, each, most_nodes)
    assert priced.bound >= largest(problem, y) - slack(problem, y)


def test_the_bound_of_a_finished_search_does_not_depend_on_the_table():
    """A utility steep at 0 just beside an edge of a region: chords there are off by 1e-3 and by 1e-6."""
    prior = ex.Prior.uniform(6)
    epsilon = prior.region_edges[2] + 1e-7
    for cells in (64, FINE_CELLS):
        problem = Separable(prior.probabilities, ex.utilities.hellinger.f, 0.0, math.exp(epsilon), cells)
        y = problem.pi * 0.2
        assert problem.exhaust(y, -1.0, 300, 10**7).bound == pytest.approx(largest(problem, y), abs=1e-14)


@given(pricings(), st.integers(0, 3))
@at_most(40)
def test_exploring_returns_columns_with_their_reduced_values(case, seed):
    problem, y = case
    lifts, reduced = problem.explore(y, 10, 16, seed)
    np.testing.assert_allclose(lifts @ problem.pi, 1, atol=2e-14)
    assert lifts.min(initial=1) >= problem.low
    assert lifts.max(initial=1) <= problem.high
    np.testing.assert_allclose(reduced, problem.mu(lifts) - lifts @ y, rtol=0, atol=0)
    assert reduced.max(initial=-np.inf) <= largest(problem, y) + slack(problem, y)


def test_exploring_finds_the_best_column_of_a_problem_of_forty_symbols():
    rng = np.random.default_rng(1)
    problem = Separable(rng.dirichlet(np.ones(40)), ex.mutual_information.f, 0.0, 2.0)
    y = 0.69 * problem.pi + 1e-4 * rng.standard_normal(40)
    _, reduced = problem.explore(y, 200, 20, 0)
    bound = problem.exhaust(y, float(reduced.max()), 1, 10**7).bound
    assert reduced.max() <= bound <= reduced.max() + 1e-9


# Counts


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=50))
def test_counts_are_recovered_up_to_a_common_factor(counts):
    found = integer_counts(ex.Prior.from_counts(counts).probabilities)
    expected = np.array(counts) // math.gcd(*counts)
    assert found is not None
    np.testing.assert_array_equal(found, expected)


def test_masses_that_are_no_counts_are_told_apart():
    assert integer_counts(np.random.default_rng(0).dirichlet(np.ones(20))) is None
    assert integer_counts(np.array([1 - 1e-9, 1e-9])) is None
    assert integer_counts(np.full(500, 1 / 500)).tolist() == [1] * 500
    assert integer_counts(np.array([3, 2_000_000]) / 2_000_003) is None


@st.composite
def lattices(draw, max_size=9):
    """Priors from counts, at levels on the edges of regions too, where sets of symbols fill a column exactly."""
    counts = draw(st.lists(st.integers(1, 6), min_size=3, max_size=max_size))
    prior = ex.Prior.from_counts(counts)
    edges = prior.region_edges[1:-1]
    epsilon = draw(st.one_of(st.sampled_from(edges.tolist()), st.floats(edges[0], edges[-1])))
    epsilon = max(epsilon + draw(st.sampled_from([0.0, -1e-15, 1e-15])), 1e-3)
    low = draw(LOWS)
    problem = Separable(
        prior.probabilities, draw(st.sampled_from(SEPARABLE)).f, low, math.exp(epsilon), CELLS
    )
    return Lattice(problem, integer_counts(prior.probabilities)), draw(duals(problem))


@given(lattices(), st.sampled_from([0.0, 0.5, 2.0]))
def test_the_lattice_prices_exactly(case, share):
    lattice, y = case
    problem = lattice.problem
    best = largest(problem, y)
    threshold = best - share * (abs(best) + 0.1)
    priced = lattice.price(y, threshold)
    assert priced.bound == pytest.approx(max(threshold, best), abs=slack(problem, y))
    lifts = problem.lifts(priced.full, priced.partial)
    np.testing.assert_allclose(lifts @ problem.pi, 1, atol=2e-14)
    if share > 0:
        assert (problem.mu(lifts) - lifts @ y).max() == pytest.approx(best, abs=slack(problem, y))


@given(lattices())
def test_a_lattice_without_effort_or_memory_bounds_all_the_same(case):
    lattice, y = case
    best = largest(lattice.problem, y)
    assert lattice.price(y, -1e9, most=-1.0).bound >= best - slack(lattice.problem, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pricing, "LARGEST_TRACE", 0)
        priced = lattice.price(y, -1e9)
    assert len(priced.full) == 0
    assert priced.bound >= best - slack(lattice.problem, y)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0])
def test_the_lattice_and_branch_and_bound_agree_on_thirty_symbols(epsilon):
    prior = ex.Prior.from_counts(np.random.default_rng(5).integers(1, 40, 30))
    problem = Separable(prior.probabilities, ex.mutual_information.f, 0.0, math.exp(epsilon))
    y = problem.analytic_dual() * (1 + 0.01 * np.random.default_rng(6).standard_normal(30))
    threshold = 0.0
    lattice = Lattice(problem, integer_counts(prior.probabilities)).price(y, threshold)
    search = problem.exhaust(y, threshold, 300, 10**7)
    assert lattice.bound == pytest.approx(search.bound, abs=1e-9)
