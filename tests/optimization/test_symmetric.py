"""Symbols that are all alike: the optimum against all vertices, and mechanisms with few outputs that come near it."""

import math
from dataclasses import replace

import numpy as np
import pytest

import extremal as ex
from extremal.optimization.closed_forms import arrange
from extremal.optimization.effort import UNLIMITED
from tests.support.prior_sets import all_vertices
from tests.support.wording import refused


def subset_selection(n, epsilon):
    """The largest efficiency of reporting one of all sets of k symbols, with odds e^epsilon if it holds the answer."""

    def efficiency(k):
        lifts = np.array([math.exp(epsilon)] * k + [1.0] * (n - k))
        return (np.mean(lifts**2) / np.mean(lifts) ** 2 - 1) / (n - 1)

    return max(efficiency(k) for k in range(1, n))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_the_bound_is_the_largest_spread_of_all_vertices(epsilon):
    """By symmetrisation: C of the average over all permutations has the mean of |x|^2 as its trace."""
    n = 4
    uniform = ex.Prior.uniform(n)
    for priors in (
        ex.PriorSet.at_least(n, 0),
        ex.PriorSet.at_least(n, 0.4 / n),
        ex.PriorSet.l1_ball(uniform, 0.3),
        ex.PriorSet.intervals([0.1] * n, [0.4] * n, nominal=uniform),
    ):
        x = all_vertices(priors, math.exp(epsilon)) - 1
        best = float(np.max(np.sum(x**2, axis=1))) / (n * (n - 1))
        found = ex.design(priors, epsilon, tolerance=1e-6)
        assert found.upper_bound == pytest.approx(best, rel=2e-6)
        assert ex.check_design(found).upper_bound == pytest.approx(best, rel=2e-6)
        assert found.gap <= 1e-6


@pytest.mark.parametrize(
    ("n", "epsilon"), [(32, 1.0), (31, 0.3), pytest.param(100, 4.0, marks=pytest.mark.slow)]
)
def test_over_all_priors_few_outputs_come_near_subset_selection_with_all_sets(n, epsilon):
    best = subset_selection(n, epsilon)
    found = ex.design(ex.PriorSet.at_least(n, 0), epsilon)
    assert found.upper_bound == pytest.approx(best, rel=1e-9)
    assert 0.95 * best <= found.value <= best * (1 + 1e-9)
    close = ex.design(ex.PriorSet.at_least(n, 0), epsilon, tolerance=2e-3)
    assert close.value >= best * (1 - 2e-3)
    assert ex.check_design(close).ok


def test_at_four_outputs_for_each_label_or_fewer_little_is_lost():
    for n, epsilon in ((30, 1.0), (64, 0.5)):
        for question in (ex.Prior.uniform(n), ex.PriorSet.at_least(n, 0), ex.PriorSet.at_least(n, 0.5 / n)):
            found = ex.design(question, epsilon)
            assert found.gap <= 0.01
            assert found.mechanism.matrix.shape[1] <= 4 * n
            assert ex.check_design(found).ok


def test_what_arrangements_lose_is_what_their_covariance_says():
    x = np.array([2.0, 2.0, 0.5] + [-0.5] * 9)
    rows, lost, tried = arrange(x, 0.02, UNLIMITED)
    values = np.linalg.eigvalsh(rows.T @ rows / len(rows))[1:]
    assert values.mean() * np.mean(1 / values) - 1 == pytest.approx(lost, abs=1e-12)
    assert np.abs(rows.mean(axis=0)).max() < 1e-12
    assert {tuple(np.sort(row)) for row in rows} == {tuple(np.sort(x))}
    assert tried >= 1
    assert lost <= 0.02


def test_a_proof_by_symmetry_needs_symmetry():
    found = ex.design(ex.PriorSet.at_least(20, 0), 1.0)
    skewed = ex.PriorSet.intervals([0.0] * 20, [0.9] + [1.0] * 19, nominal=ex.Prior.uniform(20))
    for wrong in (
        replace(found, prior_set=skewed),
        replace(found, proof=replace(found.proof, weights=np.arange(1.0, 21))),
    ):
        assert any("alike" in text for text in ex.check_design(wrong).problems)
    smaller = replace(found, prior_set=ex.PriorSet.at_least(20, 0.01))
    assert any("not proved" in text for text in ex.check_design(smaller).problems)


def test_sets_of_hundreds_of_alike_labels_have_designs_and_others_are_refused():
    with refused(ex.errors.SizeError, "300"):
        ex.design(ex.PriorSet.at_least(ex.Prior.from_counts(np.arange(1, 402)), 0), 1.0)
    assert ex.design(ex.PriorSet.at_least(310, 0), 3.0).gap <= 0.05


def test_four_outputs_a_label_lose_one_percent_among_hundreds_too():
    """There only the most promising exchanges are tried. The loss is measured on the matrix, not on eigenvalues."""
    n = 300
    design = ex.design(ex.PriorSet.at_least(n, 0), 1.0)
    assert design.mechanism.shape[1] <= 4 * n
    best, value = subset_selection(n, 1.0), ex.shares(ex.Prior.uniform(n), design.mechanism)
    assert best * (1 - 0.012) <= value <= best * (1 + 1e-9)


@pytest.mark.parametrize("n", [3, 4])
def test_one_label_against_the_rest_is_a_question_of_two_labels_though_the_others_are_alike(n):
    names = [f"answer {i}" for i in range(n)]
    purpose = ex.groups({"first": names[:1], "rest": names[1:]})
    design = ex.design(ex.PriorSet.at_least(names, 0), 0.4, purpose)
    two = ex.PriorSet.at_least(ex.Prior([1 / n, 1 - 1 / n]), 0)
    assert design.value == pytest.approx(ex.design(two, 0.4).value, rel=2e-3)
