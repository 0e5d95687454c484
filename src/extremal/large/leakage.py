"""Subset selection for alphabets of any size: a report is a start and a step, and stands for a set of answers.

Answers are numbered 0, 1, 2, … below a prime p. The set of a report is start, start + step, start + 2 step, …: d
numbers, modulo p. The step is drawn first, uniformly among 1 … p - 1 and without a look at the answer; it is the public
seed of the report. Given the step, the place of the answer in the set decides the start:

    P(start | step, x) = A if x is in the set, else B,   with   d A + (p - d) B = 1.

For two answers x and z, z - x = step j has one solution j for every step, and j is uniform among 1 … p - 1. So a report
holds the true answer with probability P = d A and any other with probability Q = (d - P) / (p - 1), as if the set were
drawn among all sets of d numbers: the error of estimated shares is that of subset selection, which no mechanism of the
same level of local differential privacy improves on where answers are alike (Ye and Barg).

What it leaks: the step says nothing about x, so the lift of (step, start) is that of the start given the step,
at most A / (B + (A - B) m), if every set that holds an answer has at least the mass m. Sets are no lighter than the
d - (p - N) rarest of the N answers together. With m = 0 the bound is A / B: the level of local differential privacy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._common.types import Floats

LARGEST = 1 << 29  # answers: a report fits a signed 64-bit integer
MOST_SIZES = 1 << 18  # of sets that are tried at once


class Supports(NamedTuple):
    """With what probability a report holds the true answer, and any other one."""

    own: float
    other: float


def next_prime(n: int) -> int:
    """The least prime from n on."""
    candidate = max(n, 2)
    while not is_prime(candidate):
        candidate += 1
    return candidate


def is_prime(n: int) -> bool:
    """Whether n is prime, by division: 2^29 takes 12,000 of them."""
    if n < 4:
        return n > 1
    return n % 2 == 1 and all(n % k for k in range(3, math.isqrt(n) + 1, 2))


def supports(prime: int, size: int, inside: float) -> Supports:
    """From the probability `inside` that a set of `size` numbers holds the true answer."""
    return Supports(inside, (size - inside) / (prime - 1))


def least_held(answers: int, prime: int, size: int) -> int:
    """How many answers a set that holds one holds at least: p - N of its numbers may be none."""
    return max(1, size - (prime - answers))


def best_window(masses: Floats | None, answers: int, prime: int, epsilon: float) -> tuple[int, float]:
    """The size of the sets and the odds A / B that estimate all shares best; odds may be infinite.

    With the masses of the answers, under PML for that prior; without, under local differential privacy. What is made
    small is the expected squared error of all shares, for answers of these masses or else all alike. Of very many
    sizes, some are tried that grow in proportion, then all between the neighbours of the best one.
    """
    lightest = None if masses is None else np.cumsum(np.sort(masses))
    largest = max(prime // 2, 1)
    if largest <= MOST_SIZES:
        sizes = np.arange(1, largest + 1, dtype=np.float64)
    else:
        some = np.unique(np.rint(np.geomspace(1, largest, MOST_SIZES)))
        near = int(np.argmin(_errors(some, lightest, answers, prime, epsilon)[0]))
        sizes = np.arange(some[max(near - 1, 0)], some[min(near + 1, len(some) - 1)] + 1)
    errors, odds = _errors(sizes, lightest, answers, prime, epsilon)
    best = int(np.argmin(errors))
    return int(sizes[best]), float(odds[best])


def _errors(
    sizes: Floats, lightest: Floats | None, answers: int, prime: int, epsilon: float
) -> tuple[Floats, Floats]:
    """The error of sets of each size, and the odds that epsilon allows; `lightest` are masses of the rarest answers."""
    top = math.exp(min(epsilon, 700.0))
    odds = np.full(len(sizes), top)
    if lightest is not None:
        held = np.maximum(sizes - (prime - answers), 1).astype(np.int64)
        m = lightest[held - 1]
        room = 1 - m * top
        with np.errstate(divide="ignore"):
            odds = np.where(room > 0, top * (1 - m) / np.where(room > 0, room, 1.0), np.inf)
    with np.errstate(invalid="ignore"):
        own = np.where(np.isinf(odds), 1.0, odds * sizes / (odds * sizes + prime - sizes))
    other = (sizes - own) / (prime - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (own * (1 - own) + (answers - 1) * other * (1 - other)) / (own - other) ** 2
    return np.where(own > other, error, np.inf), odds
