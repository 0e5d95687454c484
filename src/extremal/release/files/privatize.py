"""CSV and Parquet files: streamed in constant memory, whole under their final name or not there at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from ..._common import checks
from ..._common.files import check_target, file_name, new_file, readers_of, reason
from ..._common.words import brief, shorten
from ...certification.certified import Certified
from ...draw.drawing import Job
from ...draw.order import Watch, see
from ...draw.sampler import Sampler
from ...errors import FileError, ValuesError
from ..job import Path, Terms, check_columns, plan
from .source import FORMATS, KNOWN, Data, check_unchanged, format_of, open_data
from .task import Ids, Task

Counts = NDArray[np.int64]

FALSE_ALARM = 1e-4  # the chance that answers which follow the prior are taken for others
EXCESS = 1.1  # times epsilon: less than that is not worth a word


@dataclass(frozen=True)
class FileRelease:
    """What was done: the file written, its rows, and how many rows of the source it lacks.

    `notes` are for the person who runs the job: what to look at before the file is passed on. They and `unknown`, how
    many values of each column were missing and how many no label, speak of the source: do not pass them on.
    """

    target: str
    rows: int
    dropped: int
    notes: tuple[str, ...] = ()
    unknown: Mapping[Any, tuple[int, int]] = field(default_factory=dict)


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
            checks.choice(self.format, "format", tuple(dict.fromkeys(FORMATS.values())), error=FileError)


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
    opened = source if isinstance(source, Data) else None
    name = opened.path if opened is not None else file_name(source, "source", FileError)
    stream = cast(BinaryIO, target) if hasattr(target, "write") else None
    new = "-" if stream is not None else file_name(target, "target", FileError)
    if stream is None:
        if os.path.exists(new) and os.path.samefile(name, new):
            given = f"{new} for both"
            raise FileError(
                "must not be the source", parameter="target", given=given, remedy="choose another name"
            )
        check_target(new, options.overwrite)
    kind = options.format or _common_format(name, new if stream is None else name)
    _check_marked(kind, job.randomness.note, options.unmarked)
    wanted = [*job.private, *([] if terms.id_column is None else [terms.id_column])]
    data = open_data(name, wanted, kind, options.delimiter, "source") if opened is None else opened
    check_columns(job, data.columns, "file", terms.id_column)
    task = Task(
        job,
        None if terms.id_column is None else Ids(data, terms.id_column),
        options.order == "shuffle",
        lambda done: options.progress(done, data.total) if options.progress is not None else None,
        {
            part: note_of(c)
            for key, c in mechanisms.items()
            for part in (key if isinstance(key, tuple) else (key,))
        },
    )
    watches = tuple(map(Watch.of, job.releases))
    job.observe = partial(see, watches)

    def write(sink: BinaryIO) -> list[str]:
        notes = data.release(sink, task)
        job.check()
        if task.ids is not None:
            task.ids.check()
        _check_some_left(job, name)
        if options.order != "keep":
            _check_order([one.name for one in watches if one.ordered()], task.shuffle, task.numbered, name)
        check_unchanged(data)
        entry.commit()
        far = [(one.name, far_from_prior(mechanisms[one.name], one.counts)) for one in watches]
        said = [f"The answers of {brief(column)} {how}." for column, how in far if how is not None]
        return [*notes, *entry.notes, *said]

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
    found = zip(job.releases, job.unknown, strict=False)
    unknown = {one.name: (no.missing, no.rows - no.missing) for one, no in found if no.rows}
    return FileRelease(new, job.rows - job.dropped, job.dropped, tuple(notes), unknown)


def note_of(certified: Certified) -> str:
    """What a file says of a column of reports, where it has a place for it."""
    return (
        f"Reports drawn by extremal, not answers. Epsilon {certified.epsilon:g}. "
        f"SHA-256 of the mechanism: {certified.digest}"
    )


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
        one = len(job.private) == 1
        raise ValuesError(
            f"No records left: no value in {brief(job.private[0])} is a label of this mechanism. Is it the right "
            "mechanism file?"
            if one
            else f"No records left: none has labels of the mechanisms in all of {shorten(job.private, 4)}. Are they "
            "the right mechanism files?"
        )


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


def _check_marked(kind: str, note: str | None, unmarked: str) -> None:
    """Refuse to write reports that are not private without saying so in the file."""
    if kind == "csv" and note is not None and unmarked == "refuse":
        raise FileError(
            "reports for experiments must be marked",
            given=f"a CSV file, which has no place for it ({note})",
            remedy='write Parquet, or accept it with unmarked="allow"',
        )


def _common_format(source: str, target: str) -> str:
    """The format that the names of both files tell."""
    kinds = [format_of(path) for path in (source, target)]
    if kinds[0] is None or kinds[0] != kinds[1]:
        raise FileError(
            f"source and target must have one format: {KNOWN}",
            given=f"{source} and {target}",
            remedy='or say which: `format="csv"`',
        )
    return kinds[0]


def far_from_prior(certified: Certified, counts: Counts) -> str | None:
    """A sentence if the answers cannot have followed the prior, and leak more than epsilon under their own."""
    if not counts.sum() or not _differ(counts, certified.prior_between.probabilities):
        return None
    leakage = leakage_under(certified.sampler, counts)
    if leakage <= EXCESS * certified.epsilon:
        return None
    return (
        f"are far from the prior in the mechanism file: under their own frequencies a report leaks up to "
        f"{leakage:.2f} nats, not {certified.epsilon:g}. Design with a prior that fits better, if one is public. This "
        "sentence is about the true answers: to share it would be a release"
    )


def leakage_under(sampler: Sampler, counts: Counts) -> float:
    """The PML of the mechanism, in nats, if answers, or blocks of them, are as frequent as they were counted."""
    there = counts > 0
    weights = sampler.weights[there].astype(np.float64)
    shares = counts[there] / counts.sum()
    average = shares @ weights
    possible = average > 0
    return float(np.log(np.max(weights.max(axis=0)[possible] / average[possible])))


def _differ(counts: Counts, masses: Any) -> bool:
    """Whether some answer is so frequent or so rare as it would be once in FALSE_ALARM, by Chernoff's bound."""
    n = counts.sum()
    share, mass = counts / n, np.asarray(masses, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(share > 0, share * np.log(share / mass), 0.0)
        other = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - mass)), 0.0)
    return bool(np.any(n * (one + other) > np.log(2 * len(mass) / FALSE_ALARM)))
