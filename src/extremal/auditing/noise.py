"""Noise added to numbers: what "we add Laplace noise" leaks, beside the best that could be done.

A secret number X takes finitely many values v_i with probabilities π_i. The report is Y = X + noise, or bounded: moved
to the nearest end of an interval ("clamp"), or drawn again until it falls inside ("resample"). The lift of a value is

    P(y|v_x) / P(y) = 1 / D_x(y),   D_x(y) = Σ_i π_i P(y|v_i) / P(y|v_x).

Laplace: D_x is lowest at y = v_x, rises away from it and is constant beyond all values. Gaussian: D_x is a sum of
exponentials of y, so it is convex, and for the largest value it falls to π_x as y grows. In both cases the reports
that raise v_x by more than a given factor form an interval, whose probability is a difference of distribution
functions. So worst case, tail and envelope need no integration, only the ends of intervals: roots in one variable.

Geometric noise on whole numbers needs no analysis of its own. Beyond the values all reports on one side say the same,
so the mechanism is a finite matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp

from .._common import checks
from .._common.types import Floats
from .._common.words import at_most, factor
from ..errors import MechanismError, OptionError, PriorError
from ..model.leakage import ROUNDING
from ..model.mechanism import Mechanism
from ..model.prior import Prior, check_prior
from .text import chance, number

NARROW = 1e-6  # an interval in which the density is constant to 1e-12
FARTHEST = 1e100  # scales from the middle: squares stay within doubles
LARGE = 1e6  # a function value that is far from 0
HALVINGS = 60  # of the range of levels: to rounding

Piece = tuple[float, float]  # an interval of reports


@dataclass(frozen=True)
class Noise:
    """Laplace or Gaussian noise of a scale (Gaussian: the standard deviation), with bounds on the report or none.

    Examples
    --------
    >>> import extremal as ex
    >>> ex.noise.laplace(2.0).scale
    2.0

    Parameters
    ----------
    family
        "laplace" or "gaussian".
    scale
        The scale; for Gaussian noise the standard deviation.
    bounds
        The smallest and the largest report; None for no bounds.
    outside
        Reports beyond the bounds: "clamp" moves them to the nearer bound, "resample" draws them again.
    """

    family: str
    scale: float
    bounds: tuple[float, float] | None = None
    outside: str = "clamp"

    def __post_init__(self) -> None:
        checks.number(self.scale, "scale", above=0, remedy="e.g. 2.0")
        checks.choice(self.outside, "outside", ("clamp", "resample"), remedy="clamp is usual")
        if self.bounds is not None:
            checks.increasing(self.bounds, "bounds", count=2, finite=True, remedy="e.g. (0, 10)")

    @property
    def variance(self) -> float:
        """The variance of the noise, before any bound."""
        return self.scale * self.scale * self.unit_variance

    @property
    def unit_variance(self) -> float:
        """The variance at a scale of 1."""
        return 2.0 if self.family == "laplace" else 1.0

    def log_below(self, z: Floats) -> Floats:
        """log P(noise <= z).

        Parameters
        ----------
        z
            A distance in units of the scale.
        """
        if self.family == "gaussian":
            return log_ndtr(z)
        return np.where(z < 0, z - math.log(2), np.log1p(-np.exp(-np.abs(z)) / 2))

    def log_between(self, low: Floats, high: Floats) -> Floats:
        """log P(low < noise <= high), from the side where both are rarer.

        Parameters
        ----------
        low
            In units of the scale, as `high`.
        high
            The larger end.
        """
        flipped = low > 0
        low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
        above, under = self.log_below(high), self.log_below(low)
        middle = np.where(np.isfinite(low) & np.isfinite(high), low, 0.0)  # about
        with np.errstate(all="ignore"):
            wide = np.where(above > under, above + np.log(-np.expm1(under - above)), -np.inf)
            narrow = np.log(high - low) + self._log_density(middle)
            return np.where((high - low) * (1 + np.abs(middle)) < NARROW, narrow, wide)

    def _log_density(self, z: Floats) -> Floats:
        """In units of the scale."""
        if self.family == "gaussian":
            return -z * z / 2 - math.log(2 * math.pi) / 2
        return -np.abs(z) - math.log(2)

    def log_ratios(self, y: float, values: Floats, x: int) -> Floats:
        """log of the densities of a report given the values, over that given one of them.

        Parameters
        ----------
        y
            The report, in units of the scale as `values`.
        values
            All values.
        x
            The place of the value to compare with.
        """
        if self.family == "laplace":
            return np.asarray(np.abs(y - values[x]) - np.abs(y - values))
        return np.asarray((values - values[x]) * (y - values / 2 - values[x] / 2))

    def __str__(self) -> str:
        kind = f"{self.family.capitalize()} noise of scale {self.scale:g}"
        if self.bounds is None:
            return kind
        how = "moved to the nearest end" if self.outside == "clamp" else "drawn again"
        return f"{kind}, reports outside {self.bounds[0]:g} to {self.bounds[1]:g} {how}"


def laplace(scale: float, bounds: tuple[float, float] | None = None, outside: str = "clamp") -> Noise:
    """Laplace noise with density exp(-|z| / scale) / (2 scale).

    Examples
    --------
    >>> import extremal as ex
    >>> ex.noise.laplace(2.0).scale
    2.0

    Parameters
    ----------
    scale
        The scale.
    bounds
        The smallest and the largest report; None for no bounds.
    outside
        Reports beyond the bounds: "clamp" moves them to the nearer bound, "resample" draws them again.
    """
    return Noise("laplace", scale, bounds, outside)


def gaussian(sigma: float, bounds: tuple[float, float] | None = None, outside: str = "clamp") -> Noise:
    """Gaussian noise with the standard deviation sigma.

    Examples
    --------
    >>> import extremal as ex
    >>> ex.noise.gaussian(2.0, bounds=(0, 10)).scale
    2.0

    Parameters
    ----------
    sigma
        The standard deviation.
    bounds
        The smallest and the largest report; None for no bounds.
    outside
        Reports beyond the bounds: "clamp" moves them to the nearer bound, "resample" draws them again.
    """
    return Noise("gaussian", sigma, bounds, outside)


def geometric(prior: Prior, scale: float, bounds: tuple[int, int] | None = None) -> Mechanism:
    """Two-sided geometric noise on whole numbers, P(noise = k) ∝ exp(-|k| / scale), as a finite mechanism.

    Reports at or beyond an end are one report: the end. Without bounds the ends are the smallest and the largest
    value, which loses nothing, since a report beyond them says the same as the end itself.

    Examples
    --------
    >>> import extremal as ex
    >>> salary = ex.Prior({0: 0.2, 1: 0.5, 2: 0.3})
    >>> round(ex.epsilon_pml(salary, ex.noise.geometric(salary, 1.0, bounds=(0, 2))), 3)
    0.857

    Parameters
    ----------
    prior
        How common each value is; labels are whole numbers.
    scale
        The scale of the noise.
    bounds
        The smallest and the largest report; those of the values if None.
    """
    values = numeric_values(prior)
    if not np.array_equal(values, np.round(values)):
        raise PriorError(
            "geometric noise needs values that are whole numbers",
            given=", ".join(f"{v:g}" for v in values[:5]),
            remedy="round them, or add Laplace noise",
        )
    Noise("laplace", scale, bounds)  # the same checks
    low, high = (int(values.min()), int(values.max())) if bounds is None else (int(bounds[0]), int(bounds[1]))
    below = _geometric_below(np.arange(low, high)[None, :] - values[:, None], scale)
    steps = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return Mechanism(steps, prior.labels, tuple(range(low, high + 1)))


def _geometric_below(k: Floats, scale: float) -> Floats:
    """P(noise <= k); by symmetry that of k >= 0 is what P(noise <= -k - 1) leaves."""
    half = np.exp(np.where(k < 0, k, -(k + 1)) / scale) / (1 + math.exp(-1 / scale))
    return np.where(k < 0, half, 1 - half)


def numeric_values(prior: Prior) -> Floats:
    """The labels of a prior, which must be numbers."""
    remedy = "e.g. `Prior({0: 0.5, 1: 0.3, 2: 0.2})`"
    labels = check_prior(prior).labels
    return np.array([checks.number(x, "label", remedy=remedy, error=PriorError) for x in labels])


@dataclass(frozen=True)
class NoiseAudit:
    """What noise added to a number with this prior leaks, in nats; computed to rounding.

    Examples
    --------
    >>> import extremal as ex
    >>> salary = ex.Prior({0: 0.2, 1: 0.5, 2: 0.3})
    >>> round(ex.noise.audit(salary, ex.noise.laplace(1.0)).epsilon, 3)
    0.857

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
    def _values(self) -> Floats:
        """The same in units of the scale, from the middle: only that matters."""
        return np.asarray(self._units(self.values))

    def _units(self, numbers: Floats | float) -> Floats | float:
        low, high = float(self.values.min()), float(self.values.max())
        with np.errstate(over="ignore"):
            return (numbers - (low / 2 + high / 2)) / self.noise.scale

    @cached_property
    def _inside(self) -> Floats:
        """The logarithm of what the density of each value is divided by: the chance to fall inside the bounds."""
        if self.noise.bounds is None or self.noise.outside == "clamp":
            return np.zeros(len(self.values))
        low, high = self._range
        return self.noise.log_between(low - self._values, high - self._values)

    @cached_property
    def _range(self) -> Piece:
        if self.noise.bounds is None:
            return -math.inf, math.inf
        low, high = (float(self._units(end)) for end in self.noise.bounds)
        return low, high

    def _log_d(self, x: int, y: float) -> float:
        """log D_x(y) at a report where there is a density; its limit where y is infinite."""
        pi, values = self.prior.probabilities, self._values
        if math.isinf(y):
            extreme = float(values.max() if y > 0 else values.min())
            if self.noise.family == "gaussian":
                return math.log(pi[x]) if values[x] == extreme else math.inf
            y = extreme
        ratios = self.noise.log_ratios(y, values, x) + (self._inside[x] - self._inside)
        top = float(ratios.max())
        if top < 1 and ratios.min() > -1:
            return math.log1p(float(pi @ np.expm1(ratios)))  # values that are close: nothing cancels
        return max(math.log(float(pi @ np.exp(ratios - top))) + top, math.log(pi[x]))

    @cached_property
    def _lowest(self) -> list[float]:
        """Where D_x is lowest, for every value."""
        return [self._find_lowest(x) for x in range(len(self.values))]

    def _find_lowest(self, x: int) -> float:
        low, high = self._range
        if self.noise.family == "laplace":
            return min(max(float(self._values[x]), low), high)
        steps = self._values - self._values[x]

        def slope(y: float) -> float:
            logs = self.noise.log_ratios(y, self._values, x) - self._inside
            return float(np.sum(self.prior.probabilities * steps * np.exp(logs - logs.max())))

        if steps.max() == 0:
            return high  # falls as far as there are reports
        if steps.min() == 0:
            return low
        return min(max(_crossing(slope, float(self._values[x])), low), high)

    @cached_property
    def _ends(self) -> list[tuple[Floats, Floats]]:
        """The reports that have a probability of their own, the ends of clamped noise: log P(y|v_i), and log lifts."""
        if self.noise.bounds is None or self.noise.outside == "resample":
            return []
        low, high = self._range
        rows = (self.noise.log_below(low - self._values), self.noise.log_below(self._values - high))
        pi = self.prior.probabilities
        return [(row, np.minimum(row - float(logsumexp(row, b=pi)), -np.log(pi))) for row in rows]

    @cached_property
    def epsilon(self) -> float:
        """The largest leakage of any report, or its limit for ever larger ones."""
        inner = (-self._log_d(x, y) for x, y in enumerate(self._lowest))
        ends = (float(lifts.max()) for _, lifts in self._ends)
        return max([*inner, *ends, 0.0])

    def leakage(self, report: float) -> float:
        """l(X→y) of one report.

        Parameters
        ----------
        report
            The report.
        """
        low, high = self.noise.bounds or (None, None)
        report = checks.number(report, "report", least=low, most=high, remedy="see `bounds`")
        for end, (_, lifts) in zip((low, high), self._ends, strict=False):
            if report == end:
                return max(float(lifts.max()), 0.0)
        y = float(self._units(report))
        return max([0.0, *(-self._log_d(x, y) for x in range(len(self.values)))])

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
        ends = sum(
            float(self.prior.probabilities @ np.exp(row)) for row, lifts in self._ends if lifts.max() > -level
        )
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
        low = min([self._log_d(x, self._lowest[x]), *(-float(lifts[x]) for _, lifts in self._ends)])
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

    def _event(self, x: int, level: float) -> tuple[float, float]:
        """P(E|v_x) and P(E) for the reports with log D_x at most `level`."""
        piece = self._where(x, level)
        chances = np.zeros(len(self.values)) if piece is None else self._chances(piece)
        for row, lifts in self._ends:
            if -lifts[x] <= level:
                chances = chances + np.exp(row)
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
            step, start = 1.0, float(self._values[x])
            while excess(start) > 0 and abs(start) < FARTHEST:
                start += math.copysign(step, lowest)
                step *= 2
        below = low if excess(low) <= 0 else -_crossing(lambda t: excess(-t), -start)
        above = high if excess(high) <= 0 else _crossing(excess, start)
        return max(below, low), min(above, high)

    def _chances(self, piece: Piece) -> Floats:
        """P(Y in piece | v_i) for every value, ends of clamped noise left out."""
        low, high = piece
        return np.exp(self.noise.log_between(low - self._values, high - self._values) - self._inside)

    @cached_property
    def efficiency(self) -> float:
        """Of the plain mean of unbounded reports: the variance of X over that of Y. 0.25: ask four times as many."""
        pi = self.prior.probabilities
        spread = float(pi @ (self._values - pi @ self._values) ** 2)
        return spread / (spread + self.noise.unit_variance)

    def __str__(self) -> str:
        lines = [
            f"{self.noise}: leakage up to {at_most(self.epsilon)} nats, a factor of {factor(self.epsilon)}",
            f"one report in a hundred tells at most {at_most(self.envelope(0.01))} nats, one in ten "
            f"{at_most(self.envelope(0.1))}; "
            f"{chance(self.tail(self.epsilon / 2))} of reports leak more than half of the worst",
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

    Examples
    --------
    >>> import extremal as ex
    >>> salary = ex.Prior({0: 0.2, 1: 0.5, 2: 0.3})
    >>> round(ex.noise.audit(salary, ex.noise.laplace(1.0)).epsilon, 3)
    0.857

    Parameters
    ----------
    prior
        How common each value is; labels are numbers.
    noise
        Made by `laplace` or `gaussian`.
    """
    what, remedy = "laplace(...) or gaussian(...)", "e.g. `laplace(2.0)`"
    checks.instance(noise, "noise", Noise, what, remedy=remedy, error=MechanismError)
    made, same_unit = NoiseAudit(check_prior(prior), noise), "give values, bounds and scale in the same unit"
    farthest = float(np.abs([*made._values, *(end for end in made._range if noise.bounds)]).max())
    if not farthest <= FARTHEST:
        problem = f"must be at least {1 / FARTHEST:g} of the distance between values and bounds"
        raise OptionError(problem, parameter="scale", given=noise.scale, remedy=same_unit)
    if not made._range[0] < made._range[1]:
        problem = "must be farther apart than rounding of the values"
        raise OptionError(problem, parameter="bounds", given=noise.bounds, remedy=same_unit)
    return made


def _crossing(rising: Callable[[float], float], start: float) -> float:
    """Where `rising` becomes positive, looking both ways from start."""
    low = high = start
    step = 1.0
    while rising(low) > 0:
        low, step = low - step, 2 * step
    while rising(high) <= 0:
        high, step = high + step, 2 * step

    if math.isinf(high) or math.isinf(low):  # it never does, or has done so by rounding alone
        return high if math.isinf(high) else start

    def bounded(at: float) -> float:
        return min(max(rising(at), -LARGE), LARGE)  # infinite values would leave nothing to interpolate

    found, _ = brentq(bounded, low, high, xtol=1e-15, rtol=1e-15, maxiter=1000, full_output=True, disp=False)
    return float(found)


def _union(pieces: Sequence[Piece]) -> list[Piece]:
    """Disjoint intervals that cover the same."""
    joined: list[Piece] = []
    for low, high in sorted(pieces):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined
