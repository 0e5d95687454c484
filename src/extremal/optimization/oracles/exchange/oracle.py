"""Where lift vectors come from: a list of all where there are few, else local search after what is still missing.

For hundreds of symbols they need no program for their weights. Each vector is chosen where those before leave the
estimates worst (`greedy.py`), so that equal weights are within a few percent of the best: 3 N vectors lose about 5 %,
half as much with every half more. Vectors that come up again, such as those that tell one likely symbol, weigh more. A
last step balances the weights exactly. Where it does not take too long, the best weights are then found.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...._common.types import Floats
from ....model.purpose import QuadraticProof
from ....theory.lift_vectors import arc_columns
from ... import tuning
from ...effort import Effort, Why
from ...generate import Search, Solution, generate
from ...masters.quadratic import MixingOracle, Mixture, QuadraticSearch, balance, mix, mixture_of
from ...reductions import QuadraticProblem, efficiency
from ...tuning import FEW_OUTPUTS, LARGEST_MIX, NEARLY_ALL, OUTPUTS, REPEATS
from .bounds import Listed, Relaxation, efficiency_bound, most_by_entries, relax
from .greedy import Greedy, Sample, draw


@dataclass(eq=False)
class ExchangeOracle(MixingOracle):
    """Finds lift vectors less 1 by local search, and in the list of all where it is short; proves bounds.

    `true` has the loss to be proven, which the problem's may exceed a little; `upper` is what the relaxation proves.
    """

    problem: QuadraticProblem
    true: QuadraticProblem
    relaxed: Relaxation
    upper: float
    listed: Listed | None
    effort: Effort
    goal: float = 0.01
    aim: float = 0.007  # a gap so far below the goal leaves room for fewer outputs
    _gaps: list[float] = field(default_factory=list, repr=False)  # after each round
    _drawn: list[Floats] = field(
        default_factory=list, repr=False
    )  # the last ones mixed, and those to be mixed next
    _work: float = 0.0  # multiplications of one step of the program in each round

    @property
    def name(self) -> str:
        """How lift vectors are found."""
        return "local search" if self.listed is None else "all lift vectors"

    def little(self, value: float, upper: float) -> float:
        """A round that gains less has stalled."""
        return 0.1 * (upper - value)

    def first(self) -> tuple[Floats, Floats]:
        """Vectors to begin with, and weights that balance them."""
        n, y = self.problem.size, self.relaxed.prices(self.problem)
        if self.listed is not None:
            self.listed.join(self.relaxed.W, y)
        greedy = self.greedy(self.relaxed.covariance, y, 0)
        if n > tuning.DRAWN_FROM:
            few = n <= tuning.WIDEST
            self._drawn = draw(self.problem, greedy, self.upper, self.listed, self.goal, few, self.effort)
            searched = self._drawn[0]
        else:
            searched = greedy.more(3 * n, self.effort)
        X, q = _balanced(self.problem)
        return np.concatenate([X, searched]), np.append(q, np.zeros(len(searched)))

    @property
    def short(self) -> bool:
        """Whether the list of all is short enough to go through in every round."""
        return self.listed is not None and self.listed.count <= tuning.SHORT_LIST

    def more(self, mixture: Mixture, round_: int, thorough: bool) -> Floats:
        """Vectors that would improve a mixture; with those of the list of all if it is to be gone through."""
        if len(self._drawn) > 1:
            self._drawn.pop(0)
            return self._drawn[0]
        n = self.problem.size
        C = np.asarray(np.linalg.inv(mixture.inverse), dtype=np.float64)
        every = thorough and self.listed is not None and self.listed.few
        drawn = (
            n > tuning.DRAWN_FROM
        )  # the best of a long list are much alike: those of a wide search tell more
        wide = thorough and n <= tuning.WIDEST and (drawn or not every)
        greedy = self.greedy(C, np.append(0.0, mixture.y), round_ + 1)
        found = greedy.more(2 * n * (tuning.WIDE if wide else 1), self.effort)
        if wide:
            found = _best(mixture, found, 4 * n)
        if n > tuning.WIDEST:  # drawn vectors are many, and none of them tells much
            found = np.concatenate([found, *self._drawn])
        if self.listed is None or not every:
            return found
        best = self.listed.top(*mixture.whole, n if drawn else 4 * n)
        return np.concatenate([found, best])

    @property
    def exhausted(self) -> bool:
        """Whether the goal, or below it the aim, is out of reach at the rate of the last round, and all of them have
        taken long. Up to WIDEST symbols the goal is not given up, and without a limit on work neither is."""
        if len(self._gaps) < 2 or self.effort.endless:
            return False
        before, gap = self._gaps[-2:]
        if gap <= self.goal:
            return self._work > tuning.SOME_MIXED and tuning.ROUNDS_TO_AIM * (before - gap) < gap - self.aim
        many = self.problem.size > tuning.WIDEST
        return (
            many
            and self._work > tuning.MUCH_MIXED
            and tuning.ROUNDS_TO_GOAL * (before - gap) < gap - self.goal
        )

    def prove(self, search: QuadraticSearch, mixture: Mixture, thorough: bool) -> None:
        """By the relaxation, or over all vectors by what prices them."""
        n, rows = self.problem.size, len(search.rows)
        if self.listed is not None and thorough:
            self.listed.join(*mixture.whole)
        upper = self.upper
        if self.listed is not None and self.listed.best is not None and self.listed.best.upper < upper:
            best = self.listed.best
            upper = best.upper
            search.offer(upper, QuadraticProof(best.W, best.y))
        self._work += rows**2 * (rows / 3 + 4 * n)
        self._gaps.append(upper * float(np.sum(self.true.loss * mixture.inverse)) / self.true.direct - 1)

    @property
    def relaxation(self) -> QuadraticProof:
        """What proves `upper`."""
        W, d = self.relaxed.W, self.relaxed.d
        return QuadraticProof(W if np.count_nonzero(W - np.diag(d)) else d)

    def greedy(self, C: Floats, y: Floats, seed: int) -> Greedy:
        """Vertices one after another, which begin with the covariance C and the prices y."""
        sweeps = tuning.SWEEPS if self.problem.size <= tuning.EQUAL_WEIGHTS_FROM else tuning.FEW_SWEEPS
        return Greedy(self.problem, C, y, self.relaxed.d, sweeps, seed)


def make_oracle(
    problem: QuadraticProblem,
    true: QuadraticProblem,
    rounds: int,
    effort: Effort,
    goal: float = 0.01,
    aim: float = 0.007,
) -> ExchangeOracle:
    """Where lift vectors come from, after so many rounds on the bound of the relaxation."""
    listed = Listed.of(true, tuning.VERTICES_LISTED) if problem.size <= tuning.EQUAL_WEIGHTS_FROM else None
    if problem.size <= tuning.DRAWN_FROM and listed is not None and listed.count <= tuning.SHORT_LIST:
        rounds = 0  # going through the list will prove more
    relaxed = relax(problem, rounds, effort)
    upper = efficiency_bound(true, relaxed.W, most_by_entries(true, relaxed.W))
    return ExchangeOracle(problem, true, relaxed, upper, listed, effort, goal, aim)


def _best(mixture: Mixture, X: Floats, count: int) -> Floats:
    """So many of the vectors that would improve a mixture most."""
    V = X[:, 1:]
    gain = np.einsum("ki,ki->k", V @ mixture.W - mixture.y, V)
    return np.asarray(X[np.argsort(-gain, kind="stable")[:count]])


def _balanced(problem: QuadraticProblem) -> tuple[Floats, Floats]:
    """Lift vectors less 1 of the arc mechanism, and its output distribution, which balances them.

    Beyond HEAVY symbols the lighter ones share lifts in blocks of BLOCK, so that there are not too many vectors; those
    that fill a block in part are no vertices. At levels so low that no vector rules out a block, or so high that none
    could hold the lightest mass, there are no blocks.
    """
    n, excess = problem.size, problem.excess
    blocks = np.append(
        np.arange(min(n, tuning.HEAVY)), tuning.HEAVY + np.arange(max(n - tuning.HEAVY, 0)) // tuning.BLOCK
    )
    mass = np.bincount(blocks, weights=problem.pi).astype(np.float64)
    if n > tuning.HEAVY and not (
        mass[tuning.HEAVY :].max() * (1 + 1 / excess) <= 1 and mass.min() * (1 + excess) <= 1
    ):
        blocks, mass = np.arange(n), problem.pi
    columns = arc_columns(mass, 0.0, 1 + problem.excess)
    X = np.where(columns.high <= columns.lifts().T, problem.excess, -1.0)
    rows = np.arange(len(X))
    full, empty = columns.rest >= columns.high, columns.rest <= 0
    X[rows, columns.partial] = 0.0
    rest = -(X @ mass) / mass[columns.partial]
    X[rows, columns.partial] = np.where(full, problem.excess, np.where(empty, -1.0, rest))
    return X[:, blocks], columns.weights


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
