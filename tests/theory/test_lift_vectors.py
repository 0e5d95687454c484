"""Extremal lift vectors against the paper's Algorithm 1, in floats and in exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.errors import SizeError
from extremal.theory.lift_vectors import lift_vertices
from tests.support import oracles
from tests.support.strategies import designs, masses
from tests.support.wording import refused

LOWS = st.sampled_from([0.0, 0.0, 0.2, 0.9])


@given(designs())
def test_vectors_have_mean_one_and_all_elements_but_one_at_a_bound(design):
    prior, epsilon = design
    c = oracles.largest_lift(prior, epsilon)
    V = ex.theory.extremal_lift_vectors(prior, epsilon)
    np.testing.assert_allclose(V @ prior.probabilities, 1, atol=1e-14)
    assert V.min() >= 0
    assert V.max() <= c * (1 + 1e-15)
    assert ((V > 0) & (V.max() > V)).sum(axis=1).max() <= 1


@given(designs())
def test_no_vector_appears_twice_and_none_is_a_mixture_of_the_others(design):
    prior, epsilon = design
    V = ex.theory.extremal_lift_vectors(prior, epsilon)
    kinds = np.where(V == 0, 0, np.where(V.max() == V, 2, 1))
    assert len(np.unique(kinds, axis=0)) == len(V)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=6), st.fractions(1, 40, max_denominator=24))
def test_they_are_the_vertices_of_algorithm_1_on_exact_fractions(counts, c):
    pi = [Fraction(k, sum(counts)) for k in counts]
    c = min(c, 1 / min(pi))
    exact = set(oracles.algorithm_1(pi, c, len(pi)))
    V = lift_vertices(np.array([float(p) for p in pi]), 0.0, float(c))
    assert len(V) == len(exact)
    found = np.array(sorted(map(tuple, V.tolist())))
    expected = np.array(sorted(tuple(float(x) for x in vector) for vector in exact))
    # Sorted rows pair up unless two differ by rounding in a leading element: match each to its nearest.
    apart = np.abs(found[:, None] - expected[None]).max(axis=2)
    assert sorted(apart.argmin(axis=1)) == list(range(len(exact)))
    assert apart.min(axis=1).max() <= 1e-13


@given(designs(max_size=5))
def test_they_are_the_vertices_of_algorithm_1_up_to_points_that_rounding_cannot_tell_apart(design):
    prior, epsilon = design
    V = ex.theory.extremal_lift_vectors(prior, epsilon)
    total = sum(Fraction(p) for p in prior.probabilities.tolist())
    pi = [Fraction(p) / total for p in prior.probabilities.tolist()]
    c = min(max(Fraction(oracles.largest_lift(prior, epsilon)), 1), 1 / min(pi))
    exact = set(oracles.algorithm_1(pi, c, prior.size))
    paper = np.array([[float(x) for x in vector] for vector in exact])
    apart = np.abs(V[:, None] - paper[None]) @ prior.probabilities
    assert apart.min(axis=0).max() <= 1e-13
    assert apart.min(axis=1).max() <= 1e-13
    assert len(V) <= len(paper)


@given(designs(), LOWS)
def test_they_span_the_polytope_for_any_lower_bound(design, low):
    prior, epsilon = design
    pi, high = prior.probabilities, oracles.largest_lift(prior, epsilon)
    V = lift_vertices(pi, low, high)
    np.testing.assert_allclose(V @ pi, 1, atol=1e-14)
    assert V.min() >= low
    assert V.max() <= max(high, 1) * (1 + 1e-15)
    order = np.argsort(
        np.sin(np.arange(prior.size) + 1)
    )  # the greedy optimum of a linear function is among them
    best, room = np.full(prior.size, low), 1 - low
    for i in order[::-1]:
        best[i] += min(high - low, room / pi[i])
        room -= min((high - low) * pi[i], room)
    weights = np.sin(np.arange(prior.size) + 1) * pi
    assert (V @ weights).max() == pytest.approx(best @ weights, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_for_the_uniform_prior_their_number_is_that_of_the_notes(n):
    for k in range(1, n):
        epsilon = math.log(n / (n - k + 0.5))
        assert len(ex.theory.extremal_lift_vectors(ex.Prior.uniform(n), epsilon)) == (n - k + 1) * math.comb(
            n, k - 1
        )


@pytest.mark.parametrize("n", [2, 3, 5, 6, 10])
def test_at_an_edge_of_the_uniform_prior_they_are_the_subsets(n):
    prior = ex.Prior.uniform(n)
    for k in range(1, n):
        V = ex.theory.extremal_lift_vectors(prior, prior.region_edges[k])
        assert len(V) == math.comb(n, k)
        assert ((V == 0).sum(axis=1) == k).all()


def test_at_zero_there_is_one_and_from_epsilon_max_on_one_for_each_symbol():
    prior = ex.Prior([0.5, 0.3, 0.2])
    assert ex.theory.extremal_lift_vectors(prior, 0).tolist() == [[1, 1, 1]]
    for epsilon in (prior.epsilon_max, 10, 1000):
        V = ex.theory.extremal_lift_vectors(prior, epsilon)
        assert len(V) == 3
        np.testing.assert_allclose(V.max(axis=0), [2, 1 / 0.3, 5])


@given(masses(max_size=5), st.floats(0, 700), st.integers(0, 140))
def test_masses_of_any_size_are_handled(p, epsilon, exponent):
    p = np.array(p) / sum(p)
    p[0] *= 10.0**-exponent
    prior = ex.Prior.from_counts(p)
    V = ex.theory.extremal_lift_vectors(prior, epsilon)
    np.testing.assert_allclose(V @ prior.probabilities, 1, atol=1e-13)


def test_eighteen_symbols_are_practical_and_more_than_22_are_refused():
    p = np.random.default_rng(0).dirichlet(np.ones(16))
    assert len(ex.theory.extremal_lift_vectors(ex.Prior(p), math.log(2))) > 50_000
    with refused(SizeError, "22"):
        ex.theory.extremal_lift_vectors(ex.Prior.uniform(23), 0.5)
