"""Whole records in a random order that nobody can predict; they are held in memory for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import gt, lt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...draw.containers import take_rows
from ...draw.sampler import Words
from ...errors import FileError

LARGEST = 1 << 30  # bytes of records
FEWEST_NUMBERED = 10  # records; fewer may rise by chance
PIECE = 1 << 16  # records that are written at a time


def random_order(count: int, words: Words) -> NDArray[np.intp]:
    """A random order of so many records: that of 64-bit words, of which no two are the same but by a miracle."""
    keys = np.empty(count, dtype=np.uint64)
    words.stream(count)(0, keys)
    return np.argsort(keys)


@dataclass(eq=False)
class Steps:
    """Whether the values of a column, piece after piece, always rise or always fall, as row numbers do."""

    way: int = 2  # 1 up, -1 down, 0 neither, 2 not known yet
    last: Any = None
    count: int = 0

    def add(self, values: list[Any]) -> None:
        line = values if self.last is None else [self.last, *values]
        self.count += len(values)
        if self.way == 0 or len(line) < 2:
            self.last = line[-1] if line else None
            return
        try:
            up = all(map(lt, line, line[1:]))
            down = all(map(gt, line, line[1:]))
        except TypeError:  # missing values, or texts among numbers
            up = down = False
        way = 1 if up else -1 if down else 0
        self.way = way if self.way in (2, way) else 0
        self.last = line[-1]

    @property
    def numbered(self) -> bool:
        return self.way in (1, -1) and self.count >= FEWEST_NUMBERED


def as_number(text: str) -> Any:
    """The number that a text stands for, else the text."""
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


@dataclass(eq=False)
class ShuffledText:
    """Records of text, each with its line end."""

    texts: list[bytes | memoryview] = field(default_factory=list)
    edges: list[Any] = field(default_factory=list)
    size: int = 0

    @classmethod
    def of(cls, path: str, size: int) -> ShuffledText:
        if size > LARGEST:
            raise _too_large(path)
        return cls()

    def add(self, text: bytes | memoryview, edges: NDArray[np.int64]) -> None:
        """Some records, and where each begins and the last ends."""
        self.texts.append(text)
        self.edges.append(edges[1:] + self.size)
        self.size += len(text)

    def pieces(self, words: Words) -> Iterator[bytes]:
        """All records in random order, some at a time."""
        text = memoryview(b"".join(self.texts))
        edges = np.concatenate([np.zeros(1, dtype=np.int64), *self.edges])
        order = random_order(len(edges) - 1, words)
        for k in range(0, len(order), PIECE):
            some = order[k : k + PIECE]
            places = zip(edges[some].tolist(), edges[some + 1].tolist(), strict=True)
            yield b"".join([text[start:end] for start, end in places])


class ShuffledTable:
    """Records of arrow tables."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._tables: list[Any] = []
        self._size = 0

    def __len__(self) -> int:
        return sum(map(len, self._tables))

    def add(self, table: Any) -> None:
        self._tables.append(table)
        self._size += table.nbytes
        if self._size > LARGEST:
            raise _too_large(self._path)

    def table(self, words: Words) -> Any:
        """All records in random order."""
        import pyarrow

        whole = pyarrow.concat_tables(self._tables).combine_chunks()
        return take_rows(whole, pyarrow.array(random_order(len(whole), words)))


def _too_large(path: str) -> FileError:
    return FileError(
        f"must take at most {LARGEST} bytes to be shuffled in memory",
        parameter="records",
        given=f"more in {path}",
        remedy=(
            "shuffle the file before, e.g. by a random number in a database, and accept its "
            'order with `order="keep"`'
        ),
    )
