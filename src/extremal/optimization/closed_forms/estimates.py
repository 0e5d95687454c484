"""Where the best mixture of lift vectors is known: simplices, and uniform priors with difference sets."""

from __future__ import annotations

import numpy as np

from ..._common.types import Floats
from ...model.regions import is_uniform, rounding
from ..centred import Problem
from .difference_sets import difference_set


def simplex(problem: Problem) -> tuple[Floats, Floats] | None:
    """All lift vectors less 1 where there are as many as symbols, and the only mixture of them that has mean 0.

    Below the first region edge one symbol is partial and the others full (Theorem 3); at the largest level of all one
    symbol is told and the others are ruled out; and of two symbols one is as likely or as unlikely as it may be.
    """
    pi, excess, n = problem.pi, problem.excess, problem.size
    least = pi[-1]
    lower = np.where(pi * (1 + problem.lower) <= rounding(0), -1.0, problem.lower)
    if n == 2:
        low, high = lower[1], problem.upper[1]
        ends = np.array([low, high])
        return np.column_stack([-ends * pi[1] / pi[0], ends]), np.array([high, -low]) / (high - low)
    if excess * (1 - least) <= least:
        X = np.full((n, n), excess)
        np.fill_diagonal(X, lower)
        return X, pi
    if excess >= (1 - least) / least:
        X = np.full((n, n), -1.0)
        np.fill_diagonal(X, (1 - pi) / pi)
        return X, pi
    return None


def simplex_prices(X: Floats, W: Floats) -> Floats:
    """The y with x'Wx - y.x equal for all rows, of which there are as many as symbols."""
    right = np.einsum("ki,ki->k", X @ W, X)
    found = np.linalg.solve(np.column_stack([np.ones(len(X)), X[:, 1:]]), right)
    return np.append(0.0, found[1:])


def block_design(problem: Problem) -> Floats | None:
    """Lift vectors less 1 of the translates of a difference set; None unless all symbols are alike and there is one."""
    n = problem.size
    size = n / (1 + problem.excess)
    k = round(size)
    if not is_uniform(problem.pi) or abs(size - k) > size * rounding(np.log1p(problem.excess)):
        return None
    G = problem.loss
    if np.abs(G - np.eye(n - 1) * (G[0, 0] - G[0, 1]) - G[0, 1]).max() > 1e-12 * G[0, 0]:
        return None
    residues = difference_set(n, k)
    if residues is None:
        return None
    X = np.full((n, n), -1.0)
    X[np.arange(n)[:, None], (residues[None, :] + np.arange(n)[:, None]) % n] = problem.excess
    return X


def randomized_response(problem: Problem) -> tuple[Floats, Floats]:
    """Lift vectors less 1 and output distribution of randomized response at this level, to be found at once."""
    pi, n = problem.pi, problem.size
    # The truth has weight `odds`, every other answer weight 1; the least likely symbol's lift is the largest.
    odds = (1 + problem.excess) * (1 - pi[-1]) / (1 - pi[-1] * (1 + problem.excess))
    told = 1 + (odds - 1) * pi
    X = np.tile((1 - told)[:, None] / told[:, None], (1, n))
    np.fill_diagonal(X, (odds - 1) * (1 - pi) / told)
    return X, told / told.sum()
