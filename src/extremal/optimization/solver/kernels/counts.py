"""The dynamic programme over whole counts, compiled (numba)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ...._types import Floats


@numba.njit(cache=True)
def lattice_fill(counts: NDArray[Any], gain: Floats, cells: int, traced: bool) -> tuple[Floats, NDArray[Any]]:
    """best[s]: the largest gain of a set of symbols whose counts sum to s exactly (-inf: none).

    And, if `traced`, how it was made, for lattice_trace: an array of the size of all symbols times all cells.
    """
    n = len(counts)
    best = np.full(cells, -np.inf)
    best[0] = 0.0
    takes = np.zeros((n if traced else 0, cells), dtype=np.bool_)
    for i in range(n):
        w = counts[i]
        for s in range(cells - 1, w - 1, -1):
            value = best[s - w] + gain[i]
            if value > best[s]:
                best[s] = value
                if traced:
                    takes[i, s] = True
    return best, takes


@numba.njit(cache=True)
def lattice_trace(counts: NDArray[Any], takes: NDArray[Any], cell: int) -> NDArray[Any]:
    """The set behind best[cell]."""
    n = len(counts)
    chosen = np.zeros(n, dtype=np.bool_)
    for i in range(n - 1, -1, -1):
        if takes[i, cell]:
            chosen[i] = True
            cell -= counts[i]
    return chosen
