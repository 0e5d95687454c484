"""Time and progress of a search: asked in the middle of long steps, so that they end in time and are seen to go on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

OFTEN = 0.2  # seconds between two calls of progress from within a step

Progress = Callable[[float, float], None]  # (value, upper bound)


@dataclass
class Watch:
    """What is known so far, who wants to hear of it, and when to stop."""

    deadline: float = math.inf  # as time.perf_counter() counts
    progress: Progress | None = None
    value: float = 0.0
    upper: float = 1.0
    stopped: bool = False  # by the deadline
    interrupted: bool = False  # from the keyboard
    told: float = 0.0  # when progress was called last

    def tell(self) -> None:
        """Call progress, unless it was interrupted."""
        if self.progress is not None and not self.interrupted:
            self.told = time.perf_counter()
            self.progress(min(self.value, self.upper), self.upper)

    def over(self) -> bool:
        """Whether to stop; calls progress now and then."""
        now = time.perf_counter()
        if now - self.told > OFTEN:
            self.tell()
        self.stopped = self.stopped or now > self.deadline
        return self.stopped or self.interrupted

    def left(self) -> float:
        """Seconds until the deadline."""
        return max(self.deadline - time.perf_counter(), 0.0)


UNWATCHED = Watch()
