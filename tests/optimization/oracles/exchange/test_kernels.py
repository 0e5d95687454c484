"""Lift vectors from compiled code: the list against another enumeration, local search against the list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extremal.optimization.oracles.exchange.oracle import climb, fill
from extremal.optimization.oracles.listed import best_vertices, form
from extremal.theory.lift_vectors import lift_vertices
from tests.support.examples import at_most


def all_vertices(pi, excess, most):
    n = len(pi)
    found = best_vertices(pi, excess, np.zeros((n, n)), np.zeros(n), most, most)
    return None if found is None else found.rows


def key(rows):
    return np.unique(np.round(rows, 9), axis=0)


@at_most(100)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=7), st.floats(0.01, 4))
def test_all_vertices_are_those_of_the_subset_table(masses, epsilon):
    pi = np.sort(np.array(masses) / np.sum(masses))[::-1]
    excess = min(np.expm1(epsilon), 1 / pi[-1] - 1)
    found = all_vertices(pi, excess, 5000)
    np.testing.assert_allclose(key(found + 1), key(lift_vertices(pi, 0.0, 1 + excess)), atol=1e-8)
    assert np.abs(found @ pi).max() < 1e-13


def test_a_list_that_would_be_too_long_is_none():
    assert all_vertices(np.full(12, 1 / 12), 1.3, 100) is None
    assert all_vertices(np.full(40, 1 / 40), 1.3, 1000) is None


@at_most(100)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=7), st.floats(0.01, 4), st.integers(0, 1000))
def test_the_best_vertices_are_those_of_largest_value_in_the_subset_table(masses, epsilon, seed):
    pi = np.sort(np.array(masses) / np.sum(masses))[::-1]
    n, rng = len(pi), np.random.default_rng(seed)
    excess = min(np.expm1(epsilon), 1 / pi[-1] - 1)
    M = rng.normal(size=(n, n))
    W, y = M + M.T, rng.normal(size=n)
    listed = lift_vertices(pi, 0.0, 1 + excess) - 1
    values = np.einsum("ki,ki->k", listed @ W - y, listed)
    found = best_vertices(pi, excess, W, y, 5, 5000)
    assert found.best == pytest.approx(values.max(), rel=1e-9, abs=1e-9)
    # A vertex may come up twice, where rounding decides which symbol is the partial one.
    reached = np.einsum("ki,ki->k", found.rows @ W - y, found.rows)
    np.testing.assert_allclose(reached, -np.sort(-reached), atol=1e-8)
    assert reached[0] == pytest.approx(values.max(), rel=1e-8, abs=1e-8)
    assert np.abs(found.rows @ pi).max() < 1e-13
    if found.count == len(values):
        np.testing.assert_allclose(reached, -np.sort(-values)[:5], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("excess", [0.15, 0.9, 1.7, 6.0])
def test_of_vertices_that_differ_by_symbols_alike_one_is_visited(excess):
    pi = np.array([5, 3, 3, 3, 2, 2, 2, 2, 1]) / 23
    alike = np.append(pi[:-1] == pi[1:], False)
    d, groups = np.array([1.0, 2.0, 0.5, 3.0]), np.array([0, 1, 1, 1, 2, 2, 2, 2, 3])
    pairs = np.array([[0, 0.2, 0.1, -0.3], [0.2, -0.4, 0.3, 0], [0.1, 0.3, 0.6, 0.2], [-0.3, 0, 0.2, 0]])
    W = pairs[np.ix_(groups, groups)]
    np.fill_diagonal(W, d[groups])
    y = np.array([0.3, -1.0, 0.8, 0.1])[groups]
    listed = lift_vertices(pi, 0.0, 1 + excess) - 1
    kinds = {tuple(np.round(np.concatenate([np.sort(x[groups == g]) for g in range(4)]), 9)) for x in listed}
    found = best_vertices(pi, excess, W, y, 1000, 1000, alike)
    assert found.count == len(kinds) < len(listed)
    assert found.best == pytest.approx(np.einsum("ki,ki->k", listed @ W - y, listed).max(), rel=1e-12)


def test_a_value_that_is_no_number_is_no_bound():
    pi = np.array([0.4, 0.3, 0.2, 0.1])
    W = np.eye(4)
    W[1, 2] = W[2, 1] = np.nan
    assert best_vertices(pi, 1.0, W, np.zeros(4), 0, 100).best == np.inf


def test_filling_in_an_order_gives_vertices():
    pi = np.array([0.4, 0.3, 0.2, 0.1])
    X = fill(pi, 1.0, np.array([[0, 1, 2, 3], [3, 2, 1, 0]]))
    np.testing.assert_allclose(X, [[1, -1 + 2 / 3, -1, -1], [-1, 2 * 2 / 3 - 1, 1, 1]], atol=1e-14)
    with pytest.raises(ValueError, match="numbers of symbols"):
        fill(pi, 1.0, np.array([[4, 1, 2, 0]]))


@pytest.mark.parametrize("seed", range(5))
def test_local_search_ends_at_vertices_and_some_start_finds_the_best(seed):
    rng = np.random.default_rng(seed)
    n = 8
    pi = np.sort(rng.dirichlet(np.ones(n)))[::-1]
    M = rng.normal(size=(n - 1, n - 1))
    inverse = M @ M.T + np.eye(n - 1)
    y = np.append(0.0, rng.normal(size=n - 1))
    W = np.zeros((n, n))
    W[1:, 1:] = inverse @ inverse
    vertices = all_vertices(pi, 1.5, 10_000)
    best = (np.einsum("ki,ki->k", vertices @ W, vertices) - vertices @ y).max()
    reached = []
    for _ in range(20):
        start = fill(pi, 1.5, rng.permutation(n)[None, :])
        moved = start.copy()
        objective = form(pi, 1.5, W / np.multiply.outer(pi, pi), y / pi)
        climb(objective, np.zeros(n), np.zeros(n), 0, 20, moved)
        x = moved[0]
        assert np.count_nonzero((x > -1) & (x < 1.5)) <= 1
        assert abs(x @ pi) < 1e-14
        reached.append(x @ W @ x - y @ x)
        assert reached[-1] <= best * (1 + 1e-12)
        assert reached[-1] >= start[0] @ W @ start[0] - y @ start[0] - 1e-9
    assert max(reached) == pytest.approx(best, rel=1e-9)
