"""Numbers as answers: unbiased rounding to a grid, and brackets."""

from __future__ import annotations

from .estimation.numeric import Brackets, Grid

__all__ = ["Brackets", "Grid"]
