"""Randomized response (Definition 5): its matrix, its leakage, and calibration to a PML level and back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from tests.support.strategies import designs, priors

LEVELS = st.one_of(st.floats(0, 30), st.sampled_from([0, 1e-15, 1e-8, 700, 1e4]))


@given(priors(), st.floats(0, 20))
def test_definition_5(prior, level):
    n = prior.size
    P = ex.theory.randomized_response(prior, level).matrix
    scale = n - 1 + math.exp(level)
    np.testing.assert_allclose(P, np.where(np.eye(n), math.exp(level) / scale, 1 / scale), rtol=1e-13)


@given(st.integers(2, 6), LEVELS)
def test_its_ldp_is_its_parameter(n, level):
    mechanism = ex.theory.randomized_response(n, level)
    assert np.abs(mechanism.matrix.sum(axis=1) - 1).max() <= 1e-12
    if level <= 700:
        assert ex.measures.ldp_epsilon(mechanism) == pytest.approx(level, rel=1e-12, abs=1e-15)
    else:
        assert np.array_equal(mechanism.matrix, np.eye(n))


@given(priors(), LEVELS)
def test_the_formula_for_its_leakage_holds_for_every_prior_and_output(prior, level):
    measured = ex.pml(prior, ex.theory.randomized_response(prior, level))
    np.testing.assert_allclose(ex.theory.randomized_response_pml(prior, level), measured, atol=1e-12)
    assert ex.theory.randomized_response_epsilon(prior, level) == pytest.approx(measured.max(), abs=1e-12)
    assert ex.theory.randomized_response_epsilon(prior, level) <= level + 1e-15


@given(priors(), st.floats(0, 20))
def test_the_papers_expression_for_its_leakage(prior, level):
    expected = level - np.log(math.expm1(level) * prior.probabilities + 1)
    np.testing.assert_allclose(ex.theory.randomized_response_pml(prior, level), expected, atol=1e-13)


@given(designs(highest=lambda prior: prior.epsilon_max * (1 - 1e-9)))
def test_calibrated_to_a_pml_level_it_attains_that_level(design):
    prior, epsilon = design
    parameter = ex.theory.randomized_response_parameter(prior, epsilon)
    assert parameter >= epsilon - 1e-15
    assert ex.theory.randomized_response_epsilon(prior, parameter) == pytest.approx(epsilon, abs=1e-12)
    mechanism = ex.theory.randomized_response_for_pml(prior, epsilon)
    assert ex.epsilon_pml(prior, mechanism) == pytest.approx(epsilon, abs=1e-12)
    p, c = prior.probabilities.min(), math.exp(epsilon)
    assert parameter == pytest.approx(epsilon + math.log((1 - p) / (1 - p * c)), abs=1e-6)


@given(priors(), st.floats(0, 5))
def test_the_round_trip_from_the_ldp_level_returns_to_it(prior, level):
    """Conditioning: near epsilon_max 1e-16 in epsilon is 1e-16 e^level in the parameter."""
    back = ex.theory.randomized_response_parameter(prior, ex.theory.randomized_response_epsilon(prior, level))
    rare = 1 + prior.probabilities.min() * math.expm1(level)
    assert back == pytest.approx(level, abs=1e-14 * rare)


@given(designs())
def test_at_any_level_it_is_feasible_and_from_epsilon_max_on_the_identity(design):
    prior, epsilon = design
    mechanism = ex.theory.randomized_response_for_pml(prior, epsilon)
    assert ex.epsilon_pml(prior, mechanism) <= epsilon + 1e-12
    assert mechanism.inputs == mechanism.outputs == prior.labels
    if epsilon >= prior.epsilon_max:
        assert np.array_equal(mechanism.matrix, np.eye(prior.size))


def test_the_number_of_symbols_is_enough():
    assert ex.theory.randomized_response(3, 1.0).inputs == (0, 1, 2)
    assert ex.theory.randomized_response(3, 1.0) == ex.theory.randomized_response(
        ex.Prior([0.5, 0.3, 0.2]), 1.0
    )
    assert ex.theory.randomized_response(ex.Prior.uniform(["a", "b"]), 1.0).outputs == ("a", "b")
