"""Where the best mechanism for a utility is known: Theorems 2 to 4 and both ends of the range of epsilon.

With a set of priors, two symbols, and symmetric sets and utilities.
"""

from __future__ import annotations

import math

import numpy as np

from ...errors import UtilityError
from ...model.leakage import lift
from ...model.lift_sets import SetLifts
from ...model.mechanism import Mechanism
from ...model.mechanism import constant as constant_mechanism
from ...model.mechanism import identity as identity_mechanism
from ...model.utility import NEAR, NEAR_ONE, FInformation, Utility, near_one
from ...theory import closed_form
from ..effort import Effort
from ..finish import Found
from ..generate import Solution
from ..masters.linear import better_conditioned
from ..problem import Problem
from ..set_levels import best_symmetric

ROUNDED = 1e-15  # a level that lifts, which are doubles next to 1, can still show


def constant(problem: Problem, effort: Effort) -> Found:
    """epsilon = 0: nothing may be told. The only lift vector is 1, so any y with sum(y) = mu(1) is dual feasible.

    Above 0 an f-information could be larger, by less than doubles can hold: no column adds more than its symbols do at
    the ends of their lifts.
    """
    prior, utility, pi = problem.nominal, problem.utility, problem.nominal.probabilities
    mechanism = constant_mechanism(prior)
    value = utility(prior, mechanism)
    if not (isinstance(utility, FInformation) and problem.epsilon > 0 and problem.low < 1):
        return Found("constant", mechanism, value, value * pi, value=value)
    x = math.expm1(max(problem.epsilon, ROUNDED))
    ends = np.full(len(pi), x), -np.minimum(x * (1 / pi - 1), 1.0)
    upper = value + float(pi @ np.maximum(*(near_one(utility.f, end) for end in ends)))
    return Found("constant", mechanism, upper, upper * pi, value=value, beyond_doubles=True)


def identity(problem: Problem, effort: Effort) -> Found:
    """epsilon >= epsilon_max: X itself. Lift vectors are all mixtures of e_i/pi_i, so y_i = pi_i mu(e_i/pi_i)."""
    pi = problem.nominal.probabilities
    return Found("identity", identity_mechanism(problem.nominal), proof=pi * problem.mu(np.diag(1 / pi)))


def binary(problem: Problem, effort: Effort) -> Found:
    """Theorem 2. Two vertices, so y solves two equations."""
    mechanism = closed_form.binary(problem.nominal, problem.epsilon)
    if problem.nominal.region(problem.epsilon) == 1:
        return _in_first_region(problem, mechanism, "binary")
    vertices = lift(problem.nominal, mechanism).T
    dual = np.asarray(np.linalg.solve(vertices, problem.mu(vertices)), dtype=np.float64)
    return Found("binary", mechanism, proof=dual)


def high_privacy(problem: Problem, effort: Effort) -> Found:
    """Theorem 3."""
    return _in_first_region(
        problem, closed_form.high_privacy(problem.nominal, problem.epsilon), "high-privacy"
    )


def uniform(problem: Problem, effort: Effort) -> Found:
    """Theorem 4. By symmetry y_i = U/N, and every vertex has the same utility."""
    prior, utility = problem.nominal, problem.utility
    if not isinstance(utility, Utility) or not utility.symmetric:
        raise UtilityError(
            "Theorem 4 needs a symmetric utility",
            given=f"{utility!r}",
            remedy="promise it with Utility(mu, symmetric=True)",
        )
    mechanism = closed_form.uniform(prior, problem.epsilon)
    if prior.region(problem.epsilon) == 1 and tiny(problem):
        return _in_first_region(problem, mechanism, "uniform")
    return Found("uniform", mechanism, proof=np.full(prior.size, utility(prior, mechanism) / prior.size))


def _in_first_region(problem: Problem, mechanism: Mechanism, name: str) -> Found:
    """Theorem 3. y_j = pi_j (c m - m_j) / (c - 1), m_j the utility of vertex v_j and m its mean: y . v_j = m_j."""
    c, pi, utility = problem.lifts.high, problem.nominal.probabilities, problem.utility
    spread = (
        math.expm1(problem.epsilon) if tiny(problem) else c - 1
    )  # c is what lift vectors are held against
    low = -np.minimum(spread * ((1 - pi) / pi), 1.0)  # of the lift of symbol j in v_j, less 1
    if isinstance(utility, FInformation) and tiny(problem):
        # From lifts less 1: a matrix of doubles says little of an epsilon near 1e-16, and its value as little.
        gains = (1 - pi) * near_one(utility.f, np.full(len(pi), spread)) + pi * near_one(utility.f, low)
    else:
        lifts = np.full((len(pi), len(pi)), c)
        np.fill_diagonal(lifts, 1 + low)
        gains = problem.mu(lifts)
    mean = float(pi @ gains)
    off = mean - gains  # rounding in the mean would be divided by the spread, too
    dual = better_conditioned(np.asarray(pi * (mean + (off - float(pi @ off)) / spread)), pi, gains)
    return Found(name, mechanism, proof=dual, value=mean if tiny(problem) else None)


def tiny(problem: Problem) -> bool:
    """Whether c is so near 1 that an f-information is summed in lifts less 1."""
    utility = problem.utility
    return isinstance(utility, FInformation) and utility.f in NEAR_ONE and problem.lifts.high - 1 < NEAR


def binary_over_set(problem: Problem, lifts: SetLifts) -> Solution:
    """Two symbols: admissible lift vectors form a segment, and both ends are used. y solves two equations."""
    columns = lifts.admissible(np.diag(1 / lifts.prior.probabilities))
    weights = np.asarray(np.linalg.solve(columns.T, np.ones(2)), dtype=np.float64)
    gains = problem.mu(columns)
    dual = np.asarray(np.linalg.solve(columns, gains), dtype=np.float64)
    return Solution(columns, weights, float(gains @ weights), math.fsum(dual), dual)


def uniform_over_set(problem: Problem, lifts: SetLifts) -> Solution:
    """All cyclic shifts of the best column. y_i = U/N, since no column has a larger utility than U (Theorem 4)."""
    n = lifts.priors.size
    column = lifts.admissible(best_symmetric(lifts.priors, lifts.c, problem.mu)[None])[0]
    shifts = column[(np.arange(n)[:, None] + np.arange(n)) % n]
    value = float(problem.mu(column[None])[0])
    return Solution(shifts, np.full(n, 1 / n), value, value, np.full(n, value / n))
