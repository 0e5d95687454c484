"""How much a search may do, what became of it, and why it ended.

Work is counted so that equal questions have equal answers, however busy the machine is. Its unit is one node of branch
and bound, about 50 ns on an ordinary machine; everything else is counted in what it costs on average. A time limit is
not part of any decision: it stops a search, and the result says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from .._common import checks
from .tuning import NODES, NODES_FOR_EACH_SYMBOL, OFTEN

Progress = Callable[[float, float], None]  # (value, upper bound)


class Why(Enum):
    """Why a search ended, in words."""

    KNOWN = "known without a search"
    LISTED = "the best of all candidates, listed one by one"
    REACHED = "as near to the optimum as was asked for"
    EXHAUSTED = "the search found nothing better"
    WORK = "the search ended after its fixed amount of work; time_limit=math.inf lifts it"
    TIME = "stopped by the time limit, this is the best so far"
    INTERRUPTED = "interrupted, this is the best so far"


@dataclass(frozen=True)
class Stats:
    """What a search did: rounds, columns tried, nodes of branch and bound, seconds, and why it ended."""

    rounds: int = 0
    columns: int = 0
    nodes: int = 0
    seconds: float = 0.0
    why: Why = Why.KNOWN

    @property
    def interrupted(self) -> bool:
        """Whether it was ended from the keyboard."""
        return self.why is Why.INTERRUPTED

    @property
    def stopped(self) -> bool:
        """Whether the time limit ended it."""
        return self.why is Why.TIME

    def __add__(self, later: Stats) -> Stats:
        """Both searches, one after the other."""
        return Stats(
            self.rounds + later.rounds,
            self.columns + later.columns,
            self.nodes + later.nodes,
            self.seconds + later.seconds,
            self.why if self.interrupted or self.stopped else later.why,
        )


class Effort:
    """What the caller wants, from here on: how near to the optimum, how long, and to hear of progress.

    `nodes` and `rounds` limit the work. A part of an effort counts for the whole.
    """

    def __init__(
        self,
        tolerance: float | None = None,
        time_limit: float | None = None,
        progress: Progress | None = None,
        nodes: float = math.inf,
        whole: Effort | None = None,
    ) -> None:
        if tolerance is not None:
            tolerance = checks.number(tolerance, "tolerance", least=0, remedy="1e-6 proves six digits")
        if time_limit is not None and time_limit != math.inf:
            time_limit = checks.number(time_limit, "time_limit", least=0, remedy="math.inf lifts every limit")
        if progress is not None:
            checks.function(progress, "progress", "(value, upper bound)", remedy="leave it out for none")
        self.tolerance, self.progress = tolerance, progress
        self.nodes, self.rounds, self.spent = nodes, math.inf, 0.0
        self.endless = time_limit == math.inf
        self._end = math.inf if time_limit is None or self.endless else time.perf_counter() + time_limit
        self.stopped = self.interrupted = False
        self._whole = whole
        self._told = 0.0
        self.value, self.upper = 0.0, 1.0  # what is known so far, for whoever wants to hear of it

    def limited(self, nodes: float = math.inf, rounds: float = math.inf) -> Effort:
        """The same with so much work, unless a time limit of inf lifts it."""
        if not self.endless:
            self.nodes, self.rounds = nodes, rounds
        return self

    def for_size(self, size: int, each: float = NODES_FOR_EACH_SYMBOL) -> Effort:
        """The same with the usual work for an alphabet of this size."""
        return self.limited(NODES + each * size)

    @property
    def left(self) -> float:
        """How many nodes."""
        return max(self.nodes - self.spent, 0.0)

    @property
    def seconds(self) -> float:
        """How many seconds are left, inf where there is no time limit."""
        return self._end - time.perf_counter() if self._end < math.inf else math.inf

    @property
    def over(self) -> bool:
        """Whether to stop."""
        if not self.stopped and self.seconds <= 0:
            self.stop()
        return self.stopped or self.interrupted or self.spent >= self.nodes

    @property
    def why(self) -> Why:
        """Why it ends here."""
        if self.interrupted or self.stopped:
            return Why.INTERRUPTED if self.interrupted else Why.TIME
        return Why.EXHAUSTED if self.endless else Why.WORK

    def spend(self, nodes: float) -> None:
        """Count what was done."""
        self.spent += nodes
        if self._whole is not None:
            self._whole.spend(nodes)

    def stop(self) -> None:
        """The time limit ended a search that would have gone on."""
        self.stopped = True
        if self._whole is not None:
            self._whole.stop()

    def part(self, share: float) -> Effort:
        """A share of what is left, as an effort of its own."""
        seconds = None if self._end == math.inf else share * max(self.seconds, 0.0)
        return Effort(self.tolerance, seconds, self.progress, share * self.left, self)

    def tell(self, value: float, upper: float) -> None:
        """Call progress, unless it was interrupted."""
        self.value, self.upper = value, upper
        if self.progress is not None and not self.interrupted:
            self._told = time.perf_counter()
            self.progress(min(value, upper), upper)

    def pause(self) -> bool:
        """Whether to stop, asked in the middle of a long step; progress hears of it now and then."""
        if self.progress is not None and time.perf_counter() - self._told > OFTEN:
            self.tell(self.value, self.upper)
        return self.over


UNLIMITED = Effort()
