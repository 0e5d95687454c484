"""What certified mechanisms leak, in exact fractions."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

import extremal as ex


def exact_lift(prior, weights):
    """The largest lift, by the definition and in fractions."""
    p = [Fraction(x) for x in prior.probabilities.tolist()]
    total = sum(p)
    lifts = [Fraction(1)]
    for column in weights.T.tolist():
        mean = sum(a * w for a, w in zip(p, column, strict=True)) / total
        if mean:
            lifts.append(max(column) / mean)
    return max(lifts)


def exp_bounds(epsilon, digits=100):
    """Fractions below and above e^epsilon, from the exponential of `decimal`, which is correctly rounded."""
    with localcontext(prec=digits):
        e = Decimal(epsilon).exp()
    return Fraction(e) * (1 - Fraction(1, 10 ** (digits - 2))), Fraction(e) * (
        1 + Fraction(1, 10 ** (digits - 2))
    )


def is_certified(c):
    assert c.weights.dtype == np.uint64
    assert [sum(row) for row in c.weights.tolist()] == [2**c.bits] * c.prior.size
    lift = exact_lift(c.prior, c.weights)
    assert lift == 1 or lift <= exp_bounds(c.epsilon)[0]
    assert lift == 1 or lift <= exp_bounds(c.realised_epsilon)[0]
    assert c.realised_epsilon <= c.epsilon
    return True


COUNTS = [40, 25, 20, 10, 5]
BASE = ex.Prior.from_counts(COUNTS, labels=["a", "b", "c", "d", "e"])
