"""Large alphabets: shares of many answers, from reports that are a start and a public step."""

from __future__ import annotations

from .estimation import estimate_window_groups as estimate_groups
from .estimation import estimate_windows as estimate
from .windows import Windows, windows
from .windows import load_windows as load

__all__ = ["Windows", "estimate", "estimate_groups", "load", "windows"]
