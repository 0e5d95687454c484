"""An independent check of one claim: a mechanism, epsilon-PML, worth what it says, and how near to the optimum.

Shares no code with the solver. What it proves about the optimum U* is weak duality: for *any* vector y,

    U* <= max of mu(lam) - y.(lam - 1) over lift vectors lam,

where a lift vector has low <= lam_i <= c = e^epsilon and pi.lam = 1. So the dual vector needs no trust, only
an upper bound on the maximum, which `bounds` finds. For a set of priors lam_i <= c pi'.lam must hold for every pi' in
it; then `bound_over_set` does.

A claim may be off by 1e-9 of itself and by what rounding does to the figure it is compared with; both are relative,
so a value of 1e-14 is checked as strictly as one of 1:

- The bound: by the error of what is computed and the blur of the masses, see `bounds`.
- The value: entries of the mechanism and sums of N products are off by (N + 8) ulp of themselves. What that does to
  the utility is measured, by moving every entry by as much.
- Lifts: by as much, relatively; so is the leakage, their logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._common.types import Floats
from ..errors import MechanismError
from ..model.blocks import BlockMechanism
from ..model.designed import Designed
from ..model.leakage import epsilon_pml, lift
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.utility import FInformation, Utility
from .bounds import Bound, bound_over_set, raised, upper_bound
from .separable import ULP

EXACT = 1e-12  # what row sums may be off by; of itself, what epsilon and a lower bound on lifts may be
RELATIVE = 1e-9  # of itself, what a value or a bound may be off by


@dataclass(frozen=True)
class Check:
    """What was found about a design; `ok` if all it claims was proved, else `problems` says what was not.

    `upper_bound` is what was proved, `how` says by which method, and `gap` is its distance from the value
    relative to itself. `proved`: the claimed upper bound is finite and was proved.

    Attributes
    ----------
    row_error
        How far row sums are from 1, at most.
    leakage
        The leakage found.
    leakage_allowed
        The leakage allowed, with rounding.
    value
        The value found.
    claimed_value
        The value claimed.
    upper_bound
        The bound that was proved.
    claimed_upper_bound
        The bound claimed.
    proved
        Whether the claimed bound is finite and was proved.
    how
        How the bound was proved.
    problems
        What was not proved.
    """

    row_error: float
    leakage: float
    leakage_allowed: float
    value: float
    claimed_value: float
    upper_bound: float
    claimed_upper_bound: float
    proved: bool
    how: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether all that the design claims was proved."""
        return not self.problems

    @property
    def gap(self) -> float:
        """The distance between value and proved bound, relative to the bound."""
        if not self.upper_bound < math.inf:
            return math.inf
        apart = max(self.upper_bound - self.value, 0.0)
        return 0.0 if apart == 0 else apart / abs(self.upper_bound) if self.upper_bound else math.inf

    def __str__(self) -> str:
        lines = [
            "the design holds what it claims" if self.ok else "the design does not hold what it claims",
            f"  rows         sum to 1 within {self.row_error:.1e}",
            f"  leakage      {self.leakage:.12g} of {self.leakage_allowed:.12g} nats allowed",
            f"  value        {self.value:.12g}, claimed {self.claimed_value:.12g}",
            f"  upper bound  {self.upper_bound:.12g}, claimed {self.claimed_upper_bound:.12g}, by {self.how}",
            f"  gap          {self.gap:.2e}, {'' if self.proved else 'not '}proved",
        ]
        return "\n".join([*lines, *(f"  problem      {problem}" for problem in self.problems)])


def check_claim(
    prior: Prior,
    epsilon: float,
    utility: Utility,
    design: Designed,
    *,
    lower_lift: float = 0.0,
    priors: PriorSet | None = None,
    blocks: BlockMechanism | None = None,
) -> Check:
    """Whether a design is a mechanism, satisfies epsilon-PML, has its value, and its upper bound is one.

    With `lower_lift` no lift may be smaller, neither of the mechanism nor of those it competes with. With `priors` it
    must keep epsilon for every prior of the set. `blocks` is the same mechanism without its matrix. An infinite upper
    bound claims nothing: nothing is proved then, but the design is not wrong either.
    """
    utility.columns(prior, np.ones((prior.size, 1)))  # refuses a utility that does not fit the prior
    problems: list[str] = []
    if blocks is not None and isinstance(utility, FInformation) and blocks.inputs == prior.labels:
        # Blocks leak what their symbols do, and are worth the same.
        measured = blocks.blocks.merged(prior), blocks.between
    else:
        measured = prior, design.mechanism
    row_error, leakage, value, noise = _measured(epsilon, utility, *measured, lower_lift, problems)
    if priors is not None and not math.isnan(leakage):
        leakage = leakage_over(priors, epsilon, design.mechanism, problems)
    claimed, claim = number(design.value), number(design.upper_bound)
    allowed = RELATIVE * max(abs(value), abs(claimed)) + noise
    if not (math.isfinite(claimed) and abs(value - claimed) <= allowed):
        problems.append(f"value is {value:.12g}, not {claimed:.12g}")
    if claim < value - allowed:
        problems.append(f"upper bound {claim:.12g} is below the value {value:.12g}")

    def proves(bound: Bound) -> bool:
        return bound.value - bound.uncertain <= claim + RELATIVE * abs(claim) + (noise if noise >= 0 else 0.0)

    proved, bound = False, Bound(math.inf, "nothing: none is claimed")
    if not claim > -math.inf:
        problems.append(f"upper bound must be a number, got {claim}")
    elif claim < math.inf:
        y = _checked_dual(design.proof, prior.size, problems)
        if y is not None:
            with np.errstate(all="ignore"):  # a bound that overflows proves nothing
                bound = (
                    upper_bound(prior, epsilon, utility, y, lower_lift, claim, proves)
                    if priors is None
                    else bound_over_set(priors, epsilon, utility, raised(y), proves)
                )
            proved = proves(bound)
            if not proved:
                problems.append(f"upper bound {claim:.12g} is not proved: {bound.value:.12g} by {bound.how}")
    found = (value, claimed, bound.value, claim, proved, bound.how)
    return Check(row_error, leakage, epsilon, *found, tuple(problems))


def leakage_over(priors: PriorSet, epsilon: float, mechanism: Mechanism, problems: list[str]) -> float:
    """The leakage under the worst prior of a set."""
    leakage = epsilon_pml(priors, mechanism)
    if not leakage <= epsilon + EXACT:
        problems.append(f"leakage over the set of priors is {leakage:.15g}, above epsilon")
    return leakage


def _measured(
    epsilon: float, utility: Utility, prior: Prior, mechanism: Mechanism, low: float, problems: list[str]
) -> tuple[float, float, float, float]:
    """Error of the row sums, leakage, value of a mechanism and its rounding; not a number where it has none."""
    P = np.asarray(mechanism.matrix, dtype=np.float64)
    if P.ndim != 2 or P.size == 0 or not (np.isfinite(P).all() and P.min() >= 0):
        problems.append("mechanism must be a matrix of finite numbers >= 0")
        return math.nan, math.nan, math.nan, math.nan
    row_error = error_of_rows(P, problems)
    try:
        lifts = lift(prior, mechanism)
    except MechanismError as error:
        problems.append(str(error))
        return row_error, math.nan, math.nan, math.nan
    leakage, off = leakage_of(lifts, epsilon, problems), (prior.size + 8) * ULP
    if not lifts.min() >= low - (EXACT * (1 - low) + off) * low:
        problems.append(f"a lift is {lifts.min():.15g}, {low - lifts.min():.2e} below lower_lift")
    return row_error, leakage, utility(prior, mechanism), rounding_of(partial(utility.columns, prior), P)


def error_of_rows(P: Floats, problems: list[str]) -> float:
    """How far row sums are from 1, at most."""
    error = float(np.abs(P.sum(axis=1) - 1).max())
    if error > EXACT:
        problems.append(f"a row of the mechanism misses 1 by {error:.2e}")
    return error


def leakage_of(lifts: Floats, epsilon: float, problems: list[str]) -> float:
    """The logarithm of the largest lift."""
    leakage = math.log(max(float(lifts.max()), 1.0))
    if not leakage <= epsilon * (1 + EXACT) + (len(lifts) + 8) * ULP:
        problems.append(f"leakage is {leakage:.15g}, {leakage - epsilon:.2e} above epsilon")
    return leakage


def rounding_of(worth: Callable[[Floats], Floats], P: Floats) -> float:
    """What the sum of `worth` changes by, at most about, if every entry is off by (N + 8) ulp of itself."""
    off = (len(P) + 8) * ULP
    here = worth(P)
    moved = np.zeros_like(here)
    every_second = np.broadcast_to(np.arange(len(P))[:, None] % 2 == 0, P.shape)
    random = (np.random.default_rng(seed).random(P.shape) < 0.5 for seed in range(3))
    # Chance alone can move all entries of a column alike, which changes nothing.
    for down in (every_second, *random):
        moved = np.maximum(moved, np.abs(worth(P * np.where(down, 1 - off, 1 + off)) - here))
    return 2 * math.fsum(moved)


def number(claim: object) -> float:
    """The number claimed; what is none is not a number, and so is equal to nothing that can be measured."""
    if isinstance(claim, bool) or not isinstance(claim, int | float | np.integer | np.floating):
        return math.nan
    try:
        return float(claim)
    except OverflowError:  # an int that no double holds
        return math.nan


def _checked_dual(dual: object, size: int, problems: list[str]) -> Floats | None:
    try:
        y = np.array(dual, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        y = np.zeros(0)
    if y.shape == (size,) and np.isfinite(y).all():
        return y
    problems.append(
        f"a finite upper bound needs a dual vector of {size} finite numbers, got {repr(dual)[:80]}"
    )
    return None
