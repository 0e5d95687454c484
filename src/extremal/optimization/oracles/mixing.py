"""Searches over a quadratic master, whichever oracle finds the lift vectors and proves the bound."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ..._common.types import Floats
from ...errors import SolverError
from ...model.proof import Certificate
from ..effort import Stats, Why
from ..generate import Search, Solution, generate
from ..masters.quadratic import SILENT, Mixture, mix, prune
from ..problem import QuadraticProblem, efficiency
from ..tuning import FEW_OUTPUTS, GAIN, IDLE, ROUNDS, SPARED


@dataclass(kw_only=True)
class QuadraticSearch(Search):
    """The state of a search over a quadratic master: rows of lifts less 1 and their best mixture.

    `true` has the loss to be proven, which the problem's may exceed a little; `simple` is always there.
    """

    problem: QuadraticProblem
    true: QuadraticProblem
    goal: float
    certificate: Certificate
    simple: tuple[Floats, Floats]
    rows: Floats = field(init=False)
    weights: Floats = field(init=False)  # to start from
    mixture: Mixture | None = None  # the last one that counts, of the rows `mixed`
    mixed: Floats = field(init=False)
    tried: int = 0
    most: int = 0  # rows that are kept

    def __post_init__(self) -> None:
        self.mixed = self.simple[0]
        self.effort.value, self.most = efficiency(self.true, *self.simple), FEW_OUTPUTS * self.true.size

    @property
    def value(self) -> float:
        """The efficiency of the best mixture so far."""
        return self.effort.value

    def begin(self, rows: Floats, weights: Floats, start: Floats | None) -> None:
        """The first rows, some of which mix to mean 0, and others worth trying."""
        if start is not None:
            rows, weights = np.concatenate([rows, start]), np.append(weights, np.zeros(len(start)))
        self.rows, self.weights = distinct(rows, weights)
        self.tried = len(self.rows)

    def solve(self) -> bool:
        """Mix the rows."""
        if self.last or self.effort.pause():
            return False
        try:
            found = mix(self.rows[:, 1:], self.problem.loss, self.goal / 10, self.weights, self.effort)
        except np.linalg.LinAlgError:  # masses too different for doubles: what was found before stands
            return False
        value = self.true.direct / float(np.sum(self.true.loss * found.inverse))
        if found.error > 1e-6 or (self.effort.pause() and value < self.value):
            return False
        self.mixture, self.mixed, self.effort.value = found, self.rows, value
        return True

    def offer(self, upper: float, certificate: Certificate) -> None:
        """A bound on the efficiency, and its proof."""
        if upper < self.upper:
            self.upper, self.certificate = upper, certificate

    def add(self, new: Floats) -> None:
        """Keep the rows that tell most, and add new ones."""
        mixture = self.mixture
        assert mixture is not None
        self.tried += len(new)
        kept = np.sort(np.argsort(-mixture.told, kind="stable")[: self.most])
        kept = kept[mixture.told[kept] > SILENT]
        rows = np.concatenate([self.rows[kept], new])
        self.rows, self.weights = distinct(rows, np.append(mixture.weights[kept], np.zeros(len(new))))

    def pruned(self) -> tuple[Floats, Floats] | None:
        """Few rows and their weights; None if there are none whose weights balance them."""
        if self.mixture is None:
            return None
        gap = self.upper / self.value - 1
        # The gap may grow to the goal for fewer outputs, and a little where it is missed.
        room = max(0.98 * self.goal - gap, 0.2 * (self.goal - gap))
        allowed = room if room > 0 else min(gap / 10, SPARED)
        with contextlib.suppress(np.linalg.LinAlgError, SolverError):
            return prune(self.problem, self.mixed, self.mixture, allowed, self.effort)
        return None


class MixingOracle(ABC):
    """Where lift vectors less 1 come from, and what is proven about all of them."""

    before = 0.0  # the value a round ago
    stalled = False  # whether the last round gained little
    thorough = False  # whether the last bound was one that takes long
    idle = 0  # rounds that gained next to nothing, beyond the usual number of them

    @property
    @abstractmethod
    def name(self) -> str:
        """How lift vectors are found."""

    @abstractmethod
    def first(self) -> tuple[Floats, Floats]:
        """Vectors to begin with, and weights that balance them."""

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
        slow = search.rounds > ROUNDS and gained <= GAIN * search.value and search.upper == upper
        self.idle = self.idle + 1 if slow else 0

    def columns(self, search: QuadraticSearch) -> bool:
        """New rows, unless nothing more is to be expected."""
        assert search.mixture is not None
        if (self.exhausted and self.stalled) or self.idle >= IDLE:
            return False
        search.most += search.true.size if self.stalled else 0
        search.add(self.more(search.mixture, search.rounds, self.thorough))
        return True


def search_mixtures(search: QuadraticSearch, oracle: MixingOracle, start: Floats | None = None) -> Solution:
    """Mix the vectors so far and look for better ones, again and again; then drop those that tell little."""
    effort, true = search.effort, search.true
    least = search.value
    try:
        effort.tell(search.value, search.upper)
        search.begin(*oracle.first(), start)
        why = generate(search, oracle)
        made = search.pruned()
    except KeyboardInterrupt:
        effort.interrupted, why = True, Why.INTERRUPTED
        made = search.pruned()
    if effort.interrupted or effort.stopped:
        why = effort.why
    stats, name = search.stats(search.tried, why), oracle.name
    if made is None or efficiency(true, *made) < least:
        made, name = search.simple, "randomized response"
    return mixture_of(true, *made, search.upper, search.certificate, name, stats)


def distinct(X: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Equal rows merged."""
    rows, place = np.unique(X, axis=0, return_inverse=True)
    return rows, np.bincount(place.ravel(), weights=weights).astype(np.float64)


def mixture_of(
    problem: QuadraticProblem,
    X: Floats,
    q: Floats,
    upper: float,
    certificate: Certificate,
    name: str,
    stats: Stats,
) -> Solution:
    """What was found, for the sorted and merged symbols: lifts are less 1."""
    value = efficiency(problem, X, q)
    return Solution(X, q, value, upper, stats=stats, certificate=certificate, method=name)
