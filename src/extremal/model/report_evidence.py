"""Sets of priors learned from reports: what was reported under which mechanisms, and what is assumed of reports."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from .._common.types import Floats
from .._common.words import shorten
from ..errors import PriorError
from .counting import Unknown, count_values
from .evidence import WHOLE_SIMPLEX, Bounds
from .labels import Labels
from .prior import Prior
from .report_sums import LISTED, Stage, Sums, Told

MOST_STAGES = 100
MOST_REPORTS = 1 << 53  # of a stage: doubles count them
MOST_ANSWERS = 200
MOST_SCORES = 1 << 23  # of all stages, one for each report and set of answers: seconds
VALID = ("fixed", "always")
ROOM = 1e-7  # by which the set is larger than computed: linear programs end nearer than that to the best


@runtime_checkable
class Collector(Protocol):
    """A certified mechanism, as far as reports speak of priors."""

    @property
    def weights(self) -> NDArray[np.uint64]: ...
    @property
    def bits(self) -> int: ...
    @property
    def prior(self) -> Prior: ...
    @property
    def inputs(self) -> Labels: ...
    @property
    def outputs(self) -> Labels: ...


@dataclass(frozen=True)
class Collected:
    """How often each report came in under a mechanism: whole numbers, rows of weights that sum to 2^bits."""

    weights: tuple[tuple[int, ...], ...]
    bits: int
    expected: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, certified: Collector, reports: Any) -> Collected:
        """The reports of different people, a column of labels or a mapping label -> count."""
        return cls(
            tuple(map(tuple, certified.weights.tolist())),
            certified.bits,
            tuple(certified.prior.probabilities.tolist()),
            _counted(certified.outputs, reports),
        )

    @property
    def stage(self) -> Stage:
        """The same in doubles."""
        matrix = np.ldexp(np.array(self.weights, dtype=np.float64), -self.bits)
        return Stage(matrix, np.array(self.expected), np.array(self.counts, dtype=np.float64))


@dataclass(frozen=True)
class CollectedReports:
    """Reports under one or several mechanisms, each of different people: see `PriorSet.from_reports`.

    `between` are the smallest and largest shares that are possible at all, `drift` how far, in l1 distance, the shares
    of the people whom the set is for may be from those of every stage.
    """

    stages: tuple[Collected, ...]
    forged: float = 0.0
    drift: float = 0.0
    valid: str = "fixed"
    between: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def __post_init__(self) -> None:
        answers, outputs = len(self.stages[0].expected), sum(len(stage.counts) for stage in self.stages)
        sets = 2**answers if answers <= LISTED else 2 * answers
        most = (
            ("stages", len(self.stages), MOST_STAGES),
            ("people in one stage", max(sum(stage.counts) for stage in self.stages), MOST_REPORTS - 1),
            ("different answers", answers, MOST_ANSWERS),
            ("different outputs", outputs, MOST_SCORES // sets),
        )
        for what, given, limit in most:
            if given > limit:
                raise PriorError(
                    f"must come from at most {limit} {what}",
                    parameter="reports",
                    given=f"{given:d}" if given < MOST_REPORTS else "2^53 or more",
                    remedy="merge rare answers, or learn from the last stages",
                )

    @property
    def words(self) -> str:
        """Where the set lies, and what was assumed."""
        people = sum(sum(stage.counts) for stage in self.stages)
        told = f"around the shares that {people} reports tell"
        assumed = [f"a drift of {self.drift:g}"] if self.drift else []
        assumed += [f"{100 * self.forged:g} % of them forged"] if self.forged else []
        return told + (f", with {' and '.join(assumed)}" if assumed else "")

    @property
    def intervals(self) -> str:
        """What the intervals are called."""
        return "intervals of bounded scores"

    @cached_property
    def _sums(self) -> Sums:
        stages = tuple(collected.stage for collected in self.stages)
        return Sums(stages, self.forged, self.valid == "always", *self._sure, self.drift)

    @property
    def _sure(self) -> tuple[Floats, Floats]:
        n = len(self.stages[0].expected)
        lower, upper = (np.zeros(n), np.ones(n)) if self.between is None else self.between
        return np.array(lower), np.array(upper)

    def bounds(self, confidence: float) -> Bounds:
        """The set that holds the prior of the next people with this confidence."""
        told = self._told(confidence)
        if not told.possible:
            raise PriorError(
                "must fit some shares that are possible",
                parameter="reports",
                given=f"reports that are too unlikely under all of them, {self.words}",
                remedy="check that the mechanism made them, or widen `between`, `forged` or `drift`",
            )
        lower, upper = self._ranges(told, ROOM)
        center = told.center(lower, upper)
        return Bounds(center, lower, upper, min(told.radius(center) + ROOM, WHOLE_SIMPLEX))

    def holds(self, bounds: Bounds, confidence: float) -> bool:
        """Whether a set is large enough: another computer may end a linear program at another center."""
        told = self._told(confidence)
        if not told.possible or len(bounds.center) != len(told.lower):
            return False
        lower, upper = self._ranges(told, 0.0)
        return bool(
            np.all(bounds.lower <= lower)
            and np.all(bounds.upper >= upper)
            and bounds.radius >= min(told.radius(bounds.center), WHOLE_SIMPLEX)
        )

    def _told(self, confidence: float) -> Told:
        return self._sums.told(1 - checks.confidence(confidence))

    def _ranges(self, told: Told, room: float) -> tuple[Floats, Floats]:
        """The shares of the next people, wider by rounding, but for what is ruled out."""
        return np.clip(told.lower - room, *self._sure), np.clip(told.upper + room, *self._sure)


def collected(pairs: Any, reports: Any) -> tuple[Collected, ...]:
    """A mechanism and its reports, or pairs of these, checked."""
    given = pairs if reports is None else [(pairs, reports)]
    if (
        not isinstance(given, list | tuple)
        or not given
        or (given is not pairs and isinstance(pairs, list | tuple))
    ):
        raise PriorError(
            "must be a certified mechanism with its reports, or a list of such pairs",
            parameter="certified",
            given=shorten([type(given).__name__]),
            remedy="PriorSet.from_reports(certified, reports), or PriorSet.from_reports([(c1, r1), (c2, r2)])",
        )
    found = []
    for pair in given:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise PriorError(
                "every pair must be a certified mechanism and its reports",
                parameter="certified",
                given=shorten([type(pair).__name__]),
                remedy="PriorSet.from_reports([(c1, r1), (c2, r2)])",
            )
        if not isinstance(pair[0], Collector):
            raise PriorError(
                "every mechanism must be a certified one",
                parameter="certified",
                given=type(pair[0]).__name__,
                remedy="ex.certify(design), or ex.load(path)",
            )
        if len(pair[0].weights) != len(pair[0].inputs):
            raise PriorError(
                "mechanisms must tell answers apart, not blocks of answers",
                parameter="certified",
                given=f"{len(pair[0].weights)} blocks of {len(pair[0].inputs)} answers",
                remedy="merge the answers of each block before you design",
            )
        found.append(pair)
    inputs = found[0][0].inputs
    for certified, _ in found:
        if certified.inputs != inputs:
            raise PriorError(
                "mechanisms must be of the same answers in the same order",
                parameter="certified",
                given=f"{shorten(inputs)} and {shorten(certified.inputs)}",
                remedy="design them for one list of answers",
            )
    return tuple(Collected.of(*pair) for pair in found)


def _counted(outputs: Labels, reports: Any) -> tuple[int, ...]:
    """How often each output was reported; text stands for the label that is written like it."""
    if hasattr(reports, "outputs"):
        reports = reports.to_dict()  # ReportCounts, which are counted further below
    counts = reports if isinstance(reports, Mapping) else count_values(reports)
    place: dict[Hashable, int] = {str(label): k for k, label in enumerate(outputs)}
    place |= {label: k for k, label in enumerate(outputs)}
    found, unknown = [0] * (len(outputs) + 1), Unknown(outputs)
    for label, count in counts.items():
        k = place.get(label, len(outputs))
        times = checks.whole(
            count, "reports", remedy="give how often each output was reported", error=PriorError
        )
        found[k] += times
        if k == len(outputs):
            unknown.add(label, times)
    if found.pop():
        raise PriorError(
            f"must all be outputs of their mechanism, {shorten(outputs)}",
            parameter="reports",
            given=unknown.among(sum(found) + unknown.rows),
            remedy="load the mechanism that made these reports",
        )
    if not sum(found):
        raise PriorError(
            "must not be empty: there is nothing to learn from",
            parameter="reports",
            remedy="give the reports of at least one person",
        )
    return tuple(found)


def sure_ranges(
    between: Mapping[Any, tuple[float, float]], names: Labels
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Ranges of shares that are sure, for all answers."""
    checks.mapping(between, "between", "answer -> (smallest, largest)", error=PriorError)
    for label, pair in between.items():
        if label not in names:
            raise PriorError(
                "must name answers of the mechanism",
                parameter="between",
                given=repr(label)[:60],
                remedy=f"these are {shorten(names)}",
            )
        ends = checks.numbers(pair, "between", error=PriorError)
        if len(ends) != 2 or not 0 <= ends[0] <= ends[1] <= 1:
            raise PriorError(
                "must be pairs (smallest, largest) of shares from 0 to 1",
                parameter="between",
                given=f"{pair!r} for {label!r}"[:80],
                remedy='e.g. {"yes": (0.01, 0.4)}',
            )
    pairs = [tuple(map(float, between.get(label, (0.0, 1.0)))) for label in names]
    lower, upper = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    if math.fsum(lower) > 1 or math.fsum(upper) < 1:
        raise PriorError(
            "some shares must lie within the ranges",
            parameter="between",
            given=f"smallest shares that sum to {math.fsum(lower):g} and largest that sum to {math.fsum(upper):g}",
            remedy="widen them until 1 lies between",
        )
    return lower, upper
