"""The best mechanisms under neighbouring notions of privacy.

- Local differential privacy: columns are patterns in {1, e^epsilon}^N (staircase mechanisms, Kairouz, Oh and
  Viswanath, 2016).
- Local information privacy: lifts within [e^-epsilon, e^epsilon], the program of Theorem 5 with a lower bound.
- Maximal leakage: sum_y max_x P(y|x) <= e^epsilon. Columns scaled to maximum 1 lie in a cube, so its corners suffice:
  an output is a set of symbols, and there is one row more for the budget.
"""

from __future__ import annotations

import math

import numpy as np

from .._common.highs import INFINITE, Program
from .._common.types import Floats
from ..errors import SizeError, SolverError
from ..model.leakage import ROUNDING
from ..model.lift_sets import NOTHING, SetLifts
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.regions import bounded_exp
from .closed_forms.utilities import constant
from .effort import Effort
from .finish import Found
from .masters.linear import Master, listed_program
from .problem import Problem

LARGEST = 14  # symbols: 2^14 patterns


def largest_under_ldp(problem: Problem, effort: Effort) -> Found:
    """A mechanism of largest utility under epsilon-local differential privacy: P(y|x) <= e^epsilon P(y|x').

    The linear program over all patterns in {1, e^epsilon}^N, up to 14 symbols. Its dual vector proves the bound for
    lift vectors with max <= e^epsilon min.
    """
    prior = _small(problem, "design(PriorSet.at_least(prior, 0), epsilon)")
    if problem.epsilon <= NOTHING:
        return constant(problem, effort)
    patterns = (
        1 + (bounded_exp(problem.epsilon) - 1) * _sets(prior.size)[:-1]
    )  # the last one is constant, too
    lifts = np.vstack((np.ones(prior.size), patterns / (patterns @ prior.probabilities)[:, None]))
    gains = problem.mu(lifts)
    master = Master(prior.probabilities, 0.0, float(lifts.max()), max(float(np.abs(gains).max()), 1e-300))
    solution = listed_program(master, lifts, gains, problem.mu)
    every = SetLifts(PriorSet.at_least(prior, 0.0), problem.epsilon)
    mechanism = every.repaired(solution.mechanism(prior.labels))
    return Found("staircase", mechanism, solution.upper, solution.dual)


def largest_under_maximal_leakage(problem: Problem) -> Found:
    """A mechanism of largest utility with maximal leakage up to epsilon: sum_y max_x P(y|x) <= e^epsilon.

    The linear program over all sets of symbols, up to 14 symbols. No single outcome is bounded by it: its PML can be
    anything up to epsilon_max.
    """
    prior = _small(problem, "design(prior, epsilon), whose maximal leakage is at most epsilon")
    sets, budget = _sets(prior.size), bounded_exp(problem.epsilon)
    gains = problem.mu(sets)
    scale = max(float(np.abs(gains).max()), 1e-300)
    program = Program({"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}, True)
    most, none = min(budget, float(prior.size)), np.zeros((0, 0))
    rows = np.column_stack((sets, np.ones(len(sets))))  # of each set: its symbols, and what it costs
    right = np.append(np.ones(prior.size), most)
    program.add_rows(np.append(right[:-1], -INFINITE), right, none.reshape(prior.size + 1, 0))
    program.add_columns(gains / scale, np.zeros(len(sets)), np.full(len(sets), INFINITE), rows)
    if (status := program.run()) != "optimal":
        raise SolverError(f"the program for maximal leakage ended with status {status}")
    shares, multipliers = program.solution()
    y, z = multipliers[:-1] * scale, max(float(multipliers[-1]) * scale, 0.0)
    z += max(float(np.max(gains - sets @ y)) - z, 0.0)
    used = shares > 1e-12
    P = sets[used].T * shares[used]
    P = P / P.sum(axis=1, keepdims=True)
    total = float(P.max(axis=0).sum())
    if total > budget * (1 + ROUNDING):
        keep = (budget - 1) / (total - 1)
        P = keep * P + (1 - keep) * (prior.probabilities @ P)
    upper = math.fsum(y) + z * most
    return Found("sets", Mechanism(P, prior.labels), upper)


def _small(problem: Problem, instead: str) -> Prior:
    prior = problem.nominal
    if prior.size > LARGEST:
        raise SizeError(
            f"this lists all sets of symbols and needs at most {LARGEST} symbols",
            given=prior.size,
            remedy=f"use {instead}",
        )
    return prior


def _sets(n: int) -> Floats:
    """All non-empty sets of n symbols as rows of zeros and ones, the whole alphabet last."""
    return (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
