"""Shares of a part among a whole, both estimated: transitions, and answers among those who comply."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._common.threads import one_thread
from .._common.types import Floats
from ..model.labels import Labels
from .approximate import covering, ratio_intervals
from .interval_table import IntervalTable
from .intervals import Bounds
from .promise import Promise
from .result import Estimate


@one_thread
def ratio_table(found: Estimate, title: str, names: Labels, parts: Floats, wholes: Floats) -> IntervalTable:
    """Sums over symbols as shares of sums over more symbols, with ordinary intervals.

    A ratio is identified if both sums are, and the whole is larger than its standard error. `parts` and `wholes` have
    a row of zeros and ones for each.
    """
    size = len(parts)
    targets = np.concatenate((parts, wholes))
    sums, errors = targets @ found.shares, found.standard_errors_of(targets)
    (a, b), (one, other) = np.split(sums, 2), np.split(errors, 2)
    known = np.isfinite(one) & np.isfinite(other) & (b > other)
    ratios = np.clip(np.divide(a, b, out=np.zeros(size), where=b > 0), 0.0, 1.0)
    shared = found.covariance_of(targets)[np.arange(size), size + np.arange(size)]
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = one**2 + ratios**2 * other**2 - 2 * ratios * shared
        spread = np.where(known, np.sqrt(np.maximum(variance, 0.0)) / b, np.inf)
        correlations = np.where(known, np.clip(shared / (one * other), -1.0, 1.0), 0.0)
    ends = replace(found, intervals="each").bounds(targets, 1 - found.confidence)
    part, whole = (
        Bounds(*both) for both in zip(np.split(ends.lower, 2), np.split(ends.upper, 2), strict=True)
    )
    bounds = covering(ratio_intervals(part, whole, a, b, correlations), ratios, spread)
    promise = Promise(found.confidence, "each", exact=False, weighted=found.survey is not None, choice=False)
    return IntervalTable(title, names, ratios, *bounds, spread, known, promise, warning=found.warning)
