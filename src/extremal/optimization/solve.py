"""solve(): the best mechanism for a problem, by the oracle that fits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from .._common.threads import one_thread
from ..errors import SolverError
from ..model.blocks import LARGEST_DENSE
from ..model.notion import LDP, PML, MaximalLeakage
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose
from ..model.utility import ExpectedGain, FInformation
from .estimation import run_purpose, run_robust_purpose
from .methods import METHODS, tiny
from .notions import largest_under_ldp, largest_under_maximal_leakage
from .problem import Effort, Problem, Task, make_task
from .result import Design
from .sets import NOTHING, choose_robust, robust

ENUMERATED = 10  # symbols up to which all vertices are listed for an f-information
ENUMERABLE = 14  # and for other utilities
USUAL = Effort()


@one_thread
def solve(problem: Problem, effort: Effort = USUAL) -> Design:
    """The best mechanism for a problem, with what is proven about it."""
    prior, utility = problem.prior, problem.utility
    if isinstance(utility, Purpose):
        options = effort.tolerance, effort.time_limit, effort.progress
        if isinstance(prior, PriorSet):
            return run_robust_purpose(prior, problem.epsilon, utility, *options)
        return run_purpose(prior, problem.epsilon, utility, *options)
    task = make_task(problem, effort)
    if isinstance(prior, PriorSet):
        return replace(_over_set(task, prior, problem.oracle), prior_set=prior)
    if problem.notion == LDP:
        return replace(_timed(largest_under_ldp, task), notion=LDP)
    if problem.notion == MaximalLeakage:
        return replace(_timed(largest_under_maximal_leakage, task), notion=MaximalLeakage)
    found = run_task(task, problem.oracle)
    return found if problem.notion == PML else replace(found, notion=problem.notion)


def _over_set(task: Task, priors: PriorSet, oracle: str) -> Design:
    """The design that holds for every prior of a set."""
    if priors.is_point:
        return run_task(task, oracle)
    auto = choose_robust(task, priors)
    name = auto if oracle == "auto" or auto in ("constant", "identity") else oracle
    return replace(_timed(lambda task: robust(task, priors, name), task), method=f"robust {name}")


def choose_method(task: Task) -> str:
    """The rule in the docstring of design()."""
    region = task.prior.region(task.epsilon)
    if task.epsilon == 0 or task.low == 1:
        return "constant"
    if task.low == 0:
        if region > task.prior.size:
            return "identity"
        if task.prior.size == 2:
            return "binary"
        if region == 1:
            return "high-privacy"
        large = task.prior.size > LARGEST_DENSE and isinstance(task.utility, FInformation)
        if task.prior.is_uniform and task.utility.symmetric and not large:
            return "uniform"
    if isinstance(task.utility, ExpectedGain):
        return "gain-program"
    most = ENUMERATED if isinstance(task.utility, FInformation) else ENUMERABLE
    return "enumeration" if task.prior.size <= most else "column-generation"


def run_task(task: Task, oracle: str = "auto") -> Design:
    """The design for a task, by the oracle named."""
    name = choose_method(task) if oracle == "auto" else oracle
    # Where lifts cannot differ from 1 by more than rounding, every method comes to the constant mechanism.
    nothing = NOTHING / 10 if name in ("binary", "high-privacy", "uniform") and tiny(task) else NOTHING
    settled = task.high - 1 <= nothing or 1 - task.low <= nothing
    try:
        return replace(_timed(METHODS["constant" if settled else name], task), method=name)
    except SolverError:
        if oracle != "auto":
            raise
        # Numbers beyond what the linear programs can tell apart: arcs need none.
        return replace(_timed(METHODS["arc"], task), method="arc")


def _timed(run: Callable[[Task], Design], task: Task) -> Design:
    begin = time.perf_counter()
    found = run(task)
    return replace(found, stats=replace(found.stats, seconds=time.perf_counter() - begin))
