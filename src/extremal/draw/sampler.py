"""Exact sampling: where random words come from, and how a word becomes a report.

A report is drawn from one uniform 64-bit word u. Its top b bits choose one of 2^b buckets of equal mass, the
next 62 - b bits are compared with the bucket's integer threshold (the last two bits are not used). Of the
2^62 values of those 62 bits exactly weights[i, j] give outcome j in row i: no rounding, no rejection, no
floating point.

Words come from one place, a `Words` source: the keystream of AES-256 in counter mode, keyed by the operating
system for releases (`SecureWords`) or by a seed for experiments (`SeededWords`), and from AES of the record
id for keyed draws (module `keyed`).
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from ..errors import SizeError
from ..model.labels import Labels
from . import kernel
from .columns import Alphabet, Array
from .kernel import Fill, Integers

CHUNK = 1 << 15  # words that are made and used together: 256 KiB stay in the second-level cache
PIECE = 1 << 18  # records that a thread takes at a time
LARGEST_TABLES = 1 << 30  # bytes


@runtime_checkable
class Words(Protocol):
    """A source of independent uniform 64-bit words.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> isinstance(ex.randomness.SeededWords(1), ex.randomness.Words)
    True
    """

    @property
    def note(self) -> str:
        """What anything written with these words should say about them."""
        ...

    def stream(self, count: int) -> Fill:
        """`count` words that this source gives to nobody else.

        Parameters
        ----------
        count
            How many words.
        """
        ...


@dataclass(frozen=True)
class SecureWords:
    """Words nobody can predict: every stream is AES-256-CTR under a fresh key from the operating system.

    It holds no state, so a copy in a forked or unpickled process gives different words.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> len(certified.privatize(["never", "once"], source=ex.randomness.SecureWords()))
    2
    """

    note: str = field(default="secure randomness: AES-256-CTR, keyed by the operating system", init=False)

    def stream(self, count: int) -> Fill:
        """Words under a key that is used for nothing else.

        Parameters
        ----------
        count
            How many words.
        """
        return keystream(os.urandom(32))


@dataclass(eq=False)
class SeededWords:
    """For experiments only, never for release: the same words for the same seed, stream after stream.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> first, again = (
    ...     certified.privatize(["never"] * 9, source=ex.randomness.SeededWords(1)) for _ in range(2)
    ... )
    >>> first == again  # for tests only: whoever knows the seed knows the answers
    True

    Parameters
    ----------
    seed
        The seed.
    """

    seed: int
    _streams: int = field(default=0, init=False, repr=False)
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.seed = checks.whole(self.seed, "seed")

    @property
    def note(self) -> str:
        return f"NOT PRIVATE: seeded randomness for experiments, seed {self.seed}"

    def stream(self, count: int) -> Fill:
        """The next words of this seed.

        Parameters
        ----------
        count
            How many words.
        """
        with self._lock:
            number = self._streams
            self._streams += 1
        return keystream(hashlib.sha256(f"extremal seeded words {self.seed} {number}".encode()).digest())


def keystream(key: bytes) -> Fill:
    """AES-256 in counter mode from counter 0: word j is bytes 8j .. 8j+7 of the keystream, little-endian."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    algorithm = algorithms.AES(key)
    zeros = bytes(8 * CHUNK)

    def fill(start: int, out: Integers) -> None:
        cipher = Cipher(algorithm, modes.CTR((start // 2).to_bytes(16, "big"))).encryptor()
        for k in range(0, len(out), CHUNK):
            part = out[k : k + CHUNK]
            cipher.update_into(memoryview(zeros)[: part.nbytes], part.view(np.uint8).data)
        if sys.byteorder == "big":
            out.byteswap(inplace=True)

    return fill


_CHECKED: WeakSet[Sampler] = WeakSet()  # in this process: a copy that was sent to another is checked there


@dataclass(frozen=True, eq=False, repr=False)
class Sampler:
    """Alias tables with integer thresholds, one row an input or a block, whose masses equal the weights exactly."""

    weights: Integers
    inputs: Labels
    outputs: Labels
    digest: bytes
    blocks: NDArray[np.uint32] | None = None  # the row of weights that each input has; without, its own

    @property
    def b(self) -> int:
        """log2 of the number of buckets: enough for every outcome, and at least 1."""
        return max(1, (len(self.outputs) - 1).bit_length())

    @cached_property
    def alphabet(self) -> Alphabet:
        """The labels alone."""
        return Alphabet(self.inputs, self.outputs)

    @cached_property
    def block_rows(self) -> NDArray[np.uint32]:
        """The row of weights of each input, then the mark for none."""
        last = np.uint32(len(self.weights))
        rows = np.arange(last + 1, dtype=np.uint32) if self.blocks is None else np.append(self.blocks, last)
        return rows.astype(np.uint32)

    @cached_property
    def entries(self) -> Integers:
        """The tables, row after row, 2^b entries threshold * 2^b + alias each; then a row without meaning."""
        n = len(self.weights)
        if (n + 1) << (self.b + 3) > LARGEST_TABLES:
            raise SizeError(
                f"sampling tables must take at most {LARGEST_TABLES} bytes",
                given=f"{n} inputs x {len(self.outputs)} outputs",
                remedy="merge rare labels",
            )
        entries = np.zeros((n + 1) << self.b, dtype=np.uint64)
        kernel.build(self.weights, self.b, entries)
        return entries

    def draw(self, codes: Array, rows: NDArray[np.uint32], fill: Fill, out: Array) -> bool:
        """Write one outcome a record into `out`; return whether every record had a row.

        `codes` and `out` are of unsigned dtypes. `rows` gives the row of each code, and its last element the
        row of all codes from len(rows) - 1 on; the row N stands for none.
        """
        kernel.check_drawing(keystream)
        entries = self.entries
        if self not in _CHECKED:
            kernel.check_tables(self.weights, self.b, entries)
            _CHECKED.add(self)
        if self.blocks is not None:
            rows = self.block_rows[rows]
        codes, rows = np.require(codes, None, ["C", "A"]), np.require(rows, np.uint32, ["C", "A"])
        draw = kernel.drawing(codes, rows, entries, self.b, out)

        def piece(start: int) -> bool:
            stop = min(start + PIECE, len(codes))
            words = np.empty(min(CHUNK, stop - start), dtype=np.uint64)
            step = draw(words)
            found = True
            for first in range(start, stop, CHUNK):
                count = min(CHUNK, stop - first)
                fill(first, words[:count])
                found &= step(first, count)
            return found

        starts = range(0, len(codes), PIECE)
        if len(starts) < 2:
            return min(map(piece, starts), default=True)
        with ThreadPoolExecutor(cores()) as pool:
            return min(pool.map(piece, starts))


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
