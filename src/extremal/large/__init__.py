"""Large alphabets: shares of many answers from a start and a public step, and the most common answers."""

from __future__ import annotations

from .estimation import estimate_window_groups as estimate_groups
from .estimation import estimate_windows as estimate
from .heavy_hitters import heavy_hitters
from .trees import Tree, tree
from .windows import Windows, windows
from .windows import load_windows as load

__all__ = ["Tree", "Windows", "estimate", "estimate_groups", "heavy_hitters", "load", "tree", "windows"]
