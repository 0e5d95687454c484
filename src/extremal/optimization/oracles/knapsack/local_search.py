"""Column generation for any sub-linear utility, with local search for columns: good solutions, nothing proven."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...._common.types import Floats, Ints
from ....model.levels import rounding
from ....theory.lift_vectors import arc_columns
from ...effort import Effort
from ...generate import Solution
from ...masters.linear import CLOSED, FINE, LinearSearch, Master, Utilities, evaluated, scale
from ...tuning import MOVES

WORTH = 1e-9  # of the value: columns that gain less are not worth having


def fill(pi: Floats, low: float, high: float, orders: NDArray[np.int64]) -> Floats:
    """For each order of the symbols the vertex that fills them in turn: high until the mean is reached, then low."""
    mass = pi[orders]
    before = np.cumsum(mass, axis=1) - mass
    room = (1 - low) / (high - low) if high > low else 0.0
    noise = rounding(math.log(high)) * room  # what rounding leaves of a symbol, or takes from it, is nothing
    left = np.where(np.abs(room - before) <= noise, 0.0, room - before)
    share = np.clip(np.where(np.abs(left - mass) <= noise, 1.0, left / mass), 0.0, 1.0)
    lifts = np.empty(share.shape)
    np.put_along_axis(lifts, orders, low + (high - low) * share, axis=1)
    return lifts


def heuristic_generation(
    pi: Floats,
    low: float,
    high: float,
    mu: Utilities,
    effort: Effort,
    patience: int = 12,
) -> Solution:
    """A good solution for any sub-linear mu, which takes columns as rows; nothing is proven about the optimum.

    Column generation with local search for columns: vertices are made by filling symbols in some order, and orders
    are improved by moving single symbols. Ends when `patience` searches in a row find nothing.
    """
    oracle = MovesOracle(pi, low, high, mu, patience)
    master = Master(pi, low, high, scale(pi, low, high, mu))
    run = LinearSearch(effort=effort, aim=CLOSED * FINE, pi=pi, mu=mu, master=master, tolerance=FINE)
    arcs = arc_columns(pi, low, high)
    run.known = (arcs.lifts().T, arcs.weights)
    run.add(run.known[0])
    run.add(fill(pi, low, high, np.argsort(oracle.rng.random((20 * len(pi), len(pi))), axis=1)))
    return run.run(oracle)


@dataclass
class MovesOracle:
    """Local search from the columns in use and from random ones."""

    pi: Floats
    low: float
    high: float
    mu: Utilities
    patience: int
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def bound(self, run: LinearSearch) -> None:
        """None is known."""

    def columns(self, run: LinearSearch) -> bool:
        """New columns that gain something."""
        n, y = len(self.pi), run.solution.dual
        least = WORTH * max(abs(run.solution.value), 1e-300)
        for _ in range(self.patience):
            best = np.argsort(-run.solution.weights, kind="stable")[:n]
            orders = np.argsort(-run.master.lifts[best] + 1e-6 * self.rng.random((len(best), n)), axis=1)
            orders = np.concatenate((orders, np.argsort(self.rng.random((n, n)), axis=1)))
            lifts = self._climb(y, orders)
            run.effort.spend(MOVES * evaluated(lifts))
            found = run.add(lifts[self.mu(lifts) - lifts @ y > least])
            if found or run.effort.over:
                return found > 0
        return False

    def _climb(self, y: Floats, orders: Ints) -> Floats:
        """The vertices reached by moves of single symbols to the front, to the end or to another's place."""
        rng, (count, n) = self.rng, orders.shape
        rows = np.arange(count)
        lifts = fill(self.pi, self.low, self.high, orders)
        value = self.mu(lifts) - lifts @ y
        for _ in range(MOVES):
            a, b = rng.integers(n, size=(2, count))
            b = np.where(rng.random(count) < 0.3, rng.choice([0, n - 1], size=count), b)
            tried = orders.copy()
            tried[rows, a], tried[rows, b] = orders[rows, b], orders[rows, a]
            others = fill(self.pi, self.low, self.high, tried)
            reduced = self.mu(others) - others @ y
            better = reduced > value
            orders[better], lifts[better], value[better] = tried[better], others[better], reduced[better]
        return lifts
