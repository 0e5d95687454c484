"""Covariances of coefficients, from the information or from the spread of scores between rows or clusters; and tests.

Tests of terms are Wald's and the ratio of likelihoods; Hausman's is of the outcome's model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.special

from ..._common import checks
from ..._common.frames import Tabular
from ..._common.threads import one_thread
from ..._common.types import Floats
from ..._common.words import aligned
from ...errors import OptionError, RegressionError, ValuesError
from .assembly import Assembly
from .families import Discrete, Gaussian, pairs
from .fit import Fitted, fit, fit_corrected
from .likelihood import Likelihood, unpacked, weighted_products

if TYPE_CHECKING:
    from .result import Regression


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
    else:
        V = bread @ (_spread(fitted) if errors == "robust" else _between(fitted, rows)) @ bread
    V = back @ V @ back.T
    return (V + V.T) / 2


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
    return C.T @ unpacked(packed) @ C


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
    return C.T @ unpacked(total) @ C


def _complete(likelihood: Likelihood, theta: Floats) -> Floats:
    """What the information would be with true answers, expected given the reports."""
    B, gamma = likelihood.coefficients(theta)
    D, p = likelihood.family.predictors, len(likelihood.designs[0])
    total = np.zeros((D * (D + 1) // 2, p, p))
    shared, c = len(likelihood.designs) - 1, len(likelihood.covariates)
    rest = np.zeros((shared * (shared + 1) // 2, c, c))
    for rows in likelihood.blocks():
        parts, (seen, _) = likelihood.parts(rows, B, gamma), likelihood.seen(rows)
        for k, X in enumerate(X[:, rows] for X in likelihood.designs):
            curvature = parts.outcomes[k].hessian
            if isinstance(likelihood.family, Discrete):
                curvature = _answered(likelihood.family, B @ X, seen[k])
            total -= weighted_products(likelihood.weights[rows] * parts.given[k] * curvature, X)
        w = np.broadcast_to(parts.prior, parts.given.shape)[1:]
        first, second = pairs(len(w))
        spread = -w[first] * w[second]
        spread[first == second] += w
        rest = rest + weighted_products(likelihood.weights[rows] * spread, likelihood.covariates[:, rows])
    C = likelihood.contrast
    return scipy.linalg.block_diag(C.T @ unpacked(total) @ C, unpacked(rest))


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


@dataclass(frozen=True)
class Test:
    """A statistic that follows a chi-squared distribution if the hypothesis holds, approximately.

    Attributes
    ----------
    name
        What was tested.
    statistic
        The statistic.
    degrees
        Degrees of freedom.
    p_value
        The p-value.
    """

    name: str
    statistic: float
    degrees: int
    p_value: float

    def __str__(self) -> str:
        p = "p < 0.0001" if self.p_value < 0.0001 else f"p = {self.p_value:.4f}"
        return f"{self.name}: chi2({self.degrees}) = {self.statistic:.3f}, {p}"


@dataclass(frozen=True, eq=False, repr=False)
class TestTable(Tabular):
    """The tests of each term, one a row.

    Attributes
    ----------
    tests
        For each term its name, its Wald test and its likelihood-ratio test.
    """

    tests: tuple[tuple[str, Test, Test | None], ...]  # term, Wald, likelihood ratio

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each row; None where there is no likelihood-ratio test."""
        return [
            {
                "term": term,
                "degrees": wald.degrees,
                "wald": wald.statistic,
                "wald_p": wald.p_value,
                "likelihood_ratio": None if lr is None else lr.statistic,
                "likelihood_ratio_p": None if lr is None else lr.p_value,
            }
            for term, wald, lr in self.tests
        ]

    def __str__(self) -> str:
        head = ["term", "df", "Wald chi2", "P>chi2", "LR chi2", "P>chi2"]
        body = []
        for term, wald, lr in self.tests:
            row = [term, str(wald.degrees), f"{wald.statistic:.3f}", f"{wald.p_value:.4f}"]
            row += ["-", "-"] if lr is None else [f"{lr.statistic:.3f}", f"{lr.p_value:.4f}"]
            body.append(row)
        return "\n".join(aligned([head, *body], 1))

    __repr__ = __str__


@one_thread
def wald(result: Regression, term: str | None) -> Test:
    """That the coefficients of a term, or of all terms but the intercept, are 0."""
    terms = result.assembly.terms
    if term is not None:
        checks.choice(term, "term", terms)
    tested = [name for name in terms if (name == term if term is not None else name != "1")]
    names = {result.assembly.names[k] for name in tested for k in terms[name]}
    chosen = [k for k, p in enumerate(result.parameters) if p.part == "" and p.column in names]
    if not chosen:
        raise OptionError("the model has no such coefficients to test", given=repr(term)[:40])
    b, V = result.coefficients[chosen], result.covariance[np.ix_(chosen, chosen)]
    statistic = float(b @ np.linalg.solve(V, b))
    return _test(f"Wald test of {term or 'all terms'}", statistic, len(chosen))


@one_thread
def likelihood_ratio(result: Regression, other: Regression | str) -> Test:
    """Against a nested model: the same rows and reports, fewer coefficients."""
    if result.errors != "information":
        raise OptionError(
            "a likelihood-ratio test needs errors from the information",
            given=f'errors="{result.errors}"',
            remedy="use the Wald test",
        )
    if isinstance(other, str):
        checks.choice(other, "term", result.assembly.terms)
        nested = fit(result.assembly.without(other), result.rows)
        size, value = len(nested.coefficients), nested.log_likelihood
        name = f"likelihood-ratio test of {other}"
    else:
        _check_nested(result, other)
        size, value = len(other.coefficients), other.log_likelihood
        name = f"likelihood-ratio test against {other.formula}"
    degrees = len(result.coefficients) - size
    return _test(name, max(0.0, 2 * (result.log_likelihood - value)), degrees)


def _check_nested(result: Regression, other: Regression) -> None:
    """Refuse models that are not nested, as far as rows, columns and the model tell."""
    alike = ("rows", "model", "answers", "private", "errors")
    same = all(getattr(other, name) == getattr(result, name) for name in alike)
    same = same and bool(np.isclose(other.assembly.total, result.assembly.total))
    if not same or len(other.coefficients) >= len(result.coefficients):
        raise OptionError(
            "the other model must be nested in this one: the same rows, model and mechanism, fewer terms",
            given=f"{other.model} of {other.rows} rows and {len(other.coefficients)} coefficients, "
            f"{result.model} of {result.rows} rows and {len(result.coefficients)}",
        )


@one_thread
def tests(result: Regression) -> TestTable:
    """Of each term but the intercept."""
    found = []
    for term in result.assembly.terms:
        if term != "1":
            ratio = likelihood_ratio(result, term) if result.errors == "information" else None
            found.append((term, wald(result, term), ratio))
    if not found:
        raise OptionError("the model has no terms to test", given=repr(result.formula))
    return TestTable(tuple(found))


def misfit(fitted: Fitted, assembly: Assembly, rows: int) -> float | None:
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
    q = fitted.prepared.likelihood.contrast.shape[1]
    difference = fitted.peak.theta[:q] - other.peak.theta
    gap = _influence(fitted)[:q] - _influence(other)
    V = (assembly.squares * gap) @ gap.T
    values, vectors = np.linalg.eigh(V)
    scale = float(np.trace(other.bread))
    known = values > 1e-9 * scale
    if not known.any():  # true answers: both are the same
        return 1.0
    statistic = float((((vectors.T @ difference)[known]) ** 2 / values[known]).sum())
    return float(scipy.special.gammaincc(int(known.sum()) / 2, statistic / 2))


def _influence(fitted: Fitted) -> Floats:
    """How each row moves the coordinates."""
    found = fitted.prepared.likelihood.scores(fitted.peak.theta)
    return np.hstack([fitted.bread @ scores for _, scores in found])


def _test(name: str, statistic: float, degrees: int) -> Test:
    return Test(name, statistic, degrees, float(scipy.special.gammaincc(degrees / 2, statistic / 2)))
