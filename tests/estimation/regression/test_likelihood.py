"""The likelihood against its definition, term by term, and its derivatives against finite differences."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from extremal.estimation.regression.families import (
    LOGIT,
    PROBIT,
    Binary,
    Gaussian,
    Multinomial,
    Ordinal,
    Poisson,
)
from extremal.estimation.regression.likelihood import Emissions, Likelihood, weighted_products

FAMILIES = {
    "logit": Binary(2, LOGIT),
    "probit": Binary(2, PROBIT),
    "multinomial": Multinomial(4),
    "ordinal": Ordinal(4, LOGIT),
    "ordinal-probit": Ordinal(3, PROBIT),
    "gaussian": Gaussian(),
    "poisson": Poisson(),
}


def likelihood(family, *, predictors, joint=False, covariates=True, n=60, seed=0):
    """A small likelihood with random designs, mechanisms, weights and, if asked for, private predictors."""
    generator = np.random.default_rng(seed)
    K, p = (3, 2) if predictors else (1, 2)
    D = family.predictors
    designs = tuple(np.vstack([np.ones(n), generator.standard_normal((p - 1, n))]) for _ in range(K))
    contrast = np.eye(D * p)
    if isinstance(family, Ordinal):  # thresholds, one slope
        contrast = np.zeros((D * p, D + 1))
        for d in range(D):
            contrast[d * p, d], contrast[d * p + 1, -1] = 1, -1
    J = getattr(family, "answers", 1)
    channels = []
    if predictors and not joint:
        table = generator.dirichlet(np.ones(5), K)[None]
        channels.append(Emissions(generator.integers(0, 5, n), table))
    if J > 1:
        table = generator.dirichlet(np.ones(5), J * (K if joint else 1)).reshape(J, -1, 5)
        channels.append(Emissions(generator.integers(0, 5, n), table))
    outcome = None if J > 1 else generator.integers(0, 4, n).astype(float)
    shared = predictors and covariates
    Z = np.vstack([np.ones(n), generator.standard_normal(n)]) if shared else np.zeros((0, n))
    fixed = np.log(np.full(K, 1 / K)) if predictors and not covariates else None
    return Likelihood(
        family, designs, contrast, tuple(channels), generator.uniform(0.5, 2, n), outcome, Z, fixed
    )


def coordinates(made, seed=1):
    theta = 0.3 * np.random.default_rng(seed).standard_normal(made.size)
    if isinstance(made.family, Ordinal):
        theta[: made.family.predictors] = np.arange(made.family.predictors) - 1.0
    return theta


CASES = [
    *((name, False, False, False) for name in FAMILIES),
    *((name, True, False, True) for name in FAMILIES),
    ("multinomial", True, True, True),
    ("poisson", True, False, False),
]


@pytest.mark.parametrize(("name", "predictors", "joint", "covariates"), CASES)
def test_derivatives_are_those_of_the_likelihood(name, predictors, joint, covariates):
    made = likelihood(FAMILIES[name], predictors=predictors, joint=joint, covariates=covariates)
    theta, step = coordinates(made), 1e-5
    found = made.derivatives(theta)
    assert found.value == pytest.approx(made.value(theta), rel=1e-13)
    steps = step * np.eye(made.size)
    slopes = [(made.value(theta + e) - made.value(theta - e)) / (2 * step) for e in steps]
    assert found.gradient == pytest.approx(slopes, rel=1e-6, abs=1e-6)
    bends = [
        (made.derivatives(theta + e).gradient - made.derivatives(theta - e).gradient) / (2 * step)
        for e in steps
    ]
    assert found.hessian == pytest.approx(np.array(bends), rel=1e-6, abs=1e-6)
    scores = sum((made.weights[rows] * each).sum(axis=1) for rows, each in made.scores(theta))
    assert scores == pytest.approx(found.gradient, rel=1e-10, abs=1e-10)


def outcome_probability(family, eta, answer):
    """The probability, or density, of one outcome by the textbook."""
    if isinstance(family, Binary):
        p = stats.norm.cdf(eta[0]) if family.link is PROBIT else 1 / (1 + math.exp(-eta[0]))
        return [1 - p, p][answer]
    if isinstance(family, Multinomial):
        odds = [1.0, *map(math.exp, eta)]
        return odds[answer] / sum(odds)
    if isinstance(family, Ordinal):
        cdf = stats.norm.cdf if family.link is PROBIT else stats.logistic.cdf
        edges = [0.0, *cdf(eta), 1.0]
        return edges[answer + 1] - edges[answer]
    if isinstance(family, Gaussian):
        return stats.norm.pdf(answer, eta[0], math.exp(eta[1]))
    return stats.poisson.pmf(answer, math.exp(eta[0]))


@pytest.mark.parametrize(("name", "predictors", "joint", "covariates"), CASES)
def test_the_likelihood_is_the_sum_over_true_answers(name, predictors, joint, covariates):
    made = likelihood(FAMILIES[name], predictors=predictors, joint=joint, covariates=covariates, n=7)
    theta = coordinates(made)
    B, gamma = made.coefficients(theta)
    J = getattr(made.family, "answers", 1)
    total = 0.0
    for i in range(7):
        if made.covariates is not None:
            odds = np.array([1.0, *np.exp(gamma @ made.covariates[:, i])])
            w = odds / odds.sum()
        else:
            w = np.full(len(made.designs), 1 / len(made.designs))
        row = 0.0
        for k, j in itertools.product(range(len(made.designs)), range(J)):
            answer = j if made.outcome is None else made.outcome[i]
            one = w[k] * outcome_probability(made.family, B @ made.designs[k][:, i], answer)
            for channel in made.channels:
                table = channel.table[:, :, channel.codes[i]]
                one *= table[j if len(table) > 1 else 0, k if table.shape[1] > 1 else 0]
            row += one
        total += made.weights[i] * math.log(row)
    assert made.value(theta) == pytest.approx(total, rel=1e-12)


def test_blocks_do_not_change_the_derivatives():
    made = likelihood(Multinomial(4), predictors=True, n=700)
    theta = coordinates(made)
    whole = made.derivatives(theta)
    made.__dict__["block"] = 256
    parts = made.derivatives(theta)
    assert parts.hessian == pytest.approx(whole.hessian, rel=1e-11, abs=1e-11)
    assert parts.gradient == pytest.approx(whole.gradient, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("columns", [3, 40])
def test_products_of_few_and_of_many_columns(columns):
    generator = np.random.default_rng(0)
    X, W = generator.standard_normal((columns, 50)), generator.standard_normal((2, 50))
    expected = np.einsum("kn,pn,qn->kpq", W, X, X)
    assert weighted_products(W, X) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_tails_of_an_ordinal_model_keep_their_digits():
    """p of the middle answer far in the upper tail, where both distribution functions are 1 to all digits."""
    family = Ordinal(3, LOGIT)
    p = family.shares(np.array([[40.0], [41.0]]))
    assert p[1, 0] == pytest.approx(math.exp(-40) - math.exp(-41), rel=1e-12)
