"""What proves an upper bound, in the order of the caller's symbols."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Union

import numpy as np

from .._common.types import Floats, Ints

Proof = Union[Floats, "QuadraticProof"]  # of a utility, the dual vector; of an efficiency, weights


@dataclass(frozen=True, eq=False)
class QuadraticProof:
    """W, as a vector where it is diagonal, and prices y where the proof is over all lift vectors.

    Without prices every variance and covariance is at its limit. With `groups` the proof is for the symbols merged into
    these groups, which the purpose does not tell apart; W and y are then over the groups.

    `over_set`: the lift vectors are those that are admissible for every prior of the set, else those for the nominal
    one. Without prices the symbols are all alike. With `cells` the proof needs no list of vectors: they are trees of
    cells whose leaves cover all vectors, one for each form that the constraint of the set can have. A row is (split,
    first, rho, theta, mode, bound, v). A cell is a range of the largest lift t, one of the middle lift in parts of t,
    and the levels that symbols may have. Split 0 halves the first range, 1 the second; 2 + 3 i + level gives symbol i
    this level (0, 1 for the middle, 2 for t) in one half and not in the other; -1 is a leaf. The halves are the rows
    `first` and `first` + 1. `low` is the part of -W that counts on products with a lower level; aa' with a = `away`,
    of a few columns, is another part; v has a number for each of these. See cone.bound.
    """

    weights: Floats
    prices: Floats | None = None
    groups: Ints | None = None
    over_set: bool = False
    low: Floats | None = None
    away: Floats | None = None
    cells: Floats | None = None

    def with_symbols(self, order: Ints) -> QuadraticProof:
        """With cells that are split by symbol order[i] where it was i; all else is as it is."""
        if self.cells is None:
            return self
        cells = self.cells.copy()
        symbols = np.flatnonzero(cells[:, 0] >= 2)
        which, level = np.divmod(cells[symbols, 0].astype(np.int64) - 2, 3)
        cells[symbols, 0] = 2 + 3 * order[which] + level
        return replace(self, cells=cells)
