"""Column generation for any sub-linear utility, with local search for columns: good solutions, nothing proven."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...model.regions import rounding
from ...theory.arc import arc_columns
from .column_generation import Solution, precise, scale
from .master import Master


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
    mu: Callable[[Floats], Floats],
    time_limit: float,
    patience: int = 12,
) -> Solution:
    """A good solution for any sub-linear mu, which takes columns as rows; nothing is proven about the optimum.

    Column generation with local search for columns: vertices are made by filling symbols in some order, and orders
    are improved by moving single symbols. Ends when `patience` rounds in a row find nothing, or with the time limit.
    """
    rng = np.random.default_rng(0)
    n = len(pi)
    deadline = time.perf_counter() + time_limit
    lifts = fill(pi, low, high, np.argsort(rng.random((20 * n, n)), axis=1))
    master = Master(pi, low, high, scale(pi, low, high, mu))
    arcs = arc_columns(pi, low, high).lifts().T
    for columns in (arcs, lifts):
        master.add(columns, mu(columns))
    rounds = fruitless = 0
    interrupted = False
    solution = master.solve()
    try:
        while fruitless < patience and time.perf_counter() < deadline:
            rounds += 1
            best = np.argsort(-solution.weights)[:n]
            orders = np.argsort(-master.lifts[best] + 1e-6 * rng.random((len(best), n)), axis=1)
            orders = np.concatenate((orders, np.argsort(rng.random((n, n)), axis=1)))
            found = _climb(pi, low, high, mu, solution.dual, orders, rng)
            gains = mu(found)
            good = gains - found @ solution.dual > 1e-9 * max(abs(solution.value), 1e-300)
            added = master.add(found[good], gains[good]) if good.any() else 0
            fruitless = 0 if added else fruitless + 1
            if added:
                solution = master.solve()
    except KeyboardInterrupt:
        interrupted = True
    lifts, weights = precise(master, solution)
    value = float(mu(lifts) @ weights)
    return Solution(
        lifts, weights, value, math.inf, None, rounds, len(master.gains), interrupted=interrupted
    )  # fmt: skip


def _climb(
    pi: Floats,
    low: float,
    high: float,
    mu: Callable[[Floats], Floats],
    y: Floats,
    orders: NDArray[np.int64],
    rng: np.random.Generator,
    steps: int = 40,
) -> Floats:
    """The vertices reached from `orders` by moves of single symbols to the front, to the end or to another's place."""
    count, n = orders.shape
    rows = np.arange(count)
    lifts = fill(pi, low, high, orders)
    value = mu(lifts) - lifts @ y
    for _ in range(steps):
        a, b = rng.integers(n, size=(2, count))
        b = np.where(rng.random(count) < 0.3, rng.choice([0, n - 1], size=count), b)
        tried = orders.copy()
        tried[rows, a], tried[rows, b] = orders[rows, b], orders[rows, a]
        others = fill(pi, low, high, tried)
        reduced = mu(others) - others @ y
        better = reduced > value
        orders[better], lifts[better], value[better] = tried[better], others[better], reduced[better]
    return lifts
