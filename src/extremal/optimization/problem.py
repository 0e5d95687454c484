"""What is asked for: a lift set and an objective, checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._common import checks
from .._common.types import Floats
from ..errors import OptionError, UtilityError
from ..model.levels import LDP, PML, Notion, check_epsilon
from ..model.lift_sets import LiftSet, PriorLifts, SetLifts
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose, shares
from ..model.utility import ExpectedGain, FInformation, Utility, check_sub_linear, check_utility
from .effort import Effort

USUAL = 1e-6  # the tolerance of utilities
FINEST = 1e-10  # the smallest gap of an efficiency that doubles can prove


@dataclass(frozen=True)
class Problem:
    """The best mechanism for a utility or purpose among those whose lift vectors are in a lift set.

    `oracle` names one way to find it, where tests and benchmarks compare several.
    """

    prior: Prior | PriorSet
    epsilon: float
    utility: Utility | Purpose = shares
    notion: Notion = PML
    oracle: str = "auto"

    def __post_init__(self) -> None:
        words = "PML, LDP, LIP or MaximalLeakage"
        checks.instance(self.notion, "notion", Notion, words, remedy="leave it out for PML")
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

    @property
    def priors(self) -> PriorSet | None:
        """The set of priors, if there is one."""
        return self.prior if isinstance(self.prior, PriorSet) else None

    @cached_property
    def lifts(self) -> LiftSet:
        """The lift vectors that mechanisms may use."""
        if isinstance(self.prior, PriorSet) and not self.prior.is_point:
            return SetLifts(self.prior, self.epsilon)
        return PriorLifts(self.nominal, self.epsilon, self.notion.lower_lift(self.epsilon))

    @property
    def low(self) -> float:
        """The smallest lift of a report."""
        return self.lifts.low if isinstance(self.lifts, PriorLifts) else 0.0

    def goal(self, effort: Effort) -> float:
        """The relative gap to the optimum up to which a design counts as proven."""
        if not isinstance(self.utility, Purpose):
            return USUAL if effort.tolerance is None else effort.tolerance
        if effort.tolerance is not None:
            return max(effort.tolerance, FINEST)
        return usual_gap(self.nominal.size, self.epsilon, isinstance(self.lifts, SetLifts))

    def mu(self, lifts: Floats) -> Floats:
        """The utility of lift vectors given as rows."""
        if not isinstance(self.utility, Utility):
            raise UtilityError("columns have no worth of their own for a purpose", given=self.utility.name)
        return self.utility.columns(self.nominal, np.ascontiguousarray(lifts.T))


def usual_gap(size: int, epsilon: float, over_set: bool = False) -> float:
    """The relative gap that is within reach of estimates from so many symbols."""
    if over_set:
        return 1e-3 if size <= 12 else 2e-2 if size <= 40 else 5e-2
    if size <= 18:
        return 1e-3
    if size <= 200:
        low, high = (1e-2, 2e-2) if size <= 40 else (2e-2, 5e-2)
        return low if epsilon <= 1 else high
    return 1e-1
