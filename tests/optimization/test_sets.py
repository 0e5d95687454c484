"""Designs that hold for every prior of a set."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import extremal as ex
from extremal.model.lift_sets import SetLifts
from extremal.optimization.effort import Effort
from extremal.optimization.oracles.nested.pricing import NestedPricer
from extremal.optimization.oracles.nested.programs import LiftProgram, climb
from extremal.optimization.set_levels import nested_columns, robust_vertices
from extremal.optimization.tuning import MOVED
from tests.support.oracles import every_utility
from tests.support.prior_sets import all_vertices, random_members, some_sets
from tests.support.solving import design_by
from tests.support.wording import refused


def optimum(lifts, gains):
    """The program of Theorem 5 over columns given as rows."""
    result = linprog(-gains, A_eq=lifts.T, b_eq=np.ones(lifts.shape[1]))
    assert result.status == 0, result.message
    return -result.fun


def assert_holds(priors, epsilon, design):
    """The promise of a robust design, measured."""
    assert ex.epsilon_pml(priors, design.mechanism) <= epsilon + 1e-12
    assert design.value <= design.upper_bound
    assert design.value == pytest.approx(
        design.utility(priors.nominal, design.mechanism), rel=1e-12, abs=1e-15
    )
    assert design.mechanism.shape[1] <= max(priors.size, 2)
    assert design.prior == priors.nominal


@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_extremal_columns_are_mixtures_of_two_nested_sets(n):
    rng = np.random.default_rng(n)
    for priors in some_sets(rng, n)[: 7 if n == 3 else 3]:
        for epsilon in (0.3, 1.2):
            c = math.exp(epsilon)
            vertices, listed = all_vertices(priors, c), robust_vertices(priors, c)
            assert np.all(listed.max(axis=1) <= c * priors.smallest_means(listed.T) * (1 + 1e-12))
            for utility in every_utility(n)[:6]:
                gains = utility.columns(priors.nominal, vertices.T)
                found = design_by(priors, epsilon, utility, oracle="enumeration")
                assert found.value == pytest.approx(optimum(vertices, gains), abs=1e-8)
                assert_holds(priors, epsilon, found)


@pytest.mark.parametrize("utility", [*every_utility(4)[:2], *every_utility(4)[4:]], ids=lambda u: u.name)
def test_enumeration_and_column_generation_agree(utility):
    rng = np.random.default_rng(7)
    for priors in some_sets(rng, 4):
        listed = design_by(priors, 0.8, utility, oracle="enumeration")
        generated = design_by(priors, 0.8, utility, oracle="column-generation", tolerance=1e-3)
        assert_holds(priors, 0.8, listed)
        assert_holds(priors, 0.8, generated)
        assert listed.gap <= 1e-12
        assert generated.upper_bound >= listed.value - 1e-9
        assert generated.value == pytest.approx(listed.value, abs=1.1e-3 * listed.value + 1e-9)
        if isinstance(utility, ex.FInformation | ex.ExpectedGain):
            assert generated.proven
        else:
            assert generated.upper_bound == math.inf
            assert "nothing is proven" in str(generated)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("level", [0.2, 1.0, 3.0])
def test_over_all_priors_the_design_is_the_locally_differentially_private_one(n, level):
    prior = ex.Prior(np.random.default_rng(n).dirichlet(np.ones(n)) * 0.9 + 0.1 / n)
    for utility in (ex.mutual_information, ex.utilities.total_variation, ex.utilities.hellinger):
        best = ex.design(prior, level, utility, notion=ex.LDP).value
        for everything in (ex.PriorSet.at_least(prior, 0), ex.PriorSet.l1_ball(prior, 2)):
            found = ex.design(everything, level, utility)
            assert found.value == pytest.approx(best, rel=1e-9)
            assert ex.measures.ldp_epsilon(found.mechanism) <= level + 1e-12


def test_the_design_tends_to_the_locally_differentially_private_one_as_the_set_grows():
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    best = ex.design(prior, 1.0, ex.mutual_information, notion=ex.LDP).value
    values = [
        ex.design(ex.PriorSet.at_least(prior, m), 1.0, ex.mutual_information).value
        for m in (0.05, 0.01, 1e-3, 1e-4, 1e-6)
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(best, rel=1e-4)
    assert values[-1] >= best - 1e-12
    values = [
        ex.design(ex.PriorSet.l1_ball(prior, r), 1.0, ex.mutual_information).value
        for r in (0.1, 0.5, 1.0, 1.5, 1.9, 2.0)
    ]
    assert np.all(np.diff(values) <= 1e-12)
    assert values[-1] == pytest.approx(best, rel=1e-9)


def test_the_design_tends_to_the_plain_one_as_the_sample_grows():
    plain = ex.design(ex.Prior([0.5, 0.25, 0.15, 0.1]), 0.9, ex.mutual_information).value
    values = [
        ex.design(ex.PriorSet.from_counts([50 * k, 25 * k, 15 * k, 10 * k]), 0.9, ex.mutual_information).value
        for k in (1, 10, 100, 10**4, 10**8, 10**12)
    ]
    assert np.all(np.diff(values) > 0)
    assert values[-1] == pytest.approx(plain, abs=1e-5)
    assert values[-1] <= plain
    assert (
        ex.design(ex.PriorSet.l1_ball(ex.Prior([0.5, 0.25, 0.15, 0.1]), 0), 0.9, ex.mutual_information).value
        == plain
    )


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_a_thousand_random_priors_of_the_set_leak_no_more_than_epsilon(n):
    rng = np.random.default_rng(n)
    for priors in some_sets(rng, n):
        for epsilon in (0.4, 1.5):
            P = ex.design(priors, epsilon, ex.mutual_information).mechanism.matrix
            members = random_members(priors, rng, 1000)
            leakage = np.log(P.max(axis=0)[:, None] / (P.T @ members))
            assert leakage.max() <= epsilon + 1e-12


def test_two_symbols_have_a_closed_form():
    priors = ex.PriorSet.l1_ball(ex.Prior([0.7, 0.3]), 0.2)
    found = ex.design(priors, 0.5, ex.mutual_information)
    assert found.method == "robust binary"
    # P(y|x) with both outputs at the limit: lambda_1 = c h_1 where the worst prior is 0.6 or 0.8 on the first symbol.
    c = math.exp(0.5)
    first = np.array([1.0, (1 / c - 0.6) / 0.4])  # max = 1 = c (0.6 p_1 + 0.4 p_2)
    second = np.array([(1 / c - 0.2) / 0.8, 1.0])
    weights = np.linalg.solve(np.array([first, second]).T, np.ones(2))
    expected = ex.Mechanism(np.array([first, second]).T * weights)
    assert found.mechanism.same_up_to_columns(expected, 1e-12)
    assert found.gap <= 1e-14


@pytest.mark.parametrize("n", [3, 5, 8])
@pytest.mark.parametrize(
    "utility",
    [ex.mutual_information, ex.utilities.total_variation, ex.utilities.hellinger],
    ids=lambda u: u.name,
)
def test_symmetric_sets_need_one_column_and_its_shifts(n, utility):
    for priors in (
        ex.PriorSet.at_least(n, 0.4 / n),
        ex.PriorSet.l1_ball(ex.Prior.uniform(n), 0.3),
        ex.PriorSet.intervals(np.full(n, 0.5 / n), np.full(n, 1.5 / n)),
    ):
        for epsilon in (0.3, 1.0):
            shifts = ex.design(priors, epsilon, utility)
            assert_holds(priors, epsilon, shifts)
            assert shifts.method in ("robust uniform", "robust identity")
            listed = design_by(priors, epsilon, utility, oracle="enumeration")
            assert shifts.value == pytest.approx(listed.value, rel=1e-9)


def test_full_disclosure_where_the_whole_set_allows_it_and_nothing_at_level_0():
    priors = ex.PriorSet.intervals([0.2, 0.2, 0.2], [0.5, 0.5, 0.5])
    assert priors.epsilon_max == pytest.approx(math.log(5))
    everything = ex.design(priors, math.log(5) + 1e-9, ex.mutual_information)
    assert everything.value == pytest.approx(priors.nominal.entropy)
    nothing = ex.design(priors, 0.0, ex.mutual_information)
    assert nothing.value == 0
    assert nothing.mechanism.shape[1] == 1
    assert (
        ex.design(ex.PriorSet.l1_ball(ex.Prior([0.5, 0.3, 0.2]), 0.1), 1e-9, ex.mutual_information).value >= 0
    )


def test_bounds_of_the_linear_programs_hold_without_trust_in_the_solver():
    rng = np.random.default_rng(5)
    for priors in some_sets(rng, 6):
        program = LiftProgram(priors, 2.0)
        lifts = robust_vertices(priors, 2.0)
        for _ in range(10):
            g = rng.standard_normal(6) * priors.nominal.probabilities
            column, bound = program.maximise(g)
            assert bound >= (lifts @ g).max() - 1e-12
            assert bound == pytest.approx((lifts @ g).max(), abs=1e-9)
            made = SetLifts(priors, math.log(2.0)).admissible(column[None])[0]
            assert made == pytest.approx(column, abs=1e-7)


def test_pricing_finds_the_best_extremal_column():
    rng = np.random.default_rng(6)
    for utility in (ex.mutual_information, ex.utilities.total_variation, ex.utilities.hellinger):
        for priors in some_sets(rng, 6):
            for c in (1.3, 4.0):
                pi = priors.nominal.probabilities
                lifts = robust_vertices(priors, c)
                pricer = NestedPricer(priors, c, utility.f)
                for y in (np.zeros(6), pi * rng.standard_normal(6) / 4):
                    best = (utility.f(lifts) @ pi - lifts @ y).max()
                    priced = pricer.price(y, best - 1e-3, 2.0, Effort())
                    assert best - 1e-12 <= priced.bound <= best + 1e-5
                    assert (utility.f(priced.lifts) @ pi - priced.lifts @ y).max() >= best - 1e-6
                    slack = c * priors.smallest_means(priced.lifts.T) - priced.lifts.max(axis=1)
                    assert slack.min() >= -1e-12


@pytest.mark.parametrize("n", [4, 7])
def test_pricing_bounds_every_extremal_column_closely(n):
    """Also where lower bounds are equal, so that sizes of sets are known, and where no column is good enough."""
    rng = np.random.default_rng(n)
    f = ex.mutual_information.f
    for _ in range(4):
        p = rng.dirichlet(np.ones(n)) * 0.8 + 0.2 / n
        prior = ex.Prior(p)
        for priors in (
            ex.PriorSet.at_least(prior, rng.uniform(0.1, 1) * p.min()),
            ex.PriorSet.l1_ball(prior, rng.uniform(0.02, 0.6)),
            ex.PriorSet.from_counts(rng.multinomial(80, p)),
            ex.PriorSet.intervals(0.8 * p, np.minimum(1.2 * p, 1), nominal=prior),
        ):
            pi = priors.nominal.probabilities
            for c in np.exp([0.1, 0.5, 1, 2]):
                lifts, pricer = robust_vertices(priors, c), NestedPricer(priors, c, f)
                for y in (np.zeros(n), pi * rng.standard_normal(n)):
                    best = (f(lifts) @ pi - lifts @ y).max()
                    for threshold in (best - 0.1, best + 1e-9):
                        bound = pricer.price(y, threshold, 2.0, Effort()).bound
                        assert best - 1e-11 <= bound <= max(best, threshold) + 1e-5
                    assert pricer.price(y, best - 0.5, 2.0, Effort(), 2000).bound >= best - 1e-11


def test_bounds_of_a_search_that_is_cut_short_hold_for_every_extremal_column():
    rng = np.random.default_rng(9)
    for priors in some_sets(rng, 7):
        pi, lifts = priors.nominal.probabilities, robust_vertices(priors, 2.0)
        pricer = NestedPricer(priors, 2.0, ex.mutual_information.f)
        for most in (1, 300, 3000, 30_000):
            y = pi * rng.standard_normal(7) / 4
            best = (ex.mutual_information.f(lifts) @ pi - lifts @ y).max()
            priced = pricer.price(y, best - 1.0, 2.0, Effort(), most)
            assert priced.bound >= best - 1e-12


@pytest.mark.parametrize("n", [4, 7, 12])
def test_column_generation_is_exact_for_small_alphabets(n):
    p = np.random.default_rng(n).dirichlet(np.full(n, 2.0)) * 0.9 + 0.1 / n
    for priors in (
        ex.PriorSet.from_counts(np.rint(300 * p) + 1),
        ex.PriorSet.l1_ball(ex.Prior(p), 0.1),
        ex.PriorSet.at_least(ex.Prior(p), 0.5 * p.min()),
        ex.PriorSet.intervals(0.7 * p, np.minimum(1.4 * p, 1)),
    ):
        generated = design_by(priors, 1.0, ex.mutual_information, oracle="column-generation")
        assert_holds(priors, 1.0, generated)
        assert generated.gap <= 1e-6
        if n < 12:
            listed = design_by(priors, 1.0, ex.mutual_information, oracle="enumeration")
            assert generated.value == pytest.approx(listed.value, rel=1e-6)
            assert generated.upper_bound >= listed.value * (1 - 1e-9)


def attack(priors, c, utility, dual, rng, count):
    """The largest mu(lambda) - dual . lambda that local search over pairs of nested sets finds."""
    pi, n = priors.nominal.probabilities, priors.size

    def reduced(lifts):
        return utility.f(lifts) @ pi - lifts @ dual

    kinds = rng.random((count, n)) < rng.random((count, 1)) ** 2
    kinds[:, 0] |= ~kinds.any(axis=1)
    more = kinds | (rng.random((count, n)) < rng.random((count, 1)))
    lifts = nested_columns(priors, c, kinds, more)
    best = lifts[np.argsort(-reduced(lifts))[:4]]
    return reduced(climb(priors, c, reduced, best, Effort())).max()


@pytest.mark.parametrize(
    "n", [5, pytest.param(18, marks=pytest.mark.slow), pytest.param(64, marks=pytest.mark.slow)]
)
def test_no_admissible_column_is_found_above_the_dual_vector(n):
    rng = np.random.default_rng(n)
    p = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n
    for priors in (
        ex.PriorSet.from_counts(rng.multinomial(10 * n, p)),
        ex.PriorSet.l1_ball(ex.Prior(p), 0.15),
        ex.PriorSet.at_least(ex.Prior(p), 0.5 * p.min()),
        ex.PriorSet.intervals(0.6 * p, np.minimum(1.7 * p, 1)),
    ):
        found = ex.design(priors, 1.0, ex.mutual_information, tolerance=1e-2)
        assert_holds(priors, 1.0, found)
        assert found.gap < 0.3
        assert found.upper_bound == pytest.approx(math.fsum(found.proof), rel=1e-9)
        assert attack(priors, math.e, ex.mutual_information, found.proof, rng, 100) <= 1e-9


def test_columns_on_the_border_stay_there_and_others_are_moved_to_it():
    rng = np.random.default_rng(8)
    for priors in some_sets(rng, 5):
        lifts = SetLifts(priors, math.log(1.7)).admissible(rng.random((50, 5)))
        assert lifts @ priors.nominal.probabilities == pytest.approx(np.ones(50), abs=1e-12)
        slack = 1.7 * priors.smallest_means(lifts.T) - lifts.max(axis=1)
        assert np.all(slack >= -1e-12)
        assert np.all((slack <= 1e-9) | (lifts.min(axis=1) <= 1e-12))
        assert SetLifts(priors, math.log(1.7)).admissible(lifts) == pytest.approx(lifts, abs=1e-9)


@pytest.mark.slow
def test_large_alphabets_get_a_valid_design_with_an_honest_bound():
    p = 1 / np.arange(1, 81)
    priors = ex.PriorSet.from_counts(np.rint(2000 * p / p.sum()) + 1, kind="l1")
    found = ex.design(priors, 1.0, ex.mutual_information, tolerance=1e-2)
    assert_holds(priors, 1.0, found)
    assert found.gap < 0.05
    assert found.value < design_by(priors.nominal, 1.0, ex.mutual_information, oracle="arc").upper_bound


@pytest.mark.slow
def test_a_hundred_symbols_get_a_robust_design_with_a_bound():
    rng = np.random.default_rng(100)
    p = rng.dirichlet(np.ones(100))
    for priors in (
        ex.PriorSet.from_counts(rng.multinomial(2000, p)),
        ex.PriorSet.at_least(ex.Prior(p), p.min() / 2),
    ):
        found = ex.design(priors, 1.0, ex.mutual_information)
        assert_holds(priors, 1.0, found)
        assert found.gap < 0.3


def test_guessing_is_certified_at_fifty_symbols():
    prior = ex.Prior(np.random.default_rng(3).dirichlet(np.full(30, 2.0)))
    priors = ex.PriorSet.l1_ball(prior, 0.1)
    found = ex.design(priors, 1.0, ex.ExpectedGain(np.eye(30), "guessing"))
    assert_holds(priors, 1.0, found)
    assert found.proven


def test_a_design_over_a_sample_states_its_confidence():
    found = ex.design(
        ex.PriorSet.from_counts({"a": 60, "b": 30, "c": 10}, confidence=0.9), 0.5, ex.mutual_information
    )
    assert "(epsilon, delta) = (0.5, 0.1)" in str(found)
    assert found.prior_set.confidence == 0.9
    assert found.mechanism.inputs == ("a", "b", "c")
    assert "delta" not in str(ex.design(ex.PriorSet.at_least(3, 0.1), 0.5, ex.mutual_information))


@pytest.mark.slow
def test_the_promise_holds_for_the_true_prior_as_often_as_it_says():
    rng = np.random.default_rng(11)
    true = np.array([0.55, 0.25, 0.15, 0.05])
    kept = 0
    for _ in range(200):
        found = ex.design(
            ex.PriorSet.from_counts(rng.multinomial(300, true), confidence=0.9), 0.8, ex.mutual_information
        )
        kept += ex.epsilon_pml(ex.Prior(true), found.mechanism) <= 0.8 + 1e-12
    assert kept >= 180


def test_questions_that_sets_have_no_answer_to_are_refused():
    priors = ex.PriorSet.l1_ball(ex.Prior([0.5, 0.3, 0.2]), 0.1)
    with refused(ValueError, "for"):
        ex.design(priors, 0.5, ex.mutual_information, notion=ex.LIP.above(0.5))
    with pytest.raises(ex.errors.EpsilonError):
        ex.design(priors, -1, ex.mutual_information)
    with refused(ex.errors.SizeError, "16"):
        design_by(
            ex.PriorSet.at_least(ex.Prior(np.arange(1, 31) / 465), 0),
            0.5,
            ex.mutual_information,
            oracle="enumeration",
        )


def test_local_search_is_counted_and_ends_with_the_effort():
    """A column that rises no more is not looked at again; counted is every lift of every column that is tried."""
    n, rng = 12, np.random.default_rng(4)
    priors = ex.PriorSet.l1_ball(ex.Prior(rng.dirichlet(np.full(n, 3.0))), 0.1)
    pi = priors.nominal.probabilities
    tried = []

    def reduced(lifts):
        tried.append(lifts.size)
        return ex.mutual_information.f(lifts) @ pi - 0.8 * lifts @ pi

    starts = nested_columns(priors, 2.5, np.eye(n, dtype=bool), np.ones((n, n), dtype=bool))
    effort = Effort()
    found = climb(priors, 2.5, reduced, starts, effort)
    assert effort.spent == MOVED * sum(tried[1:])
    assert np.all(np.diff(tried[1:]) <= 0)
    assert np.all(reduced(found) >= reduced(starts) - 1e-12)
    np.testing.assert_allclose(climb(priors, 2.5, reduced, starts, Effort(nodes=0)), starts)
