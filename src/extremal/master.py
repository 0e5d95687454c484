"""The master program of Theorem 5 over the columns known so far, kept warm in HiGHS.

maximise sum_v rho_v mu(v) subject to sum_v rho_v v = 1, rho >= 0. The rows are written for lambda - low or for
high - lambda, whichever is sparser; the row sum_v rho_v = 1 follows from them. Columns are rows of arrays here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import SolverError

Floats = NDArray[np.float64]

# Primal simplex first: the last basis stays feasible when columns come in. Degenerate programs can make it cycle at a
# tight tolerance; then dual simplex from scratch, then interior point.
ATTEMPTS: tuple[dict[str, str | int | float], ...] = (
    {"solver": "simplex", "simplex_strategy": 4, "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    {"simplex_strategy": 1},
    {"solver": "ipm", "primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7},
)


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
        self._seen: set[bytes] = set()
        import highspy  # a tenth of a second: not at import

        self._solver = highspy
        self._highs = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("parallel", "off"),
            ("threads", 1),
            ("simplex_iteration_limit", 100 * len(pi) + 5000),  # it can cycle
        ):
            self._highs.setOptionValue(option, value)
        n = len(pi)
        empty = np.zeros(0, dtype=np.int32)
        self._highs.addRows(n, np.ones(n), np.ones(n), 0, np.zeros(n, dtype=np.int32), empty, np.zeros(0))
        self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def add(self, lifts: Floats, gains: Floats) -> int:
        """Add the columns that are new and say how many were."""
        new = [k for k, row in enumerate(lifts) if self._is_new(row)]
        if not new:
            return 0
        lifts, gains = lifts[new], gains[new]
        rows = (self.high - lifts if self.absent else lifts - self.low) / self.side
        rows[np.abs(rows) < 1e-15] = 0.0
        column, symbol = np.nonzero(rows)
        starts = np.searchsorted(column, np.arange(len(new))).astype(np.int32)
        m = len(new)
        self._highs.addCols(
            m,
            gains / self.scale,
            np.zeros(m),
            np.full(m, self._solver.kHighsInf),
            len(column),
            starts,
            symbol.astype(np.int32),
            rows[column, symbol],
        )
        self.lifts = np.concatenate((self.lifts, lifts))
        self.gains = np.concatenate((self.gains, gains))
        return m

    def solve(self) -> MasterSolution:
        """The optimum over the columns added so far."""
        for attempt in ATTEMPTS:
            for option, value in attempt.items():
                self._highs.setOptionValue(option, value)
            self._highs.run()
            status = self._highs.getModelStatus()
            if status == self._solver.HighsModelStatus.kOptimal:
                break
            self._highs.clearSolver()
        else:
            raise SolverError(f"the master program ended with status {self._highs.modelStatusToString(status)}")
        solution = self._highs.getSolution()
        u = np.array(solution.row_dual) * self.scale / self.side
        if self.absent:
            dual = self.high * u.sum() * self.pi - u
        else:
            dual = u - self.low * u.sum() * self.pi
        value = self._highs.getInfo().objective_function_value * self.scale
        return MasterSolution(np.maximum(np.array(solution.col_value), 0.0), float(value), dual)

    def refined(self, weights: Floats) -> tuple[Floats, Floats]:
        """The columns in use and their weights, the basis system solved again to full precision."""
        used = np.flatnonzero(weights > 1e-11)
        while True:
            rows = (self.high - self.lifts[used] if self.absent else self.lifts[used] - self.low) / self.side
            rho = np.linalg.lstsq(rows.T, np.ones(len(self.pi)), rcond=None)[0]
            if rho.min() > 0:
                return self.lifts[used], rho
            used = used[rho > 0]

    def _is_new(self, row: Floats) -> bool:
        key = np.round(row, 9).tobytes()  # columns closer than that are one: twins make the program degenerate
        if key in self._seen:
            return False
        self._seen.add(key)
        return True
