"""Lift vectors: the vertices of {lambda in [low, high]^N : pi . lambda = 1} (Algorithm 1), and few that mix to 1.

Every vertex is `high` on a set S, `low` outside S and one index j, and at j whatever completes the mean to 1.
For PML low = 0 and high = e^epsilon; local information privacy has low > 0.

The arc mechanism needs at most 2N of them and no matrix. Symbols lie as consecutive arcs of length pi_i on a circle.
Column t covers a window [t, t + w) and has lift low + (high - low) * covered share of each symbol;
w = (1 - low)/(high - low) makes its mean lift 1. Averaged over a uniform t every symbol has lift 1. Breakpoints are the
starts at which t or t + w meets a boundary between symbols; between two of them the column is linear in t, so moving
its weight half to each end keeps every average and, mu being convex, loses no utility. At a breakpoint at most one
symbol is partly covered, so every column is a vertex.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._common.threads import one_thread
from .._common.types import Floats, Ints
from ..errors import SizeError
from ..model.levels import largest_lift, rounding
from ..model.mechanism import Mechanism, check_size
from ..model.prior import Prior, check_prior

LARGEST = 22  # symbols: 2^22 subset sums


@one_thread
def extremal_lift_vectors(prior: Prior, epsilon: float) -> Floats:
    """All vertices of the lift polytope, one a row, no duplicates (Algorithm 1, regions up to k = N).

    Practical up to about N = 18 (340 thousand vertices at epsilon = log 2).

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> vectors = ex.theory.extremal_lift_vectors(prior, 0.6)
    >>> (vectors @ prior.probabilities).round(9).tolist()  # every mean is 1
    [1.0, 1.0, 1.0, 1.0, 1.0]

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    """
    pi = check_prior(prior).probabilities
    return lift_vertices(pi, 0.0, largest_lift(pi, epsilon))


def lift_vertices(pi: Floats, low: float, high: float) -> Floats:
    """All vertices of {lambda in [low, high]^N : pi . lambda = 1}, one a row, no duplicates."""
    n = len(pi)
    if n > LARGEST:
        raise SizeError(
            f"enumeration of lift vectors needs at most {LARGEST} symbols and is practical up to about 18",
            given=n,
            remedy="`design(prior, epsilon)` makes them as they are needed",
        )
    noise = rounding(np.log(high))
    if high - low <= noise:
        return np.ones((1, n))
    # In units of mass: S may hold up to `capacity`, and an element j takes the rest if it is large enough.
    capacity = (1 - low) / (high - low)
    mass = subset_sums(pi)
    sets = np.arange(len(mass), dtype=np.uint32)
    room = capacity - mass
    noise *= capacity  # a set fills the capacity exactly if it misses it by no more than rounding can do
    blocks = [_rows(sets[np.abs(room) <= noise], n, low, high)]
    usable, every = sets[room > noise], np.uint32(len(mass) - 1)
    for j in range(n):
        bit = np.uint32(1 << j)
        fits = (usable & bit == 0) & (room[usable | bit] < -noise)
        block = _rows(usable[fits], n, low, high)
        full, empty = mass[usable[fits]], mass[~usable[fits] & every & ~bit]
        # From 1, because low + (high - low) room / pi_j would lose digits where both are near it.
        partial = 1 + ((1 - low) * empty - (high - 1) * full) / pi[j]
        block[:, j] = np.clip(partial, low, high)
        blocks.append(block)
    return np.concatenate(blocks)


def _rows(sets: NDArray[np.uint32], n: int, low: float, high: float) -> Floats:
    """For each set, given as bits, the vector that is high on it and low elsewhere."""
    return np.where(sets[:, None] >> np.arange(n, dtype=np.uint32) & 1, high, low)


def subset_sums(values: Floats) -> Floats:
    """The sums over all subsets, numbered by their bits."""
    sums = np.zeros(1 << len(values))
    for i, value in enumerate(values.tolist()):
        np.add(sums[: 1 << i], value, out=sums[1 << i : 2 << i])
    return sums


# An error of d on the circle is one of (high - low) d in the lifts. Positions are known to about 1e-28, so
# windows narrower than this are widened to it; what that costs in utility is below 1e-10.
NARROWEST = 1e-12

GRID = 2.0**51  # the coarse parts of positions are multiples of 1/GRID, so their sums up to 4 are exact


@dataclass(frozen=True, eq=False)
class ArcColumns:
    """Column y: lift `high` on symbols first..first+count-1 (cyclically), `rest` on partial, `low` elsewhere.

    `weights` is the output distribution.
    """

    probabilities: Floats
    low: float
    high: float
    first: Ints
    count: Ints
    partial: Ints
    rest: Floats
    weights: Floats

    @property
    def outputs(self) -> int:
        """The number of columns, at most 2N."""
        return len(self.weights)

    def lifts(self) -> Floats:
        """The (N, M) lift matrix, if it fits into memory."""
        n, m = len(self.probabilities), self.outputs
        check_size(n, m)
        after = (np.arange(n)[:, None] - self.first[None, :]) % n
        L = np.where(after < self.count, self.high, self.low)
        L[self.partial, np.arange(m)] = self.rest
        return L

    def matrix(self) -> Floats:
        """P(y|x), rows normalised against rounding."""
        P = self.lifts() * self.weights
        return np.asarray(P / P.sum(axis=1, keepdims=True))

    def separable_value(self, f: Callable[[Floats], Floats]) -> float:
        """Sum over columns of weight * sum_i pi_i f(lift_i), in O(N)."""
        covered = _between(_boundaries(self.probabilities), self.first, self.first + self.count)
        f_low, f_high = np.asarray(f(np.array([self.low, self.high])), dtype=np.float64)
        counted = np.where(self.count == len(self.probabilities), f_high, f_low)
        change = np.asarray(f(self.rest), dtype=np.float64) - counted
        value = f_low + (f_high - f_low) * covered + self.probabilities[self.partial] * change
        return math.fsum(self.weights * value)


def arc_columns(pi: Floats, low: float, high: float) -> ArcColumns:
    """The columns of the arc mechanism in the order of the symbols given, equal columns merged.

    Needs 0 <= low <= 1 <= high. No lift exceeds 1/min(pi), so `high` is lowered to that where it is larger.
    """
    n = len(pi)
    high = min(high, 1 / max(float(pi.min()), NARROWEST))
    if high - 1 <= rounding(0) or low >= 1:
        none = np.zeros(1, dtype=np.int64)
        return ArcColumns(pi, low, 1.0, none, none + n, none, np.ones(1), np.ones(1))
    bounds = _boundaries(pi)
    w = float(bounds[0, n] + bounds[1, n]) * (1 - low) / (high - low)
    # The window ends on a boundary if it misses it by no more than rounding can do; lifts move by as much.
    noise = float(rounding(math.log(high))) * w
    opens, s, e, weights = _breakpoints(bounds, n, w, noise)
    meets = np.zeros(len(s), dtype=bool)  # the window both opens and closes on a boundary
    pairs = _coincidences(opens, np.abs(_between(bounds, s, e) - w) <= noise)
    meets[pairs + 1] = True
    weights[pairs + 1] += weights[pairs]
    weights[pairs] = 0.0

    # In symbol s the window opens and in symbol e it closes. Opening on a boundary it covers s wholly and e
    # partly, closing on one it is the other way round.
    begin = np.where(opens | meets, s, s + 1)
    count = e - begin
    partial = np.where(opens | meets, e, s) % n
    room = np.where(meets, 0.0, w - _between(bounds, begin, e))
    rest = low + (high - low) * np.clip(room / pi[partial], 0.0, 1.0)
    rest[count == n] = high

    # Two columns are equal if both lie inside one symbol, or if both cover all but a part of one.
    alone = 2 * n + np.arange(len(s))
    same = np.where(count == 0, partial, np.where((count == n - 1) & ~meets, n + partial, alone))
    _, index, group = np.unique(same, return_index=True, return_inverse=True)
    weights = np.bincount(group, weights=weights).astype(np.float64)
    order = np.argsort(index)
    order = order[weights[order] > 0]
    index, weights = index[order], weights[order]
    begin, count, partial, rest = begin[index] % n, count[index], partial[index], rest[index]
    return ArcColumns(pi, low, high, begin, count, partial, rest, weights / math.fsum(weights))


def _breakpoints(
    bounds: Floats, n: int, w: float, noise: float
) -> tuple[NDArray[np.bool_], Ints, Ints, Floats]:
    """All starts of the window at which it opens or else closes on a boundary, in order, with their weights.

    With each come the symbols s and e in which it opens and closes, counted on over two turns.
    """
    closing = bounds - _split(np.array([w]))
    before = int(np.count_nonzero(closing.sum(axis=0) < -noise))
    t = np.concatenate((bounds[:, :n], closing[:, before : before + n]), axis=1)
    carry = np.rint(t[1] * GRID) / GRID
    t += np.stack((carry, -carry))
    order = np.lexsort((t[1], t[0]))
    t, opens = t[:, order], order < n
    gap = np.append(np.diff(t).sum(axis=0), (t[:, 0] - t[:, -1] + bounds[:, n]).sum())
    return opens, np.cumsum(opens) - 1, before - 1 + np.cumsum(~opens), (gap + np.roll(gap, 1)) / 2


def _coincidences(opens: NDArray[np.bool_], fits: NDArray[np.bool_]) -> Ints:
    """Positions k such that breakpoints k and k + 1 are one up to rounding: the window opens and closes."""
    close = (opens[1:] != opens[:-1]) & fits[1:]
    k = np.arange(len(close))
    run = np.maximum.accumulate(np.where(close & ~np.concatenate(([False], close[:-1])), k, 0))
    return np.flatnonzero(close & ((k - run) % 2 == 0))  # in a run of them, every other one


def _boundaries(pi: Floats) -> Floats:
    """Where symbols begin and end on two turns of the circle, as sums of a coarse and a fine part (rows)."""
    return np.concatenate((np.zeros((2, 1)), np.cumsum(_split(np.concatenate((pi, pi))), axis=1)), axis=1)


def _split(x: Floats) -> Floats:
    """x as the sum of a multiple of 1/GRID and a small rest (rows)."""
    coarse = np.rint(x * GRID) / GRID
    return np.stack((coarse, x - coarse))


def _between(bounds: Floats, begin: Ints, end: Ints) -> Floats:
    """The mass between two boundaries."""
    return np.asarray((bounds[:, end] - bounds[:, begin]).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Arcs:
    """An arc mechanism without its matrix, which may be too large: columns over the symbols in `order`."""

    prior: Prior
    columns: ArcColumns
    order: Ints

    @property
    def shape(self) -> tuple[int, int]:
        """Inputs and outputs."""
        return self.prior.size, self.columns.outputs

    def mechanism(self) -> Mechanism:
        """With its matrix; refused if that is too large."""
        Q = self.columns.matrix()
        P = np.empty_like(Q)
        P[self.order] = Q
        return Mechanism(P, self.prior.labels)
