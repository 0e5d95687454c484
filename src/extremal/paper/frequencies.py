"""How well the shares of a survey can be estimated from its reports, and the design that is best at it.

Reports y of a mechanism P have the information matrix J = P diag(P_Y)^-1 P' about the shares pi. The weighted
least-squares estimate J^-1 P diag(P_Y)^-1 (report frequencies) is unbiased, and its covariance around the true shares
of the n people who answered is (J^-1 - diag(pi)) / n. So the expected squared error is (tr J^-1 - 1) / n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import extremal as ex

from .panel import Floats

SINGULAR = 1e12  # condition of J from which on shares cannot be told apart


@dataclass(frozen=True, eq=False)
class EstimationDesign:
    """A mechanism with the least error up to `gap`, relative; `lower_bound` is what tr J^-1 cannot fall below."""

    mechanism: ex.Mechanism
    trace: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """How far the squared error can be from the least possible, relative to it."""
        return (self.trace - self.lower_bound) / (self.trace - 1)


def information(prior: ex.Prior, mechanism: ex.Mechanism) -> Floats:
    """J = P diag(P_Y)^-1 P': what one report tells about the shares."""
    P = mechanism.matrix
    return np.asarray((P / mechanism.output_distribution(prior)) @ P.T)


def standard_error(prior: ex.Prior, mechanism: ex.Mechanism, people: int) -> float:
    """The root mean squared error of a share, averaged over the shares; infinite if they cannot be told apart."""
    J = information(prior, mechanism)
    if np.linalg.cond(J) > SINGULAR:
        return math.inf
    squared = max(float(np.trace(np.linalg.inv(J))) - 1, 0.0) / people
    return math.sqrt(squared / prior.size)


def estimator(prior: ex.Prior, mechanism: ex.Mechanism) -> Floats:
    """The matrix that takes frequencies of reports to unbiased estimates of shares, best near the prior."""
    weighted = mechanism.matrix / mechanism.output_distribution(prior)
    return np.asarray(np.linalg.solve(information(prior, mechanism), weighted))


def best_for_estimation(prior: ex.Prior, epsilon: float, tolerance: float = 0.01) -> EstimationDesign:
    """The mechanism under epsilon-PML with the least expected squared error of estimated shares.

    J is a mixture of lambda lambda' over extremal lift vectors, as in Theorem 5, and tr J^-1 is convex in J. It falls
    fastest towards the mechanism that is best for the utility p' J^-2 p / (pi . p), a linear program over the same
    vectors; what that mechanism would gain bounds the distance to the optimum. Such mechanisms are added one by one,
    and mixed in the best proportions.
    """
    V = ex.extremal_lift_vectors(prior, epsilon)
    mixed = [_best_weights(V, np.diag(unit)) for unit in np.eye(prior.size)]
    share = np.full(len(mixed), 1 / len(mixed))
    lower = -math.inf
    for _ in range(200):
        parts = np.array([(V.T * weights) @ V for weights in mixed])
        share, inverse = _mix(parts, share, tolerance / 4)
        slope = inverse @ inverse
        trace = float(np.trace(inverse))
        weights = _best_weights(V, slope)
        gain = float(np.sum(slope * ((V.T * weights) @ V))) - trace
        lower = max(lower, trace - gain)
        if trace - lower <= tolerance * (trace - 1):
            break
        kept = share > 0
        mixed = [w for w, keep in zip(mixed, kept, strict=True) if keep] + [weights]
        share = np.append(share[kept], 0.0)
    rho = share @ np.array(mixed)
    used = rho > 1e-12
    P = (V[used] * rho[used, None]).T
    mechanism = ex.Mechanism(P / P.sum(axis=1, keepdims=True), prior.labels)
    trace = float(np.trace(np.linalg.inv(information(prior, mechanism))))
    return EstimationDesign(mechanism, trace, min(lower, trace))


def _best_weights(V: Floats, W: Floats) -> Floats:
    """The distribution over rows of V with mean 1 that has the largest mean of v' W v."""
    from scipy.optimize import linprog

    gains = np.einsum("ki,ij,kj->k", V, W, V)
    found = linprog(-gains / np.abs(gains).max(), A_eq=V.T, b_eq=np.ones(V.shape[1]), method="highs")
    if found.status != 0:
        raise ex.SolverError(f"the program over lift vectors ended without an answer: {found.message}")
    return np.maximum(np.asarray(found.x, dtype=np.float64), 0.0)


def _mix(parts: Floats, share: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Proportions in which to mix information matrices for the least tr J^-1, and that J^-1.

    Vertex exchange: share moves from the part with the smallest slope to that with the largest, by a step of Newton
    along this line.
    """
    share = share.copy()
    for _ in range(2000):
        inverse = np.linalg.inv(np.einsum("k,kij->ij", share, parts))
        slope = np.einsum("ij,kij->k", inverse @ inverse, parts)
        up, down = int(np.argmax(slope)), int(np.argmin(np.where(share > 0, slope, np.inf)))
        trace = float(np.trace(inverse))
        if slope[up] - slope[down] <= tolerance * (trace - 1):
            break
        D = inverse @ (parts[up] - parts[down])
        curvature = 2 * float(np.trace(D @ D @ inverse))
        step = min(float(slope[up] - slope[down]) / max(curvature, 1e-300), float(share[down]))
        share[up] += step
        share[down] -= step
    return share, np.linalg.inv(np.einsum("k,kij->ij", share, parts))
