"""Two reports about the same people: what independent draws would give, by enumeration in exact fractions.

`independence` is for a falsifier of joint releases: draw twice for the same people, by any interface, and compare
how often each pair of reports occurs with what the certified weights say of two independent draws.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

from scipy import stats


def row_shares(certified, value):
    """Output label -> its exact probability for this answer."""
    row = certified.weights[certified.inputs.index(value)].tolist()
    return {y: Fraction(w, 1 << certified.bits) for y, w in zip(certified.outputs, row, strict=True)}


def independence(first, second, certified, values, other=None):
    """The chance of pairs at least this far from independent draws, for people who all gave these two answers.

    `first` and `second` are reports in the order of the people; `values` the answer in each; `other` the mechanism
    of the second where it is another. A pair that cannot occur at all gives 0.
    """
    a, b = row_shares(certified, values[0]), row_shares(other or certified, values[1])
    n = len(first)
    expected = {(y, z): n * p * q for (y, p), (z, q) in itertools.product(a.items(), b.items())}
    seen = Counter(zip(first, second, strict=True))
    if any(not expected.get(pair) for pair in seen):
        return 0.0
    possible = [pair for pair, count in expected.items() if count]
    if len(possible) == 1:
        return 1.0
    return float(
        stats.chisquare(
            [seen[pair] for pair in possible], [float(expected[pair]) for pair in possible]
        ).pvalue
    )


def leakage_of_pairs(certified, other=None):
    """The leakage in nats of two independent reports of one answer: the largest over all pairs of reports."""
    prior = [Fraction(p) for p in certified.prior.probabilities.tolist()]
    columns = [list(map(int, column)) for column in certified.weights.T]
    others = [list(map(int, column)) for column in (other or certified).weights.T]
    worst = Fraction(0)
    for one, two in itertools.product(columns, others):
        pair = [u * v for u, v in zip(one, two, strict=True)]
        mass = sum(p * w for p, w in zip(prior, pair, strict=True))
        if mass:
            worst = max(worst, max(pair) * sum(prior) / mass)
    return math.log(worst)
