"""Pricing for separable utilities over a set of priors: the best pair of nested sets of symbols, and a bound on all.

The loops are in C (`_native/nested_pricing.c`), where it says how the bound is proven. f enters them as a table whose
chords lie above it, so bounds hold; columns that are found are evaluated with f itself.

Where masses are whole counts and a set of priors depends on sums of them alone, `SumLattice` prices.

In a ball, or between bounds in proportion to the nominal masses, the least probability h(A) of symbols A is a function
of pi(A). A column has the level t on S, b on the rest of A, and S in A: with s = pi(S) and a = pi(A) known, so are t
and b, and its reduced value is

    s f(t) + (a - s) f(b) + (1 - a) f(0) - b y(A) - (t - b) y(S).

The least y of any set of mass a comes from one dynamic programme, for all a at once. It bounds y(A) and y(S), each for
itself: all that is lost is that S lies in A.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...._common.types import Bools, Floats, Ints
from ...._native.library import library, reads, record, writes
from ....model.prior_set import PriorSet
from ... import tuning
from ...effort import Effort
from ...set_levels import MIDDLE, TOP, SetLevels, nested_columns
from ..knapsack.kernels import lattice_fill, lattice_trace
from ..knapsack.separable import Separable, integer_counts

STEEP = 1e-7  # what h rises by at least from sum to sum, where it is enough: so that it tells b / t
SMALL = 1e-9  # differences of lifts that slopes are taken over
NEAR = 1e-12  # sums this near to what is needed may be what is needed
ROUNDING = 1e-15  # of the least probability of a set
ULP = 2.0**-52
DIFFERENT, WHOLE, SAME = 0, 1, 2
ROUNDED = 1e-12  # what rounding may add to a sum


@dataclass(frozen=True)
class PricedSums:
    """Pairs of nested sets, as rows, or of sets that are nearly nested, a bound on all reduced values, and the cost."""

    inner: Bools
    outer: Bools
    bound: float
    nodes: float


@dataclass
class _Found:
    """Pairs of sets above a threshold, and the bound so far."""

    threshold: float
    bound: float = field(init=False)
    inner: list[Bools] = field(default_factory=list)
    outer: list[Bools] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bound = self.threshold

    def best(self, values: Floats) -> Ints:
        """Where the largest values above the threshold are."""
        self.bound = float(values.max(initial=self.bound))
        best = np.argsort(-values, axis=None, kind="stable")[: tuning.PAIRS_KEPT]
        return best[values.ravel()[best] > self.threshold]


@dataclass(frozen=True, eq=False)
class SumLattice:
    """The pricing problem of sum_i pi_i f(lambda_i), where h of a set of m counts is least[m]."""

    pi: Floats
    counts: Ints
    least: Floats
    piece: Ints  # which function h is
    need: float
    f: Callable[[Floats], Floats]
    high: float

    @classmethod
    def of(cls, priors: PriorSet, c: float, f: Callable[[Floats], Floats], high: float) -> SumLattice | None:
        """The lattice of a set, None where masses are not counts or the set depends on more than their sums."""
        pi = priors.nominal.probabilities
        center, lower, upper = (_factor(v, pi) for v in (priors.center, priors.lower, priors.upper))
        free = bool((priors.upper >= 1).all())  # upper bounds say nothing, but for all symbols together
        counts = integer_counts(pi, tuning.FINEST_SUMS)
        if center is None or lower is None or (upper is None and not free) or counts is None:
            return None
        total = int(counts.sum())
        mass = np.arange(total + 1) / total
        pieces = [lower * mass, center * mass - priors.radius / 2]
        pieces += [] if free or upper is None else [1 - upper * (1 - mass)]
        least, piece = np.max(pieces, axis=0), np.argmax(pieces, axis=0)
        if free:
            least[-1], piece[-1] = 1.0, len(pieces)
        steps = np.diff(least)[least[1:] > 1 / c - NEAR]
        return cls(pi, counts, least, piece, 1 / c, f, high) if steps.min() > STEEP else None

    def price(self, y: Floats, threshold: float) -> PricedSums:
        """The best pairs above the threshold, and a bound: the threshold where there are none."""
        n, total = len(self.pi), len(self.least) - 1
        found = _Found(threshold)
        gain, takes = lattice_fill(self.counts, -y, total + 1, True)
        there = np.isfinite(gain)
        sums = np.flatnonzero(there)[1:]  # without the empty set
        S = sums[self.least[sums] < self.need + NEAR][:, None]
        A = sums[self.least[sums] > self.need - NEAR]
        apart = (A > S) & there[A - S] & (self.piece[A] != self.piece[S])
        value = np.where(apart | (A == S), self._values(S, A, gain[S], gain[A]), -np.inf)
        for k in found.best(value + self._lost(S, A, y)):
            row, column = np.unravel_index(k, value.shape)
            found.inner.append(lattice_trace(self.counts, takes, int(S[row, 0])))
            found.outer.append(lattice_trace(self.counts, takes, int(A[column])))
        others = self._one_more(y, found)
        nodes = tuning.CELL * n * total * (1 + others) + tuning.PAIR * value.size
        # Single symbols need not use up what the set allows.
        alone = self.least[self.counts] > self.need - NEAR
        m, own = self.counts[alone], -y[alone]
        bound = float(self._values(m, m, own, own).max(initial=found.bound))
        inner, outer = (np.array(x, dtype=np.bool_).reshape(-1, n) for x in (found.inner, found.outer))
        return PricedSums(inner, inner | outer, bound, nodes)

    def _one_more(self, y: Floats, found: _Found) -> int:
        """Sets of one piece of h: A has one symbol more than S. How many programmes that takes."""
        kinds = np.unique(np.stack((self.counts, y)), axis=1, return_index=True)[1]
        for i in kinds:
            others = np.delete(np.arange(len(y)), i)
            w = int(self.counts[i])
            gain, takes = lattice_fill(self.counts[others], -y[others], len(self.least) - w, True)
            S = np.flatnonzero(np.isfinite(gain))[1:]
            A = S + w
            S = S[
                (self.piece[A] == self.piece[S])
                & (self.least[S] < self.need + NEAR)
                & (self.least[A] > self.need - NEAR)
            ]
            A = S + w
            value = self._values(S, A, gain[S], gain[S] - y[i]) + self._lost(S, A, y)
            for k in found.best(value):
                inner = np.zeros(len(y), dtype=np.bool_)
                inner[others] = lattice_trace(self.counts[others], takes, int(S[k]))
                found.inner.append(inner)
                found.outer.append(np.arange(len(y)) == i)
        return len(kinds)

    def _values(self, S: Ints, A: Ints, gain_S: Floats, gain_A: Floats) -> Floats:
        """The reduced values of columns whose sets have these counts and gains."""
        s, a, between = S / self.counts.sum(), A / self.counts.sum(), self.least[A] - self.least[S]
        share = np.divide(self.need - self.least[S], between, out=np.ones_like(between), where=A > S)
        r = np.clip(share, 0.0, 1.0)
        t = np.minimum(1 / np.maximum(s + r * (a - s), s), self.high)
        b = r * t
        rest = (1 - a) * float(self.f(np.zeros(1))[0])
        return np.asarray(s * self.f(t) + (a - s) * self.f(b) + rest + b * gain_A + (t - b) * gain_S)

    def _lost(self, S: Ints, A: Ints, y: Floats) -> Floats:
        """What rounding may take from the values: b / t is known as well as h is, next to how far it rises."""
        edge = self.f(np.array([0.0, SMALL, self.high - SMALL, self.high]))
        slope = float(np.abs(y / self.pi).max() + np.abs(edge[[1, 3]] - edge[[0, 2]]).max() / SMALL)
        rise = np.where(A > S, self.least[A] - self.least[S], 1.0)
        return 4 * self.high * slope * ROUNDING * (1 + len(y) / 1000) / np.maximum(rise, STEEP)


def _factor(v: Floats, pi: Floats) -> float | None:
    """What pi is multiplied by in v, None if v is not in proportion to it."""
    factor = math.fsum(v) / math.fsum(pi)
    return factor if np.all(np.abs(v - factor * pi) <= 4e-16 * np.maximum(pi, 1e-3)) else None


@dataclass(frozen=True)
class PricedLifts:
    """Admissible columns found, as rows, a bound on every reduced value, and how many symbols were looked at."""

    lifts: Floats
    bound: float
    nodes: int


@dataclass(frozen=True)
class NestedPricer:
    """The pricing problem of sum_i pi_i f(lambda_i) over the admissible lift vectors of a set."""

    priors: PriorSet
    c: float
    f: Callable[[Floats], Floats]

    @cached_property
    def _separable(self) -> Separable:
        pi = self.priors.nominal.probabilities
        return Separable(pi, self.f, 0.0, float(min(self.c, 1 / pi.min())))

    @cached_property
    def _cone(self) -> SetLevels:
        return SetLevels.of(self.priors, self.c, slice(None))

    @cached_property
    def _branches(self) -> tuple[Floats, Floats]:
        return nested_pairs(self._cone, self._separable.high)

    @cached_property
    def _lattice(self) -> SumLattice | None:
        return SumLattice.of(self.priors, self.c, self.f, self._separable.high)

    def _scale(self, y: Floats) -> float:
        """The size of multipliers."""
        return float(np.abs(self._separable.ends).max() + np.abs(y / self._separable.pi).max() + 1e-300)

    def rise(self, y: Floats, inner: Bools, outer: Bools, effort: Effort, sweeps: int = 60) -> Floats:
        """Columns reached from pairs of nested sets, given as rows, by moving symbols between levels."""
        levels = np.ascontiguousarray(outer.astype(np.int8) + inner)
        rows, n = len(levels), self.priors.size
        values = np.zeros(rows)
        spent = library().extremal_rise_nested(
            self._cone.compiled,
            self._separable.compiled(y),
            rows,
            self._scale(y),
            sweeps,
            writes(levels, np.int8, rows, n),
            writes(values, np.float64, rows),
        )
        effort.spend(tuning.LOOKED_AT * int(spent))
        return self._columns(levels[np.isfinite(values)])

    def price(
        self, y: Floats, threshold: float, enough: float, effort: Effort, most: float = math.inf
    ) -> PricedLifts:
        """Columns of reduced value above the threshold, and a bound on all.

        Ends early when the best column has `enough` of what the bound allows above the threshold. Where sums of counts
        decide, they prove most, and lead to columns.
        """
        if self._lattice is None:
            return self._branched(y, threshold, enough, effort, most)
        sums = self._lattice.price(y, threshold)
        effort.spend(sums.nodes)
        bound = sums.bound + self._noise(y)
        lifts = self.rise(y, sums.inner, sums.outer, effort, tuning.NESTED_SWEEPS)
        values = self.f(lifts) @ self.priors.nominal.probabilities - lifts @ y
        best = float(values.max(initial=threshold))
        if best - threshold >= enough * (sums.bound - threshold):
            return PricedLifts(lifts[values > threshold], bound, int(sums.nodes / tuning.LOOKED_AT))
        other = self._branched(y, threshold, enough, effort, most)
        return PricedLifts(
            np.concatenate((lifts[values > threshold], other.lifts)), min(bound, other.bound), other.nodes
        )

    def _noise(self, y: Floats) -> float:
        """What rounding may take from reduced values."""
        return 8 * self.priors.size * ULP * self._scale(y) * self._separable.high

    def _branched(
        self, y: Floats, threshold: float, enough: float, effort: Effort, most: float
    ) -> PricedLifts:
        """Columns and a bound by branch and bound."""
        n = self.priors.size
        lines, numbers = self._branches
        k = len(lines)
        values, levels = np.zeros(tuning.COLUMNS_KEPT), np.zeros((tuning.COLUMNS_KEPT, n), dtype=np.int8)
        in_time = max(effort.seconds, 0.0) * tuning.SPEED / tuning.LOOKED_AT
        allowed = min(most, 1 + effort.left / tuning.LOOKED_AT)
        search = record(
            "nested_search",
            branches=k,
            lines=reads(lines, np.float64, k, 4, n),
            numbers=reads(numbers, np.float64, k, 9),
            scale=self._scale(y),
            threshold=threshold,
            enough=enough,
            most=int(min(allowed, in_time, 1e18)),
            places=max(k, int(min(tuning.PLACES, tuning.BYTES / (tuning.NODE_BYTES + n)))),
            kept=tuning.COLUMNS_KEPT,
            values=writes(values, np.float64, tuning.COLUMNS_KEPT),
            levels=writes(levels, np.int8, tuning.COLUMNS_KEPT, n),
        )
        count = library().extremal_price_nested(self._cone.compiled, self._separable.compiled(y), search)
        if count < 0:
            raise MemoryError
        if in_time < allowed and search.spent >= in_time:
            effort.stop()
        effort.spend(tuning.LOOKED_AT * search.spent)
        order = np.argsort(-values[:count], kind="stable")
        return PricedLifts(self._columns(levels[order]), search.bound + self._noise(y), search.spent)

    def _columns(self, levels: NDArray[np.int8]) -> Floats:
        if not len(levels):
            return np.zeros((0, self.priors.size))
        return nested_columns(self.priors, self.c, levels == TOP, levels >= MIDDLE)


def nested_pairs(cone: SetLevels, largest: float) -> tuple[Floats, Floats]:
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
            t0, t1 = max(1.0, ratios.min() * (1 - ROUNDED)), min(largest, ratios.max() * (1 + ROUNDED))
            for inner, most_inner, outer, most_outer, r0, r1 in cases:
                lines.append([vA, vB, inner, outer])
                numbers.append([kA, kB, most_inner + ROUNDED, most_outer + ROUNDED, t0, t1, r0, r1, kind])
    return np.array(lines).reshape(-1, 4, n), np.array(numbers, dtype=np.float64).reshape(-1, 9)


Case = tuple[Floats, float, Floats, float, float, float]  # in S and how much, outside and how much, b / t


def _even(v: Floats) -> bool:
    return bool(np.ptp(v) == 0)


def _same_size(cone: SetLevels, k: float, v: float) -> list[Case]:
    """The one case of vectors with k + v (|S| + b / t) = 1 / c."""
    n, one, held = cone.size, np.ones(cone.size), (1 / cone.c - k) / v
    size = math.ceil(held - ROUNDED) - 1
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
