"""Fewer outputs: rows that tell little are dropped and the rest mixed again."""

from __future__ import annotations

import numpy as np

from ..._common.types import Floats, Ints
from ...errors import SolverError
from ..centred import Problem
from ..watch import UNWATCHED, Watch
from .quadratic import Mixture, balance, mix

PRECISE = 1e-8  # of a mixture that is final
SILENT = 1e-7  # rows that tell less than this part of what the most telling row does are dropped
ROUNDING = 1e-11  # of what weights have to balance
CUT = 0.1  # of the rows, to be dropped at once where their number counts
LARGEST_PART, SMALLEST_PART = 0.4, 0.04  # of the rows, to be dropped at once


def prune(
    problem: Problem, X: Floats, mixture: Mixture, allowed: float, watch: Watch
) -> tuple[Floats, Floats, list[tuple[int, float]]]:
    """Few rows whose best mixture loses no more than allowed, relatively; their weights; and what was tried.

    That is (number of rows, relative increase of the loss), of the sets of rows that were mixed.
    """
    X, q, told = _telling(X, mixture)
    tried: list[tuple[int, float]] = []
    if not watch.over():
        final = mix(X[:, 1:], problem.loss, PRECISE, q, watch)
        best, part = final.loss, LARGEST_PART
        if final.error <= PRECISE:  # else time was up
            X, q, told = _telling(X, final)
        while part >= SMALLEST_PART and not watch.over():
            count = int((1 - part) * len(q))
            fewer = None if count < problem.size else _largest(problem, X, q, told, count, watch)
            if fewer is not None:
                tried.append((count, fewer[1].loss / best - 1))
            if fewer is None or fewer[1].loss > best * (1 + allowed):
                part /= 2
            else:
                X, q, told = _telling(X[fewer[0]], fewer[1])
    return X, exactly_balanced(X, q), sorted(tried)


def cut(problem: Problem, X: Floats, q: Floats, most: int) -> tuple[Floats, Floats] | None:
    """At most so many rows with their best weights, found by dropping those that tell least; None if that fails."""
    X, q, told = _telling(X, mix(X[:, 1:], problem.loss, PRECISE, q))
    part = CUT
    while len(q) > most:
        count = min(max(most, int((1 - part) * len(q))), len(q) - 1)
        fewer = _largest(problem, X, q, told, count, UNWATCHED)
        if fewer is not None:
            X, q, told = _telling(X[fewer[0]], fewer[1])
        elif count < len(q) - 1:
            part /= 2
        else:
            return None
    return X, exactly_balanced(X, q)


def _telling(X: Floats, mixture: Mixture) -> tuple[Floats, Floats, Floats]:
    """The rows that tell something, their weights, and how much; all rows if those alone cannot be balanced."""
    kept = np.flatnonzero(mixture.told > SILENT)
    if not _balanced(X[kept], balance(X[kept][:, 1:], mixture.weights[kept])):
        kept = np.arange(len(X))
    return X[kept], mixture.weights[kept], mixture.told[kept]


def _largest(
    problem: Problem, X: Floats, q: Floats, told: Floats, count: int, watch: Watch
) -> tuple[Ints, Mixture] | None:
    """So many rows that tell most and their best mixture, or None if none has mean 0 or tells enough."""
    kept = np.sort(np.argsort(-told, kind="stable")[:count])
    try:
        fewer = mix(X[kept][:, 1:], problem.loss, PRECISE, q[kept], watch)
    except np.linalg.LinAlgError:
        return None
    return (kept, fewer) if fewer.error <= PRECISE and fewer.weights.min() > 0 else None


def exactly_balanced(X: Floats, q: Floats) -> Floats:
    """Weights next to q that balance the rows of X up to rounding."""
    q = balance(X[:, 1:], q)
    if not _balanced(X, q):
        raise SolverError("no positive weights balance the columns of a design in the last step")
    return q


def _balanced(X: Floats, q: Floats) -> bool:
    """Whether weights are positive, sum to 1 and balance the rows of X, up to rounding."""
    moved = np.abs(q @ X[:, 1:]) <= ROUNDING * (q @ np.abs(X[:, 1:]))
    return bool(q.min() > 0 and abs(q.sum() - 1) <= ROUNDING and moved.all())
