"""design(): the optimal mechanism for a prior, a privacy level and a utility, by the method that fits."""

from __future__ import annotations

import time
from dataclasses import replace

from ..errors import OptionError, RegionError, SolverError
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.utility import ExpectedGain, FInformation, Utility, mutual_information
from .methods import METHODS
from .result import Design
from .robust.solve import METHODS as ROBUST
from .robust.solve import NOTHING, choose_robust, robust
from .solver.column_generation import Progress
from .task import Task, make_task

ENUMERATED = 10  # symbols up to which "auto" enumerates for an f-information
ENUMERABLE = 14  # and for other utilities


def design(
    prior: Prior | PriorSet,
    epsilon: float,
    utility: Utility = mutual_information,
    *,
    method: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    lower_lift: float = 0.0,
    progress: Progress | None = None,
) -> Design:
    """A mechanism of largest utility under epsilon-PML, with a proven bound on the distance to the optimum.

    The rule of method "auto":

    1. epsilon = 0: the constant mechanism; epsilon >= epsilon_max: the identity.
    2. Two symbols: Theorem 2 ("binary"). epsilon < epsilon_1: Theorem 3 ("high-privacy"). Uniform prior and symmetric
       utility: Theorem 4 ("uniform").
    3. Expected gains: one linear program of polynomial size ("gain-program").
    4. f-information: all vertices up to 10 symbols ("enumeration"), "column-generation" above.
    5. Any other utility: all vertices up to 14 symbols ("enumeration"), above that "column-generation" with local
       search, which proves nothing: upper_bound = inf.

    "vertices" searches all extremal mechanisms, up to 4 symbols. "arc" is the closed form for every prior, with up to
    2N outputs; for large alphabets it needs no matrix, see Design.made.

    lower_lift: keep every P(y|x)/P(y) at or above this, too; e^-epsilon gives local information privacy. Not for
    closed forms and "vertices".
    time_limit: seconds after which the search stops. By default a fixed amount of work ends it, so the same question
    has the same answer on a busy machine, too; math.inf lifts that limit. A design that was stopped by the time limit,
    or by an interrupt from the keyboard, is the best so far with what is proven about it, and says so.
    progress: called with (value, upper bound) after each round.

    Over a PriorSet the mechanism satisfies epsilon-PML for every prior of the set and has the largest utility under the
    nominal one. Two symbols: closed form ("binary"). Sets and utilities that do not change when symbols are permuted:
    the best column and its shifts ("uniform"). Up to 400,000 extremal columns, that is 12 to 16 symbols: all of them
    ("enumeration"). Else, and for expected gains, "column-generation", which proves nothing for utilities that are
    neither f-information nor expected gains.
    """
    if isinstance(prior, PriorSet):
        task = make_task(prior.nominal, epsilon, utility, tolerance, time_limit, lower_lift, progress)
        return replace(
            run_task(task, method) if prior.is_point else run_robust(task, prior, method), prior_set=prior
        )
    return run_task(make_task(prior, epsilon, utility, tolerance, time_limit, lower_lift, progress), method)


def run_robust(task: Task, priors: PriorSet, method: str = "auto") -> Design:
    """The design for a task that holds for every prior of a set, by the method named."""
    auto = choose_robust(task, priors)
    if method not in ("auto", auto, *ROBUST) or task.low > 0:
        raise OptionError(
            f"over a set of priors method must be 'auto' or one of {', '.join(map(repr, ROBUST))} and lower_lift 0, "
            f"got {method!r} and {task.low}; design for its nominal prior instead"
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
        if task.prior.is_uniform and task.utility.symmetric:
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
            f"method must be 'auto' or one of {', '.join(map(repr, METHODS))}, got {method!r}; 'auto' picks one"
        )
    if method in ("constant", "identity") and method != choose_method(task):
        raise RegionError(
            f"method {method!r} is for epsilon = 0 and for epsilon >= epsilon_max only, got {task.epsilon:.6g} "
            f"with epsilon_max = {task.prior.epsilon_max:.6g}; use 'auto'"
        )
    if task.low > 0 and method in ("identity", "binary", "high-privacy", "uniform", "vertices"):
        raise OptionError(f"method {method!r} knows no lower bound on lifts; use 'auto'")
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
