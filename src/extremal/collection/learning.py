"""The next stage of a survey that learns its priors: what the reports so far tell, and mechanisms made for that.

All of it is a function of the mechanisms and of how often each report came, which results show, too. So whatever is
published later tells no more about a person than the reports do, and two servers make the same.

**The promise** to the people of a later stage is epsilon for every prior of a set. It holds the shares of the people it
was learned from except with probability delta over all questions and redesigns together. It covers the people of the
next stage if theirs are at most `drift` away, and if at most a share `forged` of the reports was made up.

**Drift.** If the shares of two stages are at most `drift` apart, the set that one of them tells, widened by that, meets
the set that the other tells, with the same probability. Where sets do not meet, or anything else speaks against the
reports, the question stays with the mechanism for all priors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ..certification.certified import Certified
from ..certification.certify import certify
from ..errors import ExtremalError
from ..model.leakage import doubt
from ..model.prior_set import PriorSet
from ..optimization.design import designed
from .designs import purpose_of
from .published import Asked, Learn, Published
from .store import FIRST, FIVE, Store

Pairs = Sequence[tuple[Certified, Any]]


def next_mechanisms(
    surveys: Sequence[Published], counts: Sequence[Mapping[str, Sequence[int]]]
) -> tuple[dict[str, Certified], str]:
    """The mechanism of each question that learns for the stage after some full ones, and what was not learned and why.

    Of each stage the survey with its mechanisms, and for each question how often each output was reported. Where the
    last number is of those who were not asked, all forged reports may be of those who were: a larger share of them.
    """
    first, *_ = surveys
    assert first.learn is not None
    found, said = {}, []
    for k, question in enumerate(first.questions):
        if question.between is None:
            continue
        asked = [survey.questions[k] for survey in surveys]
        pairs = [
            (q.mechanisms[0], dict(zip(q.mechanisms[0].outputs, told[q.name], strict=not q.optional)))
            for q, told in zip(asked, counts, strict=True)
        ]
        people = sum(sum(told[question.name]) for told in counts)
        came = sum(sum(told.values()) for _, told in pairs)
        try:
            forged = first.learn.forged * (people / max(came, 1))
            if forged >= 1:
                raise ExtremalError("as many reports may be made up as people were asked")
            assumed = replace(first.learn, forged=forged)
            certified = learned(question, pairs, assumed, first.level)
        except ExtremalError as error:
            certified = question.mechanisms[0]
            said.append(f"{question.name} stays with the mechanism for all priors: {error.problem}.")
        found[question.name] = certified
    return found, " ".join(said)


def learned(question: Asked, pairs: Pairs, learn: Learn, level: float) -> Certified:
    """The mechanism for all priors that the reports of some stages leave open; an error says what speaks against it."""

    def told(some: Pairs, drift: float) -> PriorSet:
        given = question.between or None
        return PriorSet.from_reports(some, confidence=level, forged=learn.forged, drift=drift, between=given)

    pairs = list(pairs)
    if any(0 < sum(counts.values()) < FIVE for _, counts in pairs):  # the next page would show them
        raise ExtremalError(f"fewer than {FIVE} people of a stage were asked")
    for one, other in combinations(pairs, 2):
        if not meet(told([one], learn.drift), told([other], 0.0)):
            raise ExtremalError("people of one stage answer differently from those of another")
    made = designed(told(pairs, learn.drift), question.mechanisms[0].epsilon, purpose_of(question))
    certified = certify(made, allow_true_answers=True)
    if doubt(certified.prior, certified.mechanism).disclosed:
        raise ExtremalError("reports made for what was learned would disclose the answers")
    return certified


def meet(one: PriorSet, other: PriorSet) -> bool:
    """Whether the balls of two sets meet, and their bounds; if not, the sets do not."""
    a, b = one.bounds, other.bounds
    lower, upper = np.maximum(a.lower, b.lower), np.minimum(a.upper, b.upper)
    near = float(np.abs(a.center - b.center).sum()) <= a.radius + b.radius
    return near and bool((lower <= upper).all()) and float(lower.sum()) <= 1 <= float(upper.sum())


def write_mechanisms(store: Store, survey: Path) -> list[Path]:
    """The files of the mechanisms that were learned, beside those of stage 1: name.question.number.mechanism.json."""
    written = []
    for number, published in store.surveys.items():
        for question in published.learned if number != FIRST else ():
            path = survey.with_name(f"{survey.stem}.{question.name}.{number}.mechanism.json")
            question.mechanisms[0].save(path)
            written.append(path)
    return written


def go_on(store: Store) -> bool:
    """Begin the next stage if the last one is full and has none, and people still answer; whether it was."""
    store.refresh()
    if not store.stages or store.stages[-1].counts is None or store.closed():
        return False
    surveys = [store.surveys[stage.mechanism] for stage in store.stages]
    found, said = next_mechanisms(surveys, [stage.counts or {} for stage in store.stages])
    store.follow(store.stages[-1].number, found, said)
    return True
