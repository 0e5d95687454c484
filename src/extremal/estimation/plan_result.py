"""Plan: how many people, and how much they tell, in figures and sentences.

How many people a comparison takes, a difference between two groups or the coefficient of a regression, comes from
normal approximations: a two-sided Wald test at level alpha finds an effect d with probability `power` if
n = (z_{alpha/2} + z_power)^2 V / d^2, with V the variance of the estimated effect from one person (from one in each
group). V has the mechanism's noise in it. For the usual sizes the power is within 3 points of what was planned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from .._common.json import finite_or_none, json_text
from .._common.threads import one_thread
from .._common.types import Floats
from ..errors import MechanismError, OptionError
from ..model.labels import Labels
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..optimization.finish import Design
from .contrasts import Channel, each_symbol, standard_errors
from .intervals import normal_quantile
from .planning import expected_error
from .promise import FIGURES

USUAL = (300, 1000, 3000)  # people, where nobody said how many there are
POINTS = 40  # of a Gauss-Hermite rule
MOST_PEOPLE = 10**12


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A number of people, and how precisely they tell the shares.

    `people` is what was asked for or given; with `groups` = 2 it is the size of each group. `widths` are those of the
    intervals that `estimate` gives, from end to end: each by itself, or all together if the plan is for such.
    `half_widths` are 1.96 standard errors for 95 %. `wanted` says what the plan is for. `epsilon` is None where only a
    matrix was given.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> plan = ex.plan(certified, people=944)
    >>> plan.people
    944

    Attributes
    ----------
    prior
        How common each answer is expected to be.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    epsilon
        The limit on leakage; None if only a matrix was given.
    people
        How many people; with two groups, in each.
    groups
        How many groups are compared.
    confidence
        The confidence level of intervals.
    power
        The probability of finding a difference or coefficient.
    wanted
        What the plan is for, in words.
    design
        The design, if one was made.
    intervals
        "each" or "all": the intervals that the plan is for.
    """

    prior: Prior
    mechanism: Mechanism
    epsilon: float | None
    people: int
    groups: int
    confidence: float
    power: float
    wanted: str
    design: Design | None = None  # if one was made
    intervals: str = "each"

    @property
    def labels(self) -> Labels:
        """The answers."""
        return self.prior.labels

    @property
    def total(self) -> int:
        """People in all groups together."""
        return self.people * self.groups

    @cached_property
    def standard_errors(self) -> Floats:
        """Of each share from all people together, if answers are as expected."""
        return standard_errors(self._channel, each_symbol(self.prior.size), float(self.total))

    @property
    def half_widths(self) -> Floats:
        """1.96 standard errors of each share, for 95 %: an interval by itself."""
        return normal_quantile((1 - self.confidence) / 2) * self.standard_errors

    @cached_property
    def widths(self) -> Floats:
        """Of the intervals that the plan is for, from end to end."""
        return self.widths_of(self.intervals)

    def widths_of(self, kind: str) -> Floats:
        """Of intervals of one kind.

        Parameters
        ----------
        kind
            "each" or "all".
        """
        return expected_error(self.prior, self.mechanism, self.total, self.confidence, intervals=kind).widths

    @cached_property
    def detectable(self) -> float | None:
        """The smallest difference between two halves of these people that is found with `power`, in any share."""
        if not np.isfinite(self.standard_errors).all():
            return None
        places = list(range(self.prior.size))
        return detectable_difference(
            self._channel, places, self.total / 2, effort(self.confidence, self.power)
        )

    @property
    def too_small(self) -> bool:
        """Whether no share could be told from 0: every ordinary interval reaches further than its share."""
        return bool((self.half_widths >= self.prior.probabilities).all())

    @property
    def sentence(self) -> str:
        """How exactly so many people tell each share."""
        return precision_sentence(self.prior, self.mechanism, [self.total], self.confidence, self.intervals)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are."""
        return {
            "wanted": self.wanted,
            "people": self.people,
            "groups": self.groups,
            "total": self.total,
            "epsilon": self.epsilon,
            "confidence": self.confidence,
            "intervals": self.intervals,
            "power": self.power,
            "labels": list(self.labels),
            "standard_errors": list(map(finite_or_none, self.standard_errors.tolist())),
            "half_widths": list(map(finite_or_none, self.half_widths.tolist())),
            "widths": self.widths.tolist(),
            "detectable_difference": self.detectable,
            "too_small": self.too_small,
        }

    def to_json(self) -> str:
        """The same as text."""
        return json_text(self.to_dict())

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self.lines())

    def lines(self) -> list[str]:
        """The plan in sentences."""
        said = [self.wanted, self.sentence]
        if self.detectable is not None:
            said.append(
                f"Two halves of them can be told apart if a share differs by {100 * self.detectable:.1f} points "
                f"(power {self.power:g}, level {1 - self.confidence:.2g})."
            )
        if self.too_small:
            said.append(
                "WARNING: this is too small to say anything: no share can be told from 0. Ask more people, or "
                "choose a larger epsilon."
            )
        return [line for line in said if line]

    @cached_property
    def _channel(self) -> Channel:
        return Channel(self.mechanism.matrix, self.prior.probabilities)


def precision_sentence(
    prior: Prior,
    mechanism: Mechanism,
    people: Sequence[int] = (),
    confidence: float = 0.95,
    intervals: str = "each",
) -> str:
    """ "With 944 people each share is known to about ± 5.5 points", or what the usual numbers of people tell.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> print(ex.planning.precision_sentence(prior, mechanism, [1000])[:40])
    With 1,000 people each share is known to

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    people
        Numbers of people; 300, 1,000 and 3,000 if empty.
    confidence
        The confidence level of the intervals.
    intervals
        "each" by itself, or "all" together.
    """
    one = standard_errors(Channel(mechanism.matrix, prior.probabilities), each_symbol(prior.size), 1.0)
    if not np.isfinite(one).all():
        return "These reports cannot tell all shares apart, however many people answer."
    other = (
        "those that all hold together are wider"
        if intervals == "each"
        else "each by itself they are narrower"
    )
    kind = f"{100 * confidence:g}% intervals, {FIGURES[intervals]}; {other}"
    people = people or USUAL

    def half(n: int) -> float:
        """A root mean square over the shares."""
        if intervals == "each":
            return float(normal_quantile((1 - confidence) / 2) * math.sqrt(float(np.mean(one**2)) / n))
        widths = expected_error(prior, mechanism, n, confidence, intervals=intervals).widths
        return math.sqrt(float(np.mean(widths**2))) / 2

    points = [f"± {_points(half(n))}" for n in people]
    if len(people) == 1:
        return f"With {people[0]:,} people each share is known to about {points[0]} points ({kind})."
    told = [f"{point} points with {n:,} people" for point, n in zip(points, people, strict=True)]
    return f"Each share is known to about {', '.join(told[:-1])} and {told[-1]} ({kind})."


def _points(half: float) -> str:
    """A half width in percentage points; beyond 100 nothing is known."""
    return f"{100 * half:.1f}" if half < 1 else "100"


def effort(confidence: float, power: float) -> float:
    """(z_{alpha/2} + z_power)^2."""
    return (normal_quantile((1 - confidence) / 2) + normal_quantile(1 - power)) ** 2


def difference_variance(channel: Channel, place: int, difference: float) -> float | None:
    """Of the estimated difference from one person in each of two groups; None where no share can differ so much.

    One group has the expected shares, in the other the answer has a share larger by `difference`, or smaller
    where there is no room, and the others keep their proportions.
    """
    share = float(channel.expected[place])
    moved = share + difference if share + difference < 1 else share - difference
    if not 0 < moved < 1:
        return None
    other = channel.expected * ((1 - moved) / (1 - share))
    other[place] = moved
    target = np.eye(len(other))[place][None]
    errors = [
        standard_errors(Channel(channel.P, theta), target, 1.0)[0] for theta in (channel.expected, other)
    ]
    return float(errors[0] ** 2 + errors[1] ** 2)


def people_for_difference(channel: Channel, places: list[int], difference: float, effort: float) -> int:
    """In each group, so that a difference in any one of these answers is found."""
    largest = _largest_variance(channel, places, difference)
    if largest is None:
        raise OptionError(
            "must be smaller than what shares can differ by",
            parameter="difference",
            given=difference,
            remedy="look for a smaller one",
        )
    return _whole(largest * effort / difference / difference)  # the square may be 0


def _largest_variance(channel: Channel, places: list[int], difference: float) -> float | None:
    found = (difference_variance(channel, place, difference) for place in places)
    return max((v for v in found if v is not None), default=None)


def detectable_difference(channel: Channel, places: list[int], people: float, effort: float) -> float | None:
    """The smallest difference that so many people in each group find; None if none below 1 is."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        largest = _largest_variance(channel, places, middle)
        if largest is not None and largest * effort / middle**2 <= people:
            high = middle
        else:
            low = middle
    return high if high < 1.0 else None


def people_for_coefficient(channel: Channel, place: int, coefficient: float, effort: float) -> int:
    """For a log odds ratio per standard deviation of a normal covariate, in a logit model of one answer or not."""
    return _whole(coefficient_variance(channel, place, coefficient) * effort / coefficient / coefficient)


@one_thread
def coefficient_variance(channel: Channel, place: int, coefficient: float) -> float:
    """Of the coefficient from one person: the inverse of the expected information.

    A report y has probability a_y + (b_y - a_y) p(z) with p(z) the probability of the answer at z, so it carries
    the information sum_y (b_y - a_y)^2 p^2 (1 - p)^2 / q_y about the linear predictor.
    """
    z, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    weights = weights / weights.sum()
    share = float(channel.expected[place])
    p = _probabilities(z, weights, coefficient, share)
    b = channel.P[place]
    a = (channel.expected @ channel.P - share * b) / (1 - share)
    q = np.multiply.outer(1 - p, a) + np.multiply.outer(p, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, (b - a) ** 2 / q, 0.0)
    information = weights * terms.sum(axis=1) * (p * (1 - p)) ** 2
    moments = np.array([[information.sum(), information @ z], [information @ z, information @ (z * z)]])
    if not np.linalg.det(moments) > 1e-300:
        raise MechanismError(
            "the reports must tell something about this answer", given="a mechanism that does not"
        )
    return float(np.linalg.inv(moments)[1, 1])


def _probabilities(z: Floats, weights: Floats, coefficient: float, share: float) -> Floats:
    """Of the answer at each z, with the intercept that makes its share what is expected."""
    from scipy.optimize import brentq
    from scipy.special import expit

    reach = 40 + 10 * abs(coefficient)
    start = brentq(lambda b: float(weights @ expit(b + coefficient * z)) - share, -reach, reach)
    return expit(start + coefficient * z)


def _whole(people: float) -> int:
    if not people < MOST_PEOPLE:
        raise MechanismError(
            f"at most {MOST_PEOPLE:g} people must be enough",
            given=f"{people:.3g} that would be needed",
            remedy="the mechanism is too noisy: allow more leakage, or look for more",
        )
    return max(math.ceil(people - 1e-9), 2)
