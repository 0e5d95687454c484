"""Pricing: the lift vector of largest reduced value mu(lambda) - y . lambda, and upper bounds on it.

For separable utilities mu(lambda) = sum_i pi_i f(lambda_i) over {lambda in [low, high]^N : pi . lambda = 1}. Because
pi . lambda = 1, adding t pi to a dual vector y lowers every reduced value by t; so if all reduced values are at most
Delta, then y + Delta pi is dual feasible and U* <= sum(y) + Delta. Any bound on Delta is a bound on the optimum.

Pricing is a knapsack in which at most one symbol, the partial one, is neither full (lift high) nor empty (lift low).
Four ways to solve or bound it, from cheap to exact: chords (`chord_bound`), large-neighbourhood search (`explore`, no
bound), dynamic programming when the prior comes from counts (`Lattice`), branch and bound (`exhaust`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...._common.types import Bools, Floats, Ints
from ...._native.library import Record
from ....model.levels import rounding
from ....theory.lift_vectors import subset_sums
from ...tuning import CELLS, FRACTION, LARGEST_TABLE, LARGEST_TRACE, VERTICES_TABLED
from ..knapsack import kernels


@dataclass(frozen=True)
class PricedSets:
    """Columns found by a search, as (full symbols, partial symbol), and a bound on every reduced value.

    `bound` is inf where the search proves nothing.
    """

    full: Bools
    partial: Ints
    bound: float
    nodes: int
    cells: int = 0  # of dynamic programmes


@dataclass(frozen=True)
class Separable:
    """maximise sum_i pi_i f(lambda_i) over columns with lifts in [low, high]."""

    pi: Floats
    f: Callable[[Floats], Floats]
    low: float
    high: float
    cells: int = CELLS

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.pi)

    def mu(self, lifts: Floats) -> Floats:
        """The utility of lift vectors given as rows; f of the lifts at either end is computed once."""
        worth = np.where(lifts == self.high, self.ends[1], self.ends[0])
        between = (lifts != self.low) & (lifts != self.high)
        worth[between] = self.f(lifts[between])
        return worth @ self.pi

    def merged(self, block: Ints) -> Separable:
        """The same problem over blocks of symbols that share their lifts, given the block of each symbol."""
        masses = np.bincount(block, weights=self.pi).astype(np.float64)
        return Separable(masses, self.f, self.low, self.high)

    def lifts(self, full: Bools, partial: Ints) -> Floats:
        """The columns, as rows: high on full symbols, low elsewhere, the partial one completing the mean to 1."""
        L = np.where(full, self.high, self.low)
        rows = np.arange(len(L))
        L[rows, partial] = self.low
        # In deviations from low: they sum to 1 - low, and what rounding may have left of it is nothing.
        room = (1 - self.low) - (self.high - self.low) * self._sums(self.low < L)
        noise = rounding(math.log(self.high)) * (1 - self.low)
        weight = self.pi[partial] * (self.high - self.low)
        part = np.where(room > noise, self.low + room / self.pi[partial], self.low)
        L[rows, partial] = np.where(room < weight - noise, part, self.high)
        return L

    def rounded_alike(self, lifts: Floats) -> Floats:
        """The columns with their partial symbols as `lifts` computes them.

        Where f is steep, two roundings of one vertex differ in utility by more than the tolerance.
        """
        full = lifts >= self.high
        some = (lifts > self.low) & ~full
        single = (some.sum(axis=1) <= 1)[:, None]
        return np.where(single, self.lifts(full, some.argmax(axis=1)), lifts)

    def _sums(self, chosen: Bools) -> Floats:
        """The mass of each set; summed as `subset_sums` does where there are tables of them."""
        masses = np.where(chosen, self.pi, 0.0)
        return np.cumsum(masses, axis=1)[:, -1] if self.size <= VERTICES_TABLED else masses.sum(axis=1)

    @cached_property
    def reach(self) -> tuple[Floats, Floats]:
        """[l_i, u_i]: what the lift of each symbol can be while the others stay within [low, high]."""
        others = (1 - self.pi) / self.pi
        lowest = np.maximum(self.low, 1 - (self.high - 1) * others)
        highest = np.minimum(self.high, 1 + (1 - self.low) * others)
        return lowest, np.maximum(highest, lowest)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """f(low) and f(high)."""
        at_low, at_high = self.f(np.array([self.low, self.high])).tolist()
        return at_low, at_high

    @cached_property
    def table(self) -> Floats:
        """f at the points described in kernels."""
        squares = np.linspace(0, 1, self.cells + 1) ** 2
        half = (1 - self.low) / 2
        points = np.stack((self.low + half * squares, 1 - half * squares, 1 + (self.high - 1) * squares))
        return np.asarray(self.f(points.ravel()), dtype=np.float64).reshape(points.shape)

    def compiled(self, y: Floats) -> Record:
        """The pricing problem with these prices, as compiled code takes it."""
        return kernels.pricing(self.pi, y, self.low, self.high, self.table)

    def analytic_dual(self) -> Floats:
        """A dual feasible vector in closed form: f replaced by its chord over [l_i, u_i].

        Its sum, sum_i pi_i chord_i(1), bounds the optimum; for mutual information and small masses it is epsilon.
        """
        lowest, highest = self.reach
        at_low, at_high = self.f(lowest), self.f(highest)
        width = highest - lowest
        slope = np.divide(at_high - at_low, width, out=np.zeros_like(width), where=width > 0)
        return self.pi * slope + self.pi * float(self.pi @ (at_low - slope * lowest))

    @cached_property
    def twins(self) -> Ints | None:
        """For each symbol the number of its class of equal masses, if there are such."""
        masses, group = np.unique(self.pi, return_inverse=True)
        return group.astype(np.int64) if len(masses) < self.size else None

    @cached_property
    def kinds(self) -> int:
        """How many different masses there are."""
        return self.size if self.twins is None else int(self.twins.max()) + 1

    def symmetric(self, y: Floats) -> Floats:
        """y averaged over symbols of equal mass: the same sum, and no reduced value rises above the largest."""
        if self.twins is None:
            return y
        mean = np.bincount(self.twins, weights=y) / np.bincount(self.twins)
        return mean[self.twins]

    def even_value(self) -> float:
        """The optimum if all symbols have one mass: every vertex is a permutation of one lift vector (Theorem 4)."""
        n = self.size
        filled = n * (1 - self.low) / (self.high - self.low)
        k = min(math.floor(filled), n - 1)
        lifts = np.array([self.high, self.low + (self.high - self.low) * (filled - k), self.low])
        return float(np.array([k, 1, n - 1 - k]) @ self.f(lifts)) / n

    def chord_bound(self, y: Floats) -> float:
        """An upper bound on all reduced values: the continuous knapsack with f replaced by its chords."""
        lowest, highest = self.reach
        at_low = self.pi * self.f(lowest) - y * lowest
        at_high = self.pi * self.f(highest) - y * highest
        weight = self.pi * (highest - lowest)
        gain = at_high - at_low
        room = 1 - float(self.pi @ lowest)
        some = weight > 0
        order = np.flatnonzero(some)[np.argsort(-gain[some] / weight[some], kind="stable")]
        heads = np.concatenate(([0.0], np.cumsum(weight[order])))
        k = int(np.searchsorted(heads, room, side="right")) - 1
        total = math.fsum(at_low) + math.fsum(gain[order[:k]])
        if k < len(order):
            total += (room - heads[k]) * gain[order[k]] / weight[order[k]]
        return float(total)

    def empty_value(self, y: Floats) -> float:
        """mu(lambda) - y . lambda of lambda = low everywhere, from which searches count profits."""
        return float(np.sum(self.pi * self.ends[0] - y * self.low))

    def explore(self, y: Floats, tries: int, free: int, seed: int) -> tuple[Floats, Floats]:
        """Columns found by large-neighbourhood search, as lifts in rows, and their reduced values."""
        free = min(free, self.size - 1)
        full, partial, values = kernels.neighbourhoods(self.compiled(y), tries, free, max(1, free // 2), seed)
        made = np.isfinite(values)
        lifts = self.lifts(full[made], partial[made])
        return lifts, self.mu(lifts) - lifts @ y

    def exhaust(self, y: Floats, threshold: float, each: int, most_nodes: int) -> PricedSets:
        """Branch and bound: columns of reduced value above threshold, up to `each` a partial symbol, and a bound.

        The bound is max(threshold, largest reduced value) if every search ended within most_nodes.
        """
        base = self.empty_value(y)
        tabled = min(LARGEST_TABLE, max(1, self.size // 2))
        full, partial, _, nodes, bound = kernels.search(
            self.compiled(y), threshold - base, each, most_nodes, False, tabled
        )
        # The columns found are evaluated anew, with f itself and not its table.
        lifts = self.lifts(full, partial)
        reduced = self.mu(lifts) - lifts @ y
        return PricedSets(full, partial, max(bound + base, float(reduced.max(initial=-math.inf))), nodes)


def integer_counts(pi: Floats, largest_total: int = 2_000_000) -> Ints | None:
    """Whole numbers proportional to pi, if there are some with a total up to largest_total."""
    unit = float(pi.min())
    for k in range(1, 1001):
        scaled = pi * (k / unit)
        if scaled.sum() > largest_total:
            return None
        counts = np.rint(scaled)
        if np.all(np.abs(counts / counts.sum() - pi) <= 4e-16 * np.maximum(pi, 1e-3)):
            return counts.astype(np.int64)
    return None


@dataclass(frozen=True)
class Lattice:
    """Exact pricing for a prior from counts: dynamic programming over the total count of the full symbols."""

    problem: Separable
    counts: Ints

    @property
    def capacity(self) -> float:
        """How many counts the full symbols may hold."""
        share = (1 - self.problem.low) / (self.problem.high - self.problem.low)
        return share * float(self.counts.sum())

    @property
    def cells(self) -> int:
        """The length of a dynamic programme."""
        return math.floor(self.capacity + 1e-9) + 1

    def price(self, y: Floats, threshold: float, most: float = 3e9) -> PricedSets:
        """Columns of reduced value above threshold, one a partial symbol, and a bound on all reduced values.

        First all symbols may be full, the partial one too, which bounds from above at the cost of one programme.
        Where that bound exceeds the threshold the programme is run again without the partial symbol, which is exact,
        as long as that takes no more than `most` cells.
        """
        problem = self.problem
        gain = problem.pi * (problem.table[2, -1] - problem.table[0, 0]) - y * (problem.high - problem.low)
        base = problem.empty_value(y)
        everybody = np.arange(problem.size)
        best, _ = kernels.lattice_fill(self.counts, gain, self.cells, False)
        relaxed = np.array([self._with_partial(best, int(j), y)[0] for j in everybody]) + base
        full, partial, exact = [], [], np.array(relaxed)
        spent = whole = problem.size * self.cells
        for j in np.argsort(-relaxed, kind="stable"):
            if relaxed[j] <= threshold or spent > most or whole > LARGEST_TRACE:
                break
            spent += whole
            others = np.delete(everybody, j)
            best, takes = kernels.lattice_fill(self.counts[others], gain[others], self.cells, True)
            value, cell = self._with_partial(best, int(j), y)
            exact[j] = value + base
            if exact[j] > threshold:
                chosen = np.zeros(problem.size, dtype=np.bool_)
                chosen[others] = kernels.lattice_trace(self.counts[others], takes, cell)
                full.append(chosen)
                partial.append(int(j))
        sets = np.array(full, dtype=np.bool_).reshape(len(full), problem.size)
        return PricedSets(
            sets, np.array(partial, dtype=np.int64), max(float(exact.max()), threshold), 0, spent
        )

    def _with_partial(self, best: Floats, j: int, y: Floats) -> tuple[float, int]:
        """The best total when symbol j takes what the full symbols leave, and how many counts those hold."""
        problem = self.problem
        left = self.capacity - np.arange(self.cells)
        first = max(0, math.ceil(self.capacity - self.counts[j] - 1e-9))
        lift = problem.low + (problem.high - problem.low) * np.clip(left[first:] / self.counts[j], 0, 1)
        value = (
            best[first:]
            + problem.pi[j] * (problem.f(lift) - problem.table[0, 0])
            - y[j] * (lift - problem.low)
        )
        k = int(np.argmax(value))
        return float(value[k]), first + k


@dataclass(frozen=True)
class VertexTable:
    """All vertices of the lift polytope: sets of full symbols as bits, sorted by the partial symbol.

    The vertices of partial symbol j begin at starts[j]; its lift lies `above` low, and adds `gain` to mu.
    """

    problem: Separable
    sets: NDArray[np.int32]
    starts: NDArray[np.int64]
    above: Floats
    gain: Floats
    scratch: Floats

    def price(self, y: Floats, threshold: float, each: int) -> PricedSets:
        """The columns of largest reduced value above the threshold, up to `each` a partial symbol, and the maximum."""
        problem = self.problem
        at_low, at_high = problem.ends
        profit = problem.pi * (at_high - at_low) - y * (problem.high - problem.low)
        base = problem.empty_value(y)
        table = kernels.vertex_table(self.sets, self.starts, self.gain, self.above, self.scratch)
        best, value, largest = kernels.vertex_price(table, profit, y, threshold - base, each)
        good = (best >= 0) & (value + base >= FRACTION * (largest + base))
        full = (self.sets[best[good], None] >> np.arange(problem.size, dtype=np.int32) & 1).astype(np.bool_)
        return PricedSets(full, np.nonzero(good)[0], largest + base, 0)


def vertex_table(problem: Separable) -> VertexTable | None:
    """The table of all vertices, or None if the alphabet is too large for it or the only vertex is 1."""
    noise = float(rounding(np.log(problem.high)))
    if problem.size > VERTICES_TABLED or problem.high - problem.low <= noise:
        return None
    capacity = (1 - problem.low) / (problem.high - problem.low)
    sums = subset_sums(problem.pi)
    room = capacity - sums
    sets, starts = kernels.vertex_sets(room, problem.size, noise * capacity)
    # As in `Separable.lifts`, to the last bit: the master program holds the same vertices.
    left = (1 - problem.low) - (problem.high - problem.low) * sums[sets]
    masses = np.repeat(problem.pi, np.diff(starts))
    above = np.clip(left / masses, 0.0, problem.high - problem.low)
    gain = masses * (problem.f(problem.low + above) - problem.ends[0])
    return VertexTable(problem, sets, starts, above, gain, np.empty_like(room))
