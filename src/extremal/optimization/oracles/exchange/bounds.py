"""Upper bounds of the efficiency, with an allowance for every rounding error in them.

For any W and any number m >= tr(WC) of every mechanism, tr(G C^-1) >= s^2 / m, where s is the sum of the singular
values of L'M', H = B'WB = LL', G = M'M. So the efficiency is at most direct * m / s^2.
"""

from __future__ import annotations

import math

import numpy as np

from ...._common.types import Floats
from ....model.regions import is_uniform
from ...centred import QuadraticProblem
from .relaxation import limits

ULP = 2.0**-52


def efficiency_bound(problem: QuadraticProblem, W: Floats, most: float) -> float:
    """The largest efficiency possible if no mechanism has tr(WC) above `most`."""
    H = problem.reduced(W)
    values, vectors = np.linalg.eigh(H)
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    size = problem.size
    share = np.append(1.0, problem.pi[1:] / problem.pi[0])
    rounding = (
        8 * size * ULP * (float(np.sum(L * L)) + float(share @ np.abs(W) @ share) + float(np.abs(W).sum()))
    )
    # tr(LL'C) may exceed tr(HC) by the error of the factors times tr C.
    off = float(np.linalg.norm(L @ L.T - H)) + rounding
    most = most * (1 + 8 * ULP) + off * float(problem.most_variance[1:].sum())
    product = L.T @ problem.factor.T
    sum_of_roots = float(np.linalg.svd(product, compute_uv=False).sum())
    sum_of_roots -= 8 * size * ULP * float(np.linalg.norm(L)) * float(np.linalg.norm(problem.factor))
    if not (sum_of_roots > 0 and math.isfinite(most)):
        return 1.0
    return min(1.0, problem.direct * (1 + 8 * size * ULP) * most / sum_of_roots**2)


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


def most_by_vertices(
    problem: QuadraticProblem, W: Floats, y: Floats, vertices: Floats, blur: float = 8e-15
) -> float:
    """No mechanism has a larger tr(WC) than the largest x'Wx - y.x of all vertices, as x has mean 0.

    A vertex may be off by `blur`, what rounding does to a mass.
    """
    reached = np.einsum("ki,ki->k", vertices @ W - y, vertices)
    widest = np.abs(vertices).max(axis=0)
    return float(reached.max()) + hidden_by_rounding(problem, W, y, widest, blur)


def hidden_by_rounding(
    problem: QuadraticProblem, W: Floats, y: Floats, widest: Floats, blur: float = 8e-15
) -> float:
    """How much larger x'Wx - y.x of a vertex, with no |x| above `widest`, may be than it was computed to be."""
    widest = np.maximum(widest, 1e-300)
    slope = 2 * np.abs(W) @ widest + np.abs(y)
    return 8 * problem.size * ULP * float(slope @ widest) + blur * float(np.max(slope / problem.pi))
