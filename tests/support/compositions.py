"""Two releases of one answer, for the tests of compositions."""

import itertools
import math
from collections import Counter
from fractions import Fraction

from hypothesis import strategies as st

import extremal as ex
from tests.support.strategies import mechanisms, priors

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
FOUR = ex.Prior.uniform([1, 2, 3, 4])


@st.composite
def compositions(draw):
    prior = draw(priors(max_size=4))
    return prior, draw(mechanisms(prior.size, max_outputs=4)), draw(mechanisms(prior.size, max_outputs=4))


def by_sequences(prior, mechanisms):
    """{sequence of columns: (leakage, probability)} by going through all of them, in plain Python."""
    found = {}
    for y in itertools.product(*(range(m.shape[1]) for m in mechanisms)):
        likelihood = [
            math.prod(m.matrix[i, j] for m, j in zip(mechanisms, y, strict=True)) for i in range(prior.size)
        ]
        marginal = sum(p * q for p, q in zip(prior.probabilities.tolist(), likelihood, strict=True))
        if marginal > 0:
            found[y] = (max(math.log(max(likelihood) / marginal), 0), marginal)
    return found


def exact_posterior(prior, series):
    """The posterior after (mechanism, output) pairs, in fractions of the very doubles that were given."""
    weights = [Fraction(p) for p in prior.probabilities.tolist()]
    times = Counter((id(mechanism), y) for mechanism, y in series)
    for mechanism, y in {(id(mechanism), y): (mechanism, y) for mechanism, y in series}.values():
        column = mechanism.matrix[:, mechanism.outputs.index(y)].tolist()
        often = times[id(mechanism), y]
        weights = [w * Fraction(p) ** often for w, p in zip(weights, column, strict=True)]
    total = sum(weights)
    return [w / total for w in weights]


def exact_leakage(prior, series):
    after = exact_posterior(prior, series)
    ratio = max(q / Fraction(p) for q, p in zip(after, prior.probabilities.tolist(), strict=True))
    return math.log(ratio.numerator) - math.log(ratio.denominator)  # integers of any length
