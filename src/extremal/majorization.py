"""Majorization and Schur-convexity (Definitions 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-12


def majorizes(p: ArrayLike, q: ArrayLike, tolerance: float = TOLERANCE) -> bool:
    """Whether p majorizes q: equal sums, and every partial sum of the largest elements at least as large.

    >>> majorizes([2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3])
    True
    """
    a, b = (np.sort(np.asarray(x, dtype=np.float64))[::-1] for x in (p, q))
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"majorization compares two vectors of equal length, got shapes {a.shape} and {b.shape}")
    if abs(math.fsum(a) - math.fsum(b)) > tolerance:
        return False
    return bool(np.all(np.cumsum(a) >= np.cumsum(b) - tolerance))


def transfer(p: ArrayLike, rich: int, poor: int, share: float) -> Floats:
    """p after moving `share` (0..1) of half the difference from element `rich` to element `poor`.

    Such a transfer makes a vector more even: the result is majorized by p, and every vector majorized by p is
    reached by finitely many of them and a permutation.
    """
    q = np.array(p, dtype=np.float64)
    if not 0 <= share <= 1 or q[rich] < q[poor]:
        raise ValueError("a transfer goes from a larger to a smaller element, with a share between 0 and 1")
    amount = share * (q[rich] - q[poor]) / 2
    q[rich] -= amount
    q[poor] += amount
    return q


def schur_convex_on(phi: Callable[[Floats], float], p: ArrayLike, q: ArrayLike, tolerance: float = TOLERANCE) -> bool:
    """Whether phi respects the order on this pair: phi(p) >= phi(q) if p majorizes q, and the other way round."""
    a, b = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    forward = not majorizes(a, b) or phi(a) >= phi(b) - tolerance
    backward = not majorizes(b, a) or phi(b) >= phi(a) - tolerance
    return forward and backward
