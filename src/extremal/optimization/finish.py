"""The end of every way to solve a problem: a mechanism is repaired, measured and held against its bound.

`finish` alone makes designs.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from .._common.types import Floats
from ..errors import ProofError
from ..model.blocks import BlockMechanism
from ..model.levels import rounding
from ..model.lift_sets import PriorLifts
from ..model.mechanism import Mechanism
from ..model.proof import Certificate
from ..model.purpose import Purpose
from ..model.utility import FInformation, Generator
from ..theory.lift_vectors import subset_sums
from ..theory.pairing import pair_outputs
from .effort import Effort, Stats, Why
from .generate import NO_SEARCH, relative_gap
from .problem import Problem
from .result import Arcs, Design
from .tuning import VERTICES_TABLED

ROUNDING = 1e-9  # of the value: what sums, factors and linear programs may be off by
LIFTS = 1e-14  # of a lift: what rounding does to it
STEEP = (
    1e-6  # of the value, or of 1: an optimum that rounding moves by more is not known, and its bound says so
)
DUAL = 1e-12  # of the elements of a dual vector: what rounding does to their sum
ULPS = 1e-15  # of the values of f: what rounding does to a sum of them


@dataclass(frozen=True, eq=False)
class Found:
    """A mechanism and what is known about it: the method, a bound on the optimum with its proof, what was done.

    Without `upper` the sum of the dual vector bounds the optimum, or the value does if there is none. `value` is what
    it is worth where that is known better than from its matrix.
    """

    method: str
    made: Mechanism | BlockMechanism | Arcs
    upper: float | None = None
    dual: Floats | None = None
    certificate: Certificate | None = None
    stats: Stats = NO_SEARCH
    value: float | None = None
    beyond_doubles: bool = False  # the bound says that the optimum is lost in rounding: it stays as it is


def finish(problem: Problem, found: Found, effort: Effort, begin: float) -> Design:
    """The design of what was found, measured; `begin` is when the search began."""
    utility, value, made = problem.utility, found.value, found.made
    if isinstance(utility, Purpose) and isinstance(made, Mechanism):
        made = pair_outputs(problem.nominal, made)
    if value is None:
        assert isinstance(made, Mechanism)
        value = utility(problem.nominal, made)
    upper = found.upper
    if upper is None:
        upper = value if found.dual is None else math.fsum(found.dual)
    dual = found.dual
    if isinstance(utility, Purpose):
        upper = checked_bound(min(upper, 1.0), value, blurred(value, problem.epsilon))
    else:
        if not found.beyond_doubles:
            upper, dual = _settled_bound(problem, upper, dual, value)
        if isinstance(made, Mechanism):
            made = pair_outputs(problem.nominal, made)
    proven = relative_gap(value, upper) <= problem.goal(effort) and not found.beyond_doubles
    stats = found.stats
    why = Why.REACHED if proven and stats.why in (Why.EXHAUSTED, Why.WORK) else stats.why
    return Design(
        problem.nominal,
        problem.epsilon,
        utility,
        found.method,
        made,
        value,
        upper,
        dual,
        proven,
        replace(stats, seconds=time.perf_counter() - begin, why=why),
        problem.priors,
        problem.notion,
        found.certificate,
    )


def checked_bound(upper: float, value: float, rounding: float = 0.0) -> float:
    """The upper bound, or the value of a mechanism where rounding put the bound below it.

    A bound that is further below is contradicted by the mechanism: the proof is wrong. `rounding` is what the two may
    be off by, in addition to ROUNDING of the value.
    """
    if value - upper > ROUNDING * abs(value) + rounding:
        raise ProofError(
            "the upper bound of a design is below its value, so its proof is wrong",
            given=f"a bound of {upper:.12g} and a value of {value:.12g}",
            remedy="this is a fault of the library: report it with the prior and epsilon",
        )
    return max(upper, value)


def blurred(efficiency: float, epsilon: float) -> float:
    """How far off an efficiency may be that was measured from a matrix: lifts differ from 1 by about epsilon only."""
    return efficiency * min(1.0, LIFTS / epsilon) if epsilon > 0 else 0.0


def _settled_bound(
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
