"""The compiled loops of pricing against plain Python and numpy on small instances, column by column."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.optimization.oracles.knapsack import kernels
from extremal.optimization.oracles.knapsack.separable import Separable
from extremal.optimization.tuning import CELLS
from tests.support.examples import at_most
from tests.support.pricing import (
    BOUNDS,
    FEW,
    SEPARABLE,
    best_vertices,
    every_column,
    every_vertex,
    interpolated,
    pricings,
)


def searched(problem, y, threshold, each, most_nodes, only_best, tabled):
    return kernels.search(problem.compiled(y), threshold, each, most_nodes, only_best, tabled)


# The table of f


def tabled(problem, t):
    """f at t as compiled code sees it: what a column gains in which one symbol alone is above low."""
    pi = np.array([0.5, 0.25])
    pricing = kernels.pricing(pi, np.zeros(2), problem.low, problem.high, problem.table)
    pricing.capacity = 0.5 * (t - problem.low)
    sets, partial, values, _, _ = kernels.search(pricing, -np.inf, 4, 10**6, False, 1)
    alone = (partial == 0) & ~sets.any(axis=1)
    return float(values[alone][0]) / 0.5 + problem.table[0, 0]


@given(st.sampled_from(SEPARABLE), BOUNDS, st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_table_interpolates_f_by_chords_and_so_lies_above_it(utility, bounds, shares):
    low, high = bounds
    problem = Separable(np.full(2, 0.5), utility.f, low, high, FEW)
    t = low + (high - low) * np.array([0.0, 1.0, *shares])
    above = np.array([tabled(problem, x) for x in t])
    np.testing.assert_allclose(above, interpolated(problem, t), rtol=1e-12, atol=1e-13)
    assert (above >= utility.f(t) - 1e-13).all()


@pytest.mark.parametrize("high", [1.01, 2.0, 50.0, 1e4, 1e9])
def test_the_table_of_t_log_t_is_as_close_as_it_says(high):
    problem = Separable(np.full(2, 0.5), ex.mutual_information.f, 0.0, high, CELLS)
    t = np.concatenate(
        ([0.0, 1.0, high], np.random.default_rng(0).uniform(0, high, 200), np.geomspace(1e-9, high))
    )
    above = np.array([tabled(problem, x) for x in t])
    assert (above - ex.mutual_information.f(t)).max() <= 5e-10 * max(1, high)


# The search


@given(pricings(max_size=10), st.data())
@at_most(60)
def test_the_search_finds_the_best_column(pricing, data):
    problem, y = pricing
    full, partial, profits = every_column(problem, y)
    tabled = data.draw(st.integers(1, problem.size - 1))
    only_best = data.draw(st.booleans())
    sets, who, values, _, bound = searched(problem, y, -1e9, 1, 10**7, only_best, tabled)
    best = int(np.argmax(values))
    assert values[best] == pytest.approx(profits.max(), abs=1e-12)
    assert bound <= values[best] + 1e-12
    # It is a column, and worth what it says.
    twin = np.flatnonzero((full == sets[best]).all(axis=1) & (partial == who[best]))
    assert profits[twin] == pytest.approx([values[best]], abs=1e-12)


@given(pricings(), st.floats(0, 1), st.integers(1, 4), st.data())
def test_the_search_leaves_out_no_column_above_its_bound(pricing, share, each, data):
    """Every column not found is no better than the bound, or than one that was: an exchange of equal symbols."""
    problem, y = pricing
    full, partial, profits = every_column(problem, y)
    threshold = profits.min() + share * (profits.max() - profits.min()) - 1e-9
    tabled = data.draw(st.integers(1, problem.size - 1))
    sets, who, values, _, bound = searched(problem, y, threshold, each, 10**7, False, tabled)
    assert bound >= threshold
    assert (values > threshold).all()
    assert np.bincount(who, minlength=problem.size).max() <= each
    found = {(row.tobytes(), j) for row, j in zip(sets, who, strict=True)}
    assert len(found) == len(sets)
    for row, j, profit in zip(full, partial, profits, strict=True):
        if (row.tobytes(), j) not in found and profit > bound + 1e-12:
            assert profit <= values[who == j].max() + 1e-12
            assert len(np.unique(problem.pi)) < problem.size


@pytest.mark.parametrize("most_nodes", [1, 10, 100])
@given(pricings(max_size=10), st.booleans(), st.data())
def test_a_search_cut_short_still_bounds_every_column(most_nodes, pricing, only_best, data):
    problem, y = pricing
    _, _, profits = every_column(problem, y)
    tabled = data.draw(st.integers(1, problem.size - 1))
    threshold = data.draw(st.sampled_from([-1e9, 0.0, float(profits.max()) - 1e-3]))
    _, _, values, _, bound = searched(problem, y, threshold, 2, most_nodes, only_best, tabled)
    assert max(bound, values.max(initial=-np.inf)) >= profits.max() - 1e-12


@given(pricings())
def test_a_threshold_above_all_columns_is_returned_as_the_bound(pricing):
    problem, y = pricing
    _, _, profits = every_column(problem, y)
    sets, _, _, _, bound = searched(problem, y, profits.max() + 1e-9, 2, 10**7, False, 1)
    assert len(sets) == 0
    assert bound == profits.max() + 1e-9


# Neighbourhoods


@given(pricings(min_size=4), st.integers(0, 5), st.data())
@at_most(50)
def test_neighbourhoods_return_genuine_columns_with_their_reduced_values(pricing, seed, data):
    problem, y = pricing
    free = data.draw(st.integers(3, problem.size - 1))
    sets, partial, values = kernels.neighbourhoods(problem.compiled(y), 20, free, max(1, free // 2), seed)
    full, who, profits = every_column(problem, y)
    empty = np.sum(problem.pi * interpolated(problem, problem.low) - y * problem.low)
    for row, j, value in zip(sets, partial, values, strict=True):
        if np.isfinite(value):
            twin = np.flatnonzero((full == row).all(axis=1) & (who == j))
            assert profits[twin] + empty == pytest.approx([value], abs=1e-12)


def test_neighbourhoods_find_the_best_column_of_a_small_problem_and_repeat_themselves():
    rng = np.random.default_rng(3)
    problem = Separable(rng.dirichlet(np.ones(12)), ex.mutual_information.f, 0.0, 1.8, FEW)
    y = 0.6 * problem.pi * (1 + 0.3 * rng.standard_normal(12))
    runs = [kernels.neighbourhoods(problem.compiled(y), 60, 11, 5, 7) for _ in range(2)]
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one, other)
    _, _, profits = every_column(problem, y)
    assert runs[0][2].max() == pytest.approx(profits.max() + problem.f(np.zeros(1))[0], abs=1e-12)


# Dynamic programming


@given(st.lists(st.tuples(st.integers(1, 6), st.floats(-1, 1)), min_size=1, max_size=8), st.integers(1, 30))
def test_the_lattice_holds_the_best_gain_of_every_sum_and_how_it_was_made(items, cells):
    counts = np.array([k for k, _ in items])
    gains = np.array([g for _, g in items])
    best, takes = kernels.lattice_fill(counts, gains, cells, True)
    sums, totals = {}, np.full(cells, -np.inf)
    for chosen in itertools.product((0, 1), repeat=len(items)):
        s, g = int(np.dot(chosen, counts)), float(np.dot(chosen, gains))
        sums[s] = max(g, sums.get(s, -np.inf))
    for s, g in sums.items():
        if s < cells:
            totals[s] = g
    np.testing.assert_allclose(best, totals, atol=1e-12)
    for s in np.flatnonzero(np.isfinite(best)):
        chosen = kernels.lattice_trace(counts, takes, s)
        assert counts @ chosen == s
        assert gains @ chosen == pytest.approx(best[s], abs=1e-12)
    untraced, nothing = kernels.lattice_fill(counts, gains, cells, False)
    np.testing.assert_array_equal(untraced, best)
    assert nothing.size == 0


# Vertices


@st.composite
def rooms(draw):
    """What every set leaves of a capacity; often exactly nothing."""
    n = draw(st.integers(1, 6))
    counts = np.array(draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)))
    used = (np.arange(2**n)[:, None] >> np.arange(n) & 1) @ counts
    return n, draw(st.integers(1, int(counts.sum()))) / 8 - used / 8


@given(rooms())
def test_vertex_sets_are_all_vertices(problem):
    n, room = problem
    sets, starts = kernels.vertex_sets(room, n, 1e-9)
    partial = np.repeat(np.arange(n), np.diff(starts))
    assert list(zip(sets.tolist(), partial.tolist(), strict=True)) == every_vertex(room, n, 1e-9)


@given(rooms(), st.integers(0, 2**32), st.integers(1, 4), st.floats(-2, 2))
def test_vertex_price_finds_the_best_vertices_of_every_partial_symbol(problem, seed, each, threshold):
    n, room = problem
    vertices = every_vertex(room, n, 1e-9)
    sets, starts = kernels.vertex_sets(room, n, 1e-9)
    rng = np.random.default_rng(seed)
    gain, above = rng.standard_normal((2, len(sets)))
    profit, y = rng.standard_normal((2, n))
    table = kernels.vertex_table(sets, starts, gain, above, np.empty(2**n))
    best, value, largest = kernels.vertex_price(table, profit, y, threshold, each)
    expected, reached = best_vertices(vertices, gain, above, profit, y, threshold, each)
    for j in range(n):
        kept = best[j][best[j] >= 0].tolist()
        assert kept == expected[j]
        assert value[j, : len(kept)] == pytest.approx([reached[v] for v in kept], abs=1e-12)
    assert largest == pytest.approx(max(reached, default=-math.inf), abs=1e-12)


# What compiled code is never given

TWO, TABLE = np.full(2, 0.5), np.zeros((3, 5))


@pytest.mark.parametrize(
    "call",
    [
        lambda: kernels.pricing(TWO, np.zeros(3), 0.0, 2.0, TABLE),
        lambda: kernels.pricing(TWO, TWO, 0.0, 2.0, np.zeros((2, 5))),
        lambda: kernels.pricing(TWO, TWO, 0.0, 2.0, np.zeros((3, 1))),
        lambda: kernels.pricing(TWO, TWO, 0.0, 2.0, np.zeros(15)),
        lambda: kernels.pricing(TWO, TWO[:1], 0.0, 2.0, TABLE),
        lambda: kernels.search(flat(2), 0.0, 0, 9, False, 1),
        lambda: kernels.search(flat(2), 0.0, 1, 9, False, 3),
        lambda: kernels.search(flat(2), 0.0, 1, 9, False, 0),
        lambda: kernels.search(flat(0), 0.0, 1, 9, False, 0),
        lambda: kernels.search(flat(30), 0.0, 1, 9, False, 30),
        lambda: kernels.neighbourhoods(flat(2), 1, 2, 3, 0),
        lambda: kernels.lattice_fill(np.array([0]), np.zeros(1), 3, True),
        lambda: kernels.lattice_fill(np.array([1]), np.zeros(2), 3, True),
        lambda: kernels.lattice_fill(np.array([1]), np.zeros(1), 0, True),
        lambda: kernels.lattice_trace(np.array([1]), np.zeros((1, 3), bool), 3),
        lambda: kernels.lattice_trace(np.array([1, 1]), np.zeros((1, 3), bool), 0),
        lambda: kernels.lattice_trace(np.array([2]), np.ones((1, 3), bool), 1),
        lambda: kernels.vertex_sets(np.zeros(3), 2, 0.0),
        lambda: kernels.vertex_sets(np.zeros(1), 0, 0.0),
        lambda: priced(starts=[0, 1, 2]),
        lambda: priced(starts=[1, 0, 1]),
        lambda: priced(starts=[-1, 0, 1]),
        lambda: priced(scratch=np.zeros(3)),
        lambda: priced(each=0),
    ],
)
def test_nothing_outside_an_array_is_ever_touched(call):
    with pytest.raises(ValueError):  # noqa: PT011 # of many kinds
        call()


def flat(n):
    return kernels.pricing(np.full(n, 1 / max(n, 1)), np.zeros(n), 0.0, 2.0, TABLE)


def priced(starts=(0, 0, 1), each=1, scratch=None):
    one = np.zeros(1)
    scratch = np.zeros(4) if scratch is None else scratch
    table = kernels.vertex_table(np.array([-5], dtype=np.int32), np.array(starts), one, one, scratch)
    return kernels.vertex_price(table, np.zeros(2), np.zeros(2), -1.0, each)


def test_a_set_that_there_is_not_is_read_as_one_that_there_is():
    assert priced()[0].tolist() == [[-1], [0]]


@given(
    st.lists(st.sampled_from([0.0, 0.5, -1.0, math.nan, math.inf]), min_size=3, max_size=9), st.integers(0, 9)
)
def test_any_numbers_are_survived(values, seed):
    """Results mean nothing then, but the search ends and stays within its arrays."""
    numbers = np.array(values)
    n = len(numbers)
    for table in (TABLE, np.full((3, 5), math.nan)):
        for pi, y in ((numbers, np.zeros(n)), (np.full(n, 1 / n), numbers)):
            problem = kernels.pricing(pi, y, 0.0, 2.0, table)
            kernels.search(problem, -np.inf, 2, 100, False, n // 2)
            kernels.neighbourhoods(problem, 5, n - 1, 1, seed)
