"""Column generation over a set of priors for f-information: columns and bounds by `pricing`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ...._common.types import Floats, Ints
from ....model.lift_sets import SetLifts
from ....model.prior_set import PriorSet
from ....model.utility import Generator
from ... import tuning
from ...effort import Effort, Why
from ...generate import Solution, relative_gap
from ...masters.classes import ClassMaster
from ...masters.linear import CLOSED, LinearSearch, Master, Utilities
from ...set_levels import nested_sets
from ..knapsack.oracle import merge
from ..knapsack.separable import Separable
from .pricing import NestedPricer, PricedLifts


@dataclass
class Columns:
    """The columns of a program, so that none comes twice."""

    seen: set[bytes] = field(default_factory=set)

    def add(self, run: LinearSearch, lifts: Floats) -> int:
        """Add the columns that differ from all others by more than rounding and say how many did."""
        new = []
        for k, row in enumerate(np.round(lifts, 9) + 0.0):
            if row.tobytes() not in self.seen:
                self.seen.add(row.tobytes())
                new.append(k)
        return run.add(lifts[new])

    def add_good(self, run: LinearSearch, lifts: Floats) -> int:
        """Add those that gain something."""
        if not len(lifts):
            return 0
        values = run.mu(lifts) - lifts @ run.solution.dual
        return self.add(run, lifts[values > max(run.worth(0.1), 0.05 * float(values.max()))])


def started(
    lifts: SetLifts, mu: Utilities, columns: Columns, goal: float, effort: Effort, alike: bool
) -> LinearSearch:
    """A search with columns enough for a mechanism: each symbol raised alone, or lowered alone.

    With `alike` the program is one over classes of symbols that the set treats alike.
    """
    pi, n = lifts.prior.probabilities, lifts.priors.size
    alone = lifts.admissible(np.diag(1 / pi))
    scale = max(float(np.abs(mu(alone)).max()), 1e-300)
    high, classes = lifts.high, lifts.classes
    shared = alike and classes.max() + 1 < n
    master = ClassMaster(pi, 0.0, high, scale, classes) if shared else Master(pi, 0.0, high, scale)
    search = LinearSearch(effort=effort, aim=CLOSED * goal, pi=pi, mu=mu, master=master, tolerance=goal)
    columns.add(search, alone)
    columns.add(search, lifts.admissible(np.ones((n, n)) - np.eye(n)))
    return search


def separable_generation(f: Generator, lifts: SetLifts, goal: float, effort: Effort) -> Solution:
    """The optimum up to the goal, or as near as the effort allows; large alphabets are merged first."""
    merged = lifts.classes.max() + 1 >= tuning.MERGED_OVER_SETS
    return (_merged if merged else _whole)(f, lifts, goal, effort)


def _merged(f: Generator, lifts: SetLifts, goal: float, effort: Effort) -> Solution:
    """Small symbols share their lifts; what is proven is proven for all symbols.

    The blocks of a set of priors have a set of the same kind, see PriorSet.merged, and an f-information depends on a
    block only through its mass. The dual vector is split and priced anew: as the symbols of a block differ, first by
    interpolation, then in proportion to mass.
    """
    priors, pi = lifts.priors, lifts.prior.probabilities
    for held in _held(priors, lifts.c):
        block = merge(Separable(pi, f, 0.0, min(1 / held, 1 / float(pi.min()))), tuning.BLOCKS)
        if block.max() < tuning.TOO_MANY * priors.size:
            break
    else:
        return _refined(f, lifts, goal, effort)
    small = SetLifts(priors.merged(block), lifts.epsilon)
    solution = _whole(f, small, goal, effort.part(tuning.BLOCKS_SHARE))
    blocks = small.prior.probabilities
    pricer = NestedPricer(priors, lifts.c, f)
    start = Start(solution.lifts[:, block])
    assert solution.multipliers is not None
    for y in (
        _interpolated(solution.multipliers, block, pi),
        solution.multipliers[block] * pi / blocks[block],
    ):
        target = solution.value * (1 + 0.3 * goal) - math.fsum(y)
        priced = pricer.price(y, target, tuning.HALF, effort.part(tuning.PROOF_SHARE))
        start = replace(start, lifts=np.concatenate((start.lifts, priced.lifts)))
        if math.fsum(y) + priced.bound < start.upper:
            start = replace(start, prices=y, upper=math.fsum(y) + priced.bound, dual=y + priced.bound * pi)
        if relative_gap(solution.value, start.upper) <= goal:
            break
    if (
        relative_gap(solution.value, start.upper) > tuning.BLOCKS_ENOUGH
    ):  # blocks are too coarse: go on without them
        return _whole(f, lifts, goal, effort, start)
    stats = replace(solution.stats, why=Why.TIME) if effort.stopped else solution.stats
    return replace(solution, lifts=solution.lifts[:, block], upper=start.upper, proof=start.dual, stats=stats)


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
    return tuple(1 - little for little in tuning.LITTLE) if (priors.upper < 1).any() else (1 / c,)


def _refined(f: Generator, lifts: SetLifts, goal: float, effort: Effort) -> Solution:
    """Columns hold or leave few symbols, and blocks of them are too coarse: their columns and prices are a start."""
    priors, pi = lifts.priors, lifts.prior.probabilities
    block = np.empty(priors.size, dtype=np.int64)
    block[np.argsort(-pi, kind="stable")] = np.arange(priors.size) * tuning.COARSE_BLOCKS // priors.size
    coarse = _whole(f, SetLifts(priors.merged(block), lifts.epsilon), goal, effort.part(tuning.COARSE_SHARE))
    assert coarse.multipliers is not None
    start = Start(coarse.lifts[:, block], _interpolated(coarse.multipliers, block, pi))
    return _whole(f, lifts, goal, effort, start)


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
    return pi * np.interp(np.log(pi), at, by_mass)


def _whole(
    f: Generator, lifts: SetLifts, goal: float, effort: Effort, start: Start | None = None
) -> Solution:
    """Column generation over all symbols as they are."""
    pi = lifts.prior.probabilities

    def mu(columns: Floats) -> Floats:
        return f(columns) @ pi

    oracle = NestedOracle(NestedPricer(lifts.priors, lifts.c, f))
    search = started(lifts, mu, oracle.known, goal, effort, alike=True)
    oracle.reserve = 0.0 if math.isinf(effort.left) else tuning.RESERVE * effort.left
    if start is not None:
        oracle.first, search.upper, search.dual = start.prices, start.upper, start.dual
        oracle.known.add(search, start.lifts)
    return search.run(oracle)


@dataclass
class NestedOracle:
    """Where columns and bounds for an f-information come from."""

    pricer: NestedPricer
    known: Columns = field(default_factory=Columns)
    first: Floats | None = None  # prices to begin with
    most: float = tuning.MANY_LOOKED_AT  # symbols that a proof may look at
    inner: float = tuning.INNER
    reserve: float = 0.0  # work that is kept for a last proof
    seeded: bool = False
    idle: int = 0  # searches between prices that ended without effect
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def few(self) -> float:
        """Symbols that a search at prices between others may look at."""
        return tuning.FEW_LOOKED_AT * max(self.pricer.priors.size, 10)

    def bound(self, run: LinearSearch) -> None:
        """At first, the largest utility of a column: no mechanism has more. Prices to begin with may prove less."""
        if run.dual is None:
            self._priced(run, np.zeros(len(run.pi)) if self.first is None else self.first, self.few)

    def columns(self, run: LinearSearch) -> bool:
        """Add columns that gain something; False if there are none.

        They are found at prices between those of the program and those of the best bound, else at the former alone.
        Prices of a program with few columns are far from the last ones; those in between are nearer (Wentges,
        *Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming*, 1997).
        """
        if self.first is not None and not self.seeded:  # columns that keep prices near the first ones
            self.seeded = True
            found = sum(self.known.add(run, self._rising(run, self.first)) for _ in range(tuning.SEEDS))
            if found:
                return True
        y = run.solution.dual
        if run.effort.left < self.reserve:  # whatever columns there are: time for a proof
            self.reserve = 0.0
            return self.known.add_good(run, self._priced(run, y, math.inf).lifts) > 0
        if (
            run.dual is not None
            and relative_gap(run.solution.value, run.upper) > tuning.FAR
            and self.idle <= tuning.FUTILE
        ):
            found = self._between(run, y)
            if found or run.effort.over:
                return found > 0
        found = self.known.add_good(run, self._rising(run, y))
        while not (found or run.closed or run.effort.over):
            priced = self._priced(run, y, self.most)
            found = self.known.add_good(run, priced.lifts)
            if priced.nodes < self.most:  # no more would help
                break
            if not found:
                self.most *= tuning.MORE
        return found > 0

    def _between(self, run: LinearSearch, y: Floats) -> int:
        """Columns at prices between y and those of the best bound.

        If these prove nothing new, y is far from the last prices, and the next ones are taken nearer to the bound's. If
        searches end several times before anything is proven, that is not the way.
        """
        assert run.dual is not None
        between, before = self.inner * run.dual + (1 - self.inner) * y, run.upper
        found = self.known.add_good(run, self._rising(run, between))
        priced = self._priced(run, between, self.few)
        found += self.known.add_good(run, priced.lifts)
        better = before - run.upper > tuning.EFFECT * (before - run.solution.value)
        self.idle = 0 if better else self.idle + (priced.nodes >= self.few)
        self.inner = 1 - (1 - self.inner) / 2 if run.upper >= before else max(self.inner - 0.1, tuning.INNER)
        if self.inner > tuning.INMOST or not found:
            self.inner = tuning.INNER
        return found

    def _priced(self, run: LinearSearch, y: Floats, most: float) -> PricedLifts:
        """What branch and bound finds at prices y; its bound is offered."""
        target = run.solution.value + run.worth(0.3) - math.fsum(y)
        priced = self.pricer.price(y, target, tuning.HALF, run.effort, most)
        run.nodes += priced.nodes
        run.offer(y, priced.bound)
        return priced

    def _rising(self, run: LinearSearch, y: Floats) -> Floats:
        """Columns by local search, from columns in use and from random ones."""
        n, few = len(run.pi), min(len(run.pi), tuning.STARTS)
        used = run.master.columns[np.argsort(-run.solution.weights, kind="stable")[:few]]
        inner, outer = nested_sets(used)
        random = self.rng.random((few, n)) < self.rng.random((few, 1))
        random[np.arange(few), self.rng.integers(n, size=few)] = True
        more = random | (self.rng.random((few, n)) < self.rng.random((few, 1)))
        return self.pricer.rise(y, np.concatenate((inner, random)), np.concatenate((outer, more)), run.effort)
