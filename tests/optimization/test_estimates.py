"""Designs for estimation: values against a general convex solver, bounds against all vertices and the checker."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import extremal as ex
from extremal.certification.quadratic import check_quadratic
from extremal.model.purpose import shares
from extremal.model.purposes import Quadratic, groups, mean
from extremal.optimization.effort import Why
from extremal.theory.closed_form import high_privacy
from extremal.theory.lift_vectors import lift_vertices
from tests.support.examples import at_most
from tests.support.solving import mixture


def checked(pi, epsilon, A, **options):
    pi = np.asarray(pi, dtype=float) / np.sum(pi)
    found = mixture(pi, epsilon, A, **options)
    check = check_quadratic(pi, epsilon, A, found.matrix, found.value, found.upper, found.proof)
    assert check.ok, check.problems
    assert 0 < found.value <= found.upper <= 1 + 1e-12
    inside = found.lifts[(found.lifts > 0) & (found.lifts < found.lifts.max())]
    assert (inside > 1e-12).all()  # zeros are true zeros
    return found


def best_loss(pi, epsilon, A):
    """The least tr(A J^-1) over mixtures of all vertices, by a general convex solver."""
    import cvxpy as cp  # slow to import

    V = lift_vertices(pi, 0.0, min(math.exp(epsilon), 1 / pi.min()))
    n = len(pi)
    q = cp.Variable(len(V), nonneg=True)
    J = sum(q[k] * np.outer(v, v) for k, v in enumerate(V))
    values, vectors = np.linalg.eigh(A)
    columns = [math.sqrt(max(a, 0)) * v for a, v in zip(values, vectors.T, strict=True)]
    problem = cp.Problem(cp.Minimize(sum(cp.matrix_frac(c, J) for c in columns)), [V.T @ q == np.ones(n)])
    problem.solve(solver="CLARABEL")
    return problem.value


def efficiency_of(pi, A, loss):
    return (np.sum(np.diag(A) * pi) - pi @ A @ pi) / (loss - pi @ A @ pi)


@pytest.mark.parametrize("epsilon", [0.1, 0.6, 1.2, 2.0])
@pytest.mark.parametrize("pi", [[0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1], [0.3, 0.25, 0.2, 0.15, 0.1]])
def test_no_mixture_of_all_vertices_is_better(pi, epsilon):
    pi, A = np.array(pi), np.eye(len(pi))
    found = checked(pi, epsilon, A, tolerance=1e-6)
    best = efficiency_of(pi, A, best_loss(pi, epsilon, A))
    assert found.value == pytest.approx(best, rel=1e-5)
    assert found.upper >= best * (1 - 1e-6)


def test_other_losses_are_solved_too():
    pi = np.array([0.35, 0.3, 0.2, 0.15])
    rng = np.random.default_rng(0)
    M = rng.normal(size=(4, 4))
    for A in (M @ M.T, np.diag(pi**-2.0), np.diag([1.0, 2.0, 3.0, 0.5])):
        found = checked(pi, 0.8, A, tolerance=1e-6)
        assert found.value == pytest.approx(efficiency_of(pi, A, best_loss(pi, 0.8, A)), rel=1e-5)


@pytest.mark.parametrize("pi", [[0.95, 0.03, 0.02], [0.7, 0.2, 0.1], [0.85, 0.1, 0.05]])
@pytest.mark.parametrize("epsilon", [0.01, 0.06, 0.3, 0.5, math.log(2), 1.0])
def test_dominant_answers_have_designs_better_than_randomized_response(pi, epsilon):
    found = checked(pi, epsilon, np.eye(3))
    prior = ex.Prior(pi)
    assert found.value >= shares(prior, ex.theory.randomized_response_for_pml(prior, epsilon)) * (1 - 1e-9)
    assert found.gap <= 1e-3


@pytest.mark.parametrize(
    ("pi", "epsilon"),
    [
        ([0.5, 0.5 - 1e-9, 1e-9], 0.5),
        ([0.6, 0.4 - 2e-9, 1e-9, 1e-9], 1.0),
        ([0.25] * 4, math.log(2)),
        ([0.4, 0.3, 0.2, 0.1], -math.log(0.9)),
        ([0.4, 0.3, 0.2, 0.1], -math.log(0.7)),
        ([0.4, 0.3, 0.2, 0.1], math.log(10) * (1 - 1e-9)),
        ([0.4, 0.3, 0.2, 0.1], math.log(10) - 1e-3),
        ([0.4, 0.3, 0.2, 0.1], 1e-5),
        # An answer that nearly everybody gives: a row that is nearly always drawn balances those that tell something.
        ([1, 7e-6, 12e-6, 21e-6, 8e-6, 7e-6, 8e-6, 19e-6, 2e-6, 7e-6], 1e-3),
        # Rare rows, whose prices are larger than others by four orders of magnitude.
        ([1, 29e-6, 18e-6, 12e-6, 26e-6], math.log(1e6 / 12) * 0.99),
        ([1, 21e-6, 12e-6, 15e-6, 25e-6, 14e-6], math.log(1e6 / 12) * 0.99),
    ],
)
def test_edges_and_tiny_masses_have_designs(pi, epsilon):
    pi = np.array(pi) / np.sum(pi)
    assert checked(pi, epsilon, np.eye(len(pi))).gap <= 1e-3


def test_from_epsilon_max_on_everything_is_told():
    for pi, epsilon in (([0.5, 0.3, 0.2], math.log(5)), ([0.5, 0.3, 0.2], 800.0), ([0.8, 0.2, 3e-11], 25.0)):
        found = checked(np.array(pi) / sum(pi), epsilon, np.eye(3))
        assert found.value == pytest.approx(1, abs=1e-12)
        assert len(found.weights) == 3


@pytest.mark.parametrize("p", [0.5, 0.9, 0.999, 1 - 2e-9])
@pytest.mark.parametrize("epsilon", [1e-4, 0.05, 0.5, 0.69])
def test_two_symbols_have_the_largest_variance_there_is(p, epsilon):
    pi, c = np.array([p, 1 - p]), math.exp(epsilon)
    low, high = max(0.0, (1 - c * p) / (1 - p)), min(c, 1 / (1 - p))
    variance = (high - 1) * (1 - low)
    found = checked(pi, epsilon, np.eye(2))
    direct = 2 * p * (1 - p)
    # The second share is estimated by the deviation of its lift, times p over the variance.
    loss = 2 * p**2 / variance
    assert found.value == pytest.approx(direct / loss, rel=1e-8)
    assert found.gap <= 1e-8


@pytest.mark.parametrize(("n", "k"), [(7, 3), (13, 4), (31, 6), (57, 8)])
def test_planes_give_optimal_designs_with_as_many_outputs_as_symbols(n, k):
    found = checked(np.full(n, 1 / n), math.log(n / k), np.eye(n))
    trace = (n - 1) ** 2 * k / (n * (n - k)) + 1 / n
    assert found.value == pytest.approx((1 - 1 / n) / (trace - 1 / n), rel=1e-10)
    assert found.gap <= 1e-9
    assert len(found.weights) == n


def test_below_the_first_edge_theorem_3_is_optimal():
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    found = checked(prior.probabilities, 0.09, np.eye(4))
    assert found.value == pytest.approx(shares(prior, high_privacy(prior, 0.09)), rel=1e-9)
    assert found.gap <= 1e-9


def test_the_order_of_symbols_does_not_matter():
    pi = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    order = np.array([3, 0, 4, 2, 1])
    found, other = checked(pi, 0.7, np.eye(5)), checked(pi[order], 0.7, np.eye(5))
    assert other.value == pytest.approx(found.value, rel=1e-12)
    np.testing.assert_allclose(other.lifts, found.lifts[:, order], atol=1e-12)


def test_merging_what_a_purpose_does_not_tell_apart_does_not_hurt():
    prior = ex.Prior({"a": 0.3, "b": 0.25, "c": 0.2, "d": 0.15, "e": 0.1})
    purpose = groups({"left": ["a", "b"], "right": ["c", "d"]})
    found = checked(prior.probabilities, 0.7, purpose.loss(prior))
    merged = ex.Prior({"left": 0.55, "right": 0.35, "rest": 0.1})
    small = checked(merged.probabilities, 0.7, groups({"left": ["left"], "right": ["right"]}).loss(merged))
    assert found.value == pytest.approx(small.value, rel=1e-6)
    every = mixture(prior.probabilities, 0.7, np.eye(5))
    assert found.value >= purpose(prior, ex.Mechanism(every.matrix, prior.labels)) * (1 - 1e-6)


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.5])
@pytest.mark.parametrize("scores", [[0, -5, -5, 0, -5, 1e9], [0, 1, 2, 1e8, 5, 5], [0, 3e-8, 1, 1]])
def test_a_score_that_is_far_larger_than_the_others_does_not_make_these_equal(scores, epsilon):
    design = ex.design(ex.Prior.uniform(len(scores)), epsilon, mean(dict(enumerate(scores))))
    assert ex.check_design(design).problems == ()


def test_a_mass_beyond_doubles_for_all_vectors_at_once_has_a_design_by_generated_ones():
    prior = ex.Prior(
        [
            0.0021003987862983587,
            1.3669922953558257e-07,
            0.9935892353275716,
            0.0042967346696049045,
            1.3494517295643168e-05,
        ]
    )
    design = ex.design(prior, 1.0107239762249532e-06, shares, tolerance=1e-4)
    assert design.proven
    assert ex.check_design(design).ok


def test_means_of_scores_have_proven_designs():
    prior = ex.Prior([0.3, 0.25, 0.2, 0.15, 0.1])
    purpose = mean([1, 2, 3, 4, 5])
    found = checked(prior.probabilities, 0.7, purpose.loss(prior))
    assert found.gap <= 2e-3
    every = mixture(prior.probabilities, 0.7, np.eye(5))
    assert found.value > purpose(prior, ex.Mechanism(every.matrix, prior.labels))


@pytest.mark.parametrize(
    "epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 1.0, pytest.param(2.5, marks=pytest.mark.slow)]
)
def test_beyond_listing_the_relaxation_proves_a_percent(epsilon):
    pi = 1 / np.arange(1, 21)
    found = checked(pi, epsilon, np.eye(20), rounds=15)
    assert found.gap <= 0.05
    assert len(found.weights) <= 8 * 20


@pytest.mark.parametrize(
    "where", ["just below the last", pytest.param("just above the third edge", marks=pytest.mark.slow)]
)
def test_more_than_60_symbols_have_proven_designs_next_to_the_first_and_the_last_edge(where):
    """Blocks of light symbols, which the first vectors treat as one, would be too heavy there."""
    masses = np.arange(1.0, 65.0) ** 2
    rare = masses / masses.sum()
    first, last = -math.log(1 - rare[:3].sum()), -math.log(rare[0])
    epsilon = 1.0001 * first if where == "just above the third edge" else last - 1e-3
    assert checked(rare, epsilon, np.eye(64)).gap <= 0.02


def test_larger_levels_are_worth_more():
    pi = np.array([0.4, 0.3, 0.2, 0.1])
    values = [mixture(pi, e, np.eye(4), tolerance=1e-7).value for e in np.linspace(0.05, 2.5, 15)]
    assert (np.diff(values) > -1e-7).all()


@pytest.mark.slow
def test_equal_questions_have_equal_answers():
    pi = 1 / np.arange(1, 21)
    pi /= pi.sum()
    one, two = (mixture(pi, 0.8, np.eye(20), rounds=3) for _ in range(2))
    np.testing.assert_array_equal(one.matrix, two.matrix)


def test_without_time_or_rounds_there_is_randomized_response_with_a_bound():
    pi = 1 / np.arange(1, 21)
    prior = ex.Prior(pi / pi.sum())
    told = []
    for options in ({"time_limit": 0.0}, {"rounds": 0}):
        found = checked(pi, 0.8, np.eye(20), progress=lambda *figures: told.append(figures), **options)
        response = shares(prior, ex.theory.randomized_response_for_pml(prior, 0.8))
        assert found.value == pytest.approx(response, rel=1e-9)
        assert found.stats.why is (Why.TIME if "time_limit" in options else Why.WORK)
    assert all(0 < value <= upper <= 1 for value, upper in told)


@at_most(60)
@given(
    st.lists(st.floats(1e-4, 1), min_size=2, max_size=6),
    st.floats(1e-3, 5),
    st.integers(0, 3),
)
@example([1, 1 / 256, 1], 0.003, 2)  # rows that tell nothing are needed for balance
def test_every_prior_and_level_has_a_proven_design(masses, epsilon, kind):
    pi = np.array(masses) / np.sum(masses)
    prior = ex.Prior(pi)
    purposes = (
        shares,
        shares.relative,
        mean(range(len(pi))),
        Quadratic(np.diag(np.arange(1.0, len(pi) + 1))),
    )
    found = checked(pi, epsilon, purposes[kind].loss(prior))
    assert found.gap <= 5e-3
    mechanism = ex.Mechanism(found.matrix, prior.labels)
    assert ex.epsilon_pml(prior, mechanism) <= epsilon + 1e-12
    assert purposes[kind](prior, mechanism) == pytest.approx(found.value, rel=1e-6)
    response = purposes[kind](prior, ex.theory.randomized_response_for_pml(prior, epsilon))
    assert found.value >= response * (1 - 1e-6)


def test_estimates_are_as_good_as_the_efficiency_says():
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    found = mixture(prior.probabilities, 0.8, np.eye(4))
    certified = ex.certify(prior, ex.Mechanism(found.matrix, prior.labels), 0.8)
    rng = np.random.default_rng(3)
    people, errors = 2000, []
    for seed in range(200):
        answers = rng.choice(4, people, p=prior.probabilities)
        reports = certified.privatize(answers, source=ex.randomness.SeededWords(seed))
        estimate = ex.estimate(certified, reports, method=ex.Method("inverse", prior=prior))
        errors.append(np.sum((estimate.shares - prior.probabilities) ** 2))
    direct = (1 - np.sum(prior.probabilities**2)) / people
    spread = np.std(errors) / math.sqrt(len(errors))
    assert abs(np.mean(errors) - direct / found.value) <= 3.5 * spread
