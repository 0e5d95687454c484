"""Leakage: Definition 1 in its simplified form, the leakage as a random variable, what peers compute too."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from tests.support import oracles
from tests.support.strategies import mechanisms, pairs, priors

FLIP = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])


@given(pairs())
def test_leakage_is_the_log_of_the_largest_lift_computed_in_fractions(pair):
    prior, mechanism = pair
    pi = [Fraction(p) for p in prior.probabilities.tolist()]
    P = [[Fraction(p) for p in row] for row in mechanism.matrix.tolist()]
    exact = oracles.exact_lift(pi, P)
    for j, leakage in enumerate(ex.pml(prior, mechanism)):
        column = [row[j] for row in exact]
        if column[0] is None:
            assert leakage == 0
            assert ex.measures.lift(prior, mechanism)[:, j].tolist() == [1] * prior.size
        else:
            assert leakage == pytest.approx(max(math.log(max(column)), 0), abs=1e-14)
            np.testing.assert_allclose(
                ex.measures.lift(prior, mechanism)[:, j], [float(x) for x in column], rtol=1e-14
            )


@given(pairs())
def test_leakage_lies_between_zero_and_epsilon_max(pair):
    prior, mechanism = pair
    leakage = ex.pml(prior, mechanism)
    assert leakage.shape == (mechanism.shape[1],)
    assert leakage.min() >= 0
    assert leakage.max() <= prior.epsilon_max + 1e-14
    assert ex.epsilon_pml(prior, mechanism) == leakage.max()


@given(pairs())
def test_lifts_average_to_one_over_inputs_and_over_outputs(pair):
    prior, mechanism = pair
    lift = ex.measures.lift(prior, mechanism)
    np.testing.assert_allclose(prior.probabilities @ lift, 1, atol=1e-14)
    np.testing.assert_allclose(lift @ mechanism.output_distribution(prior), 1, atol=1e-13)


@given(pairs())
def test_the_mean_of_exp_leakage_is_the_maximal_leakage(pair):
    prior, mechanism = pair
    distribution = ex.measures.leakage_distribution(prior, mechanism)
    assert oracles.log_mean_exp(distribution) == pytest.approx(
        ex.measures.maximal_leakage(mechanism), abs=1e-12
    )
    assert distribution.mean <= oracles.log_mean_exp(distribution) + 1e-12
    assert ex.measures.maximal_leakage(mechanism) <= ex.epsilon_pml(prior, mechanism) + 1e-12


@given(pairs(), st.floats(0, 3))
def test_the_leakage_is_a_random_variable_of_the_output(pair, epsilon):
    prior, mechanism = pair
    distribution = ex.measures.leakage_distribution(prior, mechanism)
    leakage, rho = ex.pml(prior, mechanism), mechanism.output_distribution(prior)
    assert np.all(np.diff(distribution.values) > 0)
    assert math.fsum(distribution.probabilities) == pytest.approx(1, abs=1e-15)
    assert distribution.mean == pytest.approx(leakage @ rho, abs=1e-11)
    assert ex.measures.tail_probability(prior, mechanism, epsilon) == distribution.tail(epsilon)
    assert distribution.tail(epsilon) == pytest.approx(rho[leakage > epsilon + 1e-12].sum(), abs=1e-14)
    assert distribution.tail(ex.epsilon_pml(prior, mechanism)) == 0


@given(pairs(), st.floats(0, 1))
def test_a_quantile_is_the_smallest_value_that_is_not_exceeded_often_enough(pair, q):
    distribution = ex.measures.leakage_distribution(*pair)
    value = distribution.quantile(q)
    assert value in distribution.values
    assert 1 - distribution.tail(value) >= q - 1e-11
    below = distribution.values[distribution.values < value]
    if len(below):
        assert 1 - distribution.tail(below[-1]) < q + 1e-11
    assert distribution.quantile(1) <= distribution.values[-1]


def test_the_leakage_distribution_of_an_example():
    prior = ex.Prior([0.5, 0.3, 0.2])
    mechanism = ex.Mechanism([[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    distribution = ex.measures.leakage_distribution(prior, mechanism)
    np.testing.assert_allclose(distribution.values, [math.log(2)])
    np.testing.assert_allclose(distribution.probabilities, [1])
    skewed = ex.measures.leakage_distribution(prior, ex.Mechanism([[1, 0], [0.5, 0.5], [0, 1]]))
    np.testing.assert_allclose(np.exp(skewed.values), [1 / 0.65, 1 / 0.35])
    np.testing.assert_allclose(skewed.probabilities, [0.65, 0.35])
    assert skewed.tail(0.5) == pytest.approx(0.35)
    assert [skewed.quantile(q) for q in (0, 0.65, 0.66, 1)] == [skewed.values[k] for k in (0, 0, 1, 1)]


def test_an_output_that_never_occurs_leaks_nothing():
    prior = ex.Prior([0.25, 0.75])
    mechanism = ex.Mechanism([[0, 1, 0], [0, 0, 1]])
    assert ex.pml(prior, mechanism).tolist() == [0, math.log(4), math.log(4 / 3)]
    assert ex.measures.ldp_epsilon(mechanism) == math.inf
    assert ex.measures.ldp_epsilon(ex.Mechanism([[0, 1], [0, 1]])) == 0
    assert len(ex.measures.leakage_distribution(prior, mechanism).values) == 2


def test_tiny_probabilities_do_not_spoil_lifts():
    prior = ex.Prior([1e-150, 1.0])
    mechanism = ex.Mechanism([[1e-300, 1], [0, 1]])
    assert ex.pml(prior, mechanism)[0] == pytest.approx(150 * math.log(10))
    assert ex.measures.lift(prior, mechanism)[:, 1].tolist() == [1, 1]
    assert ex.measures.ldp_epsilon(ex.Mechanism([[1e-310, 1], [1e-308, 1]])) == pytest.approx(
        math.log(100), rel=1e-6
    )


@given(pairs())
def test_local_measures_bound_each_other(pair):
    """PML is at most LIP, LIP at most LDP, and none is negative."""
    prior, mechanism = pair
    pml, lip, ldp = (
        ex.epsilon_pml(prior, mechanism),
        ex.measures.lip_epsilon(prior, mechanism),
        ex.measures.ldp_epsilon(mechanism),
    )
    assert 0 <= pml <= lip + 1e-12
    assert lip <= ldp + 1e-12


def test_local_measures_of_binary_randomized_response():
    prior = ex.Prior([0.5, 0.5])
    assert ex.measures.ldp_epsilon(FLIP) == pytest.approx(math.log(3))
    assert ex.measures.lip_epsilon(prior, FLIP) == pytest.approx(math.log(2))
    assert ex.epsilon_pml(prior, FLIP) == pytest.approx(math.log(1.5))
    assert ex.measures.maximal_leakage(FLIP) == pytest.approx(math.log(1.5))
    assert ex.measures.lip_epsilon(prior, ex.Mechanism(np.eye(2))) == math.inf


# Peers


@given(pairs())
def test_maximal_leakage_and_mutual_information_agree_with_qif(pair):
    qif = pytest.importorskip("qif")
    prior, mechanism = pair
    pi, C = prior.probabilities.copy(), np.array(mechanism.matrix, order="F")
    assert ex.measures.maximal_leakage(mechanism) == pytest.approx(
        math.log(qif.measure.bayes_vuln.mult_capacity(C)), abs=1e-9
    )
    bits = qif.measure.shannon.add_leakage(pi, C)
    assert ex.mutual_information(prior, mechanism) == pytest.approx(bits * math.log(2), abs=1e-9)


@given(pairs())
def test_the_probability_of_guessing_x_agrees_with_qif(pair):
    qif = pytest.importorskip("qif")
    prior, mechanism = pair
    guessing = ex.ExpectedGain(np.eye(prior.size))
    theirs = qif.measure.bayes_vuln.posterior(
        prior.probabilities.copy(), np.array(mechanism.matrix, order="F")
    )
    assert guessing(prior, mechanism) == pytest.approx(theirs, abs=1e-9)


@given(st.integers(2, 6).flatmap(mechanisms))
def test_ldp_epsilon_agrees_with_qif(mechanism):
    qif = pytest.importorskip("qif")
    P = mechanism.matrix[:, mechanism.matrix.max(axis=0) > 0]
    theirs = qif.measure.d_privacy.smallest_epsilon(np.array(P, order="F"), lambda i, j: float(i != j))
    assert ex.measures.ldp_epsilon(mechanism) == pytest.approx(theirs, abs=1e-9)


@given(priors(max_size=4), st.data())
def test_maximal_leakage_and_mutual_information_agree_with_dit(prior, data):
    dit = pytest.importorskip("dit")
    mechanism = data.draw(mechanisms(prior.size, max_outputs=5))
    joint = prior.probabilities[:, None] * mechanism.matrix
    joint /= joint.sum()
    where = np.argwhere(joint > 0)
    distribution = dit.Distribution([tuple(pair) for pair in where.tolist()], joint[tuple(where.T)])
    theirs = dit.other.maximal_leakage(distribution, [0], [1])
    assert ex.measures.maximal_leakage(mechanism) == pytest.approx(theirs * math.log(2), abs=1e-9)
    theirs = dit.shannon.mutual_information(distribution, [0], [1])
    assert ex.mutual_information(prior, mechanism) == pytest.approx(theirs * math.log(2), abs=1e-9)
