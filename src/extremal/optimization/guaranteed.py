"""The mechanism that guarantees the most to every answer, as one linear program over all extremal lift vectors.

maximise t subject to sum_v rho_v u_x(v) >= t for every answer x, sum_v rho_v v = 1, rho >= 0, where u_x(v) is what a
report with the lifts v adds to x. u_x is convex in v, so vertices of the lift polytope suffice (as in Theorem 5). The
multipliers theta of the answers sum to 1, and y of the lifts prove the bound: theta . u(v) <= y . v for all v, so
min_x <= sum_x theta_x U_x <= sum(y).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import SizeError, SolverError
from ..model.guaranteed import Guaranteed
from ..model.mechanism import Mechanism, constant
from ..model.prior import Prior, check_prior
from ..model.regions import check_epsilon, largest_lift
from ..theory.lift_vectors import lift_vertices
from ..theory.pairing import pair_outputs
from .bound import checked_bound
from .generate import Stats, relative_gap
from .result import Design, within_lifts

LARGEST = 14  # answers: 24,000 lift vectors
MOST_COLUMNS = 300_000  # lift vectors times decisions
USED = 1e-12


def run_guaranteed(prior: Prior, epsilon: float, utility: Guaranteed, tolerance: float) -> Design:
    """The mechanism of largest guaranteed utility under epsilon-PML."""
    begin = time.perf_counter()
    pi, high = check_prior(prior).probabilities, largest_lift(prior.probabilities, check_epsilon(epsilon))
    decisions = len(utility.columns(np.ones((1, prior.size)))[0])
    lifts = lift_vertices(pi, 0.0, high) if prior.size <= LARGEST else np.empty((0, 0))
    if prior.size > LARGEST or len(lifts) * decisions > MOST_COLUMNS:
        raise SizeError(
            f"a design for {utility.name} lists all extremal lift vectors, for at most {LARGEST} answers and "
            f"{MOST_COLUMNS} vectors times decisions",
            given=f"{prior.size} answers and {decisions} decisions",
            remedy="merge rare answers, or design for the mean: `design(prior, epsilon, utility)`",
        )
    gains = utility.columns(lifts)
    rho, theta, y = _program(lifts, gains.reshape(-1, prior.size), decisions)
    y = y + max(float(np.max(gains @ theta - (lifts @ y)[:, None])), 0.0) * pi
    used = rho > USED
    P = lifts[used].T * rho[used]
    made = Mechanism(P / P.sum(axis=1, keepdims=True), prior.labels) if len(lifts) > 1 else constant(prior)
    mechanism = pair_outputs(prior, within_lifts(prior, made, epsilon))
    value = utility(prior, mechanism)
    upper = checked_bound(math.fsum(y), value)
    stats = Stats(1, len(lifts) * decisions, 0, time.perf_counter() - begin)
    proven = relative_gap(value, upper) <= tolerance
    found = Design(prior, epsilon, utility, "guarantee", mechanism, value, upper, y, proven, stats)
    return replace(found, weights=theta)


def _program(lifts: Any, gains: Any, decisions: int) -> tuple[Any, Any, Any]:
    """Weights of the lift vectors, multipliers of the answers and of the lifts."""
    from scipy.optimize import linprog  # half a second: not at import

    count, size = len(gains), lifts.shape[1]
    scale = max(float(np.abs(gains).max()), 1e-300)
    result: Any = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=np.hstack([-gains.T / scale, np.ones((size, 1))]),
        b_ub=np.zeros(size),
        A_eq=np.hstack([np.repeat(lifts, decisions, axis=0).T, np.zeros((size, 1))]),
        b_eq=np.ones(size),
        bounds=[*[(0, None)] * count, (None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise SolverError(f"the program of a guarantee ended without an answer: {result.message}")
    theta = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
    rho = result.x[:-1].reshape(-1, decisions).sum(axis=1)
    return rho, theta / theta.sum(), -np.asarray(result.eqlin.marginals) * scale
