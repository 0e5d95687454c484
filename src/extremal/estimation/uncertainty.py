"""How far off estimated shares can be: standard errors and intervals of any combinations of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._common.threads import one_thread
from .._common.types import Bools, Floats, Ints
from .approximate import FEW, covering, ordinary_intervals, pulls
from .betting import StageReports, always_intervals, staged_intervals
from .contrasts import Channel, Scaled, interior, statements, variances
from .intervals import Ends, clopper_pearson, narrowed, normal_quantile, target_intervals
from .sample import WeightedReports

EQUAL = 1e-12  # of the squared range of weights: a variance below is rounding


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What the errors of estimated shares are computed from.

    `matrix` and `counts` are those of all stages, the outputs of each beside those of the one before. `fixed` says that
    the weights of the estimate were chosen before the data, from the `channel`; else they are those at the estimate.
    Targets are rows of coefficients.
    """

    matrix: Floats
    counts: Ints
    estimated: Floats  # shares
    fixed: bool
    channel: Channel
    stages: tuple[StageReports, ...]
    survey: WeightedReports | None

    @property
    def report_shares(self) -> Floats:
        """How common each output is among the reports, weighted if there are weights."""
        if self.survey is not None:
            return self.survey.report_shares
        return self.counts / self._reports

    def bounds(self, targets: Floats, error: float, kind: str) -> Ends:
        """Intervals of a kind for targets: each holds its estimate, and is no narrower than its standard error."""
        scaled = Scaled.of(targets)
        found = self.covering(scaled.unit, self.unit_bounds(scaled.unit, error, kind))
        return Ends(*map(scaled.values, found))

    def covering(self, unit: Floats, bounds: Ends) -> Ends:
        """Intervals of targets from 0 to 1 that hold their estimates, and are no narrower than the standard errors."""
        return covering(bounds, unit @ self.estimated, self.standard_errors(unit))

    def unit_bounds(self, targets: Floats, error: float, kind: str) -> Ends:
        """Intervals of a kind for targets from 0 to 1, as the reports alone give them."""
        if kind == "always":
            return always_intervals(self.stages, targets, error)
        if kind == "all" and self.survey is None:
            return self._together(targets, error)
        share = error / statements(targets) if kind == "all" else error
        known, varies = self.channel.identified(targets), targets.max(axis=1) > 0
        lower, upper = np.zeros(len(targets)), targets.max(axis=1)
        if not known.all():
            lower[~known], upper[~known] = self._possible(targets[~known], share)
        known &= varies
        if known.any() and (self.survey is None or self.survey.degrees > 0):
            W = self.linear(targets[known])
            lower[known], upper[known] = ordinary_intervals(
                self.channel.P,
                targets[known],
                W,
                self._near.expected,
                self.report_shares,
                self._discounted(W, share),
                share,
            )
        return Ends(lower, upper)

    def _together(self, targets: Floats, error: float) -> Ends:
        """Intervals that hold together for every number of reports, except with probability `error`.

        Of several stages, each tells what it tells by itself, given those before. Where the first does not tell all
        targets, half of the error is for what all stages tell only together: which, is known before anybody reports.
        """
        if len(self.stages) == 1:
            return target_intervals(self.channel, self.counts, targets, error)
        if self.stages[0].channel.identified(targets).all():
            return staged_intervals(self.stages, targets, error)
        apart = staged_intervals(self.stages, targets, error / 2)
        joint = self._by_outputs(targets, error / 2)
        return Ends(np.maximum(apart.lower, joint.lower), np.minimum(apart.upper, joint.upper))

    def _possible(self, targets: Floats, error: float) -> Ends:
        """What the reports leave possible of targets that they do not identify."""
        if self.survey is None and len(self.stages) > 1:
            return self._by_outputs(targets, error)
        if self.survey is None:
            return target_intervals(self.channel, self.counts, targets, error, together=False)
        low, high = targets.min(axis=1), targets.max(axis=1)
        if self.survey.degrees <= 0:
            return Ends(low, high)
        each, outputs = error / len(self.report_shares), np.eye(len(self.report_shares))
        sizes = self._discounted(outputs, each)
        return self._within(clopper_pearson(self.report_shares * sizes, sizes, each), self.matrix, targets)

    def _by_outputs(self, targets: Floats, error: float) -> Ends:
        """All shares under which no output of any stage is much rarer or more common than it was."""
        asked = [stage for stage in self.stages if stage.people]
        each = error / sum(len(stage.counts) for stage in asked)
        boxes = [clopper_pearson(stage.counts.astype(np.float64), stage.people, each) for stage in asked]
        box = Ends(*(np.concatenate(ends) for ends in zip(*boxes, strict=True)))
        return self._within(box, np.concatenate([stage.channel.P for stage in asked], axis=1), targets)

    def _within(self, box: Ends, matrix: Floats, targets: Floats) -> Ends:
        """The ends of targets over all shares whose outputs are within bounds, which are made to hold the estimate."""
        best = np.maximum(self.estimated, 0.0) @ matrix
        ends = np.minimum(box.lower, best), np.maximum(box.upper, best)
        return Ends(*narrowed(matrix.T, *ends, targets, targets.min(axis=1), targets.max(axis=1)))

    @one_thread
    def linear(self, targets: Floats) -> Floats:
        """Weights of the outputs whose mean over the reports is the estimate of each target, to first order."""
        return self.channel.weights(targets) if self.fixed else self._near.weights(targets)

    @one_thread
    def covariance(self, targets: Floats) -> Floats:
        """The covariance of the estimates of these targets."""
        unit, _, spread = Scaled.of(targets)
        W = self.linear(unit)
        if self.survey is not None:
            covariance = W @ self.survey.covariance @ W.T
        else:
            q = self._expected_report_shares
            covariance = ((W * q) @ W.T - np.multiply.outer(W @ q, W @ q)) / self._reports
        return np.multiply.outer(spread, spread) * (covariance + np.diag(self._beside(W)))

    @one_thread
    def standard_errors(self, targets: Floats) -> Floats:
        """The standard errors of the estimates of these targets; infinite if not identified."""
        unit, _, spread = Scaled.of(targets)
        W = self.linear(unit)
        variance = self._linearised(W) + self._beside(W)
        known = self.channel.identified(targets) & (self.survey is None or self.survey.degrees > 0)
        return np.where(known, spread * np.sqrt(variance), np.inf)

    @one_thread
    def design_effects(self, targets: Floats) -> Floats | None:
        """Variances over those of as many equally weighted people drawn one by one; None without a sample design."""
        if self.survey is None:
            return None
        unit = Scaled.of(targets).unit
        simple = variances(self.linear(unit), self.report_shares) / max(self._reports - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(simple > 0, self.standard_errors(unit) ** 2 / simple, np.nan)

    @property
    def _reports(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def _near(self) -> Channel:
        """The mechanism at the estimated shares, moved off the boundary: variances are those there."""
        people = float(self._reports) if self.survey is None else self.survey.effective
        return Channel(self.matrix, interior(self.channel, self.estimated, people, self.fixed))

    @property
    def _expected_report_shares(self) -> Floats:
        return self.report_shares if self.fixed else self.estimated @ self.matrix

    def _linearised(self, W: Floats) -> Floats:
        """The variance of the mean of each weight, at the estimate itself."""
        if self.survey is None:
            return variances(W, self._expected_report_shares) / self._reports
        return np.asarray(
            np.maximum(np.einsum("ij,jk,ik->i", W, self.survey.covariance, W, optimize=True), 0.0)
        )

    def _beside(self, W: Floats) -> Floats:
        """How much larger variances are beside the boundary, if the estimate is on it or reports are too few."""
        here = self.report_shares if self.survey is not None else self._expected_report_shares
        more = np.maximum(variances(W, self._near.outputs) - variances(W, here), 0.0) / self._sizes(W)
        start = np.maximum(self.estimated, 0.0)
        inside = np.array_equal(self._near.expected, start / start.sum())
        return np.where(self._few(W), more, 0.0) if inside else more

    def _sizes(self, W: Floats) -> Floats:
        """How many independent reports have the variance of each weight."""
        if self.survey is None:
            return np.full(len(W), float(self._reports))
        people = min(self.survey.effective, float(self.survey.degrees + 1))  # worth as much; or clusters
        simple, own = variances(W, self.report_shares), self._linearised(W)
        varies = ~self._equal(W) & (own > 0)
        sizes = np.divide(simple, own, out=np.full(len(W), people), where=varies)
        few = (pulls(W, self._near.outputs)[0] * sizes < FEW) | self._few(W)
        return np.asarray(np.where(few, np.minimum(sizes, people), sizes))

    def _few(self, W: Floats) -> Bools:
        """Whether hardly any report has a weight on one side of the mean: then the variance is not known from them."""
        return self._equal(W) | (pulls(W, self.counts / self._reports)[0] * self._reports < FEW)

    def _equal(self, W: Floats) -> Bools:
        """Whether all reports have the same weight, up to rounding."""
        return np.asarray(variances(W, self.report_shares) <= EQUAL * np.ptp(W, axis=1) ** 2)

    def _discounted(self, W: Floats, error: float) -> Floats:
        """The numbers of reports, fewer where variances are estimated with few degrees of freedom."""
        if self.survey is None:
            return self._sizes(W)
        from scipy.special import stdtrit

        student = -float(stdtrit(max(self.survey.degrees, 1), error / 2))
        return self._sizes(W) * (normal_quantile(error / 2) / student) ** 2
