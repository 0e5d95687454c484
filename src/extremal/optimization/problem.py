"""What is asked of a solver, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common.types import Floats
from ..errors import OptionError, UtilityError
from ..model.notion import LDP, PML, Notion
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose, shares
from ..model.regions import bounded_exp, check_epsilon
from ..model.utility import ExpectedGain, FInformation, Utility, check_sub_linear, check_utility
from .effort import Budget
from .oracles.knapsack.separable import CELLS, FINE_CELLS, Separable
from .watch import Progress


@dataclass(frozen=True)
class Effort:
    """How precise the answer must be proven to be, and how long to look for it; None stands for the usual."""

    tolerance: float | None = None
    time_limit: float | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_options(self.tolerance, self.time_limit, self.progress)


@dataclass(frozen=True)
class Problem:
    """What is asked for; `oracle` names one way to find it, where tests and benchmarks compare several."""

    prior: Prior | PriorSet
    epsilon: float
    utility: Utility | Purpose = shares
    notion: Notion = PML
    oracle: str = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.notion, Notion):
            raise OptionError(
                "must be PML, LDP, LIP or MaximalLeakage",
                parameter="notion",
                given=repr(self.notion)[:60],
                remedy="leave it out for PML",
            )
        check_prior(self.nominal)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if isinstance(self.utility, Purpose):
            self._check_notion(f"a design for {self.utility.name} is for PML")
            return
        check_utility(self.utility)
        if isinstance(self.utility, FInformation | ExpectedGain):
            self.utility.columns(self.nominal, np.ones((self.nominal.size, 1)))  # refused if it does not fit
        else:
            check_sub_linear(self.nominal, self.utility)
        if isinstance(self.prior, PriorSet):
            self._check_notion("a design for a set of priors is for PML")

    def _check_notion(self, problem: str) -> None:
        if self.notion != PML:
            raise OptionError(
                problem,
                given=f"{self.notion!r}",
                remedy=(
                    "PML for every prior is LDP: `design(PriorSet.at_least(prior, 0), epsilon)`"
                    if self.notion == LDP
                    else "leave it out, or give one prior and `utility=ex.mutual_information`"
                ),
            )

    @property
    def nominal(self) -> Prior:
        """The prior under which mechanisms are measured."""
        return self.prior.nominal if isinstance(self.prior, PriorSet) else self.prior


@dataclass(frozen=True)
class Task:
    """What is asked for: lifts between `low` and e^epsilon; `start` may hold lift vectors worth trying, as rows."""

    prior: Prior
    epsilon: float
    utility: Utility
    tolerance: float
    time_limit: float | None = None
    low: float = 0.0
    progress: Progress | None = None
    start: Floats | None = None

    @property
    def high(self) -> float:
        """e^epsilon, or less where no lift can be that large."""
        least = float(self.prior.probabilities.min())
        return min(bounded_exp(self.epsilon), (1 - self.low * (1 - least)) / least)

    def mu(self, lifts: Floats) -> Floats:
        """The utility of lift vectors given as rows."""
        return self.utility.columns(self.prior, np.ascontiguousarray(lifts.T))

    def budget(self) -> Budget:
        """What may be spent on it; the clock of a time limit starts now."""
        return Budget.of(self.prior.size, self.time_limit)

    def separable(self) -> Separable:
        """The problem as pricing sees it, if the utility is an f-information."""
        if not isinstance(self.utility, FInformation):
            raise UtilityError(
                "this needs an f-information",
                given=f"{self.utility!r}",
                remedy="`utility=ex.mutual_information` is one",
            )
        cells = CELLS if self.tolerance >= 1e-7 else FINE_CELLS
        return Separable(self.prior.probabilities, self.utility.f, self.low, self.high, cells)


def make_task(problem: Problem, effort: Effort) -> Task:
    """The problem of a utility under its nominal prior."""
    epsilon, utility = problem.epsilon, problem.utility
    assert isinstance(utility, Utility)
    tolerance = 1e-6 if effort.tolerance is None else effort.tolerance
    low = problem.notion.lower_lift(epsilon)
    return Task(problem.nominal, epsilon, utility, tolerance, effort.time_limit, low, effort.progress)


def check_options(tolerance: object, time_limit: object, progress: object) -> None:
    """Refuse options of a wrong type or out of range; None stands for the usual one."""
    for name, number in (("tolerance", tolerance), ("time_limit", time_limit)):
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | float | np.number):
            raise OptionError(
                "must be a number",
                parameter=name,
                given=repr(number)[:60],
                remedy="leave it out for the usual one",
            )
        if not number >= 0 or (name == "tolerance" and not math.isfinite(number)):
            raise OptionError(
                "must be finite and >= 0" if name == "tolerance" else "must be >= 0 (in seconds)",
                parameter=name,
                given=number,
                remedy="1e-6 proves six digits" if name == "tolerance" else "math.inf for no limit at all",
            )
    if progress is not None and not callable(progress):
        raise OptionError(
            "must be a function of (value, upper bound)",
            parameter="progress",
            given=repr(progress)[:60],
            remedy="leave it out for none",
        )
