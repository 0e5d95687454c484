"""Pricing in plain Python and numpy: every column of a small problem, one by one, to compare the solver with."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import extremal as ex
from extremal.optimization.oracles.knapsack.separable import Separable
from tests.support.strategies import masses

KINKED = ex.FInformation(
    lambda t: 2 * np.maximum(0.4 - t, 0) + np.maximum(t - 1.7, 0), "kinks at 0.4 and 1.7"
)
SEPARABLE = [
    ex.mutual_information,
    ex.utilities.total_variation,
    ex.utilities.chi_squared,
    ex.utilities.hellinger,
    ex.utilities.jensen_shannon,
    KINKED,
]
FEW = 64  # cells: a coarse table, so that what is computed from it differs visibly from f
BOUNDS = st.sampled_from([(0.0, 1.05), (0.0, 1.7), (0.0, 3.0), (0.0, 12.0), (0.3, 1.4), (0.9, 5.0)])


@st.composite
def pricings(draw, min_size=3, max_size=8):
    """A problem with a coarse table and a vector of duals, some of them equal for equal masses."""
    pi = np.array(draw(masses(min_size, max_size)))
    pi = np.maximum(pi / pi.sum(), 1e-5)
    low, high = draw(BOUNDS)
    utility = draw(st.sampled_from(SEPARABLE))
    problem = Separable(pi / pi.sum(), utility.f, low, high, FEW)
    y = draw(hnp.arrays(np.float64, problem.size, elements=st.floats(-1, 1)))
    return problem, problem.symmetric(y * pi) if draw(st.booleans()) else y * pi


def interpolated(problem, t):
    """f as the table has it, by numpy."""
    squares = np.linspace(0, 1, problem.cells + 1) ** 2
    half = (1 - problem.low) / 2
    nodes = np.concatenate(
        (
            problem.low + half * squares,
            (1 - half * squares)[-2::-1],
            (1 + (problem.high - 1) * squares)[1:],
        )
    )
    return np.interp(t, nodes, problem.f(nodes))


def every_column(problem, y, capacity=None):
    """All columns with at most one partial symbol: flags, partial symbols, profits from the table."""
    n, pi, low, high = problem.size, problem.pi, problem.low, problem.high
    room = 1 - low if capacity is None else capacity
    sets = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    full, partial, lifts = [], [], []
    for j in range(n):
        S = sets[~sets[:, j]]
        z = room - S @ pi * (high - low)
        fits = (z >= -1e-15) & (z <= pi[j] * (high - low) + 1e-15)
        L = np.where(S[fits], high, low)
        L[:, j] = low + np.clip(z[fits] / pi[j], 0, high - low)
        full.append(S[fits])
        partial.append(np.full(len(L), j))
        lifts.append(L)
    L = np.concatenate(lifts)
    empty = np.sum(pi * interpolated(problem, low) - y * low)
    return np.concatenate(full), np.concatenate(partial), interpolated(problem, L) @ pi - L @ y - empty


def every_vertex(room, n, noise):
    """All (set, partial symbol) of a table of what sets leave, by the definition, sorted by partial symbol."""
    found = []
    for j in range(n):
        for s in range(2**n):
            if s >> j & 1 or room[s] <= noise:
                continue
            left = room[s | 1 << j]
            first = min(i for i in range(n) if (s | 1 << j) >> i & 1)
            if left < -noise or (abs(left) <= noise and first == j):
                found.append((s, j))
    return found


def best_vertices(vertices, gain, above, profit, y, threshold, each):
    """For every partial symbol the numbers of the best vertices, and the largest profit of all."""
    n = len(profit)
    reached = [
        sum(profit[i] for i in range(n) if s >> i & 1) + gain[v] - y[j] * above[v]
        for v, (s, j) in enumerate(vertices)
    ]
    best = []
    for j in range(n):
        own = [v for v in range(len(vertices)) if vertices[v][1] == j and reached[v] > threshold]
        best.append(sorted(own, key=lambda v: -reached[v])[:each])
    return best, reached


def families(n):
    """Priors of several shapes on n symbols."""
    rng = np.random.default_rng(n)
    ranks = np.arange(1, n + 1)
    return {
        "Dirichlet": rng.dirichlet(np.ones(n)),
        "Zipf 1": 1 / ranks / (1 / ranks).sum(),
        "Zipf 1.5": ranks**-1.5 / (ranks**-1.5).sum(),
        "geometric 0.8": np.maximum(0.8**ranks, 1e-13) / np.maximum(0.8**ranks, 1e-13).sum(),
        "counts": ex.Prior.from_counts(rng.integers(1, 60, n)).probabilities,
    }
