"""The inner loops of sampling, in C (`_native/sampler.c`): arrays are checked here, once, and drawn from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._native.library import library, reads, record, writes
from ..errors import CertificationError

Integers = NDArray[np.uint64]
Step = Callable[[int, int], bool]
"""step(first, number) draws the records first, first + 1, ... with as many words: whether every one had a row."""

SIZES = {np.dtype(f"u{1 << size}"): size for size in range(4)}  # log2 of the bytes of an unsigned integer
LARGEST_B = 31  # the two outcomes of a bucket share a 64-bit word


def build(weights: Integers, b: int, entries: Integers) -> None:
    """Fill the alias table of every row: 2^b buckets, each an entry threshold * 2^b + alias."""
    n, m = weights.shape
    if not 1 <= b <= LARGEST_B or m > 1 << b or len(entries) < n << b:
        raise ValueError(f"no table of 2^{b} buckets and {len(entries)} entries holds {n} x {m} weights")
    row = np.empty(1 << b, dtype=np.uint64)
    done = library().extremal_build(
        reads(weights, np.uint64, n, m),
        n,
        m,
        b,
        writes(row, np.uint64, len(row)),
        writes(entries, np.uint64, len(entries)),
    )
    if done < n:
        raise CertificationError(
            f"weights of every row must add up to 2^62, those of row {done} do not",
            remedy="certify the mechanism again",
        )


def drawing(
    codes: NDArray[Any],
    rows: NDArray[np.uint32],
    entries: Integers,
    b: int,
    out: NDArray[Any],
    width: int = 2,
) -> Callable[[Integers], Step]:
    """What draws one outcome a record into `out`: given room for words, a step for each piece of the records.

    `rows` gives the row of each code, its last element the row of every code from len(rows) - 1 on. The last row
    of the table is the mark of a code without one: what is drawn from it means nothing. Codes and outcomes are
    unsigned integers. Several threads may draw at once, each with words of its own. `width` limits the instructions
    that are used where this processor has them: 0 plain ones, 1 AVX2, 2 AVX-512.
    """
    compiled = library()
    count, table_rows = len(codes), len(entries) >> b
    if not 1 <= b <= LARGEST_B or len(entries) != table_rows << b or not len(rows):
        raise ValueError(f"no table has {len(entries)} entries, 2^{b} a row, and no row for a code")
    if codes.dtype not in SIZES or out.dtype not in SIZES or not out.flags.writeable:
        raise ValueError(f"codes and outcomes must be unsigned integers, got {codes.dtype} and {out.dtype}")
    if np.may_share_memory(codes, out):
        raise ValueError("codes and outcomes must be separate arrays")
    rows = rows.copy()  # nobody else may change them between this check and a draw
    row_of = reads(rows, np.uint32, len(rows))
    if int(rows.max()) >= table_rows:
        raise ValueError(f"rows must be below the {table_rows} of the table")
    plan = record(
        "drawing",
        codes=reads(codes, codes.dtype, count),
        rows=row_of,
        entries=reads(entries, np.uint64, len(entries)),
        out=writes(out, out.dtype, count),
        row_count=len(rows),
        table_rows=table_rows,
        code_size=SIZES[codes.dtype],
        out_size=SIZES[out.dtype],
        b=b,
        width=min(width, compiled.extremal_widest()),
    )

    def with_words(words: Integers) -> Step:
        most, first_word = len(words), writes(words, np.uint64, len(words))  # never a copy: they change

        def step(first: int, number: int) -> bool:
            if not (0 <= number <= most and 0 <= first <= count - number):
                raise ValueError(f"{number} records from {first} on are not among {count} with {most} words")
            return bool(compiled.extremal_draw(plan, first_word, first, number) < table_rows - 1)

        return step

    return with_words


def tally(codes: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """How often each of 0 ... rows - 1 occurs among the codes; codes from rows - 1 on count as rows - 1."""
    if codes.dtype not in SIZES or rows < 1:
        raise ValueError(f"codes must be unsigned integers of at least one row, got {codes.dtype} and {rows}")
    tables = np.zeros(4 * rows, dtype=np.int64)
    library().extremal_tally(
        reads(codes, codes.dtype, len(codes)),
        codes.itemsize,
        len(codes),
        rows,
        writes(tables, np.int64, len(tables)),
    )
    return tables[:rows]
