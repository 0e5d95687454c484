"""Intervals for means of few reports: from the tail of the mean itself, not of a normal distribution.

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

SEARCHES = 40  # for an end of an interval
NEWTON = 12  # for a saddlepoint, from that of the search before
CLOSE = 1e-5  # of the width: where an end is found
IMPOSSIBLE = 40.0  # standard deviations, for means that cannot be
SMALL = 1e-4  # r below this is the score itself


class Line(NamedTuple):
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
    line: Line, W: Floats, center: Floats, steps: Floats, sizes: Floats, z: float, near: Floats, side: float
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
