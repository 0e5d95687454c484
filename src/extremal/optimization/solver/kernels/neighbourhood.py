"""Large-neighbourhood search for good columns, compiled (numba)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ...._types import Floats
from .branch_and_bound import descending, search, take, weights_and_profits


@numba.njit(cache=True)
def neighbourhoods(
    pi: Floats,
    y: Floats,
    low: float,
    high: float,
    table: Floats,
    tries: int,
    free: int,
    tabled: int,
    seed: int,
) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Good columns by large-neighbourhood search, one for each try: (sets, partial symbols, reduced values).

    Tries that lead to nothing have the value -inf.

    Fill greedily by noisy profit ratio, then free some symbols, half around the one that no longer fitted and half
    anywhere, and choose among those exactly.
    """
    np.random.seed(seed)
    n = len(pi)
    weight, profit = weights_and_profits(pi, y, low, high, table)
    constant = 0.0
    ratio = np.empty(n)
    for i in range(n):
        constant += pi[i] * table[0, 0] - y[i] * low
        ratio[i] = profit[i] / weight[i]
    capacity = 1.0 - low
    free = min(free, n)
    noisy = np.empty(n)
    # typical distance of a ratio from the critical one
    order = descending(ratio)
    room = capacity
    k = 0
    while k < n - 1 and weight[order[k]] <= room:
        room -= weight[order[k]]
        k += 1
    critical = ratio[order[k]]
    for i in range(n):
        noisy[i] = abs(ratio[i] - critical)
    spread = noisy[descending(noisy)[n // 2]] + 1e-12 * abs(critical) + 1e-300
    sets = np.zeros((tries, n), dtype=np.bool_)
    partial = np.zeros(tries, dtype=np.int64)
    values = np.full(tries, -np.inf)
    fixed = np.zeros(n, dtype=np.bool_)
    freed = np.zeros(n, dtype=np.bool_)
    for a in range(tries):
        noise = spread * 10.0 ** np.random.uniform(-2.0, 1.0)
        for i in range(n):
            noisy[i] = ratio[i] + noise * np.random.standard_normal()
        order = descending(noisy)
        fixed[:] = False
        freed[:] = False
        room = capacity
        k = 0
        while k < n and weight[order[k]] <= room:
            fixed[order[k]] = True
            room -= weight[order[k]]
            k += 1
        count = 0
        first = max(0, min(k - free // 4, n - free // 2))
        for m in range(first, min(n, first + free // 2)):
            freed[order[m]] = True
            count += 1
        while count < free:
            i = np.random.randint(n)
            if not freed[i]:
                freed[i] = True
                count += 1
        chosen = np.empty(free, dtype=np.int64)
        count = 0
        room = capacity
        open_weight = 0.0
        gain = 0.0
        for i in range(n):
            if freed[i]:
                chosen[count] = i
                count += 1
                open_weight += weight[i]
            elif fixed[i]:
                room -= weight[i]
                gain += profit[i]
        if room < 0.0 or room > open_weight:
            continue
        some, who, value, _, _ = search(
            take(pi, chosen), take(y, chosen), room, low, high, table, -np.inf, 1, 2000, True, tabled
        )
        if len(value) == 0:
            continue
        best = np.argmax(value)
        for i in range(n):
            sets[a, i] = fixed[i] and not freed[i]
        for m in range(len(chosen)):
            sets[a, chosen[m]] = some[best, m]
        partial[a] = chosen[who[best]]
        values[a] = value[best] + gain + constant
    return sets, partial, values
