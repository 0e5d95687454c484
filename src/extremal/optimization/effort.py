"""How much work a search may do, counted so that equal questions have equal answers, however busy the machine is.

The unit is one node of branch and bound, about 50 ns on an ordinary machine; everything else is counted in what it
costs on average. A time limit is not part of any decision: it stops a search, and the result says so.
"""

from __future__ import annotations

import math
import time

NODES, NODES_FOR_EACH_SYMBOL = 160_000_000, 2_400_000  # the budget of every design that states no other
IN_PROGRAMS = (
    600_000  # for each symbol, of searches made of linear programs, which cost what they are counted for
)
SPEED = 2e7  # nodes a second, to end a compiled search in time

ROUND = 20_000
TRY = 6_000  # of large-neighbourhood search with 14 free symbols, twice that with 16
ITERATION, ELEMENT = 400, 1 / 125  # of the simplex method: for itself, and for each element of the program
CELL = 1 / 50  # of a dynamic programme, or of a table of vertices
EVALUATED = 1 / 5  # one lift in a column whose utility is computed


class Budget:
    """So many nodes and, if a time limit is given, so many seconds; parts of a budget count for the whole."""

    def __init__(
        self, nodes: float = math.inf, time_limit: float = math.inf, whole: Budget | None = None
    ) -> None:
        self.nodes, self.spent, self.stopped = nodes, 0.0, False
        self._end = time.perf_counter() + time_limit if time_limit < math.inf else math.inf
        self._whole = whole

    @classmethod
    def of(cls, size: int, time_limit: float | None = None, each: float = NODES_FOR_EACH_SYMBOL) -> Budget:
        """The default for an alphabet of this size, so many nodes `each`. A time limit of inf is none on work."""
        if time_limit == math.inf:
            return cls()
        limit = math.inf if time_limit is None else time_limit
        return cls(NODES + each * size, limit)

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
        """Whether nothing is left. If that is because of the time limit, the result must say so."""
        if self.seconds <= 0:
            self.stop()
        return self.stopped or self.spent >= self.nodes

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

    def part(self, share: float, at_least: float = 0.0) -> Budget:
        """A share of what is left, as a budget of its own."""
        return Budget(max(share * self.left, at_least), share * max(self.seconds, 0.0), self)
