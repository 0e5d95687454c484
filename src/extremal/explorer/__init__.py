"""The explorer: a web page on this machine that tells how many people to ask, and what a report can give away.

`server` answers the browser and decides who may ask, `pool` keeps worker processes, `worker` is such a process,
`state` is what a person can choose, `compute` makes designs for it, `figures` says what they are worth, `priors` reads
priors, and `static` is the page. Data stays in memory: what the page sends is held by a process for as long as it works
on it, and is neither written nor logged.
"""

from __future__ import annotations

from .._common.words import missing

PORT = 8501


def serve(host: str = "127.0.0.1", port: int = PORT, open_browser: bool = True) -> None:
    """Serve the explorer until Ctrl-C, to whoever has the link that is printed. Port 0 takes a free one.

    By default only this machine can reach it.
    """
    try:
        from .server import run
    except ImportError as error:
        if error.name not in ("starlette", "uvicorn", "anyio"):
            raise
        raise missing(f"the explorer needs {error.name}", "explorer") from None
    run(host, port, open_browser)


__all__ = ["PORT", "serve"]
