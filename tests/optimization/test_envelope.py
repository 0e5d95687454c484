"""Designs with limits of the leakage envelope: against random mechanisms, exact integers and a tampered proof."""

import math
from dataclasses import replace

import numpy as np
import pytest

import extremal as ex

PRIOR = ex.Prior([0.5, 0.3, 0.2])
LIMITS = {0.2: 0.5}


@pytest.fixture(scope="module")
def design():
    return ex.design(PRIOR, 1.0, ex.mutual_information, envelope=LIMITS, tolerance=0.05)


def largest_event(prior, P, x, delta):
    """max of P(E|x) over randomised events with P(E) = delta: reports are taken in the order of their lift."""
    q = prior @ P
    told = 0.0
    for y in sorted(range(P.shape[1]), key=lambda y: -P[x, y] / q[y]):
        part = min(1.0, delta / q[y])
        told, delta = told + part * P[x, y], delta - part * q[y]
        if delta <= 0:
            break
    return told


def test_the_limit_holds_and_lets_more_through_than_the_worst_case(design):
    P = design.mechanism.matrix
    assert max(largest_event(PRIOR.probabilities, P, x, 0.2) for x in range(3)) <= 0.2 * math.exp(0.5)
    assert ex.epsilon_pml(PRIOR, design.mechanism) > 0.6
    assert design.value > 1.05 * ex.design(PRIOR, 0.5, ex.mutual_information).value
    assert design.gap <= 0.05
    assert "the worst 0.2 of all reports tells at most 0.5 nats" in str(design)


def test_no_random_mechanism_within_the_limits_is_better(design):
    """Columns in the cone of epsilon, scaled towards a constant mechanism until the limit holds."""
    rng = np.random.default_rng(5)
    pi, best = PRIOR.probabilities, 0.0
    for _ in range(1500):
        P = rng.dirichlet(np.full(4, rng.choice([0.1, 0.3, 1.0])), size=3) + 1e-9
        P /= P.sum(axis=1, keepdims=True)
        q = pi @ P
        top = max((P / q).max(), 1 + 1e-9)
        factor = max(largest_event(pi, P, x, 0.2) for x in range(3)) / 0.2
        keep = min(1.0, (math.e - 1) / (top - 1), (math.exp(0.5) - 1) / max(factor - 1, 1e-12))
        best = max(best, ex.mutual_information(PRIOR, ex.Mechanism(keep * P + (1 - keep) * q)))
    assert 0.5 * design.value < best <= design.upper_bound


def test_what_the_solver_rounds_leaves_room_for_integers():
    """Here the solver's mechanism is above the limit by itself."""
    made = ex.design(PRIOR, 1.0, ex.mutual_information, envelope={0.2: 0.1}, tolerance=0.3)
    P = ex.certify(made, allow_true_answers=True).mechanism.matrix
    assert max(largest_event(PRIOR.probabilities, P, x, 0.2) for x in range(3)) < 0.2 * math.exp(0.1)


def test_two_answers_and_a_rare_event_need_the_worst_case():
    """With delta below the mass of every output the envelope at delta is the worst case itself."""
    prior = ex.Prior([0.6, 0.4])
    made = ex.design(prior, 0.9, ex.mutual_information, envelope={0.1: 0.3})
    exact = ex.design(prior, 0.3, ex.mutual_information)
    assert made.value == pytest.approx(exact.value, rel=1e-6)
    assert made.value <= made.upper_bound <= exact.value * (1 + 1.1e-3)


def test_certified_integers_keep_the_limit_exactly(design):
    certified = ex.certify(design, allow_true_answers=True)
    assert ex.measures.envelope(certified)(0.2) <= 0.5
    assert certified.realised_epsilon <= 1.0
    with pytest.raises(
        ex.errors.CertificationError, match=r"the worst 0.3 of reports tells more than 0.2 nats"
    ):
        ex.certify(replace(design, envelope=((0.3, 0.2),)))


def test_the_bound_is_proved_without_the_solver_and_a_tampered_proof_is_not(design):
    assert ex.check_design(design).ok
    proof = design.certificate
    for wrong, message in (
        (
            replace(proof, **{f: getattr(proof, f)[1:] for f in ("lows", "highs", "prices", "penalties")}),
            "cover",
        ),
        (replace(proof, lows=proof.lows[:, :, :2]), "shape"),
        (replace(proof, penalties=-proof.penalties), ">= 0"),
        (replace(proof, prices=0.9 * proof.prices), "not proved"),
    ):
        found = ex.check_design(replace(design, certificate=wrong))
        assert not found.ok
        assert message in " ".join(found.problems)
    assert not ex.check_design(replace(design, upper_bound=1.001 * design.value)).ok
    assert "tells" in " ".join(ex.check_design(replace(design, envelope=((0.2, 0.4),))).problems)


def test_two_limits_at_once_and_another_utility():
    guess = ex.utilities.ExpectedGain(np.eye(3))
    made = ex.design(PRIOR, 1.2, guess, envelope={0.1: 0.8, 0.4: 0.3}, tolerance=0.1)
    envelope = ex.measures.envelope(PRIOR, made.mechanism)
    assert envelope(0.1) <= 0.8
    assert envelope(0.4) <= 0.3
    assert ex.design(PRIOR, 0.3, guess).value * (1 - 1e-7) <= made.value <= made.upper_bound
    assert ex.check_design(made).ok


def test_limits_that_say_nothing_leave_the_design_as_it_is():
    for limits in ({0.5: 0.9}, {0.1: 1.5}, {1.0: 0.0}):
        made = ex.design(PRIOR, 1.0, ex.mutual_information, envelope=limits)
        assert made.value == ex.design(PRIOR, 1.0, ex.mutual_information).value
        assert ex.check_design(made).ok
    nothing = ex.design(PRIOR, 1.0, ex.mutual_information, envelope={0.1: 0.0})
    assert nothing.value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"envelope": {0.1: 0.5}}, ex.errors.OptionError, "give a utility"),
        ({"envelope": {}}, ex.errors.OptionError, "limits by share"),
        (
            {"envelope": {1.5: 0.5}, "utility": ex.mutual_information},
            ex.errors.OptionError,
            "above 0 and at most 1",
        ),
        ({"envelope": {0.1: -1.0}, "utility": ex.mutual_information}, ex.errors.EpsilonError, "epsilon"),
    ],
)
def test_limits_that_are_none_are_refused(how, error, message):
    with pytest.raises(error, match=message):
        ex.design(PRIOR, 1.0, **how)


def test_too_many_answers_are_refused_with_what_to_do():
    with pytest.raises(ex.errors.SizeError, match="keep the limit in the worst case"):
        ex.design(ex.Prior.uniform(range(9)), 1.0, ex.mutual_information, envelope=LIMITS)
