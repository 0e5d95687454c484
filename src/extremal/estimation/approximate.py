"""Ordinary intervals: each holds with about its confidence.

All are made in one way. A target is a combination of shares with coefficients from 0 to 1, its weights w have the mean
t . theta whatever theta is, and s is their mean over n reports, moved into [0, 1]. A value t is kept if

    n (s - t)^2 <= z^2 V(t),    V(t) = sum_y q_y w_y^2 - t^2,

with V the variance of the weights of one report *if the target is t* (Rao's score test). All other shares are as they
are estimated, off the boundary (module interior), apart from what must move: below the estimate from all answers in
proportion to those of the least coefficient, above it to those of the largest. Then V is quadratic in t, and the test
can be turned around in closed form. For a mechanism that reports the truth this is Wilson's interval, for randomized
response it is his for the reports, transformed.

Where fewer than 20 reports of a kind are expected, s is not distributed like a normal variable, and its own tails take
the place of the normal ones (module tails). With weights, strata or clusters, n is the number of
independent reports with the same variance.

Intervals for means of few reports: from the tail of the mean itself, not of a normal distribution.

The mean of n independent weights w, reports distributed like q, falls to s or below with a probability near Phi(r*),

    K(v) = log sum_y q_y e^(v (w_y - m)),  K'(v) = s - m,  m = sum_y q_y w_y,
    r = sign(v) (2 n (v (s - m) - K))^1/2,  u = v (n K''(v))^1/2,  r* = r + log(u / r) / r

(Barndorff-Nielsen's form of the saddlepoint approximation). The mean takes steps: s is moved by half of one towards m,
and v in u becomes 2 sinh(v step / 2) / step, so that the tail has s in it. A step is as long as the pull of a single
report of a rare kind, see `approximate.pulls`. Of two kinds it is the distance between their weights, and the intervals
are those of Clopper and Pearson, up to 1 % of their length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._common.types import Floats
from .intervals import Ends, normal_quantile

FEW = 20  # reports of a kind: with fewer, the mean has tails of its own


def ordinary_intervals(
    P: Floats, targets: Floats, W: Floats, theta: Floats, shares: Floats, sizes: Floats, error: float
) -> Ends:
    """Intervals for targets from 0 to 1 with unbiased weights W, each of which misses with probability about `error`.

    `theta` are shares of answers off the boundary, `shares` those of the reports, `sizes` numbers of reports, one for
    each target.
    """
    z, center = normal_quantile(error / 2), np.clip(W @ shares, 0.0, 1.0)
    line = ReportLine(
        _at_end(1 - targets, theta) @ P, theta @ P, _at_end(targets, theta) @ P, targets @ theta
    )
    lower, upper = score_intervals(line, W, center, sizes, z)
    common, steps = pulls(W, line.middle)
    few = common * sizes < FEW
    if few.any():
        line = ReportLine(line.low[few], line.middle, line.high[few], line.at[few])
        given = line, W[few], center[few], steps[few], sizes[few], z
        lower[few], upper[few] = (
            tail_end(*given, near[few], side) for near, side in ((lower, -1.0), (upper, 1.0))
        )
    return Ends(lower, upper)


def score_intervals(line: ReportLine, W: Floats, center: Floats, sizes: Floats, z: float) -> Ends:
    """The values that the score test keeps, see above."""
    squares = W * W
    second = squares @ line.middle
    ends = []
    for side, q, away in ((-1.0, line.low, -line.at), (1.0, line.high, 1 - line.at)):
        # sum_y q_y w_y^2 = a + b t, a line through its values at the estimate and at the end, 0 or 1
        b = (np.einsum("ij,ij->i", q, squares) - second) / np.where(away == 0, 1.0, away)
        a = second - b * line.at
        half, total = sizes * center + z * z * b / 2, sizes + z * z
        root = np.sqrt(np.maximum(half * half - total * (sizes * center * center - z * z * a), 0.0))
        ends.append(np.clip((half + side * root) / total, 0.0, 1.0))
    return Ends(*ends)


def _at_end(targets: Floats, theta: Floats) -> Floats:
    """The shares, of those alone whose coefficient is 1."""
    extreme = np.where(targets == 1, theta, 0.0)
    return np.asarray(extreme / extreme.sum(axis=1, keepdims=True))


def pulls(W: Floats, q: Floats) -> tuple[Floats, Floats]:
    """How common the rarer kind of report is, of those with weights above and below the mean, and how far both pull.

    Of two kinds these are the probability of the rarer one and the distance of the weights. A kind whose reports pull
    differently is as common as a single one whose pull is as skew: E[d^2]^3 / E[d^3]^2, d the distance from the mean or
    0 on the other side.
    """
    off = W - (W @ q)[:, None]
    common, steps = np.ones(len(W)), np.zeros(len(W))
    for side in (np.maximum(off, 0.0), np.maximum(-off, 0.0)):
        most = np.maximum(side.max(axis=1), 1e-300)
        side /= most[:, None]
        squares = side * side
        cubes, second = (squares * side) @ q, squares @ q
        common = np.minimum(common, np.divide(second**3, cubes**2, out=np.ones(len(W)), where=cubes > 0))
        steps += most * np.divide(cubes, second, out=np.zeros(len(W)), where=second > 0)
    return common, steps


def covering(bounds: Ends, values: Floats, errors: Floats) -> Ends:
    """The same for figures from 0 to 1; all hold their values, and none is narrower than its standard error.

    As long as that is at most 1: then the interval is all that is possible.
    """
    values = np.clip(values, 0.0, 1.0)
    lower, upper = np.minimum(bounds.lower, values), np.maximum(bounds.upper, values)
    missing = np.where(np.isfinite(errors), np.minimum(errors, 1.0), 0.0) - (upper - lower)
    narrow, width = missing > 0, upper - lower + missing
    start = np.clip(lower - missing / 2, 0.0, np.maximum(1 - width, 0.0))
    end = np.minimum(start + width, 1.0)
    return Ends(
        np.where(narrow, np.minimum(start, lower), lower), np.where(narrow, np.maximum(end, upper), upper)
    )


def covering_differences(bounds: Ends, values: Floats, errors: Floats) -> Ends:
    """The same for figures from -1 to 1."""
    half = covering(Ends((bounds.lower + 1) / 2, (bounds.upper + 1) / 2), (values + 1) / 2, errors / 2)
    return Ends(2 * half.lower - 1, 2 * half.upper - 1)


def difference_intervals(
    one: Ends, other: Ends, values: Floats, others: Floats, correlations: Floats | float = 0.0
) -> Ends:
    """Intervals for differences, from those of both shares and the correlations of their errors.

    On each side the distances from estimates to ends are added like standard errors (Newcombe, 1998; Zou and Donner,
    2008), so where both intervals hold, so does this one, about as often.
    """
    values, others = np.clip(values, 0.0, 1.0), np.clip(others, 0.0, 1.0)
    ends = [
        np.sqrt(np.maximum(own * own + off * off - 2 * correlations * own * off, 0.0))
        for own, off in _opposite(one, other, values, others)
    ]
    center = values - others
    return Ends(np.maximum(center - ends[0], -1.0), np.minimum(center + ends[1], 1.0))


def _opposite(one: Ends, other: Ends, values: Floats, others: Floats) -> list[tuple[Floats, Floats]]:
    """How far one share can be below and above its value, and the other one on the opposite side."""
    below, above = values - one.lower, one.upper - values
    sides = ((below, other.upper - others), (above, others - other.lower))
    return [(np.maximum(own, 0.0), np.maximum(off, 0.0)) for own, off in sides]


def ratio_intervals(parts: Ends, wholes: Ends, values: Floats, others: Floats, correlations: Floats) -> Ends:
    """Intervals for parts over wholes, at most 1, from the intervals of both and the correlations of their errors.

    A ratio r is kept if 0 is in the interval for part - r whole, which is made as for differences (Li, Tang and Wong,
    2010). Where 0 is in that of the whole, any ratio is possible.
    """
    a, b = np.clip(values, 0.0, 1.0), np.clip(others, 0.0, 1.0)
    # (a - r b)^2 = own^2 + r^2 off^2 - 2 r rho own off
    found = []
    for side, (own, off) in zip((-1.0, 1.0), _opposite(parts, wholes, a, b), strict=True):
        middle = a * b - correlations * own * off
        low, high = a * a - own * own, b * b - off * off
        root = np.sqrt(np.maximum(middle * middle - low * high, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            end = (middle + side * root) / high
        found.append(np.where((high > 0) & (wholes.lower > 0) & np.isfinite(end), end, 0.5 + side / 2))
    return Ends(np.clip(found[0], 0.0, 1.0), np.clip(found[1], 0.0, 1.0))


SEARCHES = 40  # for an end of an interval
NEWTON = 12  # for a saddlepoint, from that of the search before
CLOSE = 1e-5  # of the width: where an end is found
IMPOSSIBLE = 40.0  # standard deviations, for means that cannot be
SMALL = 1e-4  # r below this is the score itself


class ReportLine(NamedTuple):
    """Distributions of reports for each value of each target: from one end over the estimate to the other."""

    low: Floats  # (K, M): where the target is 0
    middle: Floats  # (M,)
    high: Floats
    at: Floats  # (K,): the target at the estimate

    def reports(self, values: Floats) -> Floats:
        up = values > self.at
        room = np.where(up, 1 - self.at, self.at)
        part = np.divide(np.abs(values - self.at), room, out=np.zeros_like(room), where=room > 0)[:, None]
        return np.asarray(self.middle * (1 - part) + np.where(up[:, None], self.high, self.low) * part)


def tail_end(
    line: ReportLine,
    W: Floats,
    center: Floats,
    steps: Floats,
    sizes: Floats,
    z: float,
    near: Floats,
    side: float,
) -> Floats:
    """The end, on one side, of the values at which a mean as far off as `center` is not too rare.

    `near` is about where it is. Found by false position, in which an end that stays counts for half (Illinois).
    """
    moved = center + side * steps / (2 * sizes)
    limit = np.full(len(W), (1 + side) / 2)
    saddle, length = np.zeros(len(W)), np.maximum(side * (near - center), CLOSE)
    low, high = center.copy(), limit.copy()  # kept, and refuted once `found`
    at_low, at_high = np.full(len(W), -z), np.full(len(W), np.inf)
    found = last = np.zeros(len(W), dtype=bool)
    for _ in range(SEARCHES):
        with np.errstate(invalid="ignore"):
            inner = low - at_low * (high - low) / (at_high - at_low)
        farther = side * np.minimum(side * (center + side * length), side * limit)
        guess = np.where(found, np.where(np.isfinite(inner), inner, (low + high) / 2), farther)
        far, saddle = _root(line.reports(guess), W, moved, steps, sizes, saddle, side)
        at, refuted = far - z, far > z
        at_low = np.where(refuted, np.where(found & last, at_low / 2, at_low), at)
        at_high = np.where(refuted, at, np.where(found & ~last, at_high / 2, at_high))
        low, high = np.where(refuted, low, guess), np.where(refuted, guess, high)
        found, last, length = found | refuted, refuted, 2 * length
        done = np.where(found, np.abs(high - low) <= CLOSE * np.abs(high - center), low == limit)
        if bool(done.all()):
            break
    return np.where(found, high, limit)


def _root(
    q: Floats, W: Floats, observed: Floats, steps: Floats, sizes: Floats, start: Floats, side: float
) -> tuple[Floats, Floats]:
    """How far off the observed mean is, -side r*, and the saddlepoint in units of the standard deviation."""
    mean = np.einsum("ij,ij->i", q, W)
    off = side * (mean[:, None] - W)
    deviation = np.sqrt(np.einsum("ij,ij,ij->i", q, off, off))
    varies = deviation > 1e-12 * np.abs(off).max(axis=1)
    deviation = np.where(varies, deviation, 1.0)
    off = off / deviation[:, None]
    most = np.where(varies, np.where(q > 0, off, 0.0).max(axis=1), 1.0)
    x = side * (mean - observed) / deviation
    far, impossible = x > 0, (x > 0) & ((x > most * (1 + 1e-9)) | ~varies)
    x = np.clip(x, 0.0, most * (1 - 1e-9))
    v = np.where(start > 0, start, x / most)
    low, high = np.zeros_like(v), np.full_like(v, np.inf)
    for _ in range(NEWTON):
        top = v * most
        weights = q * np.exp(np.minimum(v[:, None] * off - top[:, None], 0.0))
        total = np.maximum(weights.sum(axis=1), 1e-300)
        slope = np.einsum("ij,ij->i", weights, off) / total
        curve = np.maximum(np.einsum("ij,ij,ij->i", weights, off, off) / total - slope * slope, 1e-300)
        short = slope < x
        low, high = np.where(short, v, low), np.where(short, high, v)
        if bool((np.abs(slope - x) <= 1e-7 * (1 + x)).all()):
            break
        with np.errstate(over="ignore"):
            step = v + (x - slope) / curve
        inside = (step > low) & (step < high)
        v = np.where(inside, step, np.where(np.isfinite(high), (low + high) / 2, 2 * v + 1e-3))
    r = np.sqrt(np.maximum(2 * sizes * (v * x - np.log(total) - top), 0.0))
    half = steps / deviation / 2
    with np.errstate(over="ignore", invalid="ignore"):
        u = np.sinh(v * half) / half * np.sqrt(sizes * curve)
    with np.errstate(divide="ignore", invalid="ignore"):
        better = r + np.log(u / r) / r
    better = np.where((r > SMALL) & np.isfinite(better), better, x * np.sqrt(sizes))
    return np.where(impossible, IMPOSSIBLE, np.where(far, better, -1.0)), np.where(impossible, 0.0, v)
