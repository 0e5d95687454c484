"""Definitions 2 and 3, and Proposition 1."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.theory.majorization import majorizes
from tests.support.strategies import priors


def transfer(p, rich, poor, share):
    """p after moving `share` of half the difference from one element to a smaller one: p majorizes the result."""
    q = p.copy()
    amount = share * (q[rich] - q[poor]) / 2
    q[rich] -= amount
    q[poor] += amount
    return q


def test_the_papers_example():
    assert majorizes([2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3])
    assert not majorizes([1 / 3, 1 / 3, 1 / 3], [2 / 3, 1 / 3, 0])


@given(priors())
def test_every_distribution_lies_between_the_uniform_and_a_point(prior):
    n = prior.size
    assert majorizes(prior.probabilities, np.full(n, 1 / n))
    assert majorizes(np.eye(n)[0], prior.probabilities)
    assert majorizes(prior.probabilities, prior.probabilities[::-1])


@given(priors(), st.data(), st.floats(0, 1))
def test_a_transfer_from_rich_to_poor_is_majorized_and_keeps_the_sum(prior, data, share):
    order = np.argsort(prior.probabilities)
    i, j = sorted(data.draw(st.tuples(*[st.integers(0, prior.size - 1)] * 2)))
    after = transfer(prior.probabilities, order[j], order[i], share)
    assert majorizes(prior.probabilities, after)
    assert math.fsum(after) == pytest.approx(1, abs=1e-15)


def test_majorization_is_a_partial_order():
    a, b = [0.6, 0.2, 0.2], [0.5, 0.4, 0.1]
    assert not majorizes(a, b)
    assert not majorizes(b, a)
    assert not majorizes([1, 0], [1, 1])  # unequal sums


@given(priors(), st.data(), st.floats(0, 1))
def test_max_is_schur_convex_and_min_and_entropy_are_schur_concave(prior, data, share):
    p = prior.probabilities
    order = np.argsort(p)
    i, j = sorted(data.draw(st.tuples(*[st.integers(0, prior.size - 1)] * 2)))
    q = transfer(p, order[j], order[i], share)
    for phi in (np.max, lambda x: -np.min(x), lambda x: np.sum(x * np.log(x))):
        assert phi(p) >= phi(q) - 1e-12


@given(priors(), st.data(), st.floats(0, 1), st.floats(0, 20))
def test_proposition_1_the_leakage_of_randomized_response_is_schur_convex_in_the_prior(
    prior, data, share, level
):
    p = prior.probabilities
    order = np.argsort(p)
    i, j = sorted(data.draw(st.tuples(*[st.integers(0, prior.size - 1)] * 2)))
    q = transfer(p, order[j], order[i], share)
    leakages = [ex.theory.randomized_response_epsilon(ex.Prior(x), level) for x in (p, q)]
    assert leakages[0] >= leakages[1] - 1e-12
