"""Local search for lift vectors, and the best of all of them where there are few, in C (`_native/exchange.c`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._common.types import Bools, Floats, Ints
from ...._native.library import library, reads, record, writes

QUEUED = np.dtype([("bound", np.float64), ("place", np.int64)])  # in native.h


def form(pi: Floats, excess: float, W: Floats, y: Floats) -> Any:
    """x'Wx - y.x over {-1 <= x <= excess, pi . x = 0}; W must be symmetric."""
    n = len(pi)
    if n == 0:
        raise ValueError("there must be symbols")
    return record(
        "form",
        n=n,
        pi=reads(pi, np.float64, n),
        excess=excess,
        W=reads(W, np.float64, n, n),
        y=reads(y, np.float64, n),
    )


def climb(objective: Any, pull: Floats, total: Floats, first: int, sweeps: int, X: Floats) -> None:
    """Move every row of X to a vertex of larger z'Wz - y.z, z = pi * x, in place, by exchanges of mass.

    `objective` is a `form` in z. `total` is the sum of rows so far and grows; `pull` times it is added to the prices y.
    The search for the first row begins at symbol `first`.
    """
    n, rows = objective.n, len(X)
    failed = library().extremal_climb(
        objective,
        reads(pull, np.float64, n),
        writes(total, np.float64, n),
        first % n,
        sweeps,
        rows,
        writes(X, np.float64, rows, n),
    )
    if failed:
        raise MemoryError


def fill(pi: Floats, excess: float, orders: Ints) -> Floats:
    """For each order the vertex whose symbols are full in this order as far as the mass reaches."""
    n, rows = len(pi), len(orders)
    X = np.empty((rows, n))
    failed = library().extremal_fill(
        n,
        rows,
        reads(pi, np.float64, n),
        excess,
        reads(orders, np.int64, rows, n),
        writes(X, np.float64, rows, n),
    )
    if failed:
        raise ValueError("an order must hold numbers of symbols")
    return X


@dataclass(frozen=True, eq=False)
class Vertices:
    """How many vertices there are, the largest x'Wx - y.x of them, and those of the largest values, best first."""

    count: int
    best: float
    rows: Floats


def best_vertices(
    pi: Floats, excess: float, W: Floats, y: Floats, keep: int, most: int, alike: Bools | None = None
) -> Vertices | None:
    """The `keep` best vertices of {-1 <= x <= excess, pi . x = 0}, or None if there are more than `most` in all.

    None too if that takes going through more sets than that. `pi` must be in decreasing order, W symmetric.
    `alike` says of each symbol that neither pi, W nor y tell it from the next one: then one of all vertices that differ
    by exchanges of such symbols counts.
    """
    n = len(pi)
    same = np.zeros(n, dtype=np.bool_) if alike is None else alike
    best, heap, X = np.empty(1), np.empty(keep, QUEUED), np.empty((keep, n))
    count = int(
        library().extremal_best_vertices(
            form(pi, excess, W, y),
            reads(same, np.bool_, n),
            most,
            keep,
            writes(best, np.float64, 1),
            writes(heap, QUEUED, keep),
            writes(X, np.float64, keep, n),
        )
    )
    if count < 0:
        raise MemoryError
    order = np.argsort(heap["bound"][:count], kind="stable")
    return Vertices(count, float(best[0]), X[heap["place"][order]]) if count <= most else None
