"""Fewer outputs: rows of small weight are dropped and the rest mixed again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from .master import Mixture, mix
from .problem import Problem

Floats = NDArray[np.float64]

FEW = 4  # outputs for each symbol that need not be fewer
PRECISE = 1e-8  # of a mixture that is final


def prune(problem: Problem, X: Floats, mixture: Mixture, allowed: float) -> tuple[Floats, Floats]:
    """As few rows as the allowed relative increase of the loss leaves room for, and their weights."""
    q = mixture.weights
    kept = np.flatnonzero(q > 1e-7 * q.max())
    final = mix(X[kept][:, 1:], problem.loss, PRECISE, q[kept])
    best = final.loss
    X, q = X[kept], final.weights
    while True:
        count = int(np.count_nonzero(q > 1e-6 * q.max()))
        if count > 1.3 * FEW * problem.size:
            count = max(int(0.75 * count), FEW * problem.size)
        elif count == len(q):
            count = int(0.9 * count)
        if count < problem.size:
            break
        kept = np.sort(np.argsort(-q, kind="stable")[:count])
        try:
            fewer = mix(X[kept][:, 1:], problem.loss, PRECISE, q[kept])
        except np.linalg.LinAlgError:
            break
        if fewer.error > PRECISE or fewer.loss > best * (1 + allowed):
            break
        X, q = X[kept], fewer.weights
    kept = np.flatnonzero(q > 1e-9 * q.max())
    return X[kept], balance(X[kept], q[kept])


def balance(X: Floats, q: Floats) -> Floats:
    """The weights nearby that sum to 1 and balance the rows of X up to rounding."""
    E = np.column_stack([np.ones(len(X)), X[:, 1:]])
    target = np.zeros(E.shape[1])
    target[0] = 1.0
    for _ in range(3):
        short = target - E.T @ q
        q = q * (1 + E @ np.linalg.lstsq((E.T * q) @ E, short, rcond=None)[0])
    if not q.min() > 0:
        raise SolverError(
            "the weights of a design lost their sign in the last step",
        )
    return q
