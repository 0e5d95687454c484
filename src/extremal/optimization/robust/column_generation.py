"""Column generation over a set of priors: the program of Theorem 5 over columns made as they are needed.

Columns come from local search, by linear programs and by moving single symbols, and where that ends from the pricing
that proves a bound: exact for expected gains, branch and bound and the three levels of `bounds` for
f-information, none for other utilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..._types import Floats
from ...model.prior_set import PriorSet
from ...model.utility import ExpectedGain, FInformation
from ..solver.budget import IN_PROGRAMS, Budget
from ..solver.column_generation import Run, Solution, generate, relative_gap
from ..solver.master import Master
from ..solver.merging import merge
from ..solver.pricing import Separable
from ..task import Task
from .bounds import Cells
from .pricing import LiftProgram, Priced, Pricer, admissible
from .vertices import climb

MERGED = 60  # symbols from which small ones are merged
BLOCKS = 40
FEW_NODES, MANY_NODES = 200, 200_000  # of branch and bound: at first, and when nothing else helps
STEP = 1e-6  # of numerical derivatives
SHARE = 0.65  # of the budget for columns, the rest for a bound
LAST = 20_000_000  # nodes for a last bound, whatever is left of the budget
CELLS = 2000  # linear programs for a bound that does not see single symbols
INDIVISIBLE = 16  # symbols up to which such a bound is not worth it
PATIENCE = 6  # searches without a new column before one that proves nothing ends


def robust_generation(task: Task, priors: PriorSet, c: float) -> Solution:
    """Columns made as they are needed, for a merged alphabet where it is large."""
    budget = Budget.of(priors.size, task.time_limit, IN_PROGRAMS)
    if priors.size >= MERGED and isinstance(task.utility, FInformation):
        return _merged(task, priors, c, budget)
    return _generate(task, priors, c, budget)


def _merged(task: Task, priors: PriorSet, c: float, budget: Budget) -> Solution:
    """Small symbols share their lifts; what is proven is proven for all symbols.

    The blocks of a set of priors have a set of the same kind, see PriorSet.merged, and an f-information depends on a
    block only through its mass. The dual vector is split in proportion to mass and priced anew.
    """
    pi = priors.nominal.probabilities
    assert isinstance(task.utility, FInformation)
    block = merge(Separable(pi, task.utility.f, 0.0, min(c, 1 / float(pi.min()))), BLOCKS)
    small = priors.merged(block)
    solution = _generate(task, small, c, budget.part(SHARE))
    # Where blocks are set apart by their mass alone, averaging over a block changes none of the programs of Cells: the
    # bound for blocks is one for all symbols, but for what a symbol's lift can be.
    alike = np.array_equal(priors.center, pi) and not priors.lower.any()
    pricer = Pricer(small if alike else priors, c, task.utility.f)
    blocks = small.nominal.probabilities
    if alike:
        several = np.bincount(block) > 1
        pricer.program.top = c
        pricer.program.limits = np.where(several, c, np.minimum(c, 1 / blocks))
    upper, dual = math.inf, None
    for vector in (solution.multipliers, solution.value * blocks):
        assert vector is not None
        y = vector[block] * pi / blocks[block]
        last = budget.part(1, LAST)
        priced = prove(pricer, vector if alike else y, solution.value, task.tolerance, last)
        if math.fsum(y) + priced.bound < upper:
            upper, dual = math.fsum(y) + priced.bound, y + priced.bound * pi
        if relative_gap(solution.value, upper) <= task.tolerance:
            break
    stats = replace(solution.stats, stopped=budget.stopped)
    return replace(solution, lifts=solution.lifts[:, block], upper=upper, dual=dual, stats=stats)


def _generate(task: Task, priors: PriorSet, c: float, budget: Budget) -> Solution:
    """Columns by local search while it finds any, then by the pricing that proves a bound."""
    pi, n = priors.nominal.probabilities, priors.size
    search = _Search.of(task, priors, c)
    alone = admissible(priors, c, np.diag(1 / pi))
    scale = max(float(np.abs(search.mu(alone)).max()), 1e-300)
    master = Master(pi, 0.0, search.program.top, scale)
    run = Run(pi, search.mu, master, task.tolerance, budget.part(SHARE), task.progress)
    # Columns enough for a mechanism: each symbol raised alone, or lowered alone.
    search.add(run, alone)
    search.add(run, admissible(priors, c, np.ones((n, n)) - np.eye(n)))
    solution = generate(run, search)
    if search.pricer is not None:
        # A bound where there is none yet, and where symbols are small one for y = U pi, which treats all the same.
        assert solution.multipliers is not None
        for vector in (solution.multipliers, solution.value * pi):
            if relative_gap(solution.value, run.upper) > task.tolerance:
                last = budget.part(1, LAST)
                priced = prove(search.pricer, vector, solution.value, task.tolerance, last)
                run.nodes += priced.nodes
                run.offer(vector, priced.bound)
    stats = replace(solution.stats, nodes=run.nodes, stopped=budget.stopped)
    return replace(solution, upper=max(run.upper, solution.value), dual=run.dual, stats=stats)


def prove(pricer: Pricer, y: Floats, value: float, tolerance: float, budget: Budget) -> Priced:
    """A bound on reduced values at y, by whatever sees most, until it proves `value` optimal or nothing is left."""
    target = max(value * (1 + 0.3 * tolerance) - math.fsum(y), 0.0)
    if pricer.program.floor:
        return Cells(pricer).bound(y, target, CELLS, budget)
    return pricer.bound(y, target, CELLS, 1 << 30, budget)


@dataclass
class _Search:
    """Where the columns over a set come from: decisions, local search, branch and bound."""

    task: Task
    priors: PriorSet
    c: float
    program: LiftProgram
    pricer: Pricer | None
    seen: set[bytes] = field(default_factory=set)
    limit: int = FEW_NODES
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @classmethod
    def of(cls, task: Task, priors: PriorSet, c: float) -> _Search:
        """For an f-information with a pricer that proves a bound."""
        pricer = Pricer(priors, c, task.utility.f) if isinstance(task.utility, FInformation) else None
        return cls(task, priors, c, LiftProgram(priors, c) if pricer is None else pricer.program, pricer)

    def mu(self, lifts: Floats) -> Floats:
        """The utility of lift vectors given as rows."""
        if self.pricer is not None:
            return np.asarray(self.pricer.f(lifts) @ self.priors.nominal.probabilities, dtype=np.float64)
        return self.task.utility.columns(self.priors.nominal, np.ascontiguousarray(lifts.T))

    def add(self, run: Run, lifts: Floats) -> int:
        """Add the columns that differ from all others by more than rounding and say how many did."""
        new = []
        for k, row in enumerate(np.round(lifts, 9) + 0.0):
            if row.tobytes() not in self.seen:
                self.seen.add(row.tobytes())
                new.append(k)
        return run.add(lifts[new])

    def bound(self, run: Run) -> None:
        """None comes for free."""

    def columns(self, run: Run) -> int:
        """Columns by whatever finds some."""
        if isinstance(self.task.utility, ExpectedGain):
            return _decide(self, run, self.task.utility.gain)
        if self.pricer is not None:
            return _climb(self, run) or _prove(self, run, self.pricer)
        for _ in range(PATIENCE + 1):
            found = _climb(self, run)
            if found or self.program.over(run.budget):
                return found
        return 0


def _prove(search: _Search, run: Run, pricer: Pricer) -> int:
    """Branch and bound, as long as it takes or may take."""
    y, worth = run.solution.dual, run.worth(0.3)
    if pricer.program.floor and search.priors.size > INDIVISIBLE:
        cells = Cells(pricer).bound(y, worth, CELLS, run.budget, 0.3)
        run.nodes += cells.nodes
        run.offer(y, cells.bound)
        found = search.add(run, cells.lifts)
        if found or run.closed:
            return found
    while True:
        priced = pricer.bound(y, worth, search.limit, max(search.priors.size, 10), run.budget)
        run.nodes += priced.nodes
        run.offer(y, priced.bound)
        found = search.add(run, priced.lifts)
        if found or run.closed or pricer.program.over(run.budget):
            return found
        if priced.nodes < search.limit or search.limit >= MANY_NODES:
            return 0
        search.limit *= 4


def _decide(search: _Search, run: Run, gain: Floats) -> int:
    """Expected gains: for each decision the best column is that of one linear program, which is a bound, too."""
    weighted = gain * search.priors.nominal.probabilities
    box, worth = search.program.root(), run.worth(0.1)
    best, lifts = -math.inf, []
    for row in weighted:
        column, bound = search.program.maximise(box, row - run.solution.dual)
        best = max(best, bound)
        if bound > worth:
            lifts.append(column)
    run.offer(run.solution.dual, best)
    search.program.over(run.budget)
    return search.add(run, admissible(search.priors, search.c, np.array(lifts))) if lifts else 0


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
    return search.add(run, lifts[values > max(run.worth(0.1), 0.05 * float(values.max()))])


def _follow(
    search: _Search, run: Run, reduced: Callable[[Floats], Floats], lifts: Floats, y: Floats
) -> Floats:
    """The columns reached by going to the best vertex in the direction of the gradient, again and again."""
    box, values = search.program.root(), reduced(lifts)
    active = np.ones(len(lifts), dtype=np.bool_)
    for _ in range(6):
        if not active.any() or search.program.over(run.budget):
            break
        slopes = _gradient(search, lifts[active]) - y
        made = np.array([search.program.maximise(box, g)[0] for g in slopes])
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
    if search.pricer is not None:
        f = search.pricer.f
        return np.asarray(search.priors.nominal.probabilities * (f(high) - f(low)) / (high - low))
    n = lifts.shape[1]
    slopes = np.empty_like(lifts)
    for k, row in enumerate(lifts):
        around = np.tile(row, (2 * n, 1))
        np.fill_diagonal(around[:n], high[k])
        np.fill_diagonal(around[n:], low[k])
        values = search.mu(around)
        slopes[k] = (values[:n] - values[n:]) / (high[k] - low[k])
    return slopes
