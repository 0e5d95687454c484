"""Randomized response (Definition 5), its leakage for a given prior, and its calibration to a PML level."""

from __future__ import annotations

import math

import numpy as np

from .._common.types import Floats
from ..errors import RegionError
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
        return np.asarray(-np.log1p((1 - p) * math.expm1(-epsilon_ldp)))
    return np.asarray(-np.log(p + (1 - p) * math.exp(-epsilon_ldp)))


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
