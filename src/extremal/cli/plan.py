"""extremal plan: how many people, how exact, which epsilon, before anybody is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import extremal as ex
from extremal.errors import FileError, OptionError
from extremal.estimation.promise import FIGURES, KINDS

from . import options, show
from .inputs import learn, load_mechanism, named_label
from .output import Facts, Output, check_target, progress, write_bytes


@dataclass(frozen=True)
class GoalOptions:
    """What the survey is to show.

    Parameters
    ----------
    width
        Goal: every interval at most this wide, from end to end, e.g. 0.05.
    difference
        Goal: detect a difference between two groups, e.g. 0.1 for 10 points.
    coefficient
        Goal: detect a log odds ratio per standard deviation of a covariate, in a logit model.
    """

    width: float | None = None
    difference: float | None = None
    coefficient: float | None = None


@dataclass(frozen=True)
class LeastOptions:
    """What the smallest epsilon is to reach.

    Parameters
    ----------
    efficiency
        Goal: the smallest epsilon for this efficiency, with proof; 0.25: 4 reports are worth 1 true answer.
    half_width
        Goal: with a prior and --people, the smallest epsilon that gives shares to about ± this, with proof.
    """

    efficiency: float | None = None
    half_width: float | None = None


def plan(
    *,
    source: options.PriorOptions,
    mechanism: str | None = None,
    epsilon: float | None = None,
    people: int | None = None,
    goal: GoalOptions,
    least: LeastOptions,
    power: float = 0.8,
    answer: str | None = None,
    intervals: options.Intervals = "each",
    confidence: float = 0.95,
    picture: str | None = None,
    output: Output,
) -> None:
    """Say how many people you need for a goal, how precise the results will be, or which epsilon you need.

    The goal is a width of intervals, a difference between groups or a coefficient. Give a mechanism file, or a prior
    with --epsilon. With a prior, --people and a goal, the command finds the smallest epsilon that reaches the goal.
    --efficiency, and --half-width with --people, also prove which epsilon is too small for any mechanism.

    Parameters
    ----------
    mechanism : -m FILE
        A certified mechanism file.
    epsilon : -e LIMIT
        With a prior: the limit to design a mechanism for.
    people : N
        How many people you will ask; with a prior and a goal, finds the smallest epsilon that reaches it.
    power
        The probability of detecting the difference or coefficient.
    answer
        The answer whose share differs or is modelled; the one that needs the most people if left out.
    confidence
        Confidence level of intervals; tests are at the level 1 - confidence.
    picture : FILE
        Draw the precision by number of people and epsilon, as .png or .svg.

    Examples
    --------
    extremal plan --mechanism mechanism.json --width 0.05
    extremal plan --mechanism mechanism.json --people 944
    extremal plan --mechanism mechanism.json --difference 0.1 --power 0.8
    extremal plan --prior 0.5,0.3,0.2 --people 944 --width 0.2
    extremal plan --prior 0.5,0.3,0.2 --picture plan.svg
    """
    output.check(mechanism)
    check_target(picture, output.overwrite, inputs=[mechanism])
    if picture is not None and Path(picture).suffix.lower() not in (".png", ".svg"):
        raise FileError("a picture must be written as .png or .svg", given=picture, remedy="rename it")
    asked = people is not None or options.given(goal)
    if output.target is not None and not asked:
        raise OptionError("-o must come with a number of people or a goal", remedy="e.g. --people 1000")
    if goal.difference is None and goal.coefficient is None:
        power_given = options.other_than(0.8, power)
        options.only_with("--difference or --coefficient", power=power_given, answer=answer)
    if mechanism is not None and options.given(source):
        raise OptionError("--mechanism must not be combined with a prior", remedy="leave one of them out")
    certified = None if mechanism is None else load_mechanism(mechanism)
    prior = learn(source).prior if certified is None else certified.prior_between
    if options.given(least):
        others = {"mechanism": mechanism, "epsilon": epsilon, **vars(goal), "picture": picture}
        planned = _least(prior, least, people, confidence, others)
    else:
        named = None if answer is None else named_label(prior.labels, answer)
        with progress("planning"):
            found = None
            if asked or picture is None:
                how: Any = {"intervals": intervals, "confidence": confidence, **options.given(goal)}
                for name in how.keys() & {"difference", "coefficient"}:
                    how[name] = ex.planning.Effect(how[name], named, power)
                found = ex.plan(certified or prior, people=people, epsilon=epsilon, **how)
            drawn = None if picture is None else ex.planning.precision(prior, confidence=confidence)
        planned = PlanResult(found, drawn=drawn, picture=picture)
    planned.draw(output.overwrite)
    output.give(planned)


def _least(
    prior: ex.Prior, goal: LeastOptions, people: int | None, confidence: float, others: Facts
) -> PlanResult:
    """The smallest epsilon for a goal, and what to expect from it."""
    option = "--efficiency" if goal.half_width is None else "--half-width"
    given = [f"--{name}" for name, value in others.items() if value is not None]
    if given:
        raise OptionError(
            f"{option} must not be combined with {given[0]}",
            remedy=f"leave out {given[0]}: the command finds epsilon for a prior",
        )
    wish: Any = {"people": people, "half_width": goal.half_width} if goal.half_width is not None else {}
    with progress("planning"):
        least = ex.planning.least_epsilon(prior, goal.efficiency, confidence=confidence, **wish)
        found = None if people is None else ex.plan(least.design, people=people, confidence=confidence)
    return PlanResult(found, least)


@dataclass(frozen=True)
class PlanResult:
    """What to expect from so many people, which epsilon is the smallest, and a picture."""

    found: ex.planning.Plan | None
    least: ex.planning.LeastEpsilon | None = None
    drawn: ex.planning.Precision | None = None
    picture: str | None = None

    def draw(self, overwrite: bool) -> None:
        """Write the picture, if one was asked for."""
        if self.drawn is None or self.picture is None:
            return
        from extremal._common.plot import rendered

        kinds = (Path(self.picture).suffix.lower().lstrip("."),)
        (content,) = rendered(self.drawn.plot, (6.4, 4.4), kinds)
        write_bytes(self.picture, content, overwrite)

    def records(self) -> list[Facts]:
        """What to expect for each answer."""
        assert self.found is not None
        widths = zip(
            self.found.labels,
            self.found.prior.probabilities,
            *map(self.found.widths_of, KINDS),
            strict=True,
        )
        return [
            {
                "answer": label,
                "share": float(p),
                "half_width_each": float(half) / 2,
                "half_width_all": float(wide) / 2,
                "people": self.found.total,
                "confidence": self.found.confidence,
            }
            for label, p, half, wide in widths
        ]

    def facts(self) -> Facts:
        """All of it, for programs."""
        facts = {} if self.found is None else self.found.to_dict()
        if self.least is not None:
            return {**facts, **self.least.to_dict()}
        rows = None if self.drawn is None else self.drawn.rows()
        return {**facts, "precision": rows, "file": self.picture}

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        if self.least is not None:
            out.say(*self.least.lines())
        if self.found is not None:
            out.notes(*self.found.lines())
            rows = [
                (
                    show.name_of(row["answer"]),
                    f"{row['share']:.4f}",
                    _points(row["half_width_each"]),
                    _points(row["half_width_all"]),
                )
                for row in self.records()
            ]
            out.heading(f"What to expect from {self.found.total:,} people, in points to each side")
            out.table(("answer", "share", *(FIGURES[kind] for kind in KINDS)), rows, most=None)
        if self.drawn is not None:
            out.say(str(self.drawn), f"Picture in {self.picture}")


def _points(half: float) -> str:
    return f"± {100 * half:.1f}" if half < 1 else "nothing"
