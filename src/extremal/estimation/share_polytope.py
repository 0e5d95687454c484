"""The least and largest value of linear functions over the shares that bounds on other functions allow."""

from __future__ import annotations

import numpy as np

from .._common.highs import INFINITE, Program
from .._common.types import Floats

WORTH = 1e-3  # of its width: an interval that could shrink by less is left alone
TRIED, GAIN = 10, 0.02  # the widest intervals are tried first; if they gain less, the others are left alone
SLACK = 1e-9  # of a row's range: what rounding may have done to its bounds


def narrowed(
    rows: Floats, low: Floats, high: Floats, targets: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """[lower, upper] of every target, cut to {theta in the simplex: low <= rows theta <= high}.

    Nothing rests on the solver: for any multipliers y and any theta of the polytope,
    t . theta >= sum_r min(y_r low_r, y_r high_r) + min_i (t - rows^T y)_i, where the first sum takes y low for
    y > 0. The solver only finds good multipliers. Its solutions also tell which programs cannot help.
    """
    rows, low, high = _scaled(rows, low, high)
    program = _Program(rows, low, high)
    before = upper - lower
    lower, upper = lower.copy(), upper.copy()
    least, largest = np.full(len(targets), np.inf), np.full(len(targets), -np.inf)
    for done, k in enumerate(np.argsort(-before, kind="stable"), start=1):
        for sign in (-1.0, 1.0):
            room = least[k] - lower[k] if sign > 0 else upper[k] - largest[k]
            if room <= WORTH * (upper[k] - lower[k]):
                continue
            theta, y = program.minimize(sign * targets[k])
            bound = np.where(y > 0, y * low, y * high).sum() + (sign * targets[k] - y @ rows).min()
            if sign > 0:
                lower[k] = max(lower[k], bound)
            else:
                upper[k] = min(upper[k], -bound)
            if theta is not None:
                values = targets @ theta
                least, largest = np.minimum(least, values), np.maximum(largest, values)
        if done == TRIED and (before - upper + lower).sum() < GAIN * before[before >= before[k]].sum():
            break
    return lower, upper


def _scaled(rows: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows from 0 to 1, without those whose bounds cut nothing off; sum theta = 1 allows to shift them."""
    bottom, span = rows.min(axis=1), rows.max(axis=1) - rows.min(axis=1)
    useful = span > 1e-6 * np.abs(rows).max(axis=1)  # others are constant up to rounding
    rows, low, high = rows[useful], low[useful], high[useful]
    bottom, span = bottom[useful], span[useful]
    rows = (rows - bottom[:, None]) / span[:, None]
    low, high = (low - bottom) / span - SLACK, (high - bottom) / span + SLACK
    cuts = (high < 1) | (low > 0)
    return rows[cuts], np.maximum(low[cuts], -SLACK), np.minimum(high[cuts], 1 + SLACK)


class _Program:
    """One linear program over the polytope whose costs change."""

    def __init__(self, rows: Floats, low: Floats, high: Floats) -> None:
        # The simplex method can stall for minutes on these thin polytopes.
        self._program = Program({"solver": "ipm", "run_crossover": "off", "ipm_iteration_limit": 200})
        n = rows.shape[1]
        none = np.full(n, INFINITE)
        self._program.add_columns(np.zeros(n), np.zeros(n), none, np.zeros((n, 0)))
        ends = np.concatenate(([1.0], low)), np.concatenate(([1.0], high))
        self._program.add_rows(*ends, np.concatenate((np.ones((1, n)), rows)))

    def minimize(self, cost: Floats) -> tuple[Floats | None, Floats]:
        """Shares, if the program was solved, and the multipliers of the rows, which may be anything."""
        self._program.forget()
        self._program.change_costs(cost)
        status = self._program.run()
        theta, multipliers = self._program.solution()
        y = multipliers[1:]
        if status != "optimal":
            return None, np.where(np.isfinite(y) & (np.abs(y) < 1e6), y, 0.0)
        return theta, y
