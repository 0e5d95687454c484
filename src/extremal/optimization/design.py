"""design(): the optimal mechanism for a prior, a privacy level and a utility, by the method that fits."""

from __future__ import annotations

import html
import math
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..errors import EpsilonError, OptionError, RegionError
from ..model.mechanism import Mechanism
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.regions import check_epsilon
from ..model.utility import (
    ExpectedGain,
    FInformation,
    Utility,
    check_sub_linear,
    check_utility,
    mutual_information,
)
from ..theory.arc import ArcColumns
from ..theory.pairing import pair_outputs
from .methods import METHODS, Outcome, Task, arc_mechanism
from .robust.solve import METHODS as ROBUST
from .robust.solve import NOTHING, choose_robust, robust
from .solver.column_generation import Progress, relative_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ENUMERATED = 10  # symbols up to which "auto" enumerates for an f-information
ENUMERABLE = 14  # and for other utilities


@dataclass(frozen=True, eq=False)
class Design:
    """A mechanism with what is proven about it: value <= best possible <= upper_bound.

    `dual` proves the bound: dual . lambda >= mu(lambda) for every admissible lift vector, and its sum is the bound. An
    upper_bound of inf means that nothing is proven. For the method "arc", `columns` describes the mechanism without its
    matrix, over the symbols in `order`.
    """

    prior: Prior
    epsilon: float
    utility: Utility
    method: str
    tolerance: float
    lower_lift: float
    value: float
    upper_bound: float
    dual: Floats | None = field(repr=False)
    seconds: float
    rounds: int = 0
    columns_tried: int = 0
    nodes: int = 0
    interrupted: bool = False
    columns: ArcColumns | None = field(default=None, repr=False)
    order: NDArray[np.int64] | None = field(default=None, repr=False)
    stored: Mechanism | None = field(default=None, repr=False)
    prior_set: PriorSet | None = field(default=None, repr=False)
    out_of_time: bool = False

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism; outputs carry the input labels they agree with most often."""
        if self.columns is not None and self.order is not None:
            return pair_outputs(self.prior, arc_mechanism(self.prior, self.columns, self.order))
        assert self.stored is not None
        return self.stored

    @property
    def region(self) -> int:
        """The privacy region of epsilon, 1..N, or N + 1 where full disclosure is allowed."""
        return self.prior.region(self.epsilon)

    @property
    def gap(self) -> float:
        """How far from optimal the value can be at most, relative to the value."""
        return relative_gap(self.value, self.upper_bound)

    @property
    def certified(self) -> bool:
        """Whether the gap is proven to be within the tolerance asked for."""
        return self.gap <= self.tolerance

    def __str__(self) -> str:
        outputs = self.columns.outputs if self.columns is not None else self.mechanism.shape[1]
        if math.isinf(self.upper_bound):
            proof = "no upper bound is known for this utility, so this is not certified"
        elif self.certified:
            proof = f"at most {self.upper_bound:.9g} is possible (gap {self.gap:.1e})"
        else:
            proof = f"at most {self.upper_bound:.9g} is possible (gap {self.gap:.1e}, tolerance {self.tolerance:.0e})"
        work = f", {self.columns_tried} columns in {self.rounds} rounds" if self.columns_tried else ""
        return "\n".join(
            (
                f"{self.utility.name} {self.value:.9g} at epsilon = {self.epsilon:.6g}; {proof}",
                f"{self.prior.size} inputs, {outputs} outputs, {self._place}",
                f"method {self.method}, {self.seconds:.3f} s{work}"
                + ("; interrupted, this is the best so far" if self.interrupted else "")
                + ("; out of time, this is the best so far" if self.out_of_time else ""),
                *([] if self.prior_set is None else [self._promise(self.prior_set)]),
            )
        )

    @property
    def _place(self) -> str:
        k, n = self.region, self.prior.size
        if k <= n:
            return f"privacy region {k} of {n}"
        # A lower bound on lifts, or another prior of a set, may still forbid to tell everything.
        return "full disclosure" if self.lower_lift == 0 and self.prior_set is None else "above all regions"

    def _promise(self, priors: PriorSet) -> str:
        sure = f"; (epsilon, delta) = ({self.epsilon:.6g}, {priors.delta:.6g})" if priors.delta > 0 else ""
        return f"holds for every prior of the set: {priors.description}{sure}"

    def _repr_html_(self) -> str:
        table = self.mechanism._repr_html_() if self.prior.size <= 100 else ""
        return f"<pre>{html.escape(str(self))}</pre>{table}"

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with a heat map of the mechanism; the title says what it is worth."""
        from .._plot import draw_matrix

        title = f"{self.utility.name} {self.value:.4g} at epsilon = {self.epsilon:.4g}"
        return draw_matrix(self.mechanism.matrix, self.mechanism.inputs, self.mechanism.outputs, title, axes)


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
    2N outputs; for large alphabets it needs no matrix, see Design.columns.

    lower_lift: keep every P(y|x)/P(y) at or above this, too; e^-epsilon gives local information privacy. Not for
    closed forms and "vertices".
    time_limit: seconds, 8 + 0.03 N if not given. When it is over, or on an interrupt from the keyboard, the best
    mechanism so far is returned with what is proven about it.
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
    return _made(task, f"robust {method}", robust(task, priors, method), time.perf_counter() - begin)


def make_task(
    prior: Prior,
    epsilon: float,
    utility: Utility,
    tolerance: float,
    time_limit: float | None,
    lower_lift: float = 0.0,
    progress: Progress | None = None,
) -> Task:
    """The task, if everything about it is sound."""
    check_prior(prior)
    check_utility(utility)
    for name, number in (
        ("tolerance", tolerance),
        ("lower_lift", lower_lift),
        ("time_limit", time_limit or 0.0),
    ):
        if not isinstance(number, int | float | np.number):
            raise OptionError(
                f"{name} must be a number, got {repr(number)[:60]}; leave it out for the usual one"
            )
    if progress is not None and not callable(progress):
        raise OptionError(
            f"progress must be a function of (value, upper bound), got {repr(progress)[:60]}; leave it out for none"
        )
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise OptionError(f"tolerance must be finite and >= 0, got {tolerance}; 1e-6 proves six digits")
    if not 0 <= lower_lift <= 1:
        raise EpsilonError(
            f"lower_lift must be between 0 and 1, got {lower_lift}; e^-epsilon is local information privacy"
        )
    if isinstance(utility, FInformation | ExpectedGain):
        utility.columns(prior, np.ones((prior.size, 1)))  # refused if it does not fit the prior
    else:
        check_sub_linear(prior, utility)
    limit = 8 + 0.03 * prior.size if time_limit is None else time_limit
    if not limit >= 0:
        raise OptionError(f"time_limit must be >= 0 (in seconds), got {time_limit}; math.inf for no limit")
    return Task(prior, check_epsilon(epsilon), utility, tolerance, limit, lower_lift, progress)


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
    if method == "auto":
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
    outcome = METHODS["constant" if settled else method](task)
    return _made(task, method, outcome, time.perf_counter() - begin)


def _made(task: Task, method: str, outcome: Outcome, seconds: float) -> Design:
    solution = outcome.solution
    return Design(
        task.prior,
        task.epsilon,
        task.utility,
        method,
        task.tolerance,
        task.low,
        outcome.value,
        outcome.upper,
        outcome.dual,
        seconds,
        solution.rounds if solution else 0,
        solution.columns if solution else 0,
        solution.nodes if solution else 0,
        solution.interrupted if solution else False,
        outcome.arcs,
        outcome.order,
        outcome.mechanism,
        out_of_time=seconds >= task.time_limit
        and not relative_gap(outcome.value, outcome.upper) <= task.tolerance,
    )
