"""Expected gains: one linear program of polynomial size against all vertices, and its certificate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import extremal as ex
from extremal.errors import UtilityError
from extremal.optimization.masters.linear import enumerate_program, gain_program
from extremal.theory.lift_vectors import lift_vertices
from tests.support import oracles
from tests.support.examples import at_most
from tests.support.solving import design_by
from tests.support.strategies import designs
from tests.support.wording import refused

LOWS = st.sampled_from([0.0, 0.0, 0.0, 0.2, 0.9])


@st.composite
def gains(draw, n):
    """Gain matrices with whole and real entries of either sign, some decisions useless, some equal."""
    shape = (draw(st.integers(1, n + 2)), n)
    if draw(st.booleans()):
        return draw(hnp.arrays(np.int64, shape, elements=st.integers(-3, 3))).astype(float)
    return draw(hnp.arrays(np.float64, shape, elements=st.floats(-10, 10).map(lambda x: round(x, 3))))


@st.composite
def tasks(draw, max_size=6):
    prior, epsilon = draw(designs(max_size=max_size, highest=lambda prior: prior.epsilon_max))
    high = max(oracles.largest_lift(prior, epsilon), 1 + 1e-6)
    return prior, draw(gains(prior.size)), draw(LOWS), high


def of_rows(prior, gain):
    return lambda lifts: (lifts * prior.probabilities @ gain.T).max(axis=1)


@given(tasks(max_size=8))
@at_most(80)
def test_the_program_attains_the_optimum_over_all_vertices_and_proves_it(task):
    prior, gain, low, high = task
    pi, mu = prior.probabilities, of_rows(prior, gain)
    solution = gain_program(pi, gain, low, high)
    best = enumerate_program(pi, low, high, mu)
    size = 1e-9 * float(np.abs(gain).max(initial=0)) + 1e-15
    assert solution.value == pytest.approx(best.value, abs=size)
    assert 0 <= solution.upper - solution.value <= size
    V = lift_vertices(pi, low, high)
    assert (mu(V) - V @ solution.proof).max() <= size
    assert math.fsum(solution.proof) <= solution.upper
    # One output for each decision, lifts within their bounds.
    assert len(solution.weights) <= len(gain)
    assert solution.lifts.min() >= low
    assert solution.lifts.max() <= high
    np.testing.assert_allclose(solution.weights @ solution.lifts, 1, atol=1e-8)


@given(tasks(max_size=5))
@at_most(40)
def test_the_design_is_feasible_and_certified(task):
    prior, gain, low, high = task
    utility = ex.ExpectedGain(gain)
    design = design_by(prior, math.log(high), utility, oracle="gain-program", notion=ex.LIP.above(low))
    assert ex.epsilon_pml(prior, design.mechanism) <= math.log(high) + 1e-12
    assert ex.measures.lift(prior, design.mechanism).min() >= low - 1e-12
    assert np.abs(design.mechanism.matrix.sum(axis=1) - 1).max() <= 1e-12
    assert design.mechanism.shape[1] <= prior.size
    assert design.value == utility(prior, design.mechanism)
    assert design.upper_bound - design.value <= 1e-9 * np.abs(gain).max(initial=0) + 1e-15


@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.slow), 0.7, 2.0])
def test_fifty_symbols_and_decisions_are_certified(epsilon):
    rng = np.random.default_rng(50)
    prior = ex.Prior(rng.dirichlet(np.ones(50)))
    for gain in (np.eye(50), rng.standard_normal((50, 50)), -np.abs(np.subtract.outer(range(50), range(50)))):
        design = ex.design(prior, epsilon, ex.ExpectedGain(gain))
        assert design.method == "gain-program"
        assert design.upper_bound - design.value <= 1e-9 * np.abs(gain).max()
        assert design.proven
        assert ex.epsilon_pml(prior, design.mechanism) <= epsilon + 1e-12
        assert design.mechanism.shape[1] <= 50


def test_guessing_right_under_pml_is_limited_by_e_to_the_epsilon_times_the_likeliest_symbol():
    """max_w pi_w lambda_w <= e^epsilon pi_max, attained while every symbol can be that full."""
    prior = ex.Prior.uniform(10)
    epsilon = math.log(2)
    design = ex.design(prior, epsilon, ex.ExpectedGain(np.eye(10)))
    assert design.value == pytest.approx(0.2, abs=1e-12)


def test_one_decision_gains_the_same_whatever_is_released():
    prior = ex.Prior([0.5, 0.3, 0.2])
    design = design_by(prior, 0.7, ex.ExpectedGain([[1.0, 2.0, 3.0]]), oracle="gain-program")
    assert design.value == pytest.approx(1.7)
    assert design.mechanism.shape == (3, 1)


def test_other_utilities_are_refused():
    with refused(UtilityError, "<utility mutual information>"):
        design_by(ex.Prior([0.5, 0.3, 0.2]), 0.7, ex.mutual_information, oracle="gain-program")
    with refused(UtilityError, "gain"):
        ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.7, ex.ExpectedGain(np.eye(4)))
