"""The maximum of a likelihood that need not be concave: Newton's method with safeguards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._common.types import Floats
from .likelihood import Derivatives, Problem

MOST_STEPS = 200
LONGEST = 4.0  # of a step, in linear predictors: beyond, a quadratic model tells nothing
DONE = 1e-13  # gain in nats that is still expected: coefficients are known to 3e-7 standard errors
ROUNDING = 1e-13  # of the log-likelihood, relative


@dataclass(frozen=True, eq=False)
class Peak:
    """Where the climb ended; `converged` if no more than a rounding error is left to gain."""

    theta: Floats
    at: Derivatives
    converged: bool
    steps: int


def climb(problem: Problem, start: Floats) -> Peak:
    """A local maximum of the log-likelihood, uphill all the way from the start.

    Where the Hessian is not negative definite its eigenvalues are replaced by their absolute values, so that steps
    lead uphill and away from saddle points; steps are halved until the likelihood grows as the gradient promises.
    """
    theta, at = start, problem.derivatives(start)
    for count in range(MOST_STEPS):
        step, definite = _direction(at)
        promised = float(at.gradient @ step)
        length = float(np.linalg.norm(step))
        if length > LONGEST:
            step, promised = step * (LONGEST / length), promised * LONGEST / length
        if promised < DONE:
            # So short a step changes the derivatives by less than rounding does.
            return Peak(theta + step, at._replace(value=at.value + promised / 2), True, count)
        found = _search(problem, theta, at, step, promised)
        if found is None:
            return Peak(theta, at, definite and promised < 1e-6, count)
        theta, at = found
    return Peak(theta, at, False, MOST_STEPS)


def _direction(at: Derivatives) -> tuple[Floats, bool]:
    values, vectors = np.linalg.eigh(-at.hessian)
    top = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    safe = np.maximum(np.abs(values), 1e-14 * top)
    return vectors @ ((vectors.T @ at.gradient) / safe), bool(values.min(initial=0.0) > 0)


def _search(
    problem: Problem, theta: Floats, at: Derivatives, step: Floats, promised: float
) -> tuple[Floats, Derivatives] | None:
    """The first of the halved steps that keeps a part of its promise."""
    scale = 1.0
    for _ in range(40):
        trial = problem.derivatives(theta + scale * step)
        if trial.value >= at.value + 1e-4 * scale * promised - ROUNDING * abs(at.value):
            return theta + scale * step, trial
        scale /= 2
    return None
