"""Where the best mixture of lift vectors is known: simplices, and uniform priors with difference sets."""

from __future__ import annotations

import numpy as np

from ..._common.types import Floats
from ...model.levels import is_uniform, rounding
from ...model.proof import Certificate
from ..effort import Stats
from ..generate import Solution
from ..masters.quadratic import exactly_balanced
from ..oracles.exchange.bounds import ULP, efficiency_bound, most_by_entries, most_by_vertices
from ..oracles.mixing import mixture_of
from ..problem import QuadraticProblem
from .symmetric import difference_set

NO_SEARCH = Stats()


def known_mixture(problem: QuadraticProblem) -> Solution | None:
    """The optimum where it is known without a search."""
    known = simplex(problem)
    if known is not None:
        X, q = known[0], exactly_balanced(*known)
        W = _slope(problem, X, q)
        y = simplex_prices(X, W)
        blur = 4 * problem.size * ULP * float(np.max(np.abs(X) @ problem.pi))
        upper = efficiency_bound(problem, W, most_by_vertices(problem, W, y, X, blur))
        return mixture_of(problem, X, q, upper, Certificate(W, y), "simplex", NO_SEARCH)
    blocks = block_design(problem)
    if blocks is None:
        return None
    n, d = problem.size, np.ones(problem.size)
    upper = efficiency_bound(problem, np.diag(d), most_by_entries(problem, np.diag(d)))
    return mixture_of(problem, blocks, np.full(n, 1 / n), upper, Certificate(d), "block design", NO_SEARCH)


def _slope(problem: QuadraticProblem, X: Floats, q: Floats) -> Floats:
    """W = C^-1 G C^-1 of a mixture, over all symbols."""
    inverse = np.linalg.inv((X[:, 1:].T * q) @ X[:, 1:])
    W = np.zeros((problem.size, problem.size))
    W[1:, 1:] = inverse @ problem.loss @ inverse
    return W


def simplex(problem: QuadraticProblem) -> tuple[Floats, Floats] | None:
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


def block_design(problem: QuadraticProblem) -> Floats | None:
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


def randomized_response(problem: QuadraticProblem) -> tuple[Floats, Floats]:
    """Lift vectors less 1 and output distribution of randomized response at this level, to be found at once."""
    pi, n = problem.pi, problem.size
    # The truth has weight `odds`, every other answer weight 1; the least likely symbol's lift is the largest.
    odds = (1 + problem.excess) * (1 - pi[-1]) / (1 - pi[-1] * (1 + problem.excess))
    told = 1 + (odds - 1) * pi
    X = np.tile((1 - told)[:, None] / told[:, None], (1, n))
    np.fill_diagonal(X, (odds - 1) * (1 - pi) / told)
    return X, told / told.sum()
