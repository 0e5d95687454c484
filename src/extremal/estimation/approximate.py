"""Ordinary intervals: each holds with about its confidence, in the limit of many reports.

For the share of some answers, all other shares in proportion, the variance of its estimate is a quadratic function
of the share itself, so the test "is it t?" can be turned around in closed form (Wilson's score interval; for a
mechanism that reports the truth it is his, for randomized response it is his for the reports, transformed). For other
combinations of shares, and with weights, strata or clusters, the estimate plus and minus a quantile times its standard
error (Wald).
"""

from __future__ import annotations

import math

import numpy as np

from .._types import Bools, Floats
from .intervals import Bounds, normal_quantile


def score_intervals(
    targets: Floats,
    W: Floats,
    P: Floats,
    report_shares: Floats,
    theta: Floats,
    expected: Floats,
    n: float,
    z: float,
) -> Bounds:
    """Intervals for sums over symbols, targets of zeros and ones with unbiased weights W.

    Where the shares say nothing about how a sum splits, because it is 0 or 1, the expected ones do.
    """
    lower, upper = np.empty(len(targets)), np.empty(len(targets))
    for k, (t, w) in enumerate(zip(targets, W, strict=True)):
        inside = _part(theta * t, expected * t)
        outside = _part(theta * (1 - t), expected * (1 - t))
        squares = w * w
        a, b = float(outside @ P @ squares), float(inside @ P @ squares)
        center = min(max(float(w @ report_shares), 0.0), 1.0)
        # n (center - t)^2 <= z^2 (a + (b - a) t - t^2)
        half = n * center + z * z * (b - a) / 2
        root = math.sqrt(max(half * half - (n + z * z) * (n * center * center - z * z * a), 0.0))
        lower[k], upper[k] = (half - root) / (n + z * z), (half + root) / (n + z * z)
    return Bounds(np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0))


def _part(values: Floats, otherwise: Floats) -> Floats:
    total = values.sum()
    if total > 0:
        return np.asarray(values / total)
    total = otherwise.sum()
    return np.asarray(otherwise / total) if total > 0 else otherwise


def wald_intervals(targets: Floats, centers: Floats, errors: Floats, quantile: float) -> Bounds:
    """centers -+ quantile * errors, within what the targets can be."""
    away = quantile * errors
    low, high = targets.min(axis=1), targets.max(axis=1)
    return Bounds(np.clip(centers - away, low, high), np.clip(centers + away, low, high))


def two_sided_quantile(error: float, degrees: int | None = None) -> float:
    """The quantile of a standard normal, or of Student's t, that is exceeded in size with this probability."""
    if degrees is None:
        return normal_quantile(error / 2)
    from scipy.special import stdtrit

    return -float(stdtrit(max(degrees, 1), error / 2))


def is_sum(targets: Floats) -> Bools:
    """Whether each target is a sum over some symbols, but not over none or all."""
    binary = ((targets == 0) | (targets == 1)).all(axis=1)
    return np.asarray(binary & (targets.max(axis=1) == 1) & (targets.min(axis=1) == 0))
