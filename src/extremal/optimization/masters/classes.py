"""Symbols of equal mass: one row for each class of them in the master program, and the solution spread over all.

A separable utility does not see which of several equal symbols a column holds. Averaged over all permutations inside
the classes, an optimal solution stays one; so the program needs only the mean lift in each class, and its multipliers,
shared equally in a class, are those of the full program. Priors from counts have few classes, however many symbols.

The same holds for a set of priors that does not change when two symbols are exchanged.
"""

from __future__ import annotations

import numpy as np

from ..._common.types import Floats, Ints
from .linear import ATTEMPTS, Master


class ClassMaster(Master):
    """The master program over class means. Columns come in and go out as lifts of the symbols, as in a Master."""

    def __init__(self, pi: Floats, low: float, high: float, scale: float, classes: Ints) -> None:
        super().__init__(np.bincount(classes, weights=pi).astype(np.float64), low, high, scale)
        self.masses = pi
        self.classes = classes
        self.sizes = np.bincount(classes)
        self.whole = np.zeros((0, len(pi)))  # the columns themselves

    @property
    def columns(self) -> Floats:
        """The columns added so far."""
        return self.whole

    def add(self, lifts: Floats, gains: Floats) -> int:
        """Add the columns that differ from all others in more than the order of equal symbols."""
        lifts = arranged(lifts, self.classes)
        new = self._unseen(self._keys(lifts, np.round(lifts, 9) + 0.0))
        lifts, member = lifts[new], np.eye(len(self.sizes))[self.classes]
        full, low = lifts >= self.high, self.low
        between = np.where(full, 0.0, lifts - low) @ member
        self.whole = np.concatenate((self.whole, lifts))
        self._append(
            low + (self.high - low) * (full @ member) / self.sizes + between / self.sizes, gains[new]
        )
        return len(new)

    def used(self, weights: Floats) -> tuple[Floats, Floats]:
        """Columns over all symbols, and weights, that hold every row to full precision: at most one for each symbol."""
        spread = [self._spread(k, rho) for k, rho in zip(*self._polished(weights), strict=True)]
        lifts = np.concatenate([lifts for lifts, _ in spread])
        shares = np.concatenate([shares for _, shares in spread])
        if len(lifts) <= len(self.masses):
            return lifts, shares
        whole = Master(self.masses, self.low, self.high, 1.0)
        whole.add(lifts, np.zeros(len(lifts)))
        solution = whole.solve(ATTEMPTS[1:])  # nothing to maximise: dual simplex is faster
        return whole.used(whole.refine(solution).weights)

    def _spread(self, column: int, weight: float) -> tuple[Floats, Floats]:
        """The column moved around every class as t runs from 0 to 1, by floor(t m) symbols in a class of m."""
        lifts = self.whole[column]
        groups = [np.flatnonzero(self.classes == k) for k in range(len(self.sizes))]
        moved = np.array([len(g) for g in groups if np.ptp(lifts[g]) > 0], dtype=np.int64)
        middle, lengths = turns(moved)
        spread = np.empty((len(middle), len(lifts)))
        for symbols in groups:
            spread[:, symbols] = lifts[symbols][places(middle, len(symbols))]
        return spread, weight * lengths

    def _dual(self, u: Floats) -> Floats:
        return (super()._dual(u) / self.sizes)[self.classes]


def turns(sizes: Ints) -> tuple[Floats, Floats]:
    """The middles and lengths of the times between 0 and 1 in which no class of these sizes moves on."""
    ends = np.append(
        np.unique(np.concatenate([np.zeros(1), *(np.arange(m) / m for m in np.unique(sizes))])), 1.0
    )
    return (ends[1:] + ends[:-1]) / 2, np.diff(ends)


def places(middle: Floats, m: int) -> Ints:
    """Where each symbol of a class of m stands at these times."""
    return (np.arange(m) - np.floor(middle * m)[:, None].astype(np.int64)) % m


def arranged(lifts: Floats, classes: Ints) -> Floats:
    """Columns, given as rows, with the lifts of each class in descending order."""
    order = np.lexsort((-lifts, np.broadcast_to(classes, lifts.shape)))
    sorted_lifts = np.take_along_axis(lifts, order, axis=1)
    result = np.empty_like(lifts)
    result[:, np.argsort(classes, kind="stable")] = sorted_lifts
    return result
