"""The checks that arguments of many functions share: each gives the value back, or raises one structured error."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import ExtremalError, OptionError


def number(
    value: Any,
    parameter: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    remedy: str | None = None,
) -> float:
    """The value as a float, if it is a finite number within the bounds; truth values and text are no numbers."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        try:
            found = float(value)
        except OverflowError:  # an int or a fraction that no double holds
            found = np.inf
        if (
            np.isfinite(found)
            and (above is None or found > above)
            and (least is None or found >= least)
            and (below is None or found < below)
            and (most is None or found <= most)
        ):
            return found
    if least is not None and most is not None:
        bounds = f" from {least:g} to {most:g}"
    else:
        sides = (("above", above), ("of at least", least), ("below", below), ("at most", most))
        bounds = " and".join(f" {word} {bound:g}" for word, bound in sides if bound is not None)
    raise OptionError(f"must be a number{bounds}", parameter=parameter, given=f"{value!r:.60}", remedy=remedy)


def whole(
    value: Any, parameter: str, *, least: int = 0, most: int | None = None, remedy: str | None = None
) -> int:
    """The value as an int, if it is a whole number within the bounds."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        found = int(value)
        if found >= least and (most is None or found <= most):
            return found
    bounds = f">= {least}" if most is None else f"from {least} to {most}"
    raise OptionError(
        f"must be a whole number {bounds}",
        parameter=parameter,
        given=f"{value!r:.60}",
        remedy=remedy or f"e.g. {least}",
    )


def choice(
    value: Any,
    parameter: str,
    known: Iterable[str],
    *,
    remedy: str | None = None,
    error: type[ExtremalError] = OptionError,
) -> str:
    """The value, if it is one of the words that are known."""
    words = list(known)
    if isinstance(value, str) and value in words:
        return value
    raise error(
        f"must be one of {', '.join(words)}", parameter=parameter, given=f"{value!r:.60}", remedy=remedy
    )


def confidence(value: Any, parameter: str = "confidence", *, remedy: str = "0.95 is usual") -> float:
    """A confidence level or a power: a number above 0 and below 1."""
    return number(value, parameter, above=0, below=1, remedy=remedy)
