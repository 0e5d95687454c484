"""Symbols that a set of priors treats alike: one row for each class of them, and the solution spread over all.

If the set and its nominal prior do not change when two symbols are exchanged, a column with the two exchanged is as
good, and an optimal solution averaged over such exchanges stays one: see `solver.classes`. Here columns have three
levels.
"""

from __future__ import annotations

import numpy as np

from ..._common.types import Floats, Ints
from ...model.prior_set import PriorSet
from .classes import MeansMaster, places, turns


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


class AlikeMaster(MeansMaster):
    """The one for columns of any levels, which it keeps whole."""

    def __init__(self, pi: Floats, low: float, high: float, scale: float, classes: Ints) -> None:
        super().__init__(pi, low, high, scale, classes)
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

    def _spread(self, column: int, weight: float) -> tuple[Floats, Floats]:
        """Every symbol of a class has each of its lifts for equally long."""
        lifts = self.whole[column]
        groups = [np.flatnonzero(self.classes == k) for k in range(len(self.sizes))]
        moved = np.array([len(g) for g in groups if np.ptp(lifts[g]) > 0], dtype=np.int64)
        middle, lengths = turns(moved)
        spread = np.empty((len(middle), len(lifts)))
        for symbols in groups:
            spread[:, symbols] = lifts[symbols][places(middle, len(symbols))]
        return spread, weight * lengths
