"""Column generation over a set of priors for f-information: columns and bounds by `nested`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ...._common.types import Floats, Ints
from ....model.prior_set import PriorSet
from ....model.utility import FInformation
from ...effort import Budget
from ...generate import Run, Solution, generate, relative_gap
from ...masters.alike import alike
from ...problem import Task
from ...reductions.merging import merge
from ..knapsack.separable import Separable
from .pricing import NestedPricer, Priced
from .program import Columns, started
from .vertices import nested_sets

MERGED = 60  # symbols from which small ones are merged
BLOCKS = 40
LITTLE = (1e-4, 1e-3)  # mass that columns leave where upper bounds decide
TOO_MANY = 0.7  # blocks for each symbol
COARSE, FIRST = 50, 0.2  # blocks of a start, and its share of the budget
SHARE = 0.4  # of the budget for columns of blocks
PROOF = 0.3  # of what is left for each bound over all symbols
CLOSE = 1e-4  # gap up to which blocks are good enough

STARTS = 40  # columns in use, and random ones, that local search starts from
INNER, INMOST = 0.7, 0.99  # how far prices are moved towards those of the best bound, at least and at most
PATIENCE = 5  # searches at such prices that close next to nothing
FAR = 1e-2  # the gap down to which they are
FEW, MANY = 2e5, 3e7  # symbols looked at by branch and bound: for prices that change anyway, and for a proof
MORE = 4  # times as many when that is not enough
SEEDS = 8  # local searches at the prices of a start
EFFECT = 0.05  # of the gap that a search must close
RESERVE = 0.15  # of the budget, for a last proof
HALF = 0.5  # of what is possible: a column that gains this much is worth a new program


def separable_generation(
    task: Task, utility: FInformation, priors: PriorSet, c: float, budget: Budget
) -> Solution:
    """The optimum up to the tolerance, or as near as the budget allows; large alphabets are merged first."""
    merged = alike(priors).max() + 1 >= MERGED
    return (_merged if merged else _whole)(task, utility, priors, c, budget)


def _merged(task: Task, utility: FInformation, priors: PriorSet, c: float, budget: Budget) -> Solution:
    """Small symbols share their lifts; what is proven is proven for all symbols.

    The blocks of a set of priors have a set of the same kind, see PriorSet.merged, and an f-information depends on a
    block only through its mass. The dual vector is split and priced anew: as the symbols of a block differ, first by
    interpolation, then in proportion to mass.
    """
    pi = priors.nominal.probabilities
    for held in _held(priors, c):
        block = merge(Separable(pi, utility.f, 0.0, min(1 / held, 1 / float(pi.min()))), BLOCKS)
        if block.max() < TOO_MANY * priors.size:
            break
    else:
        return _refined(task, utility, priors, c, budget)
    small = priors.merged(block)
    solution = _whole(task, utility, small, c, budget.part(SHARE))
    blocks = small.nominal.probabilities
    pricer = NestedPricer(priors, c, utility.f)
    start = Start(solution.lifts[:, block])
    assert solution.multipliers is not None
    for y in (
        _interpolated(solution.multipliers, block, pi),
        solution.multipliers[block] * pi / blocks[block],
    ):
        target = solution.value * (1 + 0.3 * task.tolerance) - math.fsum(y)
        priced = pricer.price(y, target, HALF, budget.part(PROOF))
        start = replace(start, lifts=np.concatenate((start.lifts, priced.lifts)))
        if math.fsum(y) + priced.bound < start.upper:
            start = replace(start, prices=y, upper=math.fsum(y) + priced.bound, dual=y + priced.bound * pi)
        if relative_gap(solution.value, start.upper) <= task.tolerance:
            break
    if relative_gap(solution.value, start.upper) > CLOSE:  # blocks are too coarse: go on without them
        return _whole(task, utility, priors, c, budget, start)
    stats = replace(solution.stats, stopped=budget.stopped)
    return replace(solution, lifts=solution.lifts[:, block], upper=start.upper, dual=start.dual, stats=stats)


def _held(priors: PriorSet, c: float) -> tuple[float, ...]:
    """About the mass that a column of one level holds: blocks are a part of that, and of what it leaves.

    Where that is less clear, several, the one of the smallest blocks first.
    """
    ball = 1 / c + priors.radius / 2
    if ball < 1:
        # Where lower bounds suffice, they do with less, but for symbols that hold more than that alone.
        suffice = math.fsum(priors.lower) >= 1 / c
        steepest = float(np.max(priors.lower / priors.nominal.probabilities))
        return (min(ball, 1 / (c * steepest)) if suffice else ball,)
    # Upper bounds say what a column leaves: many times the mass of rare symbols, so that columns leave little of it.
    return tuple(1 - little for little in LITTLE) if (priors.upper < 1).any() else (1 / c,)


def _refined(task: Task, utility: FInformation, priors: PriorSet, c: float, budget: Budget) -> Solution:
    """Columns hold or leave few symbols, and blocks of them are too coarse: their columns and prices are a start."""
    pi = priors.nominal.probabilities
    block = np.empty(priors.size, dtype=np.int64)
    block[np.argsort(-pi, kind="stable")] = np.arange(priors.size) * COARSE // priors.size
    coarse = _whole(task, utility, priors.merged(block), c, budget.part(FIRST))
    assert coarse.multipliers is not None
    start = Start(coarse.lifts[:, block], _interpolated(coarse.multipliers, block, pi))
    return _whole(task, utility, priors, c, budget, start)


@dataclass(frozen=True)
class Start:
    """Columns, prices near which the last ones are looked for, and what is proven so far."""

    lifts: Floats
    prices: Floats | None = None
    upper: float = math.inf
    dual: Floats | None = None


def _interpolated(vector: Floats, block: Ints, pi: Floats) -> Floats:
    """Prices of symbols from those of blocks: by mass they change with the logarithm of the mass, without steps."""
    blocks, sizes = np.bincount(block, weights=pi), np.bincount(block)
    order = np.argsort(blocks / sizes, kind="stable")
    at, by_mass = np.log(blocks / sizes)[order], (vector / blocks)[order]
    return np.asarray(pi * np.interp(np.log(pi), at, by_mass))


def _whole(
    task: Task, utility: FInformation, priors: PriorSet, c: float, budget: Budget, start: Start | None = None
) -> Solution:
    pi = priors.nominal.probabilities

    def mu(lifts: Floats) -> Floats:
        return np.asarray(utility.f(lifts) @ pi, dtype=np.float64)

    search = NestedSearch(NestedPricer(priors, c, utility.f))
    run = started(task, priors, c, mu, search.known, budget)
    search.reserve = 0.0 if math.isinf(budget.left) else RESERVE * budget.left
    if start is not None:
        search.first, run.upper, run.dual = start.prices, start.upper, start.dual
        search.known.add(run, start.lifts)
    return generate(run, search)


@dataclass
class NestedSearch:
    """Where columns and bounds for an f-information come from."""

    pricer: NestedPricer
    known: Columns = field(default_factory=Columns)
    first: Floats | None = None  # prices to begin with
    most: float = MANY  # symbols that a proof may look at
    inner: float = INNER
    reserve: float = 0.0  # work that is kept for a last proof
    seeded: bool = False
    idle: int = 0  # searches between prices that ended without effect
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def few(self) -> float:
        """Symbols that a search at prices between others may look at."""
        return FEW * max(self.pricer.priors.size, 10)

    def bound(self, run: Run) -> None:
        """At first, the largest utility of a column: no mechanism has more. Prices to begin with may prove less."""
        if run.dual is None:
            self._priced(run, np.zeros(len(run.pi)) if self.first is None else self.first, self.few)

    def columns(self, run: Run) -> int:
        """Columns at prices between those of the program and those of the best bound, else at the former alone.

        Prices of a program with few columns are far from the last ones; those in between are nearer (Wentges,
        *Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming*, 1997).
        """
        if self.first is not None and not self.seeded:  # columns that keep prices near the first ones
            self.seeded = True
            found = sum(self.known.add(run, self._rising(run, self.first)) for _ in range(SEEDS))
            if found:
                return found
        y = run.solution.dual
        if run.budget.left < self.reserve:  # whatever columns there are: time for a proof
            self.reserve = 0.0
            return self._good(run, self._priced(run, y, math.inf).lifts)
        if (
            run.dual is not None
            and relative_gap(run.solution.value, run.upper) > FAR
            and self.idle <= PATIENCE
        ):
            found = self._between(run, y)
            if found or run.budget.over:
                return found
        found = self._good(run, self._rising(run, y))
        while not (found or run.closed or run.budget.over):
            priced = self._priced(run, y, self.most)
            found = self._good(run, priced.lifts)
            if priced.nodes < self.most:  # no more would help
                break
            if not found:
                self.most *= MORE
        return found

    def _between(self, run: Run, y: Floats) -> int:
        """Columns at prices between y and those of the best bound.

        If these prove nothing new, y is far from the last prices, and the next ones are taken nearer to the bound's. If
        searches end several times before anything is proven, that is not the way.
        """
        assert run.dual is not None
        between, before = self.inner * run.dual + (1 - self.inner) * y, run.upper
        found = self._good(run, self._rising(run, between))
        priced = self._priced(run, between, self.few)
        found += self._good(run, priced.lifts)
        better = before - run.upper > EFFECT * (before - run.solution.value)
        self.idle = 0 if better else self.idle + (priced.nodes >= self.few)
        self.inner = 1 - (1 - self.inner) / 2 if run.upper >= before else max(self.inner - 0.1, INNER)
        if self.inner > INMOST or not found:
            self.inner = INNER
        return found

    def _priced(self, run: Run, y: Floats, most: float) -> Priced:
        """What branch and bound finds at prices y; its bound is offered."""
        target = run.solution.value + run.worth(0.3) - math.fsum(y)
        priced = self.pricer.price(y, target, HALF, run.budget, most)
        run.nodes += priced.nodes
        run.offer(y, priced.bound)
        return priced

    def _rising(self, run: Run, y: Floats) -> Floats:
        """Columns by local search, from columns in use and from random ones."""
        n, few = len(run.pi), min(len(run.pi), STARTS)
        used = run.master.columns[np.argsort(-run.solution.weights, kind="stable")[:few]]
        inner, outer = nested_sets(used)
        random = self.rng.random((few, n)) < self.rng.random((few, 1))
        random[np.arange(few), self.rng.integers(n, size=few)] = True
        more = random | (self.rng.random((few, n)) < self.rng.random((few, 1)))
        return self.pricer.rise(y, np.concatenate((inner, random)), np.concatenate((outer, more)), run.budget)

    def _good(self, run: Run, lifts: Floats) -> int:
        """Add the columns that gain something."""
        if not len(lifts):
            return 0
        values = run.mu(lifts) - lifts @ run.solution.dual
        return self.known.add(run, lifts[values > max(run.worth(0.1), 0.05 * float(values.max()))])
