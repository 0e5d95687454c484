"""Bounds by entries, against mechanisms that there are."""

import math

import numpy as np
import pytest

from extremal.certification.quadratic import _by_entries
from extremal.optimization.oracles.exchange.relaxation import most_by_entries
from extremal.optimization.reductions import make_problem


@pytest.mark.parametrize("n", [3, 4, 7])
@pytest.mark.parametrize("part", [0.1, 0.9, 1.0, 1.5, 2.5])
def test_uniform_priors_stay_below_the_bound_at_levels_small_and_large(n, part):
    """The mechanism whose lift vectors are all arrangements of the vertex: full symbols, one partial, none."""
    epsilon = part * math.log(n / (n - 1))
    c, pi = math.exp(epsilon), np.full(n, 1 / n)
    full = math.floor(n / c * (1 + 1e-12))
    lift = np.zeros(n)
    lift[:full] = c
    lift[full : full + 1] = n - full * c
    X = np.array([np.random.default_rng(k).permutation(lift) for k in range(2000)]) - 1
    X = np.concatenate([np.roll(X, k, axis=1) for k in range(n)])  # so that the mean is 0
    C = X.T @ X / len(X)
    problem = make_problem(pi, epsilon, np.eye(n))
    rng = np.random.default_rng(0)
    roots = [np.eye(n), np.eye(n) - 1 / n, *rng.normal(size=(5, n, n))]
    for root in roots:
        W = root @ root.T
        reached = float(np.trace(W @ C))
        assert most_by_entries(problem, W) >= reached * (1 - 1e-12)
        assert _by_entries(pi, c - 1, W) >= reached * (1 - 1e-12)
