"""Extremal lift vectors: the vertices of {lambda in [low, high]^N : pi . lambda = 1} (Algorithm 1).

Every vertex is `high` on a set S, `low` outside S and one index j, and at j whatever completes the mean to 1. For
PML low = 0 and high = e^epsilon; local information privacy has low > 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .errors import SizeError
from .prior import Prior
from .regions import check_epsilon

Floats = NDArray[np.float64]

LARGEST = 22  # symbols: 2^22 subset sums

# A set S whose mass meets the capacity up to this much fills it exactly. Subset sums of N <= 22 masses carry
# rounding errors of a few 1e-16; a real partial element is at least this small only for masses below 1e-14.
EXACT_FILL = 4e-15


def extremal_lift_vectors(prior: Prior, epsilon: float) -> Floats:
    """All vertices of the lift polytope, one a row, no duplicates (Algorithm 1, regions up to k = N).

    Practical up to about N = 18 (340 thousand vertices at epsilon = log 2).
    """
    c = min(math.exp(check_epsilon(epsilon)), 1 / float(prior.probabilities.min()))
    return lift_vertices(prior.probabilities, 0.0, c)


def lift_vertices(pi: Floats, low: float, high: float) -> Floats:
    """All vertices of {lambda in [low, high]^N : pi . lambda = 1}, one a row, no duplicates."""
    n = len(pi)
    if n > LARGEST:
        raise SizeError(
            f"enumeration of lift vectors is practical up to about 18 symbols and refused above {LARGEST}, "
            f'got {n}; use design(..., method="column-generation")'
        )
    if high - low <= EXACT_FILL:
        return np.ones((1, n))
    # In units of mass: S may hold up to `capacity`, and an element j takes the rest if it is large enough.
    capacity = (1 - low) / (high - low)
    mass = np.zeros(1)
    for p in pi:
        mass = np.concatenate((mass, mass + p))
    sets = np.arange(len(mass), dtype=np.uint32)
    room = capacity - mass
    exact = np.abs(room) <= EXACT_FILL
    blocks = [_rows(sets[exact], n, low, high)]
    usable = sets[room > EXACT_FILL]
    for j in range(n):
        left = room[usable]
        fits = (usable >> j & 1 == 0) & (left < pi[j] - EXACT_FILL)
        block = _rows(usable[fits], n, low, high)
        block[:, j] = low + (high - low) * (left[fits] / pi[j])
        blocks.append(block)
    return np.concatenate(blocks)


def _rows(sets: NDArray[np.uint32], n: int, low: float, high: float) -> Floats:
    """For each set, given as bits, the vector that is high on it and low elsewhere."""
    return np.where(sets[:, None] >> np.arange(n, dtype=np.uint32) & 1, high, low)
