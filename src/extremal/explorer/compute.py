"""Designs, curves and reports of a sample; the search reports its progress, and is given up by an exception there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import extremal as ex
from extremal._common.json import Document
from extremal.errors import OptionError, ValuesError
from extremal.model.purpose import Purpose
from extremal.optimization.curves import Tradeoff
from extremal.optimization.design import designed

from .state import CONFIDENCE, Known, State, shown, utility_of

PREVIEW = 0.1  # seconds for a first answer, where the search takes longer
PREVIEWED = 60  # symbols up to which there is one: beyond, a single round takes longer
QUICK = 12  # symbols up to which a point of the curve needs no limit
CURVE_TOLERANCE = 1e-4
PASSES = (5, 9, 17, 33)  # points of the curve: each pass fills in between those of the last
HALVINGS = 40
MOST_SAMPLE = 10_000  # answers of a pasted sample
MOST_DRAWN = 200  # of them shown one by one

Progress = Callable[[float, float], None]


@dataclass(frozen=True)
class Made:
    """A design with its certified mechanism and audit, beside randomized response that keeps the same limit."""

    design: ex.Design
    certified: ex.Certified
    audit: ex.Audit
    response: ex.Mechanism
    final: bool  # the search cannot improve it any more

    @property
    def prior(self) -> ex.Prior:
        """How common the answers are held to be."""
        return self.audit.prior


def first_design(state: State, known: Known) -> Made | None:
    """A certified design within about a tenth of a second, or None where not even a first round is that short."""
    if known.prior.size > PREVIEWED and known.prior.region(state.epsilon) <= known.prior.size:
        return None
    utility = utility_of(state, known.prior)
    design = designed(known.given, state.epsilon, utility, time_limit=PREVIEW)
    return _made(design, known, not design.stats.stopped)


def final_design(state: State, known: Known, progress: Progress) -> Made:
    """The design that the library gives, certified."""
    utility = utility_of(state, known.prior)
    return _made(designed(known.given, state.epsilon, utility, progress=progress), known, True)


def _made(design: ex.Design, known: Known, final: bool) -> Made:
    certified = ex.certify(design, allow_true_answers=True)  # to show it; what draws is refused
    return Made(design, certified, ex.audit(certified), response(known, design.epsilon), final)


def response(known: Known, epsilon: float) -> ex.Mechanism:
    """Randomized response that leaks at most epsilon under every prior that is possible."""
    found = ex.theory.randomized_response_for_pml(known.prior, epsilon)
    if known.priors is None or ex.epsilon_pml(known.priors, found) <= epsilon:
        return found
    low, high = 0.0, 50.0  # beyond, a report is the answer but for rounding
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found = ex.theory.randomized_response(known.prior, middle)
        low, high = (middle, high) if ex.epsilon_pml(known.priors, found) <= epsilon else (low, middle)
    return ex.theory.randomized_response(known.prior, low)


def least_epsilon(state: State, known: Known, points: float, progress: Progress) -> Document:
    """The smallest limit at which so many people tell the shares to ± so many points."""
    if state.robust:
        raise OptionError(
            "this works for shares that are taken as known", remedy="untick “These counts are a sample”"
        )
    if state.utility != "shares":
        raise OptionError(
            "this works for shares", remedy="choose “the share of every answer” under what you want to know"
        )
    found = ex.planning.least_epsilon(
        known.prior, people=state.people, half_width=points / 100, confidence=CONFIDENCE, progress=progress
    )
    epsilon = min(math.ceil(found.epsilon * 1e4) / 1e4, known.prior.epsilon_max)  # a little more will do
    return {"epsilon": epsilon, "lower": found.lower}


def curve(
    prior: ex.Prior, utility: ex.Utility | Purpose, progress: Callable[[int, int], None]
) -> Iterator[Tradeoff]:
    """The trade-off at ever more levels between 0 and epsilon_max; each is the whole curve so far."""
    limit = None if prior.size <= QUICK else 0.5 if prior.size <= PREVIEWED else 2.0
    tolerance = None if isinstance(utility, Purpose) else CURVE_TOLERANCE
    top, count = prior.epsilon_max, PASSES[-1] - 1
    last: Tradeoff | None = None
    for points in PASSES:
        step = count // (points - 1)
        levels = [top * k / count for k in range(0, count + 1, step) if last is None or k % (2 * step)]
        before = 0 if last is None else len(last)

        def report(done: int, _: int, before: int = before) -> None:
            progress(before + done, PASSES[-1])

        part = ex.tradeoff(prior, levels, utility, tolerance=tolerance, time_limit=limit, progress=report)
        last = part if last is None else _merged(last, part)
        yield last


def _merged(one: Tradeoff, other: Tradeoff) -> Tradeoff:
    """Both curves in one, which never falls: what is possible at a lower level stays possible."""
    order = np.argsort(np.concatenate((one.epsilons, other.epsilons)), kind="stable")

    def joined(name: str) -> Any:
        return np.concatenate((getattr(one, name), getattr(other, name)))[order]

    optimal = np.maximum.accumulate(joined("optimal"))
    return Tradeoff(
        one.prior,
        one.utility,
        joined("epsilons"),
        optimal,
        np.maximum(joined("upper_bound"), optimal),
        joined("randomized_response"),
        tuple(np.array(one.methods + other.methods)[order].tolist()),
        one.ceiling,
    )


def percentages(curve: Tradeoff, values: Any) -> list[float]:
    """Per cent of what the answer itself gives."""
    return [100 * v / max(curve.ceiling, 1e-300) for v in values.tolist()]


def privatize_sample(made: Made, text: str, allow_true_answers: bool = False) -> Document:
    """One secure draw for each answer. Shares that cannot be told apart come without an estimate."""
    words = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(words) == 1:
        words = [part.strip() for part in words[0].split(",") if part.strip()]
    if not 0 < len(words) <= MOST_SAMPLE:
        raise ValuesError(
            f"a sample must have between 1 and {MOST_SAMPLE} answers, got {len(words)}; give one a line"
        )
    named = {str(shown(label)): label for label in made.certified.inputs}
    values = [named.get(word, word) for word in words]
    reports = made.certified.privatize(values, allow_true_answers=allow_true_answers)
    truly = Counter(values)
    estimate = ex.estimate(made.certified, reports, CONFIDENCE)
    return {
        "count": len(values),
        "answers": [shown(value) for value in values[:MOST_DRAWN]],
        "reports": [shown(report) for report in reports],
        "rows": [
            {
                "label": shown(label),
                "sample": truly[label] / len(values),
                "identified": row["identified"],
                "estimate": row["estimate"] if row["identified"] else None,
                "lower": row["lower"],
                "upper": row["upper"],
            }
            for label, row in zip(estimate.labels, estimate.table.rows(), strict=True)
        ],
        "promise": f"{str(estimate.promise).capitalize()}.",
    }
