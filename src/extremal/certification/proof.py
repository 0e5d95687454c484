"""The proof that integer weights satisfy epsilon-PML, in integers, without any other code of this library.

For every output y with weights w_1..w_N it must hold that

    max_i w_i * S  <=  c * sum_i a_i w_i,

where a_i / S is the exact rational value of the prior (doubles are rationals; they are divided by their exact
sum) and c = a / 2^k is a rational number <= e^epsilon. Multiplied by 2^k both sides are integers, so the
comparison is exact. It says that l(X→y) = log max_i P(y|x_i) / P_Y(y) <= log c <= epsilon for the
distribution with these integers: the one that is sampled, not the matrix of doubles it came from.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# The largest lift that a prior of doubles allows is below 2^1075 < e^746: beyond this level nothing is
# forbidden.
LARGEST_EXPONENT = 800.0


class Lift(NamedTuple):
    """The lift numerator / denominator of an output, exactly."""

    numerator: int
    denominator: int
    output: int


def largest_lift(probabilities: Sequence[float], columns: Iterable[Sequence[int]]) -> Lift:
    """The largest lift of all outputs, 1 if none tells anything; columns are the weights of the outputs."""
    ratios = [p.as_integer_ratio() for p in probabilities]
    common = max(denominator for _, denominator in ratios)  # all are powers of two
    shares = [numerator * (common // denominator) for numerator, denominator in ratios]
    total = sum(shares)
    best = Lift(1, 1, 0)
    for y, w in enumerate(columns):
        a, b = max(w) * total, sum(map(operator.mul, shares, w))
        if a * best.denominator > best.numerator * b:
            best = Lift(a, b, y)
    return best


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
    # Near 1 a quotient would lose the digits that count.
    guess = math.log1p((a - b) / b) if a < 2 * b else math.log(a / b)
    for _ in range(4):
        guess = math.nextafter(guess, 0.0)  # up from a little below, so that it is no larger than need be
    while not is_at_most(lift, guess):
        guess = math.nextafter(guess, math.inf)
    return guess
