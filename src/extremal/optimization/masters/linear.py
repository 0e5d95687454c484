"""The master program of Theorem 5 over the columns known so far, kept warm in HiGHS.

maximise sum_v rho_v mu(v) subject to sum_v rho_v v = 1, rho >= 0, over vertices v of the lift polytope. The rows are
written for lambda - low or for high - lambda, whichever is sparser; the row sum_v rho_v = 1 follows from them. Columns
are rows of arrays here. The dual is min sum(y) with y . v >= mu(v) for all v, and any y gives the bound
U* <= sum(y) + max_v (mu(v) - y . v).

For an expected gain one linear program of polynomial size is enough (`gain_program`).

mu is a maximum over decisions of linear functions, so outputs with the same best decision can be merged: one output
for each decision suffices. With q_wi = P(w|i) and rho_w = sum_i pi_i q_wi, maximise sum pi_i gain_wi q_wi subject to
sum_w q_wi = 1 and low rho_w <= q_wi <= high rho_w. The multipliers of the row sums are the dual vector of Theorem 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..._common.highs import INFINITE, Options, Program
from ..._common.types import Floats, Ints
from ...errors import SolverError
from ...theory.lift_vectors import arc_columns, lift_vertices
from ..effort import UNLIMITED, Effort, Stats, Why
from ..generate import Oracle, Search, Solution, generate
from ..tuning import ELEMENT, ITERATION, SOLVED_AT_ONCE

Utilities = Callable[[Floats], Floats]  # of lift vectors given as rows

# Primal simplex first: the last basis stays feasible when columns come in. Degenerate programs can make it cycle at a
# tight tolerance; then dual simplex from scratch, then interior point.
Attempts = tuple[Options, ...]
ATTEMPTS: Attempts = (
    {
        "solver": "simplex",
        "simplex_strategy": 4,
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
    },
    {"simplex_strategy": 1},
    {"solver": "ipm", "primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7},
)

ROWS = 1024.0  # rows are multiplied by this: the solver takes elements below 1e-12 for 0, and errors of 1e-9
PRECISE = 1e-16  # errors of rows and reduced costs that need no refinement, for each symbol
MAGNIFIED = 1e6  # the most that errors are magnified at once
LARGE = 1e6  # lifts from which on columns are scaled
# Of the tolerance: the value is measured again after the last program, and this leaves room for it.
CLOSED = 0.9
EXACT = 1e-13  # errors of row sums that are left as they are
FINE = 1e-8  # tolerances below this need programs solved to full precision in every round
UNUSED = 1e-14  # columns that no symbol uses more often than this are dropped


@dataclass(frozen=True)
class MasterSolution:
    """The optimum over the known columns: weights, value and the dual vector y with sum(y) = value."""

    weights: Floats
    value: float
    dual: Floats


class Master:
    """A growing linear program; adding columns keeps the last basis."""

    def __init__(self, pi: Floats, low: float, high: float, scale: float) -> None:
        self.pi, self.low, self.high = pi, low, high
        self.absent = high - 1 < 1 - low  # columns are mostly full: count what is missing
        self.side = high - 1 if self.absent else 1 - low
        self.scale = scale  # of the objective, so that tolerances are relative
        self.lifts = np.zeros((0, len(pi)))
        self.gains = np.zeros(0)
        # Of the weights, 1 unless lifts are so large that the solver would refuse them.
        self._units = np.zeros(0)
        self._seen: set[bytes] = set()
        n = len(pi)
        # The rows are scaled already; the simplex method can cycle.
        self._program = Program(
            {"simplex_scale_strategy": 0, "simplex_iteration_limit": 100 * n + 5000}, maximise=True
        )
        self._program.add_rows(np.full(n, ROWS), np.full(n, ROWS), np.zeros((n, 0)))

    @property
    def columns(self) -> Floats:
        """The columns added so far, as lifts of all symbols."""
        return self.lifts

    def add(self, lifts: Floats, gains: Floats) -> int:
        """Add the columns that are new and say how many were."""
        new = self._unseen(self._keys(lifts, lifts))
        self._append(lifts[new], gains[new])
        return len(new)

    def solve(self, attempts: Attempts = ATTEMPTS) -> MasterSolution:
        """The optimum over the columns added so far, up to the tolerances of the solver."""
        solution = self.solve_within(UNLIMITED, attempts)
        assert solution is not None
        return solution

    def solve_within(self, effort: Effort, attempts: Attempts = ATTEMPTS) -> MasterSolution | None:
        """The same, or None if the time limit of the effort ends it first."""
        status = self._run(attempts, effort)
        if status == "out of time":
            effort.stop()
            return None
        if status != "optimal":
            raise SolverError(
                f"the master program ended with status {status}",
                remedy="try a slightly different epsilon, or another method",
            )
        weights, multipliers = self._program.solution()
        value = self._program.value * self.scale
        return MasterSolution(np.maximum(weights * self._units, 0.0), value, self._dual(multipliers))

    def refine(self, solution: MasterSolution) -> MasterSolution:
        """The optimum to full precision, after `solve`: iterative refinement (Gleixner, Steffy and Wolter, 2016).

        What is left of rows and reduced costs is magnified and solved for again, from the last basis. The solver
        accepts errors of 1e-9 in the rows. Repaired afterwards, an error of d costs sqrt(d) in a utility that is
        steep at 0 (Hellinger).
        """
        units = self._units
        rows, costs = self._rows(self.lifts) * units[:, None], self.gains / self.scale * units
        m, n = rows.shape
        none = np.full(m, INFINITE)
        w, u = solution.weights / units, self._program.solution()[1]
        refined, least, precise = (w, u), np.inf, PRECISE * (n + 10)
        try:
            for _ in range(4):
                left, reduced = ROWS - w @ rows, costs - rows @ u
                infeasible = max(float(np.abs(left).max()) / ROWS, float(-w.min()))
                improvable = float(reduced.max())
                if max(infeasible, improvable) < least:
                    refined, least = (w, u), max(infeasible, improvable)
                if least <= precise:
                    break
                # By as much as the error, but not so much that rounding is magnified to something.
                a, b = (min(1 / e, MAGNIFIED) if e > precise else 1.0 for e in (infeasible, improvable))
                self._program.change_columns(-a * w, none)
                self._program.change_rows(a * left, a * left)
                self._program.change_costs(b * reduced)
                if self._run(ATTEMPTS[:2], UNLIMITED) != "optimal":
                    break
                change, multipliers = self._program.solution()
                w, u = w + change / a, u + multipliers / b
        finally:
            self._program.change_columns(np.zeros(m), none)
            self._program.change_rows(np.full(n, ROWS), np.full(n, ROWS))
            self._program.change_costs(costs)
        w, u = refined
        return MasterSolution(np.maximum(w * units, 0.0), float(u.sum()) * ROWS * self.scale, self._dual(u))

    def used(self, weights: Floats) -> tuple[Floats, Floats]:
        """The columns in use and their weights, moved by as little as makes the rows hold to full precision."""
        used, rho = self._polished(weights)
        return self.lifts[used], rho

    def _polished(self, weights: Floats) -> tuple[Ints, Floats]:
        """The numbers of the columns in use, and their weights."""
        # Columns may have come in since.
        used = np.flatnonzero(weights * self.lifts[: len(weights)].max(axis=1) > UNUSED)
        rho = weights[used]
        rows = self._rows(self.lifts[used])
        for _ in range(2):
            rho = np.maximum(rho + _least_squares(rows.T, ROWS - rho @ rows), 0.0)
        return used[rho > 0], rho[rho > 0]

    def _keys(self, lifts: Floats, others: Floats) -> list[bytes]:
        """What tells columns apart: of a vertex which symbols are full and which are empty, whatever rounding did to
        the partial one; of others what is given for them."""
        kinds = (lifts > self.low).astype(np.uint8) + (lifts >= self.high)
        mixed = (kinds == 1).sum(axis=1) > 1
        return [(others if mixed[k] else kinds)[k].tobytes() for k in range(len(lifts))]

    def _unseen(self, keys: list[bytes]) -> list[int]:
        """Which keys are neither known nor among those before them: twins make the program degenerate."""
        new = []
        for k, key in enumerate(keys):
            if key not in self._seen:
                self._seen.add(key)
                new.append(k)
        return new

    def _append(self, lifts: Floats, gains: Floats) -> None:
        """Put columns into the program."""
        m = len(lifts)
        if not m:
            return
        rows = self._rows(lifts)
        units = ROWS / rows.max(axis=1) if self.high > LARGE else np.ones(m)
        self._program.add_columns(
            gains / self.scale * units, np.zeros(m), np.full(m, INFINITE), rows * units[:, None]
        )
        self._units = np.concatenate((self._units, units))
        self.lifts = np.concatenate((self.lifts, lifts))
        self.gains = np.concatenate((self.gains, gains))

    def _run(self, attempts: Attempts, effort: Effort) -> str:
        """How the first attempt ended that reached an optimum or ran out of time, else the last one."""
        before, status = self._program.iterations, ""
        for attempt in attempts:
            if status:
                self._program.forget()
            self._program.set(attempt)
            status = self._program.run(effort.seconds)
            if status in ("optimal", "out of time"):
                break
        rows, columns = self._program.shape
        effort.spend((self._program.iterations - before) * (ITERATION + ELEMENT * rows * columns))
        return status

    def _rows(self, lifts: Floats) -> Floats:
        """Columns as they stand in the program."""
        return (self.high - lifts if self.absent else lifts - self.low) * (ROWS / self.side)

    def _dual(self, u: Floats) -> Floats:
        """The multipliers of sum_v rho_v v = 1 from those of the rows as they are written."""
        u = u * (self.scale * ROWS / self.side)
        return np.asarray(
            self.high * u.sum() * self.pi - u if self.absent else u - self.low * u.sum() * self.pi
        )


@dataclass(kw_only=True)
class LinearSearch(Search):
    """The state of a search over a linear master: its program, the best bound and the dual vector that proves it.

    `known` are lift vectors and weights that need no program: what is left if time is up before the first one ends.
    """

    pi: Floats
    mu: Utilities
    master: Master
    tolerance: float
    dual: Floats | None = None
    known: tuple[Floats, Floats] | None = None
    solution: MasterSolution = field(init=False)  # over all columns, but for those added since
    solved: bool = False

    @property
    def value(self) -> float:
        """That of the last program."""
        return self.solution.value

    def add(self, lifts: Floats) -> int:
        """Add columns to the program and say how many were new."""
        return self.master.add(lifts, self.mu(lifts)) if len(lifts) else 0

    def offer(self, y: Floats, delta: float) -> None:
        """All reduced values at y are at most delta: y + delta pi is dual feasible."""
        upper = math.fsum(y) + delta
        if upper < self.upper:
            self.upper, self.dual = upper, y + delta * self.pi

    def worth(self, share: float) -> float:
        """A share of what the tolerance allows to miss: columns that gain less are not worth having."""
        return share * self.tolerance * max(abs(self.solution.value), 1e-300)

    def solve(self) -> bool:
        """Solve the program again, precisely enough to tell whether the tolerance is met."""
        at_once = not self.solved and (self.known is None or len(self.pi) <= SOLVED_AT_ONCE)
        solution = self.master.solve() if at_once else self.master.solve_within(self.effort)
        if solution is None:
            return False
        self.solution, self.solved = solution, True
        if self.tolerance < FINE:
            self.solution = self.master.refine(solution)
        return True

    def run(self, oracle: Oracle[LinearSearch]) -> Solution:
        """The optimum up to the tolerance, or as near as the effort allows."""
        why = generate(self, oracle)
        stats = self.stats(len(self.master.gains), why)
        if self.solved:
            (lifts, weights), dual = _precise(self.master, self.solution), self.solution.dual
        elif self.known is not None:
            (lifts, weights), dual = self.known, None
        else:
            raise KeyboardInterrupt
        value = float(self.mu(lifts) @ weights)
        return Solution(lifts, weights, value, self.upper, self.dual, stats, multipliers=dual)


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
    return Solution(used, weights, value, math.fsum(dual), dual, Stats(1, len(lifts), why=Why.LISTED))


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


def _precise(master: Master, solution: MasterSolution) -> tuple[Floats, Floats]:
    """The columns in use with weights that hold the rows to full precision."""
    lifts, weights = master.used(solution.weights)
    off = float(np.abs(weights @ lifts - 1).max())
    if off > EXACT and len(solution.weights) == len(master.gains):  # no column came in since
        lifts, weights = master.used(master.refine(solution).weights)
    return lifts, weights


def scale(pi: Floats, low: float, high: float, mu: Utilities) -> float:
    """A typical size of the objective, for tolerances that are relative: that of the arc mechanism."""
    arcs = arc_columns(pi, low, high)
    gains = mu(arcs.lifts().T)
    return max(abs(float(gains @ arcs.weights)), 1e-6 * float(np.abs(gains).max()), 1e-300)


def _least_squares(A: Floats, b: Floats) -> Floats:
    """x of least |A x - b|; columns of a basis are independent, and then QR is many times faster than SVD."""
    if A.shape[1] <= A.shape[0]:
        Q, R = np.linalg.qr(A)
        pivots = np.abs(R.diagonal())
        if pivots.min() > 1e-10 * pivots.max():
            return np.linalg.solve(R, Q.T @ b)
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])


OPTIONS: Options = {
    "presolve": "on",
    "small_matrix_value": 1e-9,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}
NEAR = 1e-7  # lifts this near to a bound, relatively, are at it
RARE = 1e-11  # smaller lifts are 0, and decisions that no symbol leads to more often are dropped


def gain_program(pi: Floats, gain: Floats, low: float, high: float) -> Solution:
    """The optimum of sum over outputs of max_w sum_i pi_i gain[w, i] P(y|i), lifts within [low, high]."""
    from scipy.sparse import coo_array, eye_array, hstack, kron, vstack

    w, n = gain.shape
    weighted = gain * pi
    scale = max(float(np.abs(weighted).max()), 1e-300)
    one = np.ones((n, 1))
    # Variables: q_00, q_01, ..., then rho.
    each = eye_array(w * n)
    # t^2 rho instead of rho, t times the means: no element is extreme.
    t = math.sqrt(high) if high > LARGE else 1.0
    above = hstack((each, kron(eye_array(w), -high / t**2 * one)))
    below = hstack((-each, kron(eye_array(w), low / t**2 * one)))
    sums = hstack((kron(np.ones((1, w)), eye_array(n)), coo_array((n, w))))
    means = hstack((kron(eye_array(w), t * pi.reshape(1, -1)), eye_array(w) * (-1 / t)))
    bounds = vstack((above, below)) if low > 0 else above
    program = Program(OPTIONS)
    program.add_columns(
        np.concatenate((-weighted.ravel() / scale, np.zeros(w))),
        np.zeros(w * n + w),
        np.full(w * n + w, INFINITE),
        np.zeros((w * n + w, 0)),
    )
    program.add_rows(np.full(bounds.shape[0], -INFINITE), np.zeros(bounds.shape[0]), bounds.tocsr())
    right = np.repeat([1.0, 0.0], [n, w])
    program.add_rows(right, right, vstack((sums, means)).tocsr())
    status = program.run()
    if status != "optimal":
        raise SolverError(f"the gain program ended with status {status}")
    values, multipliers = program.solution()
    q = np.maximum(values[: w * n].reshape(w, n), 0.0)
    q = q[q.max(axis=1) > RARE]
    q = _polished(q, pi, low, high)
    q = q / q.sum(axis=0)
    lifts = np.clip(q / (q @ pi)[:, None], low, high)
    dual = -multipliers[-n - w : -w] * scale
    dual = dual + _largest_violation(pi, weighted, dual, low, high) * pi
    value = math.fsum((weighted @ q.T).max(axis=0))
    return Solution(lifts, q @ pi, value, max(math.fsum(dual), value), dual, Stats(1, w, why=Why.LISTED))


def _polished(q: Floats, pi: Floats, low: float, high: float) -> Floats:
    """The solution with elements that are at a bound exactly there, others moved by as little as makes all rows hold.

    The solver accepts errors, which would leave lifts above `high` and elements next to 0.
    """
    w, n = q.shape
    rho = q @ pi
    full, empty = q >= high * (1 - NEAR) * rho[:, None], q <= (low * (1 + NEAR) + RARE) * rho[:, None]
    bound = np.where(full, high, np.where(empty, low, 0.0))  # lifts of elements that are not free
    k, i = np.nonzero(~(full | empty))
    # Unknown are rho and the free elements: sum_w q_wi = 1, and sum_i pi_i q_wi = rho_w.
    A = np.zeros((n + w, w + len(k)))
    A[:n, :w] = bound.T
    A[n + np.arange(w), np.arange(w)] = bound @ pi - 1
    A[i, w + np.arange(len(k))] = 1.0
    A[n + k, w + np.arange(len(k))] = pi[i]
    x = np.concatenate((rho, q[k, i]))
    for _ in range(2):
        x = x + np.linalg.lstsq(A, np.repeat([1.0, 0.0], [n, w]) - A @ x, rcond=None)[0]
    polished = bound * x[:w, None]
    polished[k, i] = x[w:]
    return polished if polished.min() >= 0 and np.abs(polished - q).max() <= NEAR else q


def _largest_violation(pi: Floats, weighted: Floats, dual: Floats, low: float, high: float) -> float:
    """max over decisions and lift vectors of (weighted_w - dual) . lambda: a continuous knapsack for each decision."""
    profit = weighted - dual
    order = np.argsort(-profit / pi, axis=1)
    mass = pi[order]
    before = np.cumsum(mass, axis=1) - mass
    room = (1 - low) / (high - low) if high > low else 0.0
    share = np.clip((room - before) / mass, 0.0, 1.0)
    lifts = low + (high - low) * share
    return float((np.take_along_axis(profit, order, axis=1) * lifts).sum(axis=1).max())
