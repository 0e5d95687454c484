"""The same formulas on exact fractions: rows sum to exactly 1, leakage is exactly c, no vertex does better.

Fractions know no rounding, so every comparison here is ==.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extremal.theory.closed_form import binary_matrix, high_privacy_matrix, uniform_matrix
from extremal.theory.enumeration import exact_polytope_vertices
from tests.support import oracles
from tests.support.examples import at_most

UTILITIES = {
    "total variation": lambda pi, P: oracles.exact_f_information(pi, P, oracles.exact_total_variation),
    "chi-squared": lambda pi, P: oracles.exact_f_information(pi, P, oracles.exact_chi_squared),
    "guessing X": oracles.exact_guessing,
}


@st.composite
def fractions_between(draw, low, high):
    share = Fraction(draw(st.integers(0, 12)), 12)
    return low + share * (high - low)


@st.composite
def masses(draw, min_size=2, max_size=3):
    counts = draw(st.lists(st.integers(1, 6), min_size=min_size, max_size=max_size))
    return sorted((Fraction(k, sum(counts)) for k in counts), reverse=True)


def assert_exactly_stochastic(P):
    assert all(type(p) is Fraction for row in P for p in row)
    assert all(p >= 0 for row in P for p in row)
    assert all(sum(row) == 1 for row in P)


def assert_no_vertex_is_better(pi, c, P, utilities=tuple(UTILITIES)):
    vertices = exact_polytope_vertices(pi, c)
    for name in utilities:
        utility = UTILITIES[name]
        assert utility(pi, P) == max(utility(pi, V) for V in vertices), name


@given(masses(max_size=2), st.data())
def test_theorem_2_is_exact(pi, data):
    c = data.draw(fractions_between(Fraction(1), 1 / pi[1]))
    P = binary_matrix(pi, c).tolist()
    assert_exactly_stochastic(P)
    assert max(oracles.exact_exp_pml(pi, P)) == c
    assert_no_vertex_is_better(pi, c, P)


@given(masses(), st.data())
def test_theorem_3_is_exact(pi, data):
    c = data.draw(fractions_between(Fraction(1), 1 / (1 - min(pi))))
    P = high_privacy_matrix(pi, c).tolist()
    assert_exactly_stochastic(P)
    assert oracles.exact_exp_pml(pi, P) == [c] * len(pi)
    assert_no_vertex_is_better(pi, c, P)


@given(st.integers(2, 3), st.data())
def test_theorem_4_is_exact(n, data):
    c = data.draw(fractions_between(Fraction(1), Fraction(n)))
    k = next(k for k in range(1, n + 1) if k == n or c < Fraction(n, n - k))
    pi = [Fraction(1, n)] * n
    P = uniform_matrix(n, c, k).tolist()
    assert_exactly_stochastic(P)
    assert max(oracles.exact_exp_pml(pi, P)) == c
    assert_no_vertex_is_better(pi, c, P)


@pytest.mark.parametrize("n", range(2, 9))
def test_theorem_4_is_exact_in_every_region_and_at_every_edge(n):
    pi = [Fraction(1, n)] * n
    for k in range(1, n + 1):
        low = Fraction(n, n - k + 1)
        high = Fraction(n, n - k) if k < n else Fraction(n)
        for c in (low, (low + high) / 2):
            P = uniform_matrix(n, c, k).tolist()
            assert_exactly_stochastic(P)
            assert max(oracles.exact_exp_pml(pi, P)) == c
            for column in zip(*P, strict=True):
                values = sorted(column)
                rest = 1 - c * (n - k) / n
                assert values == sorted([Fraction(0)] * (k - 1) + [rest] + [c / n] * (n - k))


@given(masses(), st.data(), st.lists(st.integers(-5, 5), min_size=3, max_size=3))
@at_most(50)
def test_columns_of_vertices_lie_in_the_hull_of_algorithm_1(pi, data, functional):
    """Theorem 5 in the last region too: no linear function is larger on a lift than on all its vectors."""
    c = data.draw(fractions_between(Fraction(1), 1 / min(pi)))
    lifts = set(oracles.algorithm_1(pi, c, len(pi)))
    for vector in lifts:
        assert sum(p * v for p, v in zip(pi, vector, strict=True)) == 1
        assert min(vector) >= 0
        assert max(vector) <= c
    most = max(sum(w * v for w, v in zip(functional, vector, strict=False)) for vector in lifts)
    for P in exact_polytope_vertices(pi, c):
        for column in zip(*oracles.exact_lift(pi, P), strict=True):
            if column[0] is not None:
                assert sum(w * v for w, v in zip(functional, column, strict=False)) <= most


@given(masses(), st.data())
def test_lemma_1_holds_exactly_for_the_closed_forms(pi, data):
    c = data.draw(fractions_between(Fraction(1), 1 / (1 - min(pi))))
    upper, sums = oracles.polytope_system(pi, c)
    p = high_privacy_matrix(pi, c).ravel()
    assert all(value <= 0 for value in upper @ p)
    assert all(value == 1 for value in sums @ p)


def test_formulas_run_on_floats_and_fractions_alike():
    pi, c = [Fraction(2, 5), Fraction(1, 5), Fraction(1, 5), Fraction(1, 5)], Fraction(9, 8)
    exact = high_privacy_matrix(pi, c)
    floats = high_privacy_matrix([float(p) for p in pi], float(c))
    np.testing.assert_allclose(floats, exact.astype(float), atol=1e-16)
    assert floats.dtype == np.float64
