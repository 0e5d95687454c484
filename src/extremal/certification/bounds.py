"""Upper bounds on the optimum from any dual vector y, for the independent check of a design.

U* <= sum(y) + Delta(y), Delta(y) = max of mu(lam) - y.lam over lift vectors lam. Bounds on Delta(y):

- Expected gain: a continuous knapsack for each decision, solved by sorting.
- f-information: for any theta, mu(lam) - y.lam = theta + sum_i g_i(lam_i) with the convex
  g_i(t) = pi_i f(t) - (y_i + theta pi_i) t. As the others confine lam_i to some [l_i, u_i], Delta is at most
  theta + sum_i max(g_i(l_i), g_i(u_i)), the chord bound. Where that is not enough: at a vertex every symbol
  but one is full (lam_i = c) or empty (lam_i = low), each falls short of its maximum by a loss >= 0, and
  Delta is the chord bound minus the smallest total loss of a vertex. That is found by dynamic programming if
  the prior comes from counts, else by meeting in the middle.
- Any other utility: all vertices, up to 20 symbols.

Rounding. A sum of masses is uncertain by some units in the last place, so the lift of the partial symbol is taken
to be anywhere in an interval; g is largest at its ends. f, mu and sums are taken to be accurate to some 16 ulp of
their size; an error that grows with lam counts no more than at lam = 1, the mean of the lift vectors of a mechanism.
All this is added to the bound before it is compared. A claim may fall short of the bound by 1e-9 of itself plus
1e-14 (N + 10); where f is infinitely steep at 0 (squared Hellinger) and rounding a mass moves the optimum by more,
also by what an uncertain lift does to g, but not by more than 1e-8 or 1e-7 of itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from .._types import Floats, Ints
from ..model.prior import Prior
from ..model.regions import largest_lift
from ..model.utility import ExpectedGain, FInformation, Utility

State = TypeVar("State")

ULP = 2.0**-52
ENUMERABLE = 20  # symbols whose subsets are listed one by one
LARGEST_TOTAL, MOST_CELLS = 2_000_000, 1_000_000_000  # of a dynamic programme: a few seconds
LONGEST = 1 << 18  # subsets of half of the symbols that are told apart: all of them up to 36 symbols
MOST_PAIRS, CHUNK = 600_000_000, 1 << 20  # pairs of blocks looked at: about a minute; at a time


class Bound(NamedTuple):
    """An upper bound on the optimum, how it was found, and by how much rounding the masses may move it."""

    value: float
    how: str
    blur: float = 0.0


def upper_bound(
    prior: Prior,
    epsilon: float,
    utility: Utility,
    y: Floats,
    low: float,
    claim: float,
    proves: Callable[[Bound], bool],
) -> Bound:
    """A bound on the utility of all mechanisms with lifts in [low, c], the first that proves the claim."""
    pi, c, total = prior.probabilities, largest_lift(prior.probabilities, epsilon), math.fsum(y)
    if not low < 1 < c:
        one = utility.columns(prior, np.ones((prior.size, 1)))
        return Bound(float(one[0]), "the only lift vector there is")
    if isinstance(utility, ExpectedGain):
        delta = _linear_delta(pi, utility.gain, y, low, c)
        return Bound(total + delta, f"continuous knapsacks, one for each of {len(utility.gain)} decisions")
    if not isinstance(utility, FInformation):
        if prior.size > ENUMERABLE:
            return Bound(math.inf, f"nothing: this utility cannot be checked beyond {ENUMERABLE} symbols")
        delta, blur, count = _enumerated_delta(prior, utility, y, low, c)
        return Bound(total + delta, f"enumeration of {count} vertices", blur)
    s = Separable.of(pi, utility.f, y, low, c)
    chords = Bound(total + s.chord, "chords", s.blur)
    if proves(chords):
        return chords
    if not math.isfinite(chords.value):
        return Bound(math.inf, "nothing: numbers overflow")
    needed, counts = chords.value - claim + s.error, _counts(pi)
    if counts is not None and prior.size * counts.sum() * s.room <= MOST_CELLS:
        loss, how = _count_loss(s, counts, needed), f"dynamic programming over {counts.sum()} counts"
    else:
        loss, how = _meeting_loss(s, needed), "meeting in the middle"
    return Bound(chords.value - loss + s.error, how, s.blur) if loss > s.error else chords


def _reachable(pi: Floats, low: float, c: float) -> tuple[Floats, Floats]:
    """The interval [l_i, u_i] that the others confine lam_i to, rounded outwards."""
    l = (c * pi - (c - 1) - 8 * ULP * c) / pi
    u = (1 - low * (1 - pi)) / pi * (1 + 8 * ULP)
    return np.maximum(l, low), np.minimum(u, c)


def _multiplier(pi: Floats, l: Floats, u: Floats, at_l: Floats, at_u: Floats) -> float:
    """The slope of the symbol with which the continuous knapsack is full: the best theta for the chords."""
    width = pi * (u - l)
    slope = np.divide(at_u - at_l, width, out=np.full_like(pi, -math.inf), where=width > 0)
    order = np.argsort(-slope)
    k = int(np.searchsorted(np.cumsum(width[order]), 1 - pi @ l))
    last = max(int(np.count_nonzero(width > 0)) - 1, 0)
    theta = float(slope[order[min(k, last)]])
    return theta if math.isfinite(theta) else 0.0


def _linear_delta(pi: Floats, gains: Floats, y: Floats, low: float, c: float) -> float:
    """The largest (pi gain - y).lam over lift vectors and rows of gains, rounded up."""
    l, u = _reachable(pi, low, c)
    deltas, size = [], 0.0
    for gain in gains:
        a = pi * gain - y
        theta = _multiplier(pi, l, u, a * l, a * u)
        rest = a - theta * pi
        deltas.append(math.fsum([theta, *np.maximum(rest * l, rest * u).tolist()]))
        size = max(size, abs(theta))
    size += math.fsum(np.abs(y)) + float(pi @ np.abs(gains).max(axis=0))
    return max(deltas) + 32 * ULP * size


@dataclass(frozen=True, eq=False)
class Separable:
    """sum_i pi_i f(lam_i) - y.lam over lift vectors: the chord bound, and what is lost against it.

    `top` is max(g_i(l_i), g_i(u_i)). `full` and `empty` are the losses of lam_i = c and lam_i = low, infinite
    where no lift vector has them. `room` is the mass that is full, the covered share of the partial symbol
    included, known to `noise`; `blur` is the most that this uncertainty does to one g_i, `error` bounds what
    rounding does to the rest.
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

    @classmethod
    def of(cls, pi: Floats, f: Callable[[Floats], Floats], y: Floats, low: float, c: float) -> Separable:
        l, u = _reachable(pi, low, c)
        theta = _multiplier(pi, l, u, pi * f(l) - y * l, pi * f(u) - y * u)
        slope = y + theta * pi
        top = np.maximum(pi * f(l) - slope * l, pi * f(u) - slope * u)
        size = pi * (1 + np.abs(f(l)) + np.abs(f(u)) / u + abs(theta)) + np.abs(y)
        error = (32 + len(pi)) * ULP * math.fsum(size)
        return cls(pi, f, slope, low, c, l, u, top, math.fsum([theta, *top.tolist()]) + error, error)

    @property
    def room(self) -> float:
        return (1 - self.low) / (self.c - self.low)

    @property
    def noise(self) -> float:
        return ULP * self.room * (len(self.pi) / 4 + 6 * self.c / (self.c - self.low))

    @property
    def full(self) -> Floats:
        return np.where(self.u < self.c, math.inf, self.loss(slice(None), np.full_like(self.pi, self.c)))

    @property
    def empty(self) -> Floats:
        return np.where(self.l > self.low, math.inf, self.loss(slice(None), np.full_like(self.pi, self.low)))

    @property
    def blur(self) -> float:
        step, every = 2 * (self.c - self.low) * self.noise / self.pi, slice(None)
        at_l = self.loss(every, self.l) - self.loss(every, np.minimum(self.l + step, self.u))
        at_u = self.loss(every, self.u) - self.loss(every, np.maximum(self.u - step, self.l))
        return float(np.abs([at_l, at_u]).max())

    def loss(self, i: int | slice, lam: Floats) -> Floats:
        """What g_i(lam) falls short of its maximum."""
        return np.asarray(self.top[i] - (self.pi[i] * self.f(lam) - self.slope[i] * lam))

    def partial(self, j: int, least: Floats, most: Floats) -> Floats:
        """The smallest loss of j if a share of it in [least, most] is covered; infinite if none can be."""
        lam = self.low + (self.c - self.low) * np.array((least, most))
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


def _counts(pi: Floats) -> Ints | None:
    """Ints, the smallest at most 1000, that the masses are proportional to up to rounding, if any are."""
    for k in range(1, min(1000, int(LARGEST_TOTAL * pi.min())) + 1):
        n = pi * (k / pi.min())
        if np.all(np.abs(n - np.rint(n)) <= 4 * ULP * n):
            return np.asarray(np.rint(n), dtype=np.int64)
    return None


def _count_loss(s: Separable, counts: Ints, needed: float) -> float:
    """A lower bound on the loss of every vertex, and the smallest one if that is less than needed.

    A table holds the smallest loss of the symbols added to it by the total count of those that are full.
    First the partial symbol is in the table as well, at no loss; where that is not enough, it is taken out.
    """
    full, empty = s.full, s.empty
    room = s.room * float(counts.sum())
    noise = ULP * room * (4 + 6 * s.c / (s.c - s.low))
    size = math.floor(room + noise) + 1

    def add(table: Floats, symbols: list[int]) -> Floats:
        for i in symbols:
            before, n = table, int(counts[i])
            table = before + empty[i]
            if n < size:
                np.minimum(table[n:], before[: size - n] + full[i], out=table[n:])
        return table

    def with_partial(j: int, table: Floats) -> float:
        first = max(math.ceil(room - noise - counts[j]), 0)
        left = room - np.arange(first, size)
        loss = s.partial(j, (left - noise) / counts[j], (left + noise) / counts[j])
        return float((table[first:] + loss).min(initial=math.inf))

    table, symbols = np.append(0.0, np.full(size - 1, math.inf)), list(range(len(counts)))
    whole = add(table, symbols)
    relaxed = [with_partial(j, whole) - empty[j] if empty[j] < math.inf else -math.inf for j in symbols]
    open_ones = [j for j in symbols if not relaxed[j] >= needed]
    best = min((relaxed[j] for j in symbols if relaxed[j] >= needed), default=math.inf)
    if open_ones:
        table = add(table, [j for j in symbols if relaxed[j] >= needed])
        best = min(best, min(with_partial(j, rest) for j, rest in _all_but_one(open_ones, table, add)))
    return best


class Sums(NamedTuple):
    """Blocks of subsets in order of their mass: the least and the largest in a block, the smallest loss."""

    least: Floats
    most: Floats
    loss: Floats


def _meeting_loss(s: Separable, needed: float) -> float:
    """A lower bound on the loss of every vertex, at most needed; below that the smallest one up to 36 symbols.

    All subsets of either half of the symbols that lose less than needed are listed in order of their mass. For
    each partial symbol, blocks of one list are matched with blocks of the other, and halved where together
    they may lose too little. Beyond 36 symbols, subsets of nearly equal mass may have to share a block.
    """
    full, empty = s.full, s.empty
    limit, left = needed, MOST_PAIRS

    def add(sums: Sums, symbols: list[int]) -> Sums:
        nonlocal left
        for i in symbols:
            left -= 10 * len(sums.loss)
            if left < 0:
                break
            least, most = (np.concatenate((mass, mass + s.pi[i])) for mass in sums[:2])
            loss = np.concatenate((sums.loss + empty[i], sums.loss + full[i]))
            kept = np.flatnonzero((loss < limit) & (least <= s.room + s.noise))
            kept = kept[np.argsort(least[kept], kind="stable")]
            sums = _blocks(Sums(least[kept], most[kept], loss[kept]))
        return sums

    by_mass = np.argsort(-s.pi).tolist()
    nothing = Sums(np.zeros(1), np.zeros(1), np.zeros(1))
    for mine, others in ((by_mass[::2], by_mass[1::2]), (by_mass[1::2], by_mass[::2])):
        B = _tree(add(nothing, others))
        for j, rest in _all_but_one(mine, nothing, add):
            limit, left = _matched(s, j, _tree(rest), B, limit, left)
            if left < 0:
                return 0.0
    return limit


def _blocks(sums: Sums) -> Sums:
    """Subsets of equal mass in one block, and neighbours too where there are too many."""
    first = np.flatnonzero(np.diff(sums.least, prepend=-1.0) > ULP)
    first = first[:: -(-len(first) // LONGEST) or 1]
    if len(first) == len(sums.least):
        return sums
    most, loss = np.maximum.reduceat(sums.most, first), np.minimum.reduceat(sums.loss, first)
    return Sums(sums.least[first], most, loss)


def _tree(sums: Sums) -> list[Sums]:
    """The blocks, pairs of neighbours in one, and so on: levels of a binary tree, the root first."""
    missing = (1 << (len(sums.loss) - 1).bit_length() if len(sums.loss) else 1) - len(sums.loss)
    least, most, loss = (
        np.append(x, np.full(missing, y)) for x, y in zip(sums, (2, 2, math.inf), strict=True)
    )
    levels = [Sums(least, most, loss)]
    while len(loss) > 1:
        least, most, loss = least[::2], np.maximum(most[::2], most[1::2]), np.minimum(loss[::2], loss[1::2])
        levels.append(Sums(least, most, loss))
    return levels[::-1]


def _matched(
    s: Separable, j: int, A: list[Sums], B: list[Sums], limit: float, left: int
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


def _enumerated_delta(
    prior: Prior, utility: Utility, y: Floats, low: float, c: float
) -> tuple[float, float, int]:
    """The largest mu - y.lam of all vertices, rounded up; what rounding may do to it; their number."""
    pi, n = prior.probabilities, prior.size
    room = (1 - low) / (c - low)
    noise = ULP * room * (n / 2 + 6 * c / (c - low))
    best, blur, count, size = -math.inf, 0.0, 0, 1.0
    for start in range(0, 1 << n, 1 << 14):
        codes = np.arange(start, min(start + (1 << 14), 1 << n))
        full = (codes[:, None] >> np.arange(n) & 1).astype(bool)
        left = room - full @ pi
        S, j = np.nonzero(~full & (left[:, None] >= -noise) & (left[:, None] <= pi + noise))
        if not len(S):
            continue
        lam, ends = np.where(full[S], c, low).T, []
        for shift in (-noise, noise):
            lam[j, np.arange(len(j))] = np.clip(low + (c - low) * (left[S] + shift) / pi[j], low, c)
            mu = utility.columns(prior, lam)
            ends.append(mu - y @ lam)
            size = max(size, n * float(np.max(np.abs(mu) / lam.sum(axis=0))))
        k, count = int(np.argmax(np.maximum(*ends))), count + len(S)
        if max(ends[0][k], ends[1][k]) > best:
            best, blur = float(max(ends[0][k], ends[1][k])), float(abs(ends[0][k] - ends[1][k]))
    return best + (32 + n) * ULP * (size + math.fsum(np.abs(y))), blur, count
