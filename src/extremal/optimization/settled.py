"""The bound of a design for a utility, with what rounding may hide."""

from __future__ import annotations

import math

import numpy as np

from .._common.types import Floats
from ..model.levels import rounding
from ..model.lift_sets import PriorLifts
from ..model.utility import FInformation, Generator
from ..theory.lift_vectors import subset_sums
from .generate import checked_bound
from .problem import Problem
from .tuning import VERTICES_TABLED

LIFTS = 1e-14  # of a lift: what rounding does to it
# Of the value, or of 1: an optimum that rounding moves by more is not known, and its bound says so.
STEEP = 1e-6
DUAL = 1e-12  # of the elements of a dual vector: what rounding does to their sum
ULPS = 1e-15  # of the values of f: what rounding does to a sum of them


def settled_bound(
    problem: Problem, upper: float, dual: Floats | None, value: float
) -> tuple[float, Floats | None]:
    """The bound and the dual vector with what rounding may hide."""
    utility, lifts = problem.utility, PriorLifts(problem.nominal, problem.epsilon, problem.low)
    off = 0.0 if dual is None else DUAL * float(np.abs(dual).sum())
    if not isinstance(utility, FInformation):
        return checked_bound(upper, value, off), dual
    low, high, pi = lifts.low, lifts.high, problem.nominal.probabilities
    ends = np.array([low, high])
    moved = np.clip(ends * (1 + np.array([LIFTS, -LIFTS])), low, high)
    off += float(np.abs(utility.f(ends) - utility.f(moved)).max())
    noise, blur = rounding_errors(pi, utility.f, low, high)
    upper = checked_bound(upper, value, off + noise + blur)
    if dual is None:
        return upper, None
    if upper - value <= noise:
        upper = value
    if blur > STEEP * max(abs(value), 1.0):
        return upper + blur, dual + blur * pi
    return upper, dual


def rounding_errors(pi: Floats, f: Generator, low: float, high: float) -> tuple[float, float]:
    """How far off by rounding the value of a column can be, and how far the optimum can.

    The latter is more where f is very steep at `low`: the partial symbol of a column has a lift that is known to
    rounding, and where e^epsilon is next to the edge of a region that lift is next to `low`.
    """
    noise = ULPS * float(np.abs(f(np.array([low, high]))).max())
    unsure = float(rounding(math.log(high))) * (1 - low)  # of what the full symbols leave of the mean
    nearest = 0.0
    if len(pi) <= VERTICES_TABLED:
        left = np.abs((1 - low) - (high - low) * subset_sums(pi))
        nearest = max(float(left.min()) - unsure, 0.0)
    below, above = (f(low + np.minimum(x / pi, high - low)) for x in (nearest, nearest + 2 * unsure))
    return noise, float(np.max(pi * (below - above)))
