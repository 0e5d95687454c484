"""What is checked on this machine before anything is drawn: the tables, the compiled loops and the keystream.

The proof of privacy is about integers. Between them and a report stand a table made of them, code that a compiler
made and a cipher from another library. Each is compared with what it must be: the tables add up to the certified
integers, by arithmetic that shares nothing with the loop that made them; fixed words give fixed outcomes; the
keystream is the example of NIST SP 800-38A, and that of keyed draws goes through the one of FIPS 197.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InstallationError
from . import kernel

Integers = NDArray[np.uint64]

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


def check_drawing(keystream: Callable[[bytes], Any]) -> None:
    """Refuse to draw with compiled loops or a keystream that do not give known answers; once for each of them."""
    _known_outcomes(kernel.build, kernel.drawing)
    _known_keystream(keystream)


@cache
def check_keyed_words(keyed_words: Callable[..., Any]) -> None:
    """Refuse to draw with a function of keys and ids that does not give known answers; once for each of them."""
    blocks = np.frombuffer(2 * ID_BLOCK, dtype="<u8").reshape(2, 2)
    words = np.empty(2, dtype=np.uint64)
    rows = np.array([0, 2], dtype=np.uint32)
    keyed_words(BLOCK_KEY, blocks, np.array([0, 1], dtype=np.uint8), rows)(0, words)
    if words.astype("<u8").tobytes() != KEYED_WORDS:
        raise InstallationError("the words of keyed draws are not those of AES-256", remedy=REMEDY)


@cache
def _known_keystream(keystream: Callable[[bytes], Any]) -> None:
    words = np.empty(len(KEYSTREAM) // 8, dtype=np.uint64)
    keystream(KEY)(2 * COUNTER, words)
    if words.astype("<u8").tobytes() != KEYSTREAM:
        raise InstallationError("the keystream is not AES-256 in counter mode", remedy=REMEDY)


@cache
def _known_outcomes(build: Any, drawing: Any) -> None:
    b, weights = 2, np.array(WEIGHTS, dtype=np.uint64)
    entries = np.zeros((len(weights) + 1) << b, dtype=np.uint64)
    build(weights, b, entries)
    check_tables(weights, b, entries)
    expected = np.array(list(OUTCOMES), dtype=np.uint8)
    count = len(expected)
    words = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(WORD_STEP)
    rows = np.array([2, 0, 1, len(weights)], dtype=np.uint32)
    for code_type in kernel.SIZES:
        codes = (np.arange(count) % 3).astype(code_type)
        stranger = codes.copy()
        stranger[-1] = 3
        for out_type in kernel.SIZES:
            out = np.zeros(count, dtype=out_type)
            right = drawing(codes, rows, entries, b, out)(words)(0, count) and np.array_equal(out, expected)
            if not right or drawing(stranger, rows, entries, b, out)(words)(0, count):
                raise InstallationError("the compiled code draws wrong outcomes", remedy=REMEDY)
