"""The checker of designs for estimation refuses what is claimed without right."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import extremal as ex
from extremal.certification.quadratic import check_quadratic
from extremal.model.purpose import QuadraticProof

PI = np.array([0.4, 0.3, 0.2, 0.1])
EPSILON = 0.09  # below the first edge, where Theorem 3 is optimal


def theorem_3():
    c = math.exp(EPSILON)
    P = np.tile(c * PI, (4, 1))
    np.fill_diagonal(P, 1 - c * (1 - PI))
    J = (P / PI) @ P.T
    value = (1 - PI @ PI) / (np.trace(np.linalg.inv(J)) - PI @ PI)
    return P, J, value


def proof():
    """W = J^-1 J^-1, and prices for which all four vertices are worth the same."""
    P, J, _ = theorem_3()
    W = np.linalg.inv(J) @ np.linalg.inv(J)
    X = (P / PI).T - 1
    gains = np.einsum("ki,ki->k", X @ W, X)
    y = np.linalg.lstsq(np.column_stack([np.ones(4), X]), gains, rcond=None)[0][1:]
    return QuadraticProof(weights=W, prices=y, groups=None)


def check(**changes):
    P, _, value = theorem_3()
    claim = {"matrix": P, "value": value, "upper_bound": value * (1 + 1e-9), "proof": proof()} | changes
    return check_quadratic(PI, EPSILON, np.eye(4), **claim)


def test_a_true_claim_is_accepted():
    found = check()
    assert found.ok, found.problems
    assert found.upper_bound == pytest.approx(found.value, rel=1e-8)
    assert found.leakage == pytest.approx(EPSILON, abs=1e-12)


def test_a_weak_proof_of_a_weak_bound_is_accepted():
    d = QuadraticProof(weights=np.ones(4), prices=None, groups=None)
    found = check(upper_bound=1.0, proof=d)
    assert found.ok
    assert found.value <= found.upper_bound <= 1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"value": 0.02}, "efficiency is"),
        ({"upper_bound": theorem_3()[2] * 0.999}, "not proved"),
        ({"proof": QuadraticProof(weights=np.ones(4), prices=None, groups=None)}, "not proved"),
        ({"proof": QuadraticProof(weights=np.ones(3), prices=None, groups=None)}, "4 weights"),
        ({"proof": QuadraticProof(weights=-np.eye(4), prices=None, groups=None)}, "not proved"),
        (
            {"proof": QuadraticProof(weights=np.ones(3), prices=None, groups=[0, 0, 1, 2])},
            "merges symbols",
        ),
        ({"matrix": np.eye(4)}, "leakage"),
        ({"matrix": theorem_3()[0] * 0.99}, "row"),
        ({"matrix": -theorem_3()[0]}, "no mechanism"),
    ],
)
def test_false_claims_are_refused(changes, problem):
    found = check(**changes)
    assert not found.ok
    assert any(problem in text for text in found.problems)


def test_the_list_of_vertices_is_complete():
    """With a price on one symbol alone the best vertex is known: the symbol is full and as much else as fits."""
    pi = np.array([0.5, 0.3, 0.2])
    claim = QuadraticProof(weights=np.diag([0.0, 1e-6, 1e-6]), prices=np.array([0.0, 0.0, -1.0]), groups=None)
    found = check_quadratic(pi, 1.0, np.eye(3), np.full((3, 1), 1.0), 0.0, 1.0, claim)
    assert found.ok, found.problems


@pytest.mark.parametrize("claim", [math.inf, -math.inf, math.nan])
def test_a_value_that_is_no_number_is_not_believed(claim):
    design = ex.design(ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2}), 0.5)
    assert not ex.check_design(replace(design, value=claim)).ok


@pytest.mark.parametrize("power", [3, 12, 17, 19.24, 22, 30])
def test_weights_along_the_prior_prove_nothing(power):
    """They change no bound, but large ones once drowned it in rounding: a forged proof for randomized response."""
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    design, pi = ex.design(prior, 0.5), prior.probabilities
    response = ex.theory.randomized_response_for_pml(prior, 0.5)
    value = ex.shares(prior, response)
    for proof in (
        replace(design.proof, weights=design.proof.weights + 10.0**power * np.outer(pi, pi)),
        replace(design.proof, prices=design.proof.prices + 10.0**power * pi),
    ):
        forged = replace(design, made=response, value=value, upper_bound=0.15, proof=proof)
        assert not ex.check_design(forged).ok


@pytest.mark.parametrize(
    "wrong", [{"weights": "x"}, {"prices": [1, 2]}, {"groups": [1, 2]}, {"weights": None}]
)
def test_a_malformed_certificate_is_a_problem_not_an_exception(wrong):
    design = ex.design(ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2}), 0.5)
    found = ex.check_design(replace(design, proof=replace(design.proof, **wrong)))
    assert not found.ok
    assert not found.proved


@pytest.mark.parametrize("little", [1e-2, 1e-5, 1e-6])
def test_labels_that_are_never_told_apart_have_no_efficiency_however_little_the_others_tell(little):
    """Two rare labels have the same row, so nothing estimates their shares."""
    pi = np.array([0.5, 0.5 - 2 * little, little, little])
    P = np.array([[0.5 + little, 0.5 - little, 0], [0.5 - little, 0.5 + little, 0], [0, 0, 1], [0, 0, 1]])
    together = np.zeros((4, 4))
    together[2:, 2:] = 1  # but the share of both is known without an error
    proof = QuadraticProof(weights=np.ones(4), prices=None, groups=None)
    each, both = (check_quadratic(pi, 20.0, A, P, 0.5, 1.0, proof).value for A in (np.eye(4), together))
    assert each == 0
    assert both == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("rare", [1e-6, 1e-9, 1e-12])
def test_the_share_of_a_rare_group_is_checked_to_all_digits(rare):
    """Two groups, two reports: the efficiency is that of a binary mechanism, here in fractions."""
    pi = np.array([rare, 0.7 - rare, 0.2, 0.1])
    P = np.array([[0.75, 0.25], *[[0.25, 0.75]] * 3])
    A = np.zeros((4, 4))
    A[0, 0] = A[1:, 1:] = 1
    p, total = Fraction(rare), sum(map(Fraction, pi.tolist()))
    q = (p * Fraction(3, 4) + (total - p) * Fraction(1, 4)) / total
    exact = float(p / total * (1 - p / total) * Fraction(1, 4) / (q * (1 - q)))
    proof = QuadraticProof(weights=np.ones(4), prices=None, groups=None)
    assert check_quadratic(pi, 20.0, A, P, exact, 1.0, proof).value == pytest.approx(exact, rel=1e-12, abs=0)
