"""The arc mechanism: feasible for every prior and level, optimal for uniform ones, of any size."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.errors import SizeError
from extremal.theory import closed_form
from extremal.theory.lift_vectors import arc_columns, lift_vertices
from tests.support import oracles
from tests.support.strategies import designs, masses, uniform_designs
from tests.support.wording import refused

LOWS = st.sampled_from([0.0, 0.0, 0.1, 0.9])


@given(designs(), LOWS)
def test_lifts_average_to_one_over_symbols_and_over_outputs_and_stay_in_their_bounds(design, low):
    prior, epsilon = design
    pi, high = prior.probabilities, oracles.largest_lift(prior, epsilon)
    columns = arc_columns(pi, low, high)
    L = columns.lifts()
    assert columns.outputs == L.shape[1] <= 2 * prior.size
    np.testing.assert_allclose(L @ columns.weights, 1, atol=2e-14)
    np.testing.assert_allclose(pi @ L, 1, atol=2e-14)
    assert L.min() >= low
    assert L.max() <= max(high, 1) * (1 + 1e-15)
    assert columns.weights.min() > 0


@given(designs(), LOWS)
def test_every_column_is_a_vertex_of_the_lift_polytope_and_none_appears_twice(design, low):
    prior, epsilon = design
    columns = arc_columns(prior.probabilities, low, oracles.largest_lift(prior, epsilon))
    L = columns.lifts()
    assert ((columns.low < L) & (columns.high > L)).sum(axis=0).max(initial=0) <= 1
    if columns.high > 1 + 1e-9:
        vertices = lift_vertices(prior.probabilities, columns.low, columns.high)
        apart = np.abs(L.T[:, None] - vertices[None]).max(axis=2) / columns.high
        assert apart.min(axis=1).max() <= 1e-13 / prior.probabilities.min()
        assert len(
            {(f, c, p) for f, c, p in zip(columns.first, columns.count, columns.partial, strict=True)}
        ) == (columns.outputs)


@given(designs(), LOWS, st.sampled_from(oracles.SYMMETRIC[:5]))
def test_the_value_in_linear_time_is_that_of_the_matrix(design, low, utility):
    prior, epsilon = design
    columns = arc_columns(prior.probabilities, low, oracles.largest_lift(prior, epsilon))
    expected = math.fsum(columns.weights * utility.columns(prior, columns.lifts()))
    assert columns.separable_value(utility.f) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(designs())
def test_the_mechanism_is_row_stochastic_and_keeps_the_level(design):
    prior, epsilon = design
    mechanism = closed_form.arc(prior, epsilon)
    assert np.abs(mechanism.matrix.sum(axis=1) - 1).max() <= 1e-12
    assert ex.epsilon_pml(prior, mechanism) <= epsilon + 1e-12
    assert mechanism.inputs == prior.labels


@given(uniform_designs())
def test_for_a_uniform_prior_it_is_theorem_4_and_optimal_for_symmetric_utilities(design):
    n, epsilon = design
    prior = ex.Prior.uniform(n)
    mechanism = closed_form.arc(prior, epsilon)
    theorem = closed_form.uniform(n, epsilon)
    for utility in oracles.SYMMETRIC:
        value = utility(prior, mechanism)
        assert value == pytest.approx(utility(prior, theorem), abs=1e-9) or oracles.is_optimal(
            prior, epsilon, utility, value
        )


@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (5, 3), (12, 7), (50, 13)])
def test_at_an_edge_of_a_uniform_prior_it_equals_theorem_4_up_to_columns(n, k):
    prior = ex.Prior.uniform(n)
    epsilon = prior.region_edges[k - 1]
    assert closed_form.arc(prior, epsilon).same_up_to_columns(closed_form.uniform(n, epsilon), 1e-12)


@given(designs(highest=lambda prior: prior.epsilon_max))
def test_it_gains_at_least_what_averaging_the_windows_would(design):
    """Moving weight to the breakpoints loses nothing: compare with windows that start anywhere."""
    prior, epsilon = design
    pi, c = prior.probabilities, oracles.largest_lift(prior, epsilon)
    if c > 1e4:
        return
    bounds = np.concatenate(([0.0], np.cumsum(pi)))
    starts = (np.arange(200) + 0.5) / 200
    ends = starts + 1 / c
    covered = [
        np.clip(np.minimum(ends, bounds[i + 1] + turn) - np.maximum(starts, bounds[i] + turn), 0, None)
        for turn in (0, 1)
        for i in range(prior.size)
    ]
    L = c * (np.array(covered[: prior.size]) + np.array(covered[prior.size :])) / pi[:, None]
    averaged = ex.utilities.chi_squared.columns(prior, L).mean()
    exact = ex.utilities.chi_squared(prior, closed_form.arc(prior, epsilon))
    assert exact >= averaged - 0.02 * (1 + abs(averaged)) * c


@given(masses(max_size=5), st.floats(0, 750), st.integers(0, 140))
def test_masses_of_any_size_are_handled(p, epsilon, exponent):
    p = np.array(p) / sum(p)
    p[0] *= 10.0**-exponent
    prior = ex.Prior.from_counts(p)
    mechanism = closed_form.arc(prior, epsilon)
    assert ex.epsilon_pml(prior, mechanism) <= epsilon + 1e-12


def test_from_epsilon_max_on_everything_is_disclosed():
    prior = ex.Prior([0.5, 0.3, 0.2])
    for epsilon in (prior.epsilon_max, prior.epsilon_max + 1, 1000):
        assert ex.mutual_information(prior, closed_form.arc(prior, epsilon)) == pytest.approx(prior.entropy)


def test_at_zero_nothing_is():
    mechanism = closed_form.arc(ex.Prior([0.5, 0.3, 0.2]), 0)
    assert mechanism.shape == (3, 1)


def test_hundreds_of_thousands_of_symbols_need_no_matrix():
    pi = 1 / np.arange(1, 200_001)
    pi /= pi.sum()
    columns = arc_columns(pi, 0.0, 2.0)
    assert 0.68 < columns.separable_value(ex.mutual_information.f) < math.log(2)
    with refused(SizeError, "200000 inputs x 400000 outputs"):
        columns.lifts()
