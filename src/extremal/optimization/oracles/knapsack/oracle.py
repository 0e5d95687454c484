"""Column generation for separable utilities: columns by large-neighbourhood search, then by exact pricing.

Exact pricing also proves the bound: a table of all vertices up to 18 symbols, branch and bound up to 36, dynamic
programming for priors from counts, chords for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...._common.types import Floats
from ....theory.arc import arc_columns
from ...effort import CELL, SPEED, TRY, Budget
from ...generate import Run, Solution, clean_interrupts, generate
from ...masters.classes import ClassMaster
from ...masters.linear import Master
from ...watch import Progress
from .separable import Lattice, Priced, Separable, integer_counts
from .vertex_table import VertexTable, vertex_table

SEARCHED = 300  # symbols up to which branch and bound is worth starting
EXHAUSTIVE = 36  # symbols up to which branch and bound is run to its end
NODES = 20_000_000  # for each partial symbol, up to there
FEW_NODES = 200_000  # for each partial symbol, at first and beyond: some columns and a bound, not a proof
MANY = 200  # columns to find for each partial symbol when two are not enough
STALL = 20  # rounds
MERGED = 0.8  # classes for each symbol, up to which equal symbols share a row
ROUNDED = 1e-12  # of f: smaller utilities are rounding
SMALL = 20  # symbols up to which exact pricing finds columns faster than search


def column_generation(
    problem: Separable,
    tolerance: float,
    budget: Budget,
    start: Floats | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The optimum for a separable utility up to a relative gap of `tolerance`, with the gap reached."""
    counts = integer_counts(problem.pi) if problem.size > SMALL else None
    pricer = Exact(
        problem,
        patience=1 if problem.size <= EXHAUSTIVE else 2 if problem.size <= SEARCHED else 8,
        lattice=None if counts is None else Lattice(problem, counts),
        vertices=vertex_table(problem),
    )
    return generate(_prepared(problem, tolerance, budget, start, progress), pricer)


def chord_generation(
    problem: Separable, tolerance: float, budget: Budget, progress: Progress | None = None
) -> Solution:
    """The same without exact pricing: its bound is by chords alone and holds for any finer prior, see `merging`."""
    return generate(_prepared(problem, tolerance, budget, None, progress), Search(problem, patience=8))


def _prepared(
    problem: Separable,
    tolerance: float,
    budget: Budget,
    start: Floats | None,
    progress: Progress | None,
) -> Run:
    """A feasible master program and the analytic bound."""
    n, pi = problem.size, problem.pi
    with clean_interrupts():
        dual = problem.analytic_dual()
        upper = math.fsum(dual)
        # Where the utility vanishes, what rounding left of it is no scale.
        scale = max(upper, ROUNDED * max(map(abs, problem.ends)), 1e-300)
        run = Run(pi, problem.mu, _master(problem, scale), tolerance, budget, progress, upper, dual)
        rng = np.random.default_rng(0)
        shuffles = 2 if n <= 300 else 0
        for order in (np.argsort(-pi, kind="stable"), *(rng.permutation(n) for _ in range(shuffles))):
            arcs = arc_columns(pi[order], problem.low, problem.high)
            lifts = np.empty((arcs.outputs, n))
            lifts[:, order] = arcs.lifts().T
            run.known = run.known or (lifts, arcs.weights)
            run.add(problem.rounded_alike(lifts))
        if start is not None and len(start):
            run.add(problem.rounded_alike(start))
        elif n > SMALL:
            run.add(_search(run, problem, dual, 3 * len(run.master.pi), 16, 0)[0])
    return run


def _master(problem: Separable, scale: float) -> Master:
    """The master program, over classes of equal symbols if that makes it smaller."""
    if problem.twins is None or problem.kinds > MERGED * problem.size:
        return Master(problem.pi, problem.low, problem.high, scale)
    return ClassMaster(problem.pi, problem.low, problem.high, scale, problem.twins)


def _search(
    run: Run, problem: Separable, y: Floats, tries: int, free: int, seed: int
) -> tuple[Floats, Floats]:
    """Columns by large-neighbourhood search, and their reduced values; fewer tries if time is short."""
    cost = TRY * 2.0 ** ((free - 14) / 2)
    tries = int(min(tries, 1 + max(run.budget.seconds, 0.0) * SPEED / cost))
    run.budget.spend(tries * cost)
    return problem.explore(y, tries, free, seed)


@dataclass
class Search:
    """Bounds by chords and columns by large-neighbourhood search, until the last rounds close next to nothing."""

    problem: Separable
    patience: int  # how far effort may grow before the search gives up
    effort: int = 1
    values: list[float] = field(default_factory=list)

    def bound(self, run: Run) -> None:
        """By chords."""
        run.offer(run.solution.dual, self.problem.chord_bound(run.solution.dual))

    def columns(self, run: Run) -> int:
        """New columns by search, 0 if it finds none worth having or goes on in vain."""
        self.values.append(run.solution.value)
        if len(self.values) > STALL:
            closed = run.solution.value - self.values[-STALL - 1]
            if closed < 0.1 * (run.upper - run.solution.value):
                return 0
        return self.search(run)

    def search(self, run: Run) -> int:
        """New columns by search; 0 if it finds none worth having."""
        if self.problem.size <= SMALL:
            return 0
        rows, worth = max(len(run.master.pi), 50), run.worth(0.1)
        while True:
            free = 14 + 2 * int(math.log2(self.effort))
            lifts, reduced = _search(
                run, self.problem, run.solution.dual, self.effort * rows, free, run.rounds
            )
            found = run.add(lifts[reduced > max(worth, 0.05 * reduced.max(initial=0.0))])
            if found or run.budget.over or self.effort >= self.patience:
                return found
            self.effort *= 2


@dataclass
class Exact(Search):
    """The same, and exact pricing where the search finds nothing more."""

    lattice: Lattice | None = None
    vertices: VertexTable | None = None
    most_nodes: int = FEW_NODES

    def bound(self, run: Run) -> None:
        """By chords, unless there is a table of vertices, which proves more."""
        if self.vertices is None:
            super().bound(run)

    def columns(self, run: Run) -> int:
        """New columns by search, else by exact pricing, which also proves a bound; 0 if there are none."""
        return self.search(run) or self._exhaust(run)

    def _exhaust(self, run: Run) -> int:
        problem, y = self.problem, run.solution.dual
        target = run.worth(0.3)
        # Columns close to the best are enough to make progress, and are found much faster than all above the target.
        threshold = target if self.vertices is not None else max(target, 0.25 * problem.chord_bound(y))
        each = 5 if self.vertices is not None else 2
        while True:
            priced = self._price(run, y, threshold, each)
            run.nodes += priced.nodes
            if problem.size <= EXHAUSTIVE and priced.nodes > problem.size * self.most_nodes / 4:
                self.most_nodes = min(2 * self.most_nodes, NODES)  # most searches were cut short
            run.offer(y, priced.bound)
            found = run.add(problem.lifts(priced.full, priced.partial))
            if found or run.closed or run.budget.over:
                return found
            if threshold > target:
                threshold = max(target, threshold / 8)
            elif priced.bound <= 1.01 * target:
                return 0
            elif each < problem.size <= EXHAUSTIVE:
                each = MANY  # columns in use may stand in the way: by its table f is larger than it is
            elif self.most_nodes < NODES:
                self.most_nodes *= 8  # the search was cut short
            else:
                return 0

    def _price(self, run: Run, y: Floats, threshold: float, each: int) -> Priced:
        """Exact pricing by whatever method proves most here."""
        problem, budget = self.problem, run.budget
        if self.vertices is not None:
            budget.spend(CELL * len(self.vertices.sets))
            return self.vertices.price(y, threshold, each)
        if self.lattice is not None and problem.size > 24:
            priced = self.lattice.price(y, threshold)
            budget.spend(CELL * priced.cells)
            return priced
        if problem.size > SEARCHED:
            return problem.exhaust(y, threshold, each, 1)
        most = int(min(self.most_nodes, 1 + budget.left / problem.size))
        # A search does not look at the clock, nor at the keyboard.
        in_time = max(budget.seconds, 0.0) * SPEED / problem.size
        priced = problem.exhaust(y, threshold, each, int(min(most, 1 + in_time)))
        if in_time < most and priced.nodes > in_time:
            budget.stop()  # without a time limit it might have found more
        budget.spend(priced.nodes)
        return priced
