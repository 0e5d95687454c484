"""Pairing of outputs with inputs by linear assignment."""

import itertools

import numpy as np
import pytest
from hypothesis import given

import extremal as ex
from extremal.theory import closed_form
from tests.support.strategies import high_privacy_designs, pairs


@given(pairs(max_outputs=5))
def test_no_order_of_columns_agrees_more_often_with_the_input(pair):
    prior, mechanism = pair
    paired = ex.theory.pair_outputs(prior, mechanism)
    assert paired.same_up_to_columns(mechanism)
    P = paired.matrix
    n, m = P.shape
    if m > n:
        assert paired.outputs == tuple(range(m))
        return
    assert set(paired.outputs) <= set(prior.labels)
    best = max(
        sum(prior.probabilities[i] * P[i, j] for j, i in enumerate(chosen))
        for chosen in itertools.permutations(range(n), m)
    )
    assert ex.theory.agreement(prior, paired) == pytest.approx(best, abs=1e-14)
    assert ex.theory.agreement(prior, paired) >= ex.theory.agreement(prior, mechanism) - 1e-14


@given(high_privacy_designs())
def test_pairing_changes_neither_leakage_nor_utility(design):
    prior, epsilon = design
    mechanism = closed_form.high_privacy(prior, epsilon)
    paired = ex.theory.pair_outputs(prior, mechanism)
    assert ex.epsilon_pml(prior, paired) == pytest.approx(ex.epsilon_pml(prior, mechanism), abs=1e-15)
    assert ex.mutual_information(prior, paired) == pytest.approx(
        ex.mutual_information(prior, mechanism), abs=1e-15
    )
    assert paired.outputs == paired.inputs == prior.labels


def test_outputs_carry_labels_in_the_order_of_the_inputs():
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    mechanism = ex.Mechanism([[0, 1, 0], [1, 0, 0], [0.5, 0, 0.5]], inputs=prior.labels)
    paired = ex.theory.pair_outputs(prior, mechanism)
    assert paired.outputs == ("a", "b", "c")
    np.testing.assert_array_equal(paired.matrix, [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]])
    assert ex.theory.agreement(prior, paired) == pytest.approx(0.9)
    assert ex.theory.agreement(prior, ex.theory.randomized_response(prior, 0)) == pytest.approx(1 / 3)


def test_fewer_outputs_than_inputs_get_the_labels_that_fit_best():
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    paired = ex.theory.pair_outputs(
        prior, ex.Mechanism([[0, 1, 0], [0, 0, 1], [0, 0, 1]], inputs=prior.labels)
    )
    assert paired.outputs == ("a", "b")
    assert ex.theory.agreement(prior, paired) == pytest.approx(0.8)


def test_labels_of_the_mechanism_serve_where_the_prior_has_none():
    mechanism = ex.Mechanism(np.eye(2)[:, ::-1], inputs=["x", "y"])
    paired = ex.theory.pair_outputs(ex.Prior([0.5, 0.5]), mechanism)
    assert paired == ex.Mechanism(np.eye(2), ["x", "y"], ["x", "y"])
    assert ex.theory.agreement(ex.Prior([0.5, 0.5]), paired) == 1


def test_more_outputs_than_inputs_of_tuples_are_tuples_of_the_same_length():
    P = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]
    paired = ex.theory.pair_outputs(ex.Prior([0.5, 0.5], [("f", 20), ("m", 40)]), ex.Mechanism(P))
    assert paired.outputs == (("#0", "#0"), ("#1", "#1"), ("#2", "#2"))
    assert ex.theory.pair_outputs(ex.Prior([0.5, 0.5], ["f", "m"]), ex.Mechanism(P)).outputs == (0, 1, 2)
