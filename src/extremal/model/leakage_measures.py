"""More measures of a mechanism: the distribution of its leakage, the neighbours of PML, and contraction.

PML bounds how much more likely a report makes an answer; the pointwise maximal cost bounds how much less likely. Local
differential privacy holds exactly where both are bounded. Contraction says how much of the difference between two
groups of people survives in their reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common import checks
from .._common.threads import one_thread_of_numpy
from .._common.types import Floats
from .leakage import ROUNDING, lift, pml
from .levels import check_epsilon
from .mechanism import Mechanism, check_match, check_mechanism
from .prior import Prior


def tail_probability(prior: Prior, mechanism: Mechanism, epsilon: float) -> float:
    """P[l(X→Y) > epsilon]; excesses up to 1e-12 are rounding and do not count.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> ex.measures.tail_probability(prior, mechanism, 0.6 + 1e-9)
    0.0

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    epsilon
        The level to exceed, in nats.
    """
    return leakage_distribution(prior, mechanism).tail(epsilon)


@dataclass(frozen=True, eq=False)
class LeakageDistribution:
    """The leakage as a random variable of Y: its distinct values in increasing order, with probabilities.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> found = ex.measures.leakage_distribution(prior, mechanism)
    >>> round(float(found.probabilities.sum()), 6)
    1.0

    Attributes
    ----------
    values
        The leakages that occur, increasing.
    probabilities
        How often each occurs.
    """

    values: Floats
    probabilities: Floats

    @classmethod
    def of(cls, leakage: Floats, rho: Floats) -> LeakageDistribution:
        """The distribution of outcomes with these leakages and probabilities; those equal up to rounding are one.

        Parameters
        ----------
        leakage
            The leakage of each report.
        rho
            How often each report occurs.
        """
        order = np.argsort(leakage, kind="stable")
        order = order[rho[order] > 0]
        values, mass = leakage[order], rho[order]
        first = np.concatenate(([True], np.diff(values) > ROUNDING))
        probabilities = np.add.reduceat(mass, np.flatnonzero(first))
        return cls(values[first], probabilities / math.fsum(probabilities))

    def tail(self, epsilon: float) -> float:
        """P[l(X→Y) > epsilon]; excesses up to 1e-12 are rounding and do not count.

        Parameters
        ----------
        epsilon
            The level to exceed, in nats.
        """
        return min(math.fsum(self.probabilities[self.values > check_epsilon(epsilon) + ROUNDING]), 1.0)

    def quantile(self, q: float) -> float:
        """The smallest value v with P[l(X→Y) <= v] >= q.

        Parameters
        ----------
        q
            A probability.
        """
        q = checks.number(q, "q", least=0, most=1, remedy="0.95 gives the 95 % quantile")
        k = int(np.searchsorted(np.cumsum(self.probabilities), q - ROUNDING))
        return float(self.values[min(k, len(self.values) - 1)])

    @property
    @one_thread_of_numpy
    def mean(self) -> float:
        """E[l(X→Y)]."""
        return float(self.values @ self.probabilities)


def leakage_distribution(prior: Prior, mechanism: Mechanism) -> LeakageDistribution:
    """The distribution of l(X→Y) when Y is drawn by the mechanism; outcomes equal up to rounding are one.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> found = ex.measures.leakage_distribution(prior, mechanism)
    >>> round(float(found.probabilities.sum()), 6)
    1.0

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    return LeakageDistribution.of(pml(prior, mechanism), mechanism.output_distribution(prior))


def first_largest(leakage: Floats) -> int:
    """The first of the largest; equal up to rounding is equal, so that it is the same on every machine."""
    return int(np.argmax(leakage >= leakage.max() - ROUNDING))


def maximal_leakage(mechanism: Mechanism) -> float:
    """log sum_y max_x P(y|x): the leakage on average over Y; it does not depend on the prior.

    Examples
    --------
    >>> import extremal as ex
    >>> round(ex.measures.maximal_leakage(ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])), 3)  # log 1.5
    0.405

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    return max(math.log(math.fsum(check_mechanism(mechanism).matrix.max(axis=0))), 0.0)


def ldp_epsilon(mechanism: Mechanism) -> float:
    """The smallest epsilon of local differential privacy: max of log P(y|x)/P(y|x').

    Infinite if a zero stands beside a positive probability in a column.

    Examples
    --------
    >>> import extremal as ex
    >>> round(ex.measures.ldp_epsilon(ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])), 3)  # log 3
    1.099

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    P = check_mechanism(mechanism).matrix
    P = P[:, P.max(axis=0) > 0]
    low, high = P.min(axis=0), P.max(axis=0)
    if np.any(low == 0):
        return math.inf
    return float(np.max(np.log(high) - np.log(low)))


def lip_epsilon(prior: Prior, mechanism: Mechanism) -> float:
    """The smallest epsilon of local information privacy: max |log lift|.

    Infinite if an output excludes an input.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior([0.5, 0.5])
    >>> round(ex.measures.lip_epsilon(prior, ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])), 3)  # log 2
    0.693

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    ratio = lift(prior, mechanism)
    if np.any(ratio == 0):
        return math.inf
    return float(np.abs(np.log(ratio)).max())


def record_leakage(dp_epsilon: float, least: float) -> float:
    """The most that a release leaks about one record of a database, if it is dp_epsilon-differentially private.

    -log(α + (1 - α) exp(-ε₀)), for records that are independent of each other and whose every value has at least the
    probability α = `least`. Randomized response about one record with a value of probability α attains it.

    Examples
    --------
    >>> import extremal as ex
    >>> round(ex.measures.record_leakage(1.0, 0.1), 3)
    0.841

    Parameters
    ----------
    dp_epsilon
        The level of differential privacy of the release.
    least
        The smallest probability of any value of a record.
    """
    level = checks.number(dp_epsilon, "dp_epsilon", least=0, remedy="e.g. 1")
    alpha = checks.number(least, "least", least=0, most=1, remedy="e.g. 0.1")
    return -math.log(alpha + (1 - alpha) * math.exp(-level)) + 0.0


def pointwise_cost(prior: Prior, mechanism: Mechanism) -> Floats:
    """-log min_x P(y|x) / P_Y(y) for every report y: how much less likely y can make an answer, in nats.

    Infinite where y rules an answer out. The level of local differential privacy is finite exactly if the largest
    leakage and the largest cost are, and at most their sum; it is at least the larger of the two.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> ex.measures.pointwise_cost(prior, mechanism).shape == (mechanism.shape[1],)
    True

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    smallest = lift(prior, mechanism).min(axis=0)
    return np.asarray(-np.log(smallest, out=np.full_like(smallest, -np.inf), where=smallest > 0)) + 0.0


def dobrushin(mechanism: Mechanism) -> float:
    """max over x, x' of the total variation between P(·|x) and P(·|x').

    It is the contraction coefficient of total variation: for any two distributions of the answer at distance t,
    their reports are at most dobrushin(mechanism) * t apart, and some pair attains it.

    Examples
    --------
    >>> import extremal as ex
    >>> round(ex.measures.dobrushin(ex.Mechanism([[0.8, 0.2], [0.3, 0.7]])), 3)
    0.5

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    from scipy.spatial.distance import pdist

    P = check_mechanism(mechanism).matrix
    return min(float(pdist(P, "cityblock").max(initial=0.0)) / 2, 1.0)


@one_thread_of_numpy
def chi_squared_contraction(prior: Prior, mechanism: Mechanism) -> float:
    """The largest χ²(QP‖πP) / χ²(Q‖π) over all distributions Q ≠ π of the answer.

    It is the square of the maximal correlation between answer and report, and the second eigenvalue of the matrix
    Σ_y sqrt(π_x π_x') P(y|x) P(y|x') / P_Y(y), whose first is 1.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> 0 < ex.measures.chi_squared_contraction(prior, mechanism) < 1
    True

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    check_match(prior, mechanism)
    P = mechanism.matrix[:, mechanism.matrix.max(axis=0) > 0]
    root, largest = np.sqrt(prior.probabilities), P.max(axis=0)
    Q = P / largest  # P_Y may underflow
    scaled = root[:, None] * Q * np.sqrt(largest / (prior.probabilities @ Q))
    scaled = scaled - np.outer(root, root @ scaled)  # the direction with the eigenvalue 1 leaves
    return float(np.clip(np.linalg.norm(scaled, 2) ** 2, 0.0, 1.0))
