"""What the oracles `exchange` and `levels` have in common: which bound a round is worth, and when to stop."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..._common.types import Floats
from .. import tuning
from ..masters.quadratic import Mixture, QuadraticSearch, VectorOracle


class MixingOracle(VectorOracle, ABC):
    """Where lift vectors less 1 come from, and what is proven about all of them."""

    before = 0.0  # the value a round ago
    stalled = False  # whether the last round gained little
    thorough = False  # whether the last bound was one that takes long
    idle = 0  # rounds that gained next to nothing, beyond the usual number of them

    @abstractmethod
    def little(self, value: float, upper: float) -> float:
        """A round that gains less has stalled."""

    @abstractmethod
    def prove(self, search: QuadraticSearch, mixture: Mixture, thorough: bool) -> None:
        """Offer a bound; a good one that takes long if `thorough`."""

    @abstractmethod
    def more(self, mixture: Mixture, round_: int, thorough: bool) -> Floats:
        """Vectors that would improve a mixture; with the best of a list if `thorough`."""

    @property
    @abstractmethod
    def short(self) -> bool:
        """Whether the good bound is worth taking in every round."""

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether nothing more is to be expected once a round has stalled."""

    def bound(self, search: QuadraticSearch) -> None:
        """The bound that this round is worth."""
        assert search.mixture is not None
        gained, upper = search.value - self.before, search.upper
        self.stalled = gained < self.little(search.value, upper)
        self.thorough = self.short or self.stalled or search.last
        self.prove(search, search.mixture, self.thorough)
        self.before = search.value
        slow = (
            search.rounds > tuning.ROUNDS and gained <= tuning.GAIN * search.value and search.upper == upper
        )
        self.idle = self.idle + 1 if slow else 0

    def columns(self, search: QuadraticSearch) -> bool:
        """New rows, unless nothing more is to be expected."""
        assert search.mixture is not None
        if (self.exhausted and self.stalled) or self.idle >= tuning.IDLE:
            return False
        search.most += search.true.size if self.stalled else 0
        search.add(self.more(search.mixture, search.rounds, self.thorough))
        return True
