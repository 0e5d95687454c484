"""Privacy regions (Lemma 2): their edges, and which region a level falls in."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.model.levels import check_epsilon, largest_lift, region, region_edges
from tests.support import oracles
from tests.support.strategies import designs, exact_edges, priors


@given(priors())
def test_the_edges_are_minus_log_of_exact_sums_of_the_largest_masses(prior):
    edges = prior.region_edges
    assert len(edges) == prior.size + 1
    assert edges[0] == 0
    assert edges[-1] == pytest.approx(prior.epsilon_max, rel=1e-15)
    np.testing.assert_allclose(edges, exact_edges(prior), rtol=1e-14, atol=1e-15)
    assert np.all(np.diff(edges) >= 0)


@given(priors(), st.integers(0, 6), st.sampled_from([0, -1e-15, 1e-15]))
def test_an_edge_belongs_to_the_region_above_it_even_if_rounding_moved_it(prior, k, shift):
    edges = exact_edges(prior)
    k = k % len(edges)
    epsilon = max(edges[k] + shift, 0.0)
    # Edges up to about 1e-14 above may be this one moved by rounding, those farther away are others.
    assert sum(edge <= epsilon + 1e-15 for edge in edges) <= prior.region(epsilon)
    assert prior.region(epsilon) <= sum(edge <= epsilon + 1e-14 for edge in edges)


@given(priors(), st.integers(0, 5), st.floats(0.01, 0.99))
def test_a_level_strictly_between_two_edges_lies_in_the_region_between_them(prior, k, share):
    edges = exact_edges(prior)
    k = k % prior.size
    if edges[k + 1] - edges[k] > 1e-9:
        assert prior.region(edges[k] + share * (edges[k + 1] - edges[k])) == k + 1


@given(designs(), st.integers(0, 2**32 - 1))
def test_the_region_survives_noise_in_the_last_digit_of_the_prior_and_any_order_of_it(design, seed):
    prior, epsilon = design
    rng = np.random.default_rng(seed)
    if any(1.1e-15 < abs(edge - epsilon) < 2e-14 for edge in exact_edges(prior)):
        return  # neither equal up to rounding nor clearly different
    noisy = rng.permutation(prior.probabilities) * (1 + 1.2e-16 * rng.integers(-1, 2, prior.size))
    assert region(noisy, epsilon) == prior.region(epsilon)


def test_the_regions_of_the_notes_example():
    prior = ex.Prior([0.2, 0.5, 0.3])
    np.testing.assert_allclose(prior.region_edges, -np.log([1, 0.8, 0.5, 0.2]), rtol=1e-15, atol=0)
    levels = [0, 0.1, -math.log(0.8), 0.5, math.log(2), math.log(3), math.log(5), 3, 1000]
    assert [prior.region(x) for x in levels] == [1, 1, 2, 2, 3, 3, 4, 4, 4]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 10, 49, 100])
def test_every_edge_of_a_uniform_prior_is_found_whichever_way_it_is_computed(n):
    prior = ex.Prior.uniform(n)
    for k in range(n):
        for epsilon in (-math.log((n - k) / n), math.log(n / (n - k)), math.log(n) - math.log(n - k)):
            expected = n + 1 if k == n - 1 else k + 1
            assert prior.region(abs(epsilon)) == expected


def test_level_zero_is_in_the_first_region_however_small_the_masses_are():
    assert ex.Prior([1e-16, 0.5, 0.5]).region(0) == 1
    assert ex.Prior([1e-150, 1e-100, 1.0]).region(0) == 1


@given(designs())
def test_lemma_2_at_most_k_minus_1_zeros_fit_into_a_column_in_region_k(design):
    prior, epsilon = design
    k = min(prior.region(epsilon), prior.size)
    zeros = (ex.theory.extremal_lift_vectors(prior, epsilon) == 0).sum(axis=1)
    assert zeros.max() == k - 1


@given(priors(), st.integers(1, 5))
def test_lemma_2_is_tight_k_zeros_are_possible_from_epsilon_k_on_and_not_below(prior, k):
    k = min(k, prior.size - 1)
    largest = np.argsort(-prior.probabilities)[: prior.size - k]
    column = np.zeros(prior.size)
    column[largest] = 1
    mechanism = ex.Mechanism(np.column_stack((column, 1 - column)))
    assert ex.pml(prior, mechanism)[0] == pytest.approx(prior.region_edges[k], abs=1e-14)


@pytest.mark.parametrize(
    "epsilon",
    [1, 1.0, True + 0, np.float64(1), np.float32(1), np.int8(1), np.array(1.0), Fraction(1), Decimal(1)],
    ids=lambda epsilon: type(epsilon).__name__,
)
def test_every_kind_of_real_number_is_a_privacy_level(epsilon):
    assert check_epsilon(epsilon) == 1.0
    assert type(check_epsilon(epsilon)) is float


@given(designs())
def test_the_largest_lift_is_the_exponential_up_to_the_inverse_of_the_smallest_mass(design):
    prior, epsilon = design
    assert largest_lift(prior.probabilities, epsilon) == pytest.approx(
        oracles.largest_lift(prior, epsilon), rel=1e-15
    )


def test_the_largest_lift_is_finite_for_any_level_and_any_mass():
    assert largest_lift([1e-150, 1.0], 1e308) == 1e150


def test_edges_of_a_large_prior_are_accurate():
    n = 100_000
    edges = region_edges(np.full(n, 1 / n))
    np.testing.assert_allclose(edges[:-1], -np.log(np.arange(n, 0, -1) / n), rtol=1e-10, atol=1e-15)
