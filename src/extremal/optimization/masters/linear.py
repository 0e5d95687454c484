"""The master program of Theorem 5 over the columns known so far, kept warm in HiGHS.

maximise sum_v rho_v mu(v) subject to sum_v rho_v v = 1, rho >= 0. The rows are written for lambda - low or for
high - lambda, whichever is sparser; the row sum_v rho_v = 1 follows from them. Columns are rows of arrays here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._common.highs import INFINITE, Options, Program
from ..._common.types import Floats, Ints
from ...errors import SolverError
from ..effort import ELEMENT, ITERATION, Budget

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
        self._units = np.zeros(
            0
        )  # of the weights, 1 unless lifts are so large that the solver would refuse them
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
        """Add the columns that are new and say how many were.

        A vertex is known by which symbols are full and which are empty, whatever rounding did to the partial one.
        """
        kinds = (lifts > self.low).astype(np.uint8) + (lifts >= self.high)
        mixed = (kinds == 1).sum(axis=1) > 1
        new = self._unseen([(lifts if mixed[k] else kinds)[k].tobytes() for k in range(len(lifts))])
        self._append(lifts[new], gains[new])
        return len(new)

    def solve(self, attempts: Attempts = ATTEMPTS) -> MasterSolution:
        """The optimum over the columns added so far, up to the tolerances of the solver."""
        solution = self.solve_within(Budget(), attempts)
        assert solution is not None
        return solution

    def solve_within(self, budget: Budget, attempts: Attempts = ATTEMPTS) -> MasterSolution | None:
        """The same, or None if the time limit of the budget ends it first."""
        status = self._run(attempts, budget)
        if status == "out of time":
            budget.stop()
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
                if self._run(ATTEMPTS[:2], Budget()) != "optimal":
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

    def _run(self, attempts: Attempts, budget: Budget) -> str:
        """How the first attempt ended that reached an optimum or ran out of time, else the last one."""
        before, status = self._program.iterations, ""
        for attempt in attempts:
            if status:
                self._program.forget()
            self._program.set(attempt)
            status = self._program.run(budget.seconds)
            if status in ("optimal", "out of time"):
                break
        rows, columns = self._program.shape
        budget.spend((self._program.iterations - before) * (ITERATION + ELEMENT * rows * columns))
        return status

    def _rows(self, lifts: Floats) -> Floats:
        """Columns as they stand in the program."""
        return np.asarray((self.high - lifts if self.absent else lifts - self.low) * (ROWS / self.side))

    def _dual(self, u: Floats) -> Floats:
        """The multipliers of sum_v rho_v v = 1 from those of the rows as they are written."""
        u = u * (self.scale * ROWS / self.side)
        return np.asarray(
            self.high * u.sum() * self.pi - u if self.absent else u - self.low * u.sum() * self.pi
        )


def _least_squares(A: Floats, b: Floats) -> Floats:
    """x of least |A x - b|; columns of a basis are independent, and then QR is many times faster than SVD."""
    if A.shape[1] <= A.shape[0]:
        Q, R = np.linalg.qr(A)
        pivots = np.abs(R.diagonal())
        if pivots.min() > 1e-10 * pivots.max():
            return np.asarray(np.linalg.solve(R, Q.T @ b))
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])
