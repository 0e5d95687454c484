"""Theorem 1 as an algorithm: at most N outputs, leakage no higher, utility no lower."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.theory import closed_form
from tests.support import oracles
from tests.support.strategies import designs, mechanisms, priors


def assert_reduced(prior, mechanism, utility):
    reduced = ex.theory.reduce_outputs(prior, mechanism, utility)
    assert reduced.shape[1] <= prior.size
    assert np.abs(reduced.matrix.sum(axis=1) - 1).max() <= 1e-12
    assert reduced.matrix.max(axis=0).min() > 1e-14
    assert ex.epsilon_pml(prior, reduced) <= ex.epsilon_pml(prior, mechanism) + 1e-12
    before, after = utility(prior, mechanism), utility(prior, reduced)
    assert after >= before - 1e-12 * (1 + abs(before))
    assert set(reduced.outputs) <= set(mechanism.outputs)
    return reduced


@given(priors(), st.data())
def test_any_mechanism_is_reduced_at_no_loss_for_any_utility(prior, data):
    mechanism = data.draw(mechanisms(prior.size, max_outputs=40))
    assert_reduced(prior, mechanism, data.draw(st.sampled_from(oracles.every_utility(prior.size))))


@given(designs(), st.data())
def test_optimal_columns_survive_only_rescaled(design, data):
    prior, epsilon = design
    mechanism = closed_form.arc(prior, epsilon)
    reduced = assert_reduced(prior, mechanism, ex.mutual_information)
    before, after = ex.measures.lift(prior, mechanism), ex.measures.lift(prior, reduced)
    kept = [mechanism.outputs.index(y) for y in reduced.outputs]
    np.testing.assert_allclose(after, before[:, kept], rtol=1e-10, atol=1e-10)


@given(priors(), st.data())
def test_up_to_n_outputs_nothing_changes_but_empty_ones_go(prior, data):
    mechanism = data.draw(mechanisms(prior.size, max_outputs=prior.size))
    reduced = ex.theory.reduce_outputs(prior, mechanism, ex.mutual_information)
    occurs = mechanism.matrix.max(axis=0) > 0
    assert np.array_equal(reduced.matrix, mechanism.matrix[:, occurs])
    assert reduced.outputs == tuple(np.flatnonzero(occurs))


@given(priors(max_size=4), st.data())
def test_a_joint_release_can_be_reduced(prior, data):
    one, other = (data.draw(mechanisms(prior.size, max_outputs=5)) for _ in range(2))
    reduced = assert_reduced(prior, one.compose(other), ex.utilities.chi_squared)
    assert all(type(pair) is tuple for pair in reduced.outputs)


def test_repeated_and_empty_columns_leave_no_outputs_of_negligible_weight():
    prior = ex.Prior([0.5, 0.3, 0.2])
    halves = np.repeat([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]], 3, axis=1) / 3
    mechanism = ex.Mechanism(np.insert(halves, 4, 0, axis=1))
    reduced = assert_reduced(prior, mechanism, ex.mutual_information)
    assert reduced.same_up_to_columns(ex.Mechanism(halves[:, [0, 3, 6]] * 3), 1e-12)
    dust = np.column_stack((halves, np.full((3, 3), 1e-17)))
    assert_reduced(prior, ex.Mechanism(dust), ex.mutual_information)


@pytest.mark.parametrize("kind", ["random", "sparse", "nearly equal", "steep"])
def test_fifty_inputs_and_two_hundred_outputs_take_seconds(kind):
    rng = np.random.default_rng(7)
    n, m = 50, 200
    prior = ex.Prior(rng.dirichlet(np.full(n, 0.5)) * 0.999 + 0.001 / n)
    weights = rng.exponential(size=(n, m))
    if kind == "sparse":
        weights *= rng.random((n, m)) < 0.1
        weights[:, 0] += 0.01
    elif kind == "nearly equal":
        weights = 1 + 1e-9 * weights
    elif kind == "steep":
        weights *= 10.0 ** rng.uniform(-12, 0, m)
    mechanism = ex.Mechanism(weights / weights.sum(axis=1, keepdims=True))
    for utility in (ex.mutual_information, ex.ExpectedGain(np.eye(n))):
        assert_reduced(prior, mechanism, utility)


def test_utilities_are_not_asked_about_columns_that_never_occur():
    prior = ex.Prior([0.5, 0.5])
    spy = ex.Utility(lambda prior, P: P.max(axis=0) / (P.max(axis=0) > 0), "spy")
    mechanism = ex.Mechanism([[0.5, 0, 0.25, 0.25], [0.25, 0, 0.5, 0.25]])
    assert_reduced(prior, ex.Mechanism(mechanism.matrix[:, [0, 2, 3]]), spy)
    assert ex.theory.reduce_outputs(prior, mechanism, spy).shape == (2, 2)
