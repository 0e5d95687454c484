"""The dynamic programme over whole counts, in C (`_native/counts.c`)."""

from __future__ import annotations

import numpy as np

from ....._common.types import Bools, Floats, Ints
from ....._native.library import address, library, packed


def lattice_fill(counts: Ints, gain: Floats, cells: int, traced: bool) -> tuple[Floats, Bools]:
    """best[s]: the largest gain of a set of symbols whose counts sum to s exactly (-inf: none).

    And, if `traced`, how it was made, for lattice_trace: an array of the size of all symbols times all cells.
    """
    counts, gain = packed(counts, np.int64), packed(gain, np.float64)
    n = len(counts)
    if cells < 1 or counts.min(initial=1) < 1:
        raise ValueError(f"counts and cells must be at least 1, got {counts.min(initial=1)} and {cells}")
    best, takes = np.empty(cells), np.zeros((n if traced else 0, cells), dtype=np.bool_)
    library().extremal_lattice_fill(
        n,
        address(counts, np.int64, n),
        address(gain, np.float64, n),
        cells,
        address(best, np.float64, cells),
        address(takes, np.bool_, n, cells) if traced else None,
    )
    return best, takes


def lattice_trace(counts: Ints, takes: Bools, cell: int) -> Bools:
    """The set behind best[cell]."""
    counts, takes = packed(counts, np.int64), packed(takes, np.bool_)
    n, cells = len(counts), takes.shape[1]
    chosen = np.zeros(n, dtype=np.bool_)
    if not 0 <= cell < cells:
        raise ValueError(f"cell must be below {cells}, got {cell}")
    if library().extremal_lattice_trace(
        n,
        address(counts, np.int64, n),
        address(takes, np.bool_, n, cells),
        cells,
        cell,
        address(chosen, np.bool_, n),
    ):
        raise ValueError("these choices were not made for these counts")
    return chosen
