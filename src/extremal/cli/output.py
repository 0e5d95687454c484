"""Where a result goes: a table or a mechanism in a file or a pipe, JSON for programs, else text for people.

Files are written whole or not at all, and never over something that is there unless that was asked for.

Progress stands on stderr, once something has taken a second; nothing in a file or pipe. A bar with the time left where
the amount of work is known, else the words of the caller and the time so far. It appears after a second whether or not
the work has told anything by then.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from extremal._common import files
from extremal.errors import FileError

from . import show
from .failure import CheckFailed

Facts = dict[str, Any]  # what JSON can hold, by name
Records = Sequence[Mapping[str, Any]]


class Result(Protocol):
    """What a command found."""

    def facts(self) -> Facts:
        """All of it, for programs."""

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""


class Judged(Result, Protocol):
    """What a command found, and what is wrong with it."""

    def warnings(self) -> list[str]:
        """What is wrong."""


def answer(result: Result, as_json: bool, aside: bool = False) -> None:
    """Print a result: text aside goes to standard error, because something else has standard output."""
    if as_json:
        show.print_json(result.facts())
    else:
        result.tell(show.Console(aside))


@dataclass(frozen=True)
class Output:
    """Where a result goes, and the table that it has."""

    target: str | None = None
    overwrite: bool = False
    as_json: bool = False
    holds: ClassVar[str] = "Table"

    def check(self, *inputs: str | None) -> None:
        """Refuse what cannot be written, or would replace one of the inputs, before any work is done."""
        check_target(self.target, self.overwrite, self.as_json, inputs)
        if self.holds == "Table":
            check_table(self.target)

    def write(self, result: Any) -> None:
        """Write the table of a result, if a target was given."""
        if self.target is not None:
            write_table(result.records(), self.target, self.overwrite)

    def give(self, result: Result) -> None:
        """Write what belongs into a file, and print the result."""
        self.write(result)
        answer(result, self.as_json, self.target == "-")
        if self.target not in (None, "-") and not self.as_json:
            show.Console().lines("", f"{self.holds} in {self.target}")

    def judge(self, result: Judged) -> None:
        """The same, with exit status 1 if the result warns, which has been said then."""
        self.give(result)
        if result.warnings():
            raise CheckFailed("")


@dataclass(frozen=True)
class MechanismOutput(Output):
    """Where a result goes, and the certified mechanism that it has.

    Parameters
    ----------
    target : --output -o FILE
        Where to write the certified mechanism; "-" for a pipe.
    """

    holds: ClassVar[str] = "Certified mechanism"

    def write(self, result: Any) -> None:
        """Write the mechanism file of a result, if a target was given."""
        if self.target is not None:
            write_text(self.target, result.certified.to_json(), self.overwrite)


def taken_twice(given: str) -> FileError:
    """What to raise where two options want standard output."""
    return FileError("standard output can take one thing only", given=given, remedy="leave one of them out")


def check_target(
    target: str | None, overwrite: bool, as_json: bool = False, inputs: Sequence[str | None] = ()
) -> None:
    """Refuse a target that cannot be written, or is a file that this run works with, before any work is done."""
    if target is None:
        return
    if target == "-":
        if as_json:
            raise taken_twice("-o - and --json")
        return
    for name in inputs:
        if name is None:
            continue
        same = os.path.realpath(target) == os.path.realpath(name)
        if same or (os.path.exists(target) and os.path.exists(name) and os.path.samefile(target, name)):
            problem = "the output must not replace a file that this command works with"
            raise FileError(problem, given=f"-o {target}", remedy="choose another name")
    files.check_target(target, overwrite, "the output")


def check_folder(target: str) -> None:
    """Refuse to make a folder with the name that means standard output."""
    if target == "-":
        raise FileError("the output must be a folder", given="-", remedy="give its name")


def check_table(target: str | None) -> None:
    """Refuse the name of a table whose ending says nothing known."""
    if target is not None and target != "-":
        from extremal._common.frames import table_kind

        table_kind(target)


def write_bytes(target: str, content: bytes, overwrite: bool, mode: int = 0o644) -> None:
    """The content under this name, for those whom the mode lets read it, or on standard output."""
    if target == "-":
        sys.stdout.write(content.decode())
        sys.stdout.flush()
        return
    files.write_file(target, content, overwrite, mode)


def write_text(target: str, text: str, overwrite: bool, mode: int = 0o644) -> None:
    """The same for text."""
    write_bytes(target, text.encode("utf-8"), overwrite, mode)


def write_table(records: Records, target: str, overwrite: bool, mode: int = 0o644) -> None:
    """The table as CSV, Parquet or JSON, by the name of the target; CSV on standard output."""
    from extremal._common.frames import encode_table, table_kind

    kind = "csv" if target == "-" else table_kind(target)
    write_bytes(target, encode_table(records, kind), overwrite, mode)


PATIENCE = 1.0  # seconds before a bar appears


class Bar:
    """Called with (done, total) or (done, 0, words); shows itself when that goes on for long."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._shown: Any = None
        self._known = False
        self._task: Any = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._due = time.monotonic() + PATIENCE
        if sys.stderr.isatty():
            self._timer = threading.Timer(PATIENCE, self._appear)
            self._timer.daemon = True
            self._timer.start()

    def __call__(self, done: float, total: float, words: str = "") -> None:
        if self._timer is None or time.monotonic() < self._due:
            return
        with self._lock:
            if self._shown is None or (total and not self._known):
                self._start(known=bool(total))
            title = f"{self._title} {words}" if words else self._title
            self._shown.update(self._task, completed=done, total=total or None, description=title)

    def close(self) -> None:
        """Take the bar away."""
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None  # if it is waiting for the lock, it is too late
            if self._shown is not None:
                self._shown.stop()

    def _appear(self) -> None:
        with self._lock:
            if self._timer is not None and self._shown is None:
                self._start(known=False)

    def _start(self, known: bool) -> None:
        from rich import progress as rich
        from rich.console import Console

        if self._shown is not None:
            self._shown.stop()  # words alone, until it was told how much there is to do
        words = rich.TextColumn("{task.description}", markup=False)
        left = rich.BarColumn(), rich.TaskProgressColumn(), rich.TimeRemainingColumn(compact=True)
        columns = (words, *left, rich.TextColumn("left")) if known else (words, rich.TimeElapsedColumn())
        self._shown = rich.Progress(*columns, console=Console(stderr=True), transient=True)
        self._known = known
        self._task = self._shown.add_task(self._title, total=None)
        self._shown.start()


@contextmanager
def progress(title: str) -> Iterator[Bar]:
    """A bar for what is done inside, gone afterwards."""
    bar = Bar(title)
    try:
        yield bar
    finally:
        bar.close()
