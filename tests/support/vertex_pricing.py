"""Problems of pricing at any level, and their maximum by going through all vertices."""

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from extremal.model.levels import rounding
from extremal.optimization.oracles.knapsack.separable import Separable
from extremal.theory.lift_vectors import lift_vertices
from tests.support import oracles
from tests.support.pricing import SEPARABLE
from tests.support.strategies import designs

LOWS = st.sampled_from([0.0, 0.0, 0.0, 0.2, 0.9])
CELLS = 1 << 10  # a coarse table is quick to make, and what is exact must not depend on it


@st.composite
def problems(draw, max_size=8, cells=CELLS):
    """A problem at any level of any region, edges included."""
    prior, epsilon = draw(designs(min_size=3, max_size=max_size, highest=lambda prior: prior.epsilon_max))
    high = max(oracles.largest_lift(prior, epsilon), 1 + 1e-9)
    return Separable(prior.probabilities, draw(st.sampled_from(SEPARABLE)).f, draw(LOWS), high, cells)


@st.composite
def duals(draw, problem):
    """Vectors near the analytic dual, sometimes equal for equal masses."""
    noise = draw(hnp.arrays(np.float64, problem.size, elements=st.floats(-1, 1)))
    y = problem.analytic_dual() * (1 + draw(st.sampled_from([0.0, 0.1, 1.0])) * noise)
    return problem.symmetric(y) if draw(st.booleans()) else y


@st.composite
def pricings(draw, max_size=8):
    problem = draw(problems(max_size))
    return problem, draw(duals(problem))


def vertices(problem):
    return lift_vertices(problem.pi, problem.low, problem.high)


def largest(problem, y):
    """Delta(y), by going through all vertices."""
    V = vertices(problem)
    return float(np.max(problem.mu(V) - V @ y))


def slack(problem, y):
    """How much rounding can change a reduced value.

    Its terms are of the size of f(low), f(high)/high and |y| high. And where sets of symbols fill a column up to
    rounding, the lift of the partial symbol is taken for `low`, at which f may be steep.
    """
    ends = np.abs(problem.f(np.array([problem.low, problem.high])))
    size = 1 + float(ends @ [1.0, 1 / problem.high]) + float(np.abs(y).sum() * problem.high)
    beside = problem.f(problem.low + rounding(math.log(problem.high)) / problem.pi)
    return 1e-14 * size + float(np.max(problem.pi * np.abs(beside - problem.f(problem.low))))
