"""What is asked of a file of any format: which reports to write, keyed by which ids, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...draw.drawing import Drawn, Job, Read
from ...draw.ids import REMEDY, id_blocks
from ...draw.sampler import Integers
from ...errors import KeyingError

MOST_IDS = 1 << 22  # ids that are compared with each other at a time
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, without pattern


class HasIds(Protocol):
    """A file whose column of ids can be read again, part by part."""

    def ids(self, name: str) -> Iterator[Any]: ...


class Ids:
    """The ids of a file, which must be distinct.

    Ids that increase, as row numbers do, are known to be distinct when they have been read once. Others are
    read again afterwards, as often as it takes to compare all of them, MOST_IDS at a time.
    """

    def __init__(self, data: HasIds, name: str) -> None:
        self.name = name
        self._data = data
        self._rows = 0
        self._last = -1
        self._increasing = True

    def blocks(self, ids: Any, count: int) -> Integers:
        """What keyed draws need of the ids of the next records, of which there must be so many."""
        blocks = id_blocks(ids, count)
        first = blocks[:, 0]
        if count:
            increasing = int(first[0]) > self._last and bool(np.all(first[1:] > first[:-1]))
            self._increasing = self._increasing and increasing
            self._last = int(first[-1])
        self._rows += count
        return blocks

    def check(self) -> None:
        """Refuse two records with the same id."""
        if self._increasing:
            return
        turns = -(-self._rows // MOST_IDS)
        for turn in range(turns):
            hashes = np.sort(np.concatenate([h[h % np.uint64(turns) == turn] for h, _ in self._again()]))
            twice = hashes[1:][hashes[1:] == hashes[:-1]]
            if len(twice):
                self._find(twice)

    def _again(self) -> Iterator[tuple[Integers, Integers]]:
        """64-bit hashes of the ids and their blocks, part by part."""
        for ids in self._data.ids(self.name):
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
    which mechanism drew its reports, for files that have a place for it.
    """

    job: Job
    ids: Ids | None
    shuffle: bool
    progress: Callable[[int], None]
    notes: Mapping[Any, str] = field(default_factory=dict)

    def draw(self, read: Read, count: int, ids: Callable[[str], Any]) -> Drawn | None:
        """The reports of the next records; `ids(name)` gives their ids. None if something is refused."""
        blocks = None if self.ids is None else self.ids.blocks(ids(self.ids.name), count)
        return self.job.draw(read, count, blocks)


class Written(NamedTuple):
    """What a person must look at, and the columns that tell the old order of shuffled records."""

    notes: list[str]
    numbered: list[str]
