"""Majorization (Definition 2)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .._common import checks
from ..errors import PriorError

TOLERANCE = 1e-12


def majorizes(p: ArrayLike, q: ArrayLike, tolerance: float = TOLERANCE) -> bool:
    """Whether p majorizes q: equal sums, and every partial sum of the largest elements at least as large.

    Examples
    --------
    >>> majorizes([2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3])
    True

    Parameters
    ----------
    p
        Numbers.
    q
        As many numbers.
    tolerance
        How much a partial sum may fall short.
    """
    a, b = (np.sort(checks.numbers(x, "vector", error=PriorError))[::-1] for x in (p, q))
    if a.shape != b.shape:
        raise PriorError(
            "majorization must compare vectors of equal length",
            given=f"{len(a)} and {len(b)}",
            remedy="append zeros to the shorter",
        )
    if abs(math.fsum(a) - math.fsum(b)) > tolerance:
        return False
    return bool(np.all(np.cumsum(a) >= np.cumsum(b) - tolerance))
