"""The polytope M_N(epsilon) of all N x N mechanisms that satisfy epsilon-PML (Lemma 1), and its vertices.

Exhaustive: M_N(epsilon) has N^2 variables and its vertices explode with N, see `polytope_vertices`. It is the
paper's baseline and, here, an independent check of everything faster. Needs the extra `polytope`
(pycddlib-standalone).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import SizeError, SolverError
from .prior import Prior
from .regions import check_epsilon

Floats = NDArray[np.float64]

LARGEST = 4  # symbols: see the table in polytope_vertices


@dataclass(frozen=True)
class Constraints:
    """{p : upper p <= 0, sums p = 1, p >= 0} for p the N x N mechanism, row by row."""

    upper: NDArray[Any]
    sums: NDArray[Any]


def constraints(pi: Sequence[Any], c: Any) -> Constraints:
    """Lemma 1: p_ij - c sum_i' pi_i' p_i'j <= 0 and sum_j p_ij = 1, for masses pi and c = e^epsilon.

    Fractions in, fractions out.
    """
    n = len(pi)
    kind: Any = object if isinstance(c, Fraction) else np.float64
    upper = np.zeros((n * n, n * n), dtype=kind)
    sums = np.zeros((n, n * n), dtype=kind)
    if kind is object:
        upper += Fraction(0)
        sums += Fraction(0)
    for i in range(n):
        sums[i, i * n : (i + 1) * n] = c / c
        for j in range(n):
            upper[i * n + j, j::n] = [-c * p for p in pi]
            upper[i * n + j, i * n + j] += c / c
    return Constraints(upper, sums)


def polytope_vertices(prior: Prior, epsilon: float) -> Floats:
    """All extremal mechanisms: the vertices of M_N(epsilon), shape (V, N, N).

    Practical up to N = 3 (up to some hundred vertices, milliseconds); N = 4 has thousands to hundreds of thousands
    of them and takes from seconds to many minutes; above that it is refused.
    """
    c = min(math.exp(check_epsilon(epsilon)), 1 / float(prior.probabilities.min()))
    vertices, _ = _enumerate(prior.probabilities, c)
    P = vertices.reshape(-1, prior.size, prior.size)
    return np.asarray(P / P.sum(axis=2, keepdims=True))


def exact_polytope_vertices(pi: Sequence[Fraction], c: Fraction) -> list[list[list[Fraction]]]:
    """The same for rational masses and a rational c = e^epsilon, each vertex without rounding.

    The enumeration tells which constraints each vertex meets with equality; solving those in fractions gives the
    vertex itself, and all other constraints are then checked exactly.
    """
    pi, c = [Fraction(p) for p in pi], Fraction(c)
    if sum(pi) != 1 or min(pi) <= 0:
        raise ValueError(f"masses must be positive fractions that sum to 1, got {[str(p) for p in pi]}")
    n = len(pi)
    system = constraints(pi, min(c, 1 / min(pi)))
    _, active = _enumerate(np.array([float(p) for p in pi]), float(min(c, 1 / min(pi))))
    found = []
    for rows in active:
        tight = [(*row, Fraction(1)) for row in system.sums]
        tight += [(*system.upper[k], Fraction(0)) for k in rows if k < n * n]
        tight += [(*unit, Fraction(0)) for unit in (_unit(n * n, k - n * n) for k in rows if k >= n * n)]
        p = _solve(tight, n * n)
        if min(p) < 0 or any(sum(u * x for u, x in zip(row, p, strict=True)) > 0 for row in system.upper):
            raise SolverError("floating-point enumeration gave a basis that is not a vertex in exact arithmetic")
        found.append(tuple(p))
    return [[list(p[i * n : (i + 1) * n]) for i in range(n)] for p in dict.fromkeys(found)]


def _enumerate(pi: Floats, c: float) -> tuple[Floats, list[list[int]]]:
    """Vertices as rows, and for each the inequalities it meets with equality: k < N^2 a PML constraint, else p >= 0."""
    n = len(pi)
    if n > LARGEST:
        raise SizeError(
            f"vertex enumeration of M_N(epsilon) is practical up to N = {LARGEST}, got {n}; "
            "design() uses lift vectors (enumeration up to N = 18) or column generation instead"
        )
    import cdd

    system = constraints(pi.tolist(), c)
    size = n * n
    rows = np.vstack(
        (
            np.column_stack((np.zeros(size), -system.upper)),
            np.column_stack((np.zeros(size), np.eye(size))),
            np.column_stack((np.ones(n), -system.sums)),
        )
    )
    matrix = cdd.matrix_from_array(
        rows.tolist(), lin_set=set(range(2 * size, 2 * size + n)), rep_type=cdd.RepType.INEQUALITY
    )
    try:
        polyhedron = cdd.polyhedron_from_matrix(matrix)
        generators = np.array(cdd.copy_generators(polyhedron).array)
        incidence = cdd.copy_incidence(polyhedron)
    except RuntimeError as error:
        raise SolverError(f"cdd could not enumerate the vertices: {error}") from None
    return generators[:, 1:], [sorted(k for k in rows if k < 2 * size) for rows in incidence]


def _unit(size: int, k: int) -> list[Fraction]:
    return [Fraction(int(m == k)) for m in range(size)]


def _solve(rows: list[tuple[Fraction, ...]], size: int) -> list[Fraction]:
    """The unique solution of a consistent linear system in fractions; the last entry of a row is its right side."""
    work = [list(row) for row in rows]
    for k in range(size):
        pivot = next((r for r in range(k, len(work)) if work[r][k] != 0), None)
        if pivot is None:
            raise SolverError("the constraints met with equality do not determine a vertex in exact arithmetic")
        work[k], work[pivot] = work[pivot], work[k]
        work[k] = [x / work[k][k] for x in work[k]]
        for r in range(len(work)):
            if r != k and work[r][k] != 0:
                factor = work[r][k]
                work[r] = [x - factor * y for x, y in zip(work[r], work[k], strict=True)]
    if any(row[-1] != 0 for row in work[size:]):
        raise SolverError("the constraints met with equality contradict each other in exact arithmetic")
    return [work[k][-1] for k in range(size)]
