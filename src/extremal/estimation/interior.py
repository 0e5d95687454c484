"""Shares off the boundary: where variances of estimates are taken.

An estimated share of 0 does not say that nobody gives the answer, but that hardly anybody does. At the boundary a
mechanism can make much less noise than beside it, so variances at an estimate of 0 can be far too small. They are taken
where each share is at least as large as its own standard error: of n true answers, none of which is "yes", that is a
share of 1/n. Estimates farther from the boundary stay where they are.
"""

from __future__ import annotations

import numpy as np

from .._common.types import Floats
from .contrasts import Channel, variances

ROUNDS = 2  # of choosing weights: the first may be for other shares, those of the second are nearly the best
STEPS = 8  # with the same weights: halves the distance on a logarithmic scale
MOST = 0.5  # a standard error above says nothing about where a share is


def interior(channel: Channel, shares: Floats, n: float, fixed: bool = False) -> Floats:
    """The shares, those smaller than their standard error from n reports replaced by it, scaled to sum to 1.

    Standard errors are those of weights that are chosen for these shares, or of the channel's own if `fixed`.
    """
    start = np.maximum(shares, 0.0)
    start = start / start.sum()
    theta, used = (n * start + channel.expected) / (n + 1), channel
    for _ in range(ROUNDS):
        W = used.symbol_weights()
        for _ in range(STEPS):
            least = np.minimum(np.sqrt(variances(W, theta @ channel.P) / n), MOST)
            theta = np.maximum(start, least)
            theta = theta / theta.sum()
        if bool((start >= least).all()):
            return np.asarray(start)
        if fixed or channel.rank == np.count_nonzero(channel.possible):
            break  # other weights would be the same
        used = Channel(channel.P, theta)
    return np.asarray(theta)
