"""Theorem 5: the linear program over extremal lift vectors, by enumeration or by column generation.

maximise sum_v rho_v mu(v) subject to sum_v rho_v v = 1, rho >= 0, over the vertices v of the lift polytope. Its dual
is min sum(y) with y . v >= mu(v) for all v, and any y gives the bound U* <= sum(y) + max_v (mu(v) - y . v).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ..._types import Floats
from ...model.mechanism import Mechanism
from ...model.prior import Labels
from ...theory.arc import arc_columns
from ...theory.lift_vectors import lift_vertices
from .classes import ClassMaster
from .master import Master, MasterSolution
from .pricing import Lattice, Priced, Separable, integer_counts
from .vertex_table import VertexTable, vertex_table

Progress = Callable[[float, float], None]  # (value, upper bound)

SEARCHED = 300  # symbols up to which branch and bound is worth starting
EXHAUSTIVE = 36  # symbols up to which branch and bound is run to its end
NODES = 20_000_000  # for each partial symbol, up to there
MANY = 200  # columns to find for each partial symbol when two are not enough
STALL = 20  # rounds
EXACT = 1e-13  # errors of row sums that are left as they are
FINE = 1e-8  # tolerances below this need programs solved to full precision in every round
FEW_NODES = 200_000  # for each partial symbol, at first and beyond: some columns and a bound, not a proof
SPEED = 2e7  # nodes a second
MERGED = 0.8  # classes for each symbol, up to which equal symbols share a row


@dataclass(frozen=True)
class Solution:
    """Lift vectors in rows with their weights, the value, and a dual feasible vector whose sum bounds the optimum.

    upper is inf and dual None where nothing is proven. `multipliers` is the dual vector of the last master program: not
    feasible, but the natural candidate for a bound by other means.
    """

    lifts: Floats
    weights: Floats
    value: float
    upper: float
    dual: Floats | None
    rounds: int = 1
    columns: int = 0
    nodes: int = 0
    interrupted: bool = False
    multipliers: Floats | None = None

    @property
    def gap(self) -> float:
        """(upper - value) / |value|."""
        return relative_gap(self.value, self.upper)

    def mechanism(self, labels: Labels) -> Mechanism:
        """The mechanism of these columns; rows are divided by their sums, which rounding took away from 1."""
        P = self.lifts.T * self.weights
        return Mechanism(P / P.sum(axis=1, keepdims=True), labels)


def relative_gap(value: float, upper: float) -> float:
    """(upper - value) / |value|, 0 where both vanish."""
    if upper <= value:
        return 0.0
    return (upper - value) / abs(value) if value != 0 else math.inf


def enumerate_program(pi: Floats, low: float, high: float, mu: Callable[[Floats], Floats]) -> Solution:
    """The optimum over all vertices of the lift polytope (Algorithm 1 and Theorem 5); mu takes columns as rows."""
    master = Master(pi, low, high, scale(pi, low, high, mu))
    vertices = lift_vertices(pi, low, high)
    return listed_program(master, vertices, mu(vertices), mu)


def listed_program(master: Master, lifts: Floats, gains: Floats, mu: Callable[[Floats], Floats]) -> Solution:
    """The optimum over all columns of a list, rows of mean 1 and utility `gains`, by a master program without any."""
    master.add(lifts, gains)
    solution = master.refine(master.solve())
    used, weights = master.used(solution.weights)
    # Duals are feasible only up to rounding; shifting them by the largest violation makes them so.
    violation = max(float(np.max(gains - lifts @ solution.dual)), 0.0)
    dual = better_conditioned(solution.dual + violation * master.pi, master.pi, gains)
    value = float(mu(used) @ weights)
    return Solution(used, weights, value, max(math.fsum(dual), value), dual, columns=len(lifts))


def better_conditioned(dual: Floats, pi: Floats, gains: Floats) -> Floats:
    """The dual vector, or pi times the largest utility of a vertex, which is dual feasible too, if that proves more.

    It does where epsilon is so small that the differences between vertices drown in the rounding of their utilities.
    """
    flat = pi * float(gains.max())
    return flat if math.fsum(flat) < math.fsum(dual) else dual


@dataclass
class _Bound:
    """The best proven upper bound so far, with the dual vector that proves it."""

    upper: float
    dual: Floats

    def offer(self, y: Floats, delta: float, pi: Floats) -> None:
        """y with all reduced values at most delta."""
        upper = math.fsum(y) + delta
        if upper < self.upper:
            self.upper, self.dual = upper, y + delta * pi


@dataclass
class _Run:
    """The state of a column generation."""

    problem: Separable
    tolerance: float
    deadline: float
    master: Master
    bound: _Bound
    lattice: Lattice | None
    vertices: VertexTable | None
    progress: Progress | None
    rounds: int = 0
    nodes: int = 0
    effort: int = 1
    patience: int = 1  # how far effort may grow before exploration gives up
    most_nodes: int = FEW_NODES
    values: list[float] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def rows(self) -> int:
        """How many rows the master program has: one for each symbol, or for each class of equal ones."""
        return len(self.master.pi)

    def gap(self, value: float) -> float:
        return relative_gap(value, self.bound.upper)


def column_generation(
    problem: Separable,
    tolerance: float,
    time_limit: float = math.inf,
    start: Floats | None = None,
    progress: Progress | None = None,
    transferable: bool = False,
) -> Solution:
    """The optimum for a separable utility up to a relative gap of `tolerance`, with the gap reached.

    Columns come from large-neighbourhood search while that finds any, then from exact pricing, which also proves the
    bound: branch and bound up to 36 symbols, dynamic programming for priors from counts, chords for all. A
    `transferable` bound comes from chords alone and holds for any finer prior, see `coarsen`. An interrupt
    from the keyboard or the end of the time limit leaves the best solution so far with what is proven about it.
    """
    with _clean_interrupts():
        run = _prepare(problem, tolerance, time_limit, start, progress)
    if transferable or problem.size > EXHAUSTIVE:
        run.patience = 8 if transferable or problem.size > SEARCHED else 2
    solution = run.master.solve()
    if tolerance < FINE:
        solution = run.master.refine(solution)
    interrupted = False
    try:
        with _clean_interrupts():
            while not (_finished(run, solution) or (transferable and _stalled(run, solution))):
                found = _explore(run, solution) or (0 if transferable else _exhaust(run, solution))
                better = _solve(run) if found else None
                if better is None:
                    break
                solution = better
    except KeyboardInterrupt:
        interrupted = True
    lifts, weights = precise(run.master, solution)
    value = float(problem.mu(lifts) @ weights)
    upper = max(run.bound.upper, value)
    return Solution(
        lifts, weights, value, upper, run.bound.dual,
        run.rounds, len(run.master.gains), run.nodes, interrupted, solution.dual,
    )  # fmt: skip


@contextmanager
def _clean_interrupts() -> Iterator[None]:
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


def _prepare(
    problem: Separable, tolerance: float, time_limit: float, start: Floats | None, progress: Progress | None
) -> _Run:
    """A feasible master program and the analytic bound."""
    n, pi = problem.size, problem.pi
    vertices = vertex_table(problem)
    if vertices is None:
        problem.warm_up()
    dual = problem.analytic_dual()
    bound = _Bound(math.fsum(dual), dual)
    master = _master(problem, max(bound.upper, 1e-300))
    counts = integer_counts(pi) if n > 20 else None
    lattice = None if counts is None else Lattice(problem, counts)
    deadline = time.perf_counter() + time_limit
    run = _Run(problem, tolerance, deadline, master, bound, lattice, vertices, progress)
    shuffles = 2 if n <= 300 else 0
    orders = [np.argsort(-pi, kind="stable"), *(run.rng.permutation(n) for _ in range(shuffles))]
    for order in orders:
        arcs = arc_columns(pi[order], problem.low, problem.high).lifts().T
        lifts = np.empty_like(arcs)
        lifts[:, order] = arcs
        master.add(lifts, problem.mu(lifts))
    if start is not None and len(start):
        master.add(start, problem.mu(start))
    elif n > 20:
        lifts, _ = problem.explore(dual, 3 * run.rows, 16, 0)
        master.add(lifts, problem.mu(lifts))
    return run


def _master(problem: Separable, scale: float) -> Master:
    """The master program, over classes of equal symbols if that makes it smaller."""
    if problem.twins is None or problem.kinds > MERGED * problem.size:
        return Master(problem.pi, problem.low, problem.high, scale)
    return ClassMaster(problem.pi, problem.low, problem.high, scale, problem.twins)


def _solve(run: _Run) -> MasterSolution | None:
    """The optimum over the columns so far, precise enough to tell whether the tolerance is met; None: out of time."""
    left = run.deadline - time.perf_counter()
    solution = run.master.solve_within(left) if left > 0 else None
    return run.master.refine(solution) if solution is not None and run.tolerance < FINE else solution


def precise(master: Master, solution: MasterSolution) -> tuple[Floats, Floats]:
    """The columns in use with weights that hold the rows to full precision."""
    lifts, weights = master.used(solution.weights)
    off = float(np.abs(weights @ lifts - 1).max())
    if off > EXACT and len(solution.weights) == len(master.gains):  # no column came in since
        lifts, weights = master.used(master.refine(solution).weights)
    return lifts, weights


def _finished(run: _Run, solution: MasterSolution) -> bool:
    """Update the bound by chords and see whether it suffices."""
    run.rounds += 1
    if run.vertices is None:  # they prove more
        run.bound.offer(solution.dual, run.problem.chord_bound(solution.dual), run.problem.pi)
    if run.progress is not None:
        run.progress(solution.value, run.bound.upper)
    # The value is measured again after the basis is refined: leave room for that.
    return run.gap(solution.value) <= 0.9 * run.tolerance


def _stalled(run: _Run, solution: MasterSolution) -> bool:
    """Whether the last rounds closed next to nothing of what is open."""
    run.values.append(solution.value)
    if len(run.values) <= STALL:
        return False
    return solution.value - run.values[-STALL - 1] < 0.1 * (run.bound.upper - solution.value)


def _explore(run: _Run, solution: MasterSolution) -> int:
    """New columns by large-neighbourhood search; 0 if it finds none worth having."""
    problem = run.problem
    if problem.size <= 20:
        return 0
    worth = 0.1 * run.tolerance * solution.value
    while True:
        lifts, reduced = problem.explore(
            solution.dual, run.effort * max(run.rows, 50), 14 + 2 * int(math.log2(run.effort)), run.rounds
        )
        good = reduced > max(worth, 0.05 * reduced.max(initial=0.0))
        found = run.master.add(lifts[good], problem.mu(lifts[good])) if good.any() else 0
        if found or time.perf_counter() > run.deadline:
            return found
        if run.effort >= run.patience:
            return 0
        run.effort *= 2


def _exhaust(run: _Run, solution: MasterSolution) -> int:
    """New columns by exact pricing, which also proves a bound; 0 if there are none."""
    problem, y = run.problem, solution.dual
    target = 0.3 * run.tolerance * max(solution.value, 1e-300)
    # Columns close to the best are enough to make progress, and are found much faster than all above the target.
    threshold = target if run.vertices is not None else max(target, 0.25 * problem.chord_bound(y))
    each = 5 if run.vertices is not None else 2
    while True:
        priced = _price(run, y, threshold, each)
        run.nodes += priced.nodes
        if problem.size <= EXHAUSTIVE and priced.nodes > problem.size * run.most_nodes / 4:
            run.most_nodes = min(2 * run.most_nodes, NODES)  # most searches were cut short
        run.bound.offer(y, priced.bound, problem.pi)
        lifts = problem.lifts(priced.full, priced.partial)
        found = run.master.add(lifts, problem.mu(lifts))
        if found or run.gap(solution.value) <= 0.9 * run.tolerance or time.perf_counter() > run.deadline:
            return found
        if threshold > target:
            threshold = max(target, threshold / 8)
        elif priced.bound <= 1.01 * target:
            return 0
        elif each < problem.size <= EXHAUSTIVE:
            each = MANY  # columns in use may stand in the way: by its table f is larger than it is
        elif run.most_nodes < NODES:
            run.most_nodes *= 8  # the search was cut short
        else:
            return 0


def _price(run: _Run, y: Floats, threshold: float, each: int) -> Priced:
    """Exact pricing by whatever method proves most here."""
    problem = run.problem
    if run.vertices is not None:
        return run.vertices.price(y, threshold, each)
    if run.lattice is not None and problem.size > 24:
        return run.lattice.price(y, threshold)
    if problem.size > SEARCHED:
        return problem.exhaust(y, threshold, each, 1)
    # A search does not look at the clock, nor at the keyboard.
    left = max(run.deadline - time.perf_counter(), 0.0)
    return problem.exhaust(y, threshold, each, int(min(run.most_nodes, 1 + left * SPEED / problem.size)))


def scale(pi: Floats, low: float, high: float, mu: Callable[[Floats], Floats]) -> float:
    """A typical size of the objective, for tolerances that are relative: that of the arc mechanism."""
    arcs = arc_columns(pi, low, high)
    gains = mu(arcs.lifts().T)
    return max(abs(float(gains @ arcs.weights)), 1e-6 * float(np.abs(gains).max()), 1e-300)
