"""Utility guaranteed to every answer: closed forms, random mechanisms, decisions by brute force, tampered proofs."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import extremal as ex
from extremal.utilities import guaranteed

PRIOR = ex.Prior([0.4, 0.3, 0.2, 0.1])
GUESS = ex.utilities.ExpectedGain(np.eye(4), name="right guesses")


@pytest.mark.parametrize("utility", [ex.mutual_information, ex.utilities.total_variation])
def test_under_a_uniform_prior_the_guarantee_is_the_mean(utility):
    """Permuting the answers of an optimal mechanism and mixing all of them gives every answer the same."""
    prior = ex.Prior.uniform(range(5))
    made = ex.design(prior, 0.7, guaranteed(utility))
    assert made.value == pytest.approx(ex.design(prior, 0.7, utility).value, rel=1e-9)
    assert made.proven


def test_what_an_answer_gets_is_its_divergence_and_averages_to_mutual_information():
    mechanism = ex.theory.randomized_response_for_pml(PRIOR, 0.8)
    q = mechanism.output_distribution(PRIOR)
    found = guaranteed(ex.mutual_information).per_answer(PRIOR, mechanism)
    expected = [sum(p * math.log(p / r) for p, r in zip(row, q, strict=True)) for row in mechanism.matrix]
    assert found == pytest.approx(expected)
    assert PRIOR.probabilities @ found == pytest.approx(ex.mutual_information(PRIOR, mechanism))


def test_decisions_are_those_of_a_search_over_a_fine_grid():
    P = np.array([[0.7, 0.3], [0.4, 0.6]])
    gain = np.array([[1.0, 0.0], [0.2, 0.9]])
    best = max(
        min(sum(P[x, y] * (s[y] * gain[0, x] + (1 - s[y]) * gain[1, x]) for y in range(2)) for x in range(2))
        for s in itertools.product(np.linspace(0, 1, 101), repeat=2)
    )
    found = guaranteed(ex.utilities.ExpectedGain(gain))(ex.Prior([0.5, 0.5]), ex.Mechanism(P))
    assert best <= found + 1e-12
    assert found == pytest.approx(best, abs=1e-2)


@pytest.mark.parametrize("utility", [ex.mutual_information, GUESS])
def test_no_random_mechanism_guarantees_more_and_the_proof_is_checked(utility):
    goal = guaranteed(utility)
    made = ex.design(PRIOR, 0.8, goal)
    assert made.proven
    assert ex.check_design(made).ok
    assert goal(PRIOR, ex.design(PRIOR, 0.8, utility).mechanism) < made.value
    rng = np.random.default_rng(2)
    for _ in range(30 if utility is GUESS else 300):
        P = rng.dirichlet(np.full(5, 0.3), size=4) + 1e-9
        P /= P.sum(axis=1, keepdims=True)
        q = PRIOR.probabilities @ P
        keep = min(1.0, (math.exp(0.8) - 1) / ((P / q).max() - 1))
        assert goal(PRIOR, ex.Mechanism(keep * P + (1 - keep) * q)) <= made.upper_bound
    assert not ex.check_design(replace(made, upper_bound=0.99 * made.value)).ok
    assert not ex.check_design(replace(made, value=1.01 * made.value)).ok
    assert not ex.check_design(replace(made, dual=made.dual[::-1])).ok
    with pytest.raises(ex.errors.MechanismError, match="weights of the answers"):
        ex.check_design(replace(made, weights=2 * made.weights))


def test_the_ends_of_epsilon_and_the_least_one_that_guarantees_enough():
    goal = guaranteed(GUESS)
    assert ex.design(PRIOR, 0.0, goal).value == pytest.approx(0.25)  # a fair guess among four
    assert ex.design(PRIOR, PRIOR.epsilon_max, goal).value == pytest.approx(1)
    found = ex.planning.least_epsilon(PRIOR, 0.5, goal, precision=0.01)
    assert goal(PRIOR, found.certified.mechanism) >= 0.5 > found.refuted.upper_bound


def test_what_guarantees_nothing_is_refused():
    with pytest.raises(ex.errors.UtilityError, match="what each answer gets"):
        guaranteed(ex.utilities.Utility(lambda prior, columns: columns.max(axis=0)))
    with pytest.raises(ex.errors.SizeError, match="merge rare answers"):
        ex.design(ex.Prior.uniform(range(20)), 1.0, guaranteed(ex.mutual_information))
    with pytest.raises(ex.errors.OptionError, match="for one prior and PML"):
        ex.design(PRIOR, 1.0, guaranteed(ex.mutual_information), notion=ex.LDP)
