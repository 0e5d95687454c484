"""The arc mechanism without its matrix: 2N numbers describe it for any alphabet.

Symbols lie as consecutive arcs of length pi_i on a circle of circumference 1. Column t covers [t, t + w), w = 1/c,
and has lift c times the covered share of each symbol. Averaged over a uniform t every symbol has lift 1. Breakpoints
are the starts at which t or t + w meets a boundary between symbols; between two of them the column is linear in t, so
moving its weight half to each end keeps every average and, mu being convex, loses no utility. At a breakpoint at most
one symbol is partly covered, so every column is a vertex of the lift polytope.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import SizeError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST_MATRIX = 200_000_000  # entries: 1.6 GB


@dataclass(frozen=True)
class ArcColumns:
    """Column y covers symbols first..first+count-1 (cyclically) wholly, and symbol partial up to lift rest.

    Where rest is 0 nothing is partial. weights is the output distribution.
    """

    probabilities: Floats
    c: float
    first: Ints
    count: Ints
    partial: Ints
    rest: Floats
    weights: Floats

    @property
    def outputs(self) -> int:
        """The number of columns."""
        return len(self.weights)

    def lifts(self) -> Floats:
        """The (N, M) lift matrix, if it fits into memory."""
        n, m = len(self.probabilities), self.outputs
        if n * m > LARGEST_MATRIX:
            raise SizeError(
                f"the arc mechanism for {n} symbols has {m} outputs; a matrix of {n} x {m} is too large. "
                "Its columns are described by first, count, partial, rest and weights"
            )
        after = (np.arange(n)[:, None] - self.first[None, :]) % n
        L = np.where(after < self.count, self.c, 0.0)
        L[self.partial, np.arange(m)] += self.rest
        return L

    def matrix(self) -> Floats:
        """P(y|x), rows normalised against rounding."""
        P = self.lifts() * self.weights
        return np.asarray(P / P.sum(axis=1, keepdims=True))

    def separable_value(self, f: Callable[[Floats], Floats]) -> float:
        """Sum over columns of weight * sum_i pi_i f(lift_i), in O(N)."""
        mass = _cyclic_prefix(self.probabilities)
        n = len(self.probabilities)
        covered = mass[self.first + self.count] - mass[self.first]
        ends = np.asarray(f(np.array([0.0, self.c])), dtype=np.float64)
        rest = np.asarray(f(self.rest), dtype=np.float64)
        pi_rest = self.probabilities[self.partial % n]
        value = ends[0] + (ends[1] - ends[0]) * covered + pi_rest * (rest - ends[0])
        return math.fsum(self.weights * value)


def arc_columns(probabilities: Floats, epsilon: float) -> ArcColumns:
    """The columns of the arc mechanism in the order of the symbols given, equal columns merged."""
    pi = probabilities
    n = len(pi)
    c = min(math.exp(min(epsilon, 700.0)), 1 / float(pi.min()))
    w = 1 / c
    bounds = np.concatenate(([0.0], np.cumsum(pi)))
    bounds[-1] = 1.0
    starts = bounds[:-1]
    ends = (bounds[1:] - w) % 1.0  # starts at which the arc ends on a boundary
    t = np.concatenate((starts, ends))
    opens = np.concatenate((np.ones(n, dtype=bool), np.zeros(n, dtype=bool)))
    symbol = np.concatenate((np.arange(n), np.arange(n)))
    order = np.argsort(t, kind="stable")
    t, opens, symbol = t[order], opens[order], symbol[order]
    gap = np.diff(np.append(t, t[0] + 1.0))
    weights = (gap + np.roll(gap, 1)) / 2
    # Breakpoints closer than rounding are one.
    same = np.diff(np.append(t, t[0] + 1.0)) < 1e-15
    for k in np.flatnonzero(same):
        following = (k + 1) % len(t)
        weights[following] += weights[k]
        weights[k] = 0.0
    keep = weights > 0
    opens, symbol, weights = opens[keep], symbol[keep], weights[keep]

    mass = _cyclic_prefix(pi)
    first, count, partial = np.empty(len(symbol), np.int64), np.empty(len(symbol), np.int64), np.empty(len(symbol), np.int64)
    # An arc that opens at the left boundary of symbol i covers whole symbols from i on; the next one is partial.
    i = symbol[opens]
    last = np.searchsorted(mass, mass[i] + w * (1 + 1e-15), side="right") - 1
    first[opens], count[opens], partial[opens] = i, last - i, last % n
    # An arc that closes at the right boundary of symbol i covers whole symbols back from i; the one before is partial.
    i = symbol[~opens] + n
    begin = np.searchsorted(mass, mass[i + 1] - w * (1 + 1e-15), side="left")
    first[~opens], count[~opens], partial[~opens] = begin % n, i + 1 - begin, (begin - 1) % n
    count = np.minimum(count, n)
    covered = mass[first + count] - mass[first]
    rest = np.clip((1 - c * covered) / pi[partial], 0.0, c)
    rest[count == n] = 0.0
    return ArcColumns(pi, c, first, count, partial, rest, weights / math.fsum(weights))


def _cyclic_prefix(pi: Floats) -> Floats:
    """Prefix sums over two turns of the circle."""
    return np.concatenate(([0.0], np.cumsum(np.concatenate((pi, pi)))))
