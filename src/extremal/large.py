"""Large alphabets: shares of many answers from a start and a public step, and the most common answers."""

from __future__ import annotations

from .certification.trees import Tree, tree
from .certification.windows import Windows, windows
from .certification.windows import load_windows as load
from .estimation.heavy_hitters import heavy_hitters
from .estimation.windows import estimate_window_groups as estimate_groups
from .estimation.windows import estimate_windows as estimate

__all__ = ["Tree", "Windows", "estimate", "estimate_groups", "heavy_hitters", "load", "tree", "windows"]
