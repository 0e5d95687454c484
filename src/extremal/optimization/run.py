"""Which method a task gets, and running it."""

from __future__ import annotations

import time
from dataclasses import replace

from ..errors import OptionError, RegionError, SolverError
from ..model.blocks import LARGEST_DENSE
from ..model.prior_set import PriorSet
from ..model.utility import ExpectedGain, FInformation
from .methods import METHODS
from .problem import Task
from .result import Design
from .sets import METHODS as ROBUST
from .sets import NOTHING, choose_robust, robust

ENUMERATED = 10  # symbols up to which "auto" enumerates for an f-information
ENUMERABLE = 14  # and for other utilities


def run_robust(task: Task, priors: PriorSet, method: str = "auto") -> Design:
    """The design for a task that holds for every prior of a set, by the method named."""
    auto = choose_robust(task, priors)
    if method not in ("auto", auto, *ROBUST) or task.low > 0:
        raise OptionError(
            "over a set of priors method must be 'auto' or one of "
            f"{', '.join(map(repr, ROBUST))} and lower_lift 0",
            given=f"{method!r} and {task.low}",
            remedy="design for its nominal prior instead",
        )
    begin = time.perf_counter()
    method = auto if method == "auto" or auto in ("constant", "identity") else method
    return _named(robust(task, priors, method), f"robust {method}", begin)


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


def run_task(task: Task, method: str = "auto") -> Design:
    """The design for a task, by the method named."""
    begin = time.perf_counter()
    auto = method == "auto"
    if auto:
        method = choose_method(task)
    if method not in list(METHODS):  # a list, which needs no hash
        raise OptionError(
            f"must be 'auto' or one of {', '.join(map(repr, METHODS))}",
            parameter="method",
            given=f"{method!r}",
            remedy="'auto' picks one",
        )
    if method in ("constant", "identity") and method != choose_method(task):
        raise RegionError(
            f"method {method!r} is for epsilon = 0 and for epsilon >= epsilon_max only",
            given=f"{task.epsilon:.6g} with epsilon_max = {task.prior.epsilon_max:.6g}",
            remedy="use 'auto'",
        )
    if task.low > 0 and method in ("identity", "binary", "high-privacy", "uniform", "vertices"):
        raise OptionError(
            f"method {method!r} knows no lower bound on lifts",
            remedy="use 'auto'",
        )
    # Where lifts cannot differ from 1 by more than rounding, every method comes to the constant mechanism.
    settled = task.high - 1 <= NOTHING or 1 - task.low <= NOTHING
    try:
        return _named(METHODS["constant" if settled else method](task), method, begin)
    except SolverError:
        if not auto:
            raise
        # Numbers beyond what the linear programs can tell apart: arcs need none.
        return _named(METHODS["arc"](task), "arc", begin)


def _named(design: Design, method: str, begin: float) -> Design:
    seconds = time.perf_counter() - begin
    return replace(design, method=method, stats=replace(design.stats, seconds=seconds))
