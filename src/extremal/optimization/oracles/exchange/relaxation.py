"""A bound of the efficiency that needs no lift vectors: what the variances and covariances of lifts can be at most.

The x of a symbol lies in [lower, upper] and has mean 0, so its variance is at most a = -lower * upper, and products
of two such ranges limit each covariance: C_ij >= -min(lower_i lower_j, upper_i upper_j). With d >= 0 for the variances
and S >= 0 for the covariances, W = diag(d) - S, every mechanism has tr(WC) <= a.d + sum(S * limit), and so

    tr(G C^-1) >= 2 tr (G^1/2 H G^1/2)^1/2 - tr(HC),   H = B'WB.

The best W maximises a concave function of (d, S) whose gradient is the C of the relaxed problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...._common.types import Floats
from ....model.levels import is_uniform
from ...effort import UNLIMITED, Effort
from ...reductions import ULP, QuadraticProblem
from ...tuning import FIXED_POINT, MOST_RELAXED, RELAXED


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The best W found, over all symbols, and the covariance, over all but the first, of the relaxed problem."""

    W: Floats
    covariance: Floats

    @property
    def d(self) -> Floats:
        """The multipliers of the variances."""
        return np.diagonal(self.W)

    def prices(self, problem: QuadraticProblem) -> Floats:
        """The y with which x'Wx - y.x is largest where every limit that W counts on is met."""
        low, high = problem.lower, problem.upper
        by_low = np.multiply.outer(low, low) <= np.multiply.outer(high, high)
        pairs = np.maximum(-self.W, 0.0)
        np.fill_diagonal(pairs, 0.0)
        slopes = (pairs * by_low) @ -low - (pairs * ~by_low) @ high
        return self.d * (high + low) + 2 * slopes


def limits(problem: QuadraticProblem) -> Floats:
    """What a covariance of two symbols' lifts can be at least, times -1."""
    low, high = problem.lower, problem.upper
    return np.minimum(np.multiply.outer(low, low), np.multiply.outer(high, high))


def relax(problem: QuadraticProblem, rounds: int, effort: Effort = UNLIMITED) -> Relaxation:
    """The W of a good bound: d by its fixed point, then d and S together by so many rounds of a quasi-Newton method.

    With none of these, where symbols are many, a fixed point up to RELAXED is enough.
    """
    a = problem.most_variance
    d, root = fixed_point(problem, a, MOST_RELAXED if rounds else RELAXED, effort)
    d = d * (root / float(a @ d)) ** 2  # the scale of the best bound: that of the variances of real lifts
    W = np.diag(d)
    relaxed = gradient(problem, W)
    assert relaxed is not None
    if rounds > 0 and problem.size > 2 and not effort.pause():
        W = _with_pairs(problem, d, rounds, effort)
        better = gradient(problem, W)
        relaxed = relaxed if better is None else better
    return Relaxation(W, relaxed[1][1:, 1:])


def fixed_point(
    problem: QuadraticProblem, a: Floats, close: float = MOST_RELAXED, effort: Effort = UNLIMITED
) -> tuple[Floats, float]:
    """A good d for variances that are at most a: d <- d C_ii / a; and tr (G^1/2 H G^1/2)^1/2 for H = B' diag(d) B."""
    d, before = 1 / a, 0.0
    relaxed = gradient(problem, np.diag(d))
    assert relaxed is not None
    for _ in range(FIXED_POINT):
        reached = relaxed[0] ** 2 / float(a @ d)  # the bound with d in its best scale
        if reached - before <= close * reached or effort.pause():
            break
        following = gradient(problem, np.diag(d * np.diagonal(relaxed[1]) / a))
        if following is None:
            break
        d, before, relaxed = d * np.diagonal(relaxed[1]) / a, reached, following
    return d, relaxed[0]


def gradient(problem: QuadraticProblem, W: Floats) -> tuple[float, Floats] | None:
    """tr (G^1/2 H G^1/2)^1/2 and its gradient by W, twice the former's: the C with C H C = G, over all symbols."""
    import scipy.linalg as sl

    try:
        L = np.linalg.cholesky(problem.reduced(W))
    except np.linalg.LinAlgError:
        return None
    values, U = np.linalg.eigh(L.T @ problem.loss @ L)
    roots = np.sqrt(np.maximum(values, 0.0))
    T = sl.solve_triangular(L, U, trans="T", lower=True)
    inner = (T * roots) @ T.T
    share = problem.pi[1:] / problem.pi[0]
    C = np.empty_like(W)
    C[1:, 1:] = inner
    C[0, 1:] = C[1:, 0] = -share @ inner
    C[0, 0] = -share @ C[0, 1:]
    return float(roots.sum()), C


def _with_pairs(problem: QuadraticProblem, d: Floats, rounds: int, effort: Effort) -> Floats:
    """W = diag(d) - S of the largest bound near the best diag(d)."""
    from scipy.optimize import minimize

    n, a, limit = problem.size, problem.most_variance, limits(problem)
    upper = np.triu_indices(n, 1)
    # Multipliers in units in which they are of the order of 1.
    floor = 1e-3 * d.max() * a.max() / a
    own = np.maximum(d, floor)
    unit = np.concatenate([own, np.sqrt(np.multiply.outer(own, own))[upper]])
    cost = np.concatenate([a, limit[upper]])

    def matrix(z: Floats) -> Floats:
        v = z * unit
        W = np.diag(v[:n])
        W[upper] = -v[n:] / 2
        return W + np.triu(W, 1).T

    def objective(z: Floats) -> tuple[float, Floats]:
        found = gradient(problem, matrix(z))
        if found is None:
            return 1e300, np.zeros_like(z)
        slope = np.concatenate([np.diagonal(found[1]) - a, -found[1][upper] - limit[upper]])
        return (cost * unit) @ z - 2 * found[0], -slope * unit

    def look(xk: Floats) -> None:
        if effort.pause():
            raise StopIteration

    start = np.concatenate([d / own, np.zeros(len(cost) - n)])
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        callback=look,
        options={"maxiter": rounds, "maxcor": 20, "ftol": 1e-9},
    )
    return matrix(found.x)


def most_by_entries(problem: QuadraticProblem, W: Floats) -> float:
    """No mechanism has a larger tr(WC): every variance and covariance at its limit. W needs a diagonal >= 0."""
    low, high = problem.lower, problem.upper
    d = np.diagonal(W)
    above = np.minimum(np.multiply.outer(high, -low), np.multiply.outer(-low, high))
    pairs = np.where(W > 0, W * above, -W * limits(problem))
    np.fill_diagonal(pairs, np.maximum(d, 0.0) * problem.most_variance)
    return float(pairs.sum()) * (1 + 4 * problem.size * ULP) - max(float(d.min()), 0.0) * _partial(problem)


def _partial(problem: QuadraticProblem) -> float:
    """What the partial symbol, the same in every vertex, keeps the sum of variances from if the prior is uniform.

    It is worth (excess - x)(x - low) less than the chord through the limits of x says: nothing where it is at its
    lower limit itself, as all but one symbol are full at small levels.
    """
    n, excess = problem.size, problem.excess
    if not is_uniform(problem.pi):
        return 0.0
    full = math.floor(n / (1 + excess) * (1 + n * ULP))
    x = n - 1 - full * (1 + excess)
    low = float(problem.lower[0])
    return max(0.0, (excess - x) * (x - low) - 1e-13 * n * (1 + excess) ** 2)
