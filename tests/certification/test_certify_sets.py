"""Mechanisms certified for a set of priors keep epsilon for every member."""

import functools
import pickle
from fractions import Fraction

import numpy as np
import pytest

import extremal as ex
from extremal.certification.certified import Certified
from extremal.certification.certify import certify
from extremal.errors import CertificationError
from tests.support.exact_levels import BASE, COUNTS, exp_bounds, is_certified
from tests.support.wording import refused

SETS = {
    "sample": ex.PriorSet.from_counts(COUNTS, 0.9),
    "unseen": ex.PriorSet.from_counts([400, 300, 200, 100, 0]),
    "ball": ex.PriorSet.l1_ball(BASE, 0.2),
    "ball to the border": ex.PriorSet.l1_ball(BASE, 0.3),
    "intervals": ex.PriorSet.intervals(BASE.probabilities * 0.7, np.minimum(BASE.probabilities * 1.5, 1)),
    "floor": ex.PriorSet.at_least(5, 0.05),
    "all": ex.PriorSet.at_least(5, 0),
    "point": ex.PriorSet.l1_ball(ex.Prior([0.5, 0.25, 0.125, 0.0625, 0.0625]), 0),
}


@functools.cache
def random_members(kind, count):
    """Members in fractions: random transfers of mass from the center, small ones and as large as they can be."""
    return list(_random_members(SETS[kind], np.random.default_rng(0), count))


def _random_members(priors, rng, count):
    n = priors.size
    exact = [[Fraction(x) for x in part.tolist()] for part in (priors.center, priors.lower, priors.upper)]
    center, lower, upper = exact
    half = Fraction(priors.radius) / 2
    lacking = 1 - sum(center)
    for k in range(count):
        pi, left = list(center), half - abs(lacking)
        i = next(i for i in rng.permutation(n) if lower[i] <= pi[i] + lacking <= upper[i])
        pi[i] += lacking
        order = rng.permutation(n).tolist()
        for to in order:  # every other member is moved as far as the set allows: a vertex
            for source in reversed(order):
                if to == source or left <= 0:
                    continue
                most = min(upper[to] - pi[to], pi[source] - lower[source], left)
                step = most if k % 2 else most * Fraction(int(rng.integers(0, 1001)), 1000)
                if step > 0 and pi[to] >= center[to] and pi[source] <= center[source]:
                    pi[to] += step
                    pi[source] -= step
                    left -= step
        assert sum(pi) == 1
        assert all(a <= x <= b for a, x, b in zip(lower, pi, upper, strict=True))
        assert sum(abs(a - b) for a, b in zip(pi, center, strict=True)) <= priors.radius
        yield pi


def is_kept(weights, pi, epsilon):
    """epsilon-PML under one prior, by the definition and in fractions."""
    below = exp_bounds(epsilon)[0]
    for column in weights.T.tolist():
        mean = sum(a * w for a, w in zip(pi, column, strict=True))
        if any(column) and max(column) > below * mean:
            return False
    return True


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("epsilon", [0.15, 0.8])
@pytest.mark.parametrize("members", [200, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("purpose", [ex.mutual_information, ex.shares], ids=["information", "shares"])
def test_every_prior_of_a_set_keeps_epsilon_exactly(kind, epsilon, members, purpose):
    priors = SETS[kind]
    mechanism = ex.design(priors, epsilon, purpose).mechanism
    c = certify(priors, mechanism, epsilon)
    assert c.prior_set is priors or c.prior_set.labels == c.inputs
    assert np.array_equal(c.prior.probabilities, priors.nominal.probabilities)
    assert [sum(row) for row in c.weights.tolist()] == [2**62] * 5
    assert is_certified(c)  # the nominal prior
    assert np.array_equal(c.weights == 0, mechanism.matrix == 0)
    assert np.abs(c.mechanism.matrix - mechanism.matrix).max() < 1e-11
    assert all(is_kept(c.weights, pi, epsilon) for pi in random_members(kind, members))
    assert c.realised_epsilon == pytest.approx(ex.epsilon_pml(priors, c.mechanism), abs=1e-14)
    back = pickle.loads(pickle.dumps(c))
    assert back == c
    assert back.prior_set.radius == priors.radius


def test_what_one_prior_allows_a_set_may_not():
    mechanism = ex.design(BASE, 0.5, ex.mutual_information).mechanism
    assert certify(BASE, mechanism, 0.5).prior_set is None
    with refused(CertificationError, "mechanism", "leaks"):
        certify(SETS["ball"], mechanism, 0.5)
    weights = certify(BASE, mechanism, 0.5).weights
    with refused(CertificationError, "mechanism", "leaks"):
        Certified(BASE, mechanism.outputs, weights, 0.5, prior_set=SETS["ball"])
    with refused(CertificationError, "prior", "nominal"):
        Certified(ex.Prior.uniform(BASE.labels), mechanism.outputs, weights, 2.0, prior_set=SETS["ball"])


def test_a_mechanism_with_zeros_is_refused_where_a_prior_of_the_set_leaves_only_them():
    with refused(CertificationError, "mechanism", "inf nats"):
        certify(SETS["all"], ex.Mechanism(np.eye(5)), 5.0)


def test_a_set_without_labels_takes_those_of_the_mechanism():
    mechanism = ex.Mechanism(np.full((5, 2), 0.5), list("vwxyz"))
    c = certify(SETS["sample"], mechanism, 0.5)
    assert c.inputs == c.prior_set.labels == tuple("vwxyz")
