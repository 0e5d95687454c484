"""Theorem 5: the linear program over extremal lift vectors, all of them at once or made as they are needed.

maximise sum_v rho_v mu(v) subject to sum_v rho_v v = 1, rho >= 0, over the vertices v of the lift polytope. Its dual
is min sum(y) with y . v >= mu(v) for all v, and any y gives the bound U* <= sum(y) + max_v (mu(v) - y . v).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .._common.types import Floats, Ints
from ..model.labels import Labels
from ..model.mechanism import Mechanism
from ..theory.arc import arc_columns
from ..theory.lift_vectors import lift_vertices
from .effort import EVALUATED, ROUND, Budget
from .masters.linear import Master, MasterSolution
from .watch import Progress

Utilities = Callable[[Floats], Floats]  # of lift vectors given as rows

EXACT = 1e-13  # errors of row sums that are left as they are
SMALL = 300  # symbols up to which the first program takes a moment, and is solved whatever the time limit
FINE = 1e-8  # tolerances below this need programs solved to full precision in every round


@dataclass(frozen=True)
class Stats:
    """What a search did: rounds, columns tried, nodes of branch and bound, seconds, and what ended it early."""

    rounds: int = 0
    columns: int = 0
    nodes: int = 0
    seconds: float = 0.0
    interrupted: bool = False  # from the keyboard
    stopped: bool = False  # by the time limit

    def __add__(self, other: Stats) -> Stats:
        return Stats(
            self.rounds + other.rounds,
            self.columns + other.columns,
            self.nodes + other.nodes,
            self.seconds + other.seconds,
            self.interrupted or other.interrupted,
            self.stopped or other.stopped,
        )


NO_SEARCH = Stats()


@dataclass(frozen=True)
class Solution:
    """Lift vectors in rows with their weights, the value, and a dual feasible vector whose sum bounds the optimum.

    upper is inf and dual None where nothing is proven. `multipliers` is the dual vector of the last master program: not
    feasible, but the natural candidate for a bound by other means. With `block`, the block of each symbol, lift vectors
    have one element for each block.
    """

    lifts: Floats
    weights: Floats
    value: float
    upper: float
    dual: Floats | None
    stats: Stats = NO_SEARCH
    multipliers: Floats | None = None
    block: Ints | None = None

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


def enumerate_program(pi: Floats, low: float, high: float, mu: Utilities) -> Solution:
    """The optimum over all vertices of the lift polytope (Algorithm 1 and Theorem 5)."""
    master = Master(pi, low, high, scale(pi, low, high, mu))
    vertices = lift_vertices(pi, low, high)
    return listed_program(master, vertices, mu(vertices), mu)


def listed_program(master: Master, lifts: Floats, gains: Floats, mu: Utilities) -> Solution:
    """The optimum over all columns of a list, rows of mean 1 and utility `gains`, by a master program without any."""
    master.add(lifts, gains)
    solution = master.refine(master.solve())
    used, weights = master.used(solution.weights)
    dual = better_conditioned(_repaired(solution.dual, master.pi, lifts, gains), master.pi, gains)
    value = float(mu(used) @ weights)
    return Solution(used, weights, value, math.fsum(dual), dual, Stats(rounds=1, columns=len(lifts)))


def _repaired(y: Floats, pi: Floats, lifts: Floats, gains: Floats) -> Floats:
    """y, dual feasible up to rounding, raised until it is: along pi, or where the violated columns are largest.

    Raising y_i by d / v_i makes up for a violation d at a column v; where lifts are huge that costs next to nothing.
    """
    violation = np.maximum(gains - lifts @ y, 0.0)
    largest = np.argmax(lifts, axis=1)
    raised = y.copy()
    np.maximum.at(raised, largest, y[largest] + violation / lifts[np.arange(len(lifts)), largest])
    shifted = y + float(violation.max()) * pi
    # What rounding may have left of a violation counts twice: once more along pi.
    raised += max(float(np.max(gains - lifts @ raised)), 0.0) * pi
    return raised if math.fsum(raised) < math.fsum(shifted) else shifted


def better_conditioned(dual: Floats, pi: Floats, gains: Floats) -> Floats:
    """The dual vector, or pi times the largest utility of a vertex, which is dual feasible too, if that proves more.

    It does where epsilon is so small that the differences between vertices drown in the rounding of their utilities.
    """
    flat = pi * float(gains.max())
    return flat if math.fsum(flat) < math.fsum(dual) else dual


@dataclass
class Run:
    """The state of a column generation: the program so far, the best bound, and what was spent."""

    pi: Floats
    mu: Utilities
    master: Master
    tolerance: float
    budget: Budget
    progress: Progress | None = None
    upper: float = math.inf
    dual: Floats | None = None  # proves `upper`
    rounds: int = 0
    nodes: int = 0
    known: tuple[Floats, Floats] | None = None  # lift vectors and weights that need no program
    solution: MasterSolution = field(init=False)  # over all columns, but for those added since

    def add(self, lifts: Floats) -> int:
        """Add columns to the program and say how many were new."""
        return self.master.add(lifts, self.mu(lifts)) if len(lifts) else 0

    def offer(self, y: Floats, delta: float) -> None:
        """All reduced values at y are at most delta: y + delta pi is dual feasible."""
        upper = math.fsum(y) + delta
        if upper < self.upper:
            self.upper, self.dual = upper, y + delta * self.pi

    @property
    def closed(self) -> bool:
        """Whether the bound suffices. The value is measured again after the last program: this leaves room for it."""
        return relative_gap(self.solution.value, self.upper) <= 0.9 * self.tolerance

    def worth(self, share: float) -> float:
        """A share of what the tolerance allows to miss: columns that gain less are not worth having."""
        return share * self.tolerance * max(abs(self.solution.value), 1e-300)

    def solve(self) -> bool:
        """Solve the program again, precisely enough to tell whether the tolerance is met; False: out of time."""
        solution = self.master.solve_within(self.budget)
        if solution is not None:
            self.solution = self.master.refine(solution) if self.tolerance < FINE else solution
        return solution is not None


class Pricer(Protocol):
    """Where columns and bounds come from."""

    def bound(self, run: Run) -> None:
        """Offer the bound that costs little."""

    def columns(self, run: Run) -> int:
        """Add columns that gain something, and offer what that proves; the number of new columns, 0: none are left."""


def generate(run: Run, pricer: Pricer) -> Solution:
    """The optimum over columns made as they are needed, up to the tolerance or as near as the budget allows.

    The program must have columns enough for a solution. An interrupt from the keyboard or the time limit leaves the
    best solution so far with what is proven about it: if time is up before the first program is solved, what was known
    without it.
    """
    hurried = run.known is not None and len(run.pi) > SMALL
    first = run.master.solve_within(run.budget) if hurried else run.master.solve()
    if first is None:
        return _unsolved(run)
    run.solution = first
    interrupted = False
    try:
        with clean_interrupts():
            if run.tolerance < FINE:
                run.solution = run.master.refine(run.solution)
            while True:
                run.rounds += 1
                run.budget.spend(ROUND)
                pricer.bound(run)
                if run.progress is not None:
                    run.progress(run.solution.value, run.upper)
                if run.closed or run.budget.over or not pricer.columns(run) or not run.solve():
                    break
    except KeyboardInterrupt:
        interrupted = True
    lifts, weights = _precise(run.master, run.solution)
    value = float(run.mu(lifts) @ weights)
    stats = Stats(
        run.rounds,
        len(run.master.gains),
        run.nodes,
        interrupted=interrupted,
        stopped=run.budget.stopped,
    )
    return Solution(lifts, weights, value, run.upper, run.dual, stats, run.solution.dual)


def _unsolved(run: Run) -> Solution:
    """What is known without a program."""
    assert run.known is not None
    lifts, weights = run.known
    value = float(run.mu(lifts) @ weights)
    stats = Stats(columns=len(run.master.gains), stopped=True)
    return Solution(lifts, weights, value, run.upper, run.dual, stats)


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


def _precise(master: Master, solution: MasterSolution) -> tuple[Floats, Floats]:
    """The columns in use with weights that hold the rows to full precision."""
    lifts, weights = master.used(solution.weights)
    off = float(np.abs(weights @ lifts - 1).max())
    if off > EXACT and len(solution.weights) == len(master.gains):  # no column came in since
        lifts, weights = master.used(master.refine(solution).weights)
    return lifts, weights


def evaluated(lifts: Floats) -> float:
    """What the utilities of some columns cost."""
    return EVALUATED * lifts.size


def scale(pi: Floats, low: float, high: float, mu: Utilities) -> float:
    """A typical size of the objective, for tolerances that are relative: that of the arc mechanism."""
    arcs = arc_columns(pi, low, high)
    gains = mu(arcs.lifts().T)
    return max(abs(float(gains @ arcs.weights)), 1e-6 * float(np.abs(gains).max()), 1e-300)
