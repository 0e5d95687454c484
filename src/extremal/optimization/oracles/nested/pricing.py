"""Pricing for separable utilities over a set of priors: the best pair of nested sets of symbols, and a bound on all.

The loops are in C (`_native/nested_pricing.c`), where it says how the bound is proven. f enters them as a table whose
chords lie above it, so bounds hold; columns that are found are evaluated with f itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...._common.types import Bools, Floats
from ...._native.library import library, reads, record, writes
from ....model.prior_set import PriorSet
from ...cone import MIDDLE, TOP, Cone, pairs
from ...effort import SPEED, Effort
from ..knapsack.separable import Separable
from .lattice import SumLattice
from .vertices import nested_columns

PLACES, BYTES = (
    200_000,
    40_000_000,
)  # nodes of branch and bound that wait at a time, and what they take at most
NODE = 200  # bytes, and one more for each symbol
KEPT = 60  # columns of one search
LOOKED_AT = 1 / 8  # nodes that a symbol costs which is looked at, see Effort
SWEEPS = 4  # of local search from sets that are nearly nested
ULP = 2.0**-52


@dataclass(frozen=True)
class Priced:
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
    def _cone(self) -> Cone:
        priors = self.priors
        pi = priors.nominal.probabilities
        return Cone(pi, priors.center, priors.lower, priors.upper, priors.radius / 2, self.c)

    @cached_property
    def _branches(self) -> tuple[Floats, Floats]:
        return pairs(self._cone, self._separable.high)

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
        effort.spend(LOOKED_AT * int(spent))
        return self._columns(levels[np.isfinite(values)])

    def price(
        self, y: Floats, threshold: float, enough: float, effort: Effort, most: float = math.inf
    ) -> Priced:
        """Columns of reduced value above the threshold, and a bound on all.

        Ends early when the best column has `enough` of what the bound allows above the threshold. Where sums of counts
        decide, they prove most, and lead to columns.
        """
        if self._lattice is None:
            return self._branched(y, threshold, enough, effort, most)
        sums = self._lattice.price(y, threshold)
        effort.spend(sums.nodes)
        bound = sums.bound + self._noise(y)
        lifts = (
            self.rise(y, sums.inner, sums.outer, effort, SWEEPS) if len(sums.inner) else np.zeros((0, len(y)))
        )
        values = self.f(lifts) @ self.priors.nominal.probabilities - lifts @ y
        best = float(values.max(initial=threshold))
        if best - threshold >= enough * (sums.bound - threshold):
            return Priced(lifts[values > threshold], bound, int(sums.nodes / LOOKED_AT))
        other = self._branched(y, threshold, enough, effort, most)
        return Priced(
            np.concatenate((lifts[values > threshold], other.lifts)), min(bound, other.bound), other.nodes
        )

    def _noise(self, y: Floats) -> float:
        """What rounding may take from reduced values."""
        return 8 * self.priors.size * ULP * self._scale(y) * self._separable.high

    def _branched(self, y: Floats, threshold: float, enough: float, effort: Effort, most: float) -> Priced:
        """Columns and a bound by branch and bound."""
        n = self.priors.size
        lines, numbers = self._branches
        k = len(lines)
        values, levels = np.zeros(KEPT), np.zeros((KEPT, n), dtype=np.int8)
        in_time = max(effort.seconds, 0.0) * SPEED / LOOKED_AT
        allowed = min(most, 1 + effort.left / LOOKED_AT)
        search = record(
            "nested_search",
            branches=k,
            lines=reads(lines, np.float64, k, 4, n),
            numbers=reads(numbers, np.float64, k, 9),
            scale=self._scale(y),
            threshold=threshold,
            enough=enough,
            most=int(min(allowed, in_time, 1e18)),
            places=max(k, int(min(PLACES, BYTES / (NODE + n)))),
            kept=KEPT,
            values=writes(values, np.float64, KEPT),
            levels=writes(levels, np.int8, KEPT, n),
        )
        count = library().extremal_price_nested(self._cone.compiled, self._separable.compiled(y), search)
        if count < 0:
            raise MemoryError
        if in_time < allowed and search.spent >= in_time:
            effort.stop()
        effort.spend(LOOKED_AT * search.spent)
        order = np.argsort(-values[:count], kind="stable")
        return Priced(self._columns(levels[order]), search.bound + self._noise(y), search.spent)

    def _columns(self, levels: NDArray[np.int8]) -> Floats:
        if not len(levels):
            return np.zeros((0, self.priors.size))
        return nested_columns(self.priors, self.c, levels == TOP, levels >= MIDDLE)
