"""The checker of designs against designs made by hand: closed forms and programs over all vertices.

Nothing here comes from the solver. Delta(y), the largest mu(lam) - y.lam, is found by listing every vertex.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import extremal as ex
from extremal.certification.claim import check_claim
from extremal.model.mechanism import constant, identity
from extremal.theory import closed_form
from tests.support import oracles
from tests.support.claims import PRIOR, SEPARABLE, Design, assert_certified, programmed, unchecked, with_bound
from tests.support.examples import at_most
from tests.support.strategies import designs, high_privacy_designs, uniform_designs
from tests.support.wording import refused


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


@at_most(30)
@given(high_privacy_designs())
def test_theorem_3_is_certified_by_the_dual_of_its_basis(case):
    prior, epsilon = case
    mechanism = closed_form.high_privacy(prior, epsilon)
    for utility in [*SEPARABLE, *oracles.asymmetric(prior.size)]:
        lifts = ex.measures.lift(prior, mechanism)
        mu = utility.columns(prior, lifts)
        y = np.linalg.lstsq(lifts.T, mu)[0] if epsilon > 0 else np.zeros(prior.size)
        assert_certified(prior, epsilon, utility, with_bound(prior, epsilon, utility, mechanism, y))


@at_most(30)
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


@at_most(30)
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
    P, y = design.mechanism.matrix, np.asarray(design.proof)
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
        "is not proved": replace(design, proof=y[::-1]),
        "by": replace(design, proof=y + 1e-5 * np.eye(5)[0]),
        "5 finite numbers, got None": replace(design, proof=None),
        "5 finite numbers, got array": replace(design, proof=y[:-1]),
        "5 finite numbers": replace(design, proof=np.where(np.arange(5) == 2, math.nan, y)),
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


def test_a_utility_that_does_not_fit_the_prior_is_refused():
    _, design = GOOD["mutual information"]
    with pytest.raises(ex.errors.UtilityError):
        check_claim(PRIOR, EPSILON, ex.ExpectedGain(np.eye(4)), design)


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


def test_a_design_for_a_set_of_priors_is_checked_with_its_nominal_prior_alone():
    design = ex.design(ex.PriorSet.l1_ball(PRIOR, 0.1), 0.5, ex.mutual_information)
    assert check_claim(PRIOR, 0.5, design.utility, design, priors=design.prior_set).proved
    for wrong in ({"prior": ex.Prior.uniform(5)}, {"notion": ex.LIP}):
        with pytest.raises(ex.errors.OptionError):
            ex.check_design(replace(design, **wrong))


def test_a_certified_mechanism_is_told_how_to_be_a_mechanism():
    certified = ex.certify(PRIOR, ex.design(PRIOR, 0.5, ex.mutual_information).mechanism, 0.5)
    with refused(ex.errors.MechanismError, ".mechanism"):
        ex.pml(PRIOR, certified)


def test_a_notion_that_calls_itself_equal_to_every_other_is_refused():
    class Every:
        def __eq__(self, other):
            return True

        __hash__ = object.__hash__

    honest = ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.6)
    with pytest.raises(ex.errors.OptionError):
        ex.check_design(replace(honest, notion=Every()))
