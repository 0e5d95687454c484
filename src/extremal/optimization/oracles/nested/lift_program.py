"""Linear functions over the admissible lift vectors of a set of priors.

A column is admissible if max_i lambda_i <= c h(lambda), where h(lambda) = min over the set of pi . lambda. With
D = center - lower, U = upper - center and m = radius / 2, linear programming duality gives

    h(lambda) = max over A <= T of center . lambda - m (T - A) - sum_i U_i (A - lambda_i)^+ - sum_i D_i (lambda_i - T)^+

so that the admissible lift vectors, with nominal . lambda = 1, are the projection of a polytope with a few more
variables, and a linear function is maximised over them by a small linear program.
"""

from __future__ import annotations

import math

import numpy as np

from ...._common.highs import INFINITE, Program
from ...._common.types import Floats
from ....errors import SolverError
from ....model.prior_set import PriorSet
from ...effort import ELEMENT, ITERATION, Effort

CALL = 4_000  # nodes that a linear program costs before its first iteration


class LiftProgram:
    """max g . lambda over admissible lift vectors, kept warm from call to call."""

    def __init__(self, priors: PriorSet, c: float) -> None:
        from scipy.sparse import csr_array  # a tenth of a second: not at import

        n, pi = priors.size, priors.nominal.probabilities
        self.size = n
        self.top = float(min(c, 1 / pi.min()))
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
        self.variables = m
        self._program = Program(
            {
                "primal_feasibility_tolerance": 1e-9,
                "dual_feasibility_tolerance": 1e-9,
                "small_matrix_value": 1e-9,
            },
            maximise=True,
        )
        self._low, self._high = np.zeros(m), np.full(m, self.top)
        self._low[m - 3], self._high[:n] = 1.0, np.minimum(self.top, 1 / pi)
        self._program.add_columns(np.zeros(m), self._low, self._high, np.zeros((m, 0)))
        self._right, high = np.zeros(k), np.full(k, INFINITE)
        self._right[0] = high[0] = 1.0
        self._program.add_rows(self._right, high, matrix)
        self.spent = 0.0  # nodes, see Effort

    def maximise(self, g: Floats) -> tuple[Floats, float]:
        """The best lift vector and a bound on g . lambda.

        The bound is proven from the multipliers, whatever the tolerances of the solver: all variables are bounded.
        """
        n, m = self.size, self.variables
        cost = np.zeros(m)
        cost[:n] = g
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
        return variables[:n], bound

    def over(self, effort: Effort) -> bool:
        """Whether nothing is left of a effort, after what was done since it was last asked."""
        effort.spend(self.spent)
        self.spent = 0.0
        return effort.over

    def _run(self) -> str:
        before = self._program.iterations
        status = self._program.run()
        rows, columns = self._program.shape
        self.spent += CALL + (self._program.iterations - before) * (ITERATION + ELEMENT * (rows + columns))
        return status
