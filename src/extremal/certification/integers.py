"""Priors, sets of priors and weights, in blocks or not, as the exact integers that `proof` decides about."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CertificationError
from ..model.blocks import Blocks
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from .proof import (
    LARGEST_BLOCK,
    Lift,
    Masses,
    Run,
    block_runs,
    column_runs,
    largest_lift,
    prior_masses,
    set_masses,
)

# Rows sum to 2^62, not 2^64: a row with a single output, and every partial sum, fits a signed 64-bit integer
# (Java, SQL, Parquet), and a bucket's threshold and alias together fit one word of the sampler's table.
BITS = 62
TOTAL = 1 << BITS


def largest_exact_lift(
    found: list[Masses], weights: NDArray[np.uint64], blocks: Blocks | None = None
) -> Lift:
    """The largest lift under the prior, or under any prior of the set and the nominal one: see `exact_masses`.

    With blocks the weights are those of blocks, and the masses are exact sums over the symbols of each. The nominal
    prior is proved by itself: rounding may have put it outside of its set by a part in 1e12.
    """
    lifts = (largest_lift(masses, exact_columns(weights, blocks)) for masses in found)
    return max(lifts, key=lambda lift: Fraction(*lift[:2]) if lift.denominator else math.inf)


def exact_columns(weights: NDArray[np.uint64], blocks: Blocks | None) -> Iterator[list[Run]]:
    """The weights of every output, run by run, in the order of `exact_masses`."""
    return column_runs(weights) if blocks is None else block_runs(weights, blocks.starts.tolist())


def exact_masses(prior: Prior | PriorSet, blocks: Blocks | None = None) -> list[Masses]:
    """The prior, or the set and its nominal prior, in the integers of the proof; with blocks, block after block."""
    if isinstance(prior, Prior):
        p = prior.probabilities if blocks is None else prior.probabilities[blocks.order]
        return [prior_masses(p.tolist())]
    bounds = (prior.center.tolist(), prior.lower.tolist(), prior.upper.tolist())
    return [set_masses(*bounds, prior.radius), *exact_masses(prior.nominal)]


def checked_weights(weights: ArrayLike, n: int) -> NDArray[np.uint64]:
    """A read-only copy, if its rows are weights out of 2^62."""
    raw = np.asarray(weights)
    if raw.ndim != 2 or raw.shape[0] != n or raw.shape[1] == 0 or raw.dtype.kind not in "iu":
        raise CertificationError(
            f"must be an integer matrix with one row for each of the {n} inputs",
            parameter="weights",
            given=f"shape {raw.shape} of {raw.dtype}",
        )
    if np.any(raw < 0) or np.any(raw > TOTAL):
        raise CertificationError(
            f"must be between 0 and 2^{BITS}",
            parameter="weights",
            remedy="make them with certify(...)",
        )
    w = raw.astype(np.uint64, order="C")  # row by row, as the sampler reads them
    for i, total in enumerate(_row_sums(w)):
        if total != TOTAL:
            raise CertificationError(
                f"every row of weights must sum to 2^{BITS}",
                given=f"{total} in row {i}",
            )
    w.setflags(write=False)
    return w


def _row_sums(w: NDArray[np.uint64]) -> Iterator[int]:
    """Exact sums, from two halves of each weight: a sum of wrong weights could wrap around to the right one."""
    step = max(1, LARGEST_BLOCK // w.shape[1])
    for i in range(0, len(w), step):
        low = np.bitwise_and(w[i : i + step], np.uint64((1 << 31) - 1)).sum(axis=1).tolist()
        high = np.right_shift(w[i : i + step], np.uint64(31)).sum(axis=1).tolist()
        yield from ((a << 31) + b for a, b in zip(high, low, strict=True))
