"""Convex generators f of f-informations and f-divergences: those that have names, and a check of any other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._common.types import Floats
from ..errors import UtilityError

Generator = Callable[[Floats], Floats]


def check_generator(f: Generator, name: str) -> None:
    """Refuse an f that is not visibly convex with f(1) = 0 and f(0) finite."""
    t = np.concatenate((np.linspace(0, 4, 257), np.geomspace(4, 1e4, 64)[1:]))  # holds 1
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(f(t), dtype=np.float64)
        if values.shape != t.shape:
            raise TypeError(f"it returned shape {values.shape} for shape {t.shape}")
    except (TypeError, ValueError) as error:
        raise UtilityError(
            f"f of {name!r} must work element by element on arrays, got: {error}",
            remedy="write it with numpy functions, e.g. np.abs(t - 1)",
        ) from None
    if not np.isfinite(values).all():
        bad = int(np.argmax(~np.isfinite(values)))
        raise UtilityError(
            f"f of {name!r} must be finite on [0, inf)",
            given=f"{values[bad]} at {t[bad]:g}",
            remedy=(
                "define it there, e.g. 0 log 0 = 0, or choose another f: an infinite f(0) is not covered"
            ),
        )
    at_one = float(values[t == 1][0])
    if abs(at_one) > 1e-12:
        raise UtilityError(
            f"f of {name!r} must vanish at 1",
            given=f"f(1) = {at_one:g}",
            remedy="use f(t) - f(1)",
        )
    w = (t[2:] - t[1:-1]) / (t[2:] - t[:-2])
    chord = w * values[:-2] + (1 - w) * values[2:]
    noise = 1e-9 * np.abs(chord) + 1e-12 * np.abs(values[t <= 4]).max()
    bent = values[1:-1] > chord + noise
    if bent.any():
        raise UtilityError(
            f"f of {name!r} must be convex",
            given=f"one that is not near t = {t[1:-1][bent][0]:.4g}",
            remedy="for a concave f use -f",
        )


# An f-information does not change when a multiple of t - 1 is added to f. The generators below are written so
# that they vanish to second order at 1 and lose no digits there: lifts close to 1 are what small epsilons are
# made of.


def mutual_information(t: Floats) -> Floats:
    """t log t - (t - 1)."""
    u = t - 1
    # log1p is precise near 1, but near 0, where u is -1 up to rounding, only log is.
    log = np.where(t > 0.5, np.log1p(np.maximum(u, -0.5)), np.log(np.where(t > 0, t, 1.0)))
    return np.asarray(t * log - u)


def total_variation(t: Floats) -> Floats:
    """|t - 1| / 2."""
    return np.abs(t - 1) / 2


def chi_squared(t: Floats) -> Floats:
    """(t - 1)^2."""
    return (t - 1) ** 2


def hellinger(t: Floats) -> Floats:
    """(sqrt(t) - 1)^2 / 2."""
    return np.asarray(((t - 1) / (np.sqrt(t) + 1)) ** 2 / 2)


def jensen_shannon(t: Floats) -> Floats:
    """(t log t - (1 + t) log((1 + t)/2)) / 2."""
    u = t - 1
    return (mutual_information(t) + u - (2 + u) * np.log1p(u / 2)) / 2
