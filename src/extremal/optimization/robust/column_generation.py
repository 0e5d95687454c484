"""Column generation over a set of priors: the program of Theorem 5 over columns made as they are needed.

Columns come from local search, by linear programs and by moving single symbols, and where that ends from the pricing
that proves a bound: exact for expected gains, branch and bound and the three levels of `robust_bounds` for
f-information, none for other utilities.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..._types import Floats
from ...model.prior_set import PriorSet
from ...model.utility import ExpectedGain, FInformation
from ..methods import Task
from ..solver.column_generation import Solution, relative_gap
from ..solver.master import Master, MasterSolution
from ..solver.merging import merge
from ..solver.pricing import Separable
from .bounds import Cells
from .pricing import LiftProgram, Priced, Pricer, admissible
from .vertices import climb

MERGED = 60  # symbols from which small ones are merged
BLOCKS = 40
FEW_NODES, MANY_NODES = 200, 200_000  # of branch and bound: at first, and when nothing else helps
STEP = 1e-6  # of numerical derivatives
SHARE = 0.65  # of the time for columns, the rest for a bound
CELLS = 2000  # linear programs for a bound that does not see single symbols
INDIVISIBLE = 16  # symbols up to which such a bound is not worth it
PATIENCE = 6  # rounds without a new column before a search that proves nothing ends


def robust_generation(task: Task, priors: PriorSet, c: float) -> Solution:
    """Columns made as they are needed, for a merged alphabet where it is large."""
    if priors.size >= MERGED and isinstance(task.utility, FInformation):
        return _merged(task, priors, c)
    return _generate(_Search.of(task, priors, c, task.time_limit))


def _merged(task: Task, priors: PriorSet, c: float) -> Solution:
    """Small symbols share their lifts; what is proven is proven for all symbols.

    The blocks of a set of priors have a set of the same kind, see PriorSet.merged, and an f-information depends on a
    block only through its mass. The dual vector is split in proportion to mass and priced anew.
    """
    pi = priors.nominal.probabilities
    assert isinstance(task.utility, FInformation)
    block = merge(Separable(pi, task.utility.f, 0.0, min(c, 1 / float(pi.min()))), BLOCKS)
    small = priors.merged(block)
    deadline = time.perf_counter() + task.time_limit
    search = _Search.of(task, small, c, SHARE * task.time_limit)
    solution = _generate(search)
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
        priced = prove(
            pricer,
            vector if alike else y,
            solution.value,
            task.tolerance,
            max(deadline, time.perf_counter() + 1),
        )
        if math.fsum(y) + priced.bound < upper:
            upper, dual = math.fsum(y) + priced.bound, y + priced.bound * pi
        if relative_gap(solution.value, upper) <= task.tolerance:
            break
    return Solution(
        solution.lifts[:, block], solution.weights, solution.value, upper, dual,
        solution.rounds, solution.columns, solution.nodes, solution.interrupted,
    )  # fmt: skip


@dataclass
class _Search:
    """The state of a column generation over a set."""

    priors: PriorSet
    c: float
    task: Task
    deadline: float
    last: float
    program: LiftProgram
    pricer: Pricer | None
    master: Master
    seen: set[bytes] = field(default_factory=set)
    upper: float = math.inf
    dual: Floats | None = None
    rounds: int = 0
    nodes: int = 0
    limit: int = FEW_NODES
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @classmethod
    def of(cls, task: Task, priors: PriorSet, c: float, time_limit: float) -> _Search:
        """A master program with columns enough for a mechanism: each symbol raised alone, or lowered alone."""
        pi, n = priors.nominal.probabilities, priors.size
        pricer = Pricer(priors, c, task.utility.f) if isinstance(task.utility, FInformation) else None
        program = LiftProgram(priors, c) if pricer is None else pricer.program
        master = Master(pi, 0.0, program.top, 1.0)
        begin = time.perf_counter()
        search = cls(
            priors,
            c,
            task,
            begin + SHARE * time_limit,
            begin + time_limit,
            program,
            pricer,
            master,
        )
        alone = admissible(priors, c, np.diag(1 / pi))
        gains = search.mu(alone)
        master.scale = max(float(np.abs(gains).max()), 1e-300)
        search.add(alone)
        search.add(admissible(priors, c, np.ones((n, n)) - np.eye(n)))
        return search

    def mu(self, lifts: Floats) -> Floats:
        """The utility of lift vectors given as rows."""
        if self.pricer is not None:
            return np.asarray(self.pricer.f(lifts) @ self.priors.nominal.probabilities, dtype=np.float64)
        return self.task.utility.columns(self.priors.nominal, np.ascontiguousarray(lifts.T))

    def add(self, lifts: Floats) -> int:
        """Add the columns that differ from all others by more than rounding and say how many did."""
        new = []
        for k, row in enumerate(np.round(lifts, 9) + 0.0):
            if row.tobytes() not in self.seen:
                self.seen.add(row.tobytes())
                new.append(k)
        return self.master.add(lifts[new], self.mu(lifts[new])) if new else 0

    def offer(self, y: Floats, delta: float) -> None:
        """All reduced values at y are at most delta."""
        upper = math.fsum(y) + delta
        if upper < self.upper:
            self.upper, self.dual = upper, y + delta * self.priors.nominal.probabilities

    def gap(self, solution: MasterSolution) -> float:
        return relative_gap(solution.value, self.upper)

    @property
    def late(self) -> bool:
        return time.perf_counter() > self.deadline


def _generate(search: _Search) -> Solution:
    """Columns by local search while it finds any, then by the pricing that proves a bound."""
    interrupted, fruitless = False, 0
    decides = isinstance(search.task.utility, ExpectedGain)
    patience = 0 if decides or search.pricer is not None else PATIENCE
    solution = search.master.solve()
    try:
        while not search.late:
            search.rounds += 1
            if search.task.progress is not None:
                search.task.progress(solution.value, search.upper)
            worth = 0.1 * search.task.tolerance * max(abs(solution.value), 1e-300)
            if decides:
                found = _decide(search, solution, worth)
            else:
                found = _climb(search, solution, worth)
                if not found and search.pricer is not None:
                    found = _prove(search, solution, worth)
            if search.gap(solution) <= 0.9 * search.task.tolerance:
                break
            fruitless = 0 if found else fruitless + 1
            if fruitless > patience:
                break
            if found:
                solution = search.master.solve()
    except KeyboardInterrupt:
        interrupted = True
    multipliers = solution.dual
    _prove_last(search, multipliers, solution.value)
    if len(solution.weights) == len(search.master.gains):
        solution = search.master.refine(solution)
    lifts, weights = search.master.used(solution.weights)
    value = float(search.mu(lifts) @ weights)
    return Solution(
        lifts, weights, value, max(search.upper, value), search.dual,
        search.rounds, len(search.master.gains), search.nodes, interrupted, multipliers,
    )  # fmt: skip


def _prove(search: _Search, solution: MasterSolution, worth: float) -> int:
    """Branch and bound, as long as it takes or may take."""
    assert search.pricer is not None
    if search.pricer.program.floor and search.priors.size > INDIVISIBLE:
        cells = Cells(search.pricer).bound(solution.dual, 3 * worth, CELLS, search.deadline, 0.3)
        search.nodes += cells.nodes
        search.offer(solution.dual, cells.bound)
        found = search.add(cells.lifts)
        if found or search.gap(solution) <= 0.9 * search.task.tolerance:
            return found
    while True:
        priced: Priced = search.pricer.bound(
            solution.dual, 3 * worth, search.limit, max(search.priors.size, 10), search.deadline
        )
        search.nodes += priced.nodes
        search.offer(solution.dual, priced.bound)
        found = search.add(priced.lifts)
        if found or search.gap(solution) <= 0.9 * search.task.tolerance or search.late:
            return found
        if priced.nodes < search.limit or search.limit >= MANY_NODES:
            return 0
        search.limit *= 4


def _prove_last(search: _Search, y: Floats, value: float) -> None:
    """A bound where there is none yet, and where symbols are small one for y = U pi, which treats all the same."""
    if search.pricer is None:
        return
    pi = search.priors.nominal.probabilities
    for vector in (y, value * pi):
        if relative_gap(value, search.upper) > search.task.tolerance:
            priced = prove(search.pricer, vector, value, search.task.tolerance, search.last)
            search.nodes += priced.nodes
            search.offer(vector, priced.bound)


def prove(pricer: Pricer, y: Floats, value: float, tolerance: float, deadline: float) -> Priced:
    """A bound on reduced values at y, by whatever sees most, until it proves `value` optimal or time is over."""
    target = max(value * (1 + 0.3 * tolerance) - math.fsum(y), 0.0)
    if pricer.program.floor:
        return Cells(pricer).bound(y, target, CELLS, deadline)
    return pricer.bound(y, target, CELLS, 1 << 30, deadline)


def _decide(search: _Search, solution: MasterSolution, worth: float) -> int:
    """Expected gains: for each decision the best column is that of one linear program, which is a bound, too."""
    assert isinstance(search.task.utility, ExpectedGain)
    weighted = search.task.utility.gain * search.priors.nominal.probabilities
    box = search.program.root()
    best, lifts = -math.inf, []
    for row in weighted:
        column, bound = search.program.maximise(box, row - solution.dual)
        best = max(best, bound)
        if bound > worth:
            lifts.append(column)
    search.offer(solution.dual, best)
    return search.add(admissible(search.priors, search.c, np.array(lifts))) if lifts else 0


def _climb(search: _Search, solution: MasterSolution, worth: float) -> int:
    """Columns by local search: along gradients to the best vertex in their direction, else by moving single symbols.

    From columns in use and from random ones.
    """
    n, y = search.priors.size, solution.dual
    few = min(n, 40)
    starts = search.master.lifts[np.argsort(-solution.weights)[:few]]
    noise = search.rng.random((few, n)) < search.rng.random((few, 1))
    lifts = np.concatenate((starts, admissible(search.priors, search.c, noise.astype(np.float64) + 1e-3)))

    def reduced(columns: Floats) -> Floats:
        return search.mu(columns) - columns @ y

    lifts = _follow(search, reduced, lifts, y)
    found = _add_good(search, lifts, reduced(lifts), worth)
    if found or search.late:
        return found
    some = np.concatenate((lifts[: few // 2], lifts[-(few - few // 2) :]))
    lifts = climb(search.priors, search.c, reduced, some, 2 * n)
    return _add_good(search, lifts, reduced(lifts), worth)


def _add_good(search: _Search, lifts: Floats, values: Floats, worth: float) -> int:
    good = values > max(worth, 0.05 * float(values.max()))
    return search.add(lifts[good]) if good.any() else 0


def _follow(search: _Search, reduced: Callable[[Floats], Floats], lifts: Floats, y: Floats) -> Floats:
    """The columns reached by going to the best vertex in the direction of the gradient, again and again."""
    box, values = search.program.root(), reduced(lifts)
    active = np.ones(len(lifts), dtype=np.bool_)
    for _ in range(6):
        if not active.any() or search.late:
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
