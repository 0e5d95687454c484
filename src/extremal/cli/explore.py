"""extremal explore: the local web page."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")] = 8501,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open the explorer: a local web page to plan a survey before you run it.

    Only this machine can reach it unless --host says otherwise, and data stays in memory. Ctrl-C ends it.
    """
    try:
        from extremal.explorer import serve

        serve(host, port, browser)
    except KeyboardInterrupt:
        return  # how one ends a server
