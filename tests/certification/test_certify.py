"""Certified mechanisms: the integers satisfy epsilon exactly, little is lost, nothing leaky passes."""

import contextlib
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import extremal as ex
from extremal.certification import file as mechanism_file
from extremal.certification.certified import Certified
from extremal.certification.certify import certify
from extremal.certification.integers import BITS, TOTAL
from extremal.certification.proof import Lift, column_runs, exp_below, largest_lift, log_above, prior_masses
from extremal.certification.weights import candidates, integer_rows
from extremal.errors import CertificationError, EpsilonError, MechanismError, SizeError
from extremal.model.mechanism import constant, identity
from tests.support.exact_levels import exp_bounds, is_certified
from tests.support.strategies import levels, priors
from tests.support.wording import refused


def mechanisms_at(prior, epsilon):
    """Mechanisms that touch the level epsilon, up to rounding."""
    found = [constant(prior)]
    if epsilon < prior.epsilon_max:
        found.append(ex.theory.randomized_response_for_pml(prior, epsilon))
        found.append(ex.theory.closed_form.arc(prior, epsilon))
    else:
        found.append(identity(prior))
    with contextlib.suppress(ex.errors.RegionError):
        found.append(ex.theory.closed_form.high_privacy(prior, epsilon))
    return found


@given(data=st.data(), prior=priors())
def test_the_integers_satisfy_epsilon_exactly_at_every_level_and_edge(data, prior):
    epsilon = data.draw(levels(prior))
    for mechanism in mechanisms_at(prior, epsilon):
        assume(ex.epsilon_pml(prior, mechanism) <= epsilon + 1e-9)
        assert is_certified(certify(prior, mechanism, epsilon, allow_true_answers=True))


@given(data=st.data(), prior=priors(max_size=5))
def test_any_mechanism_is_certified_at_its_own_leakage(data, prior):
    n, m = prior.size, data.draw(st.integers(1, 2 * prior.size))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    P = rng.dirichlet(np.full(m, 0.3), size=n)
    P[rng.random((n, m)) < 0.3] = 0
    P[:, 0] += P.sum(axis=1) < 0.1
    mechanism = ex.Mechanism(P / P.sum(axis=1, keepdims=True), prior.labels)
    epsilon = ex.epsilon_pml(prior, mechanism)
    c = certify(prior, mechanism, epsilon, allow_true_answers=True)
    assert is_certified(c)
    assert np.abs(c.mechanism.matrix - mechanism.matrix).max() < 1e-6  # at tiny levels rounding weighs more
    with refused(CertificationError, "mechanism", "leaks"):
        certify(prior, identity(prior), prior.epsilon_max - 1e-6, allow_true_answers=True)


def kl(P, prior):
    """Mutual information from terms r log r - r + 1, which lose nothing to cancellation near r = 1."""
    t = ex.measures.lift(prior, P)
    r = t - 1
    terms = np.where(t > 0, t * np.log1p(np.where(t > 0, r, 0)) - r, 1.0)
    return float(np.sum(prior.probabilities[:, None] * P.output_distribution(prior) * terms))


@pytest.mark.parametrize("n", [2, 3, 7, 40])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("rare", [0.2, 1e-4, 1e-9])
def test_certification_costs_less_than_1e_9_of_the_utility(n, epsilon, rare):
    rng = np.random.default_rng(n)
    p = rng.dirichlet(np.ones(n))
    p[0] = rare
    prior = ex.Prior.from_counts(p)
    for mechanism in mechanisms_at(prior, epsilon):
        c = certify(prior, mechanism, epsilon, allow_true_answers=True)
        assert is_certified(c)
        before, after = kl(mechanism, prior), kl(c.mechanism, prior)
        assert after >= before * (1 - 1e-9) - 1e-18


@pytest.mark.parametrize("epsilon", [0.2, 0.7, 1.5])
@pytest.mark.parametrize("n", [3, 10, 60])
def test_zeros_of_vertices_stay_zeros(n, epsilon):
    prior = ex.Prior.from_counts(np.random.default_rng(3).dirichlet(np.ones(n)))
    designs = [(ex.Prior.uniform(n), ex.theory.closed_form.uniform(n, min(epsilon, math.log(n))))]
    if epsilon < prior.epsilon_max:
        designs.append((prior, ex.theory.closed_form.arc(prior, epsilon)))
    for p, mechanism in designs:
        c = certify(p, mechanism, max(epsilon, ex.epsilon_pml(p, mechanism)), allow_true_answers=True)
        assert np.array_equal(c.weights == 0, np.ldexp(mechanism.matrix, BITS) < 1)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("n", [6, 12, pytest.param(30, marks=pytest.mark.slow)])
def test_designs_keep_their_zeros_and_their_value(n, epsilon):
    prior = ex.Prior.from_counts(np.random.default_rng(0).dirichlet(np.ones(n)))
    mechanism = ex.design(prior, epsilon, ex.mutual_information).mechanism
    c = certify(prior, mechanism, epsilon, allow_true_answers=True)
    assert is_certified(c)
    assert np.array_equal(c.weights == 0, mechanism.matrix == 0)
    assert kl(c.mechanism, prior) >= kl(mechanism, prior) * (1 - 1e-10)


def test_zeros_go_where_they_alone_exceed_epsilon():
    """At epsilon_max rounded down the identity is a few parts in 1e16 too leaky: its zeros must go."""
    for p in (0.3, 0.4, 1e-9, 0.123):
        prior = ex.Prior([p, 1 - p])
        epsilon = math.nextafter(prior.epsilon_max, 0)
        if p < 0.1:
            epsilon = math.nextafter(epsilon, 0)
        c = certify(prior, identity(prior), epsilon, allow_true_answers=True)
        assert is_certified(c)
        assert c.method == "rounded, zeros that epsilon forbids filled: 1"
        assert c.mechanism.matrix[0, 1] < 1e-13
        assert c.mechanism.matrix[0, 0] == pytest.approx(1, abs=1e-13)


def test_what_has_slack_is_only_rounded():
    prior = ex.Prior([0.5, 0.3, 0.2])
    assert certify(prior, identity(prior), 2.0, allow_true_answers=True).method == "rounded"
    assert np.array_equal(
        certify(prior, identity(prior), 2.0, allow_true_answers=True).weights,
        np.eye(3, dtype=np.uint64) << 62,
    )
    assert certify(prior, constant(prior), 0).weights.tolist() == [[TOTAL]] * 3
    spread = ex.Mechanism(np.tile([0.1, 0.2, 0.7], (3, 1)))
    c = certify(prior, spread, 0)
    assert (c.realised_epsilon, c.method) == (0, "rounded")


def test_rows_that_differ_by_rounding_are_constant_at_epsilon_0():
    prior = ex.Prior([0.5, 0.3, 0.2])
    P = np.tile([0.1, 0.2, 0.7], (3, 1))
    P[1, 0], P[1, 2] = np.nextafter(0.1, 1), 1 - 0.2 - np.nextafter(0.1, 1)
    c = certify(prior, ex.Mechanism(P), 0)
    assert c.realised_epsilon == 0
    assert len({tuple(row) for row in c.weights.tolist()}) == 1


def test_the_worst_outcome_its_leakage_and_the_level_are_named():
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    mechanism = ex.theory.randomized_response(prior, 1.0)
    leakage = ex.pml(prior, mechanism)
    with pytest.raises(CertificationError) as caught:
        certify(prior, mechanism, 0.1)
    message = str(caught.value)
    assert "\n" not in message
    for part in ("epsilon = 0.1", "outcome 'c'", f"{leakage.max():.6f}"[:7]):
        assert part in message


@pytest.mark.parametrize("excess", [1e-8, 1e-6, 0.1])
def test_an_excess_beyond_rounding_is_refused(excess):
    prior = ex.Prior([0.5, 0.3, 0.2])
    mechanism = ex.theory.randomized_response(prior, 1.0)
    with pytest.raises(CertificationError):
        certify(prior, mechanism, ex.epsilon_pml(prior, mechanism) - excess)


def test_an_excess_of_rounding_is_repaired():
    prior = ex.Prior([0.5, 0.3, 0.2])
    mechanism = ex.theory.randomized_response(prior, 1.0)
    for excess in (1e-16, 1e-13, 1e-10):
        c = certify(prior, mechanism, ex.epsilon_pml(prior, mechanism) - excess)
        assert is_certified(c)
        assert np.abs(c.mechanism.matrix - mechanism.matrix).max() < 10 * excess + 1e-13


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), "much"])
def test_epsilon_must_be_a_finite_number(epsilon):
    prior = ex.Prior([0.5, 0.5])
    with pytest.raises(EpsilonError):
        certify(prior, identity(prior), epsilon, allow_true_answers=True)


def test_prior_and_mechanism_must_fit(monkeypatch):
    with pytest.raises(MechanismError):
        certify(ex.Prior([0.5, 0.5]), identity(ex.Prior.uniform(3)), 1)
    monkeypatch.setattr(mechanism_file, "LARGEST_TABLE", 8)
    with refused(SizeError, "3 inputs x 3 outputs"):
        certify(ex.Prior.uniform(3), identity(ex.Prior.uniform(3)), 2)


def test_a_design_is_not_its_mechanism():
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    design = ex.design(prior, 0.4, ex.mutual_information)
    with refused(MechanismError, "mechanism", "Design, which has one"):
        certify(prior, design, 0.4)
    with refused(MechanismError, "Certified, which has", ".mechanism"):
        certify(prior, certify(prior, design.mechanism, 0.4), 0.4)


def test_labels_come_from_whoever_names_them():
    named = ex.Prior({"a": 0.5, "b": 0.5})
    plain = ex.Prior([0.5, 0.5])
    assert certify(named, ex.Mechanism(np.eye(2)), 1, allow_true_answers=True).inputs == ("a", "b")
    c = certify(plain, ex.Mechanism(np.eye(2), ["x", "y"], ["u", "v"]), 1, allow_true_answers=True)
    assert (c.inputs, c.outputs, c.prior.labels) == (("x", "y"), ("u", "v"), ("x", "y"))
    assert (c.mechanism.inputs, c.mechanism.outputs) == (("x", "y"), ("u", "v"))


@pytest.mark.parametrize(
    "label", [b"bytes", np.datetime64("2024-01-01"), frozenset([1]), float("inf"), "\ud800"]
)
def test_labels_that_cannot_be_stored_are_refused(label):
    prior = ex.Prior([0.5, 0.5], ["a", label])
    with pytest.raises(CertificationError, match=r"strings, integers|half a character"):
        certify(prior, identity(prior), 1, allow_true_answers=True)


def test_a_certificate_cannot_be_built_wrong():
    prior = ex.Prior([0.5, 0.5])
    half = TOTAL // 2
    good = np.array([[half, half], [half, half]], dtype=np.uint64)
    assert Certified(prior, ("a", "b"), good, 0.0).realised_epsilon == 0
    wrong = [
        good + np.uint64(1),
        good[:1],
        good.astype(float),
        np.array([[half, half], [half + 1, half]], dtype=np.uint64),
        np.array([[2**63, 2**62 + 2**63], [half, half]], dtype=np.uint64),  # sums to 2^62 modulo 2^64
        np.array([[TOTAL, 0], [0, TOTAL]], dtype=np.uint64),
    ]
    for weights in wrong:
        with pytest.raises(CertificationError):
            Certified(prior, ("a", "b"), weights, 0.6)
    with pytest.raises(MechanismError):
        Certified(prior, ("a", "a"), good, 0.6)


def test_a_certificate_is_frozen_and_survives_pickling():
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    c = certify(prior, ex.theory.randomized_response(prior, 1.0), 1.0)
    with pytest.raises(AttributeError):
        c.epsilon = 5.0
    with pytest.raises(ValueError, match="read-only"):
        c.weights[0, 0] = 1
    c.sampler.entries  # noqa: B018 - builds the tables, which are not sent
    sent = pickle.dumps(c)
    back = pickle.loads(sent)
    assert (back, hash(back), back.digest) == (c, hash(c), c.digest)
    assert len(sent) < 2000
    assert c != certify(prior, ex.theory.randomized_response(prior, 0.9), 1.0)
    assert "epsilon=1" in repr(c)


@given(epsilon=st.floats(0, 60) | st.floats(0, 1e-3) | st.sampled_from([5e-324, 1e-300, 1.0, 2.0, 59.9]))
def test_the_rational_bound_lies_below_the_exponential_and_close_to_it(epsilon):
    a, k = exp_below(epsilon)
    below, above = exp_bounds(epsilon, 100 if epsilon > 1e-50 else 800)
    assert 1 <= Fraction(a, 2**k) <= above
    assert above - Fraction(a, 2**k) <= (above - 1) / 2**90 + 2 * (above - below)


def test_the_bound_at_0_is_1_and_above_every_lift_at_huge_levels():
    assert exp_below(0.0) == (1, 0)
    a, k = exp_below(1e300)
    assert Fraction(a, 2**k) > 2**1100


@given(a=st.integers(1, 2**200), b=st.integers(1, 2**200))
def test_the_logarithm_is_rounded_up_by_little(a, b):
    a, b = max(a, b), min(a, b)
    f = log_above(Lift(a, b, 0))
    if a == b:
        assert f == 0
    elif a < 2 * b:
        assert f == pytest.approx(math.log1p((a - b) / b), rel=2e-15)
    else:
        assert f == pytest.approx(math.log(a / b), rel=2e-15)
    assert Fraction(a, b) <= exp_bounds(f)[1]


def test_the_smallest_masses_are_certified_too():
    prior = ex.Prior([1 - 1e-16, 1e-150])
    c = certify(prior, identity(prior), 400.0, allow_true_answers=True)
    assert c.realised_epsilon == pytest.approx(150 * math.log(10), rel=1e-12)
    assert is_certified(certify(prior, ex.theory.randomized_response_for_pml(prior, 1.0), 1.0))


@given(prior=priors(), seed=st.integers(0, 2**32), m=st.integers(1, 9))
def test_rounding_alone_changes_entries_by_parts_in_1e15(prior, seed, m):
    P = np.random.default_rng(seed).dirichlet(np.full(m, 0.5), size=prior.size)
    w = integer_rows(P)
    assert (w.sum(axis=1) == TOTAL).all()
    assert (w >= 0).all()
    assert not w[P == 0].any()
    assert np.abs(np.ldexp(w.astype(float), -BITS) - P).max() < 1e-14


def test_the_last_candidate_leaks_nothing():
    prior = ex.Prior([0.5, 0.3, 0.2])
    *_, (weights, method) = candidates(prior, np.eye(3), 0.0)
    assert method == "the constant mechanism"
    assert largest_lift(prior_masses(prior.probabilities.tolist()), column_runs(weights))[:2] == (1, 1)


@pytest.mark.slow
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_wide_matrices_with_tiny_masses_are_certified(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 80))
    p = rng.dirichlet(np.full(n, 0.2)) + 1e-9
    prior = ex.Prior.from_counts(p)
    epsilon = float(rng.uniform(0.05, 3))
    for mechanism in mechanisms_at(prior, epsilon):
        c = certify(prior, mechanism, epsilon)
        assert is_certified(c)
        assert c.method != "the constant mechanism" or mechanism.shape[1] == 1


@pytest.mark.slow
def test_a_thousand_symbols_are_certified_in_seconds():
    """The benchmark measures it; here it only has to work."""
    prior = ex.Prior.from_counts(np.random.default_rng(0).dirichlet(np.ones(1000)))
    c = certify(prior, ex.theory.randomized_response_for_pml(prior, 1.0), 1.0)
    assert c.realised_epsilon <= 1
    c = certify(ex.Prior.uniform(1000), ex.theory.closed_form.uniform(1000, 2.0), 2.0)
    assert c.realised_epsilon <= 2
    assert np.count_nonzero(c.weights == 0) > 800_000
