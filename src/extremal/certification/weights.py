"""Integer weights close to a mechanism, its zeros kept where they can be. Not trusted: `proof` decides.

A row of weights sums to 2^62. Three facts carry the construction:

1. Rounding a column so that entries above K, the largest entry rounded down, become K and all others go up
   never raises its leakage: min(x, K) / K >= x / max x entry by entry, hence so for the mean.
2. Scaling a column changes none of its leakage. So columns may be lowered on their own support and rescaled
   until every row sums to 1 again: a linear system, solvable for the vertices that designs consist of.
3. (1 - delta) P + delta P_Y, a little of the constant mechanism with the same output distribution, lowers the
   largest lift from L to L - delta (L - 1). That always works, and fills every zero.

What each row lacks after rounding is spread over its largest entries, a few parts in 1e15 of each; `slack` is
what the largest lift must be lowered by in advance to pay for that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..model.regions import bounded_exp

Weights = NDArray[np.int64]

# Rows sum to 2^62, not 2^64: a row with a single output, and every partial sum, fits a signed 64-bit integer
# (Java, SQL, Parquet), and a bucket's threshold and alias together fit one word of the sampler's table.
BITS = 62
TOTAL = 1 << BITS

SHARE = 4e-15  # of an entry, that it may change by to complete its row
LARGEST_CHANGE = 1e-6  # of the scale of a column, relative
LARGEST_LOSS = 5e-10  # of mutual information, relative
DAMPING = 1e-12  # of the mean eigenvalue


def candidates(pi: Floats, P: Floats, epsilon: float) -> Iterator[tuple[Weights, str]]:
    """Integer weights ever further from P, with how they were made; the last leak nothing.

    The first that the exact check accepts is the one to take: what was rounded alone, then what keeps the
    zeros, then mixtures with the constant mechanism. The slack grows only when the check refuses.
    """
    P = P / P.sum(axis=1, keepdims=True)
    yield integer_rows(P), "rounded"
    c = bounded_exp(epsilon)
    lift, rho = _lifts(pi, P)
    slacks = [4**k * (4 * SHARE + 16 * P.shape[1] / TOTAL) for k in range(8)]
    for slack in slacks[:4]:
        lowered = _rescaled(pi, P, c * (1 - slack), lift, rho)
        if lowered is None:
            break
        yield integer_rows(lowered), "rounded, columns lowered on their own support"
    largest = float(lift.max())
    for slack in slacks:
        delta = (largest - c * (1 - slack)) / (largest - 1) if largest > 1 else 1.0
        if 0 < delta < 1:
            yield (
                integer_rows((1 - delta) * P + delta * rho),
                f"rounded, {delta:.2g} of the constant mechanism mixed in",
            )
    yield np.repeat(integer_rows((rho / rho.sum())[None, :]), len(pi), axis=0), "the constant mechanism"


def integer_rows(P: Floats) -> Weights:
    """Weights within a few parts in 1e15 of 2^62 P, every row of sum 2^62 exactly, zeros kept (fact 1)."""
    x = np.ldexp(P, BITS)
    w = np.minimum(np.ceil(x), np.floor(x.max(axis=0))).astype(np.int64)
    lacking = TOTAL - w.sum(axis=1)  # a row sums to 2^62 within M units and rounding: no overflow

    # Entries of at least half the mean hold at least half of the row. In decreasing order each takes its
    # share.
    order = np.argsort(-w, axis=1, kind="stable")
    sorted_w = np.take_along_axis(w, order, axis=1)
    share = np.maximum(SHARE, 4 * np.abs(lacking) / TOTAL)[:, None]
    room = np.where(sorted_w >= TOTAL // (2 * P.shape[1]), np.ceil(share * sorted_w), 0).astype(np.int64)
    before = np.cumsum(room, axis=1) - room
    taken = np.clip(np.abs(lacking)[:, None] - before, 0, room) * np.sign(lacking)[:, None]
    np.put_along_axis(w, order, sorted_w + taken, axis=1)
    return np.asarray(w)


def _lifts(pi: Floats, P: Floats) -> tuple[Floats, Floats]:
    """The lift of every entry, 0 in outputs that never occur, and the output distribution."""
    largest = P.max(axis=0)
    Q = np.divide(P, largest, out=np.zeros_like(P), where=largest > 0)  # scaled: P_Y may underflow
    mean = pi @ Q
    return np.divide(Q, mean, out=np.zeros_like(Q), where=mean > 0), pi @ P


def _rescaled(pi: Floats, P: Floats, cap: float, lift: Floats, rho: Floats) -> Floats | None:
    """A mechanism with the zeros of P and no lift above `cap`, or None where this construction finds none.

    Every column above `cap` moves towards the flat column on its own support; then the columns are scaled so
    that rows sum to 1. Scales may have to change more than entries do. To first order that costs an optimal
    mechanism nothing, because what its columns are worth balances in every row; any other pays, so the mutual
    information must stay as well.
    """
    support = P > 0
    occurs = np.asarray(support.any(axis=0))
    if support[:, occurs].all():
        return None  # no zero to keep: mixing is simpler
    flat = np.divide(1.0, pi @ support, out=np.zeros(len(occurs)), where=occurs)
    largest = lift.max(axis=0)
    excess, room = np.maximum(largest - cap, 0.0), largest - flat
    if np.any((excess > 0) & (2 * excess > room)):
        return None  # not even the flat column is low enough: some zero of this column must go
    part = np.divide(excess, room, out=np.zeros_like(room), where=excess > 0)
    D = P * (1 - part) + support * (part * flat * rho)
    z = np.zeros(len(occurs))
    z[occurs] = _scales(D[:, occurs], 1 - D.sum(axis=1))
    lowered = D * (1 + z)
    sums = lowered.sum(axis=1, keepdims=True)
    if np.abs(z).max() > LARGEST_CHANGE or np.abs(sums - 1).max() > SHARE:
        return None
    before, after = _information(pi, P), _information(pi, lowered)
    return np.asarray(lowered / sums) if abs(after - before) <= LARGEST_LOSS * before else None


def _information(pi: Floats, P: Floats) -> float:
    """Mutual information from terms t log t - t + 1 >= 0 of the lifts, which lose no digits near t = 1."""
    t, rho = _lifts(pi, P)
    terms = np.where(t > 0, t * np.log1p(np.where(t > 0, t - 1, 0.0)) - (t - 1), 1.0)
    return float(pi @ terms @ rho)


def _scales(D: Floats, lacking: Floats) -> Floats:
    """z with D z = lacking as nearly as can be; numbers that are too large where nothing comes near.

    A square system is solved as it is. Any other, and a singular one, by least squares with a little damping:
    the right side is of the order of rounding errors, so three digits of z are enough.
    """
    n, m = D.shape
    if n == m:
        try:
            z = np.linalg.solve(D, lacking)
        except np.linalg.LinAlgError:
            z = np.full(m, np.inf)
        if np.abs(z).max() <= LARGEST_CHANGE:
            return np.asarray(z)
    G = D @ D.T if n <= m else D.T @ D
    G[np.diag_indices_from(G)] += DAMPING * np.trace(G) / len(G)
    z = D.T @ np.linalg.solve(G, lacking) if n <= m else np.linalg.solve(G, D.T @ lacking)
    return np.asarray(z)
