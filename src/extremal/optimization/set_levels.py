"""The lift vectors that are admissible for every prior of a set: three levels, t on S, b on R and 0 elsewhere.

The set is {lower <= pi <= upper, |pi - center|_1 <= 2 moved}, and the least probability of symbols A over it is
h(A) = max(center(A) - moved, lower(A), 1 - upper(rest)).

Why three levels. The prior of the set under which a column is least likely depends on the order of its elements only.
So among columns of the same order h is linear: every lift vector is a mixture of indicators 1_S / pi(S) of nested sets
S, and it is admissible if the same mixture of (1 - c h(S)) / pi(S) is at most 0. One linear constraint: an extremal
mixture has at most two terms, one set with h(S) < 1/c and one superset S' with h(S') >= 1/c. For a single prior S' is S
and the partial symbol (Algorithm 1); over all priors only the set of all symbols has a positive h, and the columns are
the patterns {1, e^epsilon}^N of local differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._common.types import Bools, Floats, Ints
from .._native.library import Record, reads, record
from ..errors import SizeError
from ..model.levels import EQUAL, every_set, rounding
from ..model.prior_set import PriorSet
from .reductions import telling
from .tuning import LISTED_PAIRS

TOP, MIDDLE = 2, 1
LARGEST = 16  # symbols: 2^16 sets


@dataclass(frozen=True, eq=False)
class SetLevels:
    """A set of priors, its symbols in a given order, and c = e^epsilon; `moved` is half of the radius."""

    pi: Floats
    center: Floats
    lower: Floats
    upper: Floats
    moved: float
    c: float

    @classmethod
    def of(cls, priors: PriorSet, c: float, order: Ints | slice) -> SetLevels:
        """The same for a set, with its symbols in this order."""
        return cls(
            priors.nominal.probabilities[order],
            priors.center[order],
            priors.lower[order],
            priors.upper[order],
            priors.radius / 2,
            c,
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
        return np.maximum(np.maximum(members @ self.center - self.moved, members @ self.lower), 1 - outside)

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
        return telling(self.pi, min(odds, 1e15))

    def single(self) -> Floats:
        """Lift vectors less 1 in which one symbol is raised, or lowered, as far as possible: some mix to mean 0."""
        n = self.size
        sets = np.concatenate([np.eye(n), 1 - np.eye(n)])
        h, mass = self.least(sets), sets @ self.pi
        share = np.where(self.c * h >= 1, 0.0, (1 / self.c - h) / (1 - h))[:, None]
        lifts = sets + share * (1 - sets)
        return np.asarray(lifts / (mass[:, None] + share * (1 - mass[:, None])) - 1)


@dataclass(frozen=True)
class Sets:
    """All non-empty sets of symbols, as bits, with mass and excess (1 - c h(S)) / pi(S), and whether it is <= 0."""

    members: Floats
    mass: Floats
    excess: Floats
    fits: Bools
    noise: float

    @classmethod
    def of(cls, priors: PriorSet, c: float) -> Sets:
        """The sets of a set of priors."""
        n = priors.size
        if n > LARGEST:
            raise SizeError(
                f"all sets of symbols are listed up to {LARGEST} symbols",
                given=n,
                remedy="make columns as they are needed",
            )
        members = every_set(n)
        mass = members @ priors.nominal.probabilities
        excess = 1 - c * priors.smallest_means(members.T)
        noise = _noise(c)
        return cls(members, mass, excess / mass, excess <= noise, noise)

    @property
    def pairs(self) -> int:
        """How many extremal lift vectors robust_vertices lists at most."""
        above = np.concatenate(([0], self.fits.astype(np.int64)))
        for bit in range(self.members.shape[1]):  # supersets that fit, by symbols
            halves = above.reshape(-1, 2, 1 << bit)
            halves[:, 0] += halves[:, 1]
        return int(above[1:][~self.fits].sum() + self.fits.sum())


def _noise(c: float) -> float:
    """How far 1 - c h(S) may be from 0 by rounding alone."""
    return float(rounding(math.log(c))) * c


def robust_vertices(priors: PriorSet, c: float, most: int = LISTED_PAIRS) -> Floats:
    """All extremal lift vectors of a set of priors, one a row, some of them perhaps not extremal."""
    sets = Sets.of(priors, c)
    if sets.pairs > most:
        raise SizeError(
            f"extremal lift vectors of a set are listed up to {most}",
            given=sets.pairs,
            remedy="make columns as they are needed",
        )
    mass, excess, bits = sets.mass, sets.excess, np.arange(1, len(sets.mass) + 1)
    blocks = [sets.members[sets.fits] / mass[sets.fits, None]]
    below = np.flatnonzero(sets.fits & (excess < -sets.noise))
    for k in np.flatnonzero(~sets.fits):
        above = below[bits[below] & bits[k] == bits[k]]
        share = excess[above] / (excess[above] - excess[k])
        blocks.append(_mixed(sets.members[k] / mass[k], sets.members[above] / mass[above, None], share))
    return np.concatenate(blocks)


def nested_columns(priors: PriorSet, c: float, inner: Bools, outer: Bools) -> Floats:
    """For each pair of nested sets, given as rows, the mixture that is just admissible.

    An inner set that is admissible by itself needs no outer one; an outer set that is not is taken to be everything.
    """
    noise = _noise(c)

    def excess(sets: Floats) -> Floats:
        return 1 - c * priors.smallest_means(sets.T)

    large = outer.astype(np.float64)
    large[excess(large) >= -noise] = 1.0
    small, pi = inner.astype(np.float64), priors.nominal.probabilities
    one, other = small / (small @ pi)[:, None], large / (large @ pi)[:, None]
    e, d = excess(small) / (small @ pi), excess(large) / (large @ pi)
    share = np.where(e <= noise, 1.0, d / np.where(e <= noise, -1.0, d - e))[:, None]
    return share * one + (1 - share) * other


def nested_sets(lifts: Floats) -> tuple[Bools, Bools]:
    """Where each column, given as a row, is largest, and where it is not 0."""
    return lifts >= lifts.max(axis=1, keepdims=True) * (1 - 1e-9), lifts > 1e-9


def best_symmetric(priors: PriorSet, c: float, mu: Callable[[Floats], Floats]) -> Floats:
    """The column of largest mu over a set that does not change when symbols are permuted, symbols in some order.

    Then only the sizes of the two nested sets matter. `mu` takes columns as rows.
    """
    n = priors.size
    steps = np.tri(n)
    excess = 1 - c * priors.smallest_means(steps.T)
    noise = _noise(c)
    fits = excess <= noise
    lifts = steps * (n / np.arange(1, n + 1))[:, None]
    excess *= n / np.arange(1, n + 1)
    best, value = np.ones(n), -math.inf
    candidates = [lifts[fits]]
    above = fits & (excess < -noise)
    for k in np.flatnonzero(~fits):
        share = excess[above] / (excess[above] - excess[k])
        candidates.append(_mixed(lifts[k], lifts[above], share))
    for columns in candidates:
        gains = mu(columns)
        j = int(np.argmax(gains))
        if gains[j] > value:
            best, value = columns[j], float(gains[j])
    return best


def _mixed(one: Floats, others: Floats, share: Floats) -> Floats:
    """`share` of the first with each of the others."""
    return share[:, None] * one + (1 - share[:, None]) * others
