"""CSV and Parquet files: streamed in constant memory, whole under their final name or not there at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from ..._common.files import file_name, reason
from ..._common.words import brief, shorten
from ...draw.drawing import choose_randomness
from ...draw.order import Watch, ordered_columns, see, watch
from ...draw.sampler import Words
from ...errors import FileError, ValuesError
from ..certificate import Certificate
from ..frequencies import far_from_prior
from ..job import Job, check_columns, plan
from .atomic import new_file, readers_of
from .csv import CsvData
from .ids import Ids
from .parquet import ParquetData
from .source import Data, check_unchanged, format_of, open_data
from .task import Task

Path = str | os.PathLike[str]


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
    source: Path | Data,
    target: Path | BinaryIO,
    mechanisms: Mapping[Any, Certificate],
    *,
    key: bytes | None = None,
    id_column: str | None = None,
    unknown: str = "refuse",
    unknown_as: Mapping[Any, Hashable] | None = None,
    occasion: int | str | None = None,
    ledger: Path | None = None,
    correction: bool = False,
    order: str = "check",
    overwrite: bool = False,
    format: str | None = None,
    delimiter: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    words: Words | None = None,
    unmarked: str = "refuse",
    allow_true_answers: bool = False,
) -> FileRelease:
    """Writes the source to the target with reports in the named columns, and everything else as it was.

    CSV (.csv, .tsv; UTF-8, with a header) or Parquet (.parquet, .pq), or `format` "csv" or "parquet". Memory
    does not grow with the file. The target appears when it is complete; an interruption leaves nothing under
    its name. It is replaced only with overwrite=True, and is never the source. It is no more readable than the
    source. A binary stream as target gets everything at once, when all has been checked.

    Records that are sorted by a private column, or in which equal answers stand together or at equal distances, tell
    the answers by their order, however noisy the reports are. order="check" refuses them, judged by runs of equal
    answers (of neighbours, and at every distance up to half of the first 65,536 records), with a false alarm in one of
    a million files; order="shuffle" writes all records in a random order, for files of up to 1 GiB; order="keep"
    accepts the order.

    `mechanisms`, `key`, `unknown`, `unknown_as`, `occasion`, `ledger`, `correction` and `allow_true_answers` are as in
    privatize_frame, `id_column` names the column with the ids. `progress` is called with (done, total): bytes of
    a CSV file, rows of a Parquet file. In a CSV file every byte outside the private fields stays, numbers and
    truth values are recognised; the delimiter is found from the header. A Parquet file keeps its schema and
    codecs, not its row groups, nor metadata of the whole file, which may describe values.

    `words` replaces the operating system's randomness in experiments. The metadata of a Parquet file then say
    so; a CSV file has no place for it and is refused unless unmarked="allow".
    """
    randomness = choose_randomness(key, id_column, occasion, words, "id_column")
    job = plan(
        mechanisms,
        unknown,
        unknown_as,
        randomness,
        ledger=ledger,
        correction=correction,
        allow_true_answers=allow_true_answers,
    )
    if order not in ("check", "keep", "shuffle"):
        raise FileError(
            'must be "check", "keep" or "shuffle"',
            parameter="order",
            given=f"{order!r}",
        )
    opened = source if isinstance(source, CsvData | ParquetData) else None
    name = opened.path if opened is not None else file_name(source, "source", FileError)
    stream: Any = target if hasattr(target, "write") else None
    new = "-" if stream is not None else file_name(target, "target", FileError)
    if stream is None:
        _check_target(name, new, overwrite)
    kind = _format(name, new if stream is None else name, format)
    _check_marked(kind, randomness.note, unmarked)
    wanted = [*job.private, *([] if id_column is None else [id_column])]
    data = open_data(name, wanted, kind, delimiter, "source") if opened is None else opened
    check_columns(job, data.columns, "file", id_column)
    total = data.total
    ids = None if id_column is None else Ids(data, id_column)

    def report(done: int) -> None:
        if progress is not None:
            progress(done, total)

    task = Task(job, ids, order == "shuffle", report)
    watches = watch(job.releases)
    job.observe = partial(see, watches)

    def write(sink: BinaryIO) -> list[str]:
        notes, numbered = data.release(sink, task)
        job.check()
        if ids is not None:
            ids.check()
        _check_some_left(job, name)
        if order != "keep":
            _check_order(ordered_columns(watches), task.shuffle, numbered, name)
        check_unchanged(data)
        job.entry.commit()
        return [*notes, *job.entry.notes, *_frequencies(mechanisms, watches)]

    if stream is None:
        with _system_errors(new), job.entry, new_file(new, overwrite, *readers_of(name)) as sink:
            notes = write(sink)
    else:
        with tempfile.TemporaryFile() as spool:  # without a name: nothing is left if the process is killed
            with _system_errors("a temporary file"), job.entry:
                notes = write(spool)
            spool.seek(0)
            shutil.copyfileobj(spool, stream)
            stream.flush()
    return FileRelease(new, job.rows - job.dropped, job.dropped, tuple(notes))


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


def _check_some_left(job: Job, path: str) -> None:
    if not job.rows:
        raise ValuesError(
            "a file to privatise must have records",
            given=f"names of columns alone: {path}",
            remedy="is it the right file?",
        )
    if job.dropped and job.dropped == job.rows:
        raise ValuesError(
            f"No records left: {_none_known(job.private)}",
        )


def _none_known(columns: list[Any]) -> str:
    if len(columns) == 1:
        return (
            f"no value in {brief(columns[0])} is a label of this mechanism. Is it the right mechanism file?"
        )
    return f"none has labels of the mechanisms in all of {shorten(columns, 4)}. Are they the right mechanism files?"


def _check_order(columns: list[Any], shuffled: bool, numbered: list[str], path: str) -> None:
    """Refuse an order that tells answers, unless it is gone; a column with numbers of the records keeps it."""
    if columns and numbered:
        raise FileError(
            f"shuffling cannot hide the order of the records: column {brief(numbered[0])} of {path} still shows it",
            remedy=(
                'leave that column out, number the records anew, or accept their order with `order="keep"`'
            ),
        )
    if columns and not shuffled:
        raise FileError(
            f"the order of the records reveals answers: in column {brief(columns[0])} of {path} equal answers are "
            "closer together, farther apart or more regular than by chance",
            remedy=('write them in random order with `order="shuffle"`, or accept it with `order="keep"`'),
        )


def _frequencies(mechanisms: Mapping[Any, Certificate], watches: Sequence[Watch]) -> list[str]:
    """What must be said of columns whose answers do not look like the prior."""
    found = [(one.name, far_from_prior(mechanisms[one.name], one.counts)) for one in watches]
    return [f"The answers of {brief(name)} {said}." for name, said in found if said is not None]


def _check_target(source: str, target: str, overwrite: bool) -> None:
    """Refuse what cannot or must not be written to."""
    if os.path.exists(target) and os.path.samefile(source, target):
        raise FileError(
            "must not be the source",
            parameter="target",
            given=f"{target} for both",
            remedy="choose another name",
        )
    if os.path.isdir(target):
        raise FileError(
            "must be the name of a file",
            parameter="target",
            given=f"a folder: {target}",
        )
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileError(
            "must be a regular file",
            parameter="target",
            given=f"something else: {target}",
            remedy="choose another name",
        )
    if os.path.lexists(target) and not overwrite:
        raise FileError(
            f"{target} already exists",
            remedy="use `overwrite=True` to replace it",
        )
    folder = os.path.dirname(target) or "."
    if not os.path.isdir(folder):
        raise FileError(
            "must be in a folder that exists",
            parameter="target",
            given=target,
            remedy=f"make {folder} first",
        )


def _check_marked(kind: str, note: str | None, unmarked: str) -> None:
    """Refuse to write reports that are not private without saying so in the file."""
    if unmarked not in ("refuse", "allow"):
        raise FileError(
            'must be "refuse" or "allow"',
            parameter="unmarked",
            given=f"{unmarked!r}",
        )
    if kind == "csv" and note is not None and unmarked == "refuse":
        raise FileError(
            "reports for experiments must be marked",
            given=f"a CSV file, which has no place for it ({note})",
            remedy='write Parquet, or accept it with unmarked="allow"',
        )


def _format(source: str, target: str, given: str | None) -> str:
    if given is not None:
        if given not in ("csv", "parquet"):
            raise FileError(
                'must be "csv" or "parquet"',
                parameter="format",
                given=f"{given!r}",
            )
        return given
    kinds = [format_of(path) for path in (source, target)]
    if kinds[0] is None or kinds[0] != kinds[1]:
        raise FileError(
            "source and target must both be CSV (.csv, .tsv) or both Parquet (.parquet, .pq)",
            given=f"{source} and {target}",
            remedy='or say which: `format="csv"`',
        )
    return kinds[0]
