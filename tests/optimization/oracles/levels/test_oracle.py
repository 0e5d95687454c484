"""Designs for shares that hold for every prior of a set: optimal, private, and with bounds that hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import extremal as ex
from extremal.optimization import tuning
from extremal.optimization.oracles.levels.bound import COLUMNS, RANK, Weights, bound
from extremal.optimization.set_levels import SetLevels, robust_vertices
from tests.support.prior_sets import all_vertices, random_members, some_sets


def best_efficiency(pi, lifts):
    """The largest efficiency of mixtures of lift vectors, by a general solver."""
    k, n = lifts.shape

    def trace(w):
        return float(np.trace(np.linalg.inv((lifts.T * w) @ lifts + 1e-13 * np.eye(n))))

    def slope(w):
        inverse = np.linalg.inv((lifts.T * w) @ lifts + 1e-13 * np.eye(n))
        return -np.sum((lifts @ inverse) ** 2, axis=1)

    balanced = {"type": "eq", "fun": lambda w: lifts.T @ w - 1, "jac": lambda w: lifts.T}
    found = minimize(
        trace,
        np.full(k, 1 / k),
        jac=slope,
        bounds=[(0, None)] * k,
        constraints=balanced,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert np.abs(lifts.T @ found.x - 1).max() < 1e-9, found.message
    square = float(pi @ pi)
    return (1 - square) / (found.fun - square)


@pytest.mark.parametrize("epsilon", [0.3, 1.2])
def test_small_designs_are_what_a_general_solver_finds_over_all_vertices(epsilon):
    for priors in some_sets(np.random.default_rng(3), 3):
        vertices = np.unique(np.round(all_vertices(priors, math.exp(epsilon)), 12), axis=0)
        best = best_efficiency(priors.nominal.probabilities, vertices)
        found = ex.design(priors, epsilon, tolerance=1e-5)
        assert found.value == pytest.approx(best, rel=2e-5)
        assert found.upper_bound >= best * (1 - 1e-6)
        assert ex.check_design(found).ok


def assert_levels_bound(priors, epsilon, monkeypatch):
    """The bound over levels is above what is listed, and the search finds about that."""
    listed = ex.design(priors, epsilon, tolerance=1e-4)
    with monkeypatch.context() as patch:
        patch.setattr(tuning, "LISTED_LEVELS", 0)  # as if there were too many to list
        found = ex.design(priors, epsilon, tolerance=0.1)
    assert_bounded(found, listed)


def assert_bounded(found, listed):
    assert listed.gap <= 1e-4
    assert found.method != "robust enumeration"
    assert found.value <= listed.upper_bound * (1 + 1e-9)
    assert found.upper_bound >= listed.value * (1 - 1e-9)
    assert found.value >= 0.9 * listed.value  # it may stop at a gap of 0.1
    assert ex.check_design(found).ok


@pytest.mark.parametrize(("kind", "epsilon"), [(5, 0.5), (6, 3.0)])
def test_the_bound_over_levels_holds_and_is_checked_without_a_list_of_vectors(kind, epsilon, monkeypatch):
    assert_levels_bound(some_sets(np.random.default_rng(6), 5)[kind], epsilon, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(4, 0.1), (4, 0.5), (4, 3.0), (7, 1.0), (7, 3.0)])
def test_the_bound_over_levels_holds_for_many_sets(n, epsilon, monkeypatch):
    for priors in some_sets(np.random.default_rng(n), n):
        assert_levels_bound(priors, epsilon, monkeypatch)


def test_over_all_priors_the_bound_over_levels_is_within_percents_at_small_levels(monkeypatch):
    """There a square in W is needed: sums of lifts vary with the level, and products of two say nothing about it."""
    monkeypatch.setattr(tuning, "LISTED_LEVELS", 0)
    prior = ex.Prior.from_counts(1 / np.arange(1, 9))
    found = ex.design(ex.PriorSet.at_least(prior, 0), 0.1, tolerance=0.04)
    assert found.method == "robust local search"
    assert found.gap <= 0.04
    assert ex.check_design(found).ok


@pytest.mark.slow
def test_where_few_symbols_fit_a_level_the_bound_over_levels_is_within_percents(monkeypatch):
    """There the bound needs whole symbols: with parts of them at a level it is 20 % too large."""
    monkeypatch.setattr(tuning, "LISTED_LEVELS", 0)
    prior = ex.Prior.from_counts(1 / np.arange(1, 9))
    found = ex.design(ex.PriorSet.l1_ball(prior, 0.1), 4.0, tolerance=0.04)
    assert found.method == "robust local search"
    assert found.gap <= 0.04
    assert ex.check_design(found).ok


def test_trees_of_cells_bound_all_vectors_and_come_near_the_largest():
    rng = np.random.default_rng(11)
    n = 5
    for k, priors in enumerate(some_sets(rng, n)):
        epsilon = (0.1, 0.7, 2.0)[k % 3]
        cone = SetLevels.of(priors, math.exp(epsilon), np.arange(n))
        vertices = robust_vertices(priors, math.exp(epsilon))
        for pairs in (0.0, 0.3):
            low, high = (pairs * (M + M.T) for M in np.triu(rng.random((2, n, n)), 1))
            weights = Weights(
                1 + rng.random(n), low, high, rng.normal(size=(n, RANK)) / 3, rng.normal(size=n)
            )
            values = np.einsum("ki,ij,kj->k", vertices, weights.W, vertices) - vertices @ weights.y
            largest, spread = float(values.max()), float(np.ptp(values))
            empty = np.zeros((0, COLUMNS))
            few, relaxed, leaves = bound(cone, weights, largest, 1e-3 * spread, 100, empty)
            many, _, _ = bound(cone, weights, largest, 1e-3 * spread, 2000, few)
            assert len(relaxed.lifts) == len(leaves)
            tops = [float(cells[cells[:, 0] < 0, 5].max()) for cells in (few, many)]
            assert tops[1] >= largest - 1e-9 * spread
            torn = np.where(np.random.default_rng(k).random(few.shape) < 0.1, math.nan, few)
            torn, _, _ = bound(cone, weights, largest, 1e-3 * spread, 100, torn)  # begins again
            assert np.array_equal(torn, few)
            if not pairs:  # products are exact, and no tangent lies higher in half a cell
                assert tops[1] <= min(tops[0] + 1e-3 * spread, largest + 0.02 * spread)


def test_a_thousand_random_priors_of_the_set_leak_no_more_than_epsilon():
    rng = np.random.default_rng(8)
    for priors in some_sets(rng, 7):
        P = ex.design(priors, 0.8, tolerance=1e-2).mechanism.matrix
        members = random_members(priors, rng, 1000)
        assert np.log(P.max(axis=0)[:, None] / (P.T @ members)).max() <= 0.8 + 1e-12


def test_the_design_lies_between_those_for_one_prior_and_for_all():
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    values = [
        ex.design(priors, 0.9, tolerance=1e-5).value
        for priors in (
            ex.PriorSet.at_least(prior, 0),
            *(ex.PriorSet.l1_ball(prior, r) for r in (1.0, 0.3, 0.1, 0.01, 1e-4)),
            prior,
        )
    ]
    assert np.all(np.diff(values) > 0)
    assert values[-2] == pytest.approx(values[-1], rel=1e-2)


def test_an_answer_of_nearly_everybody_has_designs_over_sets_too():
    """The columns to begin with are far from balance: most rule out an answer that is rare anyway."""
    p = np.array([0.9865, 0.0033, 0.0049, 0.0053])
    found = ex.design(ex.PriorSet.intervals(0.8 * p, np.minimum(1.2 * p, 1)), 0.0136)
    assert ex.check_design(found).ok
    assert found.gap <= 1e-3


def test_over_all_priors_with_a_uniform_nominal_one_it_is_subset_selection():
    """Ye and Barg (2018): all sets of k of n symbols, each reported with odds e^epsilon if it holds the answer."""
    n, epsilon = 6, 1.0

    def efficiency(k):
        lifts = np.array([1.0] * (n - k) + [math.exp(epsilon)] * k)
        variance = float(np.mean(lifts**2) / np.mean(lifts) ** 2) - 1
        loss = (n - 1) ** 2 / (n * variance)  # tr Sigma: all n lifts have this variance and equal covariances
        return (1 - 1 / n) / loss

    found = ex.design(ex.PriorSet.at_least(n, 0), epsilon, tolerance=1e-6)
    assert found.value == pytest.approx(max(efficiency(k) for k in range(1, n)), rel=1e-5)


def test_other_purposes_and_sizes_get_a_checked_bound():
    prior = ex.Prior.from_counts(1 / np.arange(1, 16))
    priors = ex.PriorSet.l1_ball(prior, 0.2)
    found = ex.design(priors, 1.0, ex.mean(list(range(15))), tolerance=0.9)
    assert 0 < found.value <= found.upper_bound <= 1
    assert ex.check_design(found).ok


@pytest.fixture(scope="module")
def with_cells():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "LISTED_LEVELS", 0)
        priors = ex.PriorSet.l1_ball(ex.Prior([0.15, 0.3, 0.1, 0.25, 0.2]), 0.2)
        found = ex.design(priors, 0.8, tolerance=0.1)
    assert ex.check_design(found).ok
    return found


def test_the_bound_over_levels_holds_for_a_ball(with_cells):
    assert_bounded(with_cells, ex.design(with_cells.prior_set, 0.8, tolerance=1e-4))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda p: replace(p, cells=p.cells[:-1]), "malformed"),
        (lambda p: replace(p, cells=p.cells[:, :5]), "malformed"),
        (lambda p: replace(p, cells=p.cells * (1 - 2 * np.eye(COLUMNS)[3])), "malformed"),
        (lambda p: replace(p, cells=p.cells * (1 - np.eye(COLUMNS)[1])), "malformed"),
        (
            lambda p: replace(p, cells=np.where(p.cells[:, :1] < 2, p.cells, p.cells + np.eye(COLUMNS)[0])),
            "not proved",
        ),
        (lambda p: replace(p, low=p.low - 1), "products"),
        (lambda p: replace(p, low=None), "products"),
        (lambda p: replace(p, away=p.away[1:]), "products"),
        (lambda p: replace(p, cells=p.cells + np.eye(COLUMNS)[6]), "not proved"),
        (lambda p: replace(p, prices=p.prices * 1.2), "not proved"),
        (lambda p: replace(p, weights=p.weights * 1.2), "not proved"),
        (lambda p: replace(p, over_set=False), "not proved"),
    ],
)
def test_a_certificate_that_proves_less_is_refused(with_cells, change, problem):
    wrong = replace(with_cells, proof=change(with_cells.proof))
    assert any(problem in text for text in ex.check_design(wrong).problems)


def test_a_bound_for_a_small_set_proves_nothing_for_a_larger_one(with_cells):
    larger = ex.PriorSet.l1_ball(with_cells.prior, 0.19)
    checked = ex.check_design(replace(with_cells, prior_set=larger))
    assert any("not proved" in text for text in checked.problems)


def test_a_time_limit_ends_bounds_over_levels_early_and_what_is_proven_by_then_holds():
    prior = ex.Prior.from_counts(1 / np.arange(1, 31))
    found = ex.design(ex.PriorSet.l1_ball(prior, 0.1), 2.0, tolerance=1e-3, time_limit=0.5)
    assert found.stats.stopped
    assert found.value <= found.upper_bound
    assert ex.check_design(found).ok
