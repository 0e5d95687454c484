"""Two collections compared: how much more frequent an input is in one than in the other.

Also shares of a part among a whole, both estimated: transitions, and answers among those who comply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Floats
from .._common.words import shorten
from ..errors import MechanismError, OptionError
from ..model.labels import Labels
from .approximate import covering, covering_differences, difference_intervals, ratio_intervals
from .contrasts import each_symbol, statements
from .interval_table import IntervalTable
from .intervals import BENTKUS, VARIANCE_SHARE, Ends, Spread, deviation, mean_intervals, normal_quantile
from .promise import Promise

if TYPE_CHECKING:
    from .result import Estimate


@one_thread
def difference(
    one: Estimate, other: Estimate, confidence: float | None = None, shared: Floats | None = None
) -> IntervalTable:
    """Shares of `one` minus those of `other`, whose errors have these covariances: see Estimate.difference."""
    if one.labels != other.labels:
        raise MechanismError(
            "estimates that are subtracted must be of the same inputs in the same order",
            given=f"{shorten(one.labels)} and {shorten(other.labels)}",
            remedy="build both mechanisms with the same inputs=",
        )
    if confidence is None and one.confidence != other.confidence:
        raise OptionError(
            "must be given where two estimates differ in it",
            parameter="confidence",
            given=f"{one.confidence} and {other.confidence}",
            remedy="give confidence=",
        )
    level = one.confidence if confidence is None else checks.confidence(confidence)
    if one.intervals != other.intervals:
        raise OptionError(
            "must be the same for two estimates that are subtracted",
            parameter="intervals",
            given=f"{one.intervals!r} and {other.intervals!r}",
        )
    targets = each_symbol(len(one.labels))
    values, exact = one.shares - other.shares, one.promise.exact and other.promise.exact
    errors, correlations = _errors(one, other, shared)
    several = len(one.stages) > 1 or len(other.stages) > 1
    if one.intervals == "always" or (exact and several):
        ours, theirs = (e.bounds(targets, (1 - level) / 2) for e in (one, other))
        lower, upper = ours.lower - theirs.upper, ours.upper - theirs.lower
    elif exact:
        lower, upper = _difference_bounds(one, other, targets, (1 - level) / statements(targets))
    else:
        ours, theirs = (e.bounds(targets, 1 - level) for e in (one, other))
        lower, upper = difference_intervals(ours, theirs, one.shares, other.shares, correlations)
    lower, upper = covering_differences(Ends(lower, upper), values, errors)
    weighted = one.survey is not None or other.survey is not None
    return IntervalTable(
        f"{len(targets)} differences between {one.reports} and {other.reports} reports",
        one.labels,
        values,
        lower,
        upper,
        errors,
        one.identified & other.identified,
        Promise(level, one.intervals, exact, weighted),
        warning=one.warning or other.warning,
    )


def _errors(one: Estimate, other: Estimate, shared: Floats | None) -> tuple[Floats, Floats | float]:
    """The standard errors of differences, and the correlations of the errors of both."""
    a, b = one.standard_errors, other.standard_errors
    if shared is None:
        return np.hypot(a, b), 0.0
    known = one.identified & other.identified
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(np.maximum(a**2 + b**2 - 2 * shared, 0.0))
        correlations = np.where(known & (a * b > 0), np.clip(shared / (a * b), -1.0, 1.0), 0.0)
    return np.where(known, errors, np.inf), correlations


def _difference_bounds(one: Estimate, other: Estimate, targets: Floats, error: float) -> Ends:
    """A fifth of each error for the variances of both, the rest for the two sides."""
    z = normal_quantile(error / 2 / BENTKUS)
    low, high, total, most_down, most_up = np.zeros((5, len(targets)))
    everyone = float(one.reports + other.reports)
    for e, sign in ((one, 1.0), (other, -1.0)):
        n = float(e.reports)
        contrasts = e.channel.contrasts(targets, n, z)
        spread = Spread.of(contrasts, e.counts.counts, VARIANCE_SHARE * error / 2)
        mean = mean_intervals(contrasts, e.counts.counts, VARIANCE_SHARE * error / 2)
        total += spread.variance(mean.lower, mean.upper) / n
        rest = contrasts.bias if sign > 0 else (-contrasts.bias[1], -contrasts.bias[0])
        low, high = low + sign * spread.mean + rest[0], high + sign * spread.mean + rest[1]
        up, down = (spread.high - spread.least) / n, (spread.largest - spread.low) / n
        most_up = np.maximum(most_up, up if sign > 0 else down)
        most_down = np.maximum(most_down, down if sign > 0 else up)
    side = (1 - 2 * VARIANCE_SHARE) * error / 2
    # As a mean over everyone: each variable is then `everyone` times as large as its part of the sum.
    too_high = deviation(total * everyone, most_up * everyone, everyone, side)
    too_low = deviation(total * everyone, most_down * everyone, everyone, side)
    # Reports whose unbiased shares are out of range would leave nothing between the ends once these are cut.
    low, high = np.minimum(low, 1.0), np.maximum(high, -1.0)
    return Ends(np.clip(low - too_high, -1.0, 1.0), np.clip(high + too_low, -1.0, 1.0))


@one_thread
def ratio_table(found: Estimate, title: str, names: Labels, parts: Floats, wholes: Floats) -> IntervalTable:
    """Sums over symbols as shares of sums over more symbols, with ordinary intervals.

    A ratio is identified if both sums are, and the whole is larger than its standard error. `parts` and `wholes` have
    a row of zeros and ones for each.
    """
    size = len(parts)
    targets = np.concatenate((parts, wholes))
    sums, errors = targets @ found.shares, found.uncertainty.standard_errors(targets)
    (a, b), (one, other) = np.split(sums, 2), np.split(errors, 2)
    known = np.isfinite(one) & np.isfinite(other) & (b > other)
    ratios = np.clip(np.divide(a, b, out=np.zeros(size), where=b > 0), 0.0, 1.0)
    shared = found.uncertainty.covariance(targets)[np.arange(size), size + np.arange(size)]
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = one**2 + ratios**2 * other**2 - 2 * ratios * shared
        spread = np.where(known, np.sqrt(np.maximum(variance, 0.0)) / b, np.inf)
        correlations = np.where(known, np.clip(shared / (one * other), -1.0, 1.0), 0.0)
    ends = replace(found, intervals="each").bounds(targets, 1 - found.confidence)
    part, whole = (Ends(*both) for both in zip(np.split(ends.lower, 2), np.split(ends.upper, 2), strict=True))
    bounds = covering(ratio_intervals(part, whole, a, b, correlations), ratios, spread)
    promise = Promise(found.confidence, "each", exact=False, weighted=found.survey is not None, choice=False)
    return IntervalTable(title, names, ratios, *bounds, spread, known, promise, warning=found.warning)


STEPS = 30  # halvings: ends to 1e-9 of the range


def ratios(
    found: Estimate, title: str, names: tuple[Any, ...], parts: Floats, whole: Floats
) -> IntervalTable:
    """The sums with coefficients `parts`, a row each, over that with `whole`, which are 0 or 1.

    A ratio θ = a/b lies in the interval if that of a − θ b, which is a sum of shares, holds 0. So the interval misses
    as rarely as those of such sums.
    """
    inside = whole > 0
    least, most = parts[:, inside].min(axis=1), parts[:, inside].max(axis=1)
    total = float(whole @ found.shares)
    values = np.clip(parts @ found.shares / total, least, most) if total > 0 else (least + most) / 2
    error = 1 - found.confidence

    def rest(theta: Floats) -> Floats:
        return parts - theta[:, None] * whole

    lower = _end(values, least, lambda theta: found.bounds(rest(theta), error).lower <= 0)
    upper = _end(values, most, lambda theta: found.bounds(rest(theta), error).upper >= 0)
    table = found.combinations(title, names, rest(values))
    errors = table.standard_errors / total if total > 0 else np.full(len(names), np.inf)
    return replace(
        table, estimates=values, lower=lower, upper=upper, standard_errors=errors, design_effects=None
    )


def _end(inside: Floats, outside: Floats, holds: Callable[[Floats], Any]) -> Floats:
    """How far each interval reaches from the estimate, as bisection finds it, rounded outwards."""
    near, far = inside.copy(), np.where(holds(outside), inside, outside)
    far_holds = far == inside
    for _ in range(STEPS):
        middle = (near + far) / 2
        good = holds(middle)
        near, far = np.where(good, middle, near), np.where(good, far, middle)
    return np.where(far_holds, outside, far)
