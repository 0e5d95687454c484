"""What is asked of a file of any format: which reports to write, keyed by which ids, in which order.

Whole records in a random order that nobody can predict are held in memory for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import gt, lt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...draw.containers import take_rows
from ...draw.drawing import Drawn, Job, Read
from ...draw.kernel import Integers
from ...draw.keys import REMEDY, id_blocks
from ...draw.sampler import Words
from ...errors import FileError, KeyingError

MOST_IDS = 1 << 22  # ids that are compared with each other at a time
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, without pattern


class HasIds(Protocol):
    """A file whose column of ids can be read again, part by part."""

    def ids(self, name: str) -> Iterator[Any]: ...


@dataclass(eq=False)
class Ids:
    """The ids of a file, which must be distinct.

    Ids that increase, as row numbers do, are known to be distinct when they have been read once. Others are
    read again afterwards, as often as it takes to compare all of them, MOST_IDS at a time.
    """

    data: HasIds
    name: str
    rows: int = 0
    last: int = -1
    increasing: bool = True

    def blocks(self, ids: Any, count: int) -> Integers:
        """What keyed draws need of the ids of the next records, of which there must be so many."""
        blocks = id_blocks(ids, count)
        first = blocks[:, 0]
        if count:
            self.increasing &= int(first[0]) > self.last and bool(np.all(first[1:] > first[:-1]))
            self.last = int(first[-1])
        self.rows += count
        return blocks

    def check(self) -> None:
        """Refuse two records with the same id."""
        if self.increasing:
            return
        turns = -(-self.rows // MOST_IDS)
        for turn in range(turns):
            hashes = np.sort(np.concatenate([h[h % np.uint64(turns) == turn] for h, _ in self._again()]))
            twice = hashes[1:][hashes[1:] == hashes[:-1]]
            if len(twice):
                self._find(twice)

    def _again(self) -> Iterator[tuple[Integers, Integers]]:
        """64-bit hashes of the ids and their blocks, part by part."""
        for ids in self.data.ids(self.name):
            blocks = id_blocks(ids, len(ids))
            yield blocks[:, 0] + blocks[:, 1] * MIX, blocks

    def _find(self, twice: Integers) -> None:
        """Refuse two records that share one of these hashes and the id itself."""
        seen: dict[tuple[int, int], int] = {}
        rows = 0
        for hashes, blocks in self._again():
            for i in np.flatnonzero(np.isin(hashes, twice)).tolist():
                one = seen.setdefault((int(blocks[i, 0]), int(blocks[i, 1])), rows + i)
                if one != rows + i:
                    raise KeyingError(
                        "must be distinct",
                        parameter="ids",
                        given=(f"the same in records {one + 1} and {rows + i + 1} of column {self.name!r}"),
                        remedy=REMEDY,
                    )
            rows += len(blocks)


@dataclass(frozen=True, eq=False)
class Task:
    """The job, the ids that key its draws if any do, and whether records are shuffled.

    `progress` is called with how much of the source has been read, in its own unit. `notes` say of each private column
    which mechanism drew its reports, for files that have a place for it. `steps` are those of columns that stay, of
    shuffled records: they may tell the old order.
    """

    job: Job
    ids: Ids | None
    shuffle: bool
    progress: Callable[[int], None]
    notes: Mapping[Any, str] = field(default_factory=dict)
    steps: dict[str, Steps] = field(default_factory=dict)

    def draw(self, read: Read, count: int, ids: Callable[[str], Any]) -> Drawn | None:
        """The reports of the next records; `ids(name)` gives their ids. None if something is refused."""
        blocks = None if self.ids is None else self.ids.blocks(ids(self.ids.name), count)
        return self.job.draw(read, count, blocks)

    def keep(self, name: str, values: list[Any]) -> None:
        """Look at the next values of a column that stays, if their records are shuffled."""
        if self.shuffle:
            self.steps.setdefault(name, Steps()).add(values)

    @property
    def numbered(self) -> list[str]:
        """The columns that tell the old order of shuffled records."""
        return [name for name, one in self.steps.items() if one.numbered]


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


@dataclass(eq=False)
class ShuffledTable:
    """Records of arrow tables."""

    path: str
    tables: list[Any] = field(default_factory=list)
    size: int = 0

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    def add(self, table: Any) -> None:
        self.tables.append(table)
        self.size += table.nbytes
        if self.size > LARGEST:
            raise _too_large(self.path)

    def table(self, words: Words) -> Any:
        """All records in random order."""
        import pyarrow

        whole = pyarrow.concat_tables(self.tables).combine_chunks()
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
