"""Covariances of coefficients: from the information, or from the spread of scores between rows or clusters."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse

from ..._common.threads import one_thread
from ..._common.types import Floats
from ...errors import ValuesError
from .families import Discrete, Gaussian, pairs
from .fit import Fitted
from .likelihood import Likelihood, unpacked, weighted_products

ERRORS = ("information", "robust", "cluster")


def covariance(fitted: Fitted, errors: str, rows: int) -> Floats:
    """The covariance of the coefficients.

    - "information": the inverse of the observed information. The variance of a Gaussian outcome is divided by rows
      less coefficients, as in least squares.
    - "robust": the sandwich (HC0). It holds whatever the weights, and if the model is a little wrong.
    - "cluster": the sandwich of sums over clusters, times G / (G - 1) (n - 1) / (n - q) as in statsmodels.
    """
    likelihood, assembly, back = fitted.prepared.likelihood, fitted.prepared.assembly, fitted.prepared.back
    V = bread = fitted.bread
    if errors == "information":
        if isinstance(likelihood.family, Gaussian):
            q = likelihood.contrast.shape[1] - 1
            V = bread * (assembly.total / (assembly.total - q))
    elif errors == "robust":
        V = bread @ _spread(fitted) @ bread
    else:
        V = bread @ _between(fitted, rows) @ bread
    V = back @ V @ back.T
    return np.asarray((V + V.T) / 2)


def _spread(fitted: Fitted) -> Floats:
    """The scores' products, summed over rows."""
    total = np.zeros_like(fitted.bread)
    for part, scores in fitted.prepared.likelihood.scores(fitted.peak.theta):
        total += (fitted.prepared.assembly.squares[part] * scores) @ scores.T
    return total


def _between(fitted: Fitted, rows: int) -> Floats:
    """The same for sums of scores over clusters."""
    likelihood, assembly = fitted.prepared.likelihood, fitted.prepared.assembly
    assert assembly.clusters is not None
    count = int(assembly.clusters.max()) + 1
    if count < 2:
        raise ValuesError("errors between clusters need at least 2 clusters", given=count)
    sums = np.zeros((count, likelihood.size))
    for part, scores in likelihood.scores(fitted.peak.theta):
        own = assembly.clusters[part]
        where = (own, np.arange(len(own)))
        indicator = scipy.sparse.csr_matrix((likelihood.weights[part], where), shape=(count, len(own)))
        sums += np.asarray(indicator @ scores.T)
    return (sums.T @ sums) * (count / (count - 1) * (rows - 1) / (rows - likelihood.size))


@one_thread
def variance_ratios(fitted: Fitted) -> Floats:
    """How many times larger the variance of each coefficient is than from true answers, at these coefficients.

    With a private outcome alone both variances come from the expected information. With private predictors the
    information of true answers is what is expected of it given the reports, beside the observed one. Of corrected
    scores both are sandwiches, that of true scores corrected.
    """
    likelihood, theta, back = fitted.prepared.likelihood, fitted.peak.theta, fitted.prepared.back
    if likelihood.corrected:
        back = back @ fitted.bread
        private, clear = (
            np.einsum("ij,jk,ik->i", back, spread, back) for spread in (_spread(fitted), _true_spread(fitted))
        )
        return np.asarray(np.divide(private, clear, out=np.full(len(private), np.inf), where=clear > 0))
    if len(likelihood.designs) == 1 and isinstance(likelihood.family, Discrete):
        table = likelihood.channels[0].table[:, 0].T
        reports = _expected(likelihood, theta, table)
        truth = _expected(likelihood, theta, np.eye(table.shape[1]))
    else:
        reports, truth = -fitted.peak.at.hessian, _complete(likelihood, theta)
    private, clear = (np.einsum("ij,jk,ik->i", back, np.linalg.inv(I), back) for I in (reports, truth))
    return np.asarray(private / clear)


def _true_spread(fitted: Fitted) -> Floats:
    """What the scores' products would sum to with true answers, by corrections."""
    likelihood, squares = fitted.prepared.likelihood, fitted.prepared.assembly.squares
    B, gamma = likelihood.coefficients(fitted.peak.theta)
    first, second = pairs(likelihood.family.predictors)
    C, p = likelihood.contrast, len(likelihood.designs[0])
    packed = np.zeros((len(first), p, p))
    for rows in likelihood.blocks():
        parts = likelihood.parts(rows, B, gamma)
        for k, row in enumerate(parts.outcomes):
            u = row.gradient
            share = squares[rows] * parts.given[k]
            packed += weighted_products(share * u[first] * u[second], likelihood.designs[k][:, rows])
    return np.asarray(C.T @ unpacked(packed) @ C)


def _expected(likelihood: Likelihood, theta: Floats, table: Floats) -> Floats:
    """The expected information of reports that are drawn with P(y | j) = table[y, j]."""
    family = likelihood.family
    first, second = pairs(family.predictors)
    B, _ = likelihood.coefficients(theta)
    p = len(likelihood.designs[0])
    total = np.zeros((len(first), p, p))
    for rows in likelihood.blocks():
        X = likelihood.designs[0][:, rows]
        eta = B @ X
        packed = np.zeros((len(first), X.shape[1]))
        with np.errstate(divide="ignore", invalid="ignore"):
            for emission in table:
                if emission.max() > 0:
                    row = family.rows(eta, np.broadcast_to(emission[:, None], (len(emission), X.shape[1])))
                    u, q = row.gradient, np.exp(row.value)
                    packed += np.where(q > 0, q * u[first] * u[second], 0.0)
        total += weighted_products(likelihood.weights[rows] * packed, X)
    C = likelihood.contrast
    return np.asarray(C.T @ unpacked(total) @ C)


def _complete(likelihood: Likelihood, theta: Floats) -> Floats:
    """What the information would be with true answers, expected given the reports."""
    B, gamma = likelihood.coefficients(theta)
    D, p = likelihood.family.predictors, len(likelihood.designs[0])
    total = np.zeros((D * (D + 1) // 2, p, p))
    rest = np.zeros((0, 0, 0))
    for rows in likelihood.blocks():
        parts, (seen, _) = likelihood.parts(rows, B, gamma), likelihood.seen(rows)
        for k, X in enumerate(X[:, rows] for X in likelihood.designs):
            curvature = parts.outcomes[k].hessian
            if isinstance(likelihood.family, Discrete):
                curvature = _answered(likelihood.family, B @ X, seen[k])
            total -= weighted_products(likelihood.weights[rows] * parts.given[k] * curvature, X)
        if likelihood.covariates is not None:
            w = np.broadcast_to(parts.prior, parts.given.shape)[1:]
            first, second = pairs(len(w))
            spread = -w[first] * w[second]
            spread[first == second] += w
            own = weighted_products(likelihood.weights[rows] * spread, likelihood.covariates[:, rows])
            rest = own if not rest.size else rest + own
    C = likelihood.contrast
    found = np.asarray(C.T @ unpacked(total) @ C)
    return found if likelihood.covariates is None else scipy.linalg.block_diag(found, unpacked(rest))


def _answered(family: Discrete, eta: Floats, seen: Floats) -> Floats:
    """The Hessian of the log-probability of the true answer, expected given the report."""
    rho = seen * family.shares(eta)
    rho /= rho.sum(axis=0)
    total = np.zeros((family.predictors * (family.predictors + 1) // 2, eta.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        for j in range(family.answers):
            answer = np.zeros((family.answers, eta.shape[1]))
            answer[j] = 1.0
            hessian = family.rows(eta, answer).hessian
            total += np.where(rho[j] > 0, rho[j] * hessian, 0.0)
    return total
