"""Branch and bound over the columns of a pricing problem, in C (`_native/pricing.c`).

A column is priced in units of weight: symbol i may take z_i in [0, w_i], w_i = pi_i (high - low), of a total
`capacity` = 1 - low; its lift is low + z_i / pi_i. Its profit is pi_i f(lift) - y_i lift, less its value at z = 0.
f comes as a table whose chords lie above it, so what is computed from the table bounds what is true from above. Row 0
of the table holds f at low + (mid - low) s^2, mid = (low + 1)/2, row 1 at 1 - (1 - mid) s^2 and row 2 at
1 + (high - 1) s^2, for s = 0, 1/cells, ..., 1.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ....._common.types import Bools, Floats, Ints
from ....._native.library import address, library, packed
from .....errors import SizeError

LARGEST_SEARCH = 10_000  # symbols
LARGEST_TABLED = 24  # symbols: 2^24 subsets take 1 GB


def check_sizes(pi: Floats, y: Floats, table: Floats, tabled: int, searched: int) -> None:
    """Refuse what compiled code would not survive."""
    n = len(pi)
    if pi.shape != (n,) or y.shape != (n,) or table.ndim != 2 or len(table) != 3 or table.shape[1] < 2:
        raise ValueError(f"a pricing problem cannot have shapes {pi.shape}, {y.shape} and {table.shape}")
    if not 1 <= tabled <= searched <= n:
        raise ValueError(f"of {n} symbols {searched} cannot be searched, {tabled} of them in a table")
    if n > LARGEST_SEARCH or tabled > LARGEST_TABLED:
        raise SizeError(
            f"a search must have at most {LARGEST_SEARCH} symbols, {LARGEST_TABLED} of them in a table",
            given=f"{n} and {tabled}",
            remedy="merge symbols first",
        )


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
) -> tuple[Bools, Ints, Floats, int, float]:
    """Columns of profit above `threshold`, up to `each` for every partial symbol, and a bound on all others.

    Returns (sets as rows of flags, partial symbols, profits, nodes, bound); profit is mu(lift) - y . lift less its
    value for an empty column. `most_nodes` limits the search for each partial symbol; the bound holds all the same.
    With `only_best` the threshold rises to the best profit found. The `tabled` <= n smallest symbols are looked up
    in a table of 2^tabled subset sums instead of being branched on.
    """
    pi, y, table = packed(pi, np.float64), packed(y, np.float64), packed(table, np.float64)
    check_sizes(pi, y, table, tabled, len(pi))
    if each < 1:
        raise ValueError(f"at least one column must be kept for a partial symbol, got {each}")
    n = len(pi)
    sets = np.empty((n * each, n), dtype=np.bool_)
    partial, values = np.empty(n * each, dtype=np.int64), np.empty(n * each)
    nodes, bound = ctypes.c_int64(), ctypes.c_double()
    count = library().extremal_search(
        n,
        address(pi, np.float64, n),
        address(y, np.float64, n),
        capacity,
        low,
        high,
        address(table, np.float64, *table.shape),
        table.shape[1] - 1,
        threshold,
        each,
        most_nodes,
        only_best,
        tabled,
        address(sets, np.bool_, n * each, n),
        address(partial, np.int64, n * each),
        address(values, np.float64, n * each),
        ctypes.byref(nodes),
        ctypes.byref(bound),
    )
    if count < 0:
        raise MemoryError(f"no memory for a search over {n} symbols")
    return sets[:count].copy(), partial[:count].copy(), values[:count].copy(), nodes.value, bound.value
