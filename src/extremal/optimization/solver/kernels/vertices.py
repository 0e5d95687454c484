"""Compiled inner loops of pricing by a table of all vertices (numba). Imported only when such a table is made."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ...._types import Floats


@numba.njit(cache=True)
def vertex_sets(room: Floats, n: int, noise: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """All (set, partial symbol) such that the set leaves some room, and less than the partial symbol would fill.

    `room` is what each set, numbered by its bits, leaves of the capacity. A set that leaves nothing comes with one of
    its own symbols for the partial one. Sorted by partial symbol; the second array holds where each begins.
    """
    starts = np.zeros(n + 1, dtype=np.int64)
    sets = np.empty(n << (n - 1), dtype=np.int32)
    count = 0
    for j in range(n):
        bit = 1 << j
        for block in range(0, 1 << n, 2 * bit):
            for s in range(block, block + bit):
                full = abs(room[s | bit]) <= noise and s & (bit - 1) == 0  # once, with its first symbol
                if room[s] > noise and (full or room[s | bit] < -noise):
                    sets[count] = s
                    count += 1
        starts[j + 1] = count
    return sets[:count].copy(), starts


@numba.njit(cache=True)
def vertex_price(
    sets: NDArray[Any],
    starts: NDArray[Any],
    gain: Floats,
    above: Floats,
    profit: Floats,
    y: Floats,
    threshold: float,
    each: int,
    total: Floats,
) -> tuple[NDArray[Any], Floats, float]:
    """The `each` vertices of largest profit above the threshold for every partial symbol, and the largest profit.

    Vertices come as numbers, -1 where there are no more, sorted by decreasing profit. `total` is room to work in.
    """
    n = len(profit)
    total[0] = 0.0
    for i in range(n):
        for s in range(1 << i):
            total[(1 << i) | s] = total[s] + profit[i]
    best = np.full((n, each), -1, dtype=np.int64)
    value = np.full((n, each), threshold)
    largest = -np.inf
    for j in range(n):
        price = y[j]
        for v in range(starts[j], starts[j + 1]):
            reached = total[sets[v]] + gain[v] - price * above[v]
            if reached > largest:
                largest = reached
            if reached > value[j, each - 1]:
                k = each - 1
                while k > 0 and value[j, k - 1] < reached:
                    value[j, k] = value[j, k - 1]
                    best[j, k] = best[j, k - 1]
                    k -= 1
                value[j, k] = reached
                best[j, k] = v
    return best, value, largest
