"""Column generation over a set of priors: the program of Theorem 5 over columns made as they are needed.

For f-information see `oracle`. For expected gains columns come from linear programs, which prove the bound, too.
For other utilities they come from local search, by linear programs and by moving single symbols, and nothing is proven.

`LiftProgram` maximises a linear function over the admissible lift vectors of a set of priors.

A column is admissible if max_i lambda_i <= c h(lambda), where h(lambda) = min over the set of pi . lambda. With
D = center - lower, U = upper - center and m = radius / 2, linear programming duality gives

    h(lambda) = max over A <= T of center . lambda - m (T - A) - sum_i U_i (A - lambda_i)^+ - sum_i D_i (lambda_i - T)^+

so that the admissible lift vectors, with nominal . lambda = 1, are the projection of a polytope with a few more
variables, and a linear function is maximised over them by a small linear program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...._common.highs import INFINITE, Program
from ...._common.types import Floats
from ....errors import SolverError
from ....model.lift_sets import SetLifts
from ....model.prior_set import PriorSet
from ....model.utility import ExpectedGain, FInformation
from ...effort import Effort
from ...generate import Solution
from ...masters.linear import LinearSearch
from ...problem import Problem
from ...set_levels import nested_columns, nested_sets
from ...tuning import CALL, ELEMENT, ITERATION, MOVED, SEARCHES
from .oracle import Columns, separable_generation, started


class LiftProgram:
    """max g . lambda over admissible lift vectors, kept warm from call to call."""

    def __init__(self, priors: PriorSet, c: float) -> None:
        from scipy.sparse import csr_array  # a tenth of a second: not at import

        n, pi = priors.size, priors.nominal.probabilities
        self.size = n
        top = float(min(c, 1 / pi.min()))
        D, U = priors.center - priors.lower, priors.upper - priors.center
        moved = min(priors.radius / 2, math.fsum(D), math.fsum(U))
        # Where every symbol can take all that may be moved, everything goes to the smallest lift: A <= lambda_i.
        floor = bool(np.all(np.minimum(moved, math.fsum(D) - D) - 1e-15 <= U))
        one, none = np.eye(n), np.zeros((n, n))
        v = np.zeros((n, 0 if floor else n))
        column = np.ones((n, 1))
        zero = 0 * column
        effort = [priors.center, -D, np.zeros(0) if floor else -U, np.array([-1 / c, moved, -moved])]
        rows = [
            np.concatenate((pi, np.zeros(n + v.shape[1] + 3)))[None],
            np.concatenate(effort)[None],
            np.concatenate((np.zeros(2 * n + v.shape[1]), [0, -1, 1]))[None],
            np.hstack((-one, none, v, column, zero, zero)),
            np.hstack((-one, one, v, zero, zero, column)),
            np.hstack((one, none, v if floor else one, zero, -column, zero)),
        ]  # variables: lambda, w >= lambda - T, v >= A - lambda, t, A, T
        matrix = np.vstack(rows)
        self.matrix = csr_array(matrix)
        k, m = matrix.shape
        self._program = Program(
            {
                "primal_feasibility_tolerance": 1e-9,
                "dual_feasibility_tolerance": 1e-9,
                "small_matrix_value": 1e-9,
            },
            maximise=True,
        )
        self._low, self._high = np.zeros(m), np.full(m, top)
        self._low[m - 3], self._high[:n] = 1.0, np.minimum(top, 1 / pi)
        self._program.add_columns(np.zeros(m), self._low, self._high, np.zeros((m, 0)))
        self._right, high = np.zeros(k), np.full(k, INFINITE)
        self._right[0] = high[0] = 1.0
        self._program.add_rows(self._right, high, matrix)
        self.spent = 0.0  # nodes, see Effort

    def maximise(self, g: Floats) -> tuple[Floats, float]:
        """The best lift vector and a bound on g . lambda.

        The bound is proven from the multipliers, whatever the tolerances of the solver: all variables are bounded.
        """
        cost = np.zeros(len(self._low))
        cost[: self.size] = g
        scale = max(float(np.abs(cost).max()), 1e-300)
        self._program.change_costs(cost / scale)
        status = self._run()
        if status != "optimal":
            self._program.forget()
            status = self._run()
        if status != "optimal":
            raise SolverError(
                f"a pricing program ended with status {status}",
                remedy="try a slightly different epsilon, or another method",
            )
        variables, multipliers = self._program.solution()
        z = multipliers * scale
        z[1:] = np.minimum(z[1:], 0.0)  # rows say ">= 0", and more of them cannot help
        rest = cost - z @ self.matrix
        bound = math.fsum([float(z @ self._right), *np.maximum(rest * self._low, rest * self._high).tolist()])
        return variables[: self.size], bound

    def over(self, effort: Effort) -> bool:
        """Whether nothing is left of an effort, after what was done since it was last asked."""
        effort.spend(self.spent)
        self.spent = 0.0
        return effort.over

    def _run(self) -> str:
        before = self._program.iterations
        status = self._program.run()
        rows, columns = self._program.shape
        self.spent += CALL + (self._program.iterations - before) * (ITERATION + ELEMENT * (rows + columns))
        return status


STEP = 1e-6  # of numerical derivatives


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
        for _ in range(SEARCHES + 1):
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
    found = search.known.add_good(run, lifts)
    if found or search.program.over(run.effort):
        return found
    some = np.concatenate((lifts[: few // 2], lifts[-(few - few // 2) :]))
    lifts = climb(search.lifts.priors, search.lifts.c, reduced, some, run.effort)
    return search.known.add_good(run, lifts)


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


def climb(
    priors: PriorSet, c: float, reduced: Callable[[Floats], Floats], lifts: Floats, effort: Effort
) -> Floats:
    """The columns reached when single symbols go into either set, or out, wherever that gains most.

    Each takes at most two steps a symbol, and none when nothing is left of the effort.
    """
    inner, outer = nested_sets(lifts)
    n = priors.size
    lifts = nested_columns(priors, c, inner, outer)
    values = reduced(lifts)
    symbol = np.arange(n)
    rising = np.arange(len(lifts))  # those that the last step made better
    for _ in range(2 * n):
        if not len(rising) or effort.over:
            break
        tried = []
        for place in ((True, True), (False, True), (False, False)):
            a, b = (np.repeat(x[rising, None, :], n, axis=1) for x in (inner, outer))
            a[:, symbol, symbol], b[:, symbol, symbol] = place
            tried.append((a, b))
        a, b = (np.concatenate(x, axis=1).reshape(-1, n) for x in zip(*tried, strict=True))
        some = a.any(axis=1)
        moved = np.tile(lifts[0], (len(a), 1))
        moved[some] = nested_columns(priors, c, a[some], b[some])
        effort.spend(MOVED * a.size)
        gains = np.where(some, reduced(moved), -np.inf).reshape(len(rising), -1)
        best = np.argmax(gains, axis=1)
        better = gains[np.arange(len(rising)), best] > values[rising] + 1e-12
        chosen, rising = (np.arange(len(rising)) * 3 * n + best)[better], rising[better]
        inner[rising], outer[rising], lifts[rising] = a[chosen], b[chosen], moved[chosen]
        values[rising] = gains.ravel()[chosen]
    return lifts
