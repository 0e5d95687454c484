"""Progress on stderr, once something has taken a second; nothing in a file or pipe.

A bar with the time left where the amount of work is known, else the words of the caller and the time so far.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 1.0  # seconds before a bar appears


class Bar:
    """Called with (done, total) or (done, 0, words); shows itself when that goes on for long."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begin = time.monotonic()
        self._shown: Any = None
        self._task: Any = None

    def __call__(self, done: float, total: float, words: str = "") -> None:
        if self._shown is None:
            if not sys.stderr.isatty() or time.monotonic() - self._begin < PATIENCE:
                return
            self._start(known=bool(total))
        title = f"{self._title} {words}" if words else self._title
        self._shown.update(self._task, completed=done, total=total or None, description=title)

    def close(self) -> None:
        """Take the bar away."""
        if self._shown is not None:
            self._shown.stop()

    def _start(self, known: bool) -> None:
        from rich import progress as rich
        from rich.console import Console

        words = rich.TextColumn("{task.description}", markup=False)
        left = rich.BarColumn(), rich.TaskProgressColumn(), rich.TimeRemainingColumn(compact=True)
        columns = (words, *left, rich.TextColumn("left")) if known else (words, rich.TimeElapsedColumn())
        self._shown = rich.Progress(*columns, console=Console(stderr=True), transient=True)
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
