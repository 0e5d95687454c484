"""Progress on stderr, once something has taken a second; nothing in a file or pipe.

A bar with the time left where the amount of work is known, else the words of the caller and the time so far. It appears
after a second whether or not the work has told anything by then.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
