"""Designs made for estimation: what a general solver finds, no rival better, and as private as promised."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import extremal as ex
from extremal.errors import EpsilonError, OptionError, PriorError
from extremal.studies.data import ORDER, anes96
from tests.support import oracles
from tests.support.strategies import priors

THREE = ex.Prior([0.5, 0.3, 0.2])


def standard_error(prior, mechanism, people):
    """Of a share among so many people, averaged over the shares, from the efficiency; sampling comes on top."""
    efficiency = ex.shares(prior, mechanism)
    if efficiency == 0:
        return math.inf
    return math.sqrt((1 - np.sum(prior.probabilities**2)) * (1 / efficiency - 1) / people / prior.size)


@pytest.fixture(scope="module")
def party():
    return ex.Prior.from_data(anes96()["party"], labels=ORDER)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 1.4])
def test_the_efficiency_is_that_of_the_covariance_of_the_estimate(epsilon):
    """The estimate is linear in report counts, whose covariance given the answers is known: no information matrix."""
    people = 100
    mechanism = ex.theory.randomized_response_for_pml(THREE, epsilon)
    A = np.linalg.inv(mechanism.matrix.T)
    spread = sum(
        p * (np.diag(row) - np.outer(row, row))
        for p, row in zip(THREE.probabilities, mechanism.matrix, strict=True)
    )
    error = math.sqrt(np.trace(A @ spread @ A.T) / people / 3)
    assert standard_error(THREE, mechanism, people) == pytest.approx(error, rel=1e-9)


def test_shares_that_cannot_be_told_apart_have_an_infinite_error():
    merged = ex.Mechanism([[1, 0], [0, 1], [0, 1]])
    assert standard_error(THREE, merged, 100) == math.inf
    assert standard_error(THREE, ex.Mechanism(np.eye(3)), 100) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.4, 0.8, 1.2, 1.5])
def test_the_best_design_for_estimation_is_what_a_general_solver_finds(epsilon):
    best = ex.design(THREE, epsilon, tolerance=1e-4)
    assert best.gap <= 1e-4
    assert ex.epsilon_pml(THREE, best.mechanism) == pytest.approx(epsilon, abs=1e-9)
    V = oracles.lift_vectors(THREE.probabilities, math.exp(epsilon))

    def trace(w):
        J = (V.T * w) @ V
        return np.trace(np.linalg.inv(J + 1e-12 * np.eye(3)))

    rng = np.random.default_rng(0)
    starts = [
        np.mean(
            [
                linprog(rng.normal(size=len(V)), A_eq=V.T, b_eq=np.ones(3), method="highs").x
                for _ in range(30)
            ],
            axis=0,
        )
        for _ in range(3)
    ]
    found = min(
        minimize(
            trace,
            start,
            bounds=[(0, None)] * len(V),
            constraints={"type": "eq", "fun": lambda w: V.T @ w - 1, "jac": lambda w: V.T},
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        ).fun
        for start in starts
    )
    square = float(THREE.probabilities @ THREE.probabilities)
    assert best.value == pytest.approx((1 - square) / (found - square), rel=1e-3)
    assert best.upper_bound >= (1 - square) / (found - square) * (1 - 1e-6)


def test_no_mechanism_at_the_same_leakage_estimates_better(party):
    best = ex.design(party, 0.5)
    rivals = [ex.theory.randomized_response_for_pml(party, 0.5), ex.theory.closed_form.arc(party, 0.5)]
    rivals += [
        ex.design(party, 0.5, u).mechanism for u in (ex.utilities.chi_squared, ex.utilities.total_variation)
    ]
    for rival in rivals:
        assert ex.shares(party, rival) <= best.upper_bound * (1 + 1e-9)


@given(priors(min_size=2, max_size=6), st.floats(0.02, 0.98))
@settings(max_examples=25)
def test_designs_for_estimation_keep_their_level_and_their_proof(prior, share):
    epsilon = share * prior.epsilon_max
    if prior.probabilities.min() < 1e-4 or epsilon < 0.01:
        return
    best = ex.design(prior, epsilon)
    assert ex.epsilon_pml(prior, best.mechanism) <= epsilon + 1e-12
    assert np.abs(best.mechanism.matrix.sum(axis=1) - 1).max() <= 1e-12
    assert best.proven
    assert ex.check_design(best).ok
    assert best.value >= ex.shares(prior, ex.theory.randomized_response_for_pml(prior, epsilon)) * (1 - 1e-3)
    certified = ex.certify(best, allow_true_answers=True)
    assert ex.epsilon_pml(prior, certified.mechanism) <= epsilon + 1e-15


@pytest.mark.parametrize("size", [13, 25])
def test_larger_alphabets_get_a_proven_design(size):
    prior = ex.Prior(np.random.default_rng(size).dirichlet(np.full(size, 3.0)))
    best = ex.design(prior, 0.8)
    assert best.proven
    assert ex.check_design(best).ok
    assert best.value > 4 * ex.shares(prior, ex.theory.randomized_response_for_pml(prior, 0.8))


@pytest.mark.parametrize(
    "priors",
    [
        ex.PriorSet.l1_ball(THREE, 0.1),
        ex.PriorSet.intervals([0.4, 0.2, 0.1], [0.6, 0.4, 0.3], nominal=THREE),
        ex.PriorSet.at_least(THREE, 0.05),
        ex.PriorSet.at_least(THREE, 0.0),
    ],
    ids=["l1 ball", "intervals", "at least", "all priors"],
)
def test_a_set_of_priors_gets_a_design_that_keeps_epsilon_for_all_of_them(priors):
    found = ex.design(priors, 0.6)
    assert ex.epsilon_pml(priors, found.mechanism) <= 0.6 + 1e-12
    assert 0 < found.value <= found.upper_bound
    assert found.value <= ex.design(THREE, 0.6).value * (1 + 1e-9)
    assert ex.check_design(found).ok
    assert ex.certify(found).prior_set is not None


def test_estimates_from_a_design_for_estimation_are_as_good_as_it_says():
    best = ex.design(THREE, 0.7)
    certified = ex.certify(best, allow_true_answers=True)
    rng = np.random.default_rng(5)
    answers = rng.choice(3, 2000, p=THREE.probabilities)
    errors = []
    for seed in range(60):
        reports = certified.privatize(answers, source=ex.randomness.SeededWords(seed))
        found = ex.estimate(certified, reports, method="inverse")
        errors.append(np.mean((found.shares - np.bincount(answers, minlength=3) / 2000) ** 2))
    assert math.sqrt(np.mean(errors)) == pytest.approx(standard_error(THREE, best.mechanism, 2000), rel=0.25)


def test_from_epsilon_max_on_everything_is_told():
    best = ex.design(THREE, 5.0)
    assert best.value == 1
    assert best.gap == 0
    assert "the report may be the answer itself" in str(best)


def test_at_zero_nothing_is_told():
    nothing = ex.design(THREE, 0)
    assert nothing.value == nothing.upper_bound == 0
    assert ex.check_design(nothing).ok


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (([0.5, 0.5], 0.5), {}, PriorError),
        ((THREE, -1), {}, EpsilonError),
        ((THREE, 0.5), {"tolerance": -1}, OptionError),
        ((THREE, 0.5), {"time_limit": "x"}, OptionError),
        ((THREE, 0.5), {"notion": ex.LDP}, OptionError),
    ],
)
def test_questions_that_make_no_sense_are_refused(arguments, options, error):
    with pytest.raises(error):
        ex.design(*arguments, **options)


def test_asking_for_no_gap_at_all_gives_the_finest_design():
    assert ex.design(THREE, 0.5, tolerance=0).value == pytest.approx(ex.design(THREE, 0.5).value, rel=1e-3)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-14])
def test_levels_below_rounding_tell_nothing_and_claim_nothing(epsilon):
    found = ex.design(THREE, epsilon)
    assert found.value == 0
    assert not found.proven
    assert ex.check_design(found).ok


def test_shares_under_ldp_are_refused_with_the_set_of_priors_that_is_the_same():
    prior = ex.Prior([0.5, 0.3, 0.2])
    with pytest.raises(ex.errors.OptionError) as caught:
        ex.design(prior, 0.4, notion=ex.LDP)
    assert "design(PriorSet.at_least(prior, 0), epsilon)" in str(caught.value)
    made = ex.design(ex.PriorSet.at_least(prior, 0), 0.4)
    response = ex.theory.randomized_response(prior, 0.4)  # the classical method under LDP
    assert ex.measures.ldp_epsilon(made.mechanism) <= 0.4 + 1e-12
    assert made.value >= ex.shares(prior, response) * (1 - 1e-12)
