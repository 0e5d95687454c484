"""Numbers as answers: unbiased rounding to a grid, and brackets."""

from .estimation.numeric import Brackets, Grid

__all__ = ["Brackets", "Grid"]
