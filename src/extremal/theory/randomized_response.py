"""Mechanisms that know no prior: randomized response (Definition 5), and clients of local differential privacy.

Randomized response has its leakage for a given prior, and is calibrated to a PML level. Each client (subset selection,
unary encodings, Hadamard response) reports a set: a symbol's own set of outputs is reported with more probability than
any other. The level is that of local differential privacy, which holds for every prior; under a prior the reports leak
less. The matrices have an output for every set, so they are for small alphabets.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from .._common.types import Floats
from ..errors import RegionError, SizeError
from ..model.leakage import epsilon_pml
from ..model.levels import check_epsilon, region
from ..model.mechanism import Mechanism, check_size, identity
from ..model.prior import Prior, check_prior


def randomized_response(n_or_prior: int | Prior, epsilon_ldp: float) -> Mechanism:
    """Tell the truth with weight e^epsilon, each other symbol with weight 1 (Definition 5).

    Examples
    --------
    >>> import extremal as ex
    >>> ex.theory.randomized_response(2, 1.0).matrix.round(3).tolist()
    [[0.731, 0.269], [0.269, 0.731]]

    Parameters
    ----------
    n_or_prior
        How many answers there are, or a prior, whose labels are used.
    epsilon_ldp
        The parameter of randomized response: its level of local differential privacy.
    """
    prior = n_or_prior if isinstance(n_or_prior, Prior) else Prior.uniform(n_or_prior)
    small = math.exp(-check_epsilon(epsilon_ldp))
    n = prior.size
    check_size(n, n)
    P = np.full((n, n), small / (1 + (n - 1) * small))
    np.fill_diagonal(P, 1 / (1 + (n - 1) * small))
    return Mechanism(P, prior.labels, prior.labels)


def randomized_response_pml(prior: Prior, epsilon_ldp: float) -> Floats:
    """l(X→y_j) = epsilon_r - log((e^epsilon_r - 1) P_X(x_j) + 1) for every output.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.theory.randomized_response_pml(prior, 0.6).round(3).tolist()
    [0.256, 0.38, 0.448]

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon_ldp
        The parameter of randomized response: its level of local differential privacy.
    """
    p, epsilon_ldp = check_prior(prior).probabilities, check_epsilon(epsilon_ldp)
    # The same as -log(p + (1 - p) e^-epsilon_r), which cannot overflow; near 0 fewer digits cancel this way.
    if epsilon_ldp < 1:
        return -np.log1p((1 - p) * math.expm1(-epsilon_ldp))
    return -np.log(p + (1 - p) * math.exp(-epsilon_ldp))


def randomized_response_epsilon(prior: Prior, epsilon_ldp: float) -> float:
    """epsilon(P_X): the PML of randomized response with this parameter, attained at the least likely symbol.

    Schur-convex in the prior (Proposition 1), and never above epsilon_ldp.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.theory.randomized_response_epsilon(prior, 0.6), 3)
    0.448

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon_ldp
        The parameter of randomized response: its level of local differential privacy.
    """
    return float(randomized_response_pml(prior, epsilon_ldp).max())


def randomized_response_parameter(prior: Prior, epsilon: float) -> float:
    """epsilon_r(epsilon) = epsilon + log((1 - p_min) / (1 - p_min e^epsilon)): the inverse of the above.

    Defined for epsilon < epsilon_max; towards epsilon_max it grows without bound.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.theory.randomized_response_parameter(prior, 0.6), 3)
    0.83

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    """
    epsilon = check_epsilon(epsilon)
    if region(check_prior(prior).probabilities, epsilon) > prior.size:
        raise RegionError(
            f"epsilon_r needs 0 <= epsilon < epsilon_max = {prior.epsilon_max:.6g} for this prior",
            given=f"{epsilon:.6g}",
            remedy="from there on randomized response needs no noise, release X itself",
        )
    p = float(prior.probabilities.min())
    return epsilon + math.log1p(-p) - math.log1p(-p * math.exp(epsilon))


def randomized_response_for_pml(prior: Prior, epsilon: float) -> Mechanism:
    """The randomized response that satisfies epsilon-PML exactly; the identity from epsilon_max on.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.epsilon_pml(prior, ex.theory.randomized_response_for_pml(prior, 0.6)), 6)
    0.6

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    """
    if region(check_prior(prior).probabilities, epsilon) > prior.size:
        return identity(prior)
    return randomized_response(prior, randomized_response_parameter(prior, epsilon))


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
