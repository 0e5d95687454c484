"""The inner loops of sampling, in C (`_native/sampler.c`): arrays are checked here, once, and drawn from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native.library import address, library
from ..errors import CertificationError

Integers = NDArray[np.uint64]
Step = Callable[[int, Integers], bool]
"""step(first, words) draws the records first, first + 1, ... with these words: whether every one had a row."""

SIZES = {np.dtype(f"u{1 << size}"): size for size in range(4)}  # log2 of the bytes of an unsigned integer
LARGEST_B = 31  # the two outcomes of a bucket share a 64-bit word


def build(weights: Integers, b: int, entries: Integers) -> None:
    """Fill the alias table of every row: 2^b buckets, each an entry threshold * 2^b + alias."""
    n, m = weights.shape
    if not 1 <= b <= LARGEST_B or m > 1 << b or len(entries) < n << b:
        raise ValueError(f"no table of 2^{b} buckets and {len(entries)} entries holds {n} x {m} weights")
    rows = np.ascontiguousarray(weights)  # named, because C reads it after the address was taken
    row = np.empty(1 << b, dtype=np.uint64)
    done = library().extremal_build(
        address(rows, np.uint64, n, m),
        n,
        m,
        b,
        address(row, np.uint64, len(row)),
        address(entries, np.uint64, len(entries)),
    )
    if done < n:
        raise CertificationError(
            f"weights of every row must add up to 2^62, those of row {done} do not; certify the mechanism again"
        )


def drawing(
    codes: NDArray[Any],
    rows: NDArray[np.uint32],
    entries: Integers,
    b: int,
    out: NDArray[Any],
    avx2: bool = True,
) -> Step:
    """What draws one outcome a record into `out`, with the words it is given, piece by piece and in any thread.

    `rows` gives the row of each code, its last element the row of every code from len(rows) - 1 on. The last row
    of the table is the mark of a code without one: what is drawn from it means nothing. Codes and outcomes are
    unsigned integers. `avx2` allows instructions that not every processor has, where this one has them.
    """
    compiled = library()
    count, table_rows = len(codes), len(entries) >> b
    if not 1 <= b <= LARGEST_B or len(entries) != table_rows << b or not len(rows):
        raise ValueError(f"no table has {len(entries)} entries, 2^{b} a row, and no row for a code")
    if (
        codes.dtype not in SIZES
        or out.dtype not in SIZES
        or not out.flags.writeable
        or np.shares_memory(codes, out)
    ):
        raise ValueError(
            f"codes and outcomes must be separate unsigned arrays, got {codes.dtype}, {out.dtype}"
        )
    first_code, first_out = address(codes, codes.dtype, count), address(out, out.dtype, count)
    code_size, out_size = SIZES[codes.dtype], SIZES[out.dtype]
    arguments = (address(rows, np.uint32, len(rows)), len(rows), address(entries, np.uint64, len(entries)))
    wide = int(avx2 and compiled.extremal_has_avx2())

    # The default arguments keep the arrays alive whose addresses are used.
    def step(first: int, words: Integers, kept: Any = (codes, rows, entries, out)) -> bool:
        if not 0 <= first <= count - len(words):
            raise ValueError(f"records {first} .. {first + len(words) - 1} are not among {count}")
        largest = compiled.extremal_draw(
            address(words, np.uint64, len(words)),
            first_code + (first << code_size),
            code_size,
            len(words),
            *arguments,
            table_rows,
            b,
            first_out + (first << out_size),
            out_size,
            wide,
        )
        if largest < 0:
            raise ValueError(f"rows must be below the {table_rows} of the table")
        return bool(largest < table_rows - 1)

    return step
