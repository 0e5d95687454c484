"""Large alphabets: shares of many answers, from reports that are a start and a public step."""

from .estimation.windows import estimate_window_groups as estimate_groups
from .estimation.windows import estimate_windows as estimate
from .lists.windows import Windows, windows
from .lists.windows import load_windows as load

__all__ = ["Windows", "estimate", "estimate_groups", "load", "windows"]
