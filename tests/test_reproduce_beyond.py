"""The figures beyond the paper, recomputed by other means than those that drew them."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import extremal as ex
import oracles
from extremal.data import anes96
from extremal.demo import ORDER
from extremal.paper import beyond_prior, frequencies
from extremal.prior_set import l1_radius

THREE = ex.Prior([0.5, 0.3, 0.2])


@pytest.fixture(scope="module")
def party():
    return ex.Prior.from_data(anes96()["party"], labels=ORDER)


# Shares of a survey


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 1.4])
def test_the_standard_error_is_that_of_the_covariance_of_the_estimate(epsilon):
    """The estimate is linear in report counts, whose covariance given the answers is known: no information matrix."""
    people = 100
    mechanism = ex.randomized_response_for_pml(THREE, epsilon)
    A = np.linalg.inv(mechanism.matrix.T)
    spread = sum(
        p * (np.diag(row) - np.outer(row, row))
        for p, row in zip(THREE.probabilities, mechanism.matrix, strict=True)
    )
    error = math.sqrt(np.trace(A @ spread @ A.T) / people / 3)
    assert frequencies.standard_error(THREE, mechanism, people) == pytest.approx(error, rel=1e-9)


def test_the_estimate_is_unbiased_with_more_reports_than_answers_too():
    mechanism = frequencies.best_for_estimation(THREE, 0.6).mechanism
    assert mechanism.shape[1] >= 3
    A = frequencies.estimator(THREE, mechanism)
    np.testing.assert_allclose(A @ mechanism.matrix.T, np.eye(3), rtol=0, atol=1e-9)


def test_shares_that_cannot_be_told_apart_have_an_infinite_error():
    merged = ex.Mechanism([[1, 0], [0, 1], [0, 1]])
    assert frequencies.standard_error(THREE, merged, 100) == math.inf
    assert frequencies.standard_error(THREE, ex.Mechanism(np.eye(3)), 100) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.4, 0.8, 1.2, 1.5])
def test_the_best_design_for_estimation_is_what_a_general_solver_finds(epsilon):
    best = frequencies.best_for_estimation(THREE, epsilon, 1e-4)
    assert best.lower_bound <= best.trace
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
    assert best.trace == pytest.approx(found, rel=1e-3)
    assert best.lower_bound <= found + 1e-6 * found


def test_no_mechanism_at_the_same_leakage_estimates_better(party):
    best = frequencies.best_for_estimation(party, 0.5)
    rivals = [ex.randomized_response_for_pml(party, 0.5), ex.closed_form.arc(party, 0.5)]
    rivals += [ex.design(party, 0.5, u).mechanism for u in (ex.chi_squared, ex.total_variation)]
    for rival in rivals:
        error = frequencies.standard_error(party, rival, 1)
        assert error**2 * party.size >= (best.lower_bound - 1) * (1 - 1e-9)


# The price of not knowing the prior


@pytest.mark.parametrize("n", [100, 10_000])
def test_no_prior_of_the_ball_makes_a_report_leak_more(party, n):
    """The least probable each report can be, by a linear program over the ball."""
    radius, epsilon = l1_radius(party.size, n, 0.95), 0.5
    mechanism = ex.design(ex.PriorSet.l1_ball(party, radius), epsilon).mechanism
    response = beyond_prior.randomized_response_over(ex.PriorSet.l1_ball(party, radius), epsilon)
    size = party.size
    up_down = np.hstack((np.eye(size), -np.eye(size)))  # pi = center + up - down
    for made in (mechanism, response):
        leaks = []
        for column in made.matrix.T:
            least = linprog(
                column @ up_down,
                A_ub=np.vstack((np.ones(2 * size), -up_down)),
                b_ub=np.append(radius, party.probabilities),
                A_eq=np.append(np.ones(size), -np.ones(size))[None],
                b_eq=[0],
                method="highs",
            ).fun
            leaks.append(math.log(column.max() / (party.probabilities @ column + least)))
        assert max(leaks) == pytest.approx(epsilon, abs=1e-7)


def test_knowing_the_prior_is_the_limit_of_large_samples(party):
    known = ex.design(party, 0.5).value
    near = ex.design(ex.PriorSet.l1_ball(party, l1_radius(party.size, 1e12, 0.95)), 0.5).value
    assert near == pytest.approx(known, abs=1e-4)
    assert near <= known


# Neighbouring notions


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
def test_the_lip_curve_is_the_program_over_all_vertices_between_both_bounds(party, epsilon):
    pi, low, high = party.probabilities, math.exp(-epsilon), math.exp(epsilon)
    found = []
    for j in range(len(pi)):
        for others in itertools.product((low, high), repeat=len(pi) - 1):
            v = np.insert(np.array(others), j, 0.0)
            v[j] = (1 - pi @ v) / pi[j]
            if low - 1e-12 <= v[j] <= high + 1e-12:
                found.append(v)
    V = np.array(found)
    program = linprog(
        -ex.mutual_information.columns(party, V.T), A_eq=V.T, b_eq=np.ones(len(pi)), method="highs"
    )
    design = ex.design(party, epsilon, method="enumeration", lower_lift=low)
    assert design.value == pytest.approx(-program.fun, abs=1e-8)
