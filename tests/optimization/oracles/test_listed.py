"""The bound over the list of all lift vectors: valid for whatever weights, and no worse with more of them."""

from dataclasses import replace

import numpy as np
import pytest

import extremal as ex
from extremal.certification.quadratic import check_quadratic
from extremal.model.purpose import QuadraticProof
from extremal.optimization.oracles.listed import Listed, alike
from extremal.optimization.problem import usual_gap
from extremal.optimization.reductions import efficiency_bound, make_problem, most_by_vertices
from extremal.theory.lift_vectors import lift_vertices
from tests.support.solving import mixture


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_more_weights_prove_no_less_and_never_too_much(epsilon):
    n, rng = 7, np.random.default_rng(7)
    pi = np.sort(rng.dirichlet(np.ones(n)))[::-1]
    best = mixture(pi, epsilon, np.eye(n), tolerance=1e-7)
    problem = make_problem(pi, epsilon, np.eye(n))
    vertices = lift_vertices(pi, 0.0, 1 + problem.excess) - 1
    d = 1 / problem.most_variance
    listed, before = Listed.of(problem, 10_000), 1.0
    for k in range(12):
        noise = 0.5 * 0.8**k * rng.normal(size=(n, n)) * np.sqrt(np.outer(d, d))
        W = np.diag(d) + (noise + noise.T) / 4
        y = d * (problem.upper + problem.lower) + 0.1 * noise[0] * problem.upper
        alone = efficiency_bound(problem, W, most_by_vertices(problem, W, y, vertices))
        proof = listed.join(W, y)
        assert best.value * (1 - 1e-9) <= proof.upper <= min(alone, before) * (1 + 1e-9)
        before = proof.upper
    assert before < 1
    certificate = QuadraticProof(proof.W, proof.y)
    check = check_quadratic(pi, epsilon, np.eye(n), best.matrix, best.value, proof.upper, certificate)
    assert check.ok, check.problems


def test_means_over_symbols_that_are_alike_prove_no_less_and_one_vector_of_each_kind_is_enough():
    pi, rng = np.array([6, 4, 4, 4, 2, 2, 1]) / 23, np.random.default_rng(3)
    problem = make_problem(pi, 1.2, np.eye(7))
    vertices = lift_vertices(pi, 0.0, 1 + problem.excess) - 1
    best = mixture(pi, 1.2, np.eye(7), tolerance=1e-7)
    for _ in range(5):
        d = rng.uniform(0.5, 2, 7) / problem.most_variance
        noise = 0.1 * rng.normal(size=(7, 7)) * np.sqrt(np.outer(d, d))
        W, y = np.diag(d) + noise + noise.T, d * (problem.upper + problem.lower)
        alone = efficiency_bound(problem, W, most_by_vertices(problem, W, y, vertices))
        listed = Listed.of(problem, 10_000)
        assert listed.count < len(vertices)
        proof = listed.join(W, y)
        of_all = efficiency_bound(problem, proof.W, most_by_vertices(problem, proof.W, proof.y, vertices))
        assert proof.upper == pytest.approx(of_all, rel=1e-9)
        assert best.value <= proof.upper <= alone * (1 + 1e-9)
        swapped = [0, 3, 1, 2, 5, 4, 6]
        np.testing.assert_array_equal(proof.W[np.ix_(swapped, swapped)], proof.W)
        np.testing.assert_array_equal(proof.y[swapped], proof.y)


def test_symbols_are_alike_only_if_the_loss_says_so_too():
    pi = np.array([3, 2, 2, 2, 1, 1]) / 11
    np.testing.assert_array_equal(alike(make_problem(pi, 1.0, np.eye(6))), [0, 1, 1, 0, 1, 0])
    A = np.diag([1.0, 1, 1, 2, 1, 1])
    np.testing.assert_array_equal(alike(make_problem(pi, 1.0, A)), [0, 1, 0, 0, 1, 0])
    scores = np.arange(6.0)
    assert not alike(make_problem(pi, 1.0, np.outer(scores, scores))).any()


@pytest.mark.parametrize("epsilon", [0.1, 0.6, 2.5])
@pytest.mark.parametrize(
    "counts", [(1, 2, 3), pytest.param(tuple(1 + k / 37 for k in range(24)), marks=pytest.mark.slow)]
)
def test_designs_for_ties_and_near_ties_are_checked_by_visiting_their_vectors(counts, epsilon):
    """At small levels few symbols are empty in a vector, at large ones few are full: either list is short."""
    prior = ex.Prior.from_counts((list(counts) * 8)[:24])
    design = ex.design(prior, epsilon)
    assert design.gap <= usual_gap(24, epsilon)
    assert ex.check_design(design).ok
    assert not ex.check_design(replace(design, upper_bound=design.value)).ok  # the check is no formality


@pytest.mark.slow
def test_many_labels_of_few_counts_come_within_the_goal_in_few_rounds():
    """Two or three labels fit into an output: the limits of single variances are percents above what vectors reach."""
    rng = np.random.default_rng(0)
    prior = ex.Prior.from_counts(rng.integers(3, 9, 60))
    design = ex.design(prior, 3.5)
    assert design.method == "all lift vectors"
    assert design.gap <= 5e-2
    assert design.stats.rounds <= 6
    assert ex.check_design(design).ok
