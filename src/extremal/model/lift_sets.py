"""Lift sets: the lift vectors that a mechanism may use, for one prior or for every prior of a set.

A mechanism keeps epsilon if and only if the lift vector of each of its reports, P(y|x) / P(y), is in the set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common.types import Floats, Ints
from .leakage import lift, pml
from .levels import bounded_exp
from .mechanism import Mechanism
from .prior import Prior
from .prior_set import PriorSet

EXCESS = 5e-13  # leakage above epsilon that rounding does not explain
NOTHING = 1e-14  # lifts this near to 1 are 1
EXACT = 1e-13  # a column this near to the border of what is admissible is left as it is
EQUAL = 1e-14  # of the largest mass: differences of rounding


@dataclass(frozen=True, eq=False)
class PriorLifts:
    """{lambda in [low, e^epsilon]^N : pi . lambda = 1}: for PML low = 0, for local information privacy e^-epsilon."""

    prior: Prior
    epsilon: float
    low: float = 0.0

    @property
    def high(self) -> float:
        """e^epsilon, or less where no lift can be that large."""
        least = float(self.prior.probabilities.min())
        return min(bounded_exp(self.epsilon), (1 - self.low * (1 - least)) / least)

    def settled(self, rounding: float = NOTHING) -> bool:
        """Whether lifts cannot differ from 1 by more than rounding."""
        return self.high - 1 <= rounding or 1 - self.low <= rounding

    def repaired(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism, mixed with its own output distribution if rounding took a lift out of the set."""
        lifts = lift(self.prior, mechanism)
        top, bottom = float(lifts.max()), float(lifts.min())
        share = 0.0
        if math.log(top) > self.epsilon + EXCESS:
            share = (top - math.exp(self.epsilon)) / (top - 1)
        if bottom < self.low - EXCESS:
            share = max(share, (self.low - bottom) / (1 - bottom))
        if share == 0.0:
            return mechanism
        mean = mechanism.output_distribution(self.prior)
        return Mechanism((1 - share) * mechanism.matrix + share * mean, mechanism.inputs, mechanism.outputs)


@dataclass(frozen=True, eq=False)
class SetLifts:
    """{lambda >= 0 : max_i lambda_i <= c h(lambda), pi . lambda = 1} for a set with nominal prior pi, c = e^epsilon.

    h(lambda) is the smallest mean of lambda over the set, which is concave: the columns form a convex cone.
    """

    priors: PriorSet
    epsilon: float

    @property
    def prior(self) -> Prior:
        """The nominal prior."""
        return self.priors.nominal

    @property
    def c(self) -> float:
        """e^epsilon."""
        return bounded_exp(self.epsilon)

    @property
    def high(self) -> float:
        """No lift is larger."""
        return float(min(self.c, 1 / self.prior.probabilities.min()))

    @property
    def symmetric(self) -> bool:
        """Whether the set and its nominal prior do not change when symbols are permuted."""
        return all(float(np.ptp(x)) <= EQUAL * float(x.max()) for x in self._vectors)

    @property
    def classes(self) -> Ints:
        """The class of each symbol; equal symbols have the same masses in everything that makes up the set."""
        found = np.unique(np.stack(self._vectors), axis=1, return_inverse=True)[1]
        return found.ravel().astype(np.int64)

    @property
    def _vectors(self) -> tuple[Floats, ...]:
        return self.prior.probabilities, self.priors.center, self.priors.lower, self.priors.upper

    def admissible(self, lifts: Floats) -> Floats:
        """The columns, given as rows, moved along the line through 1 to where they just are in the set.

        At 1 + s (lambda - 1) the largest lift is 1 + s (t - 1) and the smallest mean 1 - s (1 - h).
        """
        c = self.c
        lifts = np.maximum(lifts, 0.0)
        lifts = lifts / (lifts @ self.prior.probabilities)[:, None]
        need = lifts.max(axis=1) - 1 + c * (1 - self.priors.smallest_means(lifts.T))
        depth = 1 - lifts.min(axis=1)
        moving = (need > NOTHING) & (depth > NOTHING)
        s = np.divide(c - 1, need, out=np.zeros_like(need), where=moving)
        s = np.minimum(s, np.divide(1.0, depth, out=np.zeros_like(depth), where=moving))  # lifts stay >= 0
        s = np.where(np.abs(s - 1) <= EXACT, 1.0, s)[:, None]
        return np.where(s == 1.0, lifts, np.maximum(1 + s * (lifts - 1), 0.0))

    def repaired(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism, mixed with its own output distribution if rounding put its leakage above epsilon."""
        c, rho = self.c, mechanism.output_distribution(self.prior)
        for _ in range(5):
            leakage = pml(self.priors, mechanism)
            if leakage.max() <= self.epsilon + EXCESS:
                break
            over = leakage > self.epsilon
            L = (mechanism.matrix / np.where(rho > 0, rho, 1.0))[:, over]
            # t - c h, which mixing must make up for, without the digits that cancel.
            lack = -L.max(axis=0) * np.expm1(np.maximum(self.epsilon - leakage[over], -700.0))
            share = float(np.max(lack / (L.max(axis=0) - 1 + c * (1 - self.priors.smallest_means(L)))))
            P = (1 - share) * mechanism.matrix + share * rho
            mechanism = Mechanism(P, mechanism.inputs, mechanism.outputs)
        return mechanism


LiftSet = PriorLifts | SetLifts
