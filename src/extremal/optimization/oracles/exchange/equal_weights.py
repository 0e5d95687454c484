"""Designs for hundreds of symbols: lift vectors that need no program for their weights.

Each vector is chosen where those before leave the estimates worst (`greedy.py`), so that equal weights are within a
few percent of the best: 3 N vectors lose about 5 %, half as much with every half more. Vectors that come up again,
such as those that tell one likely symbol, weigh more. A last step balances the weights exactly. Where it does not take
too long, the best weights are then found.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...._common.types import Floats
from ...effort import Why
from ...generate import Search, Solution, generate
from ...masters.quadratic import balance, mix, mixture_of
from ...reductions import efficiency
from ...tuning import FEW_OUTPUTS, LARGEST_MIX, NEARLY_ALL, OUTPUTS, REPEATS
from .greedy import Greedy, Sample
from .oracle import ExchangeOracle


@dataclass(kw_only=True)
class EvenSearch(Search):
    """The state of a search whose master gives all vectors of a sample about equal weights."""

    relaxation: ExchangeOracle
    best: tuple[Floats, Floats]
    goal: float
    sample: Sample
    name: str = "randomized response"
    each: int = 0  # vectors for each symbol, as far as there are so many

    def __post_init__(self) -> None:
        self.effort.value = efficiency(self.relaxation.true, *self.best)

    @property
    def value(self) -> float:
        """The efficiency of the best mixture so far."""
        return self.effort.value

    def solve(self) -> bool:
        """Balance the vectors, and find their best weights where that is worth its time."""
        true, sample, effort = self.relaxation.true, self.sample, self.effort
        made = sample.balanced(true) if len(sample.X) else None
        if made is not None and made[1] > self.value:
            self.best, effort.value, self.name = (sample.X, made[0]), made[1], "equal weights"
        many = self.each == FEW_OUTPUTS or (effort.endless and self.each > FEW_OUTPUTS)
        short = effort.endless or len(sample.X) ** 2 * true.size <= LARGEST_MIX
        if self.name == "equal weights" and (self.closed or many) and short and not effort.pause():
            self._mix()
        return True

    def _mix(self) -> None:
        """The best weights of the same rows, unless that fails."""
        X, q = self.best
        with contextlib.suppress(np.linalg.LinAlgError):
            loss = self.relaxation.problem.loss
            q = balance(X[:, 1:], mix(X[:, 1:], loss, self.goal / 10, q, self.effort).weights)
            value = efficiency(self.relaxation.true, X, q) if q.min() > 0 else 0.0
            if value > self.value:
                self.best, self.effort.value = (X, q), value


@dataclass
class SampleOracle:
    """Longer and longer samples, until vectors come up again and again."""

    greedy: Greedy
    lengths: Iterator[int] = field(default_factory=lambda: iter(OUTPUTS))

    def bound(self, search: EvenSearch) -> None:
        """None beyond what the relaxation proves."""

    def columns(self, search: EvenSearch) -> bool:
        """More vectors; False if there are enough."""
        sample, n = search.sample, search.relaxation.true.size
        search.each = next(self.lengths, 0)
        if not search.each or sample.total >= REPEATS * n:
            return False
        while len(sample.X) < search.each * n and sample.total < REPEATS * n and not search.effort.pause():
            sample.add(self.greedy.more(n // 2, search.effort))
        return True


def equal_weights(oracle: ExchangeOracle, simple: tuple[Floats, Floats], goal: float) -> Solution:
    """Vectors of nearly equal weights, as few as reach the goal; `simple` is what is left if time is up before."""
    search = EvenSearch(
        effort=oracle.effort,
        aim=NEARLY_ALL * goal,
        upper=oracle.upper,
        relaxation=oracle,
        best=simple,
        goal=goal,
        sample=Sample(oracle.true.size),
    )
    greedy = oracle.greedy(oracle.relaxed.covariance, oracle.relaxed.prices(oracle.problem), 0)
    why = generate(search, SampleOracle(greedy))
    why = search.effort.why if why is Why.EXHAUSTED else why  # more vectors would tell more
    stats = search.stats(search.sample.total, why)
    return mixture_of(oracle.true, *search.best, oracle.upper, oracle.relaxation, search.name, stats)
