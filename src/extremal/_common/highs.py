"""Linear programs, solved by HiGHS: quiet, one thread, one seed, so that equal programs have equal answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .types import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Options = Mapping[str, str | int | float | bool]
OPTIONS: Options = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "presolve": "off",
    "small_matrix_value": 1e-12,  # the least allowed: smaller elements count as 0
}
INFINITE = float("inf")  # as a bound; HiGHS takes it for what it is


class Program:
    """A linear program that stays warm: rows and columns come in, costs and bounds change, and it is solved again."""

    def __init__(self, options: Options, maximise: bool = False) -> None:
        import highspy  # a tenth of a second: not at import

        self._highs: Any = highspy.Highs()
        self._names = {
            highspy.HighsModelStatus.kOptimal: "optimal",
            highspy.HighsModelStatus.kInfeasible: "infeasible",
            highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible",
            highspy.HighsModelStatus.kTimeLimit: "out of time",
        }
        self.iterations = 0  # of the simplex method, in all runs
        self.set(OPTIONS)
        self.set(options)
        if maximise:
            self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def set(self, options: Options) -> None:
        """Set options of HiGHS."""
        for option, value in options.items():
            self._highs.setOptionValue(option, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._highs.getNumRow(), self._highs.getNumCol()

    def add_rows(self, low: Floats, high: Floats, matrix: Floats | csr_array) -> None:
        """Rows low <= matrix x <= high."""
        self._highs.addRows(len(low), low, high, *_sparse(matrix))

    def add_columns(self, costs: Floats, low: Floats, high: Floats, matrix: Floats) -> None:
        """Variables low <= x <= high, one a row of the matrix, which holds their elements in the rows."""
        self._highs.addCols(len(costs), costs, low, high, *_sparse(matrix))

    def change_costs(self, costs: Floats) -> None:
        """Another objective."""
        self._highs.changeColsCost(len(costs), _all(costs), costs)

    def change_columns(self, low: Floats, high: Floats) -> None:
        """Other bounds of the variables."""
        self._highs.changeColsBounds(len(low), _all(low), low, high)

    def change_rows(self, low: Floats, high: Floats) -> None:
        """Other bounds of the rows."""
        self._highs.changeRowsBounds(len(low), _all(low), low, high)

    def forget(self) -> None:
        """Start from scratch next time."""
        self._highs.clearSolver()

    def run(self, seconds: float = INFINITE) -> str:
        """Solve it, and how that ended: "optimal", "infeasible", "out of time", or what HiGHS calls it."""
        if seconds < INFINITE:
            self.set({"time_limit": self._highs.getRunTime() + max(seconds, 0.0)})  # its clock goes on
        self._highs.run()
        if seconds < INFINITE:
            self.set({"time_limit": INFINITE})
        self.iterations += max(int(self._highs.getInfo().simplex_iteration_count), 0)
        status = self._highs.getModelStatus()
        return self._names.get(status) or str(self._highs.modelStatusToString(status))

    @property
    def value(self) -> float:
        """The objective."""
        return float(self._highs.getInfo().objective_function_value)

    def solution(self) -> tuple[Floats, Floats]:
        """The variables and the multipliers of the rows."""
        found = self._highs.getSolution()
        return np.array(found.col_value), np.array(found.row_dual)


def _all(values: Floats) -> Any:
    """The numbers of as many rows or columns."""
    return np.arange(len(values), dtype=np.int32)


def _sparse(matrix: Floats | csr_array) -> tuple[int, Any, Any, Floats]:
    """The elements of a matrix that are not 0, row by row."""
    if not isinstance(matrix, np.ndarray):
        return matrix.nnz, matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
    row, column = np.nonzero(matrix)
    starts = np.searchsorted(row, np.arange(len(matrix))).astype(np.int32)
    return len(row), starts, column.astype(np.int32), np.asarray(matrix[row, column], dtype=np.float64)
