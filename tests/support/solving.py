"""Designs by an oracle of one's own choice, to compare one way with another."""

import extremal as ex
from extremal.optimization.problem import Effort, Problem
from extremal.optimization.solve import solve


def design_by(prior, epsilon, utility, *, oracle, notion=ex.PML, tolerance=None, time_limit=None):
    return solve(Problem(prior, epsilon, utility, notion, oracle), Effort(tolerance, time_limit))
