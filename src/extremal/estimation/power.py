"""How many people a comparison takes: a difference between two groups, or the coefficient of a regression.

Both are normal approximations: a two-sided Wald test at level alpha finds an effect d with probability `power` if
n = (z_{alpha/2} + z_power)^2 V / d^2, with V the variance of the estimated effect from one person (from one in each
group). V has the mechanism's noise in it. For the usual sizes the power is within 3 points of what was planned.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._common.threads import one_thread
from .._common.types import Floats
from .._common.words import brief
from ..errors import MechanismError, OptionError
from ..model.labels import Labels
from .contrasts import Channel, standard_errors
from .intervals import normal_quantile
from .labels import label_finder
from .targets import is_finite

POINTS = 40  # of a Gauss-Hermite rule
MOST_PEOPLE = 10**12


def effort(confidence: float, power: float) -> float:
    """(z_{alpha/2} + z_power)^2."""
    return (normal_quantile((1 - confidence) / 2) + normal_quantile(1 - power)) ** 2


def place_of(labels: Labels, answer: Any) -> int:
    """The place of an answer that was named."""
    place = label_finder(labels)(answer)
    if place < 0:
        raise OptionError(
            f"must be one of the {len(labels)} labels",
            parameter="answer",
            given=brief(answer),
            remedy="name another",
        )
    return place


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
    found = [difference_variance(channel, place, difference) for place in places]
    known = [v for v in found if v is not None]
    if not known:
        raise OptionError(
            "must be smaller than what shares can differ by",
            parameter="difference",
            given=difference,
            remedy="look for a smaller one",
        )
    return _whole(max(known) * effort / difference / difference)  # the square may be 0


def detectable_difference(channel: Channel, places: list[int], people: float, effort: float) -> float | None:
    """The smallest difference that so many people in each group find; None if none below 1 is."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        variances = [difference_variance(channel, place, middle) for place in places]
        known = [v for v in variances if v is not None]
        if known and max(known) * effort / middle**2 <= people:
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
    return np.asarray(expit(start + coefficient * z))


def _whole(people: float) -> int:
    if not people < MOST_PEOPLE:
        raise MechanismError(
            f"at most {MOST_PEOPLE:g} people must be enough",
            given=f"{people:.3g} that would be needed",
            remedy="the mechanism is too noisy: allow more leakage, or look for more",
        )
    return max(math.ceil(people - 1e-9), 2)


def check_effect(value: Any, name: str) -> float:
    """An effect that can be looked for: a number other than 0."""
    if not is_finite(value) or value == 0 or (name == "difference" and not 0 < value < 1):
        what = "a number between 0 and 1" if name == "difference" else "a number other than 0"
        raise OptionError(f"must be {what}", parameter=name, given=repr(value)[:40], remedy="e.g. 0.1")
    return float(value)
