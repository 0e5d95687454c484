"""Intervals that hold at every look: whoever stops when they like what they see is covered, too.

Each share, or other combination of shares, is the mean of a bounded score a(Y). For a guess m and a bet b,

    prod_j (1 + b (a(Y_j) - m))

has mean 1 if m is right, however many reports there are so far, and depends on the counts of reports alone, not on
their order. So does the mean over several sizes of bets. It ever exceeds 1/delta with probability at most delta
(Ville), and an m for which it does is refuted: bets b > 0 refute what is too small, bets b < 0 what is too large. A
survey that changes its mechanism goes on with the same bets, whose sizes under the next mechanism are fixed before its
first report: it may be chosen after earlier reports were seen (Waudby-Smith and Ramdas, Estimating means of bounded
random variables by betting, 2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common.types import Floats
from .contrasts import Channel, Scaled, statements, variances
from .intervals import Bounds

PEOPLE = 2000.0  # reports for which the intervals are best, unless a survey says how many it wants
STEPS = np.arange(-13, 14)  # bets are best for 2^k times as many
CHANCES = 1 / (1 + (np.abs(STEPS) / 3.0) ** 3)  # of the stake: most for surveys of the size that was planned
CHANCES /= CHANCES.sum()
MOST = 0.75  # of the stake that a bet may lose at once
HALVINGS = 50
LARGEST = 1 << 20  # table of targets, bets and reports at a time
UNBIASED = 1e-10  # what the mean of a score may be off by


class Looked(NamedTuple):
    """The reports of one stage of a survey, counted."""

    channel: Channel
    counts: NDArray[Any]


def always_intervals(
    stages: Sequence[Looked], targets: Floats, error: float, people: float = PEOPLE
) -> Bounds:
    """Intervals for targets, all of which hold at all times together, except with probability `error`.

    They are narrowest for about so many `people`. A stage whose reports alone do not determine a target says nothing
    about it.
    """
    scaled = Scaled.of(targets)
    limit = math.log(2 * statements(scaled.unit) / error)
    scores = [_scores(stage, scaled.unit) for stage in stages]
    at_once = max(LARGEST // (len(STEPS) * max(score.values.shape[1] for score in scores)), 1)
    parts = [slice(k, k + at_once) for k in range(0, max(len(scaled.unit), 1), at_once)]
    looked = ([score.part(rows) for score in scores] for rows in parts)
    both = [
        (_least(side, limit, people), 1 - _least([score.mirrored() for score in side], limit, people))
        for side in looked
    ]
    lower, upper = (np.concatenate(ends) for ends in zip(*both, strict=True))
    # Two refutations that should not both be: what is between them is all that is left.
    return Bounds(scaled.values(np.minimum(lower, upper)), scaled.values(np.maximum(lower, upper)))


class _Scores(NamedTuple):
    """Scores of each report, a row for each target, whose means are the targets; their variances; the counts."""

    values: Floats
    variances: Floats  # infinite where there is no such score
    counts: Floats

    def part(self, rows: slice) -> _Scores:
        """Of some targets."""
        return self._replace(values=self.values[rows], variances=self.variances[rows])

    def mirrored(self) -> _Scores:
        """Of 1 less the targets."""
        return self._replace(values=1 - self.values)


def _scores(stage: Looked, targets: Floats) -> _Scores:
    channel = stage.channel
    values = channel.weights(targets)
    told = np.abs(values @ channel.P.T - targets).max(axis=1) <= UNBIASED
    spread = np.maximum(variances(values, channel.outputs), 1e-300)
    return _Scores(values, np.where(told, spread, np.inf), np.asarray(stage.counts, dtype=np.float64))


def _least(stages: list[_Scores], limit: float, people: float) -> Floats:
    """The smallest means that bets on more do not refute."""
    # Reports of the same mean are told from others by bets in proportion to 1 / variance.
    first = np.full(len(stages[0].values), np.inf)
    for stage in stages:
        first = np.where(np.isinf(first), stage.variances, first)
    sizes = np.sqrt(2 * (limit + 1) * np.where(np.isinf(first), 1.0, first)[:, None] / (people * 2.0**STEPS))
    bets = [
        np.minimum(
            sizes / stage.variances[:, None],
            MOST / (1 - np.minimum(stage.values.min(axis=1), 0.0))[:, None],
        )
        for stage in stages
    ]

    def refuted(m: Floats) -> NDArray[np.bool_]:
        """Whether the mean of what the bets have become exceeds the limit; it falls as m grows."""
        total = np.tile(np.log(CHANCES), (len(m), 1))
        for stage, bet in zip(stages, bets, strict=True):
            off = stage.values - m[:, None]
            total += np.log1p(bet[:, :, None] * off[:, None, :]) @ stage.counts
        most = total.max(axis=1)
        return np.asarray(most + np.log(np.exp(total - most[:, None]).sum(axis=1)) > limit)

    low, high = np.zeros(len(sizes)), np.ones(len(sizes))
    none, all_ = ~refuted(low), refuted(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        more = refuted(middle)
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.where(none, 0.0, np.where(all_, 1.0, low))
