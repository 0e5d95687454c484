"""Exact pricing by a table of all lift vertices, for small alphabets: the fastest way while the table is small."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...._common.types import Floats
from ....model.regions import rounding
from ....theory.lift_vectors import subset_sums
from . import kernels
from .separable import LISTED, Priced, Separable

FRACTION = 0.2  # columns of less than this part of the largest reduced value are left for later rounds


@dataclass(frozen=True)
class VertexTable:
    """All vertices of the lift polytope: sets of full symbols as bits, sorted by the partial symbol.

    The vertices of partial symbol j begin at starts[j]; its lift lies `above` low, and adds `gain` to mu.
    """

    problem: Separable
    sets: NDArray[np.int32]
    starts: NDArray[np.int64]
    above: Floats
    gain: Floats
    scratch: Floats

    def price(self, y: Floats, threshold: float, each: int) -> Priced:
        """The columns of largest reduced value above the threshold, up to `each` a partial symbol, and the maximum."""
        problem = self.problem
        at_low, at_high = problem.ends
        profit = problem.pi * (at_high - at_low) - y * (problem.high - problem.low)
        base = problem.empty_value(y)
        table = kernels.vertex_table(self.sets, self.starts, self.gain, self.above, self.scratch)
        best, value, largest = kernels.vertex_price(table, profit, y, threshold - base, each)
        good = (best >= 0) & (value + base >= FRACTION * (largest + base))
        full = (self.sets[best[good], None] >> np.arange(problem.size, dtype=np.int32) & 1).astype(np.bool_)
        return Priced(full, np.nonzero(good)[0], largest + base, 0)


def vertex_table(problem: Separable) -> VertexTable | None:
    """The table of all vertices, or None if the alphabet is too large for it or the only vertex is 1."""
    noise = float(rounding(np.log(problem.high)))
    if problem.size > LISTED or problem.high - problem.low <= noise:
        return None
    capacity = (1 - problem.low) / (problem.high - problem.low)
    sums = subset_sums(problem.pi)
    room = capacity - sums
    sets, starts = kernels.vertex_sets(room, problem.size, noise * capacity)
    # As in `Separable.lifts`, to the last bit: the master program holds the same vertices.
    left = (1 - problem.low) - (problem.high - problem.low) * sums[sets]
    masses = np.repeat(problem.pi, np.diff(starts))
    above = np.clip(left / masses, 0.0, problem.high - problem.low)
    gain = masses * (problem.f(problem.low + above) - problem.ends[0])
    return VertexTable(problem, sets, starts, above, np.asarray(gain, dtype=np.float64), np.empty_like(room))
