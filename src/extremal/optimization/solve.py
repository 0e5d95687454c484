"""solve(): the best mechanism for a problem, with what is proven about it."""

from __future__ import annotations

import time
from dataclasses import replace

from .._common.threads import one_thread
from ..errors import SolverError
from ..model.lift_sets import SetLifts
from ..model.notion import LDP, MaximalLeakage
from ..model.purpose import Purpose
from .effort import Effort
from .estimates import best_for_estimates
from .finish import Found, finish
from .notions import largest_under_ldp, largest_under_maximal_leakage
from .problem import Problem
from .result import Design
from .utilities import best_for_utility, choose
from .utilities_over_sets import best_over_set


@one_thread
def solve(problem: Problem, effort: Effort | None = None) -> Design:
    """A known optimum, or columns from an oracle, mixed by a master: repaired, paired, measured and proven."""
    begin = time.perf_counter()
    effort = effort or Effort()
    return finish(problem, _found(problem, effort), effort, begin)


def _found(problem: Problem, effort: Effort) -> Found:
    if isinstance(problem.utility, Purpose):
        return best_for_estimates(problem, effort)
    if isinstance(problem.lifts, SetLifts):
        return best_over_set(problem, effort, problem.lifts)
    if problem.notion == LDP:
        return largest_under_ldp(problem, effort)
    if problem.notion == MaximalLeakage:
        return largest_under_maximal_leakage(problem)
    try:
        way = choose(problem) if problem.oracle == "auto" else problem.oracle
        return best_for_utility(problem, effort, way)
    except SolverError:
        if problem.oracle != "auto":
            raise
        # Numbers beyond what the linear programs can tell apart: arcs need none.
        return replace(best_for_utility(problem, effort, "arc"), method="arc")
