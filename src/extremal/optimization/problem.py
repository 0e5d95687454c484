"""What is asked for: a lift set and an objective, checked.

The problem in coordinates that keep precision: lifts less 1, without the most likely symbol.

A mechanism is a mixture of lift vectors lambda = 1 + x with mean 1, so x has mean 0 and pi . x = 0: the most likely
symbol's x follows from the others'. With C the covariance of the other symbols' x under the output distribution, the
estimated shares have the covariance R C^-1 R' per report, R = E - pi 1', where E drops the most likely symbol. So
tr(A Sigma) = tr(G C^-1) with G = R'AR. Small levels lose no digits: x is of the order of epsilon, not near 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._common.types import Floats
from ..errors import OptionError, UtilityError
from ..model.levels import LDP, PML, Notion, check_epsilon, is_uniform
from ..model.lift_sets import LiftSet, PriorLifts, SetLifts
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose, direct_loss, explained, shares, square_root
from ..model.utility import ExpectedGain, FInformation, Utility, check_sub_linear, check_utility
from .effort import Effort

USUAL = 1e-6  # the tolerance of utilities
FINEST = 1e-10  # the smallest gap of an efficiency that doubles can prove


@dataclass(frozen=True)
class Problem:
    """The best mechanism for a utility or purpose among those whose lift vectors are in a lift set.

    `oracle` names one way to find it, where tests and benchmarks compare several; `start` may hold lift vectors worth
    trying, as rows.
    """

    prior: Prior | PriorSet
    epsilon: float
    utility: Utility | Purpose = shares
    notion: Notion = PML
    oracle: str = "auto"
    start: Floats | None = field(default=None, repr=False)

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


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """Masses in decreasing order, the largest lift less 1, and the loss as a factor M of A = M'M.

    `loss` is G, `direct` is tr(A (diag pi - pi pi')): the loss of direct answers. An efficiency is direct / loss.
    """

    pi: Floats
    excess: float
    factor: Floats
    loss: Floats
    direct: float

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.pi)

    @property
    def upper(self) -> Floats:
        """The largest x of each symbol."""
        return np.minimum(self.excess, (1 - self.pi) / self.pi)

    @property
    def lower(self) -> Floats:
        """The smallest x of each symbol."""
        return np.maximum(-1.0, -self.excess * (1 - self.pi) / self.pi)

    @property
    def most_variance(self) -> Floats:
        """No symbol's x, which has mean 0, can have a larger variance."""
        return -self.upper * self.lower

    @property
    def alike(self) -> bool:
        """Whether neither the prior nor the loss tells symbols apart."""
        G, n = self.loss, self.size
        own, pair = float(G[0, 0]), float(G[0, -1])
        # G lacks the first symbol: what is the same for all the others may still be about the first alone.
        same = (own - pair) * (np.eye(n - 1) - 1 / n)
        return (n == 2 or bool(np.abs(G - same).max() <= 1e-12 * own)) and is_uniform(self.pi)

    def reduced(self, weights: Floats) -> Floats:
        """B'WB: the quadratic form x'Wx as one of the x without the most likely symbol's."""
        share = self.pi[1:] / self.pi[0]
        inner = weights[1:, 1:] - np.multiply.outer(share, weights[0, 1:])
        return np.asarray(inner - np.multiply.outer(weights[1:, 0] - weights[0, 0] * share, share))


def make_problem(pi: Floats, epsilon: float, A: Floats) -> QuadraticProblem:
    """The problem for masses in decreasing order and A in the same order."""
    return from_excess(pi, min(math.expm1(min(epsilon, 700.0)), float((1 - pi[-1]) / pi[-1])), A)


def from_excess(pi: Floats, excess: float, A: Floats) -> QuadraticProblem:
    """The problem whose largest lift is 1 + excess."""
    factor = square_root(A)
    moved = factor[:, 1:] - (factor @ pi)[:, None]
    return QuadraticProblem(pi, excess, moved, moved.T @ moved, direct_loss(pi, factor))


def efficiency(problem: QuadraticProblem, X: Floats, q: Floats) -> float:
    """The efficiency of the mixture of the rows of X, lift vectors less 1; 0 if it does not identify what matters."""
    return explained((X[:, 1:].T * q) @ X[:, 1:], problem.factor, problem.direct)
