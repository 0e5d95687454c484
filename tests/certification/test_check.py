"""The checker of designs against designs made by hand: closed forms and programs over all vertices.

Nothing here comes from the solver. Delta(y), the largest mu(lam) - y.lam, is found by listing every vertex.
"""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import extremal as ex
from extremal.certification import bounds as check_bounds
from extremal.certification import separable
from extremal.certification.check import check_claim
from extremal.model.mechanism import constant, identity
from extremal.model.regions import largest_lift
from extremal.theory import closed_form
from tests.support import oracles
from tests.support.strategies import designs, high_privacy_designs, uniform_designs

SEPARABLE = [u for u in oracles.SYMMETRIC if isinstance(u, ex.FInformation)]
PRIOR = ex.Prior([0.35, 0.25, 0.2, 0.12, 0.08])


@dataclass(frozen=True, eq=False)
class Design:
    mechanism: ex.Mechanism
    value: float
    upper_bound: float
    dual: object


def vertices(prior, c, low=0.0):
    """All vertices of {low <= lam <= c, pi.lam = 1}, as rows: those with low = 0, moved and scaled."""
    return low + (1 - low) * oracles.lift_vectors(prior.probabilities, (c - low) / (1 - low))


def brute_force(prior, c, utility, y, low=0.0):
    """The bound that y proves: the largest mu(lam) - y.(lam - 1)."""
    V = vertices(prior, c, low)
    return float(np.max(utility.columns(prior, V.T) - (V - 1) @ y))


def with_bound(prior, epsilon, utility, mechanism, y, low=0.0):
    """The design with the bound that a dual vector proves."""
    c = largest_lift(prior.probabilities, epsilon)
    bound = brute_force(prior, c, utility, y, low) if c > 1 else utility(prior, mechanism)
    return Design(mechanism, utility(prior, mechanism), bound, y)


def programmed(prior, epsilon, utility, low=0.0):
    """An optimal design by the linear program over all vertices, with its marginals as dual vector."""
    V = vertices(prior, largest_lift(prior.probabilities, epsilon), low)
    mu = utility.columns(prior, V.T)
    result = linprog(-mu, A_eq=V.T, b_eq=np.ones(prior.size), method="highs-ds")
    assert result.status == 0, result.message
    used = V[result.x > 1e-9]
    rho = np.linalg.lstsq(used.T, np.ones(prior.size))[0]  # to full precision
    mechanism = ex.Mechanism((used * rho[:, None]).T, inputs=prior.labels)
    return with_bound(prior, epsilon, utility, mechanism, -result.eqlin.marginals, low)


def unchecked(matrix):
    """A mechanism that its constructor would have refused or corrected."""
    mechanism = object.__new__(ex.Mechanism)
    for name, value in {
        "matrix": matrix,
        "inputs": range(len(matrix)),
        "outputs": range(len(matrix)),
    }.items():
        object.__setattr__(mechanism, name, value if name == "matrix" else tuple(value))
    return mechanism


def assert_certified(prior, epsilon, utility, design, **options):
    found = check_claim(prior, epsilon, utility, design, **options)
    assert found.ok, found
    assert found.proved
    assert found.problems == ()
    # Steep utilities lose 1e-7 where rounding decides whether a symbol is empty.
    assert found.upper_bound <= design.upper_bound + 1e-7 * max(abs(design.upper_bound), 0.1)
    assert found.value <= found.upper_bound + 1e-7
    return found


# Designs that hold what they claim


@pytest.mark.parametrize("utility", oracles.every_utility(5), ids=lambda utility: utility.name)
@pytest.mark.parametrize("epsilon", [0.05, 0.3, math.log(2), 1.5, 2.4])
def test_an_optimum_over_all_vertices_is_certified(utility, epsilon):
    found = assert_certified(PRIOR, epsilon, utility, programmed(PRIOR, epsilon, utility))
    assert found.gap <= 1e-6


@pytest.mark.parametrize("utility", oracles.every_utility(8), ids=lambda utility: utility.name)
def test_eight_symbols_without_any_pattern_are_certified(utility):
    prior = ex.Prior(np.random.default_rng(1).dirichlet(np.ones(8)))
    assert assert_certified(prior, 0.7, utility, programmed(prior, 0.7, utility)).gap <= 1e-6


@pytest.mark.parametrize("utility", oracles.every_utility(5), ids=lambda utility: utility.name)
@pytest.mark.parametrize("low", [0.2, 0.9])
def test_a_lower_bound_on_lifts_restricts_the_competitors_too(utility, low):
    design = programmed(PRIOR, 0.5, utility, low)
    assert_certified(PRIOR, 0.5, utility, design, lower_lift=low)
    free = check_claim(PRIOR, 0.5, utility, design)
    assert free.upper_bound >= design.upper_bound * (1 - 1e-9)


@settings(max_examples=30)
@given(high_privacy_designs())
def test_theorem_3_is_certified_by_the_dual_of_its_basis(case):
    prior, epsilon = case
    mechanism = closed_form.high_privacy(prior, epsilon)
    for utility in [*SEPARABLE, *oracles.asymmetric(prior.size)]:
        lifts = ex.measures.lift(prior, mechanism)
        mu = utility.columns(prior, lifts)
        y = np.linalg.lstsq(lifts.T, mu)[0] if epsilon > 0 else np.zeros(prior.size)
        assert_certified(prior, epsilon, utility, with_bound(prior, epsilon, utility, mechanism, y))


@settings(max_examples=30)
@given(uniform_designs(max_size=9))
def test_theorem_4_is_certified_by_a_constant_dual(case):
    n, epsilon = case
    prior, mechanism = ex.Prior.uniform(n), closed_form.uniform(n, epsilon)
    for utility in oracles.SYMMETRIC:
        value = utility(prior, mechanism)
        found = check_claim(
            prior,
            epsilon,
            utility,
            Design(mechanism, value, value * (1 + 2e-8) + 1e-13, np.full(n, value / n)),
        )
        assert found.ok, found


@settings(max_examples=30)
@given(designs(max_size=2, highest=lambda prior: prior.epsilon_max))
def test_theorem_2_is_certified_by_the_dual_of_its_basis(case):
    prior, epsilon = case
    mechanism = closed_form.binary(prior, epsilon)
    for utility in oracles.every_utility(2):
        lifts = ex.measures.lift(prior, mechanism)
        y = np.linalg.lstsq(lifts.T, utility.columns(prior, lifts))[0]
        assert_certified(prior, epsilon, utility, with_bound(prior, epsilon, utility, mechanism, y))


@pytest.mark.parametrize("utility", oracles.every_utility(5), ids=lambda utility: utility.name)
@pytest.mark.parametrize("more", [0.0, 1.0, 800.0])
def test_full_disclosure_is_certified_where_it_is_allowed(utility, more):
    y = PRIOR.probabilities * utility.columns(PRIOR, np.diag(1 / PRIOR.probabilities))
    value = math.fsum(y)
    found = assert_certified(
        PRIOR, PRIOR.epsilon_max + more, utility, Design(identity(PRIOR), value, value, y)
    )
    assert found.gap <= 1e-12


@pytest.mark.parametrize("utility", oracles.every_utility(5), ids=lambda utility: utility.name)
def test_nothing_beats_a_constant_release_at_level_0(utility):
    value = utility(PRIOR, constant(PRIOR))
    design = Design(constant(PRIOR), value, value, np.full(5, value / 5))
    assert_certified(PRIOR, 0.0, utility, design)
    assert_certified(PRIOR, 1.0, utility, design, lower_lift=1.0)


def test_masses_of_1e_9_do_not_disturb_the_check():
    prior = ex.Prior(np.array([0.4, 0.3, 0.3 - 3e-9, 1e-9, 1e-9, 1e-9]))
    for epsilon in (0.1, 1.0, 3.0, 15.0):
        for utility in oracles.every_utility(6):
            found = check_claim(prior, epsilon, utility, programmed(prior, epsilon, utility))
            assert found.proved, found
            assert found.ok or epsilon > 3, (
                found
            )  # with lifts of 1e6 the program's solution leaks 1e-10 too much


def test_no_upper_bound_is_no_claim_and_no_certificate():
    mechanism = closed_form.arc(PRIOR, 0.5)
    design = Design(mechanism, ex.mutual_information(PRIOR, mechanism), math.inf, None)
    found = check_claim(PRIOR, 0.5, ex.mutual_information, design)
    assert found.ok
    assert not found.proved
    assert found.gap == math.inf
    assert "not proved" in str(found)


# Large alphabets


def chord_dual(prior, epsilon):
    """For each symbol the chord of pi t log t over [0, c] or [0, 1/pi], whichever is shorter: mu <= y.lam."""
    return prior.probabilities * np.minimum(epsilon, -np.log(prior.probabilities))


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
    s = separable.Separable.of(pi, ex.mutual_information.f, y, 0.0, math.e)
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


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_counting_and_meeting_in_the_middle_agree_on_thirty_symbols(epsilon):
    prior = ex.Prior.from_counts(np.random.default_rng(3).integers(1, 400, size=30))
    c = largest_lift(prior.probabilities, epsilon)
    for utility in (ex.mutual_information, ex.utilities.hellinger):
        for size in (1e-3, 0.1):
            y = perturbed_chords(prior, c, utility.f, 4, size)
            s = separable.Separable.of(prior.probabilities, utility.f, y, 0.0, c)
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


@settings(max_examples=150)
@given(problems())
def test_chords_bound_counting_which_bounds_and_finds_the_largest_of_all_vertices(problem):
    prior, c, low, utility, y = problem
    exact = brute_force(prior, c, utility, y, low)
    s = separable.Separable.of(prior.probabilities, utility.f, y, low, c)
    counts = separable.counts_of(prior.probabilities)
    relaxed, counted = (s.chord - separable.count_loss(s, counts, needed) for needed in (-math.inf, math.inf))
    met = s.chord - separable.meeting_loss(s, s.chord - exact + 1.0)
    near = {"rel": 1e-9, "abs": 1e-12 + s.blur + 3 * s.error}
    assert exact - near["abs"] <= counted <= relaxed + near["abs"]
    assert counted <= s.chord + s.error
    assert counted == pytest.approx(exact, **near)
    assert met == pytest.approx(exact, **near)
    assert met >= exact - 1e-14 * (1 + abs(exact))


@settings(max_examples=60)
@given(problems(), st.sampled_from([1, 4, 16]))
def test_blocks_of_subsets_give_a_bound_between_the_exact_one_and_the_chords(problem, longest):
    prior, c, low, utility, y = problem
    exact = brute_force(prior, c, utility, y, low)
    s = separable.Separable.of(prior.probabilities, utility.f, y, low, c)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separable, "LONGEST", longest)
        met = s.chord - separable.meeting_loss(s, s.chord - exact + 1.0)
        assert exact - 1e-13 * (1 + abs(exact)) <= met <= s.chord + s.error + s.blur
        patch.setattr(separable, "MOST_PAIRS", 1)
        assert separable.meeting_loss(s, 1.0) == 0.0


@settings(max_examples=60)
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


@settings(max_examples=60)
@given(problems())
def test_a_bound_is_accepted_if_it_is_one_and_refused_if_it_is_too_small_by_a_millionth(problem):
    prior, c, low, utility, y = problem
    bound = brute_force(prior, c, utility, y, low)
    nothing = constant(prior)
    for claim, accepted in ((bound, True), (bound + 1e-3, True), (bound - 1e-6 * max(bound, 0.1), False)):
        design = Design(nothing, utility(prior, nothing), claim, y)
        found = check_claim(prior, math.log(c), utility, design, lower_lift=low)
        assert found.ok == found.proved == accepted, found


@settings(max_examples=100)
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
        s = separable.Separable.of(prior.probabilities, utility.f, y, low, c)
        met = s.chord - separable.meeting_loss(s, float(s.chord - exact) + 1.0) + s.error
        found, error, _, _ = check_bounds._enumerated_bound(prior, utility, y, low, c)
        assert min(Fraction(bound) for bound in (s.chord, met)) >= exact - 16 * size / 2**52
        # mu is called with lifts, which are doubles near 1: each may be off by an ulp of 1, not of its term.
        assert Fraction(found + error) >= exact - 16 * size / 2**52 - Fraction(1, 2**52)


def exact_bound(prior, c, f, y, low):
    """The bound in fractions and the size of its terms; very small if rounding left no lift vector at all."""
    masses = [Fraction(p) for p in prior.probabilities.tolist()]
    pi, c, low = [p / sum(masses) for p in masses], Fraction(c), Fraction(low)
    y, best = [Fraction(v) for v in y.tolist()], (Fraction(-(10**9)), Fraction(0))
    for j in range(prior.size):
        others = [i for i in range(prior.size) if i != j]
        for ends in itertools.product((low, c), repeat=prior.size - 1):
            lam = (1 - sum(pi[i] * t for i, t in zip(others, ends, strict=True))) / pi[j]
            if low <= lam <= c:
                terms = [
                    (pi[i] * f(t), y[i] * (t - 1)) for i, t in [*zip(others, ends, strict=True), (j, lam)]
                ]
                best = max(best, (sum(a - b for a, b in terms), sum(abs(a) + abs(b) for a, b in terms)))
    return best


def test_counts_are_recognised_whatever_their_common_factor_and_nothing_else_is():
    for counts in ([1, 1, 1], [3, 5, 7], [997, 1000, 1003], [20, 30, 50]):
        found = separable.counts_of(ex.Prior.from_counts(counts).probabilities)
        assert (found * math.gcd(*counts)).tolist() == counts
    assert separable.counts_of(ex.Prior([0.1, 0.2, 0.7]).probabilities).tolist() == [1, 2, 7]
    assert separable.counts_of(np.random.default_rng(0).dirichlet(np.ones(4))) is None
    assert separable.counts_of(ex.Prior([1 - 1e-9, 1e-9]).probabilities) is None


# Designs that do not hold what they claim

EPSILON = 0.7
GOOD = {
    utility.name: (utility, programmed(PRIOR, EPSILON, utility))
    for utility in [
        ex.mutual_information,
        ex.utilities.hellinger,
        ex.ExpectedGain(np.eye(5), "guessing"),
        oracles.asymmetric(5)[0],
    ]
}


def corrupted(utility, design):
    P, y = design.mechanism.matrix, np.asarray(design.dual)
    shorter, negative = P.copy(), P.copy()
    shorter[0, np.argmax(P[0])] -= 1e-11
    negative[0, 0], negative[0, 1] = -1e-13, P[0, 1] + P[0, 0] + 1e-13
    return {
        "misses 1": replace(design, mechanism=unchecked(shorter)),
        "finite numbers >= 0": replace(design, mechanism=unchecked(negative)),
        "value is": replace(design, value=design.value * (1 + 1e-8)),
        "value is nan": replace(design, mechanism=unchecked(P * math.nan)),
        "not nan": replace(design, value=math.nan),
        "upper bound": replace(design, upper_bound=design.upper_bound * (1 - 1e-6)),
        "is not proved": replace(design, dual=y[::-1]),
        "by": replace(design, dual=y + 1e-5 * np.eye(5)[0]),
        "5 finite numbers, got None": replace(design, dual=None),
        "5 finite numbers, got array": replace(design, dual=y[:-1]),
        "5 finite numbers": replace(design, dual=np.where(np.arange(5) == 2, math.nan, y)),
        "must be a number": replace(design, upper_bound=math.nan),
        "got -inf": replace(design, upper_bound=-math.inf),
        "same number of symbols": replace(design, mechanism=ex.Mechanism(np.eye(4))),
        "same labels": replace(design, mechanism=ex.Mechanism(P, inputs=list("abcde"))),
    }


@pytest.mark.parametrize("name", GOOD)
def test_every_corruption_of_a_design_is_caught(name):
    utility, design = GOOD[name]
    assert_certified(PRIOR, EPSILON, utility, design)
    lower = check_claim(PRIOR, EPSILON - 1e-9, utility, design)
    assert [problem.split(" is ")[0] for problem in lower.problems] == ["leakage"]
    for words, wrong in corrupted(utility, design).items():
        found = check_claim(ex.Prior(PRIOR.probabilities, list("vwxyz")), EPSILON, utility, wrong)
        assert not found.ok, words
        assert any(words in problem for problem in found.problems), (words, found)
        assert "does not hold" in str(found)


def test_lifts_below_the_lower_bound_are_caught():
    utility, design = GOOD["mutual information"]
    found = check_claim(PRIOR, EPSILON, utility, design, lower_lift=1e-6)
    assert any("below lower_lift" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"prior": [0.5, 0.5]}, ex.errors.PriorError),
        ({"epsilon": math.nan}, ex.errors.EpsilonError),
        ({"lower_lift": 1.5}, ex.errors.EpsilonError),
        ({"lower_lift": math.nan}, ex.errors.EpsilonError),
        ({"utility": "mutual information"}, ex.errors.UtilityError),
        ({"utility": ex.ExpectedGain(np.eye(4))}, ex.errors.UtilityError),
    ],
)
def test_questions_that_make_no_sense_are_refused(wrong, error):
    utility, design = GOOD["mutual information"]
    question = {"prior": PRIOR, "epsilon": EPSILON, "utility": utility, "design": design} | wrong
    with pytest.raises(error):
        check_claim(**question)


def test_the_report_is_a_few_readable_lines():
    utility, design = GOOD["mutual information"]
    lines = str(check_claim(PRIOR, EPSILON, utility, replace(design, value=1.0))).splitlines()
    assert lines[0] == "the design does not hold what it claims"
    assert [line.split()[0] for line in lines[1:]] == ["rows", "leakage", "value", "upper", "gap", "problem"]
    assert all(len(line) <= 120 for line in lines)


@pytest.mark.parametrize("figure", ["value", "upper_bound"])
@pytest.mark.parametrize("claim", ["0.4", None, [1.0], math.nan])
def test_a_claim_that_is_no_number_is_a_problem_not_a_crash(figure, claim):
    prior = ex.Prior([0.5, 0.3, 0.2])
    design = ex.design(prior, 0.6, ex.mutual_information)
    found = check_claim(prior, 0.6, ex.mutual_information, replace(design, **{figure: claim}))
    assert not found.ok
    assert found.problems
    with pytest.raises(ex.errors.EpsilonError, match="lower_lift"):
        check_claim(prior, 0.6, ex.mutual_information, design, lower_lift="x")


def test_a_design_for_a_set_of_priors_is_another_matter():
    design = ex.design(ex.PriorSet.l1_ball(PRIOR, 0.1), 0.5, ex.mutual_information)
    with pytest.raises(ex.errors.OptionError, match="one prior"):
        check_claim(PRIOR, 0.5, design.utility, design)


def test_a_certified_mechanism_is_told_how_to_be_a_mechanism():
    certified = ex.certify(PRIOR, ex.design(PRIOR, 0.5, ex.mutual_information).mechanism, 0.5)
    with pytest.raises(ex.errors.MechanismError, match=r"pass its \.mechanism"):
        ex.pml(PRIOR, certified)


# Small levels and tiny masses: allowances are relative

SMALL = [1e-8, 1e-7, 2e-7, 1e-6, 1e-5, 1e-4]
MASSES = {
    "five": [0.35, 0.25, 0.2, 0.12, 0.08],
    "one rare": [0.5, 0.3, 0.2 - 1e-3, 1e-3],
    "two tiny": [0.6, 0.4 - 2e-9, 1e-9, 1e-9],
}
EXACT_F = {"chi-squared": oracles.exact_chi_squared, "total variation": oracles.exact_total_variation}
DIFFERENCE = ex.Utility(lambda prior, P: np.abs(P - P[::-1]).max(axis=0), "largest difference")


def exact_high_privacy(prior, epsilon, f):
    """Theorem 3 in fractions: the optimum, and the dual vector for which all vertices are worth as much."""
    masses = [Fraction(p) for p in prior.probabilities.tolist()]
    pi, c = [p / sum(masses) for p in masses], Fraction(largest_lift(prior.probabilities, epsilon))
    worth = [(1 - p) * f(c) + p * f(1 - (c - 1) * (1 - p) / p) for p in pi]
    mean = sum(p * m for p, m in zip(pi, worth, strict=True))
    dual = [p * (mean + (mean - m) / (c - 1)) for p, m in zip(pi, worth, strict=True)]
    return float(mean), np.array([float(y) for y in dual])


def in_first_region(name, epsilon):
    prior = ex.Prior(MASSES[name])
    return prior, epsilon < prior.region_edges[1]


@pytest.mark.parametrize("name", MASSES)
@pytest.mark.parametrize("epsilon", SMALL)
@pytest.mark.parametrize(
    "utility", [ex.utilities.chi_squared, ex.utilities.total_variation], ids=lambda u: u.name
)
def test_the_exact_optimum_is_proved_at_small_levels_and_a_thousandth_less_is_not(name, epsilon, utility):
    prior, first = in_first_region(name, epsilon)
    if not first:
        pytest.skip("Theorem 3 is for the first region")
    mechanism = closed_form.high_privacy(prior, epsilon)
    optimum, dual = exact_high_privacy(prior, epsilon, EXACT_F[utility.name])
    right = Design(mechanism, optimum, optimum, dual)
    assert_certified(prior, epsilon, utility, right)
    less = optimum * (1 - max(1e-6, 1e-13 / epsilon))
    for wrong in (
        replace(right, upper_bound=less),
        replace(right, value=2 * optimum - less),
        replace(right, value=less, upper_bound=less),
        replace(right, dual=np.zeros(prior.size)),
        replace(right, mechanism=constant(prior)),
        Design(constant(prior), 0.0, 0.0, np.zeros(prior.size)),
    ):
        assert not check_claim(prior, epsilon, utility, wrong).ok, wrong


@pytest.mark.parametrize("epsilon", [1e-10, 1e-9, *SMALL])
@pytest.mark.parametrize("utility", [*SEPARABLE, DIFFERENCE], ids=lambda u: u.name)
def test_a_constant_release_is_never_proved_optimal_above_level_0(epsilon, utility):
    for masses in MASSES.values():
        prior = ex.Prior(masses)
        nothing = Design(constant(prior), 0.0, 0.0, np.zeros(prior.size))
        found = check_claim(prior, epsilon, utility, nothing)
        assert not found.proved, found
        assert found.upper_bound > 0


@pytest.mark.parametrize("utility", [DIFFERENCE, oracles.asymmetric(4)[1]], ids=lambda u: u.name)
@pytest.mark.parametrize("epsilon", SMALL)
def test_utilities_like_norms_are_certified_at_small_levels(utility, epsilon):
    prior = ex.Prior([0.3, 0.4998, 0.2, 0.0002])
    found = check_claim(prior, epsilon, utility, ex.design(prior, epsilon, utility))
    assert found.ok, found
    lower = replace(ex.design(prior, epsilon, utility), upper_bound=found.value * 0.999)
    assert not check_claim(prior, epsilon, utility, lower).ok


def test_an_upper_bound_below_the_value_is_a_contradiction():
    design = ex.design(PRIOR, 0.5, ex.mutual_information)
    for bound in (design.value * (1 - 1e-6), 0.0, -math.inf):
        found = check_claim(PRIOR, 0.5, ex.mutual_information, replace(design, upper_bound=bound))
        assert any("below the value" in problem for problem in found.problems)


@pytest.mark.parametrize("low", [1e-13, 1e-20, 1e-100])
def test_a_lower_bound_on_lifts_is_checked_however_small_it_is(low):
    prior = ex.Prior([0.5, 0.3, 0.2])
    design = ex.design(prior, 2.0, ex.mutual_information)  # excludes answers
    assert ex.measures.lift(prior, design.mechanism).min() == 0
    found = check_claim(prior, 2.0, ex.mutual_information, design, lower_lift=low)
    assert any("below lower_lift" in problem for problem in found.problems)


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(MASSES)),
    st.sampled_from([1e-6, 1e-3, 0.1, 1.0]),
    st.integers(0, 3),
    st.floats(-6, -1),
    st.sampled_from([ex.utilities.chi_squared, ex.utilities.total_variation]),
)
def test_a_dual_that_is_short_at_one_mass_proves_what_it_proves_in_fractions(
    name, epsilon, i, power, utility
):
    """However small the mass: the bound is never below the exact one by more than what is allowed."""
    prior = ex.Prior(MASSES[name])
    f = EXACT_F[utility.name]
    design = ex.design(prior, epsilon, utility)
    y = design.dual.copy()
    y[i] -= 10**power * abs(y[i])
    exact, _ = exact_bound(prior, largest_lift(prior.probabilities, epsilon), f, y, 0.0)
    optimum, _ = exact_bound(prior, largest_lift(prior.probabilities, epsilon), f, design.dual, 0.0)
    found = check_claim(prior, epsilon, utility, replace(design, dual=y))
    allowed = (1e-8 + 1e-13 / epsilon) * float(optimum)
    assert found.upper_bound >= float(exact) - allowed
    if float(exact) > design.upper_bound + 2 * allowed:
        assert not found.proved
