"""Shares of answers from reports, with intervals that hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Floats, Ints
from .._common.words import brief, shorten
from ..certification.certified import Certified, as_estimable
from ..errors import ExtremalError, MechanismError, OptionError, ValuesError
from ..model.labels import Labels
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior, check_prior
from .betting import StageReports
from .contrasts import Channel, SeparateStages
from .counts import ReportCounts, count_reports, reference_prior
from .grouped import GroupedEstimate
from .intervals import MOST_COUNTED
from .likelihood import maximize
from .named_columns import NamedColumns, codes_of, design_of, groups_of, joined, table_of
from .promise import EVERY, check_kind
from .result import Estimate
from .sample import SampleDesign, WeightedReports, check_sample, survey_totals

METHODS = ("maximum-likelihood", "inverse", "map")


Read = TypeVar("Read")
Pairs = Sequence[tuple[Certified | Mechanism, Any]]  # of different people


@overload
def estimate(
    mechanism: Certified | Mechanism | Pairs,
    reports: Any = None,
    confidence: float = 0.95,
    by: None = None,
    intervals: str = "each",
    *,
    column: Any = None,
    sample: SampleDesign | None = None,
    method: str | Method = "maximum-likelihood",
) -> Estimate: ...


@overload
def estimate(
    mechanism: Certified | Mechanism | Pairs,
    reports: Any = None,
    confidence: float = 0.95,
    by: Any = None,
    intervals: str = "each",
    *,
    column: Any = None,
    sample: SampleDesign | None = None,
    method: str | Method = "maximum-likelihood",
) -> Any: ...


@one_thread
def estimate(
    mechanism: Certified | Mechanism | Pairs,
    reports: Any = None,
    confidence: float = 0.95,
    by: Any = None,
    intervals: str = "each",
    *,
    column: Any = None,
    sample: SampleDesign | None = None,
    method: str | Method = "maximum-likelihood",
) -> Estimate | GroupedEstimate:
    """The share of each answer with its interval, for everybody or for each group.

    Examples
    --------
    >>> import extremal as ex
    >>> response = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    >>> ex.estimate(response, {"no": 60, "yes": 40}).shares.round(3).tolist()
    [0.7, 0.3]

    Other people, asked with another mechanism:

    >>> truer = ex.Mechanism([[0.9, 0.1], [0.1, 0.9]], ["no", "yes"], ["no", "yes"])
    >>> both = ex.estimate([(response, {"no": 60, "yes": 40}), (truer, {"no": 330, "yes": 170})])
    >>> both.shares.round(3).tolist()
    [0.7, 0.3]
    >>> both.drift.degrees
    (1,)

    Parameters
    ----------
    mechanism
        The certified mechanism that made the reports, or its matrix. If it is in blocks, as for large alphabets, the
        shares are those of the blocks: reports say nothing about which symbol of a block it was. Or a list of pairs
        (mechanism, reports) of different people, in the order in which they were asked: all reports together then give
        one estimate. A later mechanism may have been chosen after earlier reports were seen.
    reports
        A list, numpy array, pandas or polars Series or arrow array of output labels; a mapping label -> count or
        ReportCounts gathered from a stream; or a frame, the path of a CSV or Parquet file, or the store of a survey
        (an SQLite file or postgresql://…), with `column`. Labels may be text where the mechanism has integers, as
        after a round trip through a CSV file, and the other way round.
    confidence
        Of the intervals.
    by
        A group for each person, a column, its name or several names: an estimate for every group, in one table. The
        result is then a GroupedEstimate. Of pairs, a column has the people of all pairs, one pair after the other.
    intervals
        "each": ordinary intervals, each of which covers the truth with about this confidence. "all": all intervals
        together cover it with this confidence; without `sample` that holds for every number of reports. "always": they
        do so at every look at reports that come in one by one, however often you look and whenever you stop; not with
        `by` or `sample`.
    column
        The name of the column of reports in a frame or file; several names for a mechanism on combinations.
    sample
        How people were drawn: weights, strata and clusters.
    method
        "maximum-likelihood": the shares that make the reports most likely. "inverse": reports times the
        (generalised) inverse of the mechanism; unbiased, can be negative. Of pairs that is the mean of what each
        tells by itself, weighted by people: unbiased although later mechanisms depend on earlier reports. "map": the
        mode of the posterior. A Method also says which shares are expected.

    Returns
    -------
    Estimate or GroupedEstimate
        Shares, intervals and standard errors; with `by`, for each group.

    Notes
    -----
    How intervals are made, and why they hold, is told in module intervals, in approximate for ordinary ones, and in
    betting for several mechanisms. For maximum likelihood and "map" an interval is extended to hold its estimate. Given
    how many people were asked under each mechanism, several are like one whose outputs are pairs (stage, report).
    """
    pairs = pairs_of(mechanism, reports)
    how = _How([m for m, _ in pairs], confidence, intervals, method)
    sample = check_sample(sample)
    beside = by is not None or sample is not None
    if beside and how.intervals == "always":
        raise OptionError(
            'must be "each" or "all" with groups, weights, strata or clusters',
            parameter="intervals",
            given="'always'",
            remedy="leave it out",
        )
    given = [own for _, own in pairs]
    if not beside:
        counts = how.each(given, lambda matrix, own: _counts(matrix, own, column))
        return how.fit(np.concatenate(counts), None, how.confidence)
    read = how.each(given, lambda matrix, own: _read(matrix, own, column, by, sample))
    parts, tables = zip(*read, strict=True)
    table = joined(tables, by, sample, sum(map(len, parts)))
    codes = np.concatenate([own + start for own, start in zip(parts, how.starts, strict=False)])
    names, found, labels = groups_of(table, by, len(codes))
    design = design_of(table, sample, len(codes))
    size, blocks = how.starts[-1], max(len(labels), 1)
    cells = (np.zeros_like(codes) if found is None else found) * size + codes
    counted = np.bincount(cells, minlength=blocks * size).reshape(blocks, size)
    if not len(cells):
        how.check(counted[0])
    totals = None if design is None else survey_totals(cells, blocks, size, design)
    if totals is not None:
        _check_weights(totals.squares.reshape(blocks, size), labels)
    # The error is divided over the groups, so that the intervals of the whole table hold together.
    level = how.confidence if intervals == "each" else 1 - (1 - how.confidence) / blocks
    estimates = tuple(
        how.fit(
            counted[k],
            None if totals is None else totals.of_block(k, size),
            level,
            "" if found is None else f" of group {labels[k]!r}",
        )
        for k in range(blocks)
    )
    if found is None:
        return estimates[0]
    return GroupedEstimate(names, labels, estimates, how.confidence, intervals, totals)


def pairs_of(mechanism: Any, reports: Any = None) -> list[tuple[Any, Any]]:
    """Mechanisms and reports, as one was given or a list of pairs."""
    if not isinstance(mechanism, list | tuple):
        if reports is None:
            raise ValuesError("must be given", parameter="reports", given="none")
        return [(mechanism, reports)]
    remedy = "e.g. `estimate([(c1, r1), (c2, r2)])`"
    if reports is not None or not mechanism:
        problem = "must be left out where pairs are given, of which there is at least one"
        given = f"{len(mechanism)} pairs"
        raise OptionError(problem, parameter="reports", given=given, remedy=remedy)
    for number, pair in enumerate(mechanism, start=1):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            problem = "every pair must be a mechanism and its reports"
            raise OptionError(problem, given=f"{brief(pair)} as pair {number}", remedy=remedy)
    return [(pair[0], pair[1]) for pair in mechanism]


@dataclass(frozen=True)
class Method:
    """How shares are found from reports, and which are expected.

    Examples
    --------
    >>> Method("map", strength=20).strength
    20

    Parameters
    ----------
    name
        "maximum-likelihood", "inverse" or "map", as in `estimate`.
    prior
        The shares that are expected: those of the certified mechanism unless given, uniform for a plain mechanism. Ties
        are broken towards them, "map" starts from them, and intervals are made narrowest for them. Intervals hold
        whatever they are, as long as they were not made from these reports.
    strength
        For "map", the mode of the posterior for a Dirichlet prior whose mode is `prior`: as how many answers seen
        without noise the prior counts; by default as many as there are symbols.
    """

    name: str = METHODS[0]
    prior: Prior | None = None
    strength: float | None = None

    def __post_init__(self) -> None:
        checks.choice(self.name, "method", METHODS, remedy=f"leave it out for {METHODS[0]}")
        if self.prior is not None:
            check_prior(self.prior)
        if self.strength is not None:
            if self.name != "map":
                raise OptionError(
                    'must come with the method "map"',
                    parameter="strength",
                    given=repr(self.name),
                    remedy="leave it out",
                )
            checks.number(
                self.strength, "strength", above=0, remedy="give how many answers the prior is worth"
            )


class _How:
    """How to estimate: mechanisms and options, checked once for all groups."""

    def __init__(self, mechanisms: list[Any], confidence: Any, intervals: Any, method: Any) -> None:
        self.confidence = checks.confidence(confidence)
        chosen = method if isinstance(method, Method) else Method(method)
        self.method = chosen.name
        self.intervals = check_kind(intervals, EVERY)
        self.matrices: list[Mechanism] = []
        self.channels: list[Channel] = []
        for number, mechanism in enumerate(mechanisms, start=1):
            with named_pair(number if len(mechanisms) > 1 else None):
                matrix = as_estimable(mechanism)
                expected = reference_prior(mechanism, chosen.prior)
                if expected is None and self.method == "map":
                    raise OptionError(
                        'method "map" must have a prior',
                        given="a plain mechanism",
                        remedy='give `method=ex.Method("map", prior)`, or a certified mechanism',
                    )
                self.expected = (
                    _uniform(matrix) if expected is None else expected
                )  # of the last, who knew most
                check_match(self.expected, matrix)
                self.matrices.append(matrix)
                self.channels.append(Channel(matrix.matrix, self.expected.probabilities))
                check_same_answers(matrix, self.matrices[0])
        self.strength = 0.0 if self.method != "map" else chosen.strength or float(self.expected.size)
        self.starts = np.cumsum([0, *(matrix.shape[1] for matrix in self.matrices)]).tolist()
        self.parts = list(map(slice, self.starts, self.starts[1:]))
        self.outputs: Labels = self.matrices[0].outputs
        if self.several:
            self.outputs = tuple((k, y) for k, m in enumerate(self.matrices, start=1) for y in m.outputs)

    @property
    def several(self) -> bool:
        """Whether there are several mechanisms."""
        return len(self.matrices) > 1

    def each(self, reports: list[Any], read: Callable[[Mechanism, Any], Read]) -> list[Read]:
        """What is read from the reports of each mechanism; errors name the pair."""
        found = []
        for number, (matrix, own) in enumerate(zip(self.matrices, reports, strict=True), start=1):
            with named_pair(number if self.several else None):
                found.append(read(matrix, own))
        return found

    def check(self, counts: Ints, where: str = "") -> None:
        """Refuse reports that no estimate can come from."""
        self.each(
            [counts[own] for own in self.parts], lambda matrix, own: _check_possible(matrix, own, where)
        )
        check_total(int(counts.sum()))

    def fit(self, counts: Ints, survey: WeightedReports | None, level: float, where: str = "") -> Estimate:
        """The estimate from these counts, or from the weighted shares of a survey."""
        self.check(counts, where)
        reports = ReportCounts(self.outputs, counts)
        f = counts / reports.total if survey is None else survey.report_shares
        mechanism, channel = self._together(f)
        shares: Floats
        gap: float | None
        if self.method == "inverse":
            shares, gap = channel.inverse(f), None
        else:
            seen = counts if survey is None else f * reports.total
            fit = maximize(mechanism.matrix, seen, channel.expected, self.strength)
            shares, gap = fit.theta, fit.gap * reports.total
        shares.setflags(write=False)
        parts = (reports.counts[own] for own in self.parts)
        stages = tuple(map(StageReports, self.channels, parts))
        return Estimate(
            mechanism,
            self.expected,
            reports,
            level,
            self.method,
            shares,
            gap,
            channel,
            stages,
            self.intervals,
            survey,
        )

    def _together(self, f: Floats) -> tuple[Mechanism, Channel]:
        """The mechanism that draws the stage, as often as people were in it, and then a report."""
        if not self.several:
            return self.matrices[0], self.channels[0]
        shares = np.array([f[own].sum() for own in self.parts])
        mechanism = stacked(self.matrices, shares, self.outputs)
        expected = self.expected.probabilities
        if self.method != "inverse":
            return mechanism, Channel(mechanism.matrix, expected)
        for number, channel in enumerate(self.channels, start=1):
            if channel.rank < len(expected):
                raise MechanismError(
                    'method "inverse" must have mechanisms that tell all answers apart',
                    given=f"one that does not in pair {number}",
                    remedy="use maximum likelihood, for which all reports together count",
                )
        return mechanism, SeparateStages(mechanism.matrix, expected, tuple(self.channels))


def check_same_answers(matrix: Mechanism, first: Mechanism) -> None:
    """Refuse a mechanism that is not of the same answers as the first one."""
    if matrix.inputs != first.inputs:
        raise MechanismError(
            "must be of the same answers in the same order as the first",
            parameter="mechanism",
            given=shorten(matrix.inputs),
            remedy=f"design it for {shorten(first.inputs)}",
        )


def stacked(matrices: Sequence[Mechanism], people: Floats, outputs: Labels | None = None) -> Mechanism:
    """The mechanism that draws one of several, as often as people answered with it, and then its report.

    Parameters
    ----------
    matrices
        The mechanisms, of the same inputs.
    people
        How many answered with each; shares will do.
    outputs
        Labels of all reports; numbers if None.
    """
    shares = people / people.sum()
    blocks = [share * each.matrix for share, each in zip(shares, matrices, strict=True)]
    return Mechanism(np.concatenate(blocks, axis=1), matrices[0].inputs, outputs)


@contextmanager
def named_pair(number: int | None) -> Iterator[None]:
    """Errors say in which pair they are, if there are several.

    Parameters
    ----------
    number
        Of the pair, from 1; None where there is one mechanism.
    """
    try:
        yield
    except ExtremalError as error:
        if number is None:
            raise
        raise error.within(f"pair {number}: ", type(error)) from None


def _counts(matrix: Mechanism, reports: Any, column: Any) -> Ints:
    counted = isinstance(reports, Mapping | ReportCounts) or not hasattr(type(reports), "columns")
    if counted and column is None:
        return np.asarray(count_reports(matrix, reports).counts)
    return np.bincount(_read(matrix, reports, column)[0], minlength=matrix.shape[1])


def _read(
    matrix: Mechanism, reports: Any, column: Any, by: Any = None, sample: SampleDesign | None = None
) -> tuple[Ints, NamedColumns | None]:
    """The number of each report, and what stands beside it; refuses a mechanism that did not draw the reports."""
    table = table_of(reports, column, by, sample)
    own = table.drawn.get(column, matrix) if table is not None and isinstance(column, str) else matrix
    same = (own.inputs, own.outputs) == (matrix.inputs, matrix.outputs)
    if not same or not np.array_equal(own.matrix, matrix.matrix):
        raise MechanismError(
            f"must be that of the question {column!r}, which is stored beside its reports",
            parameter="mechanism",
            given="another",
            remedy="load the survey's own mechanism file",
        )
    return codes_of(matrix.outputs, reports, table, column), table


def _check_weights(squares: Floats, groups: Labels) -> None:
    nothing = squares.sum(axis=1) == 0  # weights are in units of the largest
    if nothing.any():
        empty = [group for group, none in zip(groups, nothing, strict=True) if none]
        raise ValuesError(
            "must not all be 0 in a group",
            parameter="weights",
            given=f"next to none in {shorten(empty, 3)}",
            remedy="leave these people out",
        )


def _uniform(matrix: Mechanism) -> Prior:
    if matrix.shape[0] < 2:
        raise MechanismError(
            "must have at least 2 inputs",
            parameter="mechanism",
            given="1: there is nothing to estimate",
        )
    return Prior.uniform(matrix.inputs)


def check_total(total: int) -> None:
    """Refuse no reports, and more than doubles can count."""
    if total == 0:
        raise ValuesError(
            "must not be empty: there is nothing to estimate from",
            parameter="reports",
            remedy="give some reports",
        )
    if total >= MOST_COUNTED:
        raise ValuesError(
            "must be fewer than 2^53 to be estimated from",
            parameter="reports",
            given=f"{total}: doubles cannot tell more apart",
            remedy="check the counts",
        )


def _check_possible(matrix: Mechanism, counts: Ints, where: str) -> None:
    never = (matrix.matrix.max(axis=0) == 0) & (counts > 0)
    if never.any():
        k = int(np.argmax(never))
        raise MechanismError(
            f"{where[4:] + ' ' if where else ''}must be possible under the mechanism",
            parameter="reports",
            given=f"{counts[k]} of {matrix.outputs[k]!r}, which no input gives",
            remedy="load the mechanism that made these reports",
        )
