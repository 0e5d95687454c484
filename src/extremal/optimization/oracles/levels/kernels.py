"""Quadratic forms of the lift vectors of a set of priors: vectors that a search finds, and a bound on all.

The loops are in C: `_native/nested.c` and `_native/level_bound.c`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...._common.types import Floats, Ints
from ...._native.library import library, reads, record, writes
from ...set_levels import SetLevels, branches

RANK = 8  # columns of a
COLUMNS = 6 + RANK  # of cells
KEPT = 200  # relaxed vectors that a bound returns


def herd(
    cone: SetLevels, inverse: Floats, loss: Floats, y: Floats, pull: Floats, levels: Ints, sweeps: int
) -> Floats:
    """Vectors less 1 to which moving single symbols leads from these levels, as x'Wx - y.x rises.

    As in greedy.Greedy, W = C^-1 G C^-1, and every vector found adds 1/N of itself to C for those after it.
    """
    n, count = cone.size, len(levels)
    whole, W, X = np.zeros((n, n)), np.zeros((n, n)), np.zeros((count, n))
    whole[1:, 1:] = inverse
    W[1:, 1:] = inverse @ loss @ inverse
    form = record(
        "herd",
        inverse=writes(whole, np.float64, n, n),
        W=writes(W, np.float64, n, n),
        y=reads(y, np.float64, n),
        pull=reads(pull, np.float64, n),
        weight=1 / n,
    )
    moving = np.array(levels, dtype=np.int64, order="C")
    failed = library().extremal_herd_levels(
        cone.compiled,
        form,
        count,
        sweeps,
        writes(moving, np.int64, count, n),
        writes(X, np.float64, count, n),
    )
    if failed:
        raise MemoryError
    return np.asarray(X[np.abs(X).max(axis=1) > 0])


@dataclass(frozen=True, eq=False)
class Weights:
    """What a bound weighs lifts with: d for squares, -low and -high for products of two, -aa' for sums, prices y."""

    d: Floats
    low: Floats
    high: Floats
    a: Floats
    y: Floats

    @property
    def W(self) -> Floats:
        """The quadratic form."""
        return np.asarray(np.diag(self.d) - self.low - self.high - self.a @ self.a.T)

    @property
    def base(self) -> float:
        """What is added to the largest lambda'W lambda - y.lambda for a bound on tr(WC)."""
        return float(self.y.sum() - self.W.sum())


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Relaxed vectors: lifts and squares, and what a bound weighs with low and high.

    A product of two lifts is at least l (l_i + l_j) - l^2 for a level l. So those of all pairs, weighed by high, are at
    least 2 sum_i high_i high_each_i - high_all sum_i high_i, with sums high_i of the weights of a symbol, l lambda_i as
    `high_each` and l^2 as `high_all`, for the largest level; the same with low and a lower one.
    """

    lifts: Floats
    squares: Floats
    low_each: Floats
    high_each: Floats
    low_all: Floats
    high_all: Floats

    @classmethod
    def of(cls, X: Floats) -> Relaxed:
        """Vectors less 1 as they are."""
        lifts, n = 1 + X, X.shape[1]
        t = lifts.max(axis=1, keepdims=True)
        none, top = lifts <= 1e-12, lifts >= t * (1 - 1e-9)
        b = np.where(none | top, 0.0, lifts).max(axis=1, keepdims=True)
        # b t - b^2 is too much for a product of 0 and t: one of the two symbols pays it.
        paid = b * (t - b) * np.where((none.sum(axis=1) <= top.sum(axis=1))[:, None], none, top)
        worth = 2 * (b * lifts - paid).sum(axis=1, keepdims=True) > n * b**2
        b = np.where(worth, b, 0.0)
        low_each = b * lifts - np.where(worth, paid, 0.0)
        return cls(lifts, lifts**2, low_each, t * lifts, b[:, 0] ** 2, t[:, 0] ** 2)

    def joined(self, other: Relaxed) -> Relaxed:
        """Both."""
        return Relaxed(*(np.concatenate(both) for both in zip(self._parts, other._parts, strict=True)))

    def chosen(self, which: Ints) -> Relaxed:
        """These of them."""
        return Relaxed(*(part[which] for part in self._parts))

    @property
    def _parts(self) -> tuple[Floats, ...]:
        return (self.lifts, self.squares, self.low_each, self.high_each, self.low_all, self.high_all)


def bound(
    cone: SetLevels,
    weights: Weights,
    target: float,
    slack: float,
    most: int,
    before: Floats,
    seconds: float = math.inf,
) -> tuple[Floats, Relaxed, Ints]:
    """A tree of cells (split, child, rho, theta, mode, bound, v) that covers all vectors, and relaxed vectors.

    No vector of a cell has a larger lambda'W lambda - y.lambda than its bound. Ends when no leaf is above `target`,
    when there are `most` cells, or after so many seconds. The relaxed vectors are those of the leaves of largest
    bounds, whose numbers come third. See certificate.Certificate for what the numbers of a cell mean; `slack` says how
    precise they need to be. The tree grows from one that was made `before`, perhaps for other weights.
    """
    n = cone.size
    kA, kB, vA, vB, whole = branches(cone)
    k = len(kA)
    if most < k:
        raise ValueError(f"a tree of {k} branches needs as many cells, got {most}")
    cells, found = np.zeros((most, COLUMNS)), np.zeros((KEPT, 4 * n + 2))
    leaves = np.zeros(KEPT + 1, dtype=np.int64)
    cells[: len(before)] = before
    scale = float(np.abs(weights.d).max() + np.abs(weights.y / cone.pi).max())
    low, high = weights.low.sum(axis=1), weights.high.sum(axis=1)
    program = record(
        "program",
        n=n,
        pi=reads(cone.pi, np.float64, n),
        d=reads(weights.d, np.float64, n),
        y=reads(weights.y, np.float64, n),
        low=reads(low, np.float64, n),
        high=reads(high, np.float64, n),
        a=reads(weights.a, np.float64, n, RANK),
        kA=reads(kA, np.float64, k),
        kB=reads(kB, np.float64, k),
        vA=reads(vA, np.float64, k, n),
        vB=reads(vB, np.float64, k, n),
        all=reads(whole, np.float64, k),
        all_low=float(low.sum()),
        all_high=float(high.sum()),
        need=1 / cone.c,
        slack=slack,
        scale=scale,
    )
    growth = record(
        "growth",
        branches=k,
        top=cone.top,
        target=target,
        seconds=min(seconds, 1e9),
        most=most,
        count=len(before),
        kept=KEPT,
        cells=writes(cells, np.float64, most, COLUMNS),
        found=writes(found, np.float64, KEPT, 4 * n + 2),
        leaves=writes(leaves, np.int64, KEPT + 1),
    )
    count = int(library().extremal_bound_levels(program, growth))
    if count < 0:
        raise MemoryError
    kept = int(np.argmax(leaves < 0))
    lifts, squares, low, high, both = np.split(found[:kept], [n, 2 * n, 3 * n, 4 * n], axis=1)
    return cells[:count].copy(), Relaxed(lifts, squares, low, high, both[:, 0], both[:, 1]), leaves[:kept]
