"""Estimate: shares of the answers, and what the reports say about how far off they can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Floats
from .._common.words import counted, shorten
from ..errors import ValuesError
from ..model.labels import Labels
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from .betting import StageReports
from .contrasts import (
    MOST_SYMBOLS,
    Channel,
    Scaled,
    each_symbol,
    score_target,
    target_of,
)
from .counts import ReportCounts
from .differences import difference
from .equality import EqualityTest, equality_test
from .interval_table import IntervalTable, Tabled, source
from .intervals import Ends, within_simplex
from .likelihood import misfit, unexplained
from .promise import Promise
from .sample import WeightedReports
from .uncertainty import Uncertainty


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Tabled):
    """The estimated share of each answer, and how far off it can be.

    `gap` bounds how much larger the log-likelihood (of all reports, in nats) could be; it is None for the
    inverse, which maximises nothing. `survey` has the weighted shares of the reports and their covariance where there
    are weights, strata or clusters. Intervals, standard errors and the like are computed when they are asked for.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> reports = certified.privatize(
    ...     ["never", "never", "once", "often"] * 50, source=ex.randomness.SeededWords(1)
    ... )
    >>> found = ex.estimate(certified, reports)
    >>> found.reports, round(float(found.shares.sum()), 6)
    (200, 1.0)
    >>> bool((found.lower <= found.shares).all())
    True

    Attributes
    ----------
    mechanism
        The mechanism that made the reports.
    prior
        The shares that were expected.
    counts
        How often each report came.
    confidence
        The confidence level of the intervals.
    method
        How the shares were estimated.
    shares
        The estimated share of each answer.
    gap
        The most by which the log-likelihood could be larger; None for the inverse.
    channel
        The mechanism in the form that intervals are computed from.
    stages
        The reports of the people of each mechanism: one, unless pairs were given. Then `mechanism`, `counts` and
        `channel` are those of all stages, whose outputs are pairs of the number of a stage and a report.
    intervals
        "each", "all" or "always".
    survey
        Weighted shares of the reports and their covariance, if there were weights, strata or clusters.
    """

    mechanism: Mechanism
    prior: Prior  # the shares that were expected; uniform if nobody said
    counts: ReportCounts
    confidence: float
    method: str
    shares: Floats
    gap: float | None
    channel: Channel = field(repr=False)
    stages: tuple[StageReports, ...] = field(repr=False)
    intervals: str
    survey: WeightedReports | None

    @property
    def labels(self) -> Labels:
        """The input labels, in the order of the shares."""
        return self.mechanism.inputs

    @property
    def reports(self) -> int:
        """How many reports there were."""
        return self.counts.total

    @property
    def report_shares(self) -> Floats:
        """How often each report came in, weighted if there are weights. Not the estimate."""
        return self.uncertainty.report_shares

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """What errors of combinations of shares are computed from."""
        fixed = self.method == "inverse"
        return Uncertainty(
            self.mechanism.matrix,
            self.counts.counts,
            self.shares,
            fixed,
            self.channel,
            self.stages,
            self.survey,
        )

    @property
    def lower(self) -> Floats:
        """Lower ends of the intervals."""
        return self._bounds.lower

    @property
    def upper(self) -> Floats:
        """Upper ends of the intervals."""
        return self._bounds.upper

    @cached_property
    def standard_errors(self) -> Floats:
        """Of the estimated shares: the mechanism's noise and that of the sample; infinite if not identified.

        With weights, strata or clusters they are linearised (sandwich) standard errors.
        """
        return self.uncertainty.standard_errors(self._symbols)

    @cached_property
    def covariance(self) -> Floats:
        """Of the estimated shares, for those that are identified."""
        return self.uncertainty.covariance(self._symbols)

    @cached_property
    def design_effects(self) -> Floats | None:
        """Variance over that of as many equally weighted people drawn one by one; None without a survey's design."""
        return self.uncertainty.design_effects(self._symbols)

    @cached_property
    @one_thread
    def identified(self) -> NDArray[np.bool_]:
        """For each symbol, whether the distribution of reports determines its share."""
        return self.channel.identified(self._symbols)

    @property
    def indistinguishable(self) -> list[list[Any]]:
        """Groups of symbols that the reports cannot tell apart completely; the sum over each is identified."""
        return [[self.labels[i] for i in group] for group in self.channel.components()]

    @one_thread
    def identifies(self, coefficients: Mapping[Any, float] | Iterable[Any]) -> bool:
        """Whether a combination of shares, label -> coefficient or labels to sum over, is determined.

        Parameters
        ----------
        coefficients
            A mapping label -> coefficient, or labels to sum over.
        """
        return bool(self.channel.identified(target_of(self.labels, coefficients)[None])[0])

    @property
    def misfit(self) -> float:
        """A bound on the probability of reports that fit as badly as these, whatever the true shares are.

        Near 0, these reports were not made by this mechanism.
        """
        return min(len(self._misfits) * min(self._misfits.values()), 1.0)

    @cached_property
    @one_thread
    def _misfits(self) -> dict[int, float]:
        """The same of each stage with reports, by number."""
        known = self.method == "maximum-likelihood" and self.survey is None and len(self.stages) == 1
        best = self.shares if known else None
        return {
            number: misfit(stage.channel.P, stage.counts, stage.channel, best)
            for number, stage in enumerate(self.stages, start=1)
            if stage.people
        }

    @property
    def warning(self) -> str:
        """What is wrong with these reports, if they do not fit the mechanism; else empty."""
        if len(self.labels) > MOST_SYMBOLS:
            return ""
        number, least = min(self._misfits.items(), key=lambda item: item[1])
        return unexplained(
            least, "these reports" if len(self.stages) == 1 else f"the reports of stage {number}"
        )

    @cached_property
    def drift(self) -> EqualityTest | None:
        """Whether shares differ between the stages; None where there is one mechanism."""
        return equality_test((self,), self.survey, "stages") if len(self.stages) > 1 else None

    @property
    def promise(self) -> Promise:
        """What the intervals hold with."""
        exact = self.intervals != "each" and self.survey is None
        return Promise(self.confidence, self.intervals, exact, self.survey is not None)

    @cached_property
    def table(self) -> IntervalTable:
        """Shares, intervals and standard errors, for printing and plotting."""
        return IntervalTable(
            f"{len(self.labels)} shares {self._source}",
            self.labels,
            self.shares,
            self.lower,
            self.upper,
            self.standard_errors,
            self.identified,
            self.promise,
            self.design_effects,
            warning=self.warning,
        )

    def group(self, groups: Any, confidence: float | None = None) -> IntervalTable:
        """Sums over groups of symbols, with intervals of their own, which hold together for all groups or each.

        A group is its labels, or a mapping label -> coefficient for any other linear combination. The intervals
        are as a rule narrower than sums of the symbols' intervals, but not always: the error allowed is divided over
        the groups asked for, and an interval of a symbol also knows that shares sum to 1.

        Parameters
        ----------
        groups
            A mapping name -> labels, or name -> {label: coefficient}.
        confidence
            The confidence level; that of the estimate if None.
        """
        remedy = 'e.g. {"ever": ["once", "often"]}'
        checks.mapping(groups, "groups", "name -> labels", remedy=remedy, error=ValuesError)
        targets = np.array([target_of(self.labels, members) for members in groups.values()])
        return self.combinations(counted(len(groups), "group"), tuple(groups), targets, confidence)

    def difference(self, other: Estimate, confidence: float | None = None) -> IntervalTable:
        """These shares minus those of another estimate, with intervals of their own, of the kind that both have.

        The two collections must be of different people. The difference of two means of weights is a sum of independent
        bounded variables, so the inequality behind the other intervals applies to it as a whole. As a rule
        that is narrower than subtracting intervals, but not where one collection is much larger, or both are small.
        Ordinary intervals, and those with weights, are the difference plus and minus a multiple of its standard error.

        Parameters
        ----------
        other
            The estimate to subtract, from other people.
        confidence
            The confidence level; that of the estimate if None.
        """
        remedy = "make each with estimate(...)"
        checks.instance(other, "other", Estimate, "an Estimate", remedy=remedy, error=ValuesError)
        return difference(self, other, confidence)

    def mean(self, scores: Any = None, confidence: float | None = None) -> IntervalTable:
        """The mean of scores, label -> number or in the order of the labels; of the labels if they are numbers.

        Parameters
        ----------
        scores
            A number for each label; the labels themselves if None.
        confidence
            The confidence level; that of the estimate if None.
        """
        target = score_target(self.labels, scores)
        return self.combinations("mean of scores", ("mean",), target[None], confidence)

    @one_thread
    def combinations(
        self, title: str, names: Labels, targets: Floats, confidence: float | None = None
    ) -> IntervalTable:
        """Linear combinations of the shares, a row of coefficients each, with intervals of their own.

        Parameters
        ----------
        title
            The title of the table.
        names
            A name for each row.
        targets
            A row of coefficients for each combination.
        confidence
            The confidence level; that of the estimate if None.
        """
        level = self.confidence if confidence is None else checks.confidence(confidence)
        scaled = Scaled.of(targets)
        return IntervalTable(
            f"{title} {self._source}",
            names,
            scaled.values(scaled.unit @ self.shares),
            *self.bounds(targets, 1 - level),
            self.uncertainty.standard_errors(targets),
            self.channel.identified(targets),
            replace(self.promise, confidence=level),
            self.uncertainty.design_effects(targets),
            warning=self.warning,
        )

    @one_thread
    def bounds(self, targets: Floats, error: float) -> Ends:
        """Intervals for the targets: all wrong together, or each wrong, with probability at most `error`.

        Each holds its estimate, moved into what is possible, and is no narrower than its standard error.

        Parameters
        ----------
        targets
            A row of coefficients for each figure.
        error
            The probability of a wrong interval that is allowed.
        """
        return self.uncertainty.bounds(targets, error, self.intervals)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are."""
        found = {
            **self.table.to_dict(),
            "method": self.method,
            "reports": self.reports,
            "log_likelihood_gap": self.gap,
            "misfit": self.misfit,
            "indistinguishable": self.indistinguishable,
        }
        if self.drift is not None:
            found["stages"] = [stage.people for stage in self.stages]
            found["drift"] = self.drift.to_dict()
        if self.survey is not None:
            found["survey"] = {
                "uses": self.survey.words,
                "total_weight": self.survey.total,
                "effective_reports": self.survey.effective,
                "degrees_of_freedom": self.survey.degrees,
            }
        return found

    def notes(self) -> list[str]:
        """What a reader of the figures must know, in words."""
        return [self.table.note, *self.other_notes()]

    def other_notes(self) -> list[str]:
        """The notes that are not about the intervals."""
        found = [self.warning] if self.warning else []
        if self.gap is not None:
            what = "posterior density" if self.method == "map" else "likelihood"
            found.append(
                f"the logarithm of the {what} is within {max(self.gap, 1e-6):.0e} nats of its maximum"
            )
        if self.survey is not None and self.survey.degrees <= 0:
            found.append("all people are in one cluster of each stratum: there is no standard error")
        elif self.survey is not None and not self.survey.covariance.any():
            found.append(
                "WARNING: reports do not vary between people or clusters, so that weights, strata and clusters say "
                "nothing about errors; standard errors and intervals are those of so many reports without them"
            )
        if self.drift is not None:
            found += [*self._uncounted(), str(self.drift)]
        found += [
            f"not identified: the mechanism cannot tell {shorten(group)} apart completely, only their sum; "
            "their intervals hold what the reports leave possible"
            for group in self.indistinguishable
        ]
        return found

    def _uncounted(self) -> list[str]:
        """Which stages say nothing in intervals that hold at every look."""
        silent = [
            str(k)
            for k, stage in enumerate(self.stages, 1)
            if not stage.channel.identified(self._symbols).all()
        ]
        if self.intervals != "always" or not silent:
            return []
        return [
            f"intervals leave out reports where a stage alone does not tell the share: stage {', '.join(silent)}"
        ]

    def __repr__(self) -> str:
        # Without the intervals: they can take seconds where much is not identified.
        return f"Estimate({len(self.labels)} shares {self._source})"

    @property
    def _symbols(self) -> Floats:
        return each_symbol(len(self.labels))

    @property
    def _source(self) -> str:
        return source(self.reports, self.method, self.survey, len(self.stages))

    @cached_property
    @one_thread
    def _bounds(self) -> Ends:
        symbols = self._symbols
        bounds = self.uncertainty.unit_bounds(symbols, 1 - self.confidence, self.intervals)
        if self.promise.exact:
            bounds = within_simplex(bounds)
        found = self.uncertainty.covering(symbols, bounds)
        for ends in found:
            ends.setflags(write=False)
        return found
