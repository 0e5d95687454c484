"""Symbols that a set of priors treats alike: one row for each class of them, and the solution spread over all.

If the set and its nominal prior do not change when two symbols are exchanged, a column with the two exchanged is as
good, and an optimal solution averaged over such exchanges stays one: see `solver.classes`. Here columns have three
levels.
"""

from __future__ import annotations

import numpy as np

from ..._types import Floats, Ints
from ...model.prior_set import PriorSet
from ..solver.master import ATTEMPTS, Master


def alike(priors: PriorSet) -> Ints:
    """The class of each symbol; equal symbols have the same masses in everything that makes up the set."""
    vectors = (priors.nominal.probabilities, priors.center, priors.lower, priors.upper)
    return np.unique(np.stack(vectors), axis=1, return_inverse=True)[1].ravel().astype(np.int64)


def arranged(lifts: Floats, classes: Ints) -> Floats:
    """Columns, given as rows, with the lifts of each class in descending order."""
    order = np.lexsort((-lifts, np.broadcast_to(classes, lifts.shape)))
    sorted_lifts = np.take_along_axis(lifts, order, axis=1)
    result = np.empty_like(lifts)
    result[:, np.argsort(classes, kind="stable")] = sorted_lifts
    return result


class AlikeMaster(Master):
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
        new = self._unseen([row.tobytes() for row in np.round(lifts, 9) + 0.0])
        means = lifts[new] @ (np.eye(len(self.sizes))[self.classes] / self.sizes)
        self.whole = np.concatenate((self.whole, lifts[new]))
        self._append(means, gains[new])
        return len(new)

    def used(self, weights: Floats) -> tuple[Floats, Floats]:
        """Columns over all symbols, and weights, that hold every row to full precision: at most one for each symbol."""
        spread = [self._spread(self.whole[k], rho) for k, rho in zip(*self._polished(weights), strict=True)]
        lifts = np.concatenate([lifts for lifts, _ in spread])
        shares = np.concatenate([shares for _, shares in spread])
        if len(lifts) <= len(self.masses):
            return lifts, shares
        whole = Master(self.masses, self.low, self.high, 1.0)
        whole.add(lifts, np.zeros(len(lifts)))
        solution = whole.solve(ATTEMPTS[1:])  # nothing to maximise: dual simplex is faster
        return whole.used(whole.refine(solution).weights)

    def _spread(self, column: Floats, weight: float) -> tuple[Floats, Floats]:
        """The column moved around every class as t runs from 0 to 1, by floor(t m) symbols in a class of m.

        Every symbol of a class then has each of its lifts for equally long.
        """
        groups = [np.flatnonzero(self.classes == k) for k in range(len(self.sizes))]
        moved = [len(g) for g in groups if np.ptp(column[g]) > 0]
        t = np.unique(np.concatenate([np.zeros(1), *(np.arange(m) / m for m in set(moved))]))
        ends = np.append(t, 1.0)
        middle = (ends[1:] + ends[:-1]) / 2
        lifts = np.empty((len(t), len(column)))
        for symbols in groups:
            m = len(symbols)
            place = (np.arange(m) - np.floor(middle * m)[:, None].astype(np.int64)) % m
            lifts[:, symbols] = column[symbols][place]
        return lifts, weight * np.diff(ends)

    def _dual(self, u: Floats) -> Floats:
        return np.asarray((super()._dual(u) / self.sizes)[self.classes])
