"""Column generation over a set of priors: the program of Theorem 5 over columns made as they are needed.

For f-information see `oracle`. For expected gains columns come from linear programs, which prove the bound, too.
For other utilities they come from local search, by linear programs and by moving single symbols, and nothing is proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...._common.types import Floats
from ....model.lift_sets import SetLifts
from ....model.utility import ExpectedGain, FInformation
from ...effort import Effort
from ...generate import Solution
from ...masters.linear import LinearSearch
from ...problem import Problem
from .lift_program import LiftProgram
from .oracle import Columns, separable_generation, started
from .vertices import climb

STEP = 1e-6  # of numerical derivatives
PATIENCE = 6  # searches without a new column before one that proves nothing ends


def robust_generation(problem: Problem, lifts: SetLifts, effort: Effort) -> Solution:
    """Columns made as they are needed."""
    goal = problem.goal(effort)
    if isinstance(problem.utility, FInformation):
        return separable_generation(problem.utility.f, lifts, goal, effort)
    oracle = ProgramOracle(problem, lifts, LiftProgram(lifts.priors, lifts.c))
    return started(lifts, problem.mu, oracle.known, goal, effort, alike=False).run(oracle)


@dataclass
class ProgramOracle:
    """Columns over a set from decisions, or from local search."""

    problem: Problem
    lifts: SetLifts
    program: LiftProgram
    known: Columns = field(default_factory=Columns)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def bound(self, run: LinearSearch) -> None:
        """None comes for free."""

    def columns(self, run: LinearSearch) -> bool:
        """Columns by whatever finds some."""
        utility = self.problem.utility
        if isinstance(utility, ExpectedGain):
            return _decide(self, run, utility.gain) > 0
        for _ in range(PATIENCE + 1):
            found = _climb(self, run)
            if found or self.program.over(run.effort):
                return found > 0
        return False


def _decide(search: ProgramOracle, run: LinearSearch, gain: Floats) -> int:
    """Expected gains: for each decision the best column is that of one linear program, which is a bound, too."""
    weighted = gain * search.lifts.prior.probabilities
    worth = run.worth(0.1)
    best, lifts = -math.inf, []
    for row in weighted:
        column, bound = search.program.maximise(row - run.solution.dual)
        best = max(best, bound)
        if bound > worth:
            lifts.append(column)
    run.offer(run.solution.dual, best)
    search.program.over(run.effort)
    return search.known.add(run, search.lifts.admissible(np.array(lifts))) if lifts else 0


def _climb(search: ProgramOracle, run: LinearSearch) -> int:
    """Columns by local search: along gradients to the best vertex in their direction, else by moving single symbols.

    From columns in use and from random ones.
    """
    n, y = search.lifts.priors.size, run.solution.dual
    few = min(n, 40)
    starts = run.master.lifts[np.argsort(-run.solution.weights, kind="stable")[:few]]
    noise = search.rng.random((few, n)) < search.rng.random((few, 1))
    lifts = np.concatenate((starts, search.lifts.admissible(noise.astype(np.float64) + 1e-3)))

    def reduced(columns: Floats) -> Floats:
        return search.problem.mu(columns) - columns @ y

    lifts = _follow(search, run, reduced, lifts, y)
    found = _add_good(search, run, lifts, reduced(lifts))
    if found or search.program.over(run.effort):
        return found
    some = np.concatenate((lifts[: few // 2], lifts[-(few - few // 2) :]))
    lifts = climb(search.lifts.priors, search.lifts.c, reduced, some, run.effort)
    return _add_good(search, run, lifts, reduced(lifts))


def _add_good(search: ProgramOracle, run: LinearSearch, lifts: Floats, values: Floats) -> int:
    return search.known.add(run, lifts[values > max(run.worth(0.1), 0.05 * float(values.max()))])


def _follow(
    search: ProgramOracle, run: LinearSearch, reduced: Callable[[Floats], Floats], lifts: Floats, y: Floats
) -> Floats:
    """The columns reached by going to the best vertex in the direction of the gradient, again and again."""
    values = reduced(lifts)
    active = np.ones(len(lifts), dtype=np.bool_)
    for _ in range(6):
        if not active.any() or search.program.over(run.effort):
            break
        slopes = _gradient(search, lifts[active]) - y
        made = np.array([search.program.maximise(g)[0] for g in slopes])
        made = search.lifts.admissible(made)
        reached = reduced(made)
        better = reached > values[active] + 1e-12
        chosen = np.flatnonzero(active)[better]
        lifts[chosen], values[chosen] = made[better], reached[better]
        active[:] = False
        active[chosen] = True
    return lifts


def _gradient(search: ProgramOracle, lifts: Floats) -> Floats:
    """The gradient of mu at lift vectors given as rows, by differences."""
    low, high = np.maximum(lifts - STEP, 0.0), lifts + STEP
    n = lifts.shape[1]
    slopes = np.empty_like(lifts)
    for k, row in enumerate(lifts):
        around = np.tile(row, (2 * n, 1))
        np.fill_diagonal(around[:n], high[k])
        np.fill_diagonal(around[n:], low[k])
        values = search.problem.mu(around)
        slopes[k] = (values[:n] - values[n:]) / (high[k] - low[k])
    return slopes
