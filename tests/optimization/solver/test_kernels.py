"""The compiled loops of pricing against plain Python and numpy on small instances, column by column."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog

import extremal as ex
from extremal.optimization.solver.kernels import branch_and_bound as kernels
from extremal.optimization.solver.kernels import counts as lattice_kernel
from extremal.optimization.solver.kernels import neighbourhood as neighbourhood_kernel
from extremal.optimization.solver.pricing import CELLS, Separable
from tests.support.strategies import masses

KINKED = ex.FInformation(
    lambda t: 2 * np.maximum(0.4 - t, 0) + np.maximum(t - 1.7, 0), "kinks at 0.4 and 1.7"
)
SEPARABLE = [
    ex.mutual_information,
    ex.total_variation,
    ex.chi_squared,
    ex.hellinger,
    ex.jensen_shannon,
    KINKED,
]
FEW = 64  # cells: a coarse table, so that what is computed from it differs visibly from f
BOUNDS = st.sampled_from([(0.0, 1.05), (0.0, 1.7), (0.0, 3.0), (0.0, 12.0), (0.3, 1.4), (0.9, 5.0)])


@st.composite
def pricings(draw, min_size=3, max_size=8):
    """A problem with a coarse table and a vector of duals, some of them equal for equal masses."""
    pi = np.array(draw(masses(min_size, max_size)))
    pi = np.maximum(pi / pi.sum(), 1e-5)
    low, high = draw(BOUNDS)
    utility = draw(st.sampled_from(SEPARABLE))
    problem = Separable(pi / pi.sum(), utility.f, low, high, FEW)
    y = draw(hnp.arrays(np.float64, problem.size, elements=st.floats(-1, 1)))
    return problem, problem.symmetric(y * pi) if draw(st.booleans()) else y * pi


def interpolated(problem, t):
    """f as the table has it, by numpy."""
    squares = np.linspace(0, 1, problem.cells + 1) ** 2
    half = (1 - problem.low) / 2
    nodes = np.concatenate(
        (
            problem.low + half * squares,
            (1 - half * squares)[-2::-1],
            (1 + (problem.high - 1) * squares)[1:],
        )
    )
    return np.interp(t, nodes, problem.f(nodes))


def every_column(problem, y, capacity=None):
    """All columns with at most one partial symbol: flags, partial symbols, profits from the table."""
    n, pi, low, high = problem.size, problem.pi, problem.low, problem.high
    room = 1 - low if capacity is None else capacity
    sets = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    full, partial, lifts = [], [], []
    for j in range(n):
        S = sets[~sets[:, j]]
        z = room - S @ pi * (high - low)
        fits = (z >= -1e-15) & (z <= pi[j] * (high - low) + 1e-15)
        L = np.where(S[fits], high, low)
        L[:, j] = low + np.clip(z[fits] / pi[j], 0, high - low)
        full.append(S[fits])
        partial.append(np.full(len(L), j))
        lifts.append(L)
    L = np.concatenate(lifts)
    empty = np.sum(pi * interpolated(problem, low) - y * low)
    return np.concatenate(full), np.concatenate(partial), interpolated(problem, L) @ pi - L @ y - empty


def searched(problem, y, threshold, each, most_nodes, only_best, tabled):
    return kernels.search(
        problem.pi,
        y,
        1 - problem.low,
        problem.low,
        problem.high,
        problem.table,
        threshold,
        each,
        most_nodes,
        only_best,
        tabled,
    )


# The table of f


@given(st.sampled_from(SEPARABLE), BOUNDS, st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_table_interpolates_f_by_chords_and_so_lies_above_it(utility, bounds, shares):
    low, high = bounds
    problem = Separable(np.full(2, 0.5), utility.f, low, high, FEW)
    t = low + (high - low) * np.array([0.0, 1.0, *shares])
    above = np.array([kernels.f_above(x, low, high, problem.table) for x in t])
    np.testing.assert_allclose(above, interpolated(problem, t), rtol=1e-13, atol=1e-14)
    assert (above >= utility.f(t) - 1e-14).all()


@pytest.mark.parametrize("high", [1.01, 2.0, 50.0, 1e4, 1e9])
def test_the_table_of_t_log_t_is_as_close_as_it_says(high):
    problem = Separable(np.full(2, 0.5), ex.mutual_information.f, 0.0, high, CELLS)
    t = np.concatenate(
        ([0.0, 1.0, high], np.random.default_rng(0).uniform(0, high, 2000), np.geomspace(1e-9, high))
    )
    above = np.array([kernels.f_above(x, 0.0, high, problem.table) for x in t])
    assert (above - ex.mutual_information.f(t)).max() <= 5e-10 * max(1, high)


# Sorting and counting


@given(st.lists(st.one_of(st.floats(-5, 5), st.sampled_from([0.0, 1.0, -math.inf])), min_size=1, max_size=40))
def test_descending_sorts_from_the_largest_down_and_keeps_equal_ones_in_order(keys):
    keys = np.array(keys)
    assert kernels.descending(keys).tolist() == np.argsort(-keys, kind="stable").tolist()


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(-1, 10))
def test_count_below_is_the_left_insertion_point(values, x):
    values = np.sort(np.array(values, dtype=np.float64))
    assert kernels.count_below(values, float(x)) == np.searchsorted(values, x, side="left")


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_the_subset_table_lists_all_sums_in_order(weights):
    weights = np.array(weights)
    sums, masks = kernels.subset_table(weights)
    bits = masks[:, None] >> np.arange(len(weights)) & 1
    assert sorted(masks.tolist()) == list(range(2 ** len(weights)))
    assert (np.diff(sums) >= 0).all()
    np.testing.assert_allclose(sums, bits @ weights, atol=1e-14)


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(-1, 1)), min_size=1, max_size=6), st.data())
def test_the_tournament_tree_knows_the_best_profit_of_every_range(items, data):
    weights, profits = np.array(items).T.copy()
    m = len(weights)
    banned = data.draw(st.integers(-1, m - 1))
    _, masks = kernels.subset_table(weights)
    tree = kernels.best_gains(masks, profits, banned)
    bits = masks[:, None] >> np.arange(m) & 1
    leaves = np.where(bits[:, banned] == 1, -np.inf, bits @ profits) if banned >= 0 else bits @ profits
    np.testing.assert_allclose(tree[2**m :], leaves, atol=1e-14)
    for node in range(1, 2**m):
        assert tree[node] == max(tree[2 * node], tree[2 * node + 1])


# The relaxation


@st.composite
def knapsacks(draw):
    weight = np.array(draw(st.lists(st.floats(0.05, 1), min_size=1, max_size=6)))
    profit = np.array(draw(st.lists(st.floats(-1, 1), min_size=len(weight), max_size=len(weight))))
    j_low = draw(st.floats(0, 0.5))
    j_high = j_low + draw(st.one_of(st.just(0.0), st.floats(0.05, 1)))
    v_low, v_high = draw(st.floats(-1, 1)), draw(st.floats(-1, 1))
    room = j_low + draw(st.floats(0, 1)) * (weight.sum() + j_high - j_low)
    return weight, profit, room, j_low, j_high, v_low, v_high if j_high > j_low else v_low


def relax(weight, profit, room, j_low, j_high, v_low, v_high):
    ratio = profit / weight
    order = np.argsort(-ratio, kind="stable")
    heads = np.concatenate(([0.0], np.cumsum(weight[order])))
    gains = np.concatenate(([0.0], np.cumsum(profit[order])))
    return kernels.relaxed(room, ratio[order], heads, gains, j_low, j_high, v_low, v_high)


@given(knapsacks())
def test_the_relaxation_is_the_continuous_knapsack(knapsack):
    weight, profit, room, j_low, j_high, v_low, v_high = knapsack
    slope = (v_high - v_low) / (j_high - j_low) if j_high > j_low else 0.0
    best = linprog(
        -np.append(profit, slope),
        A_eq=np.append(weight, 1.0)[None],
        b_eq=[room - j_low],
        bounds=[(0, 1)] * len(weight) + [(0, j_high - j_low)],
    )
    assert best.status == 0
    assert relax(*knapsack) == pytest.approx(v_low - best.fun, abs=1e-9)


@given(knapsacks())
def test_the_relaxation_is_no_less_than_any_choice_of_whole_items(knapsack):
    weight, profit, room, j_low, j_high, v_low, v_high = knapsack
    bound = relax(*knapsack)
    for chosen in itertools.product((0, 1), repeat=len(weight)):
        z = room - np.dot(chosen, weight)
        if j_low <= z <= j_high:
            share = (z - j_low) / (j_high - j_low) if j_high > j_low else 0.0
            assert bound >= np.dot(chosen, profit) + v_low + share * (v_high - v_low) - 1e-12


# Branch and bound


@given(pricings(max_size=10), st.data())
@settings(max_examples=60)
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
@settings(max_examples=50)
def test_neighbourhoods_return_genuine_columns_with_their_reduced_values(pricing, seed, data):
    problem, y = pricing
    free = data.draw(st.integers(3, problem.size - 1))
    sets, partial, values = neighbourhood_kernel.neighbourhoods(
        problem.pi, y, problem.low, problem.high, problem.table, 20, free, max(1, free // 2), seed
    )
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
    runs = [
        neighbourhood_kernel.neighbourhoods(problem.pi, y, 0.0, 1.8, problem.table, 60, 11, 5, 7)
        for _ in range(2)
    ]
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one, other)
    _, _, profits = every_column(problem, y)
    assert runs[0][2].max() == pytest.approx(profits.max() + problem.f(np.zeros(1))[0], abs=1e-12)


# Dynamic programming


@given(st.lists(st.tuples(st.integers(1, 6), st.floats(-1, 1)), min_size=1, max_size=8), st.integers(1, 30))
def test_the_lattice_holds_the_best_gain_of_every_sum_and_how_it_was_made(items, cells):
    counts = np.array([k for k, _ in items])
    gains = np.array([g for _, g in items])
    best, takes = lattice_kernel.lattice_fill(counts, gains, cells, True)
    sums, totals = {}, np.full(cells, -np.inf)
    for chosen in itertools.product((0, 1), repeat=len(items)):
        s, g = int(np.dot(chosen, counts)), float(np.dot(chosen, gains))
        sums[s] = max(g, sums.get(s, -np.inf))
    for s, g in sums.items():
        if s < cells:
            totals[s] = g
    np.testing.assert_allclose(best, totals, atol=1e-12)
    for s in np.flatnonzero(np.isfinite(best)):
        chosen = lattice_kernel.lattice_trace(counts, takes, s)
        assert counts @ chosen == s
        assert gains @ chosen == pytest.approx(best[s], abs=1e-12)
    untraced, nothing = lattice_kernel.lattice_fill(counts, gains, cells, False)
    np.testing.assert_array_equal(untraced, best)
    assert nothing.size == 0
