"""Extremal lift vectors: the vertices of {lambda in [low, high]^N : pi . lambda = 1} (Algorithm 1).

Every vertex is `high` on a set S, `low` outside S and one index j, and at j whatever completes the mean to 1.
For PML low = 0 and high = e^epsilon; local information privacy has low > 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._common.threads import one_thread
from .._common.types import Floats
from ..errors import SizeError
from ..model.prior import Prior, check_prior
from ..model.regions import largest_lift, rounding

LARGEST = 22  # symbols: 2^22 subset sums


@one_thread
def extremal_lift_vectors(prior: Prior, epsilon: float) -> Floats:
    """All vertices of the lift polytope, one a row, no duplicates (Algorithm 1, regions up to k = N).

    Practical up to about N = 18 (340 thousand vertices at epsilon = log 2).

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    """
    pi = check_prior(prior).probabilities
    return lift_vertices(pi, 0.0, largest_lift(pi, epsilon))


def lift_vertices(pi: Floats, low: float, high: float) -> Floats:
    """All vertices of {lambda in [low, high]^N : pi . lambda = 1}, one a row, no duplicates."""
    n = len(pi)
    if n > LARGEST:
        raise SizeError(
            f"enumeration of lift vectors needs at most {LARGEST} symbols and is practical up to about 18",
            given=n,
            remedy="`design(prior, epsilon)` makes them as they are needed",
        )
    noise = rounding(np.log(high))
    if high - low <= noise:
        return np.ones((1, n))
    # In units of mass: S may hold up to `capacity`, and an element j takes the rest if it is large enough.
    capacity = (1 - low) / (high - low)
    mass = subset_sums(pi)
    sets = np.arange(len(mass), dtype=np.uint32)
    room = capacity - mass
    noise *= capacity  # a set fills the capacity exactly if it misses it by no more than rounding can do
    blocks = [_rows(sets[np.abs(room) <= noise], n, low, high)]
    usable, every = sets[room > noise], np.uint32(len(mass) - 1)
    for j in range(n):
        bit = np.uint32(1 << j)
        fits = (usable & bit == 0) & (room[usable | bit] < -noise)
        block = _rows(usable[fits], n, low, high)
        full, empty = mass[usable[fits]], mass[~usable[fits] & every & ~bit]
        # From 1, because low + (high - low) room / pi_j would lose digits where both are near it.
        partial = 1 + ((1 - low) * empty - (high - 1) * full) / pi[j]
        block[:, j] = np.clip(partial, low, high)
        blocks.append(block)
    return np.concatenate(blocks)


def _rows(sets: NDArray[np.uint32], n: int, low: float, high: float) -> Floats:
    """For each set, given as bits, the vector that is high on it and low elsewhere."""
    return np.where(sets[:, None] >> np.arange(n, dtype=np.uint32) & 1, high, low)


def subset_sums(values: Floats) -> Floats:
    """The sums over all subsets, numbered by their bits."""
    sums = np.zeros(1 << len(values))
    for i, value in enumerate(values.tolist()):
        np.add(sums[: 1 << i], value, out=sums[1 << i : 2 << i])
    return sums
