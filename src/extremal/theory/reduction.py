"""At most as many outputs as inputs, at no loss (Theorem 1)."""

from __future__ import annotations

import math

import numpy as np

from .._common.threads import one_thread
from .._common.types import Floats, Ints
from ..model.mechanism import EXACT, Mechanism, check_match, common_labels
from ..model.prior import Prior
from ..model.utility import Utility, check_utility


def agreement(prior: Prior, mechanism: Mechanism) -> float:
    """P[Y = X]: how often the release carries the label of the true symbol.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> round(ex.theory.agreement(prior, ex.theory.randomized_response(prior, 1.0)), 3)
    0.576

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    check_match(prior, mechanism)
    column = {label: j for j, label in enumerate(mechanism.outputs)}
    labels = common_labels(prior.labels, mechanism.inputs)
    hits = [(i, column[label]) for i, label in enumerate(labels) if label in column]
    return math.fsum(prior.probabilities[i] * mechanism.matrix[i, j] for i, j in hits)


NEGLIGIBLE = 1e-14  # an output that no input reaches with more probability than this is dropped as rounding


@one_thread
def reduce_outputs(prior: Prior, mechanism: Mechanism, utility: Utility) -> Mechanism:
    """A mechanism with at most N outputs, leakage no higher and utility no lower.

    The proof of Theorem 1, run: N + 1 columns are linearly dependent, sum_y phi(y) P_y = 0. Scaling column y
    by 1 + gamma phi(y) keeps all row sums and every lift; utility changes by gamma sum_y phi(y) mu(P_y). Walk
    in the direction that does not lose until a column vanishes, and repeat. Outputs that survive keep their
    labels.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> rich = ex.theory.enumerated(prior, 0.6)
    >>> ex.theory.reduce_outputs(prior, rich, ex.mutual_information).shape[1] <= 3
    True

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    utility
        The utility that must not fall.
    """
    check_match(prior, mechanism)
    check_utility(utility)
    n = mechanism.shape[0]
    largest = mechanism.matrix.max(axis=0)
    occurs = np.flatnonzero(largest > NEGLIGIBLE)
    if len(occurs) <= n:
        return _rebuild(mechanism, occurs, mechanism.matrix[:, occurs])
    # Columns scaled to maximum 1, with weights: null vectors are then well scaled whatever the weights.
    A = mechanism.matrix[:, occurs] / largest[occurs]
    weights = largest[occurs].copy()
    gains = utility.columns(prior, A)
    active = np.arange(n)
    for j in range(n, len(occurs)):
        active = np.append(active, j)
        _walk(A[:, active], gains[active], weights, active)
        active = active[weights[active] > 0]
    weights[active] = _polish(A[:, active], weights[active])
    active = active[weights[active] > NEGLIGIBLE]
    return _rebuild(mechanism, occurs[active], A[:, active] * weights[active])


def _walk(A: Floats, gains: Floats, weights: Floats, active: Ints) -> None:
    """Move weight among columns along their linear dependence, at no loss, until one has none left."""
    if A.shape[1] <= A.shape[0]:
        return
    phi = _dependence(A)
    if phi @ gains > 0:
        phi = -phi  # weights fall where phi is positive
    steps = np.divide(weights[active], phi, out=np.full(len(phi), np.inf), where=phi > 0)
    first = int(np.argmin(steps))
    weights[active] = np.maximum(weights[active] - steps[first] * phi, 0.0)
    weights[active[first]] = 0.0


def _dependence(A: Floats) -> Floats:
    """A unit vector phi with A phi = 0, for a matrix with one column more than rows."""
    try:
        phi = np.append(np.linalg.solve(A[:, :-1], A[:, -1]), -1.0)
    except np.linalg.LinAlgError:
        phi = np.full(A.shape[1], np.inf)
    # Elimination leaves a residual that is small against phi, however large phi is, unless it is infinite.
    norm = np.linalg.norm(phi)
    return np.asarray(phi / norm if np.isfinite(norm) else np.linalg.svd(A)[2][-1])


def _polish(A: Floats, weights: Floats) -> Floats:
    """Weights moved by as little as makes every row sum 1: undoes the rounding of many steps."""
    for _ in range(2):
        change = np.linalg.lstsq(A, 1 - A @ weights, rcond=None)[0]
        weights = np.maximum(weights + change, 0.0)
    return weights


def _rebuild(mechanism: Mechanism, kept: Ints, P: Floats) -> Mechanism:
    sums = P.sum(axis=1, keepdims=True)
    if np.abs(sums - 1).max() > EXACT:
        P = P / sums
    return Mechanism(P, mechanism.inputs, [mechanism.outputs[j] for j in kept])
