"""The bound over the list of all lift vectors: valid for whatever weights, and no worse with more of them."""

import numpy as np
import pytest

from extremal.certification.quadratic import check_quadratic
from extremal.optimization.quadratic.bounds import efficiency_bound, most_by_vertices
from extremal.optimization.quadratic.certificate import Certificate
from extremal.optimization.quadratic.listed import Listed, averaged
from extremal.optimization.quadratic.problem import make_problem
from extremal.optimization.quadratic.solve import solve
from extremal.theory.lift_vectors import lift_vertices


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_more_weights_prove_no_less_and_never_too_much(epsilon):
    n, rng = 7, np.random.default_rng(7)
    pi = np.sort(rng.dirichlet(np.ones(n)))[::-1]
    best = solve(pi, epsilon, np.eye(n), tolerance=1e-7)
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
    certificate = Certificate(proof.W, proof.y)
    check = check_quadratic(pi, epsilon, np.eye(n), best.matrix, best.value, proof.upper, certificate)
    assert check.ok, check.problems


def test_means_over_symbols_of_the_same_mass_prove_no_less():
    """By the best of all orders of these symbols: the same bound, whichever of them the weights come from."""
    pi, rng = np.array([6, 4, 4, 4, 2, 2, 1]) / 23, np.random.default_rng(3)
    problem = make_problem(pi, 1.2, np.eye(7))
    vertices = lift_vertices(pi, 0.0, 1 + problem.excess) - 1
    best = solve(pi, 1.2, np.eye(7), tolerance=1e-7)
    groups = np.array([3, 2, 2, 2, 1, 1, 0])
    for _ in range(5):
        d = rng.uniform(0.5, 2, 7) / problem.most_variance
        noise = 0.1 * rng.normal(size=(7, 7)) * np.sqrt(np.outer(d, d))
        W, y = np.diag(d) + noise + noise.T, d * (problem.upper + problem.lower)
        alone = efficiency_bound(problem, W, most_by_vertices(problem, W, y, vertices))
        mean = averaged(pi, groups, W, y)
        together = efficiency_bound(problem, mean[0], most_by_vertices(problem, *mean, vertices))
        assert best.value <= together <= alone * (1 + 1e-9)
        swapped = [0, 3, 1, 2, 5, 4, 6]
        np.testing.assert_allclose(mean[0][np.ix_(swapped, swapped)], mean[0], rtol=1e-12)
        np.testing.assert_allclose(mean[1][swapped], mean[1], rtol=1e-12)
