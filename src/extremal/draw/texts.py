"""Columns of text as places in one block of bytes, without a Python object for each text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._native.library import Record, library, reads, record, writes

Places = NDArray[np.int64]

SHORT_INTEGER, LETTERED, OTHER = range(3)  # kinds of text, as in fields.c
OUT_OF_MEMORY = -1


class Numbered(NamedTuple):
    """Texts by number, in the order in which they first occur, and the number of each record's text."""

    codes: NDArray[np.uint32]
    texts: list[str]


@dataclass(frozen=True, eq=False)
class Texts:
    """UTF-8 texts in a block of bytes."""

    block: bytes | memoryview
    starts: Places
    ends: Places

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """The texts of a list; UnicodeEncodeError if one is none that UTF-8 can hold."""
        whole = "".join(texts)
        block = whole.encode()
        pieces: Iterable[str | bytes] = texts if len(block) == len(whole) else map(str.encode, texts)
        edges = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, pieces), dtype=np.int64, count=len(texts)), out=edges[1:])
        return cls(block, edges[:-1], edges[1:])

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, where: NDArray[np.integer | np.bool_]) -> Texts:
        """Those at some places, or that a mask names."""
        return Texts(self.block, self.starts[where], self.ends[where])

    def pieces(self) -> Iterator[bytes | memoryview]:
        block = self.block
        return (block[a:b] for a, b in zip(self.starts.tolist(), self.ends.tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return (str(piece, "utf-8") for piece in self.pieces())

    def numbered(self) -> Numbered:
        """Each different text once, and which of them every record has."""
        codes = np.empty(len(self), dtype=np.uint32)
        firsts = np.empty(len(self), dtype=np.int64)
        count = self._call("extremal_number_texts", codes, firsts)
        return Numbered(codes, list(self[firsts[:count]]))

    def integers(self) -> tuple[Places, NDArray[np.uint8]]:
        """The number that each text stands for if it is a short integer, else 0; and the kind of each text."""
        numbers = np.empty(len(self), dtype=np.int64)
        kinds = np.empty(len(self), dtype=np.uint8)
        self._call("extremal_read_integers", numbers, kinds)
        return numbers, kinds

    @property
    def compiled(self) -> Record:
        """The same as compiled code takes it."""
        data, count = np.frombuffer(self.block, dtype=np.uint8), len(self)
        return record(
            "texts",
            block=reads(data, np.uint8, len(data)),
            size=len(data),
            count=count,
            starts=reads(self.starts, np.int64, count),
            ends=reads(self.ends, np.int64, count),
        )

    def _call(self, name: str, *outputs: NDArray[np.generic]) -> int:
        places = (writes(array, array.dtype, len(self)) for array in outputs)
        return _checked(getattr(library(), name)(self.compiled, *places))


def replace_fields(block: bytes, edges: Places, chosen: Places, pool: Texts) -> tuple[memoryview, Places]:
    """The records of a block with texts of the pool in some fields, and where each begins and the last one ends.

    A row of `edges` holds the start of a record, start and end of each of these fields, and the end of the record; a
    row of `chosen` the numbers of the texts that take their places.
    """
    count, fields = chosen.shape
    widths = (pool.ends - pool.starts)[chosen].sum(axis=1)
    widths += (edges[:, 1::2] - edges[:, ::2]).sum(axis=1)
    places = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(widths, out=places[1:])
    out = np.empty(int(places[-1]), dtype=np.uint8)
    data = np.frombuffer(block, dtype=np.uint8)
    records = record(
        "records",
        block=reads(data, np.uint8, len(data)),
        size=len(data),
        count=count,
        fields=fields,
        edges=reads(edges, np.int64, count, 2 * fields + 2),
        chosen=reads(chosen, np.int64, count, fields),
    )
    place = writes(out, np.uint8, len(out))
    _checked(library().extremal_replace_fields(records, pool.compiled, place, len(out)))
    return out.data, places


def _checked(result: int) -> int:
    if result == OUT_OF_MEMORY:
        raise MemoryError
    if result < 0:
        raise ValueError("every text must lie in its block")
    return int(result)
