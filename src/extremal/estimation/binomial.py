"""Clopper and Pearson's limits for the probability behind a binomial count: never wrong more often than allowed.

scipy inverts the incomplete beta function well in general, but not always: where a parameter is near 1000 and n is
10^8 or more its answer can be off by any factor. The function itself is right to 1e-7 up to n = 2^53. So every
inverse is put back into it, and where that does not return alpha, the limit is found by halving.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.types import Floats

MOST_COUNTED = 1 << 53  # doubles tell whole numbers apart up to here
CLOSE = 1e-7  # of alpha: what the round trip may be off by
HALVINGS = 1100  # more than doubles between 0 and 1 allow


def lower_limit(k: Any, n: Any, alpha: Any) -> Floats:
    """The p with P[Bin(n, p) >= k] = alpha, 0 for k = 0; the true p is below it at most so often.

    Counts that are expected need not be whole: between whole numbers the limit grows with k.
    """
    from scipy.special import betainc, betaincinv

    k, n, alpha = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (k, n, alpha)))
    some = np.where(k > 0, k, 1.0)
    p = betaincinv(some, n - some + 1, alpha)
    return np.where(k > 0, _mended(p, alpha, some, n - some + 1, betainc, rising=True), 0.0)


def upper_limit(k: Any, n: Any, alpha: Any) -> Floats:
    """The p with P[Bin(n, p) <= k] = alpha, 1 for k = n; the true p is above it at most so often."""
    from scipy.special import betaincc, betainccinv

    k, n, alpha = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (k, n, alpha)))
    some = np.where(k < n, k, 0.0)
    p = betainccinv(some + 1, n - some, alpha)
    return np.where(k < n, _mended(p, alpha, some + 1, n - some, betaincc, rising=False), 1.0)


def _mended(
    p: Floats,
    alpha: Floats,
    a: Floats,
    b: Floats,
    tail: Callable[..., Any],
    rising: bool,
) -> Floats:
    """p, and where tail(a, b, p) is not alpha, the double next to the solution on the side where it is less."""
    wrong = ~(np.abs(tail(a, b, p) - alpha) <= CLOSE * alpha)
    if not wrong.any():
        return p
    a, b, alpha = a[wrong], b[wrong], alpha[wrong]
    below, above = np.zeros_like(a), np.ones_like(a)
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        small = (tail(a, b, middle) < alpha) == rising  # below the solution
        moved = (middle > below) & (middle < above)
        if not moved.any():
            break
        below = np.where(moved & small, middle, below)
        above = np.where(moved & ~small, middle, above)
    p = np.array(p)
    p[wrong] = below if rising else above
    return p
