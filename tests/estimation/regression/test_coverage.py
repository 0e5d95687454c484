"""Intervals hold the truth as often as they say: 2,000 simulated surveys for each model and mechanism.

Covariates have three values, so a survey is a table of counts: it is drawn at once, and its fit starts at the truth.
"""

from dataclasses import replace

import numpy as np
import pytest

import extremal as ex
from extremal.estimation.regression.assembly import Assembly
from extremal.estimation.regression.climb import climb
from extremal.estimation.regression.covariance import covariance
from extremal.estimation.regression.fit import Fit
from extremal.estimation.regression.likelihood import Channel
from extremal.estimation.regression.models import family_of
from extremal.estimation.regression.private import corrections
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


def covered(problem, back, truth, weights):
    """Whether each interval holds the truth, for one survey."""
    problem = replace(problem, weights=weights)
    peak = climb(problem, np.linalg.solve(back, truth))
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
        mechanism, "y ~ z", frame, model=model, weights=_plausible(mechanism, n), errors="information"
    )
    truth = np.array(truth)
    true = replace(made, coefficients=truth).predict({"z": Z})
    cells = (Z_SHARES[:, None] * (true @ mechanism.matrix)).ravel()
    generator = np.random.default_rng(1)
    counts = generator.multinomial(n, cells, size=SURVEYS).astype(float)
    prepared = made.fitted.prepared
    hits = [covered(prepared.problem, prepared.back, truth, each) for each in counts]
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

    def simulated():
        z = generator.choice(3, n, p=Z_SHARES)
        eta = np.vstack([np.zeros(n), odds[:, :1] + odds[:, 1:] * Z[z]])
        x = np.argmax(eta + generator.gumbel(size=(3, n)), axis=0)
        report = surveys.draw(generator, mechanism, x)
        mean = truth[0] + np.array([0.0, truth[1], truth[2]])[x] + truth[3] * Z[z]
        if model == "gaussian":
            y = mean + np.exp(truth[4]) * generator.standard_normal(n)
        elif model == "poisson":
            y = generator.poisson(np.exp(mean))
        else:
            y = (generator.random(n) < 1 / (1 + np.exp(-mean))).astype(int)
        return z, report, y

    hits = []
    for _ in range(SURVEYS):
        z, report, y = simulated()
        if model == "gaussian":
            rows, weights = (z, report, y), np.ones(n)
        else:
            table = np.zeros((3, len(mechanism.outputs), int(y.max()) + 1))
            np.add.at(table, (z, report, y), 1)
            rows = np.nonzero(table)
            weights = table[rows]
        prepared = _prepared(model, mechanism, *rows)
        hits.append(covered(prepared.problem, prepared.back, truth, weights))
    assert_covered(np.mean(hits, axis=0), (model, which))


@pytest.mark.slow
@pytest.mark.parametrize("which", ["keep", "design", "skew"])
def test_intervals_of_corrected_scores_hold_where_the_model_is_wrong(which):
    """Counts that vary three times as much as a Poisson model says; robust errors."""
    truth, n = np.array([0.2, 0.5, -0.5, 0.3]), 4000
    mechanism = mechanisms(PRIOR)[which]
    generator = np.random.default_rng(3)
    hits = []
    for _ in range(SURVEYS):
        z = generator.choice(3, n, p=Z_SHARES)
        x = np.argmax(np.array([[0.4], [0.2], [0.0]]) + generator.gumbel(size=(3, n)), axis=0)
        report = surveys.draw(generator, mechanism, x)
        mean = np.exp(truth[0] + np.array([0.0, truth[1], truth[2]])[x] + truth[3] * Z[z])
        y = generator.poisson(mean * generator.gamma(1.0, 1.0, n))
        table = np.zeros((3, len(mechanism.outputs), int(y.max()) + 1))
        np.add.at(table, (z, report, y), 1)
        rows = np.nonzero(table)
        made = replace(
            _assembly("poisson", mechanism, *rows),
            weights=table[rows],
            squares=table[rows],
            covariates=None,
            corrections=(corrections(mechanism.matrix, report)[None],),
            corrected=True,
        )
        prepared = made.problem()
        peak = climb(prepared.problem, np.linalg.solve(prepared.back, truth))
        V = covariance(Fit(prepared, peak, prepared.back @ peak.theta), made, "robust", n)
        off = np.abs(prepared.back @ peak.theta - truth)
        hits.append(peak.converged & (off <= 1.959963984540054 * np.sqrt(np.diag(V))))
    assert_covered(np.mean(hits, axis=0), which)


def _prepared(model, mechanism, z, report, y):
    return _assembly(model, mechanism, z, report, y).problem()


def _assembly(model, mechanism, z, report, y):
    """These rows as regress() has them, without its reading of frames."""
    n = len(z)
    family = family_of(model, 2 if model == "logit" else 0)
    one, slope = np.ones(n), Z[z]
    designs = tuple(np.column_stack([one, (k == 1) * one, (k == 2) * one, slope]) for k in range(3))
    channels = [Channel(report, mechanism.matrix[None])]
    if model == "logit":
        channels.append(Channel(y, np.eye(2)[:, None]))
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
