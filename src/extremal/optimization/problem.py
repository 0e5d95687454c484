"""What is asked of a solver, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common.types import Floats
from ..errors import EpsilonError, OptionError, UtilityError
from ..model.prior import Prior, check_prior
from ..model.regions import bounded_exp, check_epsilon
from ..model.utility import ExpectedGain, FInformation, Utility, check_sub_linear, check_utility
from .effort import Budget
from .generate import Progress
from .oracles.knapsack.separable import CELLS, FINE_CELLS, Separable


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
                remedy="use method='auto'",
            )
        cells = CELLS if self.tolerance >= 1e-7 else FINE_CELLS
        return Separable(self.prior.probabilities, self.utility.f, self.low, self.high, cells)


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
    check_options(tolerance, time_limit, progress)
    if not 0 <= lower_lift <= 1:
        raise EpsilonError(
            "must be between 0 and 1",
            parameter="lower_lift",
            given=lower_lift,
            remedy="e^-epsilon is local information privacy",
        )
    if isinstance(utility, FInformation | ExpectedGain):
        utility.columns(prior, np.ones((prior.size, 1)))  # refused if it does not fit the prior
    else:
        check_sub_linear(prior, utility)
    return Task(prior, check_epsilon(epsilon), utility, tolerance, time_limit, lower_lift, progress)


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
