"""Numbers as callers give them: fresh arrays of 64-bit floats, or a refusal in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._common.types import Floats
from ..errors import PriorError


def as_floats(values: Any) -> Floats:
    """A fresh array of the numbers given. Text raises TypeError, though numpy would convert it."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    raw = np.asarray(values)
    text = raw.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in raw.flat)
    if text or raw.dtype.kind not in "biufO":
        raise TypeError("not numbers")
    return np.array(raw, dtype=np.float64)


def as_vector(values: Any, what: str) -> Floats:
    """A fresh vector of the numbers given."""
    try:
        p = as_floats(values)
    except (TypeError, ValueError, OverflowError):
        raise PriorError(
            f"{what} must be numbers",
            given=repr(values)[:80],
            remedy="give numbers, not text",
        ) from None
    if p.ndim != 1:
        raise PriorError(
            f"{what} must be one-dimensional",
            given=f"shape {p.shape}",
            remedy="give a flat list of numbers",
        )
    return p
