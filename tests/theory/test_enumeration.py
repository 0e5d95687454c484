"""Enumeration: the best mechanism by one program over all candidates, which `design` finds in its own ways."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from tests.support import oracles
from tests.support.examples import at_most
from tests.support.strategies import designs

NOTIONS = [ex.PML, ex.LIP, ex.LIP.above(0.6), ex.LDP, ex.MaximalLeakage]


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@given(designs(max_size=5), st.data())
@at_most(40)
def test_enumeration_and_design_find_the_same_value_under_every_notion(notion, design, data):
    prior, epsilon = design
    utility = data.draw(st.sampled_from([ex.mutual_information, *oracles.asymmetric(prior.size)[:4]]))
    found = utility(prior, ex.theory.enumerated(prior, epsilon, utility, notion))
    best = ex.design(prior, epsilon, utility, notion=notion)
    assert found == pytest.approx(best.value, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_what_is_enumerated_keeps_its_notion(notion):
    rng = np.random.default_rng(0)
    for epsilon in (0.0, 0.2, 1.0, 4.0):
        prior = ex.Prior(rng.dirichlet(np.ones(4)), ["a", "b", "c", "d"])
        mechanism = ex.theory.enumerated(prior, epsilon, ex.utilities.hellinger, notion)
        measure = {
            "LDP": ex.measures.ldp_epsilon(mechanism),
            "maximal leakage": ex.measures.maximal_leakage(mechanism),
        }.get(notion.name, ex.epsilon_pml(prior, mechanism))
        assert measure <= epsilon + 1e-9
        assert ex.measures.lift(prior, mechanism).min() >= notion.lower_lift(epsilon) - 1e-9
        assert mechanism.inputs == prior.labels


@given(designs(min_size=2, max_size=3), st.data())
@at_most(60)
def test_the_best_vertex_of_the_polytope_is_the_best_mixture_of_lift_vectors(design, data):
    """Lemma 1 and Theorem 5."""
    prior, epsilon = design
    utility = data.draw(st.sampled_from(oracles.every_utility(prior.size)))
    vertex, mixture = (find(prior, epsilon, utility) for find in (ex.theory.vertices, ex.theory.enumerated))
    assert utility(prior, vertex) == pytest.approx(utility(prior, mixture), rel=1e-7, abs=1e-12)
    assert ex.epsilon_pml(prior, vertex) <= epsilon + 1e-12


def test_the_arc_mechanism_is_one_of_those_that_enumeration_beats():
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    arc, best = ex.theory.arc(prior, 0.7), ex.theory.enumerated(prior, 0.7)
    assert ex.mutual_information(prior, arc) <= ex.mutual_information(prior, best) * (1 + 1e-9)
    assert ex.theory.enumerated(ex.Prior.uniform(4), math.log(3)).shape == (4, 4)


@pytest.mark.parametrize("notion", [ex.LDP, ex.MaximalLeakage], ids=str)
def test_too_many_answers_are_refused(notion):
    with pytest.raises(ex.errors.SizeError):
        ex.theory.enumerated(ex.Prior.uniform(15), 0.5, notion=notion)
