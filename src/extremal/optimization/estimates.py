"""The mechanism under epsilon-PML with the least error of what is estimated, and a proven bound."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._common.types import Floats, Ints
from ..errors import EpsilonError, OptionError
from ..model.prior import Prior
from ..model.proof import Certificate
from ..model.regions import check_epsilon, region
from .bound import checked_bound
from .centred import Problem, efficiency, from_excess, make_problem
from .found import Found
from .reductions.alike import merge_alike
from .search import closed, search
from .watch import Progress, Watch

ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Solution:
    """Lift vectors, one a row, with their output probabilities; the efficiency, and what none can exceed.

    `stats` says how it was found: method, rounds, columns, and whether it was stopped early.
    """

    lifts: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    value: float
    upper_bound: float
    certificate: Certificate = field(repr=False)
    stats: dict[str, Any]

    @property
    def matrix(self) -> Floats:
        """P(y|x): rows are inputs."""
        P = (self.lifts * self.weights[:, None]).T
        return np.asarray(P / P.sum(axis=1, keepdims=True))

    @property
    def gap(self) -> float:
        """How much larger the efficiency could be at most, relative to the value."""
        return max(self.upper_bound - self.value, 0.0) / self.value if self.value > 0 else math.inf


def default_tolerance(size: int, epsilon: float) -> float:
    """The relative gap that is within reach for so many symbols."""
    if size <= 18:
        return 1e-3
    if size <= 200:
        low, high = (1e-2, 2e-2) if size <= 40 else (2e-2, 5e-2)
        return low if epsilon <= 1 else high
    return 1e-1


def solve(
    probabilities: ArrayLike,
    epsilon: float,
    A: ArrayLike,
    *,
    tolerance: float | None = None,
    rounds: int = ROUNDS,
    time_limit: float = math.inf,
    progress: Progress | None = None,
    start: ArrayLike | None = None,
) -> Solution:
    """The mechanism of largest efficiency tr(A (diag pi - pi pi')) / tr(A Sigma), Sigma = J^-1 - pi pi'.

    Parameters
    ----------
    probabilities : the prior; all masses positive.
    epsilon : the level, > 0.
    A : positive semidefinite, in the order of the symbols; the identity weighs the errors of all shares equally.
    tolerance : the relative gap to stop at; by default what is within reach for the number of symbols.
    rounds : how many times to look for better lift vectors at most.
    time_limit : seconds after which to stop with the best so far.
    progress : called with value and upper bound after every round.
    start : lift vectors worth trying, one a row, e.g. those of a design for a smaller epsilon.
    """
    deadline = time.perf_counter() + time_limit
    pi, A = check_purpose(probabilities, A)
    epsilon = check_epsilon(epsilon)
    if epsilon == 0:
        raise EpsilonError(
            "must be > 0 to estimate anything",
            parameter="epsilon",
            given="0",
            remedy="e.g. 0.5",
        )
    if tolerance is not None and not 0 < tolerance < 1:
        raise OptionError(
            "must be between 0 and 1",
            parameter="tolerance",
            given=tolerance,
            remedy="0.01 proves one percent",
        )
    groups = merge_alike(A)
    size = int(groups.max()) + 1
    if size == 1:
        raise OptionError(
            "the purpose must tell some symbols apart",
            given="one that weighs them all alike",
            remedy="use shares",
        )
    first = np.unique(groups, return_index=True)[1]
    merged = np.bincount(groups, weights=pi).astype(np.float64)
    order = np.lexsort((-np.diagonal(A)[first], -merged))
    sorted_A = A[np.ix_(first[order], first[order])]
    problem = make_problem(merged[order], epsilon, sorted_A)
    if region(problem.pi, epsilon) > size:
        problem = from_excess(problem.pi, float((1 - problem.pi[-1]) / problem.pi[-1]), sorted_A)
    goal = default_tolerance(size, epsilon) if tolerance is None else tolerance
    given = None if start is None else _given(start, groups, order, problem)
    watch = Watch(deadline, progress)
    found = closed(problem) or search(problem, goal, rounds, watch, given)
    return in_order(found, problem, groups, order, watch)


def check_purpose(probabilities: ArrayLike, A: ArrayLike) -> tuple[Floats, Floats]:
    pi = Prior(np.asarray(probabilities, dtype=np.float64)).probabilities
    matrix = np.asarray(A, dtype=np.float64)
    if matrix.shape != (len(pi), len(pi)) or not np.isfinite(matrix).all():
        raise OptionError(
            f"A must be a finite {len(pi)} x {len(pi)} matrix",
            given=f"shape {matrix.shape}",
        )
    scale = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > 1e-12 * scale:
        raise OptionError(
            "A must be symmetric",
            remedy="use (A + A.T) / 2",
        )
    matrix = (matrix + matrix.T) / 2
    diagonal = np.count_nonzero(matrix - np.diag(np.diagonal(matrix))) == 0
    least = float(np.diagonal(matrix).min()) if diagonal else float(np.linalg.eigvalsh(matrix)[0])
    if least < -1e-10 * scale:
        raise OptionError(
            "A must be positive semidefinite",
            given=f"an eigenvalue of {least:.3g}",
            remedy="e.g. M.T @ M is",
        )
    return pi, matrix


def _given(start: ArrayLike, groups: Ints, order: Ints, problem: Problem) -> Floats:
    """Lift vectors of the caller's symbols, as rows less 1 of the merged and sorted ones."""
    lifts = np.atleast_2d(np.asarray(start, dtype=np.float64))
    first = np.unique(groups, return_index=True)[1]
    X = lifts[:, first[order]] - 1
    fits = (X.min(axis=1) >= -1) & (X.max(axis=1) <= problem.excess) & (np.abs(X @ problem.pi) < 1e-9)
    return np.asarray(X[fits])


def in_order(found: Found, problem: Problem, groups: Ints, order: Ints, watch: Watch) -> Solution:
    """Back to the caller's symbols."""
    place = np.argsort(order)  # of each merged symbol among the sorted ones
    column = place[groups]
    lifts = (1 + found.X)[:, column]
    ended = {"out_of_time": watch.stopped, "interrupted": watch.interrupted}
    stats = found.stats | {"outputs": len(lifts)} | ended
    proof = found.certificate
    W = proof.weights[place] if proof.weights.ndim == 1 else proof.weights[np.ix_(place, place)]
    y = None if proof.prices is None else proof.prices[place]
    merged = None if len(order) == len(groups) else groups
    value = efficiency(problem, found.X, found.weights)
    low = None if proof.low is None else proof.low[np.ix_(place, place)]
    away = None if proof.away is None else proof.away[place]
    certificate = replace(proof, weights=W, prices=y, groups=merged, low=low, away=away)
    return Solution(lifts, found.weights, value, checked_bound(found.upper, value), certificate, stats)
