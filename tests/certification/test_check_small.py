"""The checker at small levels and with tiny masses: allowances are relative."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.certification.claim import check_claim
from extremal.model.levels import largest_lift
from extremal.model.mechanism import constant
from extremal.theory import closed_form
from tests.support import oracles
from tests.support.claims import PRIOR, SEPARABLE, Design, assert_certified, exact_bound
from tests.support.examples import at_most

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


FIRST_REGION = [
    (name, epsilon)
    for name, masses in MASSES.items()
    for epsilon in SMALL
    if epsilon < ex.Prior(masses).region_edges[1]
]  # what Theorem 3 is for


@pytest.mark.parametrize(("name", "epsilon"), FIRST_REGION)
@pytest.mark.parametrize(
    "utility", [ex.utilities.chi_squared, ex.utilities.total_variation], ids=lambda u: u.name
)
def test_the_exact_optimum_is_proved_at_small_levels_and_a_thousandth_less_is_not(name, epsilon, utility):
    prior = ex.Prior(MASSES[name])
    mechanism = closed_form.high_privacy(prior, epsilon)
    optimum, dual = exact_high_privacy(prior, epsilon, EXACT_F[utility.name])
    right = Design(mechanism, optimum, optimum, dual)
    assert_certified(prior, epsilon, utility, right)
    less = optimum * (1 - max(1e-6, 1e-13 / epsilon))
    for wrong in (
        replace(right, upper_bound=less),
        replace(right, value=2 * optimum - less),
        replace(right, value=less, upper_bound=less),
        replace(right, proof=np.zeros(prior.size)),
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


@at_most(60)
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
    y = design.proof.copy()
    y[i] -= 10**power * abs(y[i])
    exact, _ = exact_bound(prior, largest_lift(prior.probabilities, epsilon), f, y, 0.0)
    optimum, _ = exact_bound(prior, largest_lift(prior.probabilities, epsilon), f, design.proof, 0.0)
    found = check_claim(prior, epsilon, utility, replace(design, proof=y))
    allowed = (1e-8 + 1e-13 / epsilon) * float(optimum)
    assert found.upper_bound >= float(exact) - allowed
    if float(exact) > design.upper_bound + 2 * allowed:
        assert not found.proved
