"""Quadratic forms of the lift vectors of a set of priors: vectors that a search finds, and a bound on all.

The loops are in C: `_native/nested.c` and `_native/level_bound.c`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._native.library import address, library, packed
from ..._types import Floats, Ints
from ..robust.cone import Cone, branches

KEPT = 60  # relaxed vectors that a bound returns


def herd(
    cone: Cone, inverse: Floats, loss: Floats, y: Floats, pull: Floats, levels: Ints, sweeps: int
) -> Floats:
    """Vectors less 1 to which moving single symbols leads from these levels, as x'Wx - y.x rises.

    As in herding.Herd, W = C^-1 G C^-1, and every vector found adds 1/N of itself to C for those after it.
    """
    n, count = cone.size, len(levels)
    whole, W, X = np.zeros((n, n)), np.zeros((n, n)), np.zeros((count, n))
    whole[1:, 1:] = inverse
    W[1:, 1:] = inverse @ loss @ inverse
    vectors = [packed(v, np.float64) for v in (cone.pi, cone.center, cone.lower, cone.upper, y, pull)]
    moving = np.array(levels, dtype=np.int64, order="C")
    failed = library().extremal_herd_levels(
        n,
        count,
        *(address(v, np.float64, n) for v in vectors[:4]),
        cone.moved,
        cone.c,
        address(whole, np.float64, n, n),
        address(W, np.float64, n, n),
        *(address(v, np.float64, n) for v in vectors[4:]),
        1 / n,
        sweeps,
        address(moving, np.int64, count, n),
        address(X, np.float64, count, n),
    )
    if failed:
        raise MemoryError
    return np.asarray(X[np.abs(X).max(axis=1) > 0])


@dataclass(frozen=True, eq=False)
class Weights:
    """What a bound weighs lifts with: d for squares, -low and -high for products of two, a whose square counts against
    them, prices y."""

    d: Floats
    low: Floats
    high: Floats
    a: Floats
    y: Floats

    @property
    def W(self) -> Floats:
        """The quadratic form."""
        return np.asarray(np.diag(self.d) - self.low - self.high - np.multiply.outer(self.a, self.a))

    @property
    def base(self) -> float:
        """What is added to the largest lambda'W lambda - y.lambda for a bound on tr(WC)."""
        return float(self.y.sum() - self.W.sum())


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Relaxed vectors: means and mean squares of lifts, the two levels that products count on, and what they pay.

    A product is at least l (l_i + l_j) - l^2 for l = `least` less what both symbols have `paid`, halved: b (t - b) for
    one at 0 and one at t, charged to one of them.
    """

    lifts: Floats
    squares: Floats
    least: Floats
    largest: Floats
    paid: Floats

    @classmethod
    def of(cls, X: Floats) -> Relaxed:
        """Vectors less 1 as they are."""
        lifts, n = 1 + X, X.shape[1]
        t = lifts.max(axis=1, keepdims=True)
        none, top = lifts <= 1e-12, lifts >= t * (1 - 1e-9)
        b = np.where(none | top, 0.0, lifts).max(axis=1, keepdims=True)
        charge = 2 * b * (t - b)
        paid = charge * np.where((none.sum(axis=1) <= top.sum(axis=1))[:, None], none, top)
        gain = n * (2 * b[:, 0] * lifts.sum(axis=1) - n * b[:, 0] ** 2 - paid.sum(axis=1))
        worth = (gain > 0)[:, None]
        return cls(lifts, lifts**2, np.where(worth, b, 0.0)[:, 0], t[:, 0], np.where(worth, paid, 0.0))

    def joined(self, other: Relaxed) -> Relaxed:
        """Both."""
        return Relaxed(
            np.concatenate([self.lifts, other.lifts]),
            np.concatenate([self.squares, other.squares]),
            np.append(self.least, other.least),
            np.append(self.largest, other.largest),
            np.concatenate([self.paid, other.paid]),
        )

    def chosen(self, which: Ints) -> Relaxed:
        """These of them."""
        return Relaxed(
            self.lifts[which],
            self.squares[which],
            self.least[which],
            self.largest[which],
            self.paid[which],
        )


def bound(
    cone: Cone, weights: Weights, slack: float, most: int, seconds: float = math.inf
) -> tuple[Floats, Relaxed]:
    """Cells (branch, t0, t1, b0, b1, rho, theta, bound, mode, v) that cover all vectors, and the best relaxed vectors.

    No vector of a cell has a larger lambda'W lambda - y.lambda than its bound. Ends when the largest is `slack` above a
    relaxed vector's value, when there are `most` cells, or after so many seconds.
    """
    n = cone.size
    kA, kB, vA, vB, whole = (packed(v, np.float64) for v in branches(cone))
    k = len(kA)
    cells, values, levels = np.zeros((most, 10)), np.full(KEPT, -math.inf), np.zeros((KEPT, 2))
    lifts, squares, paid = (np.zeros((KEPT, n)) for _ in range(3))
    scale = float(np.abs(weights.d).max() + np.abs(weights.y / cone.pi).max())
    low, high = weights.low.sum(axis=1), weights.high.sum(axis=1)
    vectors = [packed(v, np.float64) for v in (cone.pi, weights.d, weights.y, low, high, weights.a)]
    count = int(
        library().extremal_bound_levels(
            n,
            *(address(v, np.float64, n) for v in vectors),
            float(low.sum()),
            float(high.sum()),
            k,
            address(kA, np.float64, k),
            address(kB, np.float64, k),
            address(vA, np.float64, k, n),
            address(vB, np.float64, k, n),
            address(whole, np.float64, k),
            1 / cone.c,
            min(cone.c, 1 / float(cone.pi.min())),
            -math.inf,
            slack,
            scale,
            most,
            address(cells, np.float64, most, 10),
            KEPT,
            address(values, np.float64, KEPT),
            address(lifts, np.float64, KEPT, n),
            address(squares, np.float64, KEPT, n),
            address(levels, np.float64, KEPT, 2),
            address(paid, np.float64, KEPT, n),
            min(seconds, 1e9),
        )
    )
    if count < 0:
        raise MemoryError
    found = np.isfinite(values)
    relaxed = Relaxed(lifts[found], squares[found], levels[found, 0], levels[found, 1], paid[found])
    return cells[:count].copy(), relaxed
