"""The next stage of a survey that learns its priors: what the reports so far tell, and mechanisms made for that.

All of it is a function of the mechanisms and of how often each report came, which results show, too. So whatever is
published later tells no more about a person than the reports do, and two servers make the same.

**The promise** to the people of a later stage is epsilon for every prior of a set. It holds the shares of the people it
was learned from except with probability delta over all questions and redesigns together. It covers the people of the
next stage if theirs are at most `drift` away, and if at most a share `forged` of the reports was made up.

**Drift.** If the shares of two stages are at most `drift` apart, the set that one of them tells, widened by that, meets
the set that the other tells, with the same probability. Where sets do not meet, or anything else speaks against the
reports, the question stays with the mechanism for all priors.

**Outlook.** What learning will be worth, and what forged reports would do, is told before anybody is asked. Nobody
knows the shares yet, so it is shown for two cases: all answers equally common, and each half as common as the one
before it. Stages are gone through with the reports that are expected for these shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..certification.certified import Certified
from ..certification.certify import certify
from ..errors import ExtremalError
from ..estimation.contrasts import Channel, standard_errors
from ..estimation.estimate import stacked
from ..model.leakage import epsilon_pml
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.report_sums import within
from ..optimization.design import designed
from .designs import Progress, purpose_of
from .published import Asked, Learn, Published
from .results import MOST_PEOPLE, least, needed, targets_of
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
    if certified.doubt.disclosed:
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


FORGED = (0.0, 0.05, 0.1, 0.2)
MOST_COMPARED = (
    12  # answers up to which other settings are shown: each takes as many designs as there are stages
)
WORTH = 1.1  # times as many people: less is not worth a redesign
CASES = {"equally common": 1.0, "each half as common as the next": 0.5}
SETTINGS = (  # what caution costs
    *(("delta", 0.01), ("delta", 0.001)),
    *(("drift", 0.0), ("drift", 0.05)),
    *(("forged", 0.0), ("forged", 0.01), ("forged", 0.05)),
)


@dataclass(frozen=True)
class Case:
    """What learning is worth for one question, if its shares are those supposed."""

    question: str
    shares: str
    times: float  # as many people are needed without learning
    without: int | None  # people for the wanted width, without learning and with it
    with_it: int | None


@dataclass(frozen=True)
class Forgery:
    """What the report of a later stage leaks at most under the supposed shares if some reports are made up."""

    question: str
    forged: float
    leaks: float


@dataclass(frozen=True)
class Outlook:
    """Of all questions that learn."""

    learn: Learn
    first: float  # what stage 1 leaks at most about one answer, for every prior
    certain: tuple[tuple[str, float], ...]  # questions, and from which share on an answer may be made certain
    cases: tuple[Case, ...]
    settings: tuple[Case, ...]  # the last case of each question with another value in [learn]
    forgeries: tuple[Forgery, ...]

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            **vars(self.learn),
            "assumption": self.learn.assumption,
            "first_stage_epsilon": self.first,
            "cases": [vars(case) for case in self.cases],
            "other_settings": [vars(case) for case in self.settings],
            "if_forged": [vars(forgery) for forgery in self.forgeries],
        }

    def sentences(self, total: float) -> list[str]:
        """What to know beside the table; `total` is what all reports of one person leak together."""
        ends = ", ".join(f"{end:,}" for end in self.learn.stages)
        told = [
            f"Stages end after {ends} people; the last one takes the rest. Stage 1 leaks at most {self.first:.4g} nats "
            "about one answer for every prior, with no assumption. All reports of one person together leak at most "
            f"{total:.4g} nats at every stage: that is what people agree to.",
            f"From stage 2 on, pages also say: {self.learn.assumption}",
        ]
        for name in dict.fromkeys(forgery.question for forgery in self.forgeries):
            levels = "; ".join(
                f"{100 * forgery.forged:g}%: {forgery.leaks:.3g}"
                for forgery in self.forgeries
                if forgery.question == name
            )
            told.append(
                f"{name}: what later reports could leak, in nats, if this share of each stage was made up: {levels}."
            )
        return told

    def people(self) -> dict[str, int | None]:
        """For each question how many people the wanted width takes, in the worse case."""
        found: dict[str, int | None] = {}
        for case in self.cases:
            counts = (found.get(case.question, 0), case.with_it)
            found[case.question] = None if None in counts else max(n for n in counts if n is not None)
        return found

    def notes(self) -> list[str]:
        """What later reports may tell, which depends on what is learned."""
        return [
            f"{name}: from stage 2 on, reports can rule answers out, and make an answer certain that at least "
            f"{math.floor(100 * share)}% of people give."
            for name, share in self.certain
        ]

    def warnings(self) -> list[str]:
        """Where learning does not pay."""
        names = dict.fromkeys(case.question for case in self.cases)
        best = {name: max(case.times for case in self.cases if case.question == name) for name in names}
        return [
            f"WARNING: learning does not pay for {name}: without it the survey takes at most {times:.2f} times as many "
            f"people in the cases above. Ask more people, assume fewer forged reports (now "
            f"{100 * self.learn.forged:g}%), or give its shares if you know them."
            for name, times in best.items()
            if times < WORTH
        ]


def outlook(published: Published, progress: Progress | None = None) -> Outlook | None:
    """What to expect of a survey; None if it learns nothing."""
    if published.learn is None:
        return None
    cases, settings, forgeries = [], [], []
    for k, question in enumerate(published.learned):
        if progress is not None:
            progress(k, len(published.learned), question.name)
        for words, ratio in CASES.items():
            prior = supposed(question, ratio)
            used = _stages(published, question, prior)
            cases.append(_case(published, question, words, prior, used))
        for key, value in SETTINGS if len(question.answers) <= MOST_COMPARED else ():
            if getattr(published.learn, key) != value:
                changed: dict[str, Any] = {key: value}
                other = replace(published, learn=replace(published.learn, **changed))
                then = _stages(other, question, prior)
                settings.append(_case(other, question, f"the same, with {key} = {value:g}", prior, then))
        for forged in FORGED:  # in the last case, too
            _, *later = _stages(published, question, prior, forged) if forged else used
            leaks = max(epsilon_pml(prior, certified.mechanism) for certified in later)
            forgeries.append(Forgery(question.name, forged, leaks))
    first = max(q.mechanisms[0].realised_epsilon for q in published.learned)
    certain = tuple((q.name, math.exp(-q.mechanisms[0].epsilon)) for q in published.learned)
    return Outlook(published.learn, first, certain, tuple(cases), tuple(settings), tuple(forgeries))


def supposed(question: Asked, ratio: float) -> Prior:
    """Shares of which each is so many times the one before, the most common first where ranges allow most."""
    between = question.between or {}
    ranges = [between.get(label, (0.0, 1.0)) for label in question.answers]
    lower, upper = (np.array([ends[k] for ends in ranges]) for k in (0, 1))
    shares = np.empty(len(ranges))
    shares[np.argsort(-upper, kind="stable")] = ratio ** np.arange(len(ranges))
    inputs = question.mechanisms[0].inputs
    return Prior(within(shares / shares.sum(), lower, upper), inputs)


def _case(published: Published, question: Asked, words: str, prior: Prior, used: list[Certified]) -> Case:
    learn, people = published.learn, published.people
    assert learn is not None
    assert people is not None

    def asked(number: float) -> Mechanism:
        """What so many people answer by."""
        sizes = np.diff([0, *(min(end, number) for end in learn.stages), number])
        return stacked([c.mechanism for c, n in zip(used, sizes, strict=True) if n > 0], sizes[sizes > 0])

    targets = targets_of(question.parts[0])
    channels = (Channel(m.matrix, prior.probabilities) for m in (used[0].mechanism, asked(people)))
    errors = [
        float((standard_errors(channel, targets, 1.0) ** 2).sum()) for channel in channels
    ]  # of one report
    without = with_it = None
    if published.width is not None:
        goal = published.width, published.confidence, published.intervals
        without = needed(question, *goal, (used[0].mechanism, prior))
        with_it = least(
            lambda number: (needed(question, *goal, (asked(number), prior)) or MOST_PEOPLE) <= number,
            0.0,
            1024.0,
        )
    return Case(question.name, words, errors[0] / errors[1], without, with_it)


def _expected(certified: Certified, prior: Prior, people: int, forged: int) -> dict[Any, int]:
    """How often each report comes, up to rounding, if some are the one that speaks most for the rarest answer."""
    matrix = certified.mechanism.matrix
    q = prior.probabilities @ matrix
    counts = np.floor(q * (people - forged)).astype(int)
    counts[np.argsort(counts - q * (people - forged))[: people - forged - counts.sum()]] += 1
    counts[np.argmax(matrix[np.argmin(prior.probabilities)] / np.where(q > 0, q, math.inf))] += forged
    return dict(zip(certified.outputs, counts.tolist(), strict=True))


def _stages(published: Published, question: Asked, prior: Prior, forged: float = 0.0) -> list[Certified]:
    """The mechanisms of all stages, after the reports that are expected, of which this share is forged."""
    assert published.learn is not None
    used: list[Certified] = [question.mechanisms[0]]
    pairs: list[tuple[Certified, Any]] = []
    for start, end in pairwise([0, *published.learn.stages]):
        pairs.append((used[-1], _expected(used[-1], prior, end - start, int(forged * (end - start)))))
        try:
            used.append(learned(question, pairs, published.learn, published.level))
        except ExtremalError:
            used.append(question.mechanisms[0])
    return used
