"""What is asked of a file of any format: which reports to write, keyed by which ids, in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...draw.drawing import Read
from ..job import Drawn, Job
from .ids import Ids


@dataclass(frozen=True, eq=False)
class Task:
    """The job, the ids that key its draws if any do, and whether records are shuffled.

    `progress` is called with how much of the source has been read, in its own unit.
    """

    job: Job
    ids: Ids | None
    shuffle: bool
    progress: Callable[[int], None]

    def draw(self, read: Read, count: int, ids: Callable[[str], Any]) -> Drawn | None:
        """The reports of the next records; `ids(name)` gives their ids. None if something is refused."""
        blocks = None if self.ids is None else self.ids.blocks(ids(self.ids.name), count)
        return self.job.draw(read, count, blocks)


class Written(NamedTuple):
    """What a person must look at, and the columns that tell the old order of shuffled records."""

    notes: list[str]
    numbered: list[str]
