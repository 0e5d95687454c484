"""How many people a survey takes for the width of intervals that its researcher wants."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .._common.types import Floats
from ..certification.certified import Certified
from ..errors import MechanismError
from ..estimation.contrasts import Channel, standard_errors
from ..estimation.planning import expected_bounds, sample_size
from ..estimation.promise import FIGURES
from .published import Asked, Part, Published

MOST_PEOPLE = 10**8  # a width that takes more is called out of reach


def people_needed(published: Published) -> dict[str, int | None]:
    """For each question the people that the wanted width takes; it does not depend on what came in."""
    if published.width is None:
        return {question.name: None for question in published.questions}
    goal = published.width, published.confidence, published.intervals
    return {q.name: needed(q, *goal) for q in published.questions}


def needed(question: Asked, width: float, confidence: float = 0.95, intervals: str = "each") -> int | None:
    """People from whom intervals are expected to be at most `width` wide; None if no number is enough.

    For a scale that is designed for its mean, `width` is a share of the range of its scores.
    """
    if question.kind == "clear":
        return None
    if question.form is None and question.purpose == "shares":
        (certified,) = question.mechanisms
        try:
            return sample_size(certified.prior, certified, width, confidence, intervals=intervals)
        except MechanismError:
            return None
    error = 1 - confidence if intervals == "each" else (1 - confidence) / len(question.parts)
    people = [
        _people(m, _targets(part), width, error, intervals)
        for m, part in zip(question.mechanisms, question.parts, strict=True)
    ]
    return None if None in people else max(p for p in people if p is not None)


def too_few(published: Published, people: Mapping[str, int | None]) -> list[str]:
    """Warnings where the survey names fewer people than its questions take; `people` is what they take."""
    asked, said = published.people, []
    for question in published.questions if asked is not None else ():
        wanted = people[question.name]
        if any(_says_nothing(m, float(asked or 0)) for m in question.mechanisms):
            said.append(
                f"WARNING: {asked:,} people are too few to say anything about {question.name}: no share can be told "
                "from 0; ask more people, or choose a larger epsilon"
            )
        elif wanted is not None and wanted > (asked or 0):
            said.append(
                f"{question.name} takes {wanted:,} people for {100 * published.confidence:g}% intervals "
                f"{published.width:g} wide, {FIGURES[published.intervals]}; you will ask {asked:,}."
            )
    return said


def _says_nothing(certified: Certified, people: float) -> bool:
    """Whether every ordinary 95 % interval reaches from its share to 0."""
    prior = certified.prior.probabilities
    errors = standard_errors(Channel(certified.mechanism.matrix, prior), np.eye(len(prior)), people)
    return bool((1.96 * errors >= prior).all())


def _targets(part: Part) -> Floats:
    """What is estimated from one column, as coefficients of its inputs; ranges of scores are 1."""
    inputs = [str(x) for x in part.mechanism.inputs]
    if part.groups is not None:
        return np.array([[float(x in members) for x in inputs] for members in part.groups.values()])
    scores = part.scores or {}
    spread = max(scores.values()) - min(scores.values())
    return np.array([[scores[x] / spread for x in inputs]])


def _people(certified: Certified, targets: Floats, width: float, error: float, kind: str) -> int | None:
    """A number of reports that is enough where one a hundredth smaller is not."""
    channel = Channel(certified.mechanism.matrix, certified.prior.probabilities)
    if not channel.identified(targets).all():
        return None

    def enough(n: float) -> bool:
        bounds = expected_bounds(channel, targets, n, error, kind)
        return bool(np.max(bounds.upper - bounds.lower) <= width)

    low, high = 1.0, 16.0
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_PEOPLE:
            return None
    while high - low > max(1.0, 0.01 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.ceil(high)
