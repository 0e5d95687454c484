"""Compiled inner loops of sampling (numba). Imported only when something is drawn."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
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


# LLVM draws eight records at a time only if it knows that writing `out` changes none of the arrays it reads,
# which it cannot see. These two say so: reads belong to a scope that writes stay out of. Nothing else about
# them is special.


def _tables(module: Any) -> Any:
    domain = module.add_metadata(["extremal"])
    return module.add_metadata([module.add_metadata(["extremal tables", domain])])


def _read(typing_context: Any, array: Any, index: Any) -> Any:
    """array[index], which no `write` changes; index is unsigned and is not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        value = builder.load(builder.gep(data, [arguments[1]]))
        value.set_metadata("alias.scope", _tables(builder.module))
        return value

    return array.dtype(array, types.uint64), generate


def _write(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] = value, in an array that no `read` reads; index is unsigned and is not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        narrow = context.cast(builder, arguments[2], types.uint64, signature.args[0].dtype)
        store = builder.store(narrow, builder.gep(data, [arguments[1]]))
        store.set_metadata("noalias", _tables(builder.module))
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64), generate


read: Any = intrinsic(_read)
write: Any = intrinsic(_write)


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

    `out` overlaps no other array, all are contiguous. `rows` gives the row of each code, its last element the
    row of every code from len(rows) - 1 on. The row after the last is the mark of a code without one: the
    table has it, but what is drawn from it means nothing.
    """
    shift, top, rest = np.uint64(b), np.uint64(64 - b), np.uint64(b + 2)
    mask, half, five = np.uint64((1 << b) - 1), np.uint64(32), np.uint64(5)
    last = np.uint64(len(rows) - 1)
    largest = np.uint32(0)
    for i in range(np.uint64(len(codes))):
        word = read(words, i)
        row = read(rows, min(np.uint64(read(codes, i)), last))
        largest = max(largest, row)
        bucket = word >> top
        entry = read(entries, (np.uint64(row) << shift) | bucket)
        # Both outcomes in one word, shifted by the comparison. Where LLVM does not draw several at a time, it
        # makes of a plain choice a branch, which is mispredicted and takes a time that depends on the secret.
        above = np.uint64((word << shift) >> rest >= entry >> shift)
        write(out, i, (((entry & mask) << half) | bucket) >> (above << five) & mask)
    return bool(largest < (len(entries) >> b) - 1)
