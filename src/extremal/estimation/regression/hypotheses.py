"""Tests of terms, Wald's and the ratio of likelihoods; and Hausman's, of the outcome's model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

from ..._common.frames import Tabular
from ..._common.threads import one_thread
from ..._common.types import Floats
from ...errors import OptionError, RegressionError
from .assembly import Assembly
from .fit import Fitted, fit, fit_corrected
from .tables import aligned

if TYPE_CHECKING:
    from .result import Regression


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

    def columns(self) -> dict[str, list[Any]]:
        """Heading -> values; None where there is no likelihood-ratio test."""
        return {
            "term": [term for term, *_ in self.tests],
            "degrees": [wald.degrees for _, wald, _ in self.tests],
            "wald": [wald.statistic for _, wald, _ in self.tests],
            "wald_p": [wald.p_value for _, wald, _ in self.tests],
            "likelihood_ratio": [None if lr is None else lr.statistic for *_, lr in self.tests],
            "likelihood_ratio_p": [None if lr is None else lr.p_value for *_, lr in self.tests],
        }

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each row."""
        columns = self.columns()
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

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
    if term is not None and term not in terms:
        raise OptionError(f"must be a term of {', '.join(terms)}", parameter="term", given=repr(term)[:40])
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
        if other not in result.assembly.terms:
            raise OptionError(
                f"must be a term of {', '.join(result.assembly.terms)}",
                parameter="term",
                given=repr(other)[:40],
            )
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
    same = (
        other.rows == result.rows
        and other.model == result.model
        and other.answers == result.answers
        and other.private == result.private
        and other.errors == result.errors
        and np.isclose(other.assembly.total, result.assembly.total)
    )
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
