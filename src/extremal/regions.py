"""Privacy regions: how many zeros a column may have at a privacy level (Lemma 2).

With the prior sorted in decreasing order, epsilon_k = -log(sum of the N - k largest masses). A column with k
zeros is possible only if epsilon >= epsilon_k. Region k is [epsilon_{k-1}, epsilon_k) for k = 1..N-1 and, the case
the paper leaves out, region N is [epsilon_{N-1}, epsilon_max).

The only module that sorts a prior: everywhere else symbols keep the caller's order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import EpsilonError

Floats = NDArray[np.float64]

# Two edges, or epsilon and an edge, are one number when they differ by no more than what rounding the prior to
# doubles can do: the masses carry relative errors of 1e-16 each, their logarithms a few ulps more.
RELATIVE_NOISE = 1e-13
ABSOLUTE_NOISE = 2e-15


def check_epsilon(epsilon: Any) -> float:
    """epsilon as a float, if it is a finite number >= 0."""
    try:
        value = float(epsilon)
    except (TypeError, ValueError):
        raise EpsilonError(f"epsilon must be a number of nats >= 0, got {epsilon!r}") from None
    if not math.isfinite(value) or value < 0:
        raise EpsilonError(
            f"epsilon must be finite and >= 0 (in nats), got {value}; "
            "any epsilon >= prior.epsilon_max already allows full disclosure"
        )
    return value


def region_edges(probabilities: ArrayLike) -> Floats:
    """epsilon_0 = 0, epsilon_1, ..., epsilon_{N-1}, epsilon_max: N + 1 numbers in increasing order."""
    ascending = np.sort(np.asarray(probabilities, dtype=np.float64))
    n = len(ascending)
    tail = np.concatenate(([0.0], np.cumsum(ascending)[:-1]))  # mass of the k smallest symbols, k = 0..n-1
    head = np.cumsum(ascending[::-1])[::-1]  # mass of the n - k largest symbols, accurate where it is small
    with np.errstate(divide="ignore", invalid="ignore"):
        edges = np.where(tail < 0.5, -np.log1p(-tail), -np.log(head))
    edges = np.append(edges, -math.log(ascending[0]))
    if ascending[-1] - ascending[0] <= RELATIVE_NOISE * ascending[-1]:
        edges[n - 1] = edges[n]  # uniform: epsilon_{N-1} and epsilon_max are the same number
    edges[0] = 0.0
    return np.maximum.accumulate(edges)


def region(probabilities: ArrayLike, epsilon: float) -> int:
    """k in 1..N with epsilon in [epsilon_{k-1}, epsilon_k), or N + 1 at or above epsilon_max.

    An epsilon that differs from an edge only by rounding counts as the edge.
    """
    epsilon = check_epsilon(epsilon)
    edges = region_edges(probabilities)
    reached = epsilon >= edges - (RELATIVE_NOISE * edges + ABSOLUTE_NOISE)
    reached[0] = True
    return int(np.count_nonzero(reached))
