"""Mechanisms in closed form: Theorems 2, 3 and 4, Corollary 1, and the arc mechanism for every prior.

The formulas are functions of the masses pi and c = e^epsilon that use only + - * / and comparisons, so that
the same lines run on floats and on exact fractions. The public functions check the range and attach labels;
columns are in the paper's order and numbered 0..M-1 (`pair_outputs` gives them input labels).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.types import Floats
from ..errors import RegionError
from ..model.levels import check_epsilon, largest_lift, region, rounding
from ..model.mechanism import Mechanism, check_size
from ..model.prior import Prior, check_prior
from ..model.utility import NEAR, mutual_information, near_one
from .lift_vectors import arc_columns

Numbers = NDArray[Any]  # floats, or objects that are fractions


def binary(prior: Prior, epsilon: float) -> Mechanism:
    """Optimal for every sub-convex utility on two symbols, 0 <= epsilon <= epsilon_max (Theorem 2).

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    """
    if check_prior(prior).size != 2:
        raise RegionError(
            "Theorem 2 needs a prior on 2 symbols",
            given=prior.size,
            remedy="`design(prior, epsilon)` handles any number of symbols",
        )
    epsilon = _check_range("Theorem 2", epsilon, prior.epsilon_max)
    order = np.argsort(-prior.probabilities, kind="stable")
    c = largest_lift(prior.probabilities, epsilon)
    P = binary_matrix(prior.probabilities[order], c, _excess(c, epsilon))
    _settle(P, [0, 1], [1, 0], rounding(epsilon) / max(c * prior.probabilities.max(), 1))
    return Mechanism(P[np.argsort(order)], inputs=prior.labels)


def high_privacy(prior: Prior, epsilon: float) -> Mechanism:
    """Optimal for every sub-convex utility when 0 <= epsilon < epsilon_1(P_X) (Theorem 3).

    P(y_j|x_i) = e^epsilon P_X(x_j) for i != j; the diagonal completes each row.

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    """
    epsilon = check_epsilon(epsilon)
    if region(check_prior(prior).probabilities, epsilon) > 1:
        raise RegionError(
            f"Theorem 3 needs 0 <= epsilon < epsilon_1 = {prior.region_edges[1]:.6g} for this prior",
            given=f"{epsilon:.6g}",
            remedy="`design(prior, epsilon)` picks the right method for any epsilon",
        )
    check_size(prior.size, prior.size)
    c = math.exp(epsilon)
    P = high_privacy_matrix(prior.probabilities, c, _excess(c, epsilon))
    _settle(P, np.arange(prior.size), np.arange(prior.size), rounding(epsilon))
    return Mechanism(P, inputs=prior.labels)


def uniform(n: int | Prior, epsilon: float) -> Mechanism:
    """Optimal for a uniform prior and every symmetric sub-convex utility, 0 <= epsilon <= log N (Theorem 4).

    In region k, column j is e^epsilon/N on the N - k symbols after j (cyclically), 1 - e^epsilon (N-k)/N on j
    and 0 elsewhere. At epsilon = log N, k = N gives the identity.

    Parameters
    ----------
    n
        How many answers there are, or a uniform prior.
    epsilon
        The limit on leakage, in nats.
    """
    prior = n if isinstance(n, Prior) else Prior.uniform(n)
    if not prior.is_uniform:
        p = prior.probabilities
        raise RegionError(
            "Theorem 4 needs a uniform prior",
            given=f"masses from {p.min():.6g} to {p.max():.6g}",
            remedy="`design(prior, epsilon)` handles any prior",
        )
    size = prior.size
    epsilon = _check_range("Theorem 4", epsilon, math.log(size))
    check_size(size, size)
    k = min(region(prior.probabilities, epsilon), size)
    c = min(math.exp(epsilon), float(size))
    P = uniform_matrix(size, c, k)
    _settle(P, np.arange(size), np.arange(size), rounding(epsilon))
    # Where epsilon is an edge only up to rounding, the diagonal must not exceed the rest of its column.
    P = np.minimum(P, c / size) if k < size else P
    return Mechanism(P / P.sum(axis=1, keepdims=True), inputs=prior.labels)


def uniform_mutual_information(n: int, epsilon: float) -> float:
    """I(X;Y) of the mechanism of Theorem 4: log N - H(e^epsilon/N (N-k times), the rest) (Corollary 1).

    Parameters
    ----------
    n
        How many answers there are.
    epsilon
        The limit on leakage, in nats.
    """
    prior = Prior.uniform(n)
    n = prior.size
    epsilon = _check_range("Corollary 1", epsilon, math.log(n))
    k = min(region(prior.probabilities, epsilon), n)
    if k == 1:  # from lifts less 1: log N and the entropy would cancel
        x = math.expm1(epsilon)
        return float(np.array([n - 1, 1]) / n @ near_one(mutual_information.f, np.array([x, (1 - n) * x])))
    a = min(math.exp(epsilon) / n, 1.0)
    rest = max(1 - (n - k) * a, 0.0)
    entropy = -(n - k) * a * math.log(a) - (rest * math.log(rest) if rest > 0 else 0.0)
    return math.log(n) - entropy


def arc(prior: Prior, epsilon: float) -> Mechanism:
    """Feasible at every epsilon >= 0 for every prior, optimal if it is uniform (Theorem 4).

    Lay the symbols as arcs of length P_X(x) on a circle of circumference 1; a column covers
    [t, t + e^-epsilon) and has lift e^epsilon where it covers. Every start t between two breakpoints is
    replaced by the two breakpoints, which cannot lose utility. At most 2N outputs.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior.uniform(5)
    >>> round(ex.epsilon_pml(prior, ex.theory.arc(prior, 0.6)), 6)
    0.6

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    """
    pi = check_prior(prior).probabilities
    return Mechanism(arc_columns(pi, 0.0, largest_lift(pi, epsilon)).matrix(), inputs=prior.labels)


def _excess(c: float, epsilon: float) -> float:
    """c - 1; of a small epsilon more precisely than from the double c next to 1."""
    return math.expm1(epsilon) if epsilon < NEAR else c - 1


def binary_matrix(pi: Sequence[Any] | Numbers, c: Any, excess: Any = None) -> Numbers:
    """Theorem 2 for pi_1 >= pi_2 and 1 <= c <= 1/pi_2.

    Parameters
    ----------
    pi
        The two probabilities, the larger first.
    c
        e^epsilon.
    excess
        c - 1, if it is known more precisely than from c.
    """
    p1, p2 = pi
    if c * p1 < 1:
        x = c - 1 if excess is None else excess
        # 1 - c p1 is c p2 - (c - 1), which is precise for a small p2 too.
        return np.array([[c * p2, c * p1 - x], [c * p2 - x, c * p1]])
    return np.array([[(c - 1) / (c * p1), (1 - c * p2) / (c * p1)], [0 * c, 1 + 0 * c]])


def high_privacy_matrix(pi: Sequence[Any] | Numbers, c: Any, excess: Any = None) -> Numbers:
    """Theorem 3 for 1 <= c < 1/(1 - min pi).

    Parameters
    ----------
    pi
        The probabilities.
    c
        e^epsilon.
    excess
        c - 1, if it is known more precisely than from c.
    """
    masses = np.asarray(pi)
    P = np.tile(c * masses, (len(masses), 1))
    np.fill_diagonal(
        P, c * masses - (c - 1 if excess is None else excess)
    )  # 1 - c (1 - pi), but precise for small masses too
    return P


def uniform_matrix(n: int, c: Any, k: int) -> Numbers:
    """Theorem 4 in region k for 1 <= c <= n.

    Parameters
    ----------
    n
        How many answers there are.
    c
        e^epsilon.
    k
        The region: a column has k - 1 zeros.
    """
    full, rest = c / n, 1 - c * (n - k) / n
    after = (
        np.arange(n)[:, None] - np.arange(n)[None, :]
    ) % n  # how far row i lies after column j, cyclically
    return np.asarray(np.where(after == 0, rest, np.where(after <= n - k, full, 0 * c)))


def _settle(P: Floats, i: Any, j: Any, noise: float) -> None:
    """Set to 0 the elements (i, j), which complete a row or a column, where they are 0 up to rounding.

    So they are at the edge of a region, and utilities steep at 0 (Hellinger) would notice the difference.
    """
    P[i, j] = np.where(P[i, j] <= noise, 0.0, P[i, j])


def _check_range(theorem: str, epsilon: float, top: float) -> float:
    epsilon = check_epsilon(epsilon)
    if epsilon > top + rounding(top):
        raise RegionError(
            f"{theorem} needs 0 <= epsilon <= epsilon_max = {top:.6g} for this prior",
            given=f"{epsilon:.6g}",
            remedy="above it the identity is optimal, as design() returns",
        )
    return epsilon
