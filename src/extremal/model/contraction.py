"""What a mechanism does to the distance between distributions: cost and contraction.

PML bounds how much more likely a report makes an answer; the pointwise maximal cost bounds how much less likely.
Local differential privacy holds exactly where both are bounded. Contraction says how much of the difference between
two groups of people survives in their reports.
"""

from __future__ import annotations

import numpy as np

from .._common.threads import one_thread
from .._common.types import Floats
from .leakage import lift
from .mechanism import Mechanism, check_match, check_mechanism
from .prior import Prior


def pointwise_cost(prior: Prior, mechanism: Mechanism) -> Floats:
    """-log min_x P(y|x) / P_Y(y) for every report y: how much less likely y can make an answer, in nats.

    Infinite where y rules an answer out. The level of local differential privacy is finite exactly if the largest
    leakage and the largest cost are, and at most their sum; it is at least the larger of the two.

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

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    from scipy.spatial.distance import pdist

    P = check_mechanism(mechanism).matrix
    return min(float(pdist(P, "cityblock").max(initial=0.0)) / 2, 1.0)


@one_thread
def chi_squared_contraction(prior: Prior, mechanism: Mechanism) -> float:
    """The largest χ²(QP‖πP) / χ²(Q‖π) over all distributions Q ≠ π of the answer.

    It is the square of the maximal correlation between answer and report, and the second eigenvalue of the matrix
    Σ_y sqrt(π_x π_x') P(y|x) P(y|x') / P_Y(y), whose first is 1.

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
