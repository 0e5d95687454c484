"""Designs with fewer reports: as private, honest about what that costs, and never worse than randomized response."""

import numpy as np
import pytest

import extremal as ex
from extremal.errors import OptionError
from tests.support.wording import refused

PRIOR = ex.Prior.from_counts(1 / np.arange(1, 13))


@pytest.fixture(scope="module")
def full():
    return ex.design(PRIOR, 1.0, tolerance=1e-4)


def test_fewer_reports_cost_more_and_what_they_cost_is_proven(full):
    n, values = PRIOR.size, []
    for most in (12, 14, 24, 48, 1000):
        fewer = ex.fewer_reports(full, most)
        assert fewer.mechanism.shape[1] <= most
        assert fewer.upper_bound == full.upper_bound
        assert fewer.value == pytest.approx(ex.shares(PRIOR, fewer.mechanism), rel=1e-9)
        assert ex.epsilon_pml(PRIOR, fewer.mechanism) <= 1 + 1e-12
        assert ex.check_design(fewer).ok
        values.append(fewer.value)
    assert ex.fewer_reports(full, 1000) is full
    assert full.mechanism.shape[1] > 4 * n
    assert values == sorted(values)
    response = ex.shares(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 1.0))
    assert response * (1 - 1e-9) <= values[0] < 0.99 * full.value
    assert values[2] >= 0.9 * full.value  # 2 N reports
    assert values[3] >= 0.995 * full.value  # 4 N


def test_a_design_for_a_set_keeps_epsilon_for_every_prior_with_fewer_reports():
    priors = ex.PriorSet.l1_ball(ex.Prior([0.4, 0.3, 0.15, 0.1, 0.05]), 0.1)
    design = ex.design(priors, 1.2, tolerance=1e-5)
    for most in (5, 8):
        fewer = ex.fewer_reports(design, most)
        assert fewer.mechanism.shape[1] <= most < design.mechanism.shape[1]
        assert ex.pml(priors, fewer.mechanism).max() <= 1.2 + 1e-12
        assert 0 < fewer.value <= design.value * (1 + 1e-9)
        assert ex.check_design(fewer).ok


def test_what_cannot_be_cut_is_refused(full):
    for most in (11, 24.0, True):
        with refused(OptionError, "most", "12"):
            ex.fewer_reports(full, most)
    with refused(OptionError, "design", "mutual information"):
        ex.fewer_reports(ex.design(PRIOR, 1.0, ex.mutual_information), 12)
    with refused(OptionError, "design"):
        ex.fewer_reports(full.mechanism, 12)
