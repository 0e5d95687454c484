"""Shares among some of the people: ratios of sums of shares, with intervals of their own.

A ratio θ = a/b lies in the interval if that of a − θ b, which is a sum of shares, holds 0. So the interval misses as
rarely as those of such sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._common.types import Floats
from .interval_table import IntervalTable
from .result import Estimate

STEPS = 30  # halvings: ends to 1e-9 of the range


def ratios(
    found: Estimate, title: str, names: tuple[Any, ...], parts: Floats, whole: Floats
) -> IntervalTable:
    """The sums with coefficients `parts`, a row each, over that with `whole`, which are 0 or 1."""
    inside = whole > 0
    least, most = parts[:, inside].min(axis=1), parts[:, inside].max(axis=1)
    total = float(whole @ found.shares)
    values = np.clip(parts @ found.shares / total, least, most) if total > 0 else (least + most) / 2
    error = 1 - found.confidence

    def rest(theta: Floats) -> Floats:
        return np.asarray(parts - theta[:, None] * whole)

    lower = _end(values, least, lambda theta: found.bounds(rest(theta), error).lower <= 0)
    upper = _end(values, most, lambda theta: found.bounds(rest(theta), error).upper >= 0)
    table = found.combinations(title, names, rest(values))
    errors = table.standard_errors / total if total > 0 else np.full(len(names), np.inf)
    return replace(
        table, estimates=values, lower=lower, upper=upper, standard_errors=errors, design_effects=None
    )


def _end(inside: Floats, outside: Floats, holds: Callable[[Floats], Any]) -> Floats:
    """How far each interval reaches from the estimate, as bisection finds it, rounded outwards."""
    near, far = inside.copy(), np.where(holds(outside), inside, outside)
    far_holds = far == inside
    for _ in range(STEPS):
        middle = (near + far) / 2
        good = holds(middle)
        near, far = np.where(good, middle, near), np.where(good, far, middle)
    return np.where(far_holds, outside, far)
