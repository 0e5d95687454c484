"""Compiled inner loops of sampling (numba). Imported only when something is drawn."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


def compiled(function: Any) -> Any:
    """The function compiled, free of the interpreter lock, kept on disk where there is a place to keep it."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # a read-only installation without a home directory
        return numba.njit(nogil=True)(function)


@compiled
def build(weights: NDArray[np.uint64], b: int, entries: NDArray[np.uint64]) -> None:
    """Fill the alias table of every row: 2^b buckets, each an entry threshold * 2^b + alias.

    All buckets hold `size` = 2^(62-b) of the row's 2^62. Bucket j gives outcome j below its threshold and its
    alias from there on. Outcomes with less than `size` are light and give their bucket's rest to the current
    heavy one, h, of which r is left; when r falls below `size`, what is left of h fills its own bucket and
    the next heavy one gives the rest. Nothing is ever negative, and the masses add up to the weights exactly,
    because every subtraction from an outcome is a mass put into a bucket under its name. A full bucket is
    stored as threshold 0 with itself as its alias, so a threshold needs 62-b bits and an entry 62.
    """
    n, m = weights.shape
    buckets = 1 << b
    size = np.int64(1 << (62 - b))
    w = np.zeros(buckets, dtype=np.int64)
    for i in range(n):
        for j in range(m):
            w[j] = np.int64(weights[i, j])
        base = i * buckets
        for j in range(buckets):
            entries[base + j] = np.uint64(j)
        h = 0
        while w[h] < size:
            h += 1
        r = w[h]
        for j in range(buckets):
            if w[j] < size:
                while r < size:
                    g = h + 1
                    while w[g] < size:
                        g += 1
                    entries[base + h] = np.uint64((r << b) | g)
                    r = w[g] - (size - r)
                    h = g
                entries[base + j] = np.uint64((w[j] << b) | h)
                r -= size - w[j]
        while r < size:
            g = h + 1
            while w[g] < size:
                g += 1
            entries[base + h] = np.uint64((r << b) | g)
            r = w[g] - (size - r)
            h = g


@compiled
def draw(
    words: NDArray[np.uint64],
    codes: NDArray[Any],
    rows: NDArray[np.uint32],
    entries: NDArray[np.uint64],
    b: int,
    out: NDArray[Any],
) -> bool:
    """Write one outcome a record; return whether every record had a row.

    `rows` gives the row of each code, its last element the row of every code from len(rows) - 1 on. The row
    after the last is the mark of a code without one: the table has it, but what is drawn from it means
    nothing.
    """
    shift, top, rest = np.uint64(b), np.uint64(64 - b), np.uint64(b + 2)
    mask, half, five = np.uint64((1 << b) - 1), np.uint64(32), np.uint64(5)
    last = np.uint64(len(rows) - 1)
    largest = np.uint32(0)
    for i in range(len(codes)):
        word = words[i]
        row = rows[min(np.uint64(codes[i]), last)]
        largest = max(largest, row)
        bucket = word >> top
        entry = entries[(np.uint64(row) << shift) | bucket]
        # Both outcomes in one word, shifted by the comparison. Of a plain choice between bytes LLVM makes a
        # branch, which is mispredicted half of the time and takes a time that depends on the secret.
        above = np.uint64((word << shift) >> rest >= entry >> shift)
        out[i] = (((entry & mask) << half) | bucket) >> (above << five) & mask
    return bool(largest < (len(entries) >> b) - 1)
