"""Leakage of a mechanism: pure functions of (prior, mechanism), in nats.

Definition 1 in its simplified form: l(X→y) = log max_x P(y|x) / P_Y(y). The two operational forms are in
`adversary`. An output that never occurs leaks nothing: its lift is 1 and its leakage 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .mechanism import Mechanism, check_match
from .prior import Prior
from .regions import check_epsilon

Floats = NDArray[np.float64]

# A leakage may exceed the level it was designed for by rounding alone.
ROUNDING = 1e-12


def lift(prior: Prior, mechanism: Mechanism) -> Floats:
    """P(y|x) / P_Y(y) for every input (rows) and output (columns)."""
    check_match(prior, mechanism)
    P = mechanism.matrix
    occurs = P.max(axis=0) > 0
    Q = np.divide(P, P.max(axis=0), out=np.ones_like(P), where=occurs)  # scaled: P_Y may underflow
    return Q / (prior.probabilities @ Q)


def pml(prior: Prior, mechanism: Mechanism) -> Floats:
    """l(X→y) for every output y: how much y can help to guess any attribute of X."""
    return np.maximum(np.log(lift(prior, mechanism).max(axis=0)), 0.0)


def epsilon_pml(prior: Prior, mechanism: Mechanism) -> float:
    """The smallest epsilon such that the mechanism satisfies epsilon-PML."""
    return float(pml(prior, mechanism).max())


def tail_probability(prior: Prior, mechanism: Mechanism, epsilon: float) -> float:
    """P[l(X→Y) > epsilon]; excesses up to 1e-12 are rounding and do not count."""
    epsilon = check_epsilon(epsilon)
    above = pml(prior, mechanism) > epsilon + ROUNDING
    return math.fsum(mechanism.output_distribution(prior)[above])


@dataclass(frozen=True)
class LeakageDistribution:
    """The leakage as a random variable of Y: distinct values in increasing order, with their probabilities."""

    values: Floats
    probabilities: Floats

    def tail(self, epsilon: float) -> float:
        """P[l(X→Y) > epsilon], up to rounding."""
        return math.fsum(self.probabilities[self.values > check_epsilon(epsilon) + ROUNDING])

    def quantile(self, q: float) -> float:
        """The smallest value v with P[l(X→Y) <= v] >= q."""
        reached = np.cumsum(self.probabilities) >= q - ROUNDING
        return float(self.values[int(np.argmax(reached))] if reached.any() else self.values[-1])

    @property
    def mean(self) -> float:
        """E[l(X→Y)]."""
        return float(self.values @ self.probabilities)

    @property
    def log_mean_exp(self) -> float:
        """log E[exp l(X→Y)], which is the maximal leakage."""
        return float(math.log(np.exp(self.values) @ self.probabilities))


def leakage_distribution(prior: Prior, mechanism: Mechanism) -> LeakageDistribution:
    """The distribution of l(X→Y) when Y is drawn by the mechanism; outcomes equal up to rounding are one."""
    rho = mechanism.output_distribution(prior)
    order = np.argsort(pml(prior, mechanism)[rho > 0])
    values, rho = pml(prior, mechanism)[rho > 0][order], rho[rho > 0][order]
    first = np.concatenate(([True], np.diff(values) > ROUNDING))
    group = np.cumsum(first) - 1
    return LeakageDistribution(values[first], np.bincount(group, weights=rho))


def maximal_leakage(mechanism: Mechanism) -> float:
    """log sum_y max_x P(y|x): the leakage on average over Y; it does not depend on the prior."""
    return max(math.log(math.fsum(mechanism.matrix.max(axis=0))), 0.0)


def ldp_epsilon(mechanism: Mechanism) -> float:
    """The smallest epsilon of local differential privacy: max of log P(y|x)/P(y|x'); infinite if a zero stands
    beside a positive probability in a column."""
    P = mechanism.matrix[:, mechanism.matrix.max(axis=0) > 0]
    low, high = P.min(axis=0), P.max(axis=0)
    if np.any(low == 0):
        return math.inf
    return float(np.max(np.log(high) - np.log(low)))


def lip_epsilon(prior: Prior, mechanism: Mechanism) -> float:
    """The smallest epsilon of local information privacy: max |log lift|; infinite if an output excludes an input."""
    ratio = lift(prior, mechanism)
    if np.any(ratio == 0):
        return math.inf
    return float(np.abs(np.log(ratio)).max())
