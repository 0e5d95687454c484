"""OpenDP's samplers, where installed: their noise leaks what the library says of it, and audit_pairs finds no more.

Their draws cannot be seeded, so confidence is such that chance fails a test once in a million runs.
"""

import numpy as np
import pytest
from scipy.stats import chisquare

import extremal as ex
from tests.support.lazy import Lazy

dp = Lazy("opendp.prelude")

PAIRS = 20_000
SURE = 1 - 1e-6
NUMBERS = ex.Prior({0: 0.35, 1: 0.2, 2: 0.3, 3: 0.1, 4: 0.05})


@pytest.fixture(scope="module", autouse=True)
def contributed():
    pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")


@pytest.fixture(scope="module")
def answers():
    return np.random.default_rng(7).choice(5, PAIRS, p=NUMBERS.probabilities)


@pytest.fixture(scope="module")
def noisy(answers):
    return np.array(dp.m.make_laplace(*vector(float), scale=1.0)(answers.astype(float).tolist()))


def vector(kind):
    atom = dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False)
    return dp.vector_domain(atom), dp.l1_distance(T=kind)


def passes(secrets, reports, prior, epsilon):
    """No violation of what is true, and one of half of it."""
    assert not ex.audit_pairs(secrets, reports, prior=prior, epsilon=epsilon, confidence=SURE).violation
    assert ex.audit_pairs(secrets, reports, prior=prior, epsilon=epsilon / 2, confidence=SURE).violation


@pytest.mark.slow
def test_bounded_geometric_noise_has_our_matrix_and_leaks_as_much(answers):
    sampler = dp.m.make_geometric(*vector(int), scale=1.5, bounds=(0, 4))
    reports = np.array(sampler(answers.tolist()))
    mechanism = ex.noise.geometric(NUMBERS, 1.5)
    passes(answers, reports, NUMBERS, ex.epsilon_pml(NUMBERS, mechanism))
    for x in range(5):
        drawn = np.bincount(reports[answers == x], minlength=5)
        assert chisquare(drawn, drawn.sum() * mechanism.matrix[x]).pvalue > 1e-7


@pytest.mark.slow
def test_laplace_noise_leaks_what_its_audit_says(answers, noisy):
    passes(answers, noisy, NUMBERS, ex.noise.audit(NUMBERS, ex.noise.laplace(1.0)).epsilon)


def test_rounded_into_a_finite_set_laplace_noise_leaks_no_more(answers, noisy):
    rounded = np.clip(np.round(noisy), 0, 4).astype(int)
    epsilon = ex.noise.audit(NUMBERS, ex.noise.laplace(1.0)).epsilon
    assert not ex.audit_pairs(answers, rounded, prior=NUMBERS, epsilon=epsilon, confidence=SURE).violation


def test_randomized_response_leaks_what_its_matrix_says():
    prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    sampler = dp.m.make_randomized_response(categories=list(prior.labels), prob=0.6)
    secrets = np.random.default_rng(3).choice(prior.labels, 12_000, p=prior.probabilities).tolist()
    reports = [sampler(secret) for secret in secrets]
    mechanism = ex.Mechanism(np.full((3, 3), 0.2) + 0.4 * np.eye(3), prior.labels, prior.labels)
    passes(secrets, reports, prior, ex.epsilon_pml(prior, mechanism))
    # Local differential privacy as OpenDP states it, and as the matrix has it.
    assert sampler.map(1) == pytest.approx(ex.measures.ldp_epsilon(mechanism))
