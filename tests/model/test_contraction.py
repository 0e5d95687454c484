"""Cost and contraction, against their definitions by brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from tests.support.strategies import mechanisms, pairs


@given(pairs())
def test_cost_is_how_much_less_likely_a_report_makes_an_answer(pair):
    prior, mechanism = pair
    cost = ex.measures.pointwise_cost(prior, mechanism)
    P, rho = mechanism.matrix, mechanism.output_distribution(prior)
    for y in range(P.shape[1]):
        if rho[y] > 1e-250:
            least = min(P[x, y] / rho[y] for x in range(len(P)))
            assert cost[y] == (math.inf if least == 0 else pytest.approx(-math.log(least), abs=1e-12))


@given(pairs())
def test_local_differential_privacy_lies_between_leakage_and_cost_and_their_sum(pair):
    prior, mechanism = pair
    leakage, cost = ex.epsilon_pml(prior, mechanism), ex.measures.pointwise_cost(prior, mechanism).max()
    ldp = ex.measures.ldp_epsilon(mechanism)
    assert math.isinf(ldp) == math.isinf(cost)
    if math.isfinite(ldp):
        assert max(leakage, cost) - 1e-12 <= ldp <= leakage + cost + 1e-12
        assert ex.measures.lip_epsilon(prior, mechanism) == pytest.approx(max(leakage, cost), abs=1e-12)


@given(st.integers(2, 5).flatmap(mechanisms))
def test_dobrushin_is_the_largest_distance_of_two_rows_and_contracts_every_distance(mechanism):
    P = mechanism.matrix
    found = ex.measures.dobrushin(mechanism)
    rows = range(len(P))
    assert found == pytest.approx(max(np.abs(P[i] - P[j]).sum() / 2 for i in rows for j in rows), abs=1e-14)
    generator = np.random.default_rng(1)
    for _ in range(20):
        p, q = generator.dirichlet(np.full(len(P), 0.3), 2)
        assert np.abs(p @ P - q @ P).sum() <= found * np.abs(p - q).sum() + 1e-14


@given(pairs())
def test_chi_squared_contracts_by_the_second_eigenvalue_and_no_more(pair):
    prior, mechanism = pair
    pi, P = prior.probabilities, mechanism.matrix
    rho = pi @ P
    if pi.min() < 1e-6 or rho[rho > 0].min() < 1e-6:
        return
    found = ex.measures.chi_squared_contraction(prior, mechanism)
    backward = (P[:, rho > 0] / rho[rho > 0]) @ P[:, rho > 0].T * pi  # x -> y -> x', its eigenvalues are real
    assert found == pytest.approx(
        sorted(np.linalg.eigvals(backward).real)[-2] if len(pi) > 1 else 0, abs=1e-9
    )

    def chi(q, p):
        return ((q - p)[p > 0] ** 2 / p[p > 0]).sum()

    for q in np.random.default_rng(1).dirichlet(np.ones(len(pi)), 20):
        assert chi(q @ P, rho) <= found * chi(q, pi) + 1e-12


def test_of_the_flip_everything_is_known():
    prior, flip = ex.Prior([0.5, 0.5]), ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    assert ex.measures.dobrushin(flip) == 0.5
    assert ex.measures.chi_squared_contraction(prior, flip) == pytest.approx(0.25, abs=1e-15)
    np.testing.assert_allclose(ex.measures.pointwise_cost(prior, flip), math.log(2), atol=1e-15)
