"""Clients of local differential privacy that know no prior: subset selection, unary encodings, Hadamard response.

Each reports a set: a symbol's own set of outputs is reported with more probability than any other. The level is that
of local differential privacy, which holds for every prior; under a prior the reports leak less. The matrices have an
output for every set, so they are for small alphabets.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from .._common.types import Floats
from ..errors import SizeError
from ..model.leakage import epsilon_pml
from ..model.levels import check_epsilon, region
from ..model.mechanism import Mechanism, identity
from ..model.prior import Prior, check_prior

LARGEST = 12  # symbols: unary encodings have 2^N outputs
STEPS = 60  # of a bisection
HIGHEST = 40.0  # a level that allows everything


def subset_selection(n: int, level: float) -> Mechanism:
    """A set of size about N / (e^level + 1), which holds the true symbol with odds of e^level against a random set.

    For N symbols that are all alike no mechanism of this level estimates shares better (Ye and Barg).
    """
    size = max(1, round(_small(n) / (math.exp(check_epsilon(level)) + 1)))
    holds = np.array([[x in s for s in itertools.combinations(range(n), size)] for x in range(n)])
    return _two_levels(holds, level)


def hadamard_response(n: int, level: float) -> Mechanism:
    """An output from the true symbol's half of K, a power of 2 above N; halves of two symbols share K / 4."""
    K = 1 << n.bit_length()
    rows, columns = np.arange(1, n + 1)[:, None], np.arange(K)[None, :]
    ones = np.array([bin(v).count("1") for v in range(K)])
    return _two_levels(ones[rows & columns] % 2 == 0, level)


def optimized_unary_encoding(n: int, level: float) -> Mechanism:
    """One bit for each symbol: the true one is told with probability 1/2, every other is raised as level demands."""
    return _unary(n, 0.5, 1 / (math.exp(check_epsilon(level)) + 1))


def rappor(n: int, level: float) -> Mechanism:
    """One bit for each symbol, each told by randomized response with half the level: basic one-time RAPPOR."""
    q = 1 / (math.exp(check_epsilon(level) / 2) + 1)
    return _unary(n, 1 - q, q)


def at_pml(make: Callable[[int, float], Mechanism], prior: Prior, epsilon: float) -> tuple[float, Mechanism]:
    """The highest level whose mechanism leaks at most epsilon under the prior, by bisection, and the mechanism."""
    n = check_prior(prior).size
    if region(prior.probabilities, check_epsilon(epsilon)) > n:
        return math.inf, identity(prior)
    low, high = 0.0, HIGHEST
    best = make(n, low)
    for _ in range(STEPS):
        middle = (low + high) / 2
        made = make(n, middle)
        if epsilon_pml(prior, Mechanism(made.matrix, prior.labels)) <= epsilon:
            low, best = middle, made
        else:
            high = middle
    return low, Mechanism(best.matrix, prior.labels)


def _small(n: int) -> int:
    if n > LARGEST:
        raise SizeError(
            f"matrices with an output for every set are for at most {LARGEST} symbols",
            given=n,
            remedy="merge rare labels",
        )
    return n


def _two_levels(holds: Floats, level: float) -> Mechanism:
    """Outputs whose set holds the symbol are e^level times as likely as the others."""
    P = np.where(holds, 1.0, math.exp(-check_epsilon(level)))
    return Mechanism(P / P.sum(axis=1, keepdims=True))


def _unary(n: int, p: float, q: float) -> Mechanism:
    """Bits that are 1 with probability p for the true symbol and q for the others."""
    bits = np.array(list(itertools.product((0, 1), repeat=_small(n))))
    others = np.where(bits == 1, q, 1 - q)
    own = np.where(bits == 1, p, 1 - p)
    P = np.array([own[:, x] * np.delete(others, x, axis=1).prod(axis=1) for x in range(n)])
    return Mechanism(P / P.sum(axis=1, keepdims=True))
