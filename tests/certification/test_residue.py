"""Residue of a solver in what is certified: it becomes zero where that is allowed."""

import math

import numpy as np
import pytest

import extremal as ex
from extremal.certification.certify import certify
from extremal.errors import CertificationError
from tests.support.exact_levels import BASE, is_certified
from tests.support.wording import refused


def with_residue(prior, mechanism, size, seed=0):
    """The mechanism with lifts of this size in place of its zeros, as a solver leaves them."""
    rng = np.random.default_rng(seed)
    P, rho = mechanism.matrix, mechanism.output_distribution(prior)
    P = np.where(P == 0, size * rho * rng.uniform(0.1, 1, P.shape), P)
    return ex.Mechanism(P / P.sum(axis=1, keepdims=True), mechanism.inputs, mechanism.outputs)


@pytest.mark.parametrize("size", [1e-16, 1e-12, 1e-10])
@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.2])
def test_residue_becomes_zero(size, epsilon):
    mechanism = ex.design(BASE, epsilon, ex.mutual_information).mechanism
    dirty = with_residue(BASE, mechanism, size)
    c = certify(BASE, dirty, epsilon)
    assert is_certified(c)
    assert np.array_equal(c.weights == 0, mechanism.matrix == 0)
    assert "residue set to zero" in c.method
    assert np.abs(c.mechanism.matrix - mechanism.matrix).max() < 100 * size + 1e-12


def test_larger_residue_becomes_zero_at_a_level_that_it_keeps():
    for size in (1e-8, 9e-7):
        mechanism = ex.design(BASE, 0.7, ex.mutual_information).mechanism
        dirty = with_residue(BASE, mechanism, size)
        epsilon = ex.epsilon_pml(BASE, dirty)
        c = certify(BASE, dirty, epsilon)
        assert is_certified(c)
        assert np.array_equal(c.weights == 0, mechanism.matrix == 0)
        assert np.abs(c.mechanism.matrix - dirty.matrix).max() < 20 * size


def test_what_is_no_residue_stays():
    mechanism = with_residue(BASE, ex.design(BASE, 0.7, ex.mutual_information).mechanism, 1e-4)
    c = certify(BASE, mechanism, ex.epsilon_pml(BASE, mechanism))
    assert (c.weights > 0).all()


def test_residue_that_epsilon_forbids_to_be_zero_stays():
    """Just below epsilon_max a binary mechanism cannot disclose; what keeps it from that is less than 1e-6."""
    prior = ex.Prior([0.5, 0.5])
    t = 1e-8
    c = certify(
        prior, ex.Mechanism([[1 - t, t], [t, 1 - t]]), math.log(2 * (1 - t)) + 1e-15, allow_true_answers=True
    )
    assert is_certified(c)
    assert (c.weights > 0).all()


def test_residue_that_nothing_near_by_does_without_is_refused():
    """Each of the last two reports may do without its residue, but not both: they share what "c" can give."""
    prior = ex.Prior([0.3, 0.1, 0.1, 0.1, 0.4], list("abcde"))
    t = 1e-7
    mechanism = ex.Mechanism([[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1], [1 - 2 * t, t, t]])
    epsilon = math.log(1 / (0.15 + 0.4 * t))
    with refused(CertificationError, "mechanism") as caught:
        certify(prior, mechanism, epsilon)
    assert "\n" not in str(caught.value)
    c = certify(prior, mechanism, epsilon + 1e-6)
    assert is_certified(c)
    assert np.array_equal(c.weights == 0, mechanism.matrix < 1e-6)
