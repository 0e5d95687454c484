"""What each epsilon buys, and the smallest that reaches a wish.

The latter lies between a level proven too small and one at which a design reaches it.

What is best possible never falls as epsilon grows, because every mechanism stays admissible. So a design's bound
that is below the wish rules out its level and all smaller ones, and a design that reaches the wish settles all
larger ones. The search halves what lies between.

Also how exact shares will be for each number of people and each epsilon: a table and a picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._common import checks
from .._common.frames import Tabular
from .._common.threads import one_thread
from .._common.types import Axes, Floats
from ..certification.certified import Certified
from ..certification.certify import certify
from ..errors import EpsilonError, OptionError
from ..model.levels import check_epsilon
from ..model.mechanism import constant, identity
from ..model.prior import Prior, check_prior
from ..model.purpose import Purpose, Shares, shares
from ..model.utility import Utility
from ..optimization.design import designed
from ..optimization.finish import Design
from .contrasts import Channel, each_symbol, standard_errors
from .intervals import normal_quantile
from .planning import check_people
from .promise import FIGURES

MARGIN = 1e-9  # of the wish: what a design has more than was wished for, so that rounding takes nothing away
PRECISION = (
    1e-3  # of epsilon: the search ends when the bounds are this close, or designs are proven less precisely
)
MOST_STEPS = 60
PEOPLE = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
LEVELS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
MOST = 50  # epsilons


@dataclass(frozen=True, eq=False)
class LeastEpsilon:
    """The smallest limit that reaches a wish: `design` reaches it at `epsilon`, and nothing below `lower` does.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> found = ex.planning.least_epsilon(prior, people=2000, half_width=0.05)
    >>> found.lower < found.epsilon < prior.epsilon_max
    True

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

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> found = ex.planning.least_epsilon(prior, people=2000, half_width=0.05)
    >>> found.lower < found.epsilon < prior.epsilon_max
    True

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
    return LeastEpsilon(prior, utility, goal, *_closed_in(best, goal, prior.epsilon_max, progress))


def _closed_in(
    best: Callable[[float], Design],
    goal: float,
    high: float,
    progress: Callable[[float, float], None] | None,
) -> tuple[float, float, Design, Design | None]:
    """From a level that is enough: the least one that is proven to be, one that is too small, and their designs."""
    low, reaches = 0.0, best(high)
    refuted: Design | None = None
    unsure: list[float] = []  # levels proven neither way: close in on them from both sides
    for _ in range(MOST_STEPS):
        ends = [low, min(unsure), max(unsure), high] if unsure else [low, high]
        start, end = max(zip(ends[::2], ends[1::2], strict=True), key=lambda part: part[1] - part[0])
        if end - start <= PRECISION * high:
            break
        middle = (start + end) / 2
        made = best(middle)
        if made.value >= goal * (1 + MARGIN):
            high, reaches = middle, made
        elif made.upper_bound < goal:
            low, refuted = middle, made
        else:
            unsure.append(middle)
        if progress is not None:
            progress(low, high)
    return high, low, reaches, refuted


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


@dataclass(frozen=True, eq=False, repr=False)
class Precision(Tabular):
    """Half widths of ordinary intervals, the root mean square over the answers: a row for each epsilon.

    The last row, at `epsilons[-1]` = infinity, is for true answers.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> table = ex.planning.precision(prior, [0.5, 1.0], people=[1000, 4000])
    >>> table.people
    (1000, 4000)

    Attributes
    ----------
    prior
        How common each answer is.
    epsilons
        The limits; the last is inf, for true answers.
    people
        Numbers of people.
    confidence
        The confidence level of the intervals.
    half_widths
        Half the width of an interval, a row for each epsilon.
    """

    prior: Prior
    epsilons: tuple[float, ...]
    people: tuple[int, ...]
    confidence: float
    half_widths: Floats

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each epsilon and number of people; for true answers epsilon is inf, in a frame missing."""
        return [
            {"epsilon": e, "people": n, "half_width": float(self.half_widths[i, j])}
            for i, e in enumerate(self.epsilons)
            for j, n in enumerate(self.people)
        ]

    def __str__(self) -> str:
        head = "epsilon" + "".join(f"{n:>9,}" for n in self.people)
        lines = [
            f"points to each side of a share: {100 * self.confidence:g}% intervals, {FIGURES['each']}",
            head,
        ]
        for e, row in zip(self.epsilons, self.half_widths, strict=True):
            name = f"{e:7.3g}" if math.isfinite(e) else "  truth"
            lines.append(name + "".join(f"{100 * min(h, 1.0):9.1f}" for h in row))
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with a curve for every epsilon: points to each side over the number of people.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from .._common.plot import given_axes

        axes = given_axes(axes, (6.4, 4.4))
        markers = "osD^vP*X<>"
        for i, (e, row) in enumerate(zip(self.epsilons, self.half_widths, strict=True)):
            truth = not math.isfinite(e)
            name = "true answers" if truth else f"ε = {e:.3g}"
            style = {"color": "black", "linestyle": "--"} if truth else {"marker": markers[i % len(markers)]}
            axes.plot(self.people, 100 * np.minimum(row, 1.0), label=name, **style)  # type: ignore[arg-type]
        axes.set_xscale("log")
        axes.set_yscale("log")
        marks = [m for m in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if m <= 100 * self.half_widths.max()]
        axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
        axes.minorticks_off()
        axes.set_xlabel("people")
        axes.set_ylabel(f"± points: {100 * self.confidence:g}% intervals, {FIGURES['each']}")
        axes.legend()
        return axes


@one_thread
def precision(
    prior: Prior,
    epsilons: Iterable[float] | None = None,
    people: Iterable[int] = PEOPLE,
    confidence: float = 0.95,
) -> Precision:
    """How precisely each share will be known, for designs at each epsilon and for true answers.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> table = ex.planning.precision(prior, [0.5, 1.0], people=[1000, 4000])
    >>> table.people
    (1000, 4000)

    Parameters
    ----------
    prior
        What is expected.
    epsilons
        Levels to design for; round ones below the level that allows everything if left out.
    people
        Numbers of people.
    confidence
        Of ordinary intervals, whose half widths are shown.
    """
    level = checks.confidence(confidence)
    top = check_prior(prior).epsilon_max
    levels = [e for e in LEVELS if e < top] if epsilons is None else list(epsilons)
    counts = tuple(check_people(n) for n in people)
    if not len(levels) or not counts or len(levels) > MOST:
        raise OptionError(
            f"must be from 1 to {MOST}, with at least one number of people",
            parameter="epsilons",
            given=len(levels),
        )
    matrices = [designed(prior, check_epsilon(epsilon)).mechanism.matrix for epsilon in levels]
    rows = [_root_mean_square(P, prior.probabilities) for P in (*matrices, np.eye(prior.size))]
    z = normal_quantile((1 - level) / 2)
    half = z * np.multiply.outer(np.array(rows), 1 / np.sqrt(np.array(counts, dtype=np.float64)))
    return Precision(prior, (*map(float, levels), math.inf), counts, level, half)


def _root_mean_square(P: Floats, expected: Floats) -> float:
    errors = standard_errors(Channel(P, expected), each_symbol(len(expected)), 1.0)
    return math.sqrt(float(np.mean(errors**2)))
