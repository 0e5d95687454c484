"""Estimate: shares of the answers, and what the reports say about how far off they can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._confidence import check_confidence
from .._threads import one_thread
from .._types import Floats
from .._words import counted
from ..errors import ValuesError
from ..model.labels import Labels, shorten
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from .approximate import is_sum, score_intervals, two_sided_quantile, wald_intervals
from .contrasts import Channel, each_symbol
from .counts import ReportCounts
from .difference import difference
from .interval_table import IntervalTable
from .intervals import Bounds, target_intervals, within_simplex
from .misfit import MISFIT, misfit
from .promise import Promise
from .share_polytope import narrowed
from .survey import WeightedReports
from .tabled import Tabled, source
from .targets import score_target, statements, target_of


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Tabled):
    """The estimated share of each answer, and how far off it can be.

    `gap` bounds how much larger the log-likelihood (of all reports, in nats) could be; it is None for the
    inverse, which maximises nothing. `survey` has the weighted shares of the reports and their covariance where there
    are weights, strata or clusters. Intervals, standard errors and the like are computed when they are asked for.

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
    intervals
        "each" or "all".
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
    intervals: str = "each"
    survey: WeightedReports | None = None

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
        """How common each output is among the reports, weighted if there are weights; not an estimate of answers."""
        if self.survey is not None:
            return self.survey.report_shares
        return np.asarray(self.counts.counts / self.reports)

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
        return self._standard_errors(each_symbol(len(self.labels)))

    @cached_property
    def covariance(self) -> Floats:
        """Of the estimated shares, for those that are identified."""
        return self._covariance(each_symbol(len(self.labels)))

    @cached_property
    def design_effects(self) -> Floats | None:
        """Variance over that of as many equally weighted people drawn one by one; None without a survey's design."""
        return None if self.survey is None else self._design_effects(each_symbol(len(self.labels)))

    @cached_property
    @one_thread
    def identified(self) -> NDArray[np.bool_]:
        """For each symbol, whether the distribution of reports determines its share."""
        return self.channel.identified(each_symbol(len(self.labels)))

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

    @cached_property
    @one_thread
    def misfit(self) -> float:
        """A bound on the probability of reports that fit as badly as these, whatever the true shares are.

        Near 0, these reports were not made by this mechanism.
        """
        return misfit(self.mechanism.matrix, self.counts.counts, self.channel)

    @property
    def promise(self) -> Promise:
        """What the intervals hold with."""
        exact = self.intervals == "all" and self.survey is None
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
        if not isinstance(groups, Mapping) or not groups:
            raise ValuesError(
                "must be a mapping name -> labels",
                parameter="groups",
                given=repr(groups)[:80],
                remedy='e.g. {"ever": ["once", "often"]}',
            )
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
        if not isinstance(other, Estimate):
            raise ValuesError(
                "a difference must be of two estimates",
                given=repr(other)[:80],
                remedy="make each with estimate(...)",
            )
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
        level = self.confidence if confidence is None else check_confidence(confidence)
        values = targets @ self.shares
        return IntervalTable(
            f"{title} {self._source}",
            names,
            values,
            *_around(self.bounds(targets, 1 - level), values, self.method),
            self._standard_errors(targets),
            self.channel.identified(targets),
            Promise(level, self.intervals, self.promise.exact, self.promise.weighted),
            None if self.survey is None else self._design_effects(targets),
        )

    @one_thread
    def bounds(self, targets: Floats, error: float) -> Bounds:
        """Intervals for the targets: all wrong together, or each wrong, with probability at most `error`.

        Parameters
        ----------
        targets
            A row of coefficients for each figure.
        error
            The probability of a wrong interval that is allowed.
        """
        if self.promise.exact:
            return target_intervals(self.channel, self.counts.counts, targets, error)
        share = error / statements(targets) if self.intervals == "all" else error
        known = self.channel.identified(targets)
        lower, upper = np.empty(len(targets)), np.empty(len(targets))
        if not known.all():
            lower[~known], upper[~known] = self._possible(targets[~known], share)
        quantile = two_sided_quantile(share, None if self.survey is None else self.survey.degrees)
        W = self.linear(targets)
        sums = known & is_sum(targets) if self.survey is None else np.zeros(len(targets), dtype=bool)
        rest = known & ~sums
        lower[rest], upper[rest] = wald_intervals(
            targets[rest], W[rest] @ self.report_shares, self._standard_errors(targets[rest]), quantile
        )
        theta = np.maximum(self.shares, 0.0)
        lower[sums], upper[sums] = score_intervals(
            targets[sums],
            W[sums],
            self.mechanism.matrix,
            self.report_shares,
            theta / theta.sum(),
            self.channel.expected,
            self.reports,
            quantile,
        )
        return Bounds(lower, upper)

    @one_thread
    def linear(self, targets: Floats) -> Floats:
        """Weights of the outputs whose mean over the reports is the estimate of each target, to first order.

        Parameters
        ----------
        targets
            A row of coefficients for each figure.
        """
        if self.method == "inverse":
            return self.channel.weights(targets)
        # Shares of 0 have no place in a channel; the expected ones, as one report, keep them away from it.
        start = np.maximum(self.shares, 0.0) * self.reports + self.prior.probabilities
        return Channel(self.mechanism.matrix, start / start.sum()).weights(targets)

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
        found = []
        if self.gap is not None:
            what = "posterior density" if self.method == "map" else "likelihood"
            found.append(
                f"the logarithm of the {what} is within {max(self.gap, 1e-6):.0e} nats of its maximum"
            )
        if self.survey is not None and self.survey.degrees <= 0:
            found.append("all people are in one cluster of each stratum: there is no standard error")
        elif self.survey is not None and (self.standard_errors == 0).any():
            found.append(
                "WARNING: reports do not vary between people or clusters, so that intervals have no width and say "
                "nothing; estimate without weights, strata and clusters, or ask more people"
            )
        found += [
            f"not identified: the mechanism cannot tell {shorten(group)} apart completely, only their sum; "
            "their intervals hold what the reports leave possible"
            for group in self.indistinguishable
        ]
        if self.misfit < MISFIT:
            found.append(
                "WARNING: no shares explain these reports (probability "
                f"{self.misfit:.1e} or less); were they made by this mechanism?"
            )
        return found

    def __repr__(self) -> str:
        # Without the intervals: they can take seconds where much is not identified.
        return f"Estimate({len(self.labels)} shares {self._source})"

    @property
    def _source(self) -> str:
        return source(self.reports, self.method, self.survey)

    @cached_property
    def _bounds(self) -> Bounds:
        bounds = self.bounds(each_symbol(len(self.labels)), 1 - self.confidence)
        if self.promise.exact:
            bounds = within_simplex(bounds)
        lower, upper = _around(bounds, self.shares, self.method)
        lower.setflags(write=False)
        upper.setflags(write=False)
        return Bounds(lower, upper)

    @one_thread
    def _covariance(self, targets: Floats) -> Floats:
        W = self.linear(targets)
        if self.survey is not None:
            return np.asarray(W @ self.survey.covariance @ W.T)
        return _sampling(W, self._expected_report_shares) / self.reports

    @one_thread
    def _standard_errors(self, targets: Floats) -> Floats:
        W = self.linear(targets)
        if self.survey is not None:
            variance = np.einsum("ij,jk,ik->i", W, self.survey.covariance, W, optimize=True)
        else:
            q = self._expected_report_shares
            variance = ((W * W) @ q - (W @ q) ** 2) / self.reports
        known = self.channel.identified(targets) & (self.survey is None or self.survey.degrees > 0)
        return np.where(known, np.sqrt(np.maximum(variance, 0.0)), np.inf)

    @property
    def _expected_report_shares(self) -> Floats:
        if self.method == "inverse":
            return self.report_shares
        return np.asarray(self.shares @ self.mechanism.matrix)

    @one_thread
    def _design_effects(self, targets: Floats) -> Floats:
        W, f = self.linear(targets), self.report_shares
        simple = np.maximum((W * W) @ f - (W @ f) ** 2, 0.0) / max(self.reports - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(simple > 0, self._standard_errors(targets) ** 2 / simple, np.nan))

    def _possible(self, targets: Floats, error: float) -> Bounds:
        """What the reports leave possible of targets that they do not identify."""
        low, high = targets.min(axis=1), targets.max(axis=1)
        if self.survey is None:
            return target_intervals(self.channel, self.counts.counts, targets, error * statements(targets))
        quantile = two_sided_quantile(error / len(self.report_shares), self.survey.degrees)
        away = quantile * np.sqrt(np.maximum(np.diag(self.survey.covariance), 0.0))
        box = np.maximum(self.report_shares - away, 0.0), np.minimum(self.report_shares + away, 1.0)
        return Bounds(*narrowed(self.mechanism.matrix.T, *box, targets, low, high))


def _sampling(W: Floats, q: Floats) -> Floats:
    """The covariance of weights of one report."""
    mean = W @ q
    return np.asarray((W * q) @ W.T - np.multiply.outer(mean, mean))


def _around(bounds: Bounds, values: Floats, method: str) -> Bounds:
    """Intervals that hold their estimates, unless these may lie outside of what is possible."""
    if method == "inverse":
        return bounds
    return Bounds(np.minimum(bounds.lower, values), np.maximum(bounds.upper, values))
