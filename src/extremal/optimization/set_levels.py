"""The lift vectors that are admissible for every prior of a set: three levels, t on S, b on R and 0 elsewhere.

The set is {lower <= pi <= upper, |pi - center|_1 <= 2 moved}, and the least probability of symbols A over it is
h(A) = max(center(A) - moved, lower(A), 1 - upper(rest)). See vertices for why two nested sets suffice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common.types import Floats, Ints
from .._native.library import reads, record
from ..model.levels import bounded_exp
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
    def compiled(self) -> Any:
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


def branches(cone: SetLevels) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """What h of S and R, and h of S, may be: constants and slopes of both, and whether R is the rest."""
    n, zero = cone.size, np.zeros(cone.size)
    each = [(-cone.moved, cone.center)] if cone.moved < 1 else []
    each += [(0.0, cone.lower)] if cone.lower.any() else []
    each += [(1 - math.fsum(cone.upper), cone.upper)] if (cone.upper < 1).any() else []
    inner = each if cone.lower.any() else [*each, (0.0, zero)]
    pairs = [(a, b, 0.0) for a in each for b in inner] + [((1.0, zero), b, 1.0) for b in inner]
    return (
        np.array([a[0] for a, _, _ in pairs]),
        np.array([b[0] for _, b, _ in pairs]),
        np.array([a[1] for a, _, _ in pairs]).reshape(-1, n),
        np.array([b[1] for _, b, _ in pairs]).reshape(-1, n),
        np.array([whole for _, _, whole in pairs]),
    )


DIFFERENT, WHOLE, SAME = 0, 1, 2
NEAR = 1e-12  # what rounding may add to a sum


def pairs(cone: SetLevels, largest: float) -> tuple[Floats, Floats]:
    """What h of S and R, and h of S, may be for extremal vectors, as `_native/nested_pricing.c` wants it.

    h is the largest of a few functions k + v(A), and as a set grows they are so in turn: lower(A), center(A) - moved,
    1 - upper(rest); 1 for everything. A vector for which both are the same function k + v lies in the polytope of all
    lifts in [0, t] of mean 1 with k t + v . lambda >= t / c, and everything in that polytope is admissible. So it is
    extremal only if it is a vertex of it: one symbol at most has a level of its own, and unless S is a single symbol
    the inequality is tight, which limits t. Where v is the same for all symbols, the size of S and b / t are known.
    """
    n, zero = cone.size, np.zeros(cone.size)
    chain = [(0.0, cone.lower)]
    chain += [(-cone.moved, cone.center)] if cone.moved < 1 else []
    chain += [(1 - math.fsum(cone.upper), cone.upper)] if (cone.upper < 1).any() else [(1.0, zero)]
    ends_whole = not chain[-1][1].any()
    last = len(chain) - 1
    lines, numbers = [], []
    for j, (kB, vB) in enumerate(chain):
        for i, (kA, vA) in enumerate(chain[j:], j):
            whole = ends_whole and i == last
            if (whole and i == j) or not (whole or vA.any()):
                continue
            in_S, most_in_S, outside, most_outside = zero, math.inf, zero, math.inf
            if j + 1 < len(chain) - ends_whole:
                k, v = chain[j + 1]
                in_S, most_in_S = v - vB, kB - k
            if i > 0 and not whole:
                k, v = chain[i - 1]
                outside, most_outside = vA - v, math.fsum(vA - v) - (k - kA)
            cases = [(in_S, most_in_S, outside, most_outside, 0.0, 1.0)]
            ratios, kind = np.array([1.0, largest]), WHOLE if whole else DIFFERENT
            if i == j:
                ratios, kind = vA / cone.pi / (1 / cone.c - kA), SAME
                cases = _same_size(cone, kA, float(vA[0])) if _even(vA) else cases
            elif whole and _even(vB):
                cases = _whole_sizes(cone, kB, float(vB[0]))
            t0, t1 = max(1.0, ratios.min() * (1 - NEAR)), min(largest, ratios.max() * (1 + NEAR))
            for inner, most_inner, outer, most_outer, r0, r1 in cases:
                lines.append([vA, vB, inner, outer])
                numbers.append([kA, kB, most_inner + NEAR, most_outer + NEAR, t0, t1, r0, r1, kind])
    return np.array(lines).reshape(-1, 4, n), np.array(numbers, dtype=np.float64).reshape(-1, 9)


Case = tuple[Floats, float, Floats, float, float, float]  # in S and how much, outside and how much, b / t


def _even(v: Floats) -> bool:
    return bool(np.ptp(v) == 0)


def _same_size(cone: SetLevels, k: float, v: float) -> list[Case]:
    """The one case of vectors with k + v (|S| + b / t) = 1 / c."""
    n, one, held = cone.size, np.ones(cone.size), (1 / cone.c - k) / v
    size = math.ceil(held - NEAR) - 1
    share = min(held - size, 1.0)
    return [(one, size, one, n - 1 - size, share, share)] if 0 <= size < n else []


def _whole_sizes(cone: SetLevels, k: float, v: float) -> list[Case]:
    """Vectors with b / t + (1 - b / t) (k + v |S|) = 1 / c and no zeros, by the size of S; any size if v is 0."""
    n, need = cone.size, 1 / cone.c
    one, zero = np.ones(n), np.zeros(n)
    if v == 0:
        return [(zero, math.inf, zero, math.inf, (need - k) / (1 - k), (need - k) / (1 - k))]
    shares = [
        (size, (need - k - v * size) / (1 - k - v * size)) for size in range(1, n) if k + v * size < need
    ]
    return [(one, size, zero, math.inf, share, share) for size, share in shares]
