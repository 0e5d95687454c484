"""Where a result goes: a table or a mechanism in a file or a pipe, JSON for programs, else text for people.

Files are written whole or not at all, and never over something that is there unless that was asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import extremal as ex
from extremal._common import files
from extremal.errors import FileError

from . import show

Records = Sequence[Mapping[str, Any]]


class Result(Protocol):
    """What a command found."""

    def facts(self) -> dict[str, Any]:
        """All of it, for programs."""

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""


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
        check_table(self.target)

    def table(self, records: Records) -> None:
        """Write the table, if a target was given."""
        write_table(records, self.target, self.overwrite)

    def give(self, result: Result) -> None:
        """Print the result."""
        if self.as_json:
            show.print_json(result.facts())
            return
        out = show.console(to_stderr=self.target == "-")
        result.tell(out)
        if self.target is not None and self.target != "-":
            show.lines(out, ["", f"{self.holds} in {self.target}"])


@dataclass(frozen=True)
class MechanismOutput(Output):
    """Where a result goes, and the certified mechanism that it has.

    Parameters
    ----------
    target : --output -o FILE
        Where to write the certified mechanism; "-" for a pipe.
    """

    holds: ClassVar[str] = "Certified mechanism"

    def check(self, *inputs: str | None) -> None:
        """Refuse what cannot be written, or would replace one of the inputs, before any work is done."""
        check_target(self.target, self.overwrite, self.as_json, inputs)

    def mechanism(self, certified: ex.Certified | ex.large.Windows) -> None:
        """Write the mechanism file, if a target was given."""
        if self.target is not None:
            write_text(self.target, certified.to_json(), self.overwrite)


def taken_twice(given: str) -> FileError:
    """What to raise where two options want standard output."""
    return FileError("standard output can take one thing only", given=given, remedy="leave one of them out")


def check_target(
    target: str | None, overwrite: bool, as_json: bool = False, inputs: Sequence[str | None] = ()
) -> None:
    """Refuse a target that cannot be written, or is one of the inputs, before any work is done."""
    if target is None:
        return
    if target == "-":
        if as_json:
            raise taken_twice("-o - and --json")
        return
    check_own_files(target, [name for name in inputs if name is not None], "what this command reads")
    files.check_target(target, overwrite, "the output")


def check_folder(target: str) -> None:
    """Refuse to make a folder with the name that means standard output."""
    if target == "-":
        raise FileError("the output must be a folder", given="-", remedy="give its name")


def check_own_files(target: str, others: Sequence[str], what: str) -> None:
    """Refuse to replace a file that this very run reads or writes."""
    for other in others:
        same = os.path.realpath(target) == os.path.realpath(other)
        if target != "-" and (
            same or (os.path.exists(target) and os.path.exists(other) and os.path.samefile(target, other))
        ):
            raise FileError(
                f"the output must not replace {what}", given=f"-o {target}", remedy="choose another name"
            )


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


def write_table(records: Records, target: str | None, overwrite: bool, mode: int = 0o644) -> None:
    """The table as CSV, Parquet or JSON, by the name of the target; CSV on standard output."""
    if target is None:
        return
    from extremal._common.frames import encode_table, table_kind

    kind = "csv" if target == "-" else table_kind(target)
    write_bytes(target, encode_table(records, kind), overwrite, mode)
