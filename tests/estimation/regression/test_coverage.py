"""Intervals hold the truth as often as they say: 2,000 simulated surveys for each model and mechanism.

Covariates have three values, so a survey is a table of counts, but for outcomes on a scale: it is drawn at once, and
its fit starts at the truth.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import poisson

import extremal as ex
from extremal.estimation.regression.assembly import Assembly
from extremal.estimation.regression.families import family_of
from extremal.estimation.regression.fit import Fitted, climb
from extremal.estimation.regression.inference import covariance
from extremal.estimation.regression.likelihood import Emissions
from extremal.estimation.regression.reading import corrections
from tests.support import surveys

SURVEYS = 2000
PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
PRIOR_OF_TWO = ex.Prior({"a": 0.6, "b": 0.4})
Z = np.array([-1.0, 0.0, 1.0])
Z_SHARES = np.array([0.3, 0.4, 0.3])


def mechanisms(prior):
    """The truth or any answer; the design for shares; one without symmetry and with more outputs than inputs."""
    size, generator = prior.size, np.random.default_rng(7)
    skew = 0.6 * np.eye(size, size + 1) + 0.4 * generator.dirichlet(np.full(size + 1, 5.0), size)
    return {
        "keep": surveys.keep(size, 0.6, prior.labels),
        "design": ex.design(prior, 0.8 if size == 2 else 1.0).mechanism,
        "skew": ex.Mechanism(skew, prior.labels, [f"r{k}" for k in range(size + 1)]),
    }


# The outcome's model, its coefficients, and how many people answer.
OUTCOMES = {
    "logit": (PRIOR_OF_TWO, [-0.4, 0.7], 1000),
    "probit": (PRIOR_OF_TWO, [-0.3, 0.4], 3000),
    "multinomial": (PRIOR, [-0.4, 0.5, -0.8, -0.6], 10_000),
    "ordinal": (PRIOR, [0.6, 0.1, 1.4], 3000),
    "ordinal-probit": (PRIOR, [0.4, 0.0, 0.9], 3000),
}


def covered(likelihood, back, truth, weights):
    """Whether each interval holds the truth, for one survey."""
    likelihood = replace(likelihood, weights=weights)
    peak = climb(likelihood, np.linalg.solve(back, truth))
    if not peak.converged or np.linalg.eigvalsh(-peak.at.hessian)[0] <= 1e-6:
        return np.zeros(len(truth), dtype=bool)
    V = back @ np.linalg.inv(-peak.at.hessian) @ back.T
    return np.abs(back @ peak.theta - truth) <= 1.959963984540054 * np.sqrt(np.diag(V))


def assert_covered(shares, case):
    assert shares.min() >= 0.93, (case, shares)
    assert shares.max() <= 0.97, (case, shares)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["keep", "design", "skew"])
@pytest.mark.parametrize("model", OUTCOMES)
def test_intervals_of_a_private_outcome(model, which):
    prior, truth, n = OUTCOMES[model]
    mechanism = mechanisms(prior)[which]
    outputs = len(mechanism.outputs)
    frame = {"z": np.repeat(Z, outputs), "y": list(mechanism.outputs) * len(Z)}
    made = ex.regress(
        mechanism,
        "y ~ z",
        frame,
        model=model,
        sample=ex.SampleDesign(weights=_plausible(mechanism, n)),
        errors="information",
    )
    truth = np.array(truth)
    true = replace(made, coefficients=truth).predict({"z": Z})
    cells = (Z_SHARES[:, None] * (true @ mechanism.matrix)).ravel()
    generator = np.random.default_rng(1)
    counts = generator.multinomial(n, cells, size=SURVEYS).astype(float)
    prepared = made.fitted.prepared
    hits = [covered(prepared.likelihood, prepared.back, truth, each) for each in counts]
    assert_covered(np.mean(hits, axis=0), (model, which))


def _plausible(mechanism, n):
    """Counts for which every model has a solution: all answers alike, whatever the covariate."""
    q = np.full(len(mechanism.inputs), 1 / len(mechanism.inputs)) @ mechanism.matrix
    return n * np.outer(Z_SHARES, q).ravel() + 0.0


PREDICTED = {
    "gaussian": ([1.0, 0.5, -0.7, 0.3, 0.0], 1000),
    "poisson": ([0.2, 0.5, -0.5, 0.3], 3000),
    "logit": ([-0.2, 0.8, -0.6, 0.4], 10_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("which", ["keep", "design", "skew"])
@pytest.mark.parametrize("model", PREDICTED)
def test_intervals_of_a_private_predictor(model, which):
    """x has other shares at each z; the model of both is fitted together."""
    truth, n = PREDICTED[model]
    mechanism = mechanisms(PRIOR)[which]
    generator = np.random.default_rng(2)
    odds = np.array([[-0.3, 0.2], [-0.8, -0.3]])  # of b and c against a: constant and slope in z
    truth = np.array([*truth, *odds.ravel()])

    x_odds = np.exp(np.vstack([np.zeros(3), odds[:, :1] + odds[:, 1:] * Z]))
    x_shares = x_odds / x_odds.sum(axis=0)  # of x, at each z
    mean = truth[0] + np.array([0.0, truth[1], truth[2]])[:, None] + truth[3] * Z

    def scaled():
        """Outcomes on a scale, of which no two are equal."""
        z = generator.choice(3, n, p=Z_SHARES)
        x = (generator.random(n) > x_shares.cumsum(axis=0)[:2, z]).sum(axis=0)
        y = mean[x, z] + np.exp(truth[4]) * generator.standard_normal(n)
        return (z, surveys.draw(generator, mechanism, x), y), np.ones(n)

    if model == "gaussian":
        simulated = (scaled() for _ in range(SURVEYS))
    else:
        if model == "poisson":
            chance = poisson.pmf(np.arange(60), np.exp(mean)[:, :, None])
        else:
            chance = np.stack([expit(-mean), expit(mean)], axis=2)
        simulated = tables(generator, n, mechanism, x_shares, chance)
    hits = []
    for rows, weights in simulated:
        prepared = _prepared(model, mechanism, *rows)
        hits.append(covered(prepared.likelihood, prepared.back, truth, weights))
    assert_covered(np.mean(hits, axis=0), (model, which))


def tables(generator, n, mechanism, x_shares, chance):
    """(rows of z, report and outcome, how often each) of surveys; the chances of outcomes are by x and z."""
    cells = np.einsum("z,xz,xr,xzy->zry", Z_SHARES, x_shares, mechanism.matrix, chance)
    for _ in range(SURVEYS):
        table = generator.multinomial(n, cells.ravel() / cells.sum()).reshape(cells.shape)
        rows = np.nonzero(table)
        yield rows, table[rows].astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["keep", "design", "skew"])
def test_intervals_of_corrected_scores_hold_where_the_model_is_wrong(which):
    """Counts that vary three times as much as a Poisson model says; robust errors."""
    truth, n = np.array([0.2, 0.5, -0.5, 0.3]), 4000
    mechanism = mechanisms(PRIOR)[which]
    generator = np.random.default_rng(3)
    x_shares = np.exp([[0.4], [0.2], [0.0]]) / np.exp([0.4, 0.2, 0.0]).sum() + np.zeros(3)
    mean = np.exp(truth[0] + np.array([0.0, truth[1], truth[2]])[:, None] + truth[3] * Z)
    # Poisson counts with exponentially distributed means are geometric.
    chance = (mean / (1 + mean))[:, :, None] ** np.arange(150) / (1 + mean)[:, :, None]
    hits = []
    for rows, weights in tables(generator, n, mechanism, x_shares, chance):
        reports = np.repeat(rows[1], weights.astype(int))
        made = replace(
            _assembly("poisson", mechanism, *rows),
            weights=weights,
            squares=weights,
            covariates=np.zeros((len(weights), 0)),
            corrections=(corrections(mechanism.matrix, reports)[None],),
            corrected=True,
        )
        prepared = made.prepared()
        peak = climb(prepared.likelihood, np.linalg.solve(prepared.back, truth))
        V = covariance(Fitted(prepared, peak, prepared.back @ peak.theta), "robust", n)
        off = np.abs(prepared.back @ peak.theta - truth)
        hits.append(peak.converged & (off <= 1.959963984540054 * np.sqrt(np.diag(V))))
    assert_covered(np.mean(hits, axis=0), which)


def _prepared(model, mechanism, z, report, y):
    return _assembly(model, mechanism, z, report, y).prepared()


def _assembly(model, mechanism, z, report, y):
    """These rows as regress() has them, without its reading of frames."""
    n = len(z)
    family = family_of(model, 2 if model == "logit" else 0)
    one, slope = np.ones(n), Z[z]
    designs = tuple(np.column_stack([one, (k == 1) * one, (k == 2) * one, slope]) for k in range(3))
    channels = [Emissions(report, mechanism.matrix[None])]
    if model == "logit":
        channels.append(Emissions(y, np.eye(2)[:, None]))
    return Assembly(
        family,
        (0, 1) if model == "logit" else (),
        ("Intercept", "x[T.b]", "x[T.c]", "z"),
        {},
        designs,
        tuple(channels),
        one,
        one,
        None,
        None if model == "logit" else y.astype(float),
        tuple((x,) for x in mechanism.inputs),
        np.column_stack([one, slope]),
        ("Intercept", "z"),
        None,
    )
