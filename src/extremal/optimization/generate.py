"""The one loop: a master mixes the columns known so far, an oracle finds better ones and bounds what all could do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from .._common.types import Floats, Ints
from ..errors import ProofError
from ..model.labels import Labels
from ..model.mechanism import Mechanism
from ..model.purpose import Proof
from .effort import Effort, Stats, Why
from .tuning import ROUND

NO_SEARCH = Stats()


@dataclass(frozen=True, eq=False)
class Solution:
    """Lift vectors in rows with their weights, the value, and what proves the bound on the optimum.

    upper is inf and there is no proof where nothing is proven. `multipliers` is the dual vector of the last master
    program: not feasible, but the natural candidate for a bound by other means. With `block`, the block of each symbol,
    lift vectors have one element for each block.
    """

    lifts: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    value: float
    upper: float
    proof: Proof | None = field(default=None, repr=False)
    stats: Stats = NO_SEARCH
    method: str = ""
    multipliers: Floats | None = field(default=None, repr=False)
    block: Ints | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """(upper - value) / |value|."""
        return relative_gap(self.value, self.upper)

    @property
    def matrix(self) -> Floats:
        """P(y|x); rows are divided by their sums, which rounding took away from 1."""
        P = self.lifts.T * self.weights
        return np.asarray(P / P.sum(axis=1, keepdims=True))

    def mechanism(self, labels: Labels) -> Mechanism:
        """The mechanism of these columns."""
        return Mechanism(self.matrix, labels)


def relative_gap(value: float, upper: float) -> float:
    """(upper - value) / |value|, 0 where both vanish."""
    if upper <= value:
        return 0.0
    return (upper - value) / abs(value) if value != 0 else math.inf


@dataclass(kw_only=True)
class Search(ABC):
    """The state of a search: a master program over the columns so far, the best bound, and what was done.

    `aim` is the relative gap that is close enough.
    """

    effort: Effort
    aim: float
    upper: float = math.inf
    rounds: int = 0
    nodes: int = 0

    @property
    def value(self) -> float:
        """What the best mixture of the columns is worth."""
        return self.effort.value

    @abstractmethod
    def solve(self) -> bool:
        """Find the best mixture of the columns; False if time is up before, or if there is none that counts."""

    @property
    def closed(self) -> bool:
        """Whether the bound suffices."""
        return relative_gap(self.value, self.upper) <= self.aim

    @property
    def last(self) -> bool:
        """Whether no further round is allowed."""
        return self.rounds >= self.effort.rounds

    def stats(self, columns: int, why: Why) -> Stats:
        """What was done."""
        return Stats(self.rounds, columns, self.nodes, why=why)


S = TypeVar("S", bound=Search, contravariant=True)


class Oracle(Protocol[S]):
    """Where columns and bounds come from."""

    def bound(self, search: S) -> None:
        """Improve the bound, as far as that costs little."""

    def columns(self, search: S) -> bool:
        """Add columns that gain something, and improve the bound by what that proves; False if there are none."""


def generate(search: S, oracle: Oracle[S]) -> Why:
    """Search until the bound suffices, nothing better is found, or the effort is over; says which.

    An interrupt from the keyboard or the time limit leaves the best mixture so far with what is proven about it.
    """
    effort = search.effort
    try:
        with clean_interrupts():
            while search.solve():
                search.rounds += 1
                effort.spend(ROUND)
                oracle.bound(search)
                effort.tell(search.value, search.upper)
                if search.closed:
                    return Why.REACHED
                if search.last or effort.over:
                    return effort.why
                if not oracle.columns(search):
                    return Why.EXHAUSTED
    except KeyboardInterrupt:
        effort.interrupted = True
    return effort.why if effort.over or search.last else Why.EXHAUSTED


@contextmanager
def clean_interrupts() -> Iterator[None]:
    """An interrupt from the keyboard in the middle of compiled code comes as what it is."""
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


ROUNDING = 1e-9  # of the value: what sums, factors and linear programs may be off by


def checked_bound(upper: float, value: float, rounding: float = 0.0) -> float:
    """The upper bound, or the value of a mechanism where rounding put the bound below it.

    A bound that is further below is contradicted by the mechanism: the proof is wrong. `rounding` is what the two may
    be off by, in addition to ROUNDING of the value.
    """
    if value - upper > ROUNDING * abs(value) + rounding:
        raise ProofError(
            "the upper bound of a design is below its value, so its proof is wrong",
            given=f"a bound of {upper:.12g} and a value of {value:.12g}",
            remedy="this is a fault of the library: report it with the prior and epsilon",
        )
    return max(upper, value)
