"""Compiled inner loops of pricing (numba). Imported only when a column generation runs.

A column is priced in units of weight: symbol i may take z_i in [0, w_i], w_i = pi_i (high - low), of a total
`capacity` = 1 - low; its lift is low + z_i / pi_i. Its profit is pi_i f(lift) - y_i lift, less its value at z = 0.
f comes as a table whose chords lie above it, so what is computed from the table bounds what is true from above.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ...._types import Floats


@numba.njit(cache=True)
def f_above(t: float, low: float, high: float, table: Floats) -> float:
    """Chord interpolation of f in three pieces: [low, mid] finer towards low, [mid, 1] and [1, high] finer towards 1.

    mid = (low + 1)/2. Row 0 holds f at low + (mid - low) s^2, row 1 at 1 - (1 - mid) s^2, row 2 at 1 + (high - 1) s^2,
    for s = 0, 1/K, ..., 1: chords are close to f relative to its value near 1, and where it may be steep near low.
    """
    half = (1.0 - low) / 2.0
    if t > 1.0:
        piece = 2
        u = (t - 1.0) / (high - 1.0)
    elif t > low + half:
        piece = 1
        u = (1.0 - t) / half
    else:
        piece = 0
        u = max(t - low, 0.0) / half
    cells = table.shape[1] - 1
    k = int(np.sqrt(u) * cells)
    if k >= cells:
        return float(table[piece, cells])
    a, b = (k / cells) ** 2, ((k + 1) / cells) ** 2
    return float(table[piece, k] + (table[piece, k + 1] - table[piece, k]) * max((u - a) / (b - a), 0.0))


@numba.njit(cache=True)
def descending(keys: Floats) -> NDArray[Any]:
    """The order of the keys from the largest down, equal ones as they come (numba's own sort is slow to compile)."""
    n = len(keys)
    order = np.arange(n)
    spare = np.empty(n, dtype=np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            a, middle = start, min(start + width, n)
            b, end = middle, min(start + 2 * width, n)
            for m in range(start, end):
                if b >= end or (a < middle and keys[order[a]] >= keys[order[b]]):
                    spare[m] = order[a]
                    a += 1
                else:
                    spare[m] = order[b]
                    b += 1
        order, spare = spare, order
        width *= 2
    return order


@numba.njit(cache=True)
def take(values: Floats, index: NDArray[Any]) -> Floats:
    """values[index]: a plain loop compiles in a fraction of the time."""
    taken = np.empty(len(index))
    for m in range(len(index)):
        taken[m] = values[index[m]]
    return taken


@numba.njit(cache=True)
def weights_and_profits(
    pi: Floats, y: Floats, low: float, high: float, table: Floats
) -> tuple[Floats, Floats]:
    """What each symbol takes of the capacity when it is full, and what it gains."""
    weight, profit = np.empty(len(pi)), np.empty(len(pi))
    for i in range(len(pi)):
        weight[i] = pi[i] * (high - low)
        profit[i] = pi[i] * (table[2, -1] - table[0, 0]) - y[i] * (high - low)
    return weight, profit


@numba.njit(cache=True)
def count_below(values: Floats, x: float) -> int:
    """How many of the values, given in increasing order, are smaller than x."""
    lo, hi = 0, len(values)
    while lo < hi:
        mid = (lo + hi) // 2
        if values[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@numba.njit(cache=True)
def relaxed(
    room: float,
    ratio: Floats,
    heads: Floats,
    gains: Floats,
    j_low: float,
    j_high: float,
    v_low: float,
    v_high: float,
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
    return float(total)


@numba.njit(cache=True)
def subset_table(weight: Floats) -> tuple[Floats, NDArray[Any]]:
    """All subset sums of a few weights in increasing order, and the subsets as bits."""
    m = len(weight)
    sums = np.zeros(1 << m)
    for i in range(m):
        for b in range(1 << i):
            sums[(1 << i) | b] = sums[b] + weight[i]
    order = descending(-sums)
    return sums[order], order


@numba.njit(cache=True)
def best_gains(masks: NDArray[Any], profit: Floats, banned: int) -> Floats:
    """A tournament tree over subsets in the order of the table: the largest profit below each node.

    Subsets that hold the symbol `banned` (-1: none) do not count.
    """
    m = len(profit)
    size = len(masks)
    of_mask = np.zeros(size)
    for i in range(m):
        for b in range(1 << i):
            of_mask[(1 << i) | b] = of_mask[b] + profit[i]
    tree = np.empty(2 * size)
    for s in range(size):
        mask = masks[s]
        tree[size + s] = -np.inf if banned >= 0 and (mask >> banned) & 1 else of_mask[mask]
    for s in range(size - 1, 0, -1):
        tree[s] = max(tree[2 * s], tree[2 * s + 1])
    return tree


@numba.njit(cache=True)
def search_partial(
    pi_j: float,
    y_j: float,
    weight: Floats,
    profit: Floats,
    sums: Floats,
    masks: NDArray[Any],
    tree: Floats,
    capacity: float,
    low: float,
    high: float,
    table: Floats,
    threshold: float,
    most_nodes: int,
    found: NDArray[Any],
    found_mask: NDArray[Any],
    found_value: Floats,
) -> tuple[int, int, float]:
    """Branch and bound over all columns with one given partial symbol j: (columns stored, nodes, bound).

    The best columns of profit above `threshold` are stored. Any other one whose partial symbol is j has profit
    <= bound, or no more than one that is stored and differs from it by an exchange of symbols of equal weight.
    Items, the symbols other than j, come by decreasing weight, equal weights by decreasing profit: once the large
    ones are decided the relaxation over the small ones is tight. Among items of equal weight the more profitable are
    taken first, so the others need not be tried. The smallest symbols are not branched on but looked up: `sums` holds
    all their subset sums in order, `masks` the subsets, `tree` the best profit in each range of sums.
    """
    big = len(found[0])  # items that are branched on; the others stand in the table
    n = len(weight)
    size = len(sums)
    rate = np.empty(n)
    for i in range(n):
        rate[i] = profit[i] / weight[i]
    order = descending(rate)
    # Row k: the items k.. sorted by ratio, with prefix sums.
    ratio = np.zeros((big + 1, n))
    heads = np.zeros((big + 1, n + 1))
    gains = np.zeros((big + 1, n + 1))
    for k in range(big + 1):
        m = 0
        for i in order:
            if i >= k:
                ratio[k, m] = rate[i]
                heads[k, m + 1] = heads[k, m] + weight[i]
                gains[k, m + 1] = gains[k, m] + profit[i]
                m += 1
    w_j = pi_j * (high - low)
    base = pi_j * table[0, 0] - y_j * low
    chosen = np.zeros(big, dtype=np.bool_)
    state = np.zeros(big + 1, dtype=np.int8)  # 0 new, 1 full was tried, 2 both were
    used = np.zeros(big + 1)
    gained = np.zeros(big + 1)
    stack = np.zeros(64, dtype=np.int64)
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
            v_low = pi_j * f_above(t_low, low, high, table) - y_j * t_low - base
            v_high = pi_j * f_above(t_high, low, high, table) - y_j * t_high - base
            m = n - k
            reach = gained[k] + relaxed(
                room, ratio[k, :m], heads[k, : m + 1], gains[k, : m + 1], j_low, j_high, v_low, v_high
            )
            if reach <= threshold:
                k -= 1
                continue
            if nodes >= most_nodes:
                bound = max(bound, reach)
                k -= 1
                continue
            if k == big:
                first = count_below(sums, room - w_j - slack)
                last = count_below(sums, room + slack) - 1
                top = 0
                if first <= last:
                    stack[0] = 1
                    top = 1
                while top > 0:
                    top -= 1
                    node = stack[top]
                    nodes += 1
                    a, b = node, node
                    while a < size:
                        a, b = 2 * a, 2 * b + 1
                    a, b = max(a - size, first), min(b - size, last)
                    if a > b or gained[k] + tree[node] == -np.inf:
                        continue
                    z = min(max(room - sums[a], 0.0), w_j)
                    t = low + z / pi_j
                    value = pi_j * f_above(t, low, high, table) - y_j * t - base
                    if b > a:
                        z = min(max(room - sums[b], 0.0), w_j)
                        t = low + z / pi_j
                        value = max(value, pi_j * f_above(t, low, high, table) - y_j * t - base)
                    reach = gained[k] + tree[node] + value
                    if reach <= threshold:
                        continue
                    if node >= size:
                        if stored < store:
                            spot = stored
                            stored += 1
                        else:
                            spot = int(np.argmin(found_value))
                        found[spot] = chosen
                        found_mask[spot] = masks[node - size]
                        found_value[spot] = reach
                        if (
                            stored == store
                        ):  # what is given up from here on is no better than the worst of these
                            threshold = max(threshold, found_value.min())
                            bound = max(bound, threshold)
                        continue
                    if nodes >= most_nodes:
                        bound = max(bound, reach)
                        continue
                    stack[top] = 2 * node
                    stack[top + 1] = 2 * node + 1
                    top += 2
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
    table: Floats,
    threshold: float,
    each: int,
    most_nodes: int,
    only_best: bool,
    tabled: int,
) -> tuple[NDArray[Any], NDArray[Any], Floats, int, float]:
    """Columns of profit above `threshold`, up to `each` for every partial symbol, and a bound on all others.

    Returns (sets as rows of flags, partial symbols, profits, nodes, bound); profit is mu(lift) - y . lift less its
    value for an empty column. `most_nodes` limits the search for each partial symbol; the bound holds all the same.
    With `only_best` the threshold rises to the best profit found. The `tabled` < n smallest symbols are looked up
    in a table of 2^tabled subset sums instead of being branched on.
    """
    n = len(pi)
    weight, profit = weights_and_profits(pi, y, low, high, table)
    by_profit = descending(profit)
    by_weight = descending(take(weight, by_profit))
    order = np.empty(n, dtype=np.int64)
    for m in range(n):
        order[m] = by_profit[by_weight[m]]
    small = order[n - tabled :]
    sums, masks = subset_table(take(weight, small))
    sets = np.zeros((n * each, n), dtype=np.bool_)
    partial = np.zeros(n * each, dtype=np.int64)
    values = np.zeros(n * each)
    found_mask = np.zeros(each, dtype=np.int64)
    found_value = np.zeros(each)
    count = 0
    nodes = 0
    bound = threshold
    items = np.zeros(n - 1, dtype=np.int64)
    tree = best_gains(masks, take(profit, small), -1)
    for rank in range(n - 1, -1, -1):
        j = order[rank]
        m = 0
        for i in order:
            if i != j:
                items[m] = i
                m += 1
        banned = rank - (n - tabled)
        found = np.zeros((each, n - tabled if banned >= 0 else n - tabled - 1), dtype=np.bool_)
        found_value[:] = -np.inf
        stored, used, reach = search_partial(
            pi[j], y[j], take(weight, items), take(profit, items), sums, masks,
            best_gains(masks, take(profit, small), banned) if banned >= 0 else tree,
            capacity, low, high, table, threshold, most_nodes, found, found_mask, found_value,
        )  # fmt: skip
        nodes += used
        bound = max(bound, reach)
        for s in range(stored):
            for m in range(found.shape[1]):
                sets[count, items[m]] = found[s, m]
            for m in range(tabled):
                if (found_mask[s] >> m) & 1:
                    sets[count, small[m]] = True
            partial[count] = j
            values[count] = found_value[s]
            count += 1
            if only_best:
                threshold = max(threshold, found_value[s])
                bound = max(bound, threshold)
    return sets[:count], partial[:count], values[:count], nodes, bound
