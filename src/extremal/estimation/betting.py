"""Intervals from bets: they hold where later mechanisms depend on earlier reports, and at every look.

Each share, or other combination of shares, is the mean of a bounded score a(Y). For a guess m and a bet b,

    prod_j (1 + b (a(Y_j) - m))

has mean 1 if m is right, however many reports there are so far, and depends on the counts of reports alone, not on
their order. So does the mean over several sizes of bets. It ever exceeds 1/delta with probability at most delta
(Ville), and an m for which it does is refuted: bets b > 0 refute what is too small, bets b < 0 what is too large. A
survey that changes its mechanism goes on with the same bets, whose sizes under the next mechanism are fixed before its
first report: it may be chosen after earlier reports were seen (Waudby-Smith and Ramdas, Estimating means of bounded
random variables by betting, 2024).

Where the number of people is given, one size of bets is enough. Where somebody looks again and again and stops when
they like what they see, many share the stake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common.types import Floats, Ints
from .contrasts import Channel, Scaled, statements, variances
from .intervals import Ends

PEOPLE = 2000.0  # reports for which the intervals are best, unless a survey says how many it wants
STEPS = np.arange(-13, 14)  # bets are best for 2^k times as many
CHANCES = 1 / (1 + (np.abs(STEPS) / 3.0) ** 3)  # of the stake: most for surveys of the size that was planned
CHANCES /= CHANCES.sum()
MOST = 0.75  # of the stake that a bet may lose at once
HALVINGS = 50
LARGEST = 1 << 20  # table of targets, bets and reports at a time
UNBIASED = 1e-10  # what the mean of a score may be off by
CUT = 0.05  # of the error, for stages whose reports say nothing at all on one side

Sizes = Callable[
    [Sequence[Floats], float], list[Floats]
]  # from variances and a limit, a table for each stage


class StageReports(NamedTuple):
    """The reports of the people who were asked under one mechanism, counted."""

    channel: Channel
    counts: Ints

    @property
    def people(self) -> int:
        """How many there are."""
        return int(self.counts.sum())


def always_intervals(
    stages: Sequence[StageReports], targets: Floats, error: float, people: float = PEOPLE
) -> Ends:
    """Intervals for targets, all of which hold at all times together, except with probability `error`.

    They are narrowest for about so many `people`. A stage whose reports alone do not determine a target says nothing
    about it.
    """

    def sizes(variances: Sequence[Floats], limit: float) -> list[Floats]:
        # Reports of the same mean are told from others by bets in proportion to 1 / variance.
        first = np.full(len(targets), np.inf)
        for variance in variances:
            first = np.where(np.isinf(first), variance, first)
        first = np.where(np.isinf(first), 1.0, first)
        bets = np.sqrt(2 * (limit + 1) * first[:, None] / (people * 2.0**STEPS))
        return [bets / variance[:, None] for variance in variances]

    return _intervals(stages, targets, error, sizes, CHANCES)


def staged_intervals(stages: Sequence[StageReports], targets: Floats, error: float) -> Ends:
    """Intervals for targets, all of which hold together, for numbers of people that do not depend on reports.

    A bet is best if everybody who is still to be asked will be asked as in this stage: later mechanisms may depend on
    reports, so nothing of them is known. Of two answers everything is known under a guess, and binomial tails do better
    than bets.
    """
    if targets.shape[1] == 2:
        scaled, share = Scaled.of(targets), _second_share(stages, error)
        ends = [scaled.values(scaled.unit @ [1 - m, m]) for m in share]
        return Ends(np.minimum(*ends), np.maximum(*ends))
    people = [stage.people for stage in stages]

    def sizes(variances: Sequence[Floats], limit: float) -> list[Floats]:
        found, done, left = [], np.zeros(len(targets)), sum(people)
        for variance, asked in zip(variances, people, strict=True):
            left -= asked
            done = done + asked / variance
            precision = np.maximum(done + left / variance, 1e-300)
            found.append((np.sqrt(2 * limit / precision) / variance)[:, None])
        return found

    return _intervals(stages, targets, error, sizes, np.ones(1))


def _second_share(stages: Sequence[StageReports], error: float) -> tuple[float, float]:
    """The shares of the second of two answers that the stages together do not refute.

    In a stage, reports that speak for the answer are counted, and p_k is the probability of as many or more (as few or
    fewer) if the share is m, given all stages before. Of sizes that were fixed, sum_k (n_k / n)^1/2 Phi^-1(1 - p_k)
    exceeds the normal quantile no more often than it says, up to the error that is spent on cutting p_k below 1.
    """
    from scipy.special import betainc, betaincc, ndtri

    asked = [stage for stage in stages if stage.people]
    n = np.array([stage.people for stage in asked], dtype=np.float64)
    speaks = [stage.channel.P[1] > stage.channel.P[0] for stage in asked]
    hits = np.array([stage.counts[own].sum() for stage, own in zip(asked, speaks, strict=True)])
    rates = np.array([stage.channel.P[:, own].sum(axis=1) for stage, own in zip(asked, speaks, strict=True)])
    cut = 1 - CUT * error / 2 / len(asked)
    z = -ndtri((1 - CUT) * error / 2)

    def least(tails: Callable[[Floats], Floats], side: float) -> float:
        """The end of the shares on one side: where the distance from the reports is z."""
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            m = (low + high) / 2
            guess = m if side < 0 else 1 - m
            p = np.minimum(tails(rates[:, 0] + guess * (rates[:, 1] - rates[:, 0])), cut)
            refuted = -ndtri(np.maximum(p, 1e-300)) @ np.sqrt(n / n.sum()) >= z
            low, high = (m, high) if refuted else (low, m)
        return low

    some, rest = np.maximum(hits, 1), np.maximum(n - hits, 1)
    lower = least(lambda q: np.where(hits > 0, betainc(some, n - some + 1, q), 1.0), -1.0)
    upper = 1 - least(lambda q: np.where(hits < n, betaincc(n - rest + 1, rest, q), 1.0), 1.0)
    return min(lower, upper), max(lower, upper)


def _intervals(
    stages: Sequence[StageReports], targets: Floats, error: float, sizes: Sizes, chances: Floats
) -> Ends:
    scaled = Scaled.of(targets)
    limit = math.log(2 * statements(scaled.unit) / error)
    scores = [_scores(stage, scaled.unit) for stage in stages]
    bets = sizes([score.variances for score in scores], limit)
    at_once = max(LARGEST // (len(chances) * max(score.values.shape[1] for score in scores)), 1)
    parts = [slice(k, k + at_once) for k in range(0, max(len(scaled.unit), 1), at_once)]
    ends = []
    for rows in parts:
        looked, own = [score.part(rows) for score in scores], [bet[rows] for bet in bets]
        least = _least(looked, own, chances, limit)
        ends.append((least, 1 - _least([score.mirrored() for score in looked], own, chances, limit)))
    lower, upper = (np.concatenate(found) for found in zip(*ends, strict=True))
    # Two refutations that should not both be: what is between them is all that is left.
    return Ends(scaled.values(np.minimum(lower, upper)), scaled.values(np.maximum(lower, upper)))


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


def _scores(stage: StageReports, targets: Floats) -> _Scores:
    channel = stage.channel
    values = channel.weights(targets)
    told = np.abs(values @ channel.P.T - targets).max(axis=1) <= UNBIASED
    spread = np.maximum(variances(values, channel.outputs), 1e-300)
    return _Scores(values, np.where(told, spread, np.inf), np.asarray(stage.counts, dtype=np.float64))


def _least(stages: list[_Scores], sizes: list[Floats], chances: Floats, limit: float) -> Floats:
    """The smallest means that bets on more do not refute."""
    bets = [
        np.minimum(size, MOST / (1 - np.minimum(stage.values.min(axis=1), 0.0))[:, None])
        for stage, size in zip(stages, sizes, strict=True)
    ]

    def refuted(m: Floats) -> NDArray[np.bool_]:
        """Whether the mean of what the bets have become exceeds the limit; it falls as m grows."""
        total = np.tile(np.log(chances), (len(m), 1))
        for stage, bet in zip(stages, bets, strict=True):
            off = stage.values - m[:, None]
            total += np.log1p(bet[:, :, None] * off[:, None, :]) @ stage.counts
        most = total.max(axis=1)
        return np.asarray(most + np.log(np.exp(total - most[:, None]).sum(axis=1)) > limit)

    low, high = np.zeros(len(stages[0].values)), np.ones(len(stages[0].values))
    none, all_ = ~refuted(low), refuted(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        more = refuted(middle)
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.where(none, 0.0, np.where(all_, 1.0, low))
