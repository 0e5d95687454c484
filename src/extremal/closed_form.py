"""Mechanisms in closed form: Theorems 2, 3 and 4, Corollary 1, and the arc mechanism for every prior.

The formulas are functions of the masses pi and c = e^epsilon that use only + - * / and comparisons, so that the
same lines run on floats and on exact fractions. The public functions check the range and attach labels; columns
are in the paper's order and numbered 0..M-1 (`pair_outputs` gives them input labels).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arc import arc_columns
from .errors import RegionError
from .mechanism import Mechanism
from .prior import Prior
from .regions import ABSOLUTE_NOISE, RELATIVE_NOISE, check_epsilon, region, region_edges

Floats = NDArray[np.float64]
Numbers = NDArray[Any]  # floats, or objects that are fractions


def binary(prior: Prior, epsilon: float) -> Mechanism:
    """Optimal for every sub-convex utility on two symbols, 0 <= epsilon <= epsilon_max (Theorem 2)."""
    if prior.size != 2:
        raise RegionError(f"Theorem 2 needs a prior on 2 symbols, got {prior.size}; design() handles any number")
    epsilon = _check_range("Theorem 2", epsilon, prior.epsilon_max)
    order = np.argsort(-prior.probabilities, kind="stable")
    c = min(math.exp(epsilon), 1 / prior.probabilities.min())
    P = binary_matrix(prior.probabilities[order], c)
    return Mechanism(np.clip(P[np.argsort(order)], 0, 1), inputs=prior.labels)


def high_privacy(prior: Prior, epsilon: float) -> Mechanism:
    """Optimal for every sub-convex utility when 0 <= epsilon < epsilon_1(P_X) (Theorem 3).

    P(y_j|x_i) = e^epsilon P_X(x_j) for i != j; the diagonal completes each row.
    """
    epsilon = check_epsilon(epsilon)
    edge = region_edges(prior.probabilities)[1]
    if not epsilon < edge:
        raise RegionError(
            f"Theorem 3 needs 0 <= epsilon < {edge:.6g} for this prior, got {epsilon:.6g}; "
            "design() picks the right method for any epsilon"
        )
    P = high_privacy_matrix(prior.probabilities, math.exp(epsilon))
    # Just below the edge the diagonal of the least likely symbol is 0 up to rounding.
    return Mechanism(np.maximum(P, 0), inputs=prior.labels)


def uniform(n: int | Prior, epsilon: float) -> Mechanism:
    """Optimal for a uniform prior and every symmetric sub-convex utility, 0 <= epsilon <= log N (Theorem 4).

    Column j is e^epsilon/N on the N - k symbols after j (cyclically), 1 - e^epsilon (N-k)/N on j, 0 elsewhere,
    in region k. At epsilon = log N, k = N gives the identity.
    """
    prior = n if isinstance(n, Prior) else Prior.uniform(n)
    if not prior.is_uniform:
        raise RegionError("Theorem 4 needs a uniform prior; design() handles any prior")
    size = prior.size
    epsilon = _check_range("Theorem 4", epsilon, math.log(size))
    k = min(region(prior.probabilities, epsilon), size)
    P = uniform_matrix(size, min(math.exp(epsilon), float(size)), k)
    # At an edge the single non-extremal element is 0 up to rounding, or e^epsilon/N up to rounding.
    return Mechanism(np.clip(P.astype(np.float64), 0, None), inputs=prior.labels)


def uniform_mutual_information(n: int, epsilon: float) -> float:
    """I(X;Y) of the mechanism of Theorem 4: log N - H(e^epsilon/N (N-k times), the rest) (Corollary 1)."""
    epsilon = _check_range("Corollary 1", epsilon, math.log(n))
    k = min(region(np.full(n, 1 / n), epsilon), n)
    a = min(math.exp(epsilon) / n, 1.0)
    rest = max(1 - (n - k) * a, 0.0)
    return math.log(n) + (n - k) * a * math.log(a) + (rest * math.log(rest) if rest > 0 else 0.0)


def arc(prior: Prior, epsilon: float) -> Mechanism:
    """Feasible at every epsilon >= 0 for every prior, optimal if uniform (Theorem 4).

    Lay the symbols as arcs of length P_X(x) on a circle of circumference 1; a column covers [t, t + e^-epsilon) and
    has lift e^epsilon where it covers. Every start t between two breakpoints is replaced by the two breakpoints,
    which cannot lose utility. At most 2N outputs.
    """
    epsilon = check_epsilon(epsilon)
    return Mechanism(arc_columns(prior.probabilities, epsilon).matrix(), inputs=prior.labels)


def binary_matrix(pi: Numbers, c: Any) -> Numbers:
    """Theorem 2 for pi_1 >= pi_2 and 1 <= c <= 1/pi_2."""
    p1, p2 = pi
    if c * p1 < 1:
        return np.array([[c * p2, 1 - c * p2], [1 - c * p1, c * p1]])
    return np.array([[(c - 1) / (c * p1), (1 - c * p2) / (c * p1)], [0 * c, 1 + 0 * c]])


def high_privacy_matrix(pi: Numbers, c: Any) -> Numbers:
    """Theorem 3 for 1 <= c < 1/(1 - min pi)."""
    n = len(pi)
    P = np.array([[c * pi[j] for j in range(n)] for _ in range(n)]) if pi.dtype == object else np.tile(c * pi, (n, 1))
    P[np.arange(n), np.arange(n)] = 1 - c * (1 - pi)
    return P


def uniform_matrix(n: int, c: Any, k: int) -> Numbers:
    """Theorem 4 in region k for 1 <= c <= n."""
    full, rest = c / n, 1 - c * (n - k) / n
    after = (np.arange(n)[:, None] - np.arange(n)[None, :]) % n  # how far row i lies after column j on the circle
    return np.where(after == 0, rest, np.where(after <= n - k, full, 0 * c))


def _check_range(theorem: str, epsilon: float, top: float) -> float:
    epsilon = check_epsilon(epsilon)
    if epsilon > top * (1 + RELATIVE_NOISE) + ABSOLUTE_NOISE:
        raise RegionError(
            f"{theorem} needs 0 <= epsilon <= epsilon_max = {top:.6g} for this prior, got {epsilon:.6g}; "
            "above it the identity is optimal, as design() returns"
        )
    return epsilon
