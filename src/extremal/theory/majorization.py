"""Majorization and Schur-convexity (Definitions 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .._types import Floats
from ..errors import PriorError
from ..model.vectors import as_vector

TOLERANCE = 1e-12


def majorizes(p: ArrayLike, q: ArrayLike, tolerance: float = TOLERANCE) -> bool:
    """Whether p majorizes q: equal sums, and every partial sum of the largest elements at least as large.

    >>> majorizes([2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3])
    True
    """
    a, b = (np.sort(_vector(x))[::-1] for x in (p, q))
    if a.shape != b.shape:
        raise PriorError(
            "majorization must compare vectors of equal length",
            given=f"{len(a)} and {len(b)}",
            remedy="append zeros to the shorter",
        )
    if abs(math.fsum(a) - math.fsum(b)) > tolerance:
        return False
    return bool(np.all(np.cumsum(a) >= np.cumsum(b) - tolerance))


def transfer(p: ArrayLike, rich: int, poor: int, share: float) -> Floats:
    """p after moving `share` (0..1) of half the difference from element `rich` to element `poor`.

    Such a transfer makes a vector more even: the result is majorized by p, and every vector majorized by p is
    reached by finitely many of them and a permutation.
    """
    q = _vector(p)
    if not 0 <= share <= 1:
        raise PriorError(
            "the share transferred must be between 0 and 1",
            given=share,
            remedy="1 makes both elements equal",
        )
    if q[rich] < q[poor]:
        raise PriorError(
            "a transfer must go from a larger to a smaller element",
            given=f"{q[rich]:g}, {q[poor]:g}",
            remedy="swap them",
        )
    amount = share * (q[rich] - q[poor]) / 2
    q[rich] -= amount
    q[poor] += amount
    return q


def schur_convex_on(
    phi: Callable[[Floats], float], p: ArrayLike, q: ArrayLike, tolerance: float = TOLERANCE
) -> bool:
    """Whether phi respects the order on this pair: phi(p) >= phi(q) if p majorizes q, and vice versa."""
    a, b = _vector(p), _vector(q)
    forward = not majorizes(a, b) or phi(a) >= phi(b) - tolerance
    backward = not majorizes(b, a) or phi(b) >= phi(a) - tolerance
    return bool(forward and backward)


def _vector(values: ArrayLike) -> Floats:
    p = as_vector(values, "vector")
    if not np.isfinite(p).all():
        raise PriorError(
            "vector must be finite",
            given=p[~np.isfinite(p)][0],
            remedy="correct or drop that element",
        )
    return p
