"""Hypothesis strategies: priors with ties and near-ties, levels in every region and at its edges, mechanisms.

Edges are computed here in exact fractions, not by the library.
"""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import extremal as ex

SMALLEST = 1e-6


@st.composite
def masses(draw, min_size=2, max_size=6):
    """Positive numbers: small integers (ties), anything down to 1e-6, and both with near-ties."""
    n = draw(st.integers(min_size, max_size))
    kind = draw(st.sampled_from(["counts", "spread", "uniform", "one rare"]))
    if kind == "counts":
        p = [float(k) for k in draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))]
    elif kind == "spread":
        p = [10.0**x for x in draw(st.lists(st.floats(-5, 0), min_size=n, max_size=n))]
    elif kind == "uniform":
        p = [1.0] * n
    else:
        p = [1.0] * n
        p[draw(st.integers(0, n - 1))] = 10.0 ** draw(st.floats(-5, 0))
    if draw(st.booleans()):  # near-ties: one mass copies another up to 1e-16..1e-12
        i, j = draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))
        p[i] = p[j] * (1 + draw(st.sampled_from([-1, 1])) * 10.0 ** draw(st.integers(-16, -12)))
    return p


@st.composite
def priors(draw, min_size=2, max_size=6):
    """Priors on 2..6 symbols, no mass below 1e-6."""
    p = np.array(draw(masses(min_size, max_size)))
    p = np.maximum(p / p.sum(), SMALLEST * 1.01)
    return ex.Prior(p / p.sum())


def exact_edges(prior):
    """epsilon_0 .. epsilon_{N-1}, epsilon_max from exact sums of the masses."""
    p = sorted((Fraction(x) for x in prior.probabilities.tolist()), reverse=True)
    total = sum(p)
    heads = [sum(p[: len(p) - k]) / total for k in range(len(p))]
    return [_minus_log(x) for x in [*heads, p[-1] / total]]


def _minus_log(x):
    """-log of a fraction, accurate near 1 too."""
    return -math.log1p(float(x - 1)) if x > Fraction(1, 2) else -math.log(float(x))


@st.composite
def levels(draw, prior, lowest=0.0, highest=None):
    """Privacy levels: inside every region, on every edge, 1e-15 and more beside it, from epsilon_max on."""
    edges = exact_edges(prior)
    top = edges[-1] + 2 if highest is None else highest
    kind = draw(st.sampled_from(["inside", "edge", "beside", "near", "zero", "above", "tiny"]))
    k = draw(st.integers(0, len(edges) - 2))
    if kind == "inside":
        level = edges[k] + draw(st.floats(0, 1)) * (edges[k + 1] - edges[k])
    elif kind == "edge":
        level = edges[k + 1]
    elif kind == "beside":
        level = edges[k + 1] + draw(st.sampled_from([-1e-15, 1e-15]))
    elif kind == "near":
        level = edges[k + 1] + draw(st.sampled_from([-1, 1])) * 10.0 ** draw(st.floats(-14, -2))
    elif kind == "zero":
        level = 0.0
    elif kind == "tiny":
        level = 10.0 ** draw(st.floats(-15, -3))
    else:
        level = edges[-1] + draw(st.sampled_from([0.0, 1e-15, 1e-3, 2.0, 800.0]))
    return min(max(level, lowest), top)


@st.composite
def designs(draw, min_size=2, max_size=6, highest=None):
    """A prior and a level for it; `highest` of the prior bounds the level."""
    prior = draw(priors(min_size, max_size))
    return prior, draw(levels(prior, highest=None if highest is None else highest(prior)))


@st.composite
def high_privacy_designs(draw, min_size=2, max_size=6):
    """A prior and a level in its first region, up to 2e-14 below the edge."""
    prior = draw(priors(min_size, max_size))
    edge = exact_edges(prior)[1]
    below = draw(st.sampled_from([2e-14, 1e-12, 1e-9]))
    inside = draw(st.floats(0, 1)) * edge
    return prior, max(min(draw(st.sampled_from([0.0, edge, inside, inside])), edge - below), 0.0)


@st.composite
def uniform_designs(draw, min_size=2, max_size=6):
    """A number of symbols and a level up to log N."""
    n = draw(st.integers(min_size, max_size))
    prior = ex.Prior.uniform(n)
    return n, draw(levels(prior, highest=math.log(n)))


@st.composite
def stochastic(draw, n, m):
    """n x m row-stochastic matrices with zeros, zero columns, and columns that repeat or are proportional."""
    counts = draw(hnp.arrays(np.int64, (n, m), elements=st.integers(0, 9))).astype(float)
    if m > 1 and draw(st.booleans()):
        counts[:, draw(st.integers(0, m - 1))] = counts[:, 0] * draw(st.sampled_from([0, 1, 3]))
    counts[counts.sum(axis=1) == 0, draw(st.integers(0, m - 1))] = 1
    return counts / counts.sum(axis=1, keepdims=True)


@st.composite
def mechanisms(draw, n, min_outputs=1, max_outputs=7):
    """Mechanisms on n inputs."""
    return ex.Mechanism(draw(stochastic(n, draw(st.integers(min_outputs, max_outputs)))))


@st.composite
def pairs(draw, min_size=2, max_size=6, max_outputs=7):
    """A prior and a mechanism for it."""
    prior = draw(priors(min_size, max_size))
    return prior, draw(mechanisms(prior.size, max_outputs=max_outputs))
