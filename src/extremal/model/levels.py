"""Levels: what epsilon limits, and the regions it lies in, in which a column may have equally many zeros (Lemma 2).

With the prior sorted in decreasing order, epsilon_k = -log(sum of the N - k largest masses). A column with k
zeros is possible only if epsilon >= epsilon_k. Region k is [epsilon_{k-1}, epsilon_k) for k = 1..N-1 and, the
case the paper leaves out, region N is [epsilon_{N-1}, epsilon_max).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._common import checks
from .._common.types import Floats
from ..errors import EpsilonError

EQUAL = 1e-14  # masses are equal up to rounding if they differ by no more than this, relatively

SMALLEST_MASS = 1e-150  # of a prior: lifts are at most its inverse, and their squares are still finite


def check_epsilon(epsilon: Any) -> float:
    """epsilon as a float, if it is a finite number >= 0."""
    remedy = "give nats: 0 releases nothing, and `prior.epsilon_max` already allows full disclosure"
    return checks.number(epsilon, "epsilon", least=0, remedy=remedy, error=EpsilonError)


def rounding(epsilon: ArrayLike) -> Any:
    """How far a level may be from an edge and still be equal to it up to rounding.

    Sums of masses carry relative errors of a few 1e-16, which is what their logarithms carry absolutely; a
    large level has its own rounding. It is also how far 1 and c P_X(S) may be apart.
    """
    return 4e-15 + 4e-16 * np.asarray(epsilon, dtype=np.float64)


def bounded_exp(epsilon: float) -> float:
    """e^epsilon, or e^700 where that is less: larger powers are beyond doubles, and beyond every lift."""
    return math.exp(min(epsilon, 700.0))


def largest_lift(probabilities: ArrayLike, epsilon: float) -> float:
    """c = e^epsilon, or 1/min P_X where that is smaller: no lift is larger, whatever epsilon allows."""
    epsilon = check_epsilon(epsilon)
    smallest = float(np.min(probabilities))
    if epsilon >= -math.log(smallest):
        return 1 / smallest
    return min(math.exp(epsilon), 1 / smallest)


def region_edges(probabilities: ArrayLike) -> Floats:
    """epsilon_0 = 0, epsilon_1, ..., epsilon_{N-1}, epsilon_max: N + 1 numbers in increasing order."""
    ascending = np.sort(np.asarray(probabilities, dtype=np.float64))
    tail = np.concatenate(([0.0], np.cumsum(ascending)[:-1]))  # mass of the k smallest symbols, k = 0..N-1
    head = np.cumsum(ascending[::-1])[::-1]  # mass of the N - k largest symbols
    # Each logarithm from the smaller of the two, which is known more precisely.
    edges = np.where(tail < 0.5, -np.log1p(-np.minimum(tail, 0.5)), -np.log(head))
    edges = np.append(edges, -np.log(ascending[0]))
    return np.maximum.accumulate(np.maximum(edges, 0.0))


def region(probabilities: ArrayLike, epsilon: float) -> int:
    """The region k of epsilon, 1..N: a report can rule out at most k - 1 answers. N + 1 from epsilon_max on.

    An epsilon that differs from an edge only by rounding counts as the edge.
    """
    edges = region_edges(probabilities)
    noise = np.minimum(rounding(edges), edges / 2)  # 0 reaches no edge but its own
    return int(np.count_nonzero(check_epsilon(epsilon) >= edges - noise))


def is_uniform(probabilities: ArrayLike) -> bool:
    """Whether all masses are equal up to rounding."""
    p = np.asarray(probabilities, dtype=np.float64)
    return bool(p.max() - p.min() <= EQUAL * p.max())


def every_set(n: int) -> Floats:
    """All non-empty sets of n symbols as rows of zeros and ones, the whole alphabet last."""
    return (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)


@dataclass(frozen=True)
class Notion:
    """What must not exceed epsilon: PML, LDP, LIP or MaximalLeakage.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior([0.5, 0.3, 0.2])
    >>> design = ex.design(prior, 0.6, ex.mutual_information, notion=ex.LDP)
    >>> ex.measures.ldp_epsilon(design.mechanism) <= 0.6 + 1e-9
    True

    Attributes
    ----------
    name
        What it is called.
    bounded
        What is bounded, in words.
    lowest
        For LIP: the smallest lift allowed, if it is not e^-epsilon.
    """

    name: str
    bounded: str
    lowest: float | None = None

    def lower_lift(self, epsilon: float) -> float:
        """The smallest lift P(y|x) / P(y) that is allowed: e^-epsilon, or another one, for LIP; else 0.

        Parameters
        ----------
        epsilon
            The limit on leakage, in nats.
        """
        if self.lowest is not None:
            return self.lowest
        return math.exp(-epsilon) if self.name == "LIP" else 0.0

    def above(self, lift: float) -> Notion:
        """LIP with another lower bound on lifts than e^-epsilon.

        Parameters
        ----------
        lift
            A number between 0, which is PML, and 1, which allows nothing.
        """
        remedy = "e^-epsilon is what LIP.above replaces"
        if self.name != "LIP":
            raise EpsilonError("only LIP has a lower bound on lifts", given=self.name, remedy=remedy)
        lowest = checks.number(lift, "lift", least=0, most=1, remedy=remedy, error=EpsilonError)
        return replace(self, lowest=lowest)

    def __repr__(self) -> str:
        return self.name if self.lowest is None else f"{self.name}.above({self.lowest:g})"


PML = Notion("PML", "the lift P(y|x) / P(y) of every report is at most e^epsilon")

LDP = Notion("LDP", "P(y|x) is at most e^epsilon P(y|x') for any two answers (local differential privacy)")

LIP = Notion("LIP", "every lift lies between e^-epsilon and e^epsilon (local information privacy)")

MaximalLeakage = Notion("maximal leakage", "the sum over reports of max_x P(y|x) is at most e^epsilon")
