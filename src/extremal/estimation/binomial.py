"""Clopper and Pearson's limits for the probability behind a binomial count: never wrong more often than allowed."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Floats


def lower_limit(k: Any, n: Any, alpha: Any) -> Floats:
    """The p with P[Bin(n, p) >= k] = alpha, 0 for k = 0; the true p is below it at most so often.

    Counts that are expected need not be whole: between whole numbers the limit grows with k.
    """
    from scipy.special import betaincinv

    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    some = np.where(k > 0, k, 1.0)
    return np.where(k > 0, betaincinv(some, n - some + 1, alpha), 0.0)


def upper_limit(k: Any, n: Any, alpha: Any) -> Floats:
    """The p with P[Bin(n, p) <= k] = alpha, 1 for k = n; the true p is above it at most so often."""
    from scipy.special import betainccinv

    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    some = np.where(k < n, k, 0.0)
    return np.where(k < n, betainccinv(some + 1, n - some, alpha), 1.0)
