"""Covariances of coefficients: from the information, or from the spread of scores between rows or clusters."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse

from ..._common.threads import one_thread
from ..._common.types import Floats
from ...errors import ValuesError
from .families import Discrete, Gaussian, pairs
from .fit import Fit
from .likelihood import Problem, unpacked, weighted_products

ERRORS = ("information", "robust", "cluster")


def covariance(fitted: Fit, errors: str, rows: int) -> Floats:
    """The covariance of the coefficients.

    - "information": the inverse of the observed information. The variance of a Gaussian outcome is divided by rows
      less coefficients, as in least squares.
    - "robust": the sandwich (HC0). It holds whatever the weights, and if the model is a little wrong.
    - "cluster": the sandwich of sums over clusters, times G / (G - 1) (n - 1) / (n - q) as in statsmodels.
    """
    problem, assembly, back = fitted.prepared.problem, fitted.prepared.assembly, fitted.prepared.back
    V = bread = fitted.bread
    if errors == "information":
        if isinstance(problem.family, Gaussian):
            q = problem.contrast.shape[1] - 1
            V = bread * (assembly.total / (assembly.total - q))
    elif errors == "robust":
        V = bread @ _spread(fitted) @ bread
    else:
        V = bread @ _between(fitted, rows) @ bread
    V = back @ V @ back.T
    return np.asarray((V + V.T) / 2)


def _spread(fitted: Fit) -> Floats:
    """The scores' products, summed over rows."""
    total = np.zeros_like(fitted.bread)
    for part, scores in fitted.prepared.problem.scores(fitted.peak.theta):
        total += (fitted.prepared.assembly.squares[part] * scores) @ scores.T
    return total


def _between(fitted: Fit, rows: int) -> Floats:
    """The same for sums of scores over clusters."""
    problem, assembly = fitted.prepared.problem, fitted.prepared.assembly
    assert assembly.clusters is not None
    count = int(assembly.clusters.max()) + 1
    if count < 2:
        raise ValuesError("errors between clusters need at least 2 clusters", given=count)
    sums = np.zeros((count, problem.size))
    for part, scores in problem.scores(fitted.peak.theta):
        own = assembly.clusters[part]
        where = (own, np.arange(len(own)))
        indicator = scipy.sparse.csr_matrix((problem.weights[part], where), shape=(count, len(own)))
        sums += np.asarray(indicator @ scores.T)
    return (sums.T @ sums) * (count / (count - 1) * (rows - 1) / (rows - problem.size))


@one_thread
def variance_ratios(fitted: Fit) -> Floats:
    """How many times larger the variance of each coefficient is than from true answers, at these coefficients.

    With a private outcome alone both variances come from the expected information. With private predictors the
    information of true answers is what is expected of it given the reports, beside the observed one. Of corrected
    scores both are sandwiches, that of true scores corrected.
    """
    problem, theta, back = fitted.prepared.problem, fitted.peak.theta, fitted.prepared.back
    if problem.corrected:
        back = back @ fitted.bread
        private, clear = (
            np.einsum("ij,jk,ik->i", back, spread, back) for spread in (_spread(fitted), _true_spread(fitted))
        )
        return np.asarray(np.divide(private, clear, out=np.full(len(private), np.inf), where=clear > 0))
    if len(problem.designs) == 1 and isinstance(problem.family, Discrete):
        table = problem.channels[0].table[:, 0].T
        reports = _expected(problem, theta, table)
        truth = _expected(problem, theta, np.eye(table.shape[1]))
    else:
        reports, truth = -fitted.peak.at.hessian, _complete(problem, theta)
    private, clear = (np.einsum("ij,jk,ik->i", back, np.linalg.inv(I), back) for I in (reports, truth))
    return np.asarray(private / clear)


def _true_spread(fitted: Fit) -> Floats:
    """What the scores' products would sum to with true answers, by corrections."""
    problem, squares = fitted.prepared.problem, fitted.prepared.assembly.squares
    B, gamma = problem.coefficients(fitted.peak.theta)
    first, second = pairs(problem.family.predictors)
    C, p = problem.contrast, len(problem.designs[0])
    packed = np.zeros((len(first), p, p))
    for rows in problem.blocks():
        parts = problem.parts(rows, B, gamma)
        for k, row in enumerate(parts.outcomes):
            u = row.gradient
            share = squares[rows] * parts.given[k]
            packed += weighted_products(share * u[first] * u[second], problem.designs[k][:, rows])
    return np.asarray(C.T @ unpacked(packed) @ C)


def _expected(problem: Problem, theta: Floats, table: Floats) -> Floats:
    """The expected information of reports that are drawn with P(y | j) = table[y, j]."""
    family = problem.family
    first, second = pairs(family.predictors)
    B, _ = problem.coefficients(theta)
    p = len(problem.designs[0])
    total = np.zeros((len(first), p, p))
    for rows in problem.blocks():
        X = problem.designs[0][:, rows]
        eta = B @ X
        packed = np.zeros((len(first), X.shape[1]))
        with np.errstate(divide="ignore", invalid="ignore"):
            for emission in table:
                if emission.max() > 0:
                    row = family.rows(eta, np.broadcast_to(emission[:, None], (len(emission), X.shape[1])))
                    u, q = row.gradient, np.exp(row.value)
                    packed += np.where(q > 0, q * u[first] * u[second], 0.0)
        total += weighted_products(problem.weights[rows] * packed, X)
    C = problem.contrast
    return np.asarray(C.T @ unpacked(total) @ C)


def _complete(problem: Problem, theta: Floats) -> Floats:
    """What the information would be with true answers, expected given the reports."""
    B, gamma = problem.coefficients(theta)
    D, p = problem.family.predictors, len(problem.designs[0])
    total = np.zeros((D * (D + 1) // 2, p, p))
    rest = np.zeros((0, 0, 0))
    for rows in problem.blocks():
        parts, (seen, _) = problem.parts(rows, B, gamma), problem.seen(rows)
        for k, X in enumerate(X[:, rows] for X in problem.designs):
            curvature = parts.outcomes[k].hessian
            if isinstance(problem.family, Discrete):
                curvature = _answered(problem.family, B @ X, seen[k])
            total -= weighted_products(problem.weights[rows] * parts.given[k] * curvature, X)
        if problem.covariates is not None:
            w = np.broadcast_to(parts.prior, parts.given.shape)[1:]
            first, second = pairs(len(w))
            spread = -w[first] * w[second]
            spread[first == second] += w
            own = weighted_products(problem.weights[rows] * spread, problem.covariates[:, rows])
            rest = own if not rest.size else rest + own
    C = problem.contrast
    found = np.asarray(C.T @ unpacked(total) @ C)
    return found if problem.covariates is None else scipy.linalg.block_diag(found, unpacked(rest))


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
