"""Designs by an oracle of one's own choice, to compare one way with another; and mixtures for estimates."""

import extremal as ex
from extremal.optimization.design import solve
from extremal.optimization.effort import Effort
from extremal.optimization.estimates import best_mixture
from extremal.optimization.problem import Problem
from extremal.optimization.tuning import ROUNDS


def design_by(prior, epsilon, utility, *, oracle, notion=ex.PML, tolerance=None, time_limit=None):
    return solve(Problem(prior, epsilon, utility, notion, oracle), Effort(tolerance, time_limit))


def mixture(pi, epsilon, A, *, tolerance=None, rounds=ROUNDS, time_limit=None, progress=None):
    """Lift vectors and weights of the largest efficiency, and what proves the bound on it."""
    effort = Effort(None, time_limit, progress).limited(rounds=rounds)
    return best_mixture(pi, epsilon, A, tolerance, effort)
