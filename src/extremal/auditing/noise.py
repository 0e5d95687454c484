"""Noise added to numbers: what "we add Laplace noise" leaks, beside the best that could be done.

A secret number X takes finitely many values v_i with probabilities π_i. The report is Y = X + noise, or bounded: moved
to the nearest end of an interval ("clamp"), or drawn again until it falls inside ("resample"). The lift of a value is

    P(y|v_x) / P(y) = 1 / D_x(y),   D_x(y) = Σ_i π_i P(y|v_i) / P(y|v_x).

Laplace: D_x is lowest at y = v_x, rises away from it and is constant beyond all values. Gaussian: D_x is a sum of
exponentials of y, so it is convex, and for the largest value it falls to π_x as y grows. In both cases the reports
that raise v_x by more than a given factor form an interval, whose probability is a difference of distribution
functions. So worst case, tail and envelope need no integration, only the ends of intervals: roots in one variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from .._common import checks
from .._common.types import Floats
from .._common.words import at_most, factor
from ..errors import MechanismError, OptionError
from ..model.leakage import ROUNDING
from ..model.prior import Prior, check_prior
from .noise_kinds import Noise, gaussian, geometric, laplace, numeric_values
from .wording import chance, number

__all__ = ["Noise", "NoiseAudit", "audit", "gaussian", "geometric", "laplace"]

HALVINGS = 60  # of the range of levels: to rounding


Piece = tuple[float, float]  # an interval of reports


@dataclass(frozen=True)
class NoiseAudit:
    """What noise added to a number with this prior leaks, in nats; computed to rounding.

    Attributes
    ----------
    prior
        How common each value is; labels are numbers.
    noise
        The noise.
    """

    prior: Prior
    noise: Noise

    @cached_property
    def values(self) -> Floats:
        """The numbers, in the order of the prior."""
        return numeric_values(self.prior)

    @cached_property
    def _inside(self) -> Floats:
        """The logarithm of what the density of each value is divided by: the chance to fall inside the bounds."""
        if self.noise.bounds is None or self.noise.outside == "clamp":
            return np.zeros(len(self.values))
        low, high = self.noise.bounds
        return np.log(self.noise.below(high - self.values) - self.noise.below(low - self.values))

    @property
    def _range(self) -> Piece:
        return (-math.inf, math.inf) if self.noise.bounds is None else self.noise.bounds

    def _log_d(self, x: int, y: float) -> float:
        """log D_x(y) at a report where there is a density; its limit where y is infinite."""
        if math.isinf(y):
            if self.noise.family == "laplace":
                y = float(self.values.max() if y > 0 else self.values.min())
            else:
                extreme = self.values.max() if y > 0 else self.values.min()
                return math.log(self.prior.probabilities[x]) if self.values[x] == extreme else math.inf
        logs = self.noise.log_density(y - self.values) - self._inside
        top = float(logs.max())
        return math.log(float(self.prior.probabilities @ np.exp(logs - top))) + top - float(logs[x])

    @cached_property
    def _lowest(self) -> list[float]:
        """Where D_x is lowest, for every value."""
        return [self._find_lowest(x) for x in range(len(self.values))]

    def _find_lowest(self, x: int) -> float:
        low, high = self._range
        if self.noise.family == "laplace":
            return min(max(float(self.values[x]), low), high)
        steps = self.values - self.values[x]

        def slope(y: float) -> float:
            logs = self.noise.log_density(y - self.values) - self._inside
            return float(np.sum(self.prior.probabilities * steps * np.exp(logs - logs.max())))

        if steps.max() == 0:
            return high  # falls as far as there are reports
        if steps.min() == 0:
            return low
        return min(max(_crossing(slope, float(self.values[x]), self.noise.scale), low), high)

    @cached_property
    def _ends(self) -> list[tuple[Floats, float]]:
        """The reports that have a probability of their own: the ends of clamped noise. P(y|v_i) for each, and P(y)."""
        if self.noise.bounds is None or self.noise.outside == "resample":
            return []
        low, high = self.noise.bounds
        rows = (self.noise.below(low - self.values), self.noise.below(self.values - high))
        return [(row, float(self.prior.probabilities @ row)) for row in rows]

    @cached_property
    def epsilon(self) -> float:
        """The largest leakage of any report, or its limit for ever larger ones."""
        inner = (-self._log_d(x, y) for x, y in enumerate(self._lowest))
        ends = (math.log(float(row.max()) / rho) for row, rho in self._ends)
        return max([*inner, *ends, 0.0])

    def leakage(self, report: float) -> float:
        """l(X→y) of one report.

        Parameters
        ----------
        report
            The report.
        """
        low, high = self._range
        if not low <= report <= high:
            raise OptionError(
                f"must lie between {low:g} and {high:g}",
                parameter="report",
                given=report,
                remedy="see `bounds`",
            )
        for end, (row, rho) in zip(self._range, self._ends, strict=False):
            if report == end:
                return max(math.log(float(row.max()) / rho), 0.0)
        return max([0.0, *(-self._log_d(x, report) for x in range(len(self.values)))])

    def tail(self, epsilon: float) -> float:
        """P[l(X→Y) > epsilon]; excesses up to 1e-12 are rounding and do not count.

        Parameters
        ----------
        epsilon
            The level to exceed, in nats.
        """
        level = -(epsilon + ROUNDING)
        pieces = [piece for x in range(len(self.values)) if (piece := self._where(x, level)) is not None]
        inner = sum(float(self.prior.probabilities @ self._chances(piece)) for piece in _union(pieces))
        ends = sum(rho for row, rho in self._ends if math.log(float(row.max()) / rho) > -level)
        return min(inner + ends, 1.0)

    def envelope(self, delta: float) -> float:
        """How much the worst share delta of all reports can tell, as `measures.envelope` does for mechanisms.

        Parameters
        ----------
        delta
            The share of all reports, between 0 and 1.
        """
        checks.number(delta, "delta", above=0, most=1, remedy="e.g. 0.01")
        best = max(self._largest(x, delta) for x in range(len(self.values)))
        return min(max(math.log(best / delta), 0.0), self.epsilon)

    def _largest(self, x: int, delta: float) -> float:
        """L_x(δ): the event takes reports by decreasing lift, the last ones in part."""
        low = min([self._log_d(x, self._lowest[x]), *(self._end_log_d(x, k) for k in range(len(self._ends)))])
        low, high = low - 1e-9, 800.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._event(x, middle)[1] <= delta:
                low = middle
            else:
                high = middle
        (sure, share), (more, larger) = self._event(x, low), self._event(x, high)
        part = (delta - share) / (larger - share) if larger > share else 0.0
        return float(sure + part * (more - sure))

    def _end_log_d(self, x: int, k: int) -> float:
        row, rho = self._ends[k]
        return math.log(rho / row[x]) if row[x] > 0 else math.inf

    def _event(self, x: int, level: float) -> tuple[float, float]:
        """P(E|v_x) and P(E) for the reports with log D_x at most `level`."""
        piece = self._where(x, level)
        chances = np.zeros(len(self.values)) if piece is None else self._chances(piece)
        for k, (row, _) in enumerate(self._ends):
            if self._end_log_d(x, k) <= level:
                chances = chances + row
        return float(chances[x]), float(self.prior.probabilities @ chances)

    def _where(self, x: int, level: float) -> Piece | None:
        """The interval of reports with log D_x at most `level`."""
        lowest, (low, high) = self._lowest[x], self._range

        def excess(y: float) -> float:
            return self._log_d(x, y) - level

        if excess(lowest) > 0:
            return None
        start = lowest
        if math.isinf(start):  # a report at which D_x is low enough
            step = self.noise.scale
            start = float(self.values[x])
            while excess(start) > 0:
                start += math.copysign(step, lowest)
                step *= 2
        below = low if excess(low) <= 0 else -_crossing(lambda t: excess(-t), -start, self.noise.scale)
        above = high if excess(high) <= 0 else _crossing(excess, start, self.noise.scale)
        return max(below, low), min(above, high)

    def _chances(self, piece: Piece) -> Floats:
        """P(Y in piece | v_i) for every value, ends of clamped noise left out."""
        low, high = piece
        return (self.noise.below(high - self.values) - self.noise.below(low - self.values)) * np.exp(
            -self._inside
        )

    @cached_property
    def efficiency(self) -> float:
        """Of the plain mean of unbounded reports: the variance of X over that of Y. 0.25: ask four times as many."""
        pi = self.prior.probabilities
        spread = float(pi @ (self.values - pi @ self.values) ** 2)
        return spread / (spread + self.noise.variance)

    def __str__(self) -> str:
        lines = [
            f"{self.noise}: leakage up to {at_most(self.epsilon)} nats, a factor of {factor(self.epsilon)}",
            f"one report in a hundred tells at most {at_most(self.envelope(0.01))} nats, one in ten "
            f"{at_most(self.envelope(0.1))}; "
            f"a report leaks more than half of the worst with probability {chance(self.tail(self.epsilon / 2))}",
        ]
        if self.noise.bounds is None:
            lines.append(
                f"the mean of the reports has an efficiency of {number(self.efficiency)}; "
                "`ex.design(prior, epsilon, ex.mean(values))` gives the best at the same leakage"
            )
        return "\n".join(lines)


def audit(prior: Prior, noise: Noise) -> NoiseAudit:
    """What a number with this prior gives away when noise is added to it.

    The labels of the prior are the numbers. See `geometric` for noise in whole numbers, which gives a mechanism.

    Parameters
    ----------
    prior
        How common each value is; labels are numbers.
    noise
        Made by `laplace` or `gaussian`.
    """
    checks.instance(
        noise,
        "noise",
        Noise,
        "laplace(...) or gaussian(...)",
        remedy="e.g. `laplace(2.0)`",
        error=MechanismError,
    )
    made = NoiseAudit(check_prior(prior), noise)
    numeric_values(prior)
    return made


def _crossing(rising: Callable[[float], float], start: float, step: float) -> float:
    """Where `rising` becomes positive, looking both ways from start."""
    low = high = start
    fine = 1e-15 * step
    while rising(low) > 0:
        low, step = low - step, 2 * step
    while rising(high) <= 0:
        high, step = high + step, 2 * step
    return float(brentq(rising, low, high, xtol=fine, rtol=1e-15))


def _union(pieces: Sequence[Piece]) -> list[Piece]:
    """Disjoint intervals that cover the same."""
    joined: list[Piece] = []
    for low, high in sorted(pieces):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined
