"""Shares of answers from reports, with intervals that hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Floats
from .._common.words import shorten
from ..certification.certified import Certified, as_estimable
from ..errors import MechanismError, OptionError, ValuesError
from ..model.labels import Labels
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior, check_prior
from .contrasts import Channel
from .counts import ReportCounts, count_reports, reference_prior
from .grouped import GroupedEstimate
from .intervals import MOST_COUNTED
from .likelihood import maximize
from .promise import EVERY, check_kind
from .result import Estimate
from .sample import NamedColumns, counts_in, gather, table_of
from .survey import SampleDesign, WeightedReports, check_sample, survey_totals

METHODS = ("maximum-likelihood", "inverse", "map")


@overload
def estimate(
    mechanism: Certified | Mechanism,
    reports: Any,
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
    mechanism: Certified | Mechanism,
    reports: Any,
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
    mechanism: Certified | Mechanism,
    reports: Any,
    confidence: float = 0.95,
    by: Any = None,
    intervals: str = "each",
    *,
    column: Any = None,
    sample: SampleDesign | None = None,
    method: str | Method = "maximum-likelihood",
) -> Estimate | GroupedEstimate:
    """The share of each answer with its interval, for everybody or for each group.

    Parameters
    ----------
    mechanism
        The certified mechanism that made the reports, or its matrix. If it is in blocks, as for large alphabets, the
        shares are those of the blocks: reports say nothing about which symbol of a block it was.
    reports
        A list, numpy array, pandas or polars Series or arrow array of output labels; a mapping label -> count or
        ReportCounts gathered from a stream; or a frame, the path of a CSV or Parquet file, or the store of a survey
        (an SQLite file or postgresql://…), with `column`. Labels may be text where the mechanism has integers, as
        after a round trip through a CSV file, and the other way round.
    confidence
        Of the intervals.
    by
        A group for each person, a column, its name or several names: an estimate for every group, in one table. The
        result is then a GroupedEstimate.
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
        (generalised) inverse of the mechanism; unbiased, can be negative. "map": the mode of the posterior. A Method
        also says which shares are expected.

    Returns
    -------
    Estimate or GroupedEstimate
        Shares, intervals and standard errors; with `by`, for each group.

    Notes
    -----
    How intervals are made, and why they hold, is told in module intervals, and in approximate for ordinary ones. For
    maximum likelihood and "map" an interval is extended to hold its estimate.

    Examples
    --------
    >>> import extremal as ex
    >>> response = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    >>> ex.estimate(response, {"no": 60, "yes": 40}).shares.round(3).tolist()
    [0.7, 0.3]
    """
    how = _How(mechanism, confidence, intervals, method)
    sample = check_sample(sample)
    beside = by is not None or sample is not None
    if beside and how.intervals == "always":
        raise OptionError(
            'must be "each" or "all" with groups, weights, strata or clusters',
            parameter="intervals",
            given="'always'",
            remedy="leave it out",
        )
    counted = isinstance(reports, Mapping | ReportCounts) or not hasattr(type(reports), "columns")
    if not beside and counted and column is None:
        return how.fit(count_reports(mechanism, reports), None, how.confidence)
    table = table_of(reports, column, by, sample)
    _check_drawn(how.matrix, table, column)
    people = gather(how.matrix.outputs, reports if table is None else table, column, by, sample)
    size = how.matrix.shape[1]
    blocks = max(len(people.group_labels), 1)
    groups = np.zeros_like(people.codes) if people.groups is None else people.groups
    cells = groups * size + people.codes
    if len(cells) == 0:
        _check_counts(how.matrix, counts_in(cells, how.matrix.outputs))
    totals = None if people.design is None else survey_totals(cells, blocks, size, people.design)
    if totals is not None:
        _check_weights(totals.squares.reshape(blocks, size), people.group_labels)
    # The error is divided over the groups, so that the intervals of the whole table hold together.
    level = how.confidence if intervals == "each" else 1 - (1 - how.confidence) / blocks
    counts = np.bincount(cells, minlength=blocks * size).reshape(blocks, size)
    found = tuple(
        how.fit(
            ReportCounts(how.matrix.outputs, counts[k]),
            None if totals is None else totals.of_block(k, size),
            level,
            "" if people.groups is None else f" of group {people.group_labels[k]!r}",
        )
        for k in range(blocks)
    )
    if people.groups is None:
        return found[0]
    return GroupedEstimate(people.by, people.group_labels, found, how.confidence, intervals, totals)


@dataclass(frozen=True)
class Method:
    """How shares are found from reports, and which are expected.

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

    Examples
    --------
    >>> Method("map", strength=20).strength
    20
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
    """How to estimate: the options, checked once for all groups."""

    def __init__(self, mechanism: Any, confidence: Any, intervals: Any, method: Any) -> None:
        self.matrix = as_estimable(mechanism)
        self.confidence = checks.confidence(confidence)
        chosen = method if isinstance(method, Method) else Method(method)
        self.method = chosen.name
        self.intervals = check_kind(intervals, EVERY)
        expected = reference_prior(mechanism, chosen.prior)
        if expected is None and self.method == "map":
            raise OptionError(
                'method "map" must have a prior',
                given="a plain mechanism",
                remedy='give `method=ex.Method("map", prior)`, or a certified mechanism',
            )
        self.expected = _uniform(self.matrix) if expected is None else expected
        check_match(self.expected, self.matrix)
        self.strength = 0.0 if self.method != "map" else chosen.strength or float(self.expected.size)
        self.channel = Channel(self.matrix.matrix, self.expected.probabilities)

    def fit(
        self, counts: ReportCounts, survey: WeightedReports | None, level: float, where: str = ""
    ) -> Estimate:
        """The estimate from these counts, or from the weighted shares of a survey."""
        _check_counts(self.matrix, counts, where)
        f = counts.counts / counts.total if survey is None else survey.report_shares
        shares: Floats
        gap: float | None
        if self.method == "inverse":
            shares, gap = self.channel.inverse(f), None
        else:
            seen = counts.counts if survey is None else f * counts.total
            fit = maximize(self.matrix.matrix, seen, self.channel.expected, self.strength)
            shares, gap = fit.theta, fit.gap * counts.total
        shares.setflags(write=False)
        return Estimate(
            self.matrix,
            self.expected,
            counts,
            level,
            self.method,
            shares,
            gap,
            self.channel,
            self.intervals,
            survey,
        )


def _check_drawn(matrix: Mechanism, table: NamedColumns | None, column: Any) -> None:
    """Refuse a mechanism that is not the one a survey drew these reports with."""
    own = table.drawn.get(column, matrix) if table is not None and isinstance(column, str) else matrix
    same = (own.inputs, own.outputs) == (matrix.inputs, matrix.outputs)
    if not same or not np.array_equal(own.matrix, matrix.matrix):
        raise MechanismError(
            f"must be that of the question {column!r}, which is stored beside its reports",
            parameter="mechanism",
            given="another",
            remedy="load the survey's own mechanism file",
        )


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


def _check_counts(matrix: Mechanism, counts: ReportCounts, where: str = "") -> None:
    if counts.total == 0:
        raise ValuesError(
            "must not be empty: there is nothing to estimate from",
            parameter="reports",
            remedy="give some reports",
        )
    if counts.total >= MOST_COUNTED:
        raise ValuesError(
            "must be fewer than 2^53 to be estimated from",
            parameter="reports",
            given=f"{counts.total}: doubles cannot tell more apart",
            remedy="check the counts",
        )
    never = (matrix.matrix.max(axis=0) == 0) & (counts.counts > 0)
    if never.any():
        k = int(np.argmax(never))
        raise MechanismError(
            f"{where[4:] + ' ' if where else ''}must be possible under the mechanism",
            parameter="reports",
            given=f"{counts.counts[k]} of {matrix.outputs[k]!r}, which no input gives",
            remedy="load the mechanism that made these reports",
        )
