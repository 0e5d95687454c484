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
d - (p - N) rarest of the N answers together, which need not lie in one set: for few answers the bound can be some
tenths of a nat above what is leaked. With m = 0 the bound is A / B: the level of local differential privacy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._common.types import Floats
from ..model.leakage import Doubt

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


CELLS = (
    1 << 24
)  # answers that are looked at, over all steps; where that is not enough, over steps spread evenly
GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples spread evenly


def doubt_of_windows(
    shares: Floats | None, answers: int, prime: int, size: int, inside: float, outside: float
) -> Doubt:
    """The doubt before and after a report, for probabilities of places `inside` and `outside` of a set.

    Without shares all answers are equally common. Where the sets hold too many answers for a disclosure, `after` is
    what is left at least.
    """
    if shares is None:
        before = (answers - 1) / answers
        if size == 1:
            return Doubt(before, prime * outside * before)
        return Doubt(before, 1 - max(inside, outside) * prime / answers)
    ordered = np.sort(shares)[::-1]
    before = math.fsum(ordered[1:])
    # An answer is in `size` of the sets of a step, so the commonest ones are guessed at best in all of theirs.
    right = inside * size * math.fsum(ordered[: -(-prime // size)]) + outside * prime * float(ordered[0])
    if size > 1 and not Doubt(before, 1 - right).disclosed:
        return Doubt(before, 1 - right)
    masses = np.zeros(prime)
    masses[:answers] = shares
    wrong = [_wrong(masses[_order(prime, step)], size, inside, outside) for step in _steps(prime, size)]
    return Doubt(before, math.fsum(wrong) / len(wrong))


def _steps(prime: int, size: int) -> list[int]:
    """Steps whose sets are looked at; with sets of one all steps are alike, and a step and its negative always are."""
    half = max((prime - 1) // 2, 1)
    wanted = 1 if size == 1 else min(half, max(CELLS // prime, 1))
    if wanted == half:
        return list(range(1, half + 1))
    return [1 + int(half * (k * GOLDEN % 1)) for k in range(1, wanted + 1)]


def _order(prime: int, step: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The answers by their place along the steps, so that sets are neighbours."""
    return np.arange(prime, dtype=np.int64) * step % prime


def _wrong(masses: Floats, size: int, inside: float, outside: float) -> float:
    """The chance of a wrong guess with sets of `size` neighbours on a circle."""
    circle = np.concatenate([masses, masses[: size - 1]])
    sums = np.concatenate([[0.0], np.cumsum(circle)])
    held = masses if size == 1 else sums[size:] - sums[:-size]
    best = circle
    reach = 1
    while reach < size:  # maxima of twice as many neighbours, as long as there is room
        add = min(reach, size - reach)
        best = np.maximum(best[:-add], best[add:])
        reach += add
    rest = float(masses.sum()) - held
    others = np.maximum(rest, 0.0) * outside + np.maximum(held - best, 0.0) * inside
    # Where none of the set is as likely as the commonest answer outside of it, that one is guessed.
    lost = np.maximum(outside * float(masses.max()) - inside * best, 0.0)
    return float(np.maximum(others - lost, 0.0).sum())
