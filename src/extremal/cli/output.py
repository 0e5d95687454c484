"""What commands write: whole files or none, never over something that is there unless that was asked for."""

from __future__ import annotations

import os
import sys

import extremal as ex
from extremal.errors import FileError


def check_target(output: str | None, overwrite: bool, as_json: bool = False) -> None:
    """Refuse a target that cannot be written, before any work is done."""
    if output is None:
        return
    if output == "-":
        if as_json:
            raise FileError(
                "standard output must hold one thing",
                given="-o - and --json",
                remedy="leave one of them out",
            )
        return
    if os.path.isdir(output):
        raise FileError(
            "must be the name of a file",
            parameter="target",
            given=f"a folder: {output}",
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


def write_text(output: str, text: str, overwrite: bool) -> None:
    """The text under this name, or on standard output."""
    if output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    from extremal.release.files.atomic import new_file

    with new_file(output, overwrite, 0o644) as file:
        file.write(text.encode("utf-8"))


def write_mechanism(certified: ex.Certified, output: str | None, overwrite: bool) -> None:
    """The mechanism file, if a target was given."""
    if output is not None:
        write_text(output, certified.to_json(), overwrite)


def finish(interrupted: bool) -> None:
    """A search that was interrupted from the keyboard gives its best so far; here an interrupt means to stop."""
    if interrupted:
        raise KeyboardInterrupt
