"""tradeoff(): every point is that of design(), curves that never fall, randomized response beside them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.errors import EpsilonError, PriorError, UtilityError
from tests.support.examples import at_most
from tests.support.pricing import SEPARABLE
from tests.support.solving import design_by
from tests.support.strategies import priors


@given(priors(max_size=6), st.lists(st.floats(0, 4), min_size=1, max_size=5), st.sampled_from(SEPARABLE))
@at_most(30)
def test_every_point_is_the_optimum_at_its_level_in_the_order_given(prior, epsilons, utility):
    curve = ex.tradeoff(prior, epsilons, utility)
    assert curve.epsilons.tolist() == epsilons
    assert len(curve) == len(epsilons)
    for k, epsilon in enumerate(epsilons):
        best = design_by(prior, epsilon, utility, oracle="enumeration" if epsilon > 0 else "auto")
        assert curve.optimal[k] == pytest.approx(best.value, rel=1e-6, abs=1e-9)
        assert curve.optimal[k] <= curve.upper_bound[k]
        response = ex.theory.randomized_response_for_pml(prior, epsilon)
        assert curve.randomized_response[k] == pytest.approx(utility(prior, response), abs=1e-12)
        assert curve.randomized_response[k] <= curve.upper_bound[k] + 1e-9
    assert curve.ceiling == pytest.approx(utility(prior, ex.Mechanism(np.eye(prior.size))), rel=1e-9)


@pytest.mark.parametrize("size", [15, pytest.param(25, marks=pytest.mark.slow)])
def test_the_curve_never_falls_and_every_point_is_certified(size):
    prior = ex.Prior(np.random.default_rng(size).dirichlet(np.ones(size)))
    levels = [2.0, 0.1, 0.6, 1.2]
    curve = ex.tradeoff(prior, levels, ex.mutual_information)
    order = np.argsort(levels)
    assert (np.diff(curve.optimal[order]) >= 0).all()
    assert (curve.upper_bound - curve.optimal <= 1.01e-6 * curve.optimal).all()
    assert curve.methods == ("column-generation",) * 4


def test_where_a_search_ends_early_the_value_of_a_lower_level_is_taken_over():
    prior = ex.Prior.from_counts(1 / np.arange(1, 31))
    curve = ex.tradeoff(prior, np.linspace(0.5, 0.52, 6), ex.mutual_information, time_limit=0)
    assert (np.diff(curve.optimal) >= 0).all()
    assert (curve.upper_bound >= curve.optimal).all()


def test_progress_counts_the_points_and_an_interrupt_ends_the_curve():
    prior = ex.Prior([0.5, 0.3, 0.2])
    seen = []
    ex.tradeoff(
        prior,
        [0.3, 0.1, 0.7],
        ex.mutual_information,
        progress=lambda done, points: seen.append((done, points)),
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]

    def interrupt(done, points):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ex.tradeoff(prior, [0.3, 0.1], ex.mutual_information, progress=interrupt)


def test_rows_are_ready_for_a_table():
    curve = ex.tradeoff(ex.Prior([0.5, 0.3, 0.2]), [0.0, 0.4, 9.0], ex.mutual_information)
    rows = curve.rows()
    assert curve.to_frame("pandas").to_dict("records") == rows
    assert [row["method"] for row in rows] == ["constant", "enumeration", "identity"]
    assert set(rows[0]) == {"epsilon", "optimal", "upper_bound", "randomized_response", "method"}
    assert rows[2]["optimal"] == pytest.approx(curve.ceiling)
    assert all(type(value) in (float, str) for row in rows for value in row.values())


def test_one_level_is_a_list_of_one():
    for level in (0.7, np.float64(0.7), np.array(0.7), "0.7", b"07", None):
        with pytest.raises(ex.errors.OptionError, match=r"\[0.5\]"):
            ex.tradeoff(ex.Prior([0.5, 0.5]), level, ex.mutual_information)


@pytest.mark.parametrize(
    ("prior", "epsilons", "utility", "error"),
    [
        ([0.5, 0.5], [0.1], ex.mutual_information, PriorError),
        (ex.Prior([0.5, 0.5]), [0.1, -1], ex.mutual_information, EpsilonError),
        (ex.Prior([0.5, 0.5]), [math.nan], ex.mutual_information, EpsilonError),
        (ex.Prior([0.5, 0.5]), [0.1], max, UtilityError),
    ],
)
def test_bad_questions_are_refused(prior, epsilons, utility, error):
    with pytest.raises(error):
        ex.tradeoff(prior, epsilons, utility)
