"""Local search for lift vectors, and the list of all of them where there are few, in C (`_native/exchange.c`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._native.library import address, library, packed
from ..._types import Floats, Ints


def herd(
    pi: Floats,
    excess: float,
    inverse: Floats,
    loss: Floats,
    y: Floats,
    pull: Floats,
    X: Floats,
    sweeps: int,
) -> Floats:
    """Vertices to which exchanges of mass lead from the rows of X, one after another, as x'Wx - y.x rises.

    W = C^-1 G C^-1, with `inverse` = C^-1 and `loss` = G over all symbols but the first, for which W has zeros. Every
    vertex adds 1/N of itself to C for those after it, and `pull` draws these to where the sum falls short of 0.
    """
    n = len(pi)
    scaled, W = np.zeros((n, n)), np.zeros((n, n))
    mass = np.multiply.outer(pi[1:], pi[1:])
    scaled[1:, 1:] = inverse / mass
    W[1:, 1:] = inverse @ loss @ inverse / mass
    found = np.array(X, dtype=np.float64, order="C")
    prices, pulls, masses = packed(y / pi, np.float64), packed(pull / pi, np.float64), packed(pi, np.float64)
    failed = library().extremal_herd(
        n,
        len(found),
        address(masses, np.float64, n),
        excess,
        address(scaled, np.float64, n, n),
        address(W, np.float64, n, n),
        address(prices, np.float64, n),
        address(pulls, np.float64, n),
        1 / n,
        sweeps,
        address(found, np.float64, len(found), n),
    )
    if failed:
        raise MemoryError
    return found


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


def all_vertices(pi: Floats, excess: float, most: int) -> Floats | None:
    """All vertices of {-1 <= x <= excess, pi . x = 0} as rows, or None if there are more than `most`.

    None too if that takes going through too many sets. `pi` must be in decreasing order.
    """
    n = len(pi)
    masses = packed(pi, np.float64)
    X: NDArray[np.float64] = np.empty((most, n))
    count = int(
        library().extremal_all_vertices(
            n, address(masses, np.float64, n), excess, most, 20 * most, address(X, np.float64, most, n)
        )
    )
    if count < 0:
        raise MemoryError
    return X[:count].copy() if count <= most else None
