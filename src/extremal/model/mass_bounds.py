"""Bounds on the masses of a set of priors, as people give them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._common.types import Floats
from .._common.words import shorten
from ..errors import PriorError
from .labels import Labels
from .vectors import as_vector

SLACK = 1e-12  # how far outside of a set rounding may put a prior that belongs to it


def in_order(
    lower: Mapping[Any, float] | ArrayLike,
    upper: Mapping[Any, float] | ArrayLike,
    labels: Iterable[Any] | None,
) -> tuple[Floats, Floats, Iterable[Any] | None]:
    """Both bounds as vectors in one order, and the labels in that order if there are any."""
    if isinstance(lower, Mapping) != isinstance(upper, Mapping):
        raise PriorError(
            "lower and upper must both be mappings or both be lists",
            given="one of each",
            remedy="give two mappings with equal keys, or two lists",
        )
    if isinstance(lower, Mapping) and isinstance(upper, Mapping):
        if labels is not None or set(lower) != set(upper):
            raise PriorError(
                "lower and upper must name the same labels once",
                given=f"{shorten(list(lower))} and {shorten(list(upper))}",
                remedy="give two mappings with equal keys, and no labels",
            )
        labels, upper, lower = list(lower), [upper[x] for x in lower], list(lower.values())
    return as_vector(lower, "lower"), as_vector(upper, "upper"), labels


def check_bounds(l: Floats, u: Floats, names: Labels) -> None:
    """Refuse bounds between which no prior lies."""
    if len(l) != len(u):
        raise PriorError(
            "lower and upper must have one number for each symbol",
            given=f"{len(l)} and {len(u)}",
            remedy="give as many of both",
        )
    bad = ~((l >= 0) & (l <= u) & (u <= 1))
    if bad.any():
        k = int(np.argmax(bad))
        raise PriorError(
            "intervals must satisfy 0 <= lower <= upper <= 1",
            given=f"[{l[k]:g}, {u[k]:g}] for {names[k]!r}",
            remedy="swap or clip them",
        )
    if math.fsum(l) > 1 + SLACK or math.fsum(u) < 1 - SLACK:
        raise PriorError(
            "some prior must lie within the intervals",
            given=(
                f"lower bounds that sum to {math.fsum(l):.6g} and upper bounds that sum to {math.fsum(u):.6g}"
            ),
            remedy="widen them until 1 lies between",
        )


def check_number(value: Any, what: str) -> float:
    """A finite number."""
    if isinstance(value, bool | str | bytes) or np.ndim(value) != 0:
        raise PriorError(
            f"{what} must be a number",
            given=f"{value!r:.60}",
            remedy="e.g. 0.05",
        )
    (number,) = as_vector([value], what)
    if not math.isfinite(number):
        raise PriorError(
            f"{what} must be finite",
            given=repr(value)[:60],
            remedy="e.g. 0.05",
        )
    return float(number)
