"""Progress on stderr: a bar with the time left, once something has taken a second; nothing in a file or pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 1.0  # seconds before a bar appears


class Bar:
    """Called with (done, total) or (done, total, words); shows itself when that goes on for long."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begin = time.monotonic()
        self._shown: Any = None
        self._task: Any = None

    def __call__(self, done: float, total: float, words: str = "") -> None:
        if self._shown is None:
            if not sys.stderr.isatty() or time.monotonic() - self._begin < PATIENCE:
                return
            self._start()
        title = f"{self._title} {words}" if words else self._title
        self._shown.update(self._task, completed=done, total=total or None, description=title)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    def close(self) -> None:
        """Take the bar away."""
        if self._shown is not None:
            self._shown.stop()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._shown = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
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
