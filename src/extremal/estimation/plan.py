"""plan(): how many people, how exact, or which epsilon, before anybody is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common import checks
from .._common.threads import one_thread
from .._common.words import brief
from ..certification.certified import Certified, as_estimable
from ..errors import EpsilonError, MechanismError, OptionError
from ..model.labels import Labels
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior, check_prior
from ..optimization.design import designed
from ..optimization.finish import Design
from .contrasts import Channel
from .counts import place_finder
from .estimate import check_same_answers, named_pair, stacked
from .plan_result import Plan, effort, people_for_coefficient, people_for_difference
from .planning import check_people, sample_size
from .promise import FIGURES, check_kind

POWER = 0.8  # what is usual
HALVINGS = 14  # of an interval of epsilons: to less than a thousandth of its length


@dataclass(frozen=True)
class Effect:
    """A difference, or a coefficient, that is to be found, and how surely.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.3, "no": 0.7})
    >>> ex.plan(prior, epsilon=0.5, difference=ex.planning.Effect(0.1, "yes")).people > 100
    True

    Parameters
    ----------
    size
        How large it is.
    answer
        Whose share differs, or which is modelled. If left out, the answer that takes the most people.
    power
        The probability of finding it.
    """

    size: float
    answer: Any = None
    power: float = POWER

    def __post_init__(self) -> None:
        checks.confidence(self.power, "power", remedy="0.8 is usual")


@one_thread
def plan(
    source: Certified | Design | Prior | tuple[Mechanism, Prior] | list[tuple[Certified, int]],
    *,
    people: int | None = None,
    width: float | None = None,
    difference: float | Effect | None = None,
    coefficient: float | Effect | None = None,
    epsilon: float | None = None,
    intervals: str = "each",
    confidence: float = 0.95,
) -> Plan:
    """How many people a goal needs, how precise so many will be, or which epsilon they need.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.plan(prior, epsilon=0.6, width=0.1).people
    1223

    Parameters
    ----------
    source
        A certified mechanism, a design, or a mechanism with the prior that is expected; or a prior alone, for which a
        mechanism is designed. Or a list of pairs (certified mechanism, people), one for each stage of a survey: so many
        people, or as many times as many, are asked in these proportions.
    people
        How many people there are. Alone: what they will tell. With a goal and a prior without `epsilon`: the least
        epsilon that reaches it.
    width
        A goal: intervals at most so wide, from end to end, for every share.
    difference
        A goal: a difference between the shares of two groups is found. People are then counted in each group.
    coefficient
        A goal: a log odds ratio per standard deviation of a normal covariate, in a logit model of one answer, is found.
        An Effect names the answer, and how surely it is to be found: with 80 % unless given.
    epsilon
        For which to design a mechanism, if a prior is given.
    intervals
        Those whose width is meant, as in `estimate`: "each" by itself, or "all" together.
    confidence
        Of the intervals; 1 - confidence is the level of two-sided tests.

    Returns
    -------
    Plan
        A number of people with its precision, in figures and sentences.
    """
    level = checks.confidence(confidence)
    given = coefficient if difference is None else difference
    effect = given if isinstance(given, Effect) else Effect(0.0 if given is None else given)
    apart, slope = (x.size if isinstance(x, Effect) else x for x in (difference, coefficient))
    goal = _Goal(width, apart, slope, effect.power, effect.answer, check_kind(intervals), level)
    if isinstance(source, list):
        if goal.intervals == "all":
            raise OptionError('must be "each" where there are stages', parameter="intervals", given="'all'")
        source, total = _stages(source)
        people = total if people is None and goal.count == 0 else people
    if isinstance(source, Prior) and epsilon is None:
        return _least_epsilon(source, people, goal)
    made, expected, matrix, bound = _mechanism(source, epsilon)
    channel = Channel(matrix.matrix, expected.probabilities)
    if goal.count == 0:
        if people is None:
            raise OptionError(
                "a plan needs a goal: width, difference or coefficient, or a number of people",
                given="none",
                remedy="e.g. `width=0.05`",
            )
        n = check_people(people, "people")
        return goal.plan(expected, matrix, bound, n, made)
    if people is not None:
        raise OptionError(
            "must be left out where it is asked for, or come with a prior without epsilon",
            parameter="people",
            given=people,
            remedy="leave out people or the goal",
        )
    needed = goal.people(expected, matrix, channel)
    return goal.plan(expected, matrix, bound, needed, made, goal.words(needed))


@dataclass(frozen=True)
class _Goal:
    """What the people are to be enough for."""

    width: Any
    difference: Any
    coefficient: Any
    power: float
    answer: Any
    intervals: str
    confidence: float

    @property
    def count(self) -> int:
        return sum(x is not None for x in (self.width, self.difference, self.coefficient))

    def plan(
        self,
        prior: Prior,
        matrix: Mechanism,
        epsilon: float | None,
        people: int,
        design: Design | None,
        words: str = "",
    ) -> Plan:
        groups = 1 if self.difference is None else 2
        told = self.confidence, self.power, words, design, self.intervals
        return Plan(prior, matrix, epsilon, people, groups, *told)

    def people(self, prior: Prior, matrix: Mechanism, channel: Channel) -> int:
        if self.count > 1:
            raise OptionError(
                "a plan has one goal", given="several", remedy="give width, difference or coefficient"
            )
        if self.width is not None:
            return sample_size(prior, matrix, self.width, self.confidence, intervals=self.intervals)
        work = effort(self.confidence, self.power)
        places = (
            list(range(prior.size))
            if self.answer is None
            else [place_finder(prior.labels, "answer")(self.answer)]
        )
        if self.difference is not None:
            _check_identified(channel, places, prior.labels)
            size = checks.number(self.difference, "difference", above=0, below=1, remedy="e.g. 0.1")
            return people_for_difference(channel, places, size, work)
        size = checks.number(self.coefficient, "coefficient", remedy="e.g. 0.1")
        if size == 0:
            raise OptionError("must not be 0", parameter="coefficient", given=0, remedy="e.g. 0.1")
        return max(people_for_coefficient(channel, place, size, work) for place in places)

    def words(self, people: int) -> str:
        level = 1 - self.confidence
        which = "any share" if self.answer is None else f"the share of {brief(self.answer)}"
        if self.width is not None:
            return (
                f"{people:,} people are expected to make every {100 * self.confidence:g}% interval at most "
                f"{self.width:g} wide, {FIGURES[self.intervals]}."
            )
        test = f"with probability {self.power:g} (two-sided test at level {level:.2g})"
        if self.difference is not None:
            return (
                f"{people:,} people in each of two groups find a difference of {100 * self.difference:g} points in "
                f"{which} {test}."
            )
        which = "any answer" if self.answer is None else brief(self.answer)
        return (
            f"{people:,} people find a log odds ratio of {self.coefficient:g} per standard deviation of a covariate, "
            f"for {which} against the others, {test}."
        )


def _stages(pairs: list[Any]) -> tuple[tuple[Mechanism, Prior], int]:
    """One mechanism that draws the stage first, the prior that the last one knew, and all people."""
    matrices, people, expected = [], [], None
    for number, pair in enumerate(pairs, start=1):
        with named_pair(number):
            if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], Certified):
                raise OptionError(
                    "must be a certified mechanism and a number of people",
                    given=brief(pair),
                    remedy="e.g. `plan([(c1, 500), (c2, 1500)])`",
                )
            matrices.append(as_estimable(pair[0]))
            people.append(check_people(pair[1], "people"))
            expected = pair[0].prior_between
            check_same_answers(matrices[-1], matrices[0])
    if expected is None:
        raise OptionError("a plan of stages must have at least one pair", given="none")
    return (stacked(matrices, np.array(people, dtype=np.float64)), expected), sum(people)


def _mechanism(source: Any, epsilon: Any) -> tuple[Design | None, Prior, Mechanism, float | None]:
    if isinstance(source, Prior):
        made = designed(source, epsilon)
        return made, source, made.mechanism, made.epsilon
    if epsilon is not None:
        raise OptionError(
            "must come with a prior",
            parameter="epsilon",
            given=f"{epsilon} and a mechanism",
            remedy="leave it out",
        )
    if isinstance(source, Design):
        return source, source.prior, source.mechanism, source.epsilon
    if isinstance(source, Certified):
        return None, source.prior_between, as_estimable(source), source.epsilon
    if not (isinstance(source, tuple) and len(source) == 2):
        raise OptionError(
            "a plain mechanism must come with the prior that is expected",
            given=brief(source),
            remedy="give both: `plan((mechanism, prior), …)`",
        )
    matrix, expected = as_estimable(source[0]), check_prior(source[1])
    check_match(expected, matrix)
    return None, expected, matrix, source[0].epsilon if isinstance(source[0], Certified) else None


def _least_epsilon(prior: Prior, people: Any, goal: _Goal) -> Plan:
    """The least level at which so many people reach the goal, by halving; designs get better with epsilon."""
    if people is None or goal.count == 0:
        raise OptionError(
            "a plan for a prior needs epsilon, or people and a goal, from which epsilon follows",
            given=f"{prior.size} answers",
            remedy="e.g. `people=944, width=0.2`",
        )
    n = check_people(people, "people")

    def needed(level: float) -> tuple[Design, float]:
        made = designed(prior, level)
        try:
            return made, goal.people(
                prior, made.mechanism, Channel(made.mechanism.matrix, prior.probabilities)
            )
        except MechanismError:  # too noisy for any number of people
            return made, math.inf

    low, high = 0.0, prior.epsilon_max
    best, count = needed(high)
    if count > n:
        raise EpsilonError(
            "no epsilon is enough: even true answers take more people",
            given=f"{n} people where {count:g} are needed",
            remedy="ask more people, or want less",
        )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        made, count = needed(middle)
        if count <= n:
            high, best = middle, made
        else:
            low = middle
    said = goal.words(n).replace("people", f"people and epsilon = {high:.3g}", 1)
    return goal.plan(prior, best.mechanism, high, n, best, said)


def _check_identified(channel: Channel, places: list[int], labels: Labels) -> None:
    known = channel.identified(np.eye(len(labels))[places])
    if not known.all():
        raise MechanismError(
            "the mechanism must identify the share",
            given=f"one that cannot tell {brief(labels[places[int(np.argmin(known))]])} from others",
            remedy="design one for shares: `design(prior, epsilon)`",
        )
