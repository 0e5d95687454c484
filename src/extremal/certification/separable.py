"""f-information at lift vectors: the chord bound, and the smallest loss of a vertex against it.

See `bounds` for what is proved, and for how rounding is counted. At a vertex every symbol but one is full or empty, and
each falls short of its maximum by a loss >= 0. The smallest total loss is found by dynamic programming if the prior
comes from counts, else by meeting in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from .._common.types import Floats, Ints

State = TypeVar("State")

ULP = 2.0**-52
LARGEST_TOTAL, MOST_CELLS = 2_000_000, 1_000_000_000  # of a dynamic programme: a few seconds
LONGEST = 1 << 18  # subsets of half of the symbols that are told apart: all of them up to 36 symbols
MOST_PAIRS, CHUNK = 600_000_000, 1 << 20  # pairs of blocks looked at: about a minute; at a time


def reachable(pi: Floats, low: float, c: float) -> tuple[Floats, Floats]:
    """The interval [l_i, u_i] that the others confine lam_i to, rounded outwards: there all are c, or all low."""
    others = (1 - pi) / pi * (1 + 8 * ULP)
    l = 1 - (c - 1) * others
    u = 1 + (1 - low) * others
    return np.maximum(l - 2 * ULP * np.abs(l), low), np.minimum(u * (1 + 2 * ULP), c)


def farthest(l: Floats, u: Floats) -> Floats:
    """How far lift vectors are from 1 on average, at most: |lam - 1| <= lam + 1."""
    return np.minimum(np.maximum(u - 1, 1 - l), 2.0)


def uncertainty(f: Callable[[Floats], Floats], t: Floats) -> Floats:
    """What f(t) may be off by: some ulp of itself, and what it differs by at the doubles next to t."""
    here, step = f(t), np.spacing(np.maximum(t, 1e-300)) * (t > 0)
    beside = [np.abs(f(np.maximum(t + k * step, 0.0)) - here) for k in (-4, -1, 1, 4)]
    return np.asarray(np.maximum.reduce(beside) + 4 * ULP * np.abs(here))


def multiplier(pi: Floats, l: Floats, u: Floats, at_l: Floats, at_u: Floats, mean: float = 1.0) -> float:
    """The slope of the symbol with which the continuous knapsack is full: the best theta for the chords."""
    width = pi * (u - l)
    slope = np.divide(at_u - at_l, width, out=np.full_like(pi, -math.inf), where=width > 0)
    order = np.argsort(-slope)
    k = int(np.searchsorted(np.cumsum(width[order]), mean - pi @ l))
    last = max(int(np.count_nonzero(width > 0)) - 1, 0)
    theta = float(slope[order[min(k, last)]])
    return theta if math.isfinite(theta) else 0.0


@dataclass(frozen=True, eq=False)
class ChordBound:
    """sum_i pi_i f(lam_i) - y.(lam - 1) over lift vectors: the chord bound, and what is lost against it.

    `top` is max(g_i(l_i), g_i(u_i)). A vertex is told by the symbols that are empty if they have less mass than the
    full ones, as for small epsilon, else by the full ones: the smaller sum is known more precisely. Those are
    `marked`: `on` are the losses of marked symbols and `off` those of the others, infinite where no lift vector has
    them. `room` is the mass that is marked, the share of the partial symbol included, known to `noise`; `blur` is
    the most that this uncertainty does to one g_i. `error` bounds what rounding does to the rest on average over the
    lift vectors of a mechanism, `dull` what it does at any one of them.
    """

    pi: Floats
    f: Callable[[Floats], Floats]
    slope: Floats
    low: float
    c: float
    l: Floats
    u: Floats
    top: Floats
    chord: float
    error: float
    dull: float

    @classmethod
    def of(cls, pi: Floats, f: Callable[[Floats], Floats], y: Floats, low: float, c: float) -> ChordBound:
        l, u = reachable(pi, low, c)
        theta = multiplier(pi, l, u, pi * f(l) - y * (l - 1), pi * f(u) - y * (u - 1))
        slope = y + theta * pi
        top = np.maximum(pi * f(l) - slope * (l - 1), pi * f(u) - slope * (u - 1))
        off_l, off_u = (pi * uncertainty(f, t) + 4 * ULP * np.abs(slope * (t - 1)) for t in (l, u))
        at_one = np.divide(1 - l, u - l, out=np.zeros_like(pi), where=u > l)  # the share of u in the mean
        error = math.fsum(off_l * (1 - at_one) + off_u * at_one) + (len(pi) + 8) * ULP * math.fsum(
            np.abs(top) / np.maximum(u, 1)
        )
        dull = math.fsum(np.maximum(off_l, off_u))
        return cls(pi, f, slope, low, c, l, u, top, math.fsum(top) + error, error, dull)

    @property
    def empties(self) -> bool:
        """Whether the marked symbols are the empty ones."""
        return self.c - 1 < 1 - self.low

    @property
    def room(self) -> float:
        return (self.c - 1 if self.empties else 1 - self.low) / (self.c - self.low)

    @property
    def noise(self) -> float:
        return ULP * self.room * (len(self.pi) / 4 + 8)

    @property
    def on(self) -> Floats:
        return self._empty if self.empties else self._full

    @property
    def off(self) -> Floats:
        return self._full if self.empties else self._empty

    @property
    def _full(self) -> Floats:
        return np.where(self.u < self.c, math.inf, self.loss(slice(None), np.full_like(self.pi, self.c)))

    @property
    def _empty(self) -> Floats:
        return np.where(self.l > self.low, math.inf, self.loss(slice(None), np.full_like(self.pi, self.low)))

    @property
    def blur(self) -> float:
        step, every = 2 * (self.c - self.low) * self.noise / self.pi, slice(None)
        at_l = self.loss(every, self.l) - self.loss(every, np.minimum(self.l + step, self.u))
        at_u = self.loss(every, self.u) - self.loss(every, np.maximum(self.u - step, self.l))
        return float(np.abs([at_l, at_u]).max())

    def loss(self, i: int | slice, lam: Floats) -> Floats:
        """What g_i(lam) falls short of its maximum."""
        return self.top[i] - (self.pi[i] * self.f(lam) - self.slope[i] * (lam - 1))

    def partial(self, j: int, least: Floats, most: Floats) -> Floats:
        """The smallest loss of j if a share of it in [least, most] is marked; infinite if none can be."""
        share = (self.c - self.low) * np.array((least, most))
        lam = self.c - share[::-1] if self.empties else self.low + share
        inside = np.clip(lam, self.l[j], self.u[j])
        loss = np.minimum(self.loss(j, inside[0]), self.loss(j, inside[1]))
        return np.where((lam[1] < self.l[j]) | (lam[0] > self.u[j]), math.inf, loss)


def _all_but_one(
    pool: list[int], state: State, add: Callable[[State, list[int]], State]
) -> Iterator[tuple[int, State]]:
    """Each j of the pool, with the state that all others were added to: n log n additions."""
    if len(pool) == 1:
        yield pool[0], state
    else:
        yield from _all_but_one(pool[::2], add(state, pool[1::2]), add)
        yield from _all_but_one(pool[1::2], add(state, pool[::2]), add)


def counts_of(pi: Floats) -> Ints | None:
    """Ints, the smallest at most 1000, that the masses are proportional to up to rounding, if any are."""
    for k in range(1, min(1000, int(LARGEST_TOTAL * pi.min())) + 1):
        n = pi * (k / pi.min())
        if np.all(np.abs(n - np.rint(n)) <= 4 * ULP * n):
            return np.asarray(np.rint(n), dtype=np.int64)
    return None


def count_loss(s: ChordBound, counts: Ints, needed: float) -> float:
    """A lower bound on the loss of every vertex, and the smallest one if that is less than needed.

    A table holds the smallest loss of the symbols added to it by the total count of those that are marked.
    First the partial symbol is in the table as well, at no loss; where that is not enough, it is taken out.
    """
    on, off = s.on, s.off
    room = s.room * float(counts.sum())
    noise = 12 * ULP * room
    size = math.floor(room + noise) + 1

    def add(table: Floats, symbols: list[int]) -> Floats:
        for i in symbols:
            before, n = table, int(counts[i])
            table = before + off[i]
            if n < size:
                np.minimum(table[n:], before[: size - n] + on[i], out=table[n:])
        return table

    def with_partial(j: int, table: Floats) -> float:
        first = max(math.ceil(room - noise - counts[j]), 0)
        left = room - np.arange(first, size)
        loss = s.partial(j, (left - noise) / counts[j], (left + noise) / counts[j])
        return float((table[first:] + loss).min(initial=math.inf))

    table, symbols = np.append(0.0, np.full(size - 1, math.inf)), list(range(len(counts)))
    whole = add(table, symbols)
    relaxed = [with_partial(j, whole) - off[j] if off[j] < math.inf else -math.inf for j in symbols]
    open_ones = [j for j in symbols if not relaxed[j] >= needed]
    best = min((relaxed[j] for j in symbols if relaxed[j] >= needed), default=math.inf)
    if open_ones:
        table = add(table, [j for j in symbols if relaxed[j] >= needed])
        best = min(best, min(with_partial(j, rest) for j, rest in _all_but_one(open_ones, table, add)))
    return best


class Subsets(NamedTuple):
    """Blocks of subsets in order of their mass: the least and the largest in a block, the smallest loss."""

    least: Floats
    most: Floats
    loss: Floats


def meeting_loss(s: ChordBound, needed: float) -> float:
    """A lower bound on the loss of every vertex, at most needed; below that the smallest one up to 36 symbols.

    All subsets of either half of the symbols that lose less than needed are listed in order of their mass. For
    each partial symbol, blocks of one list are matched with blocks of the other, and halved where together
    they may lose too little. Beyond 36 symbols, subsets of nearly equal mass may have to share a block.
    """
    on, off = s.on, s.off
    limit, left = needed, MOST_PAIRS

    def add(sums: Subsets, symbols: list[int]) -> Subsets:
        nonlocal left
        for i in symbols:
            left -= 10 * len(sums.loss)
            if left < 0:
                break
            least, most = (np.concatenate((mass, mass + s.pi[i])) for mass in sums[:2])
            loss = np.concatenate((sums.loss + off[i], sums.loss + on[i]))
            kept = np.flatnonzero((loss < limit) & (least <= s.room + s.noise))
            kept = kept[np.argsort(least[kept], kind="stable")]
            sums = _blocks(Subsets(least[kept], most[kept], loss[kept]))
        return sums

    by_mass = np.argsort(-s.pi).tolist()
    nothing = Subsets(np.zeros(1), np.zeros(1), np.zeros(1))
    for mine, others in ((by_mass[::2], by_mass[1::2]), (by_mass[1::2], by_mass[::2])):
        B = _tree(add(nothing, others))
        for j, rest in _all_but_one(mine, nothing, add):
            limit, left = _matched(s, j, _tree(rest), B, limit, left)
            if left < 0:
                return 0.0
    return limit


def _blocks(sums: Subsets) -> Subsets:
    """Subsets of equal mass in one block, and neighbours too where there are too many."""
    first = np.flatnonzero(np.diff(sums.least, prepend=-1.0) > ULP * sums.least)
    first = first[:: -(-len(first) // LONGEST) or 1]
    if len(first) == len(sums.least):
        return sums
    most, loss = np.maximum.reduceat(sums.most, first), np.minimum.reduceat(sums.loss, first)
    return Subsets(sums.least[first], most, loss)


def _tree(sums: Subsets) -> list[Subsets]:
    """The blocks, pairs of neighbours in one, and so on: levels of a binary tree, the root first."""
    missing = (1 << (len(sums.loss) - 1).bit_length() if len(sums.loss) else 1) - len(sums.loss)
    least, most, loss = (
        np.append(x, np.full(missing, y)) for x, y in zip(sums, (2, 2, math.inf), strict=True)
    )
    levels = [Subsets(least, most, loss)]
    while len(loss) > 1:
        least, most, loss = least[::2], np.maximum(most[::2], most[1::2]), np.minimum(loss[::2], loss[1::2])
        levels.append(Subsets(least, most, loss))
    return levels[::-1]


def _matched(
    s: ChordBound, j: int, A: list[Subsets], B: list[Subsets], limit: float, left: int
) -> tuple[float, int]:
    """The smallest loss with j partial, or the limit if that is smaller; how many more pairs may be seen."""
    stack = [(0, 0, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))]
    while stack and left >= 0:
        a, b, i, k = stack.pop()
        if len(i) > CHUNK:
            stack += [(a, b, i[::2], k[::2]), (a, b, i[1::2], k[1::2])]
            continue
        left -= len(i)
        loss = A[a].loss[i] + B[b].loss[k]
        least = (s.room - s.noise - A[a].most[i] - B[b].most[k]) / s.pi[j]
        most = (s.room + s.noise - A[a].least[i] - B[b].least[k]) / s.pi[j]
        kept = np.flatnonzero((loss < limit) & (most >= 0) & (least <= 1))
        if len(kept):
            loss = loss[kept] + s.partial(j, least[kept], most[kept])
            kept, loss = kept[loss < limit], loss[loss < limit]
        if not len(kept):
            continue
        i, k = i[kept], k[kept]
        if a + 1 == len(A) and b + 1 == len(B):
            limit = float(loss.min()) - s.error  # not worth the search for less than that
        elif b + 1 == len(B) or (a <= b and a + 1 < len(A)):
            stack.append((a + 1, b, np.concatenate((2 * i, 2 * i + 1)), np.concatenate((k, k))))
        else:
            stack.append((a, b + 1, np.concatenate((i, i)), np.concatenate((2 * k, 2 * k + 1))))
    return limit, left
