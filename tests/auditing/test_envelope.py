"""The leakage envelope, against its definition as a linear program and all post-processings."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import extremal as ex
from tests.support.strategies import pairs


@given(pairs(), st.floats(0.001, 1))
def test_the_envelope_is_the_largest_chance_of_a_randomised_event(pair, delta):
    prior, mechanism = pair
    P, rho = mechanism.matrix, mechanism.output_distribution(prior)
    best = 0.0
    for row in P:
        found = linprog(-row, A_eq=[rho], b_eq=[delta], bounds=(0, 1), method="highs")
        best = max(best, -found.fun if found.status == 0 else 1.0)
    assert ex.measures.envelope(prior, mechanism)(delta) == pytest.approx(
        max(math.log(best / delta), 0), abs=1e-6
    )


@given(pairs())
def test_it_falls_from_the_leakage_to_zero(pair):
    prior, mechanism = pair
    found = ex.measures.envelope(prior, mechanism)
    rho = mechanism.output_distribution(prior)
    values = [found(delta) for delta in (rho[rho > 0].min() / 2, 0.01, 0.1, 0.3, 0.7, 1.0)]
    assert values[0] == pytest.approx(ex.epsilon_pml(prior, mechanism), abs=1e-12)
    assert values[-1] == pytest.approx(0, abs=1e-12)
    assert all(found(d) >= found(d + 0.05) - 1e-12 for d in np.linspace(0.01, 0.95, 20))


def test_no_post_processing_raises_it():
    generator = np.random.default_rng(5)
    for m in (2, 3, 4):
        prior = ex.Prior(generator.dirichlet(np.ones(3)))
        mechanism = ex.Mechanism(generator.dirichlet(np.full(m, 0.4), 3))
        before = ex.measures.envelope(prior, mechanism)
        maps = [np.eye(m)[list(to)] for to in product(range(m), repeat=m)]
        maps += [generator.dirichlet(np.full(m, 0.5), m) for _ in range(50)]
        for after in maps:
            processed = ex.measures.envelope(prior, ex.Mechanism(mechanism.matrix @ after))
            for delta in (0.001, 0.05, 0.2, 0.5, 0.9, 1.0):
                assert processed(delta) <= before(delta) + 1e-12


def test_that_of_a_certified_mechanism_is_exact():
    certified = ex.certify(ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.8))
    found = ex.measures.envelope(certified)
    factor = found.factor(Fraction(1, 7))
    assert isinstance(factor, Fraction)

    pi = [Fraction(p) for p in certified.prior.probabilities.tolist()]
    pi = [p / sum(pi) for p in pi]
    columns = [[Fraction(int(w), 1 << 62) for w in column] for column in certified.weights.T]
    rho = [sum(p * w for p, w in zip(pi, column, strict=True)) for column in columns]
    delta, best, reports = Fraction(1, 7), Fraction(0), range(len(columns))
    for chosen in product((False, True), repeat=len(columns)):  # events with at most one randomised report
        left = delta - sum((rho[y] for y in reports if chosen[y]), Fraction(0))
        for y in reports:
            if not chosen[y] and 0 <= left <= rho[y] != 0:
                for x in range(3):
                    sure = sum((columns[z][x] for z in reports if chosen[z]), Fraction(0))
                    best = max(best, sure + left / rho[y] * columns[y][x])
    assert factor == best * 7
    with localcontext(prec=60):
        exact = (Decimal(factor.numerator) / factor.denominator).ln()
        assert exact <= Decimal(found(delta)) <= exact + Decimal("1e-14")
    assert found(1e-9) <= certified.realised_epsilon
    assert found(1) == 0


@pytest.mark.parametrize("delta", [0, -0.1, 1.01, math.nan])
def test_a_share_that_is_none_is_refused(delta):
    found = ex.measures.envelope(ex.Prior([0.5, 0.5]), ex.Mechanism([[0.75, 0.25], [0.25, 0.75]]))
    with pytest.raises(ex.errors.OptionError) as refused:
        found(delta)
    assert refused.value.parameter == "delta"


def test_the_picture_falls_from_the_worst_case_to_nothing():
    prior = ex.Prior([0.5, 0.3, 0.2])
    line = ex.measures.envelope(prior, ex.theory.randomized_response(prior, 1.0)).plot().lines[0]
    assert (np.diff(line.get_ydata()) <= 1e-12).all()
    assert line.get_ydata()[-1] == pytest.approx(0, abs=1e-12)
