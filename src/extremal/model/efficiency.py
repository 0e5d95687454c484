"""The efficiency of a mechanism for estimates: the loss of direct answers over that of its reports.

With A = M'M the loss of direct answers is tr(A (diag pi - pi pi')), and that of reports tr(A Sigma), where Sigma is the
covariance of the estimated shares.
"""

from __future__ import annotations

import numpy as np

from .._common.types import Floats


def square_root(A: Floats) -> Floats:
    """M with A = M'M; exact where A is diagonal."""
    diagonal = np.diagonal(A)
    if np.count_nonzero(A - np.diag(diagonal)) == 0:
        return np.diag(np.sqrt(diagonal))
    values, vectors = np.linalg.eigh(A)
    kept = values > len(A) * 1e-15 * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def direct_loss(pi: Floats, factor: Floats) -> float:
    """tr(A (diag pi - pi pi')), A = M'M with M the factor."""
    spread = factor - (factor @ pi)[:, None]
    return float(np.sum(spread * spread * pi))


def efficiency_of_rows(pi: Floats, P: Floats, A: Floats) -> float:
    """The efficiency of a mechanism's rows P, the most likely symbol first.

    Rows are compared with the first one, which loses no digits: a lift less 1 does where one symbol is nearly certain.
    """
    factor = square_root(A)
    Z = (P[1:] - P[0]) / np.sqrt(pi @ P)
    return explained(Z @ Z.T, factor[:, 1:] - factor[:, :1], direct_loss(pi, factor))


def explained(C: Floats, factor: Floats, direct: float) -> float:
    """direct / tr(M C^-1 M'), M the factor; 0 if that needs what C does not tell."""
    own = np.diagonal(C)
    scale = 1 / np.sqrt(np.where(own > 0, own, 1.0))
    values, vectors = np.linalg.eigh(C * np.multiply.outer(scale, scale))
    squares = np.sum(((factor * scale) @ vectors) ** 2, axis=0)
    known = values > (len(C) + 1) * 1e-14
    if float(squares[~known].sum()) > 1e-12 * float(squares.sum()):
        return 0.0
    return direct / float(np.sum(squares[known] / values[known]))
