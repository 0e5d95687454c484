"""The polytope M_N(epsilon) (Lemma 1): its constraints, its vertices, and the optimum among them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extremal as ex
from extremal.errors import SizeError
from extremal.theory import closed_form
from extremal.theory.enumeration import exact_polytope_vertices
from tests.support import oracles
from tests.support.examples import at_most
from tests.support.strategies import designs, high_privacy_designs, pairs, uniform_designs


@given(pairs(max_size=4), st.floats(0, 3))
def test_lemma_1_the_constraints_hold_exactly_for_mechanisms_that_keep_the_level(pair, epsilon):
    prior, mechanism = pair
    n, m = mechanism.shape
    if m > n:
        return
    p = np.pad(mechanism.matrix, ((0, 0), (0, n - m))).ravel()
    upper, sums = oracles.polytope_system(prior.probabilities.tolist(), math.exp(epsilon))
    np.testing.assert_allclose(sums @ p, 1, atol=1e-14)
    excess = ex.epsilon_pml(prior, mechanism) - epsilon
    if abs(excess) > 1e-9:
        assert ((upper @ p).max() <= 1e-15) == (excess < 0)


@given(designs(max_size=3))
def test_vertices_are_mechanisms_that_keep_the_level(design):
    prior, epsilon = design
    vertices = ex.theory.polytope_vertices(prior, epsilon)
    assert vertices.shape[1:] == (prior.size, prior.size)
    assert vertices.min() >= 0
    np.testing.assert_allclose(vertices.sum(axis=2), 1, atol=1e-12)
    for P in vertices:
        assert ex.epsilon_pml(prior, ex.Mechanism(P)) <= epsilon + 1e-12


@given(designs(max_size=3))
def test_the_optimum_over_vertices_is_that_of_the_linear_program_over_lift_vectors(design):
    """Theorem 5, for utilities that are not symmetric too, in every region up to N."""
    prior, epsilon = design
    vertices = ex.theory.polytope_vertices(prior, epsilon)
    for utility in oracles.every_utility(prior.size):
        best = oracles.polytope_optimum(prior, vertices, utility)
        assert oracles.is_optimal(prior, epsilon, utility, best), utility


@given(designs(max_size=2, highest=lambda prior: prior.epsilon_max))
def test_theorem_2_attains_the_best_vertex(design):
    prior, epsilon = design
    assert_best(prior, epsilon, closed_form.binary(prior, epsilon), oracles.every_utility(2))


@given(high_privacy_designs(max_size=3))
def test_theorem_3_attains_the_best_vertex(design):
    prior, epsilon = design
    assert_best(prior, epsilon, closed_form.high_privacy(prior, epsilon), oracles.every_utility(prior.size))


@given(uniform_designs(max_size=3))
def test_theorem_4_attains_the_best_vertex(design):
    n, epsilon = design
    prior = ex.Prior.uniform(n)
    assert_best(prior, epsilon, closed_form.uniform(n, epsilon), oracles.SYMMETRIC)


def assert_best(prior, epsilon, mechanism, utilities):
    for utility in utilities:
        assert oracles.is_best_vertex(prior, epsilon, utility, utility(prior, mechanism)), utility


@given(designs(min_size=3, max_size=3))
@at_most(40)
def test_the_optimum_is_that_of_trying_every_basis(design):
    prior, epsilon = design
    c = oracles.largest_lift(prior, epsilon)
    if c > 1e3 or c < 1 + 1e-6:
        return
    vertices = ex.theory.polytope_vertices(prior, epsilon)
    bases = oracles.all_bases(prior.probabilities, c)
    for utility in (ex.mutual_information, ex.utilities.total_variation, ex.utilities.chi_squared):
        best = oracles.polytope_optimum(prior, bases, utility)
        assert oracles.polytope_optimum(prior, vertices, utility) == pytest.approx(best, abs=1e-9), utility


def test_the_binary_polytope_has_the_four_vertices_of_the_appendix():
    for p, epsilon in ((0.5, math.log(1.5)), (0.8, math.log(1.5))):
        prior = ex.Prior([p, 1 - p])
        vertices = ex.theory.polytope_vertices(prior, epsilon)
        best = closed_form.binary(prior, epsilon).matrix
        expected = {(0, 0), (1, 1), tuple(best[:, 0]), tuple(best[:, 1])}
        found = {tuple(P[:, 0].tolist()) for P in vertices}
        assert len(found) == 4
        for corner in expected:
            assert (
                min(max(abs(a - b) for a, b in zip(corner, other, strict=True)) for other in found) <= 1e-12
            )


@pytest.mark.parametrize(
    ("pi", "c"),
    [
        ([Fraction(4, 5), Fraction(1, 5)], Fraction(3, 2)),
        ([Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)], Fraction(2)),
        ([Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)], Fraction(3)),
        ([Fraction(1, 3)] * 3, Fraction(3, 2)),
        ([Fraction(1, 3)] * 3, Fraction(5, 4)),
    ],
)
def test_exact_vertices_meet_their_constraints_with_equality_and_none_appears_twice(pi, c):
    vertices = exact_polytope_vertices(pi, c)
    assert len({tuple(map(tuple, P)) for P in vertices}) == len(vertices)
    for P in vertices:
        assert all(type(p) is Fraction and p >= 0 for row in P for p in row)
        assert all(sum(row) == 1 for row in P)
        assert max(oracles.exact_exp_pml(pi, P)) <= c
    floats = ex.theory.polytope_vertices(ex.Prior([float(p) for p in pi]), math.log(c))
    exact = np.array([[[float(p) for p in row] for row in P] for P in vertices])
    apart = np.abs(floats[:, None] - exact[None]).max(axis=(2, 3))
    assert apart.min(axis=0).max() <= 1e-12
    assert apart.min(axis=1).max() <= 1e-12


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.0, 2.2])
def test_four_symbols_have_the_optimum_of_the_lift_vectors_too(epsilon):
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    vertices = ex.theory.polytope_vertices(prior, epsilon)
    for utility in oracles.every_utility(4):
        best = oracles.polytope_optimum(prior, vertices, utility)
        assert oracles.is_optimal(prior, epsilon, utility, best), utility


@pytest.mark.parametrize("epsilon", [0.1, math.log(4 / 3), 0.5, math.log(2), math.log(3), math.log(4)])
def test_theorem_4_attains_the_best_vertex_for_four_symbols(epsilon):
    assert_best(ex.Prior.uniform(4), epsilon, closed_form.uniform(4, epsilon), oracles.SYMMETRIC)


@pytest.mark.slow
@given(designs(min_size=4, max_size=4))
@settings(max_examples=25)
def test_any_four_symbols_have_the_optimum_of_the_lift_vectors_too(design):
    prior, epsilon = design
    vertices = ex.theory.polytope_vertices(prior, epsilon)
    for utility in oracles.every_utility(4):
        best = oracles.polytope_optimum(prior, vertices, utility)
        assert oracles.is_optimal(prior, epsilon, utility, best), utility


@pytest.mark.parametrize(("counts", "c"), [((4, 2, 2, 2), Fraction(9, 8)), ((4, 3, 2, 1), Fraction(6, 5))])
def test_exact_and_floating_point_enumeration_agree_on_four_symbols(counts, c):
    pi = [Fraction(k, sum(counts)) for k in counts]
    exact = np.array(exact_polytope_vertices(pi, c), dtype=float)
    floats = ex.theory.polytope_vertices(ex.Prior([float(p) for p in pi]), math.log(c))
    assert len(exact) == len(floats)
    apart = np.abs(floats[:, None] - exact[None]).max(axis=(2, 3))
    assert apart.min(axis=1).max() <= 1e-12
    assert apart.min(axis=0).max() <= 1e-12


def test_four_symbols_in_the_high_privacy_region_have_the_same_optimum_too():
    prior = ex.Prior([0.4, 0.2, 0.2, 0.2])
    mechanism = closed_form.high_privacy(prior, math.log(9 / 8))
    assert_best(prior, math.log(9 / 8), mechanism, oracles.every_utility(4))


def test_more_than_four_symbols_are_refused():
    with pytest.raises(SizeError, match="N <= 4"):
        ex.theory.polytope_vertices(ex.Prior.uniform(5), 0.1)
