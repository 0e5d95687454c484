"""Noise that is added to numbers: Laplace, Gaussian, and geometric on whole numbers.

Geometric noise needs no analysis of its own. Beyond the values all reports on one side say the same, so the
mechanism is a finite matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from .._common import checks
from .._common.types import Floats
from ..errors import OptionError, PriorError
from ..model.mechanism import Mechanism
from ..model.prior import Prior, check_prior


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
        return self.scale**2 * (2.0 if self.family == "laplace" else 1.0)

    def below(self, distance: Floats) -> Floats:
        """P(noise <= distance).

        Parameters
        ----------
        distance
            Report minus value.
        """
        z = np.asarray(distance) / self.scale
        if self.family == "gaussian":
            return np.asarray(ndtr(z))
        half = np.exp(-np.abs(z)) / 2
        return np.where(z < 0, half, 1 - half)

    def log_density(self, distance: Floats) -> Floats:
        """The logarithm of the density, up to a constant that all values share.

        Parameters
        ----------
        distance
            Report minus value.
        """
        z = np.abs(np.asarray(distance)) / self.scale
        return -z if self.family == "laplace" else -(z**2) / 2

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
    labels = check_prior(prior).labels
    if any(isinstance(x, bool) or not isinstance(x, int | float) or not math.isfinite(x) for x in labels):
        raise PriorError(
            "the labels must be numbers to add noise to",
            given=", ".join(repr(x)[:20] for x in labels[:3]),
            remedy="e.g. `Prior({0: 0.5, 1: 0.3, 2: 0.2})`",
        )
    return np.array([float(x) for x in labels])  # type: ignore[arg-type]
