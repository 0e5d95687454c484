"""CSV and Parquet files: streamed in constant memory, whole under their final name or not there at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import numpy as np

from ..._files import file_name, reason
from ...errors import FileError, KeyingError
from ..certificate import Certificate
from ..job import Blocks, Job, check_columns, choose_randomness, plan
from ..keys import REMEDY, id_blocks
from ..sampler import Integers, Words
from .atomic import new_file
from .csv import CsvData
from .parquet import ParquetData

FORMATS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}
MOST_IDS = 1 << 22  # ids that are compared with each other at a time
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, without pattern

Path = str | os.PathLike[str]


class Data(Protocol):
    """A file of records, whatever its format."""

    @property
    def columns(self) -> list[str]: ...

    @property
    def total(self) -> int: ...

    def ids(self, name: str) -> Iterator[Any]: ...

    def release(
        self, sink: BinaryIO, job: Job, ids: str | None, blocks: Blocks, progress: Callable[[int], None]
    ) -> list[str]: ...


@dataclass(frozen=True)
class FileRelease:
    """What was done: the file written, its rows, and how many rows of the source it lacks.

    `notes` are for the person who runs the job: what to look at before the file is passed on. They speak of
    the source and must not be passed on themselves.
    """

    target: str
    rows: int
    dropped: int
    notes: tuple[str, ...] = ()


def privatize_file(
    source: Path,
    target: Path,
    mechanisms: Mapping[Any, Certificate],
    *,
    key: bytes | None = None,
    id_column: str | None = None,
    unknown: str = "refuse",
    unknown_as: Mapping[Any, Hashable] | None = None,
    occasion: int | str | None = None,
    ledger: Path | None = None,
    overwrite: bool = False,
    format: str | None = None,
    delimiter: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    words: Words | None = None,
    unmarked: str = "refuse",
) -> FileRelease:
    """Writes the source to the target with reports in the named columns, and everything else as it was.

    CSV (.csv, .tsv; UTF-8, with a header) or Parquet (.parquet, .pq), or `format` "csv" or "parquet". Memory
    does not grow with the file. The target appears when it is complete; an interruption leaves nothing under
    its name. It is replaced only with overwrite=True, and is never the source.

    `mechanisms`, `key`, `unknown`, `unknown_as`, `occasion` and `ledger` are as in privatize_frame, `id_column`
    names the column with the ids. `progress` is called with (done, total): bytes of a CSV file, rows of a
    Parquet file. In a CSV file every byte outside the private fields stays, numbers and truth values are
    recognised; the delimiter is found from the header. A Parquet file keeps its schema and codecs, not its row
    groups, nor metadata of the whole file, which may describe values.

    `words` replaces the operating system's randomness in experiments. The metadata of a Parquet file then say
    so; a CSV file has no place for it and is refused unless unmarked="allow".
    """
    randomness = choose_randomness(key, id_column, occasion, words, "id_column")
    job = plan(mechanisms, unknown, unknown_as, randomness, ledger=ledger)
    name, new = file_name(source, "source", FileError), file_name(target, "target", FileError)
    before = _check_paths(name, new, overwrite)
    kind = _format(name, new, format)
    _check_marked(kind, randomness.note, unmarked)
    data: Data
    if kind == "csv":
        data = CsvData.open(name, [*job.private, *([] if id_column is None else [id_column])], delimiter)
    else:
        data = ParquetData.open(name)
    check_columns(job, data.columns, "file", id_column)
    total = data.total
    ids = Ids(data, id_column)

    def report(done: int) -> None:
        if progress is not None:
            progress(done, total)

    try:
        with job.entry, new_file(new, overwrite, before.st_mode) as sink:
            notes = data.release(sink, job, id_column, ids.blocks, report)
            job.check()
            ids.check()
            _check_unchanged(name, before)
            job.entry.commit()
    except OSError as error:  # a full disk, a folder taken away
        raise FileError(
            f"target must be written in full, but the system failed at {new}: {reason(error)}; nothing is "
            "left under this name"
        ) from None
    return FileRelease(new, job.rows - job.dropped, job.dropped, tuple(notes))


class Ids:
    """The ids of a file, which must be distinct.

    Ids that increase, as row numbers do, are known to be distinct when they have been read once. Others are
    read again afterwards, as often as it takes to compare all of them, MOST_IDS at a time.
    """

    def __init__(self, data: Data, name: str | None) -> None:
        self._data, self._name = data, name
        self._rows = 0
        self._last = -1
        self._increasing = True

    def blocks(self, ids: Any, count: int) -> Integers | None:
        if self._name is None:
            return None
        blocks = id_blocks(ids, count)
        first = blocks[:, 0]
        if count:
            increasing = int(first[0]) > self._last and bool(np.all(first[1:] > first[:-1]))
            self._increasing = self._increasing and increasing
            self._last = int(first[-1])
        self._rows += count
        return blocks

    def check(self) -> None:
        if self._name is None or self._increasing:
            return
        turns = -(-self._rows // MOST_IDS)
        for turn in range(turns):
            hashes = np.sort(np.concatenate([h[h % np.uint64(turns) == turn] for h, _ in self._again()]))
            twice = hashes[1:][hashes[1:] == hashes[:-1]]
            if len(twice):
                self._find(twice)

    def _again(self) -> Iterator[tuple[Integers, Integers]]:
        """64-bit hashes of the ids and their blocks, part by part."""
        for ids in self._data.ids(str(self._name)):
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
                        f"ids must be distinct, got the same in records {one + 1} and {rows + i + 1} of column "
                        f"{self._name!r}; {REMEDY}"
                    )
            rows += len(blocks)


def _check_paths(source: str, target: str, overwrite: bool) -> os.stat_result:
    """The state of the source, if it can be read from and the target can be written to."""
    try:
        state = os.stat(source)
        with open(source, "rb"):
            pass
    except OSError as error:
        raise FileError(f"source must be a file that can be read, got {source}: {reason(error)}") from None
    if not stat.S_ISREG(state.st_mode):
        raise FileError(f"source must be a regular file, got {source}")
    if os.path.exists(target) and os.path.samefile(source, target):
        raise FileError(f"target must not be the source, got {target} for both; choose another name")
    if os.path.isdir(target):
        raise FileError(f"target must be the name of a file, got a folder: {target}")
    if os.path.lexists(target) and not overwrite:
        raise FileError(f"target must not exist, but it does: {target}; replace it with overwrite=True")
    folder = os.path.dirname(target) or "."
    if not os.path.isdir(folder):
        raise FileError(f"target must be in a folder that exists, got {target}; make {folder} first")
    return state


def _check_unchanged(source: str, before: os.stat_result) -> None:
    after = os.stat(source)
    if any(getattr(after, what) != getattr(before, what) for what in ("st_size", "st_mtime_ns", "st_ino")):
        raise FileError(f"the source must not change while it is read, but it did: {source}; try again")


def _check_marked(kind: str, note: str | None, unmarked: str) -> None:
    """Refuse to write reports that are not private without saying so in the file."""
    if unmarked not in ("refuse", "allow"):
        raise FileError(f'unmarked must be "refuse" or "allow", got {unmarked!r}')
    if kind == "csv" and note is not None and unmarked == "refuse":
        raise FileError(
            f"reports for experiments must be marked, got a CSV file, which has no place for it ({note}); "
            'write Parquet, or accept it with unmarked="allow"'
        )


def _format(source: str, target: str, given: str | None) -> str:
    if given is not None:
        if given not in ("csv", "parquet"):
            raise FileError(f'format must be "csv" or "parquet", got {given!r}')
        return given
    kinds = [FORMATS.get(os.path.splitext(path)[1].lower()) for path in (source, target)]
    if kinds[0] is None or kinds[0] != kinds[1]:
        raise FileError(
            "source and target must both be CSV (.csv, .tsv) or both Parquet (.parquet, .pq), got "
            f'{source} and {target}; or say which: format="csv"'
        )
    return kinds[0]
