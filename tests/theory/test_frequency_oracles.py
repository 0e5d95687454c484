"""Clients of local differential privacy: their matrices against the probabilities and errors known of them."""

import math

import numpy as np
import pytest

import extremal as ex
from extremal.theory.randomized_response import (
    at_pml,
    hadamard_response,
    optimized_unary_encoding,
    rappor,
    subset_selection,
)
from tests.support.wording import refused

MAKERS = (
    subset_selection,
    optimized_unary_encoding,
    rappor,
    hadamard_response,
)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("level", [0.3, 1.0, 2.0])
def test_the_level_is_that_of_local_differential_privacy(make, level):
    assert ex.measures.ldp_epsilon(make(6, level)) == pytest.approx(level, abs=1e-12)


def test_subset_selection_is_optimal_among_designs_that_hold_for_all_priors():
    for n, level in ((4, 0.5), (6, 1.0)):
        uniform = ex.Prior.uniform(n)
        best = ex.design(ex.PriorSet.at_least(n, 0), level)
        made = ex.shares(uniform, subset_selection(n, level))
        assert made == pytest.approx(best.value, rel=1e-6)
        assert made >= max(ex.shares(uniform, make(n, level)) for make in MAKERS)


def test_unary_encodings_have_the_variance_of_wang_and_others():
    """For a rare symbol, 4 e^level / (e^level - 1)^2 a report."""
    level, n = 1.0, 10
    P = optimized_unary_encoding(n, level).matrix
    bits = np.array([[int(b) for b in f"{y:0{n}b}"] for y in range(2**n)])
    told = P @ bits
    assert told[0, 0] == pytest.approx(0.5)
    assert told[0, 1] == pytest.approx(1 / (math.e + 1))
    q = told[0, 1]
    assert q * (1 - q) / (0.5 - q) ** 2 == pytest.approx(4 * math.e / (math.e - 1) ** 2)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_at_equal_pml_a_client_leaks_epsilon(make):
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    _, mechanism = at_pml(make, prior, 0.6)
    assert ex.epsilon_pml(prior, mechanism) == pytest.approx(0.6, abs=1e-9)


def test_large_alphabets_are_refused_in_one_line():
    with refused(ex.errors.SizeError, "12"):
        optimized_unary_encoding(13, 1.0)
