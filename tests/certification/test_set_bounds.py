"""The checker of designs for sets of priors, against the vertices that trying all bases finds."""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import linprog

import extremal as ex
from extremal.certification.bounds import bound_over_set
from extremal.certification.claim import check_claim
from tests.support.oracles import every_utility
from tests.support.prior_sets import all_vertices, some_sets
from tests.support.solving import design_by

SETS = [priors for n in (3, 4) for priors in some_sets(np.random.default_rng(n), n)[: 7 if n == 3 else 2]]


@functools.cache
def vertices_of(k, epsilon):
    return all_vertices(SETS[k], math.exp(epsilon))


@dataclass(frozen=True)
class Claimed:
    mechanism: ex.Mechanism
    value: float
    upper_bound: float
    proof: object
    prior_set: ex.PriorSet


def programmed(priors, vertices, utility):
    """An optimal design by the linear program over vertices, with its marginals as dual vector."""
    mu = utility.columns(priors.nominal, vertices.T)
    result = linprog(-mu, A_eq=vertices.T, b_eq=np.ones(priors.size), method="highs-ds")
    assert result.status == 0, result.message
    used = vertices[result.x > 1e-9]
    rho = np.linalg.lstsq(used.T, np.ones(priors.size))[0]
    P = (1 - 1e-9) * (used * rho[:, None]).T + 1e-9 * rho  # vertices are not known to the last bit
    mechanism = ex.Mechanism(P / P.sum(axis=1, keepdims=True), inputs=priors.labels)
    y = -result.eqlin.marginals
    upper = math.fsum(y) + float(np.max(mu - vertices @ y))
    return Claimed(mechanism, utility(priors.nominal, mechanism), upper, y, priors)


@pytest.mark.parametrize("k", range(len(SETS)))
def test_any_dual_vector_proves_what_all_vertices_say(k):
    priors, rng = SETS[k], np.random.default_rng(0)
    for epsilon in (0.3, 1.2):
        vertices = vertices_of(k, epsilon)
        for utility in every_utility(priors.size):
            y = rng.normal(size=priors.size)
            mu = utility.columns(priors.nominal, vertices.T)
            largest = float(np.max(mu - (vertices - 1) @ y))
            found = bound_over_set(priors, epsilon, utility, y, lambda _: False)
            if "alike" not in found.how:  # else a better dual vector is known
                assert found.value == pytest.approx(largest, abs=1e-7)
            assert found.value <= largest + 1e-7


@pytest.mark.parametrize("k", range(len(SETS)))
def test_an_optimum_over_all_vertices_is_proved_and_less_is_not(k):
    priors = SETS[k]
    for epsilon in (0.3, 1.2):
        vertices = vertices_of(k, epsilon)
        for utility in every_utility(priors.size):
            made = programmed(priors, vertices, utility)
            upper = made.upper_bound + 1e-6 * max(made.upper_bound, 1e-3)
            found = check_claim(
                priors.nominal, epsilon, utility, replace(made, upper_bound=upper), priors=priors
            )
            assert found.ok, found
            assert found.proved
            low = made.value - 1e-5 * max(abs(made.value), 1e-3)
            found = check_claim(
                priors.nominal, epsilon, utility, replace(made, upper_bound=low), priors=priors
            )
            assert any("is not proved" in problem for problem in found.problems)
            assert not found.ok
            assert not found.proved


@pytest.mark.parametrize("method", ["enumeration", "column-generation"])
def test_designs_of_the_library_hold_what_they_claim(method):
    for priors in some_sets(np.random.default_rng(6), 6)[1:]:
        for utility in (ex.mutual_information, ex.utilities.hellinger):
            for epsilon in (1e-3, 0.7, 3.0):
                design = design_by(priors, epsilon, utility, oracle=method)
                found = ex.check_design(design)
                assert found.ok, found
                assert found.proved
                assert found.gap <= design.gap + 1e-8


@pytest.mark.parametrize(
    "priors",
    [ex.PriorSet.at_least(60, 0.002), ex.PriorSet.l1_ball(ex.Prior.uniform(40), 0.3)],
    ids=repr,
)
def test_symbols_that_are_all_alike_are_proved_at_any_number(priors):
    design = ex.design(priors, 1.0, ex.mutual_information)
    found = ex.check_design(design)
    assert found.ok, found
    assert found.proved
    assert "all alike" in found.how
    lower = replace(design, upper_bound=design.upper_bound * (1 - 1e-6), proof=design.proof * (1 - 1e-6))
    assert not ex.check_design(lower).ok


def test_sizes_and_lists_of_sets_prove_the_same():
    alike = ex.PriorSet.l1_ball(ex.Prior.uniform(7), 0.4)
    p = 1 + 1e-9 * np.arange(7)
    nearly = ex.PriorSet.l1_ball(ex.Prior(p / p.sum()), 0.4)
    for epsilon in (0.2, 1.0, 2.0):
        sizes, listed = (
            bound_over_set(priors, epsilon, ex.mutual_information, np.zeros(7), lambda _: False)
            for priors in (alike, nearly)
        )
        assert "alike" in sizes.how
        assert "enumeration" in listed.how
        assert sizes.value == pytest.approx(listed.value, abs=1e-7)


def test_constant_and_identity_are_proved_at_any_number():
    prior = ex.Prior(np.arange(1.0, 31) / 465)
    priors = ex.PriorSet.l1_ball(prior, 1e-3)
    for epsilon in (0.0, 30.0):
        found = ex.check_design(ex.design(priors, epsilon, ex.mutual_information))
        assert found.ok, found
        assert found.proved


SET = ex.PriorSet.l1_ball(ex.Prior([0.35, 0.25, 0.2, 0.12, 0.08]), 0.1)
DESIGN = ex.design(SET, 0.8, ex.mutual_information)


def test_a_design_for_the_nominal_prior_alone_leaks_too_much_over_the_set():
    plain = ex.design(SET.nominal, 0.8, ex.mutual_information)
    assert ex.check_design(plain).ok
    found = ex.check_design(replace(plain, prior_set=SET))
    assert not found.ok
    worst = max(
        math.log(column.max() / SET.smallest_means(column[:, None])[0]) for column in plain.mechanism.matrix.T
    )
    assert found.leakage == pytest.approx(worst)
    assert any("leakage over the set of priors" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": DESIGN.value * (1 + 1e-7)}, "value is"),
        ({"upper_bound": DESIGN.upper_bound * (1 - 1e-7)}, "is not proved"),
        ({"proof": DESIGN.proof + 1e-4 * np.eye(5)[0]}, "is not proved"),
        ({"proof": None}, "needs a dual vector"),
        ({"epsilon": 0.8 - 1e-9}, "above epsilon"),
    ],
    ids=["value", "bound", "dual", "no dual", "epsilon"],
)
def test_what_was_altered_is_refused(change, said):
    found = ex.check_design(replace(DESIGN, **change))
    assert not found.ok
    assert any(said in problem for problem in found.problems), found
