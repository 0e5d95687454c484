"""Theorems 2, 3 and 4, Corollary 1 and the arc mechanism against optima found by enumeration."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.theory import closed_form
from tests.support import oracles
from tests.support.strategies import designs, exact_edges, high_privacy_designs, priors, uniform_designs


def assert_feasible(prior, mechanism, epsilon):
    P = mechanism.matrix
    assert P.min() >= 0
    assert np.abs(P.sum(axis=1) - 1).max() <= 1e-12
    assert ex.epsilon_pml(prior, mechanism) <= epsilon + 1e-12


def assert_optimal(prior, mechanism, epsilon, utilities):
    for utility in utilities:
        assert oracles.is_optimal(prior, epsilon, utility, utility(prior, mechanism)), utility


binary_designs = designs(max_size=2, highest=lambda prior: prior.epsilon_max)


@given(binary_designs)
def test_theorem_2_is_feasible_and_optimal_for_every_sub_convex_utility(design):
    prior, epsilon = design
    mechanism = closed_form.binary(prior, epsilon)
    assert mechanism.shape == (2, 2)
    assert_feasible(prior, mechanism, epsilon)
    assert_optimal(prior, mechanism, epsilon, oracles.every_utility(2))


@given(high_privacy_designs())
def test_theorem_3_is_feasible_and_optimal_for_every_sub_convex_utility(design):
    prior, epsilon = design
    mechanism = closed_form.high_privacy(prior, epsilon)
    assert mechanism.shape == (prior.size, prior.size)
    assert_feasible(prior, mechanism, epsilon)
    assert_optimal(prior, mechanism, epsilon, oracles.every_utility(prior.size))


@given(uniform_designs())
def test_theorem_4_is_feasible_and_optimal_for_every_symmetric_utility(design):
    n, epsilon = design
    prior = ex.Prior.uniform(n)
    mechanism = closed_form.uniform(n, epsilon)
    assert_feasible(prior, mechanism, epsilon)
    assert_optimal(prior, mechanism, epsilon, oracles.SYMMETRIC)


@given(priors(), st.floats(0, 0.999))
def test_theorem_3_in_binary_is_theorem_2_up_to_columns(prior, share):
    if prior.size == 2:
        epsilon = share * exact_edges(prior)[1]
        assert closed_form.high_privacy(prior, epsilon).same_up_to_columns(
            closed_form.binary(prior, epsilon), 1e-12
        )


@given(high_privacy_designs())
def test_theorem_3_is_the_papers_formula(design):
    prior, epsilon = design
    P, p, c = closed_form.high_privacy(prior, epsilon).matrix, prior.probabilities, math.exp(epsilon)
    for i in range(prior.size):
        for j in range(prior.size):
            expected = 1 - c * (1 - p[i]) if i == j else c * p[j]
            assert P[i, j] == pytest.approx(expected, abs=1e-14)


@given(uniform_designs())
def test_theorem_4_has_the_zeros_and_values_the_theorem_states(design):
    n, epsilon = design
    k = min(ex.Prior.uniform(n).region(epsilon), n)
    full, rest = math.exp(epsilon) / n, 1 - math.exp(epsilon) * (n - k) / n
    for column in closed_form.uniform(n, epsilon).matrix.T:
        np.testing.assert_allclose(
            np.sort(column), np.sort([0] * (k - 1) + [rest] + [full] * (n - k)), atol=1e-13
        )


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 30, 300])
def test_theorem_4_keeps_the_level_at_every_edge_and_beside_it(n):
    prior = ex.Prior.uniform(n)
    edges = prior.region_edges
    for k in range(n) if n < 30 else (0, 1, 2, n // 2, n - 1):
        for shift in (-1e-13, -1e-14, -5e-15, -1e-15, 0, 1e-15, 5e-15, 1e-13):
            epsilon = edges[k] + shift
            if 0 <= epsilon <= edges[-1]:
                assert_feasible(prior, closed_form.uniform(n, epsilon), epsilon)


@given(uniform_designs())
def test_corollary_1_is_the_mutual_information_of_theorem_4(design):
    n, epsilon = design
    value = ex.mutual_information(ex.Prior.uniform(n), closed_form.uniform(n, epsilon))
    assert closed_form.uniform_mutual_information(n, epsilon) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 17, 40])
@pytest.mark.parametrize("epsilon", [1e-14, 1e-10, 1e-7, 1e-5, 1e-3])
def test_corollary_1_keeps_its_digits_at_small_levels(n, epsilon):
    with localcontext() as context:
        context.prec = 60
        c = Decimal(epsilon).exp()
        rest = n - (n - 1) * c  # the lift of the one symbol that is not full
        exact = ((n - 1) * c * c.ln() + rest * rest.ln()) / n
        assert abs(Decimal(closed_form.uniform_mutual_information(n, epsilon)) / exact - 1) < Decimal("1e-10")


def test_theorem_4_at_log_n_is_the_identity_and_at_zero_says_nothing():
    for n in (2, 3, 7):
        assert np.array_equal(closed_form.uniform(n, math.log(n)).matrix, np.eye(n))
        np.testing.assert_allclose(closed_form.uniform(n, 0).matrix, 1 / n)


@given(binary_designs)
def test_theorem_2_does_not_depend_on_the_order_of_the_symbols(design):
    prior, epsilon = design
    swapped = ex.Prior(prior.probabilities[::-1])
    mechanism = closed_form.binary(prior, epsilon)
    other = ex.Mechanism(closed_form.binary(swapped, epsilon).matrix[::-1])
    assert mechanism.same_up_to_columns(other, 1e-12)


def test_labels_are_kept_and_outputs_numbered_in_the_papers_order():
    prior = ex.Prior({"b": 0.2, "a": 0.8})
    mechanism = closed_form.binary(prior, 0.1)
    assert mechanism.inputs == ("b", "a")
    assert mechanism.outputs == (0, 1)
    c = math.exp(0.1)
    np.testing.assert_allclose(mechanism.matrix, [[1 - c * 0.8, c * 0.8], [c * 0.2, 1 - c * 0.2]], atol=1e-15)
    assert closed_form.uniform(ex.Prior.uniform(["x", "y"]), 0.1).inputs == ("x", "y")


def test_from_the_edge_on_the_likely_symbol_is_masked_only_as_needed():
    prior = ex.Prior([0.8, 0.2])
    P = closed_form.binary(prior, math.log(1.5)).matrix
    np.testing.assert_allclose(P, [[0.5 / 1.2, 0.7 / 1.2], [0, 1]], atol=1e-15)
    assert np.array_equal(closed_form.binary(prior, prior.epsilon_max).matrix, np.eye(2))


@given(priors(), st.floats(0, 1))
def test_utility_grows_with_the_level(prior, share):
    edge = exact_edges(prior)[1] * 0.99
    lower = closed_form.high_privacy(prior, share * edge)
    upper = closed_form.high_privacy(prior, edge)
    assert ex.mutual_information(prior, lower) <= ex.mutual_information(prior, upper) + 1e-15
