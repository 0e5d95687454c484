"""The inner loops of the knapsack oracle, in C: what they are given is checked here.

A column is priced in units of weight: symbol i may take z_i in [0, w_i], w_i = pi_i (high - low), of a total
`capacity` = 1 - low; its lift is low + z_i / pi_i. Its profit is pi_i f(lift) - y_i lift, less its value at z = 0.
f comes as a table whose chords lie above it, so what is computed from the table bounds what is true from above. Row 0
of the table holds f at low + (mid - low) s^2, mid = (low + 1)/2, row 1 at 1 - (1 - mid) s^2 and row 2 at
1 + (high - 1) s^2, for s = 0, 1/cells, ..., 1.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from ...._common.types import Bools, Floats, Ints
from ...._native.library import Record, library, reads, record, writes
from ....errors import SizeError

LARGEST_SEARCH = 10_000  # symbols
LARGEST_TABLED = 24  # symbols: 2^24 subsets take 1 GB
LARGEST_LISTED = 26  # symbols whose vertices are listed: more would not fit into memory


def pricing(pi: Floats, y: Floats, low: float, high: float, table: Floats) -> Record:
    """A pricing problem: f by its table, masses and prices."""
    n, points = len(pi), table.shape[-1]
    if points < 2:
        raise ValueError(f"a table of f needs two points, got {points}")
    return record(
        "problem",
        n=n,
        pi=reads(pi, np.float64, n),
        y=reads(y, np.float64, n),
        capacity=1 - low,
        low=low,
        high=high,
        table=reads(table, np.float64, 3, points),
        cells=points - 1,
    )


def _check_sizes(n: int, tabled: int, searched: int) -> None:
    """Refuse what compiled code would not survive."""
    if not 1 <= tabled <= searched <= n:
        raise ValueError(f"of {n} symbols {searched} cannot be searched, {tabled} of them in a table")
    if n > LARGEST_SEARCH or tabled > LARGEST_TABLED:
        raise SizeError(
            f"a search must have at most {LARGEST_SEARCH} symbols, {LARGEST_TABLED} of them in a table",
            given=f"{n} and {tabled}",
            remedy="merge symbols first",
        )


def _columns(sets: Bools, partial: Ints, values: Floats) -> Record:
    rows, n = sets.shape
    return record(
        "columns",
        sets=writes(sets, np.bool_, rows, n),
        partial=writes(partial, np.int64, rows),
        values=writes(values, np.float64, rows),
        count=rows,
    )


def search(
    problem: Record, threshold: float, each: int, most_nodes: int, only_best: bool, tabled: int
) -> tuple[Bools, Ints, Floats, int, float]:
    """Columns of profit above `threshold`, up to `each` for every partial symbol, and a bound on all others.

    Returns (sets as rows of flags, partial symbols, profits, nodes, bound); profit is mu(lift) - y . lift less its
    value for an empty column. `most_nodes` limits the search for each partial symbol; the bound holds all the same.
    With `only_best` the threshold rises to the best profit found. The `tabled` <= n smallest symbols are looked up
    in a table of 2^tabled subset sums instead of being branched on.
    """
    n = problem.n
    _check_sizes(n, tabled, n)
    if each < 1:
        raise ValueError(f"at least one column must be kept for a partial symbol, got {each}")
    sets = np.empty((n * each, n), dtype=np.bool_)
    partial, values = np.empty(n * each, dtype=np.int64), np.empty(n * each)
    found = _columns(sets, partial, values)
    limits = record(
        "limits", threshold=threshold, each=each, most_nodes=most_nodes, only_best=only_best, tabled=tabled
    )
    if library().extremal_search(problem, limits, found):
        raise MemoryError(f"no memory for a search over {n} symbols")
    count = found.count
    return sets[:count].copy(), partial[:count].copy(), values[:count].copy(), found.nodes, found.bound


def neighbourhoods(
    problem: Record, tries: int, free: int, tabled: int, seed: int
) -> tuple[Bools, Ints, Floats]:
    """Good columns by large-neighbourhood search, one for each try: (sets, partial symbols, reduced values).

    Tries that lead to nothing have the value -inf.

    Fill greedily by noisy profit ratio, then free some symbols, half around the one that no longer fitted and half
    anywhere, and choose among those exactly. The same seed gives the same columns on every machine.
    """
    n, tries = problem.n, max(tries, 0)
    free = min(free, n)
    _check_sizes(n, tabled, free)
    sets = np.zeros((tries, n), dtype=np.bool_)
    partial, values = np.zeros(tries, dtype=np.int64), np.empty(tries)
    failed = library().extremal_neighbourhoods(
        problem, free, tabled, seed % 2**64, _columns(sets, partial, values)
    )
    if failed:
        raise MemoryError(f"no memory for a search over {n} symbols")
    return sets, partial, values


def lattice_fill(counts: Ints, gain: Floats, cells: int, traced: bool) -> tuple[Floats, Bools]:
    """best[s]: the largest gain of a set of symbols whose counts sum to s exactly (-inf: none).

    And, if `traced`, how it was made, for lattice_trace: an array of the size of all symbols times all cells.
    """
    n = len(counts)
    if cells < 1 or counts.min(initial=1) < 1:
        raise ValueError(f"counts and cells must be at least 1, got {counts.min(initial=1)} and {cells}")
    best, takes = np.empty(cells), np.zeros((n if traced else 0, cells), dtype=np.bool_)
    library().extremal_lattice_fill(
        n,
        reads(counts, np.int64, n),
        reads(gain, np.float64, n),
        cells,
        writes(best, np.float64, cells),
        writes(takes, np.bool_, n, cells) if traced else None,
    )
    return best, takes


def lattice_trace(counts: Ints, takes: Bools, cell: int) -> Bools:
    """The set behind best[cell]."""
    n, cells = len(counts), takes.shape[-1]
    chosen = np.zeros(n, dtype=np.bool_)
    if not 0 <= cell < cells:
        raise ValueError(f"cell must be below {cells}, got {cell}")
    if library().extremal_lattice_trace(
        n,
        reads(counts, np.int64, n),
        reads(takes, np.bool_, n, cells),
        cells,
        cell,
        writes(chosen, np.bool_, n),
    ):
        raise ValueError("these choices were not made for these counts")
    return chosen


def vertex_sets(room: Floats, n: int, noise: float) -> tuple[NDArray[np.int32], Ints]:
    """All (set, partial symbol) such that the set leaves some room, and less than the partial symbol would fill.

    `room` is what each set, numbered by its bits, leaves of the capacity. A set that leaves nothing comes with one of
    its own symbols for the partial one. Sorted by partial symbol; the second array holds where each begins.
    """
    if not 1 <= n <= LARGEST_LISTED:
        raise ValueError(f"a table of vertices must be of 1 to {LARGEST_LISTED} symbols, got {n}")
    sets, starts = np.empty(n << (n - 1), dtype=np.int32), np.empty(n + 1, dtype=np.int64)
    count = library().extremal_vertex_sets(
        n,
        reads(room, np.float64, 1 << n),
        noise,
        writes(sets, np.int32, len(sets)),
        writes(starts, np.int64, n + 1),
    )
    return sets[:count].copy(), starts


def vertex_table(
    sets: NDArray[np.int32], starts: Ints, gain: Floats, above: Floats, scratch: Floats
) -> Record:
    """A table of vertices: what the partial symbol of each gains, and has above low. `scratch` is room to work in."""
    n, count = len(starts) - 1, len(sets)
    if not 1 <= n <= LARGEST_LISTED:
        raise ValueError(f"a table of vertices must be of 1 to {LARGEST_LISTED} symbols, got {n}")
    return record(
        "vertex_table",
        n=n,
        count=count,
        sets=reads(sets, np.int32, count),
        starts=reads(starts, np.int64, n + 1),
        gain=reads(gain, np.float64, count),
        above=reads(above, np.float64, count),
        total=writes(scratch, np.float64, 1 << n),
    )


def vertex_price(
    table: Record, profit: Floats, y: Floats, threshold: float, each: int
) -> tuple[Ints, Floats, float]:
    """The `each` vertices of largest profit above the threshold for every partial symbol, and the largest profit.

    Vertices come as numbers, -1 where there are no more, sorted by decreasing profit.
    """
    n = table.n
    if each < 1:
        raise ValueError(f"at least one vertex must be kept for a partial symbol, got {each}")
    best, value, largest = np.empty((n, each), dtype=np.int64), np.empty((n, each)), ctypes.c_double()
    failed = library().extremal_vertex_price(
        table,
        reads(profit, np.float64, n),
        reads(y, np.float64, n),
        threshold,
        each,
        writes(best, np.int64, n, each),
        writes(value, np.float64, n, each),
        ctypes.byref(largest),
    )
    if failed:
        raise ValueError("starts must increase from 0 to the number of vertices")
    return best, value, largest.value
