"""The mean of whole numbers within a range, of which nothing else is known.

With many of each kind the interval is the mean plus and minus a quantile times its standard error. With few it is the
one that holds for every number of reports (Bentkus' inequality, module intervals).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._common.types import Floats, Ints
from .approximate import FEW, pulls
from .intervals import VARIANCE_SHARE, Spread, chernoff_above, normal_quantile, side_of


class Range(NamedTuple):
    """What whole numbers from 0 on can be at most, and what their mean can be."""

    most: float
    least_mean: float
    largest_mean: float


class Found(NamedTuple):
    mean: float
    error: float
    lower: float
    upper: float


def sample_mean(times: Ints, within: Range, error: float, least_variance: float) -> Found:
    """The mean of numbers 0, 1, … that came so often, and an interval that misses with probability about `error`.

    The standard error of a few numbers, which may all be equal, is at least that of the given variance.
    """
    n, values = float(times.sum()), np.arange(len(times), dtype=np.float64)
    mean = float(values @ times) / n
    variance = float((values - mean) ** 2 @ times) / max(n - 1, 1)
    center = min(max(mean, within.least_mean), within.largest_mean)
    if variance > 0 and float(pulls(values[None], times / n)[0][0]) * n >= FEW:
        away = normal_quantile(error / 2) * math.sqrt(variance / n)
        return Found(mean, math.sqrt(variance / n), center - away, center + away)
    spread = _spread(values, times, mean, within, VARIANCE_SHARE * error)
    upper, lower = side_of(spread.both_ways(), n, (1 - VARIANCE_SHARE) * error / 2) * (1.0, -1.0)
    return Found(mean, math.sqrt(max(variance, least_variance) / n), float(lower), float(upper))


def _spread(values: Floats, times: Ints, mean: float, within: Range, error: float) -> Spread:
    n, middle = float(times.sum()), (within.least_mean + within.largest_mean) / 2
    top = max(middle, within.most - middle) ** 2
    second = (values - middle) ** 2 @ times / n / top
    bound = chernoff_above(np.array([second]), math.log(1 / error) / n) * top
    mean_, low, high, least, largest, center = (
        np.array([x]) for x in (mean, 0.0, within.most, within.least_mean, within.largest_mean, middle)
    )
    return Spread(mean_, low, high, least, largest, center, bound)
