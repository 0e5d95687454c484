"""Pairing of outputs with inputs: readable labels for a class of mechanisms that differ by column order.

Utility does not see the order of columns (Remark 1), people do. Among all orders this picks the one in which
the released symbol agrees most often with the true one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.types import Floats
from ..model.labels import Labels
from ..model.mechanism import Mechanism, check_match, common_labels
from ..model.prior import Prior


def pair_outputs(prior: Prior, mechanism: Mechanism) -> Mechanism:
    """The same mechanism with outputs that carry input labels, P[Y = X] as large as column order allows.

    Outputs that never occur are dropped. With at most N outputs each gets its own input label, in the order
    of the inputs; with more they are numbered 0..M-1, and where the inputs are tuples, one label for each of
    several columns, number k stands in every place: ("#k", "#k"), which no answer is mistaken for.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.4, "no": 0.6})
    >>> ex.theory.pair_outputs(prior, ex.Mechanism([[0.2, 0.8], [0.7, 0.3]], ["yes", "no"])).outputs
    ('yes', 'no')

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    check_match(prior, mechanism)
    P = mechanism.matrix[:, mechanism.matrix.max(axis=0) > 0]
    n, m = P.shape
    labels = common_labels(prior.labels, mechanism.inputs)
    if m > n:
        return Mechanism(P, labels, numbered(labels, m))
    inputs, outputs = _best_pairs(prior.probabilities[:, None] * P)
    return Mechanism(P[:, outputs], labels, [labels[i] for i in inputs])


def _best_pairs(joint: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows in their order, and the column of each, with the largest sum; there are no more columns than rows."""
    best = joint.argmax(axis=0)
    if len(np.unique(best)) == len(best):  # each column has the row where it is largest: no sum is larger
        outputs = best.argsort()
        return best[outputs], outputs
    from scipy.optimize import linear_sum_assignment  # half a second: not at import

    inputs, outputs = linear_sum_assignment(joint, maximize=True)
    return inputs, outputs


def numbered(inputs: Labels, count: int) -> list[Any]:
    """Names of so many outputs, too many to carry input labels."""
    widths = {len(label) for label in inputs if isinstance(label, tuple)}
    if len(widths) != 1 or not all(isinstance(label, tuple) for label in inputs):
        return list(range(count))
    (width,) = widths
    return [(f"#{k}",) * width for k in range(count)]


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
