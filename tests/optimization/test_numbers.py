"""Numbers at the edges: true zeros, tiny masses and levels, flat and very steep utilities."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import extremal as ex
from extremal.certification.claim import check_claim
from extremal.theory.enumeration import exact_polytope_vertices
from tests.support.solving import design_by

STEEP = ex.FInformation(lambda t: 1 - np.asarray(t) ** 0.05, "steep")


def made(seed):
    """Designs by every method, over priors and levels that are not next to an edge."""
    rng = np.random.default_rng(seed)
    for n in (3, 5, 8, 12, 22):
        prior = ex.Prior(rng.dirichlet(np.ones(n)) * 0.99 + 0.01 / n)
        for epsilon in (0.1, 0.7, 2.0):
            yield ex.design(prior, epsilon, ex.mutual_information)
            yield design_by(prior, epsilon, ex.mutual_information, oracle="arc")
            yield ex.design(prior, epsilon, ex.ExpectedGain(np.eye(n)))
            yield ex.design(prior, epsilon, ex.ExpectedGain(rng.standard_normal((4, n))))
            if n <= 8:
                yield design_by(prior, epsilon, ex.utilities.hellinger, oracle="column-generation")
                yield design_by(prior, epsilon, ex.utilities.hellinger, oracle="enumeration")
                yield ex.design(ex.PriorSet.l1_ball(prior, 0.1), epsilon, ex.mutual_information)


@pytest.mark.parametrize("seed", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_cells_are_zero_or_worth_something(seed):
    """What a solver leaves is far below any lift that these priors have."""
    for design in made(seed):
        lifts = design.mechanism.matrix / design.mechanism.output_distribution(design.prior)
        assert lifts[lifts > 0].min() >= 1e-8, (design.method, design.prior.size, design.epsilon)
        assert np.abs(design.mechanism.matrix.sum(axis=1) - 1).max() <= 1e-15 * 8
        held = ex.epsilon_pml(design.prior_set or design.prior, design.mechanism)
        assert held <= design.epsilon + 1e-12


@pytest.mark.parametrize("seed", [0, 15, 21])
def test_the_program_for_gains_leaves_true_zeros(seed):
    """Cases in which HiGHS leaves lifts of 1e-12 and less."""
    rng = np.random.default_rng(seed)
    for n in (6, 12, 28):
        prior = ex.Prior(rng.dirichlet(np.ones(n)) * 0.99 + 0.01 / n)
        for epsilon in (0.4, 1.0):
            lifts = ex.measures.lift(prior, ex.design(prior, epsilon, ex.ExpectedGain(np.eye(n))).mechanism)
            assert lifts[lifts > 0].min() >= 1e-9


def best_of_two(prior, epsilon):
    """The optimum of the steep utility on two symbols (Theorem 2) with 60 digits."""
    with localcontext() as context:
        context.prec = 60
        p, q = sorted((Decimal(float(x)) for x in prior.probabilities), reverse=True)
        p, q, c = p / (p + q), q / (p + q), Decimal(epsilon).exp()
        if c * p < 1:
            P = [[c * q, c * p - (c - 1)], [c * q - (c - 1), c * p]]
        else:
            P = [[(c - 1) / (c * p), (1 - c * q) / (c * p)], [Decimal(0), Decimal(1)]]
        total = Decimal(0)
        for a, b in zip(*P, strict=True):
            rho = p * a + q * b
            for mass, x in ((p, a), (q, b)):
                total += rho * mass * (1 - (x / rho) ** Decimal("0.05") if x > 0 else 1)
        return float(total)


@pytest.mark.parametrize("shift", [0.0, 1e-15, -1e-15, 1e-14, -1e-14, 1e-13, -1e-12, 1e-6, -1e-3])
def test_a_bound_that_rounding_moves_is_not_called_proven(shift):
    rng = np.random.default_rng(0)
    for _ in range(20):
        prior = ex.Prior(rng.dirichlet(np.ones(2)) * 0.98 + 0.01)
        epsilon = float(prior.region_edges[1] + shift)
        best = best_of_two(prior, epsilon)
        design = ex.design(prior, epsilon, STEEP)
        assert design.upper_bound >= best * (1 - 1e-9)
        assert not design.proven or design.value == pytest.approx(best, rel=2e-6)
        if abs(shift) >= 1e-6:
            assert design.proven


@pytest.mark.parametrize("n", [3, 8, 12, 20, 25])
@pytest.mark.parametrize(
    "f",
    [lambda t: np.maximum(t - 5, 0), lambda t: 0.3 * (t - 1), lambda t: 0 * t],
    ids=["flat", "linear", "zero"],
)
def test_utilities_that_no_mechanism_gains_have_the_value_0_and_that_is_proven(n, f):
    prior = ex.Prior(np.random.default_rng(n).dirichlet(np.ones(n)))
    utility = ex.FInformation(f, "nothing")
    for method in ("auto", "column-generation"):
        design = design_by(prior, 0.9, utility, oracle=method)
        assert design.value == pytest.approx(0, abs=1e-15)
        assert design.proven
        assert check_claim(prior, 0.9, utility, design).ok


@pytest.mark.parametrize("factor", [Fraction(3, 2), Fraction(10), Fraction(10**12)])
def test_masses_of_1e_13_are_designed_for(factor):
    """Against the best of all extremal mechanisms in exact arithmetic."""
    masses = [Fraction(1, 10**13), Fraction(3, 10), 1 - Fraction(3, 10) - Fraction(1, 10**13)]
    prior, epsilon = ex.Prior([float(p) for p in masses]), math.log(factor)
    best = max(
        ex.mutual_information(prior, ex.Mechanism(np.array(P, dtype=float)))
        for P in exact_polytope_vertices(masses, factor)
    )
    for method in ("enumeration", "column-generation"):
        design = design_by(prior, epsilon, ex.mutual_information, oracle=method)
        assert design.value == pytest.approx(best, rel=1e-6)
        assert design.upper_bound >= best * (1 - 1e-9)


@pytest.mark.parametrize("level", [28.0, 29.5])
@pytest.mark.parametrize("method", ["enumeration", "column-generation"])
def test_levels_next_to_full_disclosure_of_tiny_masses_end_with_a_design(level, method):
    prior = ex.Prior([1e-13, 1e-13, 0.7, 0.3 - 2e-13])
    design = design_by(prior, level, ex.mutual_information, oracle=method)
    assert ex.epsilon_pml(prior, design.mechanism) <= level + 1e-12
    assert design.value <= prior.entropy
    assert design.upper_bound >= prior.entropy - 1e-9  # the two large symbols can be told apart
    if method == "enumeration":
        assert design.value >= prior.entropy - 1e-9
    guess = ex.design(prior, level, ex.ExpectedGain(np.eye(4)))
    assert guess.value == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("level", [1e-7, 1e-10, 1e-12])
def test_guessing_at_tiny_levels_gains_what_theorem_3_says(level):
    prior = ex.Prior([0.4, 0.35, 0.25])
    with localcontext() as context:
        context.prec = 60
        pi, c = [Decimal(float(p)) for p in prior.probabilities], Decimal(level).exp()
        best = sum(max(p * (c * q - (c - 1 if p is q else 0)) for p in pi) for q in pi)
    for method in ("auto", "gain-program"):
        design = design_by(prior, level, ex.ExpectedGain(np.eye(3)), oracle=method)
        assert design.value == pytest.approx(float(best), rel=1e-12)
        assert design.upper_bound >= float(best) * (1 - 1e-12)
        assert design.proven


def decimal_value(masses, epsilon, worth):
    """Theorem 3 (of two answers Theorem 2) with 90 digits: sum_j p_j ((1 - p_j) f(c) + p_j f(1 - (c-1)(1-p_j)/p_j))."""
    with localcontext() as context:
        context.prec = 90
        p = [Decimal(float(x)) for x in masses]
        p = [x / sum(p) for x in p]
        c = Decimal(epsilon).exp()
        return sum(x * ((1 - x) * worth(c) + x * worth(1 - (c - 1) * (1 - x) / x)) for x in p)


WORTH = {
    "mutual_information": lambda t: t * t.ln(),
    "chi_squared": lambda t: (t - 1) ** 2,
    "hellinger": lambda t: (t.sqrt() - 1) ** 2 / 2,
    "jensen_shannon": lambda t: (t * t.ln() - (1 + t) * ((1 + t) / 2).ln()) / 2,
    "total_variation": lambda t: abs(t - 1) / 2,
}
MASSES = [[0.6, 0.4], [0.9998, 0.0002], [1 - 3e-7, 3e-7], [0.5, 0.3, 0.2], [0.7, 0.2999, 1e-4], [0.2] * 5]


@pytest.mark.parametrize("name", sorted(WORTH))
@pytest.mark.parametrize("masses", MASSES, ids=str)
@pytest.mark.parametrize("epsilon", [1e-14, 3e-14, 1e-12, 7e-11, 1e-9, 2e-8, 3e-7])
def test_values_at_small_levels_are_those_of_theorems_2_to_4(name, masses, epsilon):
    """Lifts are doubles near 1, from which a value loses digits: all of them at 1e-16."""
    prior = ex.Prior(masses)
    if prior.region(epsilon) > 1:
        pytest.skip("beyond the first region")
    d = ex.design(prior, epsilon, getattr(ex.utilities, name, ex.mutual_information))
    exact = decimal_value(masses, epsilon, WORTH[name])
    known = 1e-11 + 4e-16 / (1 - max(masses))  # what doubles tell of the mass of all other answers
    assert abs(Decimal(d.value) / exact - 1) < Decimal(known)
    assert d.proven
    assert ex.check_design(d).ok, ex.check_design(d)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-100, 1e-17])
@pytest.mark.parametrize(
    "utility", [ex.mutual_information, ex.utilities.total_variation], ids=lambda u: u.name
)
def test_levels_that_doubles_cannot_tell_from_0_are_not_called_proven(epsilon, utility):
    for prior in (ex.Prior([0.5, 0.3, 0.2]), ex.Prior([0.4, 0.6]), ex.Prior.uniform(5)):
        d = ex.design(prior, epsilon, utility)
        assert d.value == 0
        assert not d.proven
        assert ex.check_design(d).ok
        assert ex.design(prior, 0.0, utility).proven


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [1e-14, 1e-12, 1e-10, 1e-8, 1e-6])
def test_gains_and_purposes_are_designed_and_proven_at_small_levels(seed, epsilon):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    prior = ex.Prior.from_counts(rng.dirichlet(np.ones(n)) + 1e-3)
    gains = ex.ExpectedGain(rng.normal(size=(int(rng.integers(1, 5)), n)))
    for utility in (gains, ex.shares, ex.mean(list(range(n)))):
        d = ex.design(prior, epsilon, utility)
        assert ex.check_design(d).ok, (utility.name, ex.check_design(d))
        assert ex.epsilon_pml(prior, d.mechanism) <= epsilon * (1 + 1e-12) + (n + 8) * 2.3e-16
