"""The proof that integer weights satisfy epsilon-PML, in integers, without any other code of this library.

For every output y with weights w_1..w_N it must hold that

    max_i w_i * S  <=  c * sum_i a_i w_i,

where a_i / S is the exact rational value of the prior (doubles are rationals; they are divided by their exact
sum) and c = a / 2^k is a rational number <= e^epsilon. Multiplied by 2^k both sides are integers, so the
comparison is exact. It says that l(X→y) = log max_i P(y|x_i) / P_Y(y) <= log c <= epsilon for the
distribution with these integers: the one that is sampled, not the matrix of doubles it came from.

For a set of priors the sum on the right is the smallest that any prior of the set gives. Every set is
{pi : lower <= pi <= upper, sum pi = 1, ||pi - center||_1 <= radius}, and its doubles are rationals too. So that
the center belongs to the set exactly, the set that is proved is a little larger than the one that was named
(see `set_masses`): what holds for all of it holds for every prior of the set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# The largest lift that a prior of doubles allows is below 2^1075 < e^746: beyond this level nothing is
# forbidden.
LARGEST_EXPONENT = 800.0
LARGEST_BLOCK = 1 << 20  # weights that are put into another order at once


class Lift(NamedTuple):
    """The lift numerator / denominator of an output, exactly; infinite if the denominator is 0."""

    numerator: int
    denominator: int
    output: int


Run = tuple[int, int, int]  # weight, start, stop: rows start..stop-1 of a column have this weight


def column_runs(weights: NDArray[np.uint64]) -> Iterator[list[Run]]:
    """The columns of a table of weights, run by run: a table takes no longer than its file."""
    n, m = weights.shape
    step = max(1, LARGEST_BLOCK // n)
    for j in range(0, m, step):
        for column in np.ascontiguousarray(weights[:, j : j + step].T):
            starts = np.concatenate(([0], np.flatnonzero(column[1:] != column[:-1]) + 1))
            stops = [*starts[1:].tolist(), n]
            yield list(zip(column[starts].tolist(), starts.tolist(), stops, strict=True))


def block_runs(weights: NDArray[np.uint64], starts: Sequence[int]) -> Iterator[list[Run]]:
    """The same for a table of weights with one row for each block of rows: block b is rows starts[b]..starts[b+1]-1."""
    for column in weights.T.tolist():
        yield list(zip(column, starts[:-1], starts[1:], strict=True))


class Masses(NamedTuple):
    """A prior, in integers of which `total` are 1, and how far it may move: up, down, and by `movable` in all.

    `center`, `up` and `down` are sums from the first row on: those of rows i..j-1 are center[j] - center[i]. A prior
    that is known cannot move: `movable` is 0, and up and down are not used.
    """

    center: list[int]
    total: int
    up: list[int]
    down: list[int]
    movable: int


def prior_masses(probabilities: Sequence[float]) -> Masses:
    """One prior: its doubles, divided by their exact sum."""
    center, _ = _integers(probabilities)
    return Masses(_sums(center), sum(center), [], [], 0)


def set_masses(
    center: Sequence[float], lower: Sequence[float], upper: Sequence[float], radius: float
) -> Masses:
    """A set of priors. Doubles on a common denominator u: center a_i / u, with sum s / u, which may not be 1.

    The exact center is c_i = a_i / s. Each bound is widened to hold it, and the radius grows by the distance
    |s / u - 1| between the two centers, so by the triangle inequality every prior of the named set is in this
    one. In units of 1 / (2 s u), so that half of the radius is an integer, too:
    """
    n = len(center)
    scaled, u = _integers([*center, *lower, *upper, radius])
    a, l, h, r = scaled[:n], scaled[n : 2 * n], scaled[2 * n : 3 * n], scaled[3 * n]
    s = sum(a)
    c = [2 * u * x for x in a]
    return Masses(
        _sums(c),
        2 * s * u,
        _sums([max(2 * s * y - x, 0) for x, y in zip(c, h, strict=True)]),
        _sums([max(x - 2 * s * y, 0) for x, y in zip(c, l, strict=True)]),
        r * s + s * abs(s - u),
    )


def largest_lift(masses: Masses, columns: Iterable[Sequence[Run]]) -> Lift:
    """The largest lift of all outputs, 1 if none tells anything; columns are the weights of the outputs."""
    best = Lift(1, 1, 0)
    for y, runs in enumerate(columns):
        largest = max(runs)[0]
        if not largest:
            continue  # it never occurs
        a, b = largest * masses.total, smallest_sum(masses, runs)
        if a * best.denominator > best.numerator * b:
            best = Lift(a, b, y)
    return best


def smallest_sum(masses: Masses, runs: Sequence[Run]) -> int:
    """min sum_i pi_i w_i over the set, in units of 1 / total.

    Mass moves from the largest weights to the smallest, each as far as its bound allows, until nothing is
    gained or `movable` is used up. That is the minimum: a prior of the set is the center plus what is given
    to some symbols minus the same amount taken from others, and nothing given can come cheaper nor anything
    taken be worth more.
    """
    center, up, down = masses.center, masses.up, masses.down
    value = sum(w * (center[stop] - center[start]) for w, start, stop in runs if w)
    left = masses.movable
    if not left:
        return value
    order = sorted(runs)
    low, high = 0, len(order) - 1
    room, stock = _between(up, order[low]), _between(down, order[high])
    while left and order[low][0] < order[high][0]:
        step = min(room, stock, left)
        value -= step * (order[high][0] - order[low][0])
        room, stock, left = room - step, stock - step, left - step
        if not room:
            low += 1
            room = _between(up, order[low])
        elif not stock:
            high -= 1
            stock = _between(down, order[high])
    return value


def _sums(numbers: Sequence[int]) -> list[int]:
    return list(accumulate(numbers, initial=0))


def _between(sums: Sequence[int], run: Run) -> int:
    _, start, stop = run
    return sums[stop] - sums[start]


def _integers(numbers: Sequence[float]) -> tuple[list[int], int]:
    """The doubles on their common denominator, a power of two."""
    ratios = [x.as_integer_ratio() for x in numbers]
    common = max(denominator for _, denominator in ratios)
    return [numerator * (common // denominator) for numerator, denominator in ratios], common


def is_at_most(lift: Lift, epsilon: float) -> bool:
    """Whether the lift is proved to be at most e^epsilon."""
    c, k = exp_below(epsilon)
    return lift.numerator << k <= c * lift.denominator


def exp_below(epsilon: float) -> tuple[int, int]:
    """(a, k) with a / 2^k <= e^epsilon, short of it by less than 2^-90 of e^epsilon - 1.

    Proof. x = epsilon / 2^s < 1 is taken in fixed point with k fractional bits, rounded down. The Taylor
    series of e^x has positive terms only, so leaving terms out and rounding each one down gives a number >= 1
    and <= e^x. Squaring a lower bound >= 1 and rounding down gives a lower bound of the square; s squarings
    give e^epsilon. Each step loses a few units of 2^-k at most, and s squarings multiply a relative loss by
    2^s; k leaves 128 bits beyond that and beyond the leading bit of epsilon.
    """
    epsilon = min(epsilon, LARGEST_EXPONENT)
    if epsilon <= 0:
        return 1, 0
    exponent = math.frexp(epsilon)[1]
    s = max(exponent, 0)
    k = 128 + 2 * s + max(-exponent, 0)
    numerator, denominator = epsilon.as_integer_ratio()
    x = (numerator << k) // (denominator << s)
    total = term = 1 << k
    j = 1
    while term:
        term = (term * x >> k) // j
        total += term
        j += 1
    for _ in range(s):
        total = total * total >> k
    return total, k


def log_above(lift: Lift) -> float:
    """A double f with lift <= e^f proved, at most a few units in the last place above the logarithm."""
    a, b, _ = lift
    if a <= b:
        return 0.0
    if b == 0:
        return math.inf
    # Near 1 a quotient would lose the digits that count.
    if a < 2 * b:
        guess = math.log1p((a - b) / b)
    else:
        shift = max(a.bit_length() - b.bit_length(), 0)  # the quotient may be beyond doubles
        guess = math.log(a / (b << shift)) + shift * math.log(2)
    for _ in range(4):
        guess = math.nextafter(guess, 0.0)  # up from a little below, so that it is no larger than need be
    while not is_at_most(lift, guess):
        guess = math.nextafter(guess, math.inf)
    return guess
