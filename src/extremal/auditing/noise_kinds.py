"""Noise that is added to numbers: Laplace, Gaussian, and geometric on whole numbers.

Geometric noise needs no analysis of its own. Beyond the values all reports on one side say the same, so the
mechanism is a finite matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from .._common import checks
from .._common.types import Floats
from ..errors import OptionError, PriorError
from ..model.mechanism import Mechanism
from ..model.prior import Prior, check_prior

NARROW = 1e-6  # an interval in which the density is constant to 1e-12


@dataclass(frozen=True)
class Noise:
    """Laplace or Gaussian noise of a scale (Gaussian: the standard deviation), with bounds on the report or none.

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
        if self.bounds is not None and not (
            all(map(math.isfinite, self.bounds)) and self.bounds[0] < self.bounds[1]
        ):
            raise OptionError(
                "must be two numbers, the smaller first",
                parameter="bounds",
                given=self.bounds,
                remedy="e.g. (0, 10)",
            )

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
            return np.asarray(log_ndtr(z))
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
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            wide = np.where(above > under, above + np.log(-np.expm1(under - above)), -np.inf)
            narrow = np.log(high - low) + self._log_density(middle)
            return np.where((high - low) * (1 + np.abs(middle)) < NARROW, narrow, wide)

    def _log_density(self, z: Floats) -> Floats:
        """In units of the scale."""
        if self.family == "gaussian":
            return np.asarray(-z * z / 2 - math.log(2 * math.pi) / 2)
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
