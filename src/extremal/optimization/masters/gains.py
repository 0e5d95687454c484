"""The optimal mechanism for an expected gain, as one linear program of polynomial size.

mu is a maximum over decisions of linear functions, so outputs with the same best decision can be merged: one output
for each decision suffices. With q_wi = P(w|i) and rho_w = sum_i pi_i q_wi, maximise sum pi_i gain_wi q_wi subject to
sum_w q_wi = 1 and low rho_w <= q_wi <= high rho_w. The multipliers of the row sums are the dual vector of Theorem 5.
"""

from __future__ import annotations

import math

import numpy as np

from ..._common.highs import INFINITE, Options, Program
from ..._common.types import Floats
from ...errors import SolverError
from ..effort import Stats, Why
from ..generate import Solution
from .linear import LARGE

OPTIONS: Options = {
    "presolve": "on",
    "small_matrix_value": 1e-9,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}
NEAR = 1e-7  # lifts this near to a bound, relatively, are at it
UNUSED = 1e-11  # smaller lifts are 0, and decisions that no symbol leads to more often are dropped


def gain_program(pi: Floats, gain: Floats, low: float, high: float) -> Solution:
    """The optimum of sum over outputs of max_w sum_i pi_i gain[w, i] P(y|i), lifts within [low, high]."""
    from scipy.sparse import coo_array, eye_array, hstack, kron, vstack

    w, n = gain.shape
    weighted = gain * pi
    scale = max(float(np.abs(weighted).max()), 1e-300)
    one = np.ones((n, 1))
    # Variables: q_00, q_01, ..., then rho.
    each = eye_array(w * n)
    t = (
        math.sqrt(high) if high > LARGE else 1.0
    )  # t^2 rho instead of rho, t times the means: no element is extreme
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
    q = q[q.max(axis=1) > UNUSED]
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
    full, empty = q >= high * (1 - NEAR) * rho[:, None], q <= (low * (1 + NEAR) + UNUSED) * rho[:, None]
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
