"""The inner loops of sampling, in C (`_native/sampler.c`), and what is checked on this machine before they draw.

Arrays are checked here, once, and drawn from there.

The proof of privacy is about integers. Between them and a report stand a table made of them, code that a compiler
made and a cipher from another library. Each is compared with what it must be: the tables add up to the certified
integers, by arithmetic that shares nothing with the loop that made them; fixed words give fixed outcomes; the
keystream is the example of NIST SP 800-38A, and that of keyed draws goes through the one of FIPS 197.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .._native.library import library, reads, record, writes
from ..errors import CertificationError, InstallationError

Integers = NDArray[np.uint64]
Fill = Callable[[int, Integers], None]
"""fill(start, out) writes words start, start + 1, ... of a stream to `out`, in any thread; start is even."""

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
    codes: NDArray[np.generic],
    rows: NDArray[np.uint32],
    entries: Integers,
    b: int,
    out: NDArray[np.generic],
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


def tally(codes: NDArray[np.generic], rows: int) -> NDArray[np.int64]:
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


# --- what is checked --------------------------------------------------------------------------------

REMEDY = "nothing was drawn; reinstall extremal, and do not use this machine for releases if it happens again"
BLOCK = 1 << 16  # table entries that are added up together: they stay in the cache

# NIST SP 800-38A, F.5.5 CTR-AES256.Encrypt: key, initial counter and the four output blocks.
KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
COUNTER = 0xF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF
KEYSTREAM = bytes.fromhex(
    "0bdf7df1591716335e9a8b15c860c5025a6e699d536119065433863c8f657b94"
    "1bc12c9c01610d5d0d8bd6a3378eca622956e1c8693536b1bee99c73a31576b6"
)

# FIPS 197, C.3: key and plaintext, here a record id; its ciphertext, with the row of an answer added, encrypted again.
BLOCK_KEY, ID_BLOCK = bytes(range(32)), bytes.fromhex("00112233445566778899aabbccddeeff")
KEYED_WORDS = bytes.fromhex("664a3455d8e9dbdb0407b36933ebf9d1")  # of the rows 0 and 2

# A table of three rows and three outcomes, and the outcomes of 61 words: enough for whole registers and a rest.
WEIGHTS = [[(1 << 62) - 3, 1, 2], [3 << 59, 5 << 59, 0], [(1 << 60) - 1, (1 << 61) + 8, (1 << 60) - 7]]
WORD_STEP = 0x9E3779B97F4A7C15  # word i is (i + 1) times this
OUTCOMES = "2011001000010011002012011001000010011002012011001000011011002"


def check_tables(weights: Integers, b: int, entries: Integers) -> None:
    """Refuse tables in which some outcome's mass is not its certified weight, to the last unit."""
    n, m = weights.shape
    size, mask = np.uint64(1 << (62 - b)), np.uint64((1 << b) - 1)
    rows = max(1, BLOCK >> b)
    for start in range(0, n, rows):
        block = entries[start << b : min(start + rows, n) << b]
        threshold = block >> np.uint64(b)
        masses = threshold.copy()
        own_row = np.arange(len(block), dtype=np.int64) & ~np.int64(mask)
        np.add.at(masses, own_row + (block & mask).astype(np.int64), size - threshold)
        masses = masses.reshape(-1, 1 << b)
        right = np.all(threshold < size) and np.array_equal(masses[:, :m], weights[start : start + rows])
        if not right or masses[:, m:].any():
            raise InstallationError("the sampling tables do not hold the certified weights", remedy=REMEDY)


def check_drawing(keystream: Callable[[bytes], Fill]) -> None:
    """Refuse to draw with compiled loops or a keystream that do not give known answers; once for each of them."""
    _known_outcomes(build, drawing)
    _known_keystream(keystream)


@cache
def check_keyed_words(keyed_words: Callable[..., Fill]) -> None:
    """Refuse to draw with a function of keys and ids that does not give known answers; once for each of them."""
    blocks = np.frombuffer(2 * ID_BLOCK, dtype="<u8").reshape(2, 2)
    words = np.empty(2, dtype=np.uint64)
    rows = np.array([0, 2], dtype=np.uint32)
    keyed_words(BLOCK_KEY, blocks, np.array([0, 1], dtype=np.uint8), rows)(0, words)
    if words.astype("<u8").tobytes() != KEYED_WORDS:
        raise InstallationError("the words of keyed draws are not those of AES-256", remedy=REMEDY)


@cache
def _known_keystream(keystream: Callable[[bytes], Fill]) -> None:
    words = np.empty(len(KEYSTREAM) // 8, dtype=np.uint64)
    keystream(KEY)(2 * COUNTER, words)
    if words.astype("<u8").tobytes() != KEYSTREAM:
        raise InstallationError("the keystream is not AES-256 in counter mode", remedy=REMEDY)


@cache
def _known_outcomes(
    build: Callable[[Integers, int, Integers], None], drawing: Callable[..., Callable[[Integers], Step]]
) -> None:
    b, weights = 2, np.array(WEIGHTS, dtype=np.uint64)
    entries = np.zeros((len(weights) + 1) << b, dtype=np.uint64)
    build(weights, b, entries)
    check_tables(weights, b, entries)
    expected = np.array(list(OUTCOMES), dtype=np.uint8)
    count = len(expected)
    words = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(WORD_STEP)
    rows = np.array([2, 0, 1, len(weights)], dtype=np.uint32)
    for code_type in SIZES:
        codes = (np.arange(count) % 3).astype(code_type)
        stranger = codes.copy()
        stranger[-1] = 3
        for out_type in SIZES:
            out = np.zeros(count, dtype=out_type)
            right = drawing(codes, rows, entries, b, out)(words)(0, count) and np.array_equal(out, expected)
            if not right or drawing(stranger, rows, entries, b, out)(words)(0, count):
                raise InstallationError("the compiled code draws wrong outcomes", remedy=REMEDY)
