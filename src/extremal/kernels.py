"""Compiled inner loops of pricing (numba). Imported only when a column generation runs.

A column is priced in units of weight: symbol i may take z_i in [0, w_i], w_i = pi_i (high - low), of a total
`capacity` = 1 - low; its lift is low + z_i / pi_i. Its profit is h_i(z) = pi_i f(lift) - y_i lift, less its value at z = 0.
f comes as a table whose chords lie above it, so what is computed from the table bounds what is true from above.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@numba.njit(cache=True, inline="always")
def f_above(t: float, low: float, high: float, left: Floats, right: Floats) -> float:
    """Chord interpolation of f: `left` holds f at low + (1-low) s^2, `right` at 1 + (high-1) s, s = k/K."""
    if t <= 1.0:
        cells = len(left) - 1
        u = (t - low) / (1.0 - low)
        if u <= 0.0:
            return left[0]
        k = int(np.sqrt(u) * cells)
        if k >= cells:
            return left[cells]
        a, b = (k / cells) ** 2, ((k + 1) / cells) ** 2
        x = (u - a) / (b - a)
        return left[k] + (left[k + 1] - left[k]) * x
    cells = len(right) - 1
    u = (t - 1.0) / (high - 1.0) * cells
    k = int(u)
    if k >= cells:
        return right[cells]
    return right[k] + (right[k + 1] - right[k]) * (u - k)


@numba.njit(cache=True)
def relaxed(
    room: float, ratio: Floats, heads: Floats, gains: Floats, j_low: float, j_high: float, v_low: float, v_high: float
) -> float:
    """The continuous knapsack over items sorted by ratio and one divisible item with a linear profit.

    Items have prefix weights `heads` and prefix profits `gains` (one longer than `ratio`). The divisible item takes
    z in [j_low, j_high], its profit linear from v_low to v_high. All of `room` is used; callers check that it can be.
    """
    n = len(ratio)
    room -= j_low
    total = v_low
    span = j_high - j_low
    slope = (v_high - v_low) / span if span > 0.0 else 0.0
    lo, hi = 0, n  # items before lo are better than the divisible one
    while lo < hi:
        mid = (lo + hi) // 2
        if ratio[mid] > slope:
            lo = mid + 1
        else:
            hi = mid
    target = room
    if heads[lo] < room:
        take = min(span, room - heads[lo])
        total += slope * take
        target -= take
    lo, hi = 0, n  # the last prefix that fits into target
    while lo < hi:
        mid = (lo + hi + 1) // 2
        if heads[mid] <= target:
            lo = mid
        else:
            hi = mid - 1
    total += gains[lo]
    if lo < n:
        total += (target - heads[lo]) * ratio[lo]
    return total


@numba.njit(cache=True)
def search_partial(
    pi_j: float,
    y_j: float,
    weight: Floats,
    profit: Floats,
    capacity: float,
    low: float,
    high: float,
    left: Floats,
    right: Floats,
    threshold: float,
    most_nodes: int,
    found: NDArray[Any],
    found_value: Floats,
) -> tuple[int, int, float]:
    """Branch and bound over all columns with one given partial symbol j: (columns stored, nodes, bound).

    Every column whose partial symbol is j has profit <= bound, and the best of those above `threshold` are stored.
    Items, the symbols other than j, come by decreasing weight, equal weights by decreasing
    profit: once the large ones are decided the relaxation over the small ones is tight. Among items of equal weight
    the more profitable are taken first, so the others need not be tried.
    """
    n = len(weight)
    order = np.argsort(-profit / weight, kind="mergesort")
    # Row k: the items k.. sorted by ratio, with prefix sums.
    ratio = np.zeros((n + 1, n))
    heads = np.zeros((n + 1, n + 1))
    gains = np.zeros((n + 1, n + 1))
    for k in range(n + 1):
        m = 0
        for i in order:
            if i >= k:
                ratio[k, m] = profit[i] / weight[i]
                heads[k, m + 1] = heads[k, m] + weight[i]
                gains[k, m + 1] = gains[k, m] + profit[i]
                m += 1
    w_j = pi_j * (high - low)
    base = pi_j * left[0] - y_j * low
    chosen = np.zeros(n, dtype=np.bool_)
    state = np.zeros(n + 1, dtype=np.int8)  # 0 new, 1 full was tried, 2 both were
    used = np.zeros(n + 1)
    gained = np.zeros(n + 1)
    store = len(found_value)
    stored = 0
    nodes = 0
    bound = threshold
    slack = 1e-15
    k = 0
    while k >= 0:
        if state[k] == 0:
            nodes += 1
            room = capacity - used[k]
            j_high = min(w_j, room)
            j_low = max(0.0, room - heads[k, n - k])
            if j_low > j_high + slack:
                k -= 1
                continue
            j_low = max(min(j_low, j_high), 0.0)
            j_high = max(j_high, 0.0)
            t_low, t_high = low + j_low / pi_j, low + j_high / pi_j
            v_low = pi_j * f_above(t_low, low, high, left, right) - y_j * t_low - base
            v_high = pi_j * f_above(t_high, low, high, left, right) - y_j * t_high - base
            m = n - k
            reach = gained[k] + relaxed(
                room, ratio[k, :m], heads[k, : m + 1], gains[k, : m + 1], j_low, j_high, v_low, v_high
            )
            if reach <= threshold:
                k -= 1
                continue
            if k == n or nodes >= most_nodes:
                bound = max(bound, reach)
                if k == n:
                    if stored < store:
                        spot = stored
                        stored += 1
                    else:
                        spot = int(np.argmin(found_value))
                    found[spot] = chosen
                    found_value[spot] = reach
                    if stored == store:
                        threshold = max(threshold, found_value.min())
                k -= 1
                continue
        if state[k] == 0:
            state[k] = 1
            twin = k > 0 and weight[k] == weight[k - 1] and not chosen[k - 1]
            if not twin and used[k] + weight[k] <= capacity + slack:
                chosen[k] = True
                used[k + 1] = used[k] + weight[k]
                gained[k + 1] = gained[k] + profit[k]
                k += 1
                state[k] = 0
                continue
        if state[k] == 1:
            state[k] = 2
            chosen[k] = False
            used[k + 1] = used[k]
            gained[k + 1] = gained[k]
            k += 1
            state[k] = 0
        else:
            k -= 1
    return stored, nodes, bound


@numba.njit(cache=True)
def search(
    pi: Floats,
    y: Floats,
    capacity: float,
    low: float,
    high: float,
    left: Floats,
    right: Floats,
    threshold: float,
    each: int,
    most_nodes: int,
    only_best: bool,
) -> tuple[NDArray[Any], NDArray[Any], Floats, int, float]:
    """Columns of profit above `threshold`, up to `each` for every partial symbol, and a bound on all columns.

    Returns (sets as rows of flags, partial symbols, profits, nodes, bound); profit is mu(lift) - y . lift less its
    value for an empty column. `most_nodes` limits the search for each partial symbol; the bound holds all the same.
    With `only_best` the threshold rises to the best profit found.
    """
    n = len(pi)
    weight = pi * (high - low)
    profit = pi * (right[-1] - left[0]) - y * (high - low)
    order = np.argsort(-profit, kind="mergesort")
    order = order[np.argsort(-weight[order], kind="mergesort")]
    sets = np.zeros((n * each, n), dtype=np.bool_)
    partial = np.zeros(n * each, dtype=np.int64)
    values = np.zeros(n * each)
    found = np.zeros((each, n - 1), dtype=np.bool_)
    found_value = np.zeros(each)
    count = 0
    nodes = 0
    bound = threshold
    items = np.zeros(n - 1, dtype=np.int64)
    for j in order[::-1]:
        m = 0
        for i in order:
            if i != j:
                items[m] = i
                m += 1
        found_value[:] = -np.inf
        stored, used, reach = search_partial(
            pi[j], y[j], weight[items], profit[items], capacity, low, high, left, right,
            threshold, most_nodes, found, found_value,
        )  # fmt: skip
        nodes += used
        bound = max(bound, reach)
        for s in range(stored):
            for m in range(n - 1):
                sets[count, items[m]] = found[s, m]
            partial[count] = j
            values[count] = found_value[s]
            count += 1
            if only_best:
                threshold = max(threshold, found_value[s])
    return sets[:count], partial[:count], values[:count], nodes, bound


@numba.njit(cache=True)
def neighbourhoods(
    pi: Floats,
    y: Floats,
    low: float,
    high: float,
    left: Floats,
    right: Floats,
    tries: int,
    free: int,
    seed: int,
) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Good columns by large-neighbourhood search, one for each try: (sets, partial symbols, reduced values).

    Fill greedily by noisy profit ratio, then free some symbols, half around the one that no longer fitted and half
    anywhere, and choose among those exactly.
    """
    np.random.seed(seed)
    n = len(pi)
    weight = pi * (high - low)
    profit = pi * (right[-1] - left[0]) - y * (high - low)
    constant = (pi * left[0] - y * low).sum()
    capacity = 1.0 - low
    ratio = profit / weight
    free = min(free, n)
    # typical distance of a ratio from the critical one
    order = np.argsort(-ratio)
    room = capacity
    k = 0
    while k < n - 1 and weight[order[k]] <= room:
        room -= weight[order[k]]
        k += 1
    spread = np.median(np.abs(ratio - ratio[order[k]])) + 1e-12 * np.abs(ratio).max() + 1e-300
    sets = np.zeros((tries, n), dtype=np.bool_)
    partial = np.zeros(tries, dtype=np.int64)
    values = np.full(tries, -np.inf)
    fixed = np.zeros(n, dtype=np.bool_)
    freed = np.zeros(n, dtype=np.bool_)
    for a in range(tries):
        noise = spread * 10.0 ** np.random.uniform(-2.0, 1.0)
        order = np.argsort(-(ratio + noise * np.random.standard_normal(n)))
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
        chosen = np.flatnonzero(freed)
        kept = 0.0
        gain = 0.0
        for i in range(n):
            if fixed[i] and not freed[i]:
                kept += weight[i]
                gain += profit[i]
        room = capacity - kept
        if room < 0.0 or room > weight[chosen].sum():
            continue
        some, who, value, _, _ = search(
            pi[chosen], y[chosen], room, low, high, left, right, -np.inf, 1, 2000, True
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
    good = values > -np.inf
    return sets[good], partial[good], values[good]
