"""Column generation for separable utilities: columns by large-neighbourhood search, then by exact pricing.

Exact pricing also proves the bound: a table of all vertices up to 18 symbols, branch and bound up to 36, dynamic
programming for priors from counts, chords for all. For any other sub-linear utility, local search finds columns: good
solutions, nothing proven.

Large alphabets: merge small symbols, solve, and spread the solution over them again.

If symbols are merged into blocks that always share one lift, a mechanism for the merged prior is one for the full
prior with the same value (f-information depends on a block only through its mass). So the merged optimum is a lower
bound. It costs nothing in the bound either: a block that can be both full and empty has the same chord as each of its
symbols, so the dual vector of the merged problem, split in proportion to mass, has the same chord bound for the full
problem. What is lost is only how finely columns can be filled, and a block of a tiny mass takes care of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...._common.types import Floats, Ints
from ....model.levels import rounding
from ....theory.lift_vectors import arc_columns
from ... import tuning
from ...effort import Effort
from ...generate import Solution, clean_interrupts, relative_gap
from ...masters.classes import ClassMaster
from ...masters.linear import CLOSED, FINE, LinearSearch, Master, Utilities, scale
from ...tuning import EVALUATED, MOVES
from .separable import Lattice, PricedSets, Separable, VertexTable, integer_counts, vertex_table

ROUNDED = 1e-12  # of f: smaller utilities are rounding


def column_generation(
    problem: Separable, tolerance: float, effort: Effort, start: Floats | None = None
) -> Solution:
    """The optimum for a separable utility up to a relative gap of `tolerance`, with the gap reached."""
    counts = integer_counts(problem.pi) if problem.size > tuning.PRICED_AT_ONCE else None
    oracle = ExactOracle(
        problem,
        patience=1 if problem.size <= tuning.EXHAUSTIVE else 2 if problem.size <= tuning.SEARCHED else 8,
        lattice=None if counts is None else Lattice(problem, counts),
        vertices=vertex_table(problem),
    )
    return _prepared(problem, tolerance, effort, start).run(oracle)


def chord_generation(problem: Separable, tolerance: float, effort: Effort) -> Solution:
    """The same without exact pricing: its bound is by chords alone and holds for any finer prior."""
    return _prepared(problem, tolerance, effort, None).run(ChordOracle(problem, patience=8))


def _prepared(problem: Separable, tolerance: float, effort: Effort, start: Floats | None) -> LinearSearch:
    """A feasible master program and the analytic bound."""
    n, pi = problem.size, problem.pi
    with clean_interrupts():
        dual = problem.analytic_dual()
        upper = math.fsum(dual)
        # Where the utility vanishes, what rounding left of it is no scale.
        scale = max(upper, ROUNDED * max(map(abs, problem.ends)), 1e-300)
        search = LinearSearch(
            effort=effort,
            aim=CLOSED * tolerance,
            upper=upper,
            pi=pi,
            mu=problem.mu,
            master=_master(problem, scale),
            tolerance=tolerance,
            dual=dual,
        )
        rng = np.random.default_rng(0)
        shuffles = 2 if n <= 300 else 0
        for order in (np.argsort(-pi, kind="stable"), *(rng.permutation(n) for _ in range(shuffles))):
            arcs = arc_columns(pi[order], problem.low, problem.high)
            lifts = np.empty((arcs.outputs, n))
            lifts[:, order] = arcs.lifts().T
            search.known = search.known or (lifts, arcs.weights)
            search.add(problem.rounded_alike(lifts))
        if start is not None and len(start):
            search.add(problem.rounded_alike(start))
        elif n > tuning.PRICED_AT_ONCE:
            search.add(_explored(search, problem, dual, 3 * len(search.master.pi), 16, 0)[0])
    return search


def _master(problem: Separable, scale: float) -> Master:
    """The master program, over classes of equal symbols if that makes it smaller."""
    if problem.twins is None or problem.kinds > tuning.SHARED_ROWS * problem.size:
        return Master(problem.pi, problem.low, problem.high, scale)
    return ClassMaster(problem.pi, problem.low, problem.high, scale, problem.twins)


def _explored(
    run: LinearSearch, problem: Separable, y: Floats, tries: int, free: int, seed: int
) -> tuple[Floats, Floats]:
    """Columns by large-neighbourhood search, and their reduced values; fewer tries if time is short.

    They take half of it at most, so that some is left for a program and for what is done with its mechanism.
    """
    cost = tuning.TRY * 2.0 ** ((free - 14) / 2)
    tries = int(min(tries, 1 + max(run.effort.seconds, 0.0) / 2 * tuning.SPEED / (cost + problem.size)))
    run.effort.spend(tries * cost)
    return problem.explore(y, tries, free, seed)


@dataclass
class ChordOracle:
    """Bounds by chords and columns by large-neighbourhood search, until the last rounds close next to nothing."""

    problem: Separable
    patience: int  # how far breadth may grow before the search gives up
    breadth: int = 1
    values: list[float] = field(default_factory=list)

    def bound(self, run: LinearSearch) -> None:
        """By chords."""
        run.offer(run.solution.dual, self.problem.chord_bound(run.solution.dual))

    def columns(self, run: LinearSearch) -> bool:
        """New columns by search, unless it finds none worth having or goes on in vain."""
        self.values.append(run.solution.value)
        if len(self.values) > tuning.STALL:
            closed = run.solution.value - self.values[-tuning.STALL - 1]
            if closed < 0.1 * (run.upper - run.solution.value):
                return False
        return self.search(run) > 0

    def search(self, run: LinearSearch) -> int:
        """New columns by search; 0 if it finds none worth having."""
        if self.problem.size <= tuning.PRICED_AT_ONCE:
            return 0
        rows, worth = max(len(run.master.pi), 50), run.worth(0.1)
        while True:
            free = 14 + 2 * int(math.log2(self.breadth))
            lifts, reduced = _explored(
                run, self.problem, run.solution.dual, self.breadth * rows, free, run.rounds
            )
            found = run.add(lifts[reduced > max(worth, 0.05 * reduced.max(initial=0.0))])
            if found or run.effort.over or self.breadth >= self.patience:
                return found
            self.breadth *= 2


@dataclass
class ExactOracle(ChordOracle):
    """The same, and exact pricing where the search finds nothing more."""

    lattice: Lattice | None = None
    vertices: VertexTable | None = None
    most_nodes: int = tuning.FEW_NODES

    def bound(self, run: LinearSearch) -> None:
        """By chords, unless there is a table of vertices, which proves more."""
        if self.vertices is None:
            super().bound(run)

    def columns(self, run: LinearSearch) -> bool:
        """New columns by search, else by exact pricing, which also proves a bound."""
        return self.search(run) > 0 or self._exhaust(run) > 0

    def _exhaust(self, run: LinearSearch) -> int:
        problem, y = self.problem, run.solution.dual
        target = run.worth(0.3)
        # Columns close to the best are enough to make progress, and are found much faster than all above the target.
        threshold = target if self.vertices is not None else max(target, 0.25 * problem.chord_bound(y))
        each = 5 if self.vertices is not None else 2
        while True:
            priced = self._price(run, y, threshold, each)
            run.nodes += priced.nodes
            if problem.size <= tuning.EXHAUSTIVE and priced.nodes > problem.size * self.most_nodes / 4:
                # Most searches were cut short.
                self.most_nodes = min(2 * self.most_nodes, tuning.NODES_TO_THE_END)
            run.offer(y, priced.bound)
            found = run.add(problem.lifts(priced.full, priced.partial))
            if found or run.closed or run.effort.over:
                return found
            if threshold > target:
                threshold = max(target, threshold / 8)
            elif priced.bound <= 1.01 * target:
                return 0
            elif each < problem.size <= tuning.EXHAUSTIVE:
                # Columns in use may stand in the way: by its table f is larger than it is.
                each = tuning.MANY_COLUMNS
            elif self.most_nodes < tuning.NODES_TO_THE_END:
                self.most_nodes *= 8  # the search was cut short
            else:
                return 0

    def _price(self, run: LinearSearch, y: Floats, threshold: float, each: int) -> PricedSets:
        """Exact pricing by whatever method proves most here."""
        problem, effort = self.problem, run.effort
        if self.vertices is not None:
            effort.spend(tuning.CELL * len(self.vertices.sets))
            return self.vertices.price(y, threshold, each)
        if self.lattice is not None and problem.size > 24:
            priced = self.lattice.price(y, threshold)
            effort.spend(tuning.CELL * priced.cells)
            return priced
        if problem.size > tuning.SEARCHED:
            return problem.exhaust(y, threshold, each, 1)
        most = int(min(self.most_nodes, 1 + effort.left / problem.size))
        # A search does not look at the clock, nor at the keyboard.
        in_time = max(effort.seconds, 0.0) * tuning.SPEED / problem.size
        priced = problem.exhaust(y, threshold, each, int(min(most, 1 + in_time)))
        if in_time < most and priced.nodes > in_time:
            effort.stop()  # without a time limit it might have found more
        effort.spend(priced.nodes)
        return priced


def merge(problem: Separable, blocks: int) -> Ints:
    """The block of each symbol: large symbols alone, small ones together, in about as many blocks as asked for.

    Blocks of the smallest symbols hold a tiny mass and the next ones more and more: columns are filled exactly with
    the small ones. More blocks than asked for come out where columns hold or leave so little that blocks must be small.
    """
    share = (1 - problem.low) / (problem.high - problem.low)
    most = min(min(share, 1 - share) / tuning.BLOCK_PART, 1.3 / blocks)
    order = np.argsort(problem.pi, kind="stable")
    for growth in (1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0):
        block = _runs(problem.pi[order], most, growth)
        if block[-1] < blocks:
            break
    numbers = np.empty_like(block)
    numbers[order] = block
    return numbers


def _runs(ascending: Floats, most: float, growth: float) -> Ints:
    """Consecutive symbols of about equal total mass, the limit growing from block to block up to `most`."""
    block = np.empty(len(ascending), dtype=np.int64)
    limit, held, number = most / 2**24, 0.0, 0
    for i, p in enumerate(ascending.tolist()):
        if held > 0 and held + p > limit:
            number += 1
            held = 0.0
            limit = min(growth * limit, most)
        block[i] = number
        held += p
    return block


def solve_separable(problem: Separable, tolerance: float, effort: Effort) -> Solution:
    """The optimum up to `tolerance` or as near as the effort allows, by column generation on merged symbols first."""
    best: Solution | None = None
    for block in _mergers(problem):
        merged = problem.merged(block)
        part = effort.part(1 / 3 if problem.size <= tuning.MERGED_ONLY_FROM else 1)
        solution = _spread(problem, merged, block, chord_generation(merged, tolerance, part), tolerance)
        best = solution if best is None else _better(best, solution)
        if best.gap <= tolerance or best.stats.interrupted or effort.over:
            return best
    if best is not None and problem.size > tuning.MERGED_ONLY_FROM:
        return best
    whole = column_generation(problem, tolerance, effort, None if best is None else best.lifts)
    return whole if best is None else _better(best, whole)


def _mergers(problem: Separable) -> Iterator[Ints]:
    """The ways to merge symbols that are worth trying, the coarsest first."""
    last = np.zeros(0, dtype=np.int64)
    for blocks in tuning.BLOCKS_TRIED if _worth_merging(problem) else ():
        block = merge(problem, blocks)
        if block.max() + 1 > 0.9 * problem.size or np.array_equal(block, last):
            return
        yield block
        last = block


def _worth_merging(problem: Separable) -> bool:
    """Whether the alphabet is large, and not made of a few classes of equal symbols that the program treats as one.

    Spreading a solution over the symbols of classes takes a while, unless columns hold or leave few symbols.
    """
    share = (1 - problem.low) / (problem.high - problem.low)
    sparse = min(share, 1 - share) * problem.size <= tuning.SPARSE
    classes = problem.kinds <= problem.size / 4 and (sparse or problem.size <= tuning.MERGED_ONLY_FROM)
    return problem.size >= tuning.MERGED_FROM and not classes


def _spread(
    problem: Separable, merged: Separable, block: Ints, solution: Solution, tolerance: float
) -> Solution:
    """A solution of the merged problem as one of the full problem, its bound proven anew by chords."""
    upper, dual = math.inf, problem.analytic_dual()
    for vector in (solution.proof, solution.multipliers):
        if isinstance(vector, np.ndarray):
            y = problem.symmetric(vector[block] * problem.pi / merged.pi[block])
            delta = problem.chord_bound(y)
            if math.fsum(y) + delta < upper:
                upper, dual = math.fsum(y) + delta, y + delta * problem.pi
    counts = None if problem.kinds == 1 else integer_counts(problem.pi)
    if problem.kinds == 1 and problem.size <= tuning.EVEN and (even := problem.even_value()) < upper:
        upper, dual = even, even * problem.pi
    if counts is not None and relative_gap(solution.value, upper) > tolerance:
        # Whole counts cannot fill a column exactly, which chords do not see. The last y is that of the master program.
        target = max(solution.value * (1 + tolerance / 2) - math.fsum(y), 0.0)
        delta = Lattice(problem, counts).price(y, target, most=2e9).bound
        if math.fsum(y) + delta < upper:
            upper, dual = math.fsum(y) + delta, y + delta * problem.pi
    found = replace(solution, upper=upper, proof=dual)
    if problem.size > tuning.MERGED_ONLY_FROM:
        return replace(found, block=block)  # a matrix of all symbols may not fit into memory
    return replace(found, lifts=solution.lifts[:, block])


def _better(a: Solution, b: Solution) -> Solution:
    """The larger value with the smaller bound."""
    best = a if a.value > b.value else b
    bound = a if a.upper < b.upper else b
    return replace(best, upper=bound.upper, proof=bound.proof, stats=a.stats + b.stats)


WORTH = 1e-9  # of the value: columns that gain less are not worth having


def fill(pi: Floats, low: float, high: float, orders: NDArray[np.int64]) -> Floats:
    """For each order of the symbols the vertex that fills them in turn: high until the mean is reached, then low."""
    mass = pi[orders]
    before = np.cumsum(mass, axis=1) - mass
    room = (1 - low) / (high - low) if high > low else 0.0
    noise = rounding(math.log(high)) * room  # what rounding leaves of a symbol, or takes from it, is nothing
    left = np.where(np.abs(room - before) <= noise, 0.0, room - before)
    share = np.clip(np.where(np.abs(left - mass) <= noise, 1.0, left / mass), 0.0, 1.0)
    lifts = np.empty(share.shape)
    np.put_along_axis(lifts, orders, low + (high - low) * share, axis=1)
    return lifts


def heuristic_generation(
    pi: Floats,
    low: float,
    high: float,
    mu: Utilities,
    effort: Effort,
    patience: int = 12,
) -> Solution:
    """A good solution for any sub-linear mu, which takes columns as rows; nothing is proven about the optimum.

    Column generation with local search for columns: vertices are made by filling symbols in some order, and orders
    are improved by moving single symbols. Ends when `patience` searches in a row find nothing.
    """
    oracle = MovesOracle(patience)
    master = Master(pi, low, high, scale(pi, low, high, mu))
    run = LinearSearch(effort=effort, aim=CLOSED * FINE, pi=pi, mu=mu, master=master, tolerance=FINE)
    arcs = arc_columns(pi, low, high)
    run.known = (arcs.lifts().T, arcs.weights)
    run.add(run.known[0])
    run.add(fill(pi, low, high, np.argsort(oracle.rng.random((20 * len(pi), len(pi))), axis=1)))
    return run.run(oracle)


@dataclass
class MovesOracle:
    """Local search from the columns in use and from random ones."""

    patience: int
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def bound(self, run: LinearSearch) -> None:
        """None is known."""

    def columns(self, run: LinearSearch) -> bool:
        """New columns that gain something."""
        n, y = len(run.pi), run.solution.dual
        least = WORTH * max(abs(run.solution.value), 1e-300)
        for _ in range(self.patience):
            best = np.argsort(-run.solution.weights, kind="stable")[:n]
            orders = np.argsort(-run.master.lifts[best] + 1e-6 * self.rng.random((len(best), n)), axis=1)
            orders = np.concatenate((orders, np.argsort(self.rng.random((n, n)), axis=1)))
            lifts = self._climb(run, orders)
            run.effort.spend(MOVES * (EVALUATED * lifts.size))
            found = run.add(lifts[run.mu(lifts) - lifts @ y > least])
            if found or run.effort.over:
                return found > 0
        return False

    def _climb(self, run: LinearSearch, orders: Ints) -> Floats:
        """The vertices reached by moves of single symbols to the front, to the end or to another's place."""
        rng, (count, n) = self.rng, orders.shape
        low, high, y = run.master.low, run.master.high, run.solution.dual
        rows = np.arange(count)
        lifts = fill(run.pi, low, high, orders)
        value = run.mu(lifts) - lifts @ y
        for _ in range(MOVES):
            a, b = rng.integers(n, size=(2, count))
            b = np.where(rng.random(count) < 0.3, rng.choice([0, n - 1], size=count), b)
            tried = orders.copy()
            tried[rows, a], tried[rows, b] = orders[rows, b], orders[rows, a]
            others = fill(run.pi, low, high, tried)
            reduced = run.mu(others) - others @ y
            better = reduced > value
            orders[better], lifts[better], value[better] = tried[better], others[better], reduced[better]
        return lifts
