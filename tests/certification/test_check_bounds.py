"""The bounds behind the checker: every method agrees with listing all vertices, and with exact fractions."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.certification import bounds as check_bounds
from extremal.certification import separable
from extremal.certification.claim import check_claim
from extremal.model.levels import largest_lift
from extremal.model.mechanism import constant
from extremal.theory import closed_form
from tests.support import oracles
from tests.support.claims import SEPARABLE, Design, assert_certified, brute_force, exact_bound
from tests.support.examples import at_most, up_to
from tests.support.strategies import designs


def chord_dual(prior, epsilon):
    """For each symbol the chord of pi t log t over [0, c] or [0, 1/pi], whichever is shorter: mu <= y.lam."""
    return prior.probabilities * np.minimum(epsilon, -np.log(prior.probabilities))


@pytest.mark.slow
def test_a_thousand_symbols_are_bounded_by_their_chords(monkeypatch):
    prior = ex.Prior.from_counts(1 / np.arange(1, 1001) ** 1.5)
    mechanism, y = closed_form.arc(prior, 1.0), chord_dual(prior, 1.0)
    design = Design(mechanism, ex.mutual_information(prior, mechanism), math.fsum(y), y)
    assert assert_certified(prior, 1.0, ex.mutual_information, design).how == "chords"
    monkeypatch.setattr(separable, "MOST_PAIRS", 1_000_000)
    wrong = replace(design, upper_bound=design.upper_bound * 0.9)
    assert not check_claim(prior, 1.0, ex.mutual_information, wrong).ok


def test_hundreds_of_equal_symbols_are_certified_by_counting():
    n, epsilon = 500, 2.0
    prior, mechanism = ex.Prior.uniform(n), closed_form.uniform(n, epsilon)
    value = ex.mutual_information(prior, mechanism)
    design = Design(mechanism, value, value, np.full(n, value / n))
    found = assert_certified(prior, epsilon, ex.mutual_information, design)
    assert "500 counts" in found.how
    assert found.gap <= 1e-9


def test_a_hundred_thousand_symbols_have_a_chord_bound():
    pi = ex.Prior.from_counts(1 / np.arange(1, 100_001)).probabilities
    y = pi * np.minimum(1.0, -np.log(pi))
    s = separable.ChordBound.of(pi, ex.mutual_information.f, y, 0.0, math.e)
    assert math.fsum(y) - 1e-2 <= s.chord <= math.fsum(y) + 1e-9


def test_twenty_symbols_are_enumerated_for_any_utility_and_more_are_not():
    for n, known in ((12, True), (21, False)):
        prior = ex.Prior.uniform(n)
        utility = ex.Utility(lambda prior, P: P.max(axis=0), "largest entry", symmetric=True)
        mechanism = closed_form.uniform(n, 1.0)
        value = utility(prior, mechanism)
        found = check_claim(prior, 1.0, utility, Design(mechanism, value, value, np.full(n, value / n)))
        assert found.ok == found.proved == known
        assert ("enumeration" if known else "cannot be checked") in found.how


def perturbed_chords(prior, c, f, seed, size):
    """A dual vector near a good one, so that many subsets are nearly the best."""
    rng, pi = np.random.default_rng(seed), prior.probabilities
    u = np.minimum(c, 1 / pi)
    at_zero = f(np.zeros(1))
    return pi * ((f(u) - at_zero) / u + at_zero) * (1 + size * rng.normal(size=prior.size))


@pytest.mark.parametrize(
    "epsilon", [pytest.param(0.2, marks=pytest.mark.slow), pytest.param(1.0, marks=pytest.mark.slow), 2.5]
)
def test_counting_and_meeting_in_the_middle_agree_on_thirty_symbols(epsilon):
    prior = ex.Prior.from_counts(np.random.default_rng(3).integers(1, 400, size=30))
    c = largest_lift(prior.probabilities, epsilon)
    for utility in (ex.mutual_information, ex.utilities.hellinger):
        for size in (1e-3, 0.1):
            y = perturbed_chords(prior, c, utility.f, 4, size)
            s = separable.ChordBound.of(prior.probabilities, utility.f, y, 0.0, c)
            by_counts = separable.count_loss(s, separable.counts_of(prior.probabilities), math.inf)
            above, below = (separable.meeting_loss(s, by_counts * (1 + share)) for share in (1e-6, -1e-6))
            assert above == pytest.approx(by_counts, rel=1e-7, abs=10 * s.error)
            assert below == by_counts * (1 - 1e-6)


# Delta by every method


@st.composite
def problems(draw):
    """A prior from counts, a largest and a smallest lift, a separable utility and any dual vector."""
    counts = draw(st.lists(st.integers(1, 9), min_size=2, max_size=10))
    prior = ex.Prior.from_counts(counts)
    epsilon = draw(st.floats(0.01, 1.1)) * prior.epsilon_max
    low = draw(st.sampled_from([0.0, 0.0, 0.3, math.exp(-epsilon)]))
    utility = draw(st.sampled_from(SEPARABLE))
    c = largest_lift(prior.probabilities, epsilon)
    seed, size = draw(st.integers(0, 1000)), draw(st.sampled_from([0.0, 1e-3, 0.1, 1.0]))
    return prior, c, low, utility, perturbed_chords(prior, c, utility.f, seed, size)


@up_to(150)
@given(problems())
def test_chords_bound_counting_which_bounds_and_finds_the_largest_of_all_vertices(problem):
    prior, c, low, utility, y = problem
    exact = brute_force(prior, c, utility, y, low)
    s = separable.ChordBound.of(prior.probabilities, utility.f, y, low, c)
    counts = separable.counts_of(prior.probabilities)
    relaxed, counted = (s.chord - separable.count_loss(s, counts, needed) for needed in (-math.inf, math.inf))
    met = s.chord - separable.meeting_loss(s, s.chord - exact + 1.0)
    near = {"rel": 1e-9, "abs": 1e-12 + s.blur + 3 * s.error}
    assert exact - near["abs"] <= counted <= relaxed + near["abs"]
    assert counted <= s.chord + s.error
    assert counted == pytest.approx(exact, **near)
    assert met == pytest.approx(exact, **near)
    assert met >= exact - 1e-14 * (1 + abs(exact))


@at_most(60)
@given(problems(), st.sampled_from([1, 4, 16]))
def test_blocks_of_subsets_give_a_bound_between_the_exact_one_and_the_chords(problem, longest):
    prior, c, low, utility, y = problem
    exact = brute_force(prior, c, utility, y, low)
    s = separable.ChordBound.of(prior.probabilities, utility.f, y, low, c)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separable, "LONGEST", longest)
        met = s.chord - separable.meeting_loss(s, s.chord - exact + 1.0)
        assert exact - 1e-13 * (1 + abs(exact)) <= met <= s.chord + s.error + s.blur
        patch.setattr(separable, "MOST_PAIRS", 1)
        assert separable.meeting_loss(s, 1.0) == 0.0


@at_most(60)
@given(problems(), st.integers(0, 1000))
def test_delta_of_linear_and_of_arbitrary_utilities_is_that_of_all_vertices(problem, seed):
    prior, c, low, _, y = problem
    gain = np.random.default_rng(seed).normal(size=(3, prior.size))
    linear = ex.ExpectedGain(gain)
    exact = brute_force(prior, c, linear, y, low)
    knapsack, error = check_bounds._linear_bound(prior.probabilities, gain, y, low, c)
    assert exact - 1e-14 <= knapsack + error <= exact + 1e-11 * (1 + abs(exact))
    for utility in [linear, *oracles.asymmetric(prior.size)]:
        exact = brute_force(prior, c, utility, y, low)
        found, error, blur, _ = check_bounds._enumerated_bound(prior, utility, y, low, c)
        assert exact - 1e-13 * (1 + abs(exact)) <= found + error <= exact + 1e-11 * (1 + abs(exact)) + blur


@at_most(60)
@given(problems())
def test_a_bound_is_accepted_if_it_is_one_and_refused_if_it_is_too_small_by_a_millionth(problem):
    prior, c, low, utility, y = problem
    bound = brute_force(prior, c, utility, y, low)
    nothing = constant(prior)
    for claim, accepted in ((bound, True), (bound + 1e-3, True), (bound - 1e-6 * max(bound, 0.1), False)):
        design = Design(nothing, utility(prior, nothing), claim, y)
        found = check_claim(prior, math.log(c), utility, design, lower_lift=low)
        assert found.ok == found.proved == accepted, found


@at_most(100)
@given(designs(max_size=5), st.sampled_from([0.0, 0.5]), st.integers(0, 1000))
def test_no_bound_is_below_the_exact_delta_in_fractions(design, low, seed):
    """By more than what rounding may do to the terms of the best vertex, where lifts are large."""
    prior, epsilon = design
    c = largest_lift(prior.probabilities, epsilon)
    y = perturbed_chords(prior, c, ex.utilities.chi_squared.f, seed, 0.1)
    for utility, f in (
        (ex.utilities.chi_squared, oracles.exact_chi_squared),
        (ex.utilities.total_variation, oracles.exact_total_variation),
    ):
        exact, size = exact_bound(prior, c, f, y, low)
        s = separable.ChordBound.of(prior.probabilities, utility.f, y, low, c)
        met = s.chord - separable.meeting_loss(s, float(s.chord - exact) + 1.0) + s.error
        found, error, _, _ = check_bounds._enumerated_bound(prior, utility, y, low, c)
        assert min(Fraction(bound) for bound in (s.chord, met)) >= exact - 16 * size / 2**52
        # mu is called with lifts, which are doubles near 1: each may be off by an ulp of 1, not of its term.
        assert Fraction(found + error) >= exact - 16 * size / 2**52 - Fraction(1, 2**52)


def exact_utility(pi, P, f):
    """Of a mechanism in fractions: the sum over reports of P_Y(y) f(lift), averaged over answers."""
    value = Fraction(0)
    for column in zip(*P, strict=True):
        mean = sum(p * w for p, w in zip(pi, column, strict=True))
        value += mean * sum(p * f(w / mean) for p, w in zip(pi, column, strict=True)) if mean else 0
    return value


def allowed(pi, P, c):
    """The mechanism nearest to P towards the constant one whose lifts are at most c."""
    means = [sum(p * w for p, w in zip(pi, column, strict=True)) for column in zip(*P, strict=True)]
    most = max(w / m for row in P for w, m in zip(row, means, strict=True) if m)
    share = max(1 - (c - 1) / (most - 1), 0) if most > 1 else 0
    return [[(1 - share) * w + share * m for w, m in zip(row, means, strict=True)] for row in P]


@pytest.mark.parametrize("seed", range(12))
def test_upper_bound_exceeds_every_mechanism_and_is_the_sum_of_a_dual_vector_that_outweighs_every_vertex(
    seed,
):
    """Weak duality of Theorem 5 in fractions: vertices from Algorithm 1, and mechanisms that keep the level."""
    rng = np.random.default_rng(seed)
    counts = (rng.integers(1, 8, size=int(rng.integers(2, 5)))).tolist()
    prior, epsilon = ex.Prior.from_counts(counts), float(rng.uniform(0.05, 1.5))
    c = Fraction(largest_lift(prior.probabilities, epsilon))
    pi = [Fraction(k, sum(counts)) for k in counts]
    vertices = oracles.algorithm_1(pi, min(c, 1 / min(pi)), len(pi))
    for utility, f in (
        (ex.utilities.chi_squared, oracles.exact_chi_squared),
        (ex.utilities.total_variation, oracles.exact_total_variation),
    ):
        y = [Fraction(int(k), 16) for k in rng.integers(-4, 20, size=len(pi))]
        mu = [sum(p * f(t) for p, t in zip(pi, v, strict=True)) for v in vertices]
        lacking = max(
            m - sum(a * t for a, t in zip(y, v, strict=True)) for m, v in zip(mu, vertices, strict=True)
        )
        dual = [a + lacking * p for a, p in zip(y, pi, strict=True)]  # now it outweighs every vertex, just
        found = check_bounds.upper_bound(
            prior,
            epsilon,
            utility,
            np.array([float(a) for a in dual]),
            0.0,
            float(sum(dual)),
            lambda _: False,
        )
        assert found.value == pytest.approx(float(sum(dual)), rel=1e-9, abs=1e-9)
        for _ in range(20):
            made = rng.integers(0, 5, size=(len(pi), 4)) + np.eye(len(pi), 4, dtype=int)
            rows = [[Fraction(w, sum(row)) for w in row] for row in made.tolist()]
            assert float(exact_utility(pi, allowed(pi, rows, c), f)) <= found.value + 1e-9


def test_counts_are_recognised_whatever_their_common_factor_and_nothing_else_is():
    for counts in ([1, 1, 1], [3, 5, 7], [997, 1000, 1003], [20, 30, 50]):
        found = separable.counts_of(ex.Prior.from_counts(counts).probabilities)
        assert (found * math.gcd(*counts)).tolist() == counts
    assert separable.counts_of(ex.Prior([0.1, 0.2, 0.7]).probabilities).tolist() == [1, 2, 7]
    assert separable.counts_of(np.random.default_rng(0).dirichlet(np.ones(4))) is None
    assert separable.counts_of(ex.Prior([1 - 1e-9, 1e-9]).probabilities) is None
