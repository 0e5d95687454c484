"""The smallest epsilon that reaches a wish, between a level proven too small and one at which a design reaches it.

What is best possible never falls as epsilon grows, because every mechanism stays admissible. So a design's bound
that is below the wish rules out its level and all smaller ones, and a design that reaches the wish settles all
larger ones. The search halves what lies between.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .._common import checks
from .._common.threads import one_thread
from ..certification.certified import Certified
from ..certification.certify import certify
from ..errors import EpsilonError, OptionError
from ..model.mechanism import constant, identity
from ..model.prior import Prior, check_prior
from ..model.purpose import Purpose, Shares, shares
from ..model.utility import Utility
from ..optimization.design import designed
from ..optimization.result import Design
from .intervals import normal_quantile
from .planning import check_people

MARGIN = 1e-9  # of the wish: what a design has more than was wished for, so that rounding takes nothing away
PRECISION = (
    1e-3  # of epsilon: the search ends when the bounds are this close, or designs are proven less precisely
)
MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class LeastEpsilon:
    """The smallest limit that reaches a wish: `design` reaches it at `epsilon`, and nothing below `lower` does.

    Attributes
    ----------
    prior
        How common each answer is.
    utility
        What the designs are for.
    wanted
        The value to reach.
    epsilon
        The limit at which `design` reaches it, in nats.
    lower
        No limit below this one reaches it.
    design
        The design at `epsilon`.
    refuted
        A design at `lower` whose upper bound is below `wanted`; None if every epsilon reaches it, or if no smaller one
        could be ruled out.
    """

    prior: Prior
    utility: Utility | Purpose
    wanted: float
    epsilon: float
    lower: float
    design: Design = field(repr=False)
    refuted: Design | None = field(default=None, repr=False)

    @cached_property
    def certified(self) -> Certified:
        """The design in integers that keep epsilon exactly."""
        return certify(self.design)

    def to_dict(self) -> dict[str, Any]:
        """The figures, in types that JSON knows."""
        return {
            "utility": self.utility.name,
            "wanted": self.wanted,
            "epsilon": self.epsilon,
            "lower": self.lower,
            "value": self.design.value,
            "refuted_upper_bound": None if self.refuted is None else self.refuted.upper_bound,
        }

    def lines(self) -> list[str]:
        """What was found, in sentences."""
        name = "efficiency" if isinstance(self.utility, Purpose) else self.utility.name
        said = [
            f"epsilon = {_up(self.epsilon):g} is enough: {name} {self.design.value:.6g}, {self.wanted:.6g} wanted."
        ]
        if self.refuted is not None:
            said.append(
                f"epsilon = {_down(self.lower):g} is not: at most {self.refuted.upper_bound:.6g} is possible there, "
                "with any mechanism."
            )
        return said

    def __str__(self) -> str:
        return "\n".join(self.lines())


@one_thread
def least_epsilon(
    prior: Prior,
    wanted: float | None = None,
    utility: Utility | Purpose = shares,
    *,
    people: int | None = None,
    half_width: float | None = None,
    confidence: float = 0.95,
    time_limit: float | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> LeastEpsilon:
    """The smallest epsilon at which the best mechanism reaches a wish, between proven bounds.

    Parameters
    ----------
    prior
        How common each answer is.
    wanted
        The wish: a value of the utility. For shares and other purposes that is an efficiency between 0 and 1: 0.25
        means four times as many people as without privacy.
    utility
        What is wished for: shares unless given.
    people, half_width
        Another wish, instead of `wanted`: so many people tell shares to about ± half_width. That is the half width
        of ordinary intervals, as a root mean square over the answers, if answers are as the prior says.
    confidence
        Of these intervals.
    time_limit
        Seconds for each design.
    progress
        Called with the bounds so far, (lower, epsilon), after each step.
    """
    check_prior(prior)
    goal = _goal(prior, wanted, utility, people, half_width, confidence)

    def best(epsilon: float) -> Design:
        return designed(prior, epsilon, utility, time_limit=time_limit)

    if utility(prior, constant(prior)) >= goal:
        return LeastEpsilon(prior, utility, goal, 0.0, 0.0, best(0.0))
    most = utility(prior, identity(prior))
    if most < goal:
        raise EpsilonError(
            "no epsilon is enough: even true answers fall short",
            given=f"{goal:.4g} wanted where {most:.4g} is possible",
            remedy="want less" if people is None else "ask more people, or want less",
        )
    search = _Search(best, goal, progress)
    search.run(prior.epsilon_max)
    return LeastEpsilon(prior, utility, goal, search.high, search.low, search.reaches, search.refuted)


class _Search:
    """Levels known to be too small and large enough, closing in on each other."""

    def __init__(
        self,
        best: Callable[[float], Design],
        goal: float,
        progress: Callable[[float, float], None] | None,
    ) -> None:
        self.best, self.goal, self.progress = best, goal, progress
        self.low = 0.0
        self.refuted: Design | None = None

    def run(self, high: float) -> None:
        """Close in from a level that is known to be enough."""
        self.high, self.reaches = high, self.best(high)
        unsure: list[float] = []  # levels proven neither way: close in on them from both sides
        for _ in range(MOST_STEPS):
            ends = [self.low, min(unsure), max(unsure), self.high] if unsure else [self.low, self.high]
            low, high = max(zip(ends[::2], ends[1::2], strict=True), key=lambda part: part[1] - part[0])
            if high - low <= PRECISION * self.high:
                return
            middle = (low + high) / 2
            made = self.best(middle)
            if made.value >= self.goal * (1 + MARGIN):
                self.high, self.reaches = middle, made
            elif made.upper_bound < self.goal:
                self.low, self.refuted = middle, made
            else:
                unsure.append(middle)
            if self.progress is not None:
                self.progress(self.low, self.high)


def _goal(prior: Prior, wanted: Any, utility: Any, people: Any, half_width: Any, confidence: Any) -> float:
    """The value that is wished for."""
    if (wanted is None) == (people is None and half_width is None):
        raise OptionError(
            "there must be one wish: a value, or people with a half width",
            given="none" if wanted is None else "both",
            remedy="e.g. wanted=0.25, or people=944, half_width=0.05",
        )
    if wanted is not None:
        if isinstance(utility, Purpose):  # an efficiency
            return checks.number(wanted, "wanted", above=0, most=1, remedy="e.g. 0.25")
        return checks.number(wanted, "wanted", remedy="e.g. 0.25")
    if people is None or half_width is None or not isinstance(utility, Shares) or utility.in_proportion:
        raise OptionError(
            "people and half_width must come together, for shares",
            given=f"people={people!r}, half_width={half_width!r}, utility {getattr(utility, 'name', utility)!r}",
            remedy="e.g. people=944, half_width=0.05, or wanted=0.25",
        )
    half_width = checks.number(half_width, "half_width", above=0, below=1, remedy="e.g. 0.05")
    z = normal_quantile((1 - checks.confidence(confidence)) / 2)
    direct = math.fsum(p * (1 - p) for p in prior.probabilities.tolist())
    needed = z * z * direct / (prior.size * check_people(people, "people"))
    return float(needed / half_width / half_width)  # the square of a tiny width is 0


def _up(level: float) -> float:
    """Four decimals or more that are no less."""
    return math.ceil(level * 1e4) / 1e4 if level > 1e-2 else level


def _down(level: float) -> float:
    return math.floor(level * 1e4) / 1e4 if level > 1e-2 else level
