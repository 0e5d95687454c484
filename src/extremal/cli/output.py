"""What commands write: whole files or none, never over something that is there unless that was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import extremal as ex
from extremal.errors import FileError


def check_target(output: str | None, overwrite: bool, as_json: bool = False) -> None:
    """Refuse a target that cannot be written, before any work is done."""
    if output is None:
        return
    if output == "-":
        if as_json:
            raise FileError(
                "standard output can take one thing only",
                given="-o - and --json",
                remedy="leave one of them out",
            )
        return
    if not output or os.path.isdir(output):
        raise FileError(
            "must be the name of a file",
            parameter="target",
            given=f"a folder: {output}" if output else "''",
            remedy="give a path",
        )
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise FileError(
            "must be in a folder that exists",
            parameter="target",
            given=output,
            remedy=f"make {folder} first",
        )
    if os.path.lexists(output) and not overwrite:
        raise FileError(
            f"{output} already exists",
            remedy="use --overwrite to replace it",
        )


def check_own_files(output: str, others: Sequence[str], what: str) -> None:
    """Refuse to replace a file that this very run reads or writes."""
    for other in others:
        same = os.path.realpath(output) == os.path.realpath(other)
        if output != "-" and (
            same or (os.path.exists(output) and os.path.exists(other) and os.path.samefile(output, other))
        ):
            raise FileError(
                f"the output must not replace {what}", given=f"-o {output}", remedy="choose another name"
            )


def write_text(output: str, text: str, overwrite: bool, mode: int = 0o644) -> None:
    """The text under this name, for those whom the mode lets read it, or on standard output."""
    if output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    from extremal.release.files.atomic import new_file

    with new_file(output, overwrite, mode) as file:
        file.write(text.encode("utf-8"))


def check_table(output: str | None) -> None:
    """Refuse the name of a table whose ending says nothing known."""
    if output is not None and output != "-":
        from extremal._common.frames import table_kind

        table_kind(output)


def write_table(records: Sequence[Mapping[str, Any]], output: str | None, overwrite: bool) -> None:
    """The table as CSV, Parquet or JSON, by the name of the target; CSV on standard output."""
    if output is None:
        return
    from extremal._common.frames import encode_table, table_kind

    if output == "-":
        write_text("-", encode_table(records, "csv").decode(), overwrite)
        return
    from extremal.release.files.atomic import new_file

    content = encode_table(records, table_kind(output))
    with new_file(output, overwrite, 0o644) as file:
        file.write(content)


def write_mechanism(certified: ex.Certified, output: str | None, overwrite: bool) -> None:
    """The mechanism file, if a target was given."""
    if output is not None:
        write_text(output, certified.to_json(), overwrite)


def finish(interrupted: bool) -> None:
    """A search that was interrupted from the keyboard gives its best so far; here an interrupt means to stop."""
    if interrupted:
        raise KeyboardInterrupt
