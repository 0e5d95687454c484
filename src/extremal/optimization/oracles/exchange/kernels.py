"""Local search for lift vectors, and the best of all of them where there are few, in C (`_native/exchange.c`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...._common.types import Bools, Floats, Ints
from ...._native.library import address, library, packed


def climb(
    pi: Floats,
    excess: float,
    W: Floats,
    y: Floats,
    pull: Floats,
    total: Floats,
    first: int,
    sweeps: int,
    X: Floats,
) -> None:
    """Move every row of X to a vertex of larger z'Wz - y.z, z = pi * x, in place, by exchanges of mass.

    `total` is the sum of rows so far and grows; `pull` times it is added to the prices y. W must be symmetric. The
    search for the first row begins at symbol `first`.
    """
    n = len(pi)
    masses, y, pull = packed(pi, np.float64), packed(y, np.float64), packed(pull, np.float64)
    failed = library().extremal_climb(
        n,
        len(X),
        address(masses, np.float64, n),
        excess,
        address(W, np.float64, n, n),
        address(y, np.float64, n),
        address(pull, np.float64, n),
        address(total, np.float64, n),
        first,
        sweeps,
        address(X, np.float64, len(X), n),
    )
    if failed:
        raise MemoryError


def fill(pi: Floats, excess: float, orders: Ints) -> Floats:
    """For each order the vertex whose symbols are full in this order as far as the mass reaches."""
    n = len(pi)
    masses, orders = packed(pi, np.float64), packed(orders, np.int64)  # named, so that they outlive the call
    X = np.empty(orders.shape)
    failed = library().extremal_fill(
        n,
        len(orders),
        address(masses, np.float64, n),
        excess,
        address(orders, np.int64, len(orders), n),
        address(X, np.float64, len(orders), n),
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
    same = np.zeros(n, dtype=np.bool_) if alike is None else packed(alike, np.bool_)
    masses, y, W = packed(pi, np.float64), packed(y, np.float64), packed(W, np.float64)
    best, values, X = np.empty(1), np.empty(keep), np.empty((keep, n))
    count = int(
        library().extremal_best_vertices(
            n,
            address(masses, np.float64, n),
            excess,
            address(W, np.float64, n, n),
            address(y, np.float64, n),
            address(same, np.bool_, n),
            most,
            most,
            keep,
            address(best, np.float64, 1),
            address(values, np.float64, keep),
            address(X, np.float64, keep, n),
        )
    )
    if count < 0:
        raise MemoryError
    order = np.argsort(-values[:count], kind="stable")
    return Vertices(count, float(best[0]), X[order]) if count <= most else None
