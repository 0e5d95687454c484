"""The one check of a confidence level."""

from __future__ import annotations

import numbers
from typing import Any

from ..errors import OptionError


def check_confidence(confidence: Any, *, least: float = 0.0, certain: bool = False) -> float:
    """The confidence, if it is a number above 0, or from `least` on, and below 1; 1 itself where it may be certain."""
    if isinstance(confidence, numbers.Real) and not isinstance(confidence, bool):
        value = float(confidence)
        if (value >= least if least else value > 0) and (value <= 1 if certain else value < 1):
            return value
    lower = f"from {least:g} to" if least else "above 0 and"
    raise OptionError(
        f"must be a number {lower} {'at most' if certain else 'below'} 1",
        parameter="confidence",
        given=f"{confidence!r:.60}",
        remedy="0.95 is usual",
    )
