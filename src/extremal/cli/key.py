"""extremal key: a secret key for repeatable reports."""

from __future__ import annotations

from typing import Annotated

import typer

import extremal as ex

from . import options, show


def command(
    path: Annotated[str, typer.Argument(metavar="FILE", help="The key file to create.")],
    as_json: options.Json = False,
) -> None:
    """Make a secret key for repeatable reports, in a new file that only you can read."""
    if path == "-":
        raise ex.errors.OptionError(
            "must be a file: a key on the screen or in a pipe is soon in a log",
            parameter="FILE",
            given="-",
            remedy="extremal key secret.key",
        )
    ex.keys.write(path)
    if as_json:
        show.print_json({"file": path})
        return
    show.console().print(f"Secret key in {path}: keep it as safe as the answers themselves", soft_wrap=True)
