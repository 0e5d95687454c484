"""Input frequencies from reports, with intervals that hold."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._confidence import check_confidence
from .._html import html_table
from .._types import Floats
from ..certification.certify import Certified, as_mechanism
from ..errors import MechanismError, OptionError, ValuesError
from ..model.labels import Labels, shorten
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior
from .binomial import MOST_COUNTED
from .contrasts import Channel, each_symbol
from .counts import ReportCounts, count_reports, reference_prior
from .interval_table import IntervalTable
from .intervals import Bounds, target_intervals, within_simplex
from .likelihood import Fit, maximize

if TYPE_CHECKING:
    from matplotlib.axes import Axes


METHODS = ("maximum-likelihood", "inverse", "map")
MISFIT = 1e-3  # reports less likely than this under every input distribution are pointed out


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Frequencies of the inputs, and what the reports say about how far off they can be.

    `gap` bounds how much larger the log-likelihood (of all reports, in nats) could be; it is None for the
    inverse, which maximises nothing. Intervals, standard errors and the like are computed when they are asked for.
    """

    mechanism: Mechanism
    prior: Prior  # the frequencies that were expected; uniform if nobody said
    counts: ReportCounts
    confidence: float
    method: str
    frequencies: Floats
    gap: float | None
    channel: Channel = field(repr=False)

    @property
    def labels(self) -> Labels:
        """The input labels, in the order of the frequencies."""
        return self.mechanism.inputs

    @property
    def reports(self) -> int:
        """How many reports there were."""
        return self.counts.total

    @property
    def lower(self) -> Floats:
        """Lower ends of the simultaneous intervals."""
        return self._bounds.lower

    @property
    def upper(self) -> Floats:
        """Upper ends of the simultaneous intervals."""
        return self._bounds.upper

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard deviations of the best unbiased estimate at these frequencies; infinite if not identified."""
        return self._standard_errors(each_symbol(len(self.labels)))

    @cached_property
    def identified(self) -> NDArray[np.bool_]:
        """For each symbol, whether the distribution of reports determines its frequency."""
        return self.channel.identified(each_symbol(len(self.labels)))

    @property
    def indistinguishable(self) -> list[list[Any]]:
        """Groups of symbols that the reports cannot tell apart completely; the sum over each is identified."""
        return [[self.labels[i] for i in group] for group in self.channel.components()]

    def identifies(self, coefficients: Mapping[Any, float] | Iterable[Any]) -> bool:
        """Whether a combination of frequencies, label -> coefficient or labels to sum over, is determined."""
        return bool(self.channel.identified(self._target(coefficients)[None])[0])

    @cached_property
    def misfit(self) -> float:
        """A bound on the probability of reports that fit as badly as these, whatever the input frequencies are.

        P[KL(shares, probabilities) >= x] <= e^(-nx) (e n x / (k - 1))^(k - 1) for k outputs (Agrawal, 2020). Near 0,
        these reports were not made by this mechanism.
        """
        fit = _maximum(self.mechanism, self.counts, self.channel, 0.0)
        counts, k = self.counts.counts, int(self.channel.possible.sum())
        seen = counts > 0
        q = (fit.theta @ self.mechanism.matrix)[seen]
        c = counts[seen].astype(np.float64)
        x = float(c @ np.log(c / self.reports / q))
        if k < 2 or x <= k - 1:
            return 1.0
        return math.exp(min(0.0, -x + (k - 1) * (1 + math.log(x / (k - 1)))))

    @cached_property
    def table(self) -> IntervalTable:
        """Frequencies, intervals and standard errors, for printing and plotting."""
        return IntervalTable(
            f"{len(self.labels)} frequencies from {self.reports} reports by {self.method}",
            self.labels,
            self.frequencies,
            self.lower,
            self.upper,
            self.standard_errors,
            self.identified,
            self.confidence,
        )

    def group(
        self,
        groups: Any,
        confidence: float | None = None,
    ) -> IntervalTable:
        """Sums over groups of symbols, with intervals of their own that hold together for all groups.

        A group is its labels, or a mapping label -> coefficient for any other linear combination. The intervals
        are as a rule narrower than sums of the symbols' intervals, but not always: the error allowed is divided over
        the groups asked for, and an interval of a symbol also knows that frequencies sum to 1.
        """
        if not isinstance(groups, Mapping) or not groups:
            raise ValuesError(
                "must be a mapping name -> labels",
                parameter="groups",
                given=repr(groups)[:80],
                remedy='e.g. {"ever": ["once", "often"]}',
            )
        level = self.confidence if confidence is None else check_confidence(confidence)
        targets = np.array([self._target(members) for members in groups.values()])
        bounds = target_intervals(self.channel, self.counts.counts, targets, 1 - level)
        values = targets @ self.frequencies
        return IntervalTable(
            f"{len(groups)} {'group' if len(groups) == 1 else 'groups'} from {self.reports} reports by {self.method}",
            tuple(groups),
            values,
            *_around(bounds, values, self.method),
            self._standard_errors(targets),
            self.channel.identified(targets),
            level,
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are."""
        return {
            **self.table.to_dict(),
            "method": self.method,
            "reports": self.reports,
            "log_likelihood_gap": self.gap,
            "misfit": self.misfit,
            "indistinguishable": self.indistinguishable,
        }

    def to_json(self) -> str:
        """The same as text; a label that JSON does not know is written as its str()."""
        return json.dumps(self.to_dict(), default=str, ensure_ascii=False, allow_nan=False)

    def notes(self) -> list[str]:
        """What a reader of the figures must know, in words."""
        found = [self.table.note]
        if self.gap is not None:
            what = "posterior density" if self.method == "map" else "likelihood"
            found.append(
                f"the logarithm of the {what} is within {max(self.gap, 1e-6):.0e} nats of its maximum"
            )
        found += [
            f"not identified: the mechanism cannot tell {shorten(group)} apart completely, only their sum; "
            "their intervals hold what the reports leave possible"
            for group in self.indistinguishable
        ]
        if self.misfit < MISFIT:
            found.append(
                "WARNING: no frequencies explain these reports (probability "
                f"{self.misfit:.1e} or less); were they made by this mechanism?"
            )
        return found

    def __str__(self) -> str:
        return "\n".join([self.table.title, *self.table.lines(), *self.notes()])

    def __repr__(self) -> str:
        # Without the intervals: they can take seconds where much is not identified.
        return f"Estimate({len(self.labels)} frequencies from {self.reports} reports by {self.method})"

    def _repr_html_(self) -> str:
        return self.table._repr_html_() + html_table("; ".join(self.notes()[1:]), [])

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with every frequency and its interval."""
        return self.table.plot(axes)

    @cached_property
    def _bounds(self) -> Bounds:
        targets = each_symbol(len(self.labels))
        bounds = target_intervals(self.channel, self.counts.counts, targets, 1 - self.confidence)
        lower, upper = _around(within_simplex(bounds), self.frequencies, self.method)
        lower.setflags(write=False)
        upper.setflags(write=False)
        return Bounds(lower, upper)

    def _standard_errors(self, targets: Floats) -> Floats:
        n = self.reports
        start = np.maximum(self.frequencies, 0.0) * n + self.prior.probabilities
        return standard_errors(Channel(self.mechanism.matrix, start / start.sum()), targets, n)

    def _target(self, coefficients: Any) -> Floats:
        target = np.zeros(len(self.labels))
        if isinstance(coefficients, str | bytes) or not isinstance(coefficients, Iterable):
            raise ValuesError(
                "a group must be a list of labels or a mapping label -> coefficient",
                given=f"{coefficients!r}",
                remedy="one label is a list of one",
            )
        items = (
            coefficients.items() if isinstance(coefficients, Mapping) else ((x, 1.0) for x in coefficients)
        )
        place = {label: i for i, label in enumerate(self.labels)}
        for label, value in items:
            try:
                known = label in place and _is_finite(value)
            except TypeError:  # not hashable
                known = False
            if not known:
                raise ValuesError(
                    f"a group must hold input labels, of {shorten(self.labels)}, with finite coefficients",
                    given=f"{label!r}: {value!r}",
                    remedy="labels are compared as they are, 1 is not '1'",
                )
            target[place[label]] = value
        return target


def estimate(
    mechanism: Certified | Mechanism,
    reports: Any,
    confidence: float = 0.95,
    *,
    method: str = "maximum-likelihood",
    prior: Prior | None = None,
    strength: float | None = None,
) -> Estimate:
    """Frequencies of the inputs, with intervals that together cover the truth with probability `confidence`.

    `reports` is a list, numpy array, pandas or polars Series or arrow array of output labels, a mapping label ->
    count, or ReportCounts gathered from a stream. Methods:

    - "maximum-likelihood": the frequencies that make the reports most likely.
    - "inverse": reports times the (generalised) inverse of the mechanism; unbiased, can be negative.
    - "map": the mode of the posterior for a Dirichlet prior whose mode is `prior`, which counts as much as
      `strength` answers seen without noise (by default as many as there are symbols).

    `prior` is that of the certified mechanism unless given, uniform for a plain mechanism ("map" needs one).
    Intervals do not depend on the method and hold whatever the prior, as long as it was not made from these reports;
    it only decides where they are narrowest. How they are made, and why they hold, is told in module intervals. For
    maximum likelihood and "map" an interval is extended to hold its estimate.
    """
    matrix = as_mechanism(mechanism)
    level = check_confidence(confidence)
    if method not in METHODS:
        raise OptionError(
            f"must be one of {', '.join(METHODS)}",
            parameter="method",
            given=f"{method!r}",
            remedy=f"leave it out for {METHODS[0]}",
        )
    expected = reference_prior(mechanism, prior)
    if expected is None:
        if method == "map":
            raise OptionError(
                'method "map" must have a prior',
                given="a plain mechanism",
                remedy="give prior=, or a certified mechanism",
            )
        expected = _uniform(matrix)
    check_match(expected, matrix)
    if strength is not None and (method != "map" or not (_is_finite(strength) and strength > 0)):
        raise OptionError(
            'must be a number > 0 and come with method="map"',
            parameter="strength",
            given=f"{strength!r} and {method!r}",
            remedy="leave it out, or give how many answers the prior is worth",
        )
    counts = count_reports(mechanism, reports)
    _check_counts(matrix, counts)
    channel = Channel(matrix.matrix, expected.probabilities)
    if method == "inverse":
        frequencies, gap = channel.inverse(counts.counts / counts.total), None
    else:
        fit = _maximum(matrix, counts, channel, 0.0 if method != "map" else strength or float(expected.size))
        frequencies, gap = fit.theta, fit.gap * counts.total
    frequencies.setflags(write=False)
    return Estimate(matrix, expected, counts, level, method, frequencies, gap, channel)


def standard_errors(channel: Channel, targets: Floats, n: float) -> Floats:
    """Of the best unbiased estimates of the targets from n reports at the expected frequencies; else infinite."""
    W = channel.weights(targets)
    mean = W @ channel.outputs
    variance = np.maximum((W * W) @ channel.outputs - mean * mean, 0.0)
    return np.where(channel.identified(targets), np.sqrt(variance / n), np.inf)


def _is_finite(value: Any) -> bool:
    """Whether it is a number, and finite; text and truth values are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond doubles
        return False


def _uniform(matrix: Mechanism) -> Prior:
    if matrix.shape[0] < 2:
        raise MechanismError(
            "must have at least 2 inputs",
            parameter="mechanism",
            given="1: there is nothing to estimate",
        )
    return Prior.uniform(matrix.inputs)


def _maximum(matrix: Mechanism, counts: ReportCounts, channel: Channel, strength: float) -> Fit:
    return maximize(matrix.matrix, counts.counts, channel.expected, strength)


def _check_counts(matrix: Mechanism, counts: ReportCounts) -> None:
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
            "must be possible under the mechanism",
            parameter="reports",
            given=f"{counts.counts[k]} of {matrix.outputs[k]!r}, which no input gives",
            remedy="load the mechanism that made these reports",
        )


def _around(bounds: Bounds, values: Floats, method: str) -> Bounds:
    """Intervals that hold their estimates, unless these may lie outside of what is possible."""
    if method == "inverse":
        return bounds
    return Bounds(np.minimum(bounds.lower, values), np.maximum(bounds.upper, values))
