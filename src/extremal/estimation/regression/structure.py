"""How coefficients enter the linear predictors of a model, and coordinates in which Newton's method is at ease.

vec(B) = C θ: the identity for most models; an ordinal model has one slope for all thresholds, a Gaussian one a
constant log standard deviation. Columns of the design are made orthonormal (X = X̃ R), and so are those of
(I ⊗ R) C, so that a coordinate of 1 moves the linear predictors by about 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg

from ..._common.types import Floats
from ..._common.words import brief
from ...errors import RegressionError
from .families import Binary, Family, Gaussian, Multinomial, Ordinal

COLLINEAR = 1e-9  # of a column of length 1: what is left of it beside the others
ROWS = 1 << 14  # of a block of the factorisation


@dataclass(frozen=True, eq=False)
class Parameter:
    """A coefficient: what it is of (an answer, a threshold, a private column), and its column of the design."""

    part: str
    answer: Any
    column: str


@dataclass(frozen=True, eq=False)
class Structure:
    """The matrix C (D p, q) and the names of its columns.

    `merged` (q, fewer) makes coefficients of those that are free: thresholds that coincide are one.
    """

    contrast: Floats
    parameters: tuple[Parameter, ...]
    merged: Floats


def structure(
    family: Family, names: Sequence[str], answers: Sequence[Any], ones: Floats, empty: frozenset[int]
) -> Structure:
    """The coefficients of a model with these columns of the design; `ones` makes a constant of them: X ones = 1.

    `empty` are answers of an ordinal model that have share 0, so that the thresholds beside them coincide.
    """
    p, D = len(names), family.predictors
    if isinstance(family, Gaussian):
        used = [k for k, name in enumerate(names) if name]
        C = np.zeros((2 * p, len(used) + 1))
        C[used, range(len(used))] = 1.0
        C[p:, -1] = ones
        coefficients = tuple(Parameter("", None, names[k]) for k in used)
        return _free(C, (*coefficients, Parameter("scale", None, "log standard deviation")))
    if isinstance(family, Ordinal):
        slopes = [k for k in range(p) if names[k] != "Intercept"]
        constant = names.index("Intercept")
        C = np.zeros((D * p, len(slopes) + D))
        for d in range(D):
            C[[d * p + k for k in slopes], range(len(slopes))] = -1.0
            C[d * p + constant, len(slopes) + d] = 1.0
        edges = [f"{brief_text(a)} | {brief_text(b)}" for a, b in pairwise(answers)]
        parameters = (
            *(Parameter("", None, names[k]) for k in slopes),
            *(Parameter("threshold", None, edge) for edge in edges),
        )
        group = np.cumsum([0, *(d not in empty for d in range(1, D))])
        merged = np.zeros((D, int(group[-1]) + 1))
        merged[range(D), group] = 1.0
        return Structure(C, parameters, scipy.linalg.block_diag(np.eye(len(slopes)), merged))
    of = answers[1:] if isinstance(family, Multinomial | Binary) else [None]
    return _free(np.eye(D * p), tuple(Parameter("", a, name) for a in of for name in names))


def _free(contrast: Floats, parameters: tuple[Parameter, ...]) -> Structure:
    return Structure(contrast, parameters, np.eye(len(parameters)))


def brief_text(label: Any) -> str:
    """A label in a name."""
    return label if isinstance(label, str) and len(label) <= 30 else brief(label)


def factor(designs: Sequence[Floats], names: Sequence[str]) -> Floats:
    """R, upper triangular, such that the columns of all designs together times R⁻¹ are orthonormal on average.

    Collinear columns are refused by name.
    """
    p = designs[0].shape[1]
    R = np.zeros((0, p))
    for X in designs:
        for k in range(0, len(X), ROWS):
            R = np.asarray(np.linalg.qr(np.vstack([R, X[k : k + ROWS]]), mode="r"))
    if len(R) < p:
        R = np.vstack([R, np.zeros((p - len(R), p))])
    lengths = np.sqrt((R * R).sum(axis=0))
    if (lengths == 0).any():
        name = names[int(np.argmin(lengths))]
        raise RegressionError(
            f"the column {name} is 0 in every row: it is a level or a combination that nobody has",
            remedy="drop the term, or merge levels",
        )
    _, small, order = scipy.linalg.qr(R / lengths, pivoting=True, mode="economic")
    rank = int((np.abs(np.diag(small)) > COLLINEAR).sum())
    if rank < p:
        raise _collinear(small, order, rank, lengths, names)
    return np.asarray(R / np.sqrt(sum(len(X) for X in designs)))


def _collinear(
    small: Floats, order: Any, rank: int, lengths: Floats, names: Sequence[str]
) -> RegressionError:
    combination = scipy.linalg.solve_triangular(small[:rank, :rank], small[:rank, rank])
    others = [names[order[k]] or "a constant" for k in np.flatnonzero(np.abs(combination) > 1e-6)]
    shown = ", ".join(others[:6]) + (f" and {len(others) - 6} more" if len(others) > 6 else "")
    return RegressionError(
        f"columns are collinear: {names[order[rank]] or 'a constant'} is a combination of {shown}",
        remedy="drop one of them",
    )


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Orthonormal designs and contrast, and the way back: coefficients = back @ coordinates."""

    designs: tuple[Floats, ...]
    contrast: Floats
    back: Floats


def coordinates(designs: Sequence[Floats], R: Floats, C: Floats) -> Coordinates:
    """The designs in coordinates in which they are orthonormal, (p, n)."""
    p = R.shape[0]
    inverse = scipy.linalg.solve_triangular(R, np.eye(p))
    D = len(C) // p
    scaled = np.concatenate([R @ C[d * p : (d + 1) * p] for d in range(D)])
    Q, small = np.linalg.qr(scaled)
    back = scipy.linalg.solve_triangular(small, np.eye(len(small)))
    return Coordinates(tuple(np.ascontiguousarray((X @ inverse).T) for X in designs), Q, back)
