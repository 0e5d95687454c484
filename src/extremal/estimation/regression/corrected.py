"""Private predictors without a model of them: scores corrected by the inverse of the mechanism.

A table c with Σ_y P(y|x) c[k, y] = 1 if x = k, else 0, makes Σ_k c[k, y] s(k) an unbiased stand-in for the score s(x)
of the true x, whatever the distribution of x and of the outcome (Nakamura, 1990). So corrected coefficients estimate
what a regression on true answers would, also where the outcome's model is wrong. The likelihood does not: it takes
everything that the outcome's model leaves unexplained for a hint at x.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.special

from ..._common.threads import one_thread
from ..._common.types import Floats
from ...errors import OptionError, RegressionError
from .assembly import Assembly, shares_of
from .families import pairs
from .fit import Fit, calibrated, fit
from .likelihood import unpacked, weighted_products

DIFFERENT = 1e-3  # p-values below: the outcome's model is called wrong


def fit_corrected(assembly: Assembly, rows: int) -> Fit:
    """The coefficients at which the corrected scores sum to 0."""
    if assembly.corrections is None:
        raise OptionError(
            'predictors="corrected" needs reports of predictors that were drawn apart from the outcome',
            given="a mechanism for both",
            remedy='use `predictors="covariates"`',
        )
    K = len(assembly.designs)
    shares = np.full(K, 1.0)
    for channel in assembly.channels:
        if channel.table.shape[1] > 1:
            shares = shares * shares_of(channel, assembly.weights).sum(axis=0)
    log_shares = np.log(np.maximum(shares / shares.sum(), 1e-12))
    plain = replace(assembly, covariates=None, covariate_names=(), log_shares=log_shares)
    start = calibrated(plain)
    return fit(replace(plain, corrected=True), rows, start=start)


@one_thread
def variance_ratios_corrected(fitted: Fit, assembly: Assembly) -> Floats:
    """How many times larger variances are than from true answers: both sandwiches, that of true scores corrected."""
    problem, back = fitted.prepared.problem, fitted.prepared.back
    theta, bread = fitted.peak.theta, np.linalg.inv(-fitted.peak.at.hessian)
    private = np.zeros_like(bread)
    B, gamma = problem.coefficients(theta)
    first, second = pairs(problem.family.predictors)
    C, p = problem.contrast, len(problem.designs[0])
    packed = np.zeros((len(first), p, p))
    for rows, scores in problem.scores(theta):
        private += (assembly.squares[rows] * scores) @ scores.T
        parts = problem.parts(rows, B, gamma)
        for k, row in enumerate(parts.outcomes):
            u = row.gradient
            share = assembly.squares[rows] * parts.given[k]
            packed += weighted_products(share * u[first] * u[second], problem.designs[k][:, rows])
    clear = C.T @ unpacked(packed) @ C
    one, other = (np.einsum("ij,jk,ik->i", back @ bread, M, back @ bread) for M in (private, clear))
    return np.asarray(np.divide(one, other, out=np.full(len(one), np.inf), where=other > 0))


def misfit(fitted: Fit, assembly: Assembly, rows: int) -> float | None:
    """The p-value of Hausman's test that likelihood and correction estimate the same coefficients.

    Near 0 the model of the outcome is wrong, and the likelihood has made up for it with the private predictors. None
    where the corrected scores have no solution, and for clusters, between which rows are not independent.
    """
    if assembly.corrections is None or assembly.clusters is not None:
        return None
    try:
        other = fit_corrected(assembly, rows)
    except RegressionError:
        return None
    q = fitted.prepared.problem.contrast.shape[1]
    difference = fitted.peak.theta[:q] - other.peak.theta
    gap = _influence(fitted)[:q] - _influence(other)
    V = (assembly.squares * gap) @ gap.T
    values, vectors = np.linalg.eigh(V)
    scale = float(np.trace(np.linalg.inv(-other.peak.at.hessian)))
    known = values > 1e-9 * scale
    if not known.any():  # true answers: both are the same
        return 1.0
    statistic = float((((vectors.T @ difference)[known]) ** 2 / values[known]).sum())
    return float(scipy.special.gammaincc(int(known.sum()) / 2, statistic / 2))


def _influence(fitted: Fit) -> Floats:
    """How each row moves the coordinates."""
    bread = np.linalg.inv(-fitted.peak.at.hessian)
    found = fitted.prepared.problem.scores(fitted.peak.theta)
    return np.hstack([bread @ scores for _, scores in found])
