"""Definition 1 by construction: adversaries who attain the leakage, and none who exceeds it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import extremal as ex
from extremal.model.adversary import Attribute, GainAdversary, posterior, worst_attribute, worst_gain
from tests.support.strategies import pairs, priors, stochastic


def occurring(mechanism):
    return [
        y for y, largest in zip(mechanism.outputs, mechanism.matrix.max(axis=0), strict=True) if largest > 0
    ]


@given(pairs())
def test_the_worst_gain_attains_the_leakage_of_every_output(pair):
    prior, mechanism = pair
    adversary = worst_gain(prior)
    assert adversary.prior_gain(prior) == pytest.approx(1)
    for y in occurring(mechanism):
        expected = ex.pml(prior, mechanism)[mechanism.outputs.index(y)]
        assert adversary.leakage(prior, mechanism, y) == pytest.approx(expected, abs=1e-12)


@given(priors(max_size=4).filter(lambda prior: prior.probabilities.min() > 1e-3), st.data())
def test_the_worst_attribute_attains_the_leakage_of_its_output(prior, data):
    mechanism = ex.Mechanism(data.draw(stochastic(prior.size, 3)))
    for y in occurring(mechanism):
        attribute = worst_attribute(prior, mechanism, y)
        np.testing.assert_allclose(attribute.channel.sum(axis=1), 1, atol=1e-12)
        expected = ex.pml(prior, mechanism)[mechanism.outputs.index(y)]
        assert attribute.leakage(prior, mechanism, y) == pytest.approx(expected, abs=1e-11)


@given(pairs(), st.data())
def test_no_gain_exceeds_the_leakage(pair, data):
    prior, mechanism = pair
    shape = (prior.size, data.draw(st.integers(1, 4)))
    gain = data.draw(hnp.arrays(float, shape, elements=st.floats(0, 1e6)))
    gain[0, 0] += 1
    for y in occurring(mechanism):
        most = ex.pml(prior, mechanism)[mechanism.outputs.index(y)]
        assert GainAdversary(gain).leakage(prior, mechanism, y) <= most + 1e-12


@given(pairs(), st.data())
def test_no_attribute_exceeds_the_leakage(pair, data):
    prior, mechanism = pair
    attribute = Attribute(data.draw(stochastic(prior.size, data.draw(st.integers(1, 5)))))
    for y in occurring(mechanism):
        most = ex.pml(prior, mechanism)[mechanism.outputs.index(y)]
        assert attribute.leakage(prior, mechanism, y) <= most + 1e-12


@given(pairs())
def test_the_posterior_is_bayes_rule(pair):
    prior, mechanism = pair
    for y in occurring(mechanism):
        column = mechanism.matrix[:, mechanism.outputs.index(y)]
        joint = prior.probabilities * column
        np.testing.assert_allclose(posterior(prior, mechanism, y), joint / joint.sum(), atol=1e-14)


def test_adversaries_of_an_example():
    prior = ex.Prior([0.5, 0.3, 0.2])
    mechanism = ex.Mechanism([[1, 0], [1, 0], [0, 1]], outputs=["low", "high"])
    assert worst_gain(prior).leakage(prior, mechanism, "high") == pytest.approx(math.log(5))
    attribute = worst_attribute(prior, mechanism, "high")
    assert attribute.channel.shape == (3, 3 + 2 + 1)  # 0.5 in 3 parts, 0.3 in 2, 0.2 whole
    assert attribute.prior_gain(prior) == pytest.approx(0.2)
    assert attribute.posterior_gain(prior, mechanism, "high") == pytest.approx(1)
    assert GainAdversary([[1.0], [0], [0]]).leakage(prior, mechanism, "high") == -math.inf


def test_an_attribute_splits_evenly_where_masses_are_multiples():
    prior = ex.Prior([0.6, 0.3, 0.1])
    attribute = worst_attribute(prior, ex.Mechanism(np.eye(3)), 2)
    assert attribute.channel.shape == (3, 6 + 3 + 1)
    assert attribute.prior_gain(prior) == pytest.approx(0.1)
