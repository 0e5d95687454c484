"""Efficiency against the size of the sample behind the prior."""

import math

import numpy as np
import pytest

import extremal as ex
from extremal.errors import OptionError, PriorError
from tests.support.wording import refused

PRIOR = ex.Prior([0.4, 0.3, 0.2, 0.1], labels=list("abcd"))


def test_larger_samples_allow_better_designs_up_to_that_for_a_known_prior():
    curve = ex.sample_tradeoff(PRIOR, 0.8, [10, 100, 1000, 10**9])
    assert len(curve) == 4
    assert np.all(np.diff(curve.optimal) > 0)
    assert curve.known == pytest.approx(ex.design(PRIOR, 0.8).value)
    assert curve.optimal[-1] == pytest.approx(curve.known, rel=2e-3)
    assert np.all(curve.upper_bound >= curve.optimal)
    assert [row["observations"] for row in curve.rows()] == [10, 100, 1000, 10**9]


def test_the_set_of_a_sample_size_is_that_of_counts_in_proportion():
    """Where the counts are whole numbers both ways of asking are the same."""
    expected = ex.PriorSet.from_counts([40, 30, 20, 10])
    found = ex.PriorSet.from_sample_size(PRIOR, 100)
    assert found.radius == pytest.approx(expected.radius)
    assert found.lower == pytest.approx(expected.lower, abs=1e-12)
    assert found.upper == pytest.approx(expected.upper, abs=1e-12)
    assert found.labels == PRIOR.labels


def test_other_utilities_have_the_curve_too():
    curve = ex.sample_tradeoff(PRIOR, 0.8, [100, 1000], ex.mutual_information, confidence=0.9)
    assert 0 < curve.optimal[0] < curve.optimal[1] < curve.known


def test_without_leakage_a_sample_costs_nothing():
    assert [row["of_known"] for row in ex.sample_tradeoff(PRIOR, 0, [100]).rows()] == [1]


@pytest.mark.parametrize("sizes", [[], [0], [math.nan], [math.inf], [-3], 100, "100", ["many"]])
def test_sizes_that_make_no_sense_are_refused(sizes):
    with refused(OptionError, "observations"):
        ex.sample_tradeoff(PRIOR, 0.8, sizes)
    with pytest.raises(PriorError):
        ex.PriorSet.from_sample_size(PRIOR, 0.5)
