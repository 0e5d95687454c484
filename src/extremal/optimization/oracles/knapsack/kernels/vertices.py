"""Pricing by a table of all vertices, in C (`_native/vertices.c`)."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from ....._common.types import Floats, Ints
from ....._native.library import address, library, packed

LARGEST = 26  # symbols: more would not fit into memory


def vertex_sets(room: Floats, n: int, noise: float) -> tuple[NDArray[np.int32], Ints]:
    """All (set, partial symbol) such that the set leaves some room, and less than the partial symbol would fill.

    `room` is what each set, numbered by its bits, leaves of the capacity. A set that leaves nothing comes with one of
    its own symbols for the partial one. Sorted by partial symbol; the second array holds where each begins.
    """
    if not 1 <= n <= LARGEST:
        raise ValueError(f"a table of vertices must be of 1 to {LARGEST} symbols, got {n}")
    room = packed(room, np.float64)
    sets, starts = np.empty(n << (n - 1), dtype=np.int32), np.empty(n + 1, dtype=np.int64)
    count = library().extremal_vertex_sets(
        n,
        address(room, np.float64, 1 << n),
        noise,
        address(sets, np.int32, len(sets)),
        address(starts, np.int64, n + 1),
    )
    return sets[:count].copy(), starts


def vertex_price(
    sets: NDArray[np.int32],
    starts: Ints,
    gain: Floats,
    above: Floats,
    profit: Floats,
    y: Floats,
    threshold: float,
    each: int,
    total: Floats,
) -> tuple[Ints, Floats, float]:
    """The `each` vertices of largest profit above the threshold for every partial symbol, and the largest profit.

    Vertices come as numbers, -1 where there are no more, sorted by decreasing profit. `total` is room to work in.
    """
    profit, y = packed(profit, np.float64), packed(y, np.float64)
    n, count = len(profit), len(sets)
    if not 1 <= n <= LARGEST or each < 1 or not total.flags.writeable:
        raise ValueError(f"a table of vertices cannot have {n} symbols and {each} vertices each")
    best, value, largest = np.empty((n, each), dtype=np.int64), np.empty((n, each)), ctypes.c_double()
    failed = library().extremal_vertex_price(
        n,
        count,
        address(sets, np.int32, count),
        address(starts, np.int64, n + 1),
        address(gain, np.float64, count),
        address(above, np.float64, count),
        address(profit, np.float64, n),
        address(y, np.float64, n),
        threshold,
        each,
        address(total, np.float64, 1 << n),
        address(best, np.int64, n, each),
        address(value, np.float64, n, each),
        ctypes.byref(largest),
    )
    if failed:
        raise ValueError("starts must increase from 0 to the number of vertices")
    return best, value, largest.value
