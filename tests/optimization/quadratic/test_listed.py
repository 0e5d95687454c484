"""The bound over the list of all lift vectors: valid for whatever weights, and no worse with more of them."""

import numpy as np
import pytest

from extremal.certification.quadratic import check_quadratic
from extremal.optimization.quadratic.bounds import efficiency_bound, most_by_vertices
from extremal.optimization.quadratic.certificate import Certificate
from extremal.optimization.quadratic.kernels import all_vertices
from extremal.optimization.quadratic.listed import Listed
from extremal.optimization.quadratic.problem import make_problem
from extremal.optimization.quadratic.solve import solve


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_more_weights_prove_no_less_and_never_too_much(epsilon):
    n, rng = 7, np.random.default_rng(7)
    pi = np.sort(rng.dirichlet(np.ones(n)))[::-1]
    best = solve(pi, epsilon, np.eye(n), tolerance=1e-7)
    problem = make_problem(pi, epsilon, np.eye(n))
    vertices = all_vertices(pi, problem.excess, 10_000)
    d = 1 / problem.most_variance
    listed, before = Listed(problem, vertices), 1.0
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
