"""The lift vectors that are admissible for every prior of a set: three levels, t on S, b on R and 0 elsewhere.

The set is {lower <= pi <= upper, |pi - center|_1 <= 2 moved}, and the least probability of symbols A over it is
h(A) = max(center(A) - moved, lower(A), 1 - upper(rest)). See vertices for why two nested sets suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._common.types import Floats, Ints
from .._native.library import Record, reads, record
from ..model.levels import EQUAL, bounded_exp
from ..model.prior_set import PriorSet

TOP, MIDDLE = 2, 1


@dataclass(frozen=True, eq=False)
class SetLevels:
    """A set of priors at a level c = e^epsilon, symbols in decreasing order of the nominal masses pi."""

    pi: Floats
    center: Floats
    lower: Floats
    upper: Floats
    moved: float
    c: float

    @classmethod
    def of(cls, priors: PriorSet, epsilon: float, order: Ints) -> SetLevels:
        """The cone of a set with its symbols in this order."""
        return cls(
            priors.nominal.probabilities[order],
            priors.center[order],
            priors.lower[order],
            priors.upper[order],
            priors.radius / 2,
            bounded_exp(epsilon),
        )

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.pi)

    @property
    def compiled(self) -> Record:
        """The same as compiled code takes it."""
        vectors = {"pi": self.pi, "center": self.center, "lower": self.lower, "upper": self.upper}
        return record(
            "cone",
            n=self.size,
            moved=self.moved,
            c=self.c,
            **{name: reads(v, np.float64, self.size) for name, v in vectors.items()},
        )

    @property
    def symmetric(self) -> bool:
        """Whether the set of priors does not change when symbols are permuted."""
        sides = [self.lower, self.upper] + ([self.center] if self.moved < 1 else [])
        return all(float(np.ptp(v)) <= EQUAL * float(v.max()) for v in sides)

    @property
    def top(self) -> float:
        """No lift is larger."""
        return min(self.c, 1 / float(self.pi.min()))

    def least(self, members: Floats) -> Floats:
        """h of sets of symbols, given as rows of zeros and ones."""
        outside = (1 - members) @ self.upper
        return np.asarray(
            np.maximum(np.maximum(members @ self.center - self.moved, members @ self.lower), 1 - outside)
        )

    def starts(self, rng: np.random.Generator, count: int) -> Ints:
        """Levels of random vectors: sets filled in random orders; one more symbol, or all others, in the middle."""
        n = self.size
        orders = np.argsort(rng.random((count, n)), axis=1)
        sums = [np.cumsum(v[orders], axis=1) for v in (self.center, self.lower, self.upper)]
        h = np.maximum(np.maximum(sums[0] - self.moved, sums[1]), 1 - (sums[2][:, -1:] - sums[2]))
        fits = h >= (1 - 1e-12) / self.c
        full = np.minimum(np.argmax(fits, axis=1), n - 1)
        # A third of them are smaller: the larger a lift, the fewer symbols have it.
        full = np.where(np.arange(count) % 3 == 2, (rng.random(count) * (full + 1)).astype(np.int64), full)
        place = np.argsort(orders, axis=1)
        levels = np.where(place < full[:, None], TOP, np.where(place == full[:, None], MIDDLE, 0))
        whole = (np.arange(count) % 2 == 0)[:, None]
        return np.where(whole & (levels != TOP), MIDDLE, levels).astype(np.int64)

    def simple(self) -> tuple[Floats, Floats]:
        """Lift vectors less 1 and output distribution of the best randomized response that is admissible."""
        h = self.least(np.eye(self.size))
        with np.errstate(divide="ignore"):
            odds = float(np.where(self.c * h < 1, self.c * (1 - h) / (1 - self.c * h), np.inf).min())
        odds = min(odds, 1e15)
        told = 1 + (odds - 1) * self.pi
        X = np.tile((1 - told)[:, None] / told[:, None], (1, self.size))
        np.fill_diagonal(X, (odds - 1) * (1 - self.pi) / told)
        return X, told / told.sum()

    def single(self) -> Floats:
        """Lift vectors less 1 in which one symbol is raised, or lowered, as far as possible: some mix to mean 0."""
        n = self.size
        sets = np.concatenate([np.eye(n), 1 - np.eye(n)])
        h, mass = self.least(sets), sets @ self.pi
        share = np.where(self.c * h >= 1, 0.0, (1 / self.c - h) / (1 - h))[:, None]
        lifts = sets + share * (1 - sets)
        return np.asarray(lifts / (mass[:, None] + share * (1 - mass[:, None])) - 1)
