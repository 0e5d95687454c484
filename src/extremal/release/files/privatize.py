"""CSV and Parquet files: streamed in constant memory, whole under their final name or not there at all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, cast

from ..._common import checks
from ..._common.files import file_name, reason
from ...certification.certified import Certified
from ...draw.order import ordered_columns, see, watch
from ...errors import FileError
from ..job import Path, Terms, check_columns, plan
from .atomic import new_file, readers_of
from .checks import (
    about_frequencies,
    check_marked,
    check_order,
    check_some_left,
    check_target,
    common_format,
)
from .csv import CsvData
from .parquet import ParquetData
from .source import Data, check_unchanged, open_data
from .task import Ids, Task


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


@dataclass(frozen=True)
class FileOptions:
    """How a file is read and written: what `extremal.privatize` documents."""

    order: str = "check"
    overwrite: bool = False
    format: str | None = None
    delimiter: str | None = None
    progress: Callable[[int, int], None] | None = None
    unmarked: str = "refuse"

    def __post_init__(self) -> None:
        checks.choice(self.order, "order", ("check", "keep", "shuffle"), error=FileError)
        checks.choice(self.unmarked, "unmarked", ("refuse", "allow"), error=FileError)
        if self.format is not None:
            checks.choice(self.format, "format", ("csv", "parquet"), error=FileError)


def privatize_file(
    source: Path | Data,
    target: Path | BinaryIO,
    mechanisms: Mapping[Any, Certified],
    terms: Terms,
    options: FileOptions,
) -> FileRelease:
    """Writes the source to the target with reports in the named columns, and everything else as it was.

    Memory does not grow with the file. The target appears when it is complete; an interruption leaves nothing under
    its name. A binary stream as target gets everything at once, when all has been checked. A CSV file keeps every byte
    outside of the private fields; a Parquet file keeps its schema and codecs, not its row groups.
    """
    job, entry = plan(mechanisms, terms)
    opened = source if isinstance(source, CsvData | ParquetData) else None
    name = opened.path if opened is not None else file_name(source, "source", FileError)
    stream = cast(BinaryIO, target) if hasattr(target, "write") else None
    new = "-" if stream is not None else file_name(target, "target", FileError)
    if stream is None:
        check_target(name, new, options.overwrite)
    kind = options.format or common_format(name, new if stream is None else name)
    check_marked(kind, job.randomness.note, options.unmarked)
    wanted = [*job.private, *([] if terms.id_column is None else [terms.id_column])]
    data = open_data(name, wanted, kind, options.delimiter, "source") if opened is None else opened
    check_columns(job, data.columns, "file", terms.id_column)
    task = Task(
        job,
        None if terms.id_column is None else Ids(data, terms.id_column),
        options.order == "shuffle",
        _progress(options, data.total),
    )
    watches = watch(job.releases)
    job.observe = partial(see, watches)

    def write(sink: BinaryIO) -> list[str]:
        notes, numbered = data.release(sink, task)
        job.check()
        if task.ids is not None:
            task.ids.check()
        check_some_left(job, name)
        if options.order != "keep":
            check_order(ordered_columns(watches), task.shuffle, numbered, name)
        check_unchanged(data)
        entry.commit()
        return [*notes, *entry.notes, *about_frequencies(mechanisms, watches)]

    if stream is None:
        with _system_errors(new), entry, new_file(new, options.overwrite, *readers_of(name)) as sink:
            notes = write(sink)
    else:
        with tempfile.TemporaryFile() as spool:  # without a name: nothing is left if the process is killed
            with _system_errors("a temporary file"), entry:
                notes = write(spool)
            spool.seek(0)
            shutil.copyfileobj(spool, stream)
            stream.flush()
    return FileRelease(new, job.rows - job.dropped, job.dropped, tuple(notes))


def _progress(options: FileOptions, total: int) -> Callable[[int], None]:
    def report(done: int) -> None:
        if options.progress is not None:
            options.progress(done, total)

    return report


@contextlib.contextmanager
def _system_errors(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # a full disk, a folder taken away
        raise FileError(
            f"must be written in full, but the system failed at {where}: {reason(error)}",
            parameter="target",
            remedy="nothing is left under this name",
        ) from None
