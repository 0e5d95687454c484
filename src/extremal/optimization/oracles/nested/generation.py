"""Column generation over a set of priors: the program of Theorem 5 over columns made as they are needed.

For f-information see `separable`. For expected gains columns come from linear programs, which prove the bound, too.
For other utilities they come from local search, by linear programs and by moving single symbols, and nothing is proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...._common.types import Floats
from ....model.prior_set import PriorSet
from ....model.utility import ExpectedGain, FInformation
from ...effort import IN_PROGRAMS, Budget
from ...generate import Run, Solution, generate
from ...problem import Task
from .lift_program import LiftProgram, admissible
from .oracle import separable_generation
from .program import Columns, started
from .vertices import climb

STEP = 1e-6  # of numerical derivatives
PATIENCE = 6  # searches without a new column before one that proves nothing ends


def robust_generation(task: Task, priors: PriorSet, c: float) -> Solution:
    """Columns made as they are needed."""
    budget = Budget.of(priors.size, task.time_limit, IN_PROGRAMS)
    if isinstance(task.utility, FInformation):
        return separable_generation(task, task.utility, priors, c, budget)
    search = _Search(task, priors, c, LiftProgram(priors, c))
    return generate(started(task, priors, c, search.mu, search.known, budget), search)


@dataclass
class _Search:
    """Where the columns over a set come from: decisions, or local search."""

    task: Task
    priors: PriorSet
    c: float
    program: LiftProgram
    known: Columns = field(default_factory=Columns)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def mu(self, lifts: Floats) -> Floats:
        """The utility of lift vectors given as rows."""
        return self.task.utility.columns(self.priors.nominal, np.ascontiguousarray(lifts.T))

    def bound(self, run: Run) -> None:
        """None comes for free."""

    def columns(self, run: Run) -> int:
        """Columns by whatever finds some."""
        if isinstance(self.task.utility, ExpectedGain):
            return _decide(self, run, self.task.utility.gain)
        for _ in range(PATIENCE + 1):
            found = _climb(self, run)
            if found or self.program.over(run.budget):
                return found
        return 0


def _decide(search: _Search, run: Run, gain: Floats) -> int:
    """Expected gains: for each decision the best column is that of one linear program, which is a bound, too."""
    weighted = gain * search.priors.nominal.probabilities
    worth = run.worth(0.1)
    best, lifts = -math.inf, []
    for row in weighted:
        column, bound = search.program.maximise(row - run.solution.dual)
        best = max(best, bound)
        if bound > worth:
            lifts.append(column)
    run.offer(run.solution.dual, best)
    search.program.over(run.budget)
    return search.known.add(run, admissible(search.priors, search.c, np.array(lifts))) if lifts else 0


def _climb(search: _Search, run: Run) -> int:
    """Columns by local search: along gradients to the best vertex in their direction, else by moving single symbols.

    From columns in use and from random ones.
    """
    n, y = search.priors.size, run.solution.dual
    few = min(n, 40)
    starts = run.master.lifts[np.argsort(-run.solution.weights, kind="stable")[:few]]
    noise = search.rng.random((few, n)) < search.rng.random((few, 1))
    lifts = np.concatenate((starts, admissible(search.priors, search.c, noise.astype(np.float64) + 1e-3)))

    def reduced(columns: Floats) -> Floats:
        return search.mu(columns) - columns @ y

    lifts = _follow(search, run, reduced, lifts, y)
    found = _add_good(search, run, lifts, reduced(lifts))
    if found or search.program.over(run.budget):
        return found
    some = np.concatenate((lifts[: few // 2], lifts[-(few - few // 2) :]))
    lifts = climb(search.priors, search.c, reduced, some, run.budget)
    return _add_good(search, run, lifts, reduced(lifts))


def _add_good(search: _Search, run: Run, lifts: Floats, values: Floats) -> int:
    return search.known.add(run, lifts[values > max(run.worth(0.1), 0.05 * float(values.max()))])


def _follow(
    search: _Search, run: Run, reduced: Callable[[Floats], Floats], lifts: Floats, y: Floats
) -> Floats:
    """The columns reached by going to the best vertex in the direction of the gradient, again and again."""
    values = reduced(lifts)
    active = np.ones(len(lifts), dtype=np.bool_)
    for _ in range(6):
        if not active.any() or search.program.over(run.budget):
            break
        slopes = _gradient(search, lifts[active]) - y
        made = np.array([search.program.maximise(g)[0] for g in slopes])
        made = admissible(search.priors, search.c, made)
        reached = reduced(made)
        better = reached > values[active] + 1e-12
        chosen = np.flatnonzero(active)[better]
        lifts[chosen], values[chosen] = made[better], reached[better]
        active[:] = False
        active[chosen] = True
    return lifts


def _gradient(search: _Search, lifts: Floats) -> Floats:
    """The gradient of mu at lift vectors given as rows, by differences."""
    low, high = np.maximum(lifts - STEP, 0.0), lifts + STEP
    n = lifts.shape[1]
    slopes = np.empty_like(lifts)
    for k, row in enumerate(lifts):
        around = np.tile(row, (2 * n, 1))
        np.fill_diagonal(around[:n], high[k])
        np.fill_diagonal(around[n:], low[k])
        values = search.mu(around)
        slopes[k] = (values[:n] - values[n:]) / (high[k] - low[k])
    return slopes
