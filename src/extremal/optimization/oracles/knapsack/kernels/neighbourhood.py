"""Large-neighbourhood search for good columns, in C (`_native/neighbourhood.c`)."""

from __future__ import annotations

import numpy as np

from ....._common.types import Bools, Floats, Ints
from ....._native.library import address, library, packed
from .branch_and_bound import check_sizes


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
) -> tuple[Bools, Ints, Floats]:
    """Good columns by large-neighbourhood search, one for each try: (sets, partial symbols, reduced values).

    Tries that lead to nothing have the value -inf.

    Fill greedily by noisy profit ratio, then free some symbols, half around the one that no longer fitted and half
    anywhere, and choose among those exactly. The same seed gives the same columns on every machine.
    """
    pi, y, table = packed(pi, np.float64), packed(y, np.float64), packed(table, np.float64)
    n, free, tries = len(pi), min(free, len(pi)), max(tries, 0)
    check_sizes(pi, y, table, tabled, free)
    sets = np.zeros((tries, n), dtype=np.bool_)
    partial, values = np.zeros(tries, dtype=np.int64), np.empty(tries)
    failed = library().extremal_neighbourhoods(
        n,
        address(pi, np.float64, n),
        address(y, np.float64, n),
        low,
        high,
        address(table, np.float64, *table.shape),
        table.shape[1] - 1,
        tries,
        free,
        tabled,
        seed % 2**64,
        address(sets, np.bool_, tries, n),
        address(partial, np.int64, tries),
        address(values, np.float64, tries),
    )
    if failed:
        raise MemoryError(f"no memory for a search over {n} symbols")
    return sets, partial, values
