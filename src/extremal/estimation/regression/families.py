"""Models of an outcome given linear predictors: the likelihood of one row, and its first two derivatives.

A discrete outcome is seen through emissions m_j = P(report | answer j): one row has the likelihood g = Σ_j m_j p_j(η).
True answers are the special case m_j ∈ {0, 1}. Arrays have one column for each row of the data, so that what is done to
all of them lies together in memory. Second derivatives are symmetric; their pairs (d, e) with d <= e are packed, in the
order of numpy's triu_indices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ..._common import checks
from ..._common.types import Floats, Ints
from ..._common.words import shorten
from ...errors import OptionError
from ...model.labels import Labels

ROUNDING = 1e-13  # of a difference of probabilities
ROOT_TWO_PI = float(np.sqrt(2 * np.pi))


class Row(NamedTuple):
    """log g of each row (n), its gradient (D, n) and packed Hessian (D (D + 1) / 2, n) in the linear predictors."""

    value: Floats
    gradient: Floats
    hessian: Floats


class Link(NamedTuple):
    """A symmetric distribution: its distribution function, density and the density's derivative."""

    cdf: Callable[[Floats], Floats]
    density: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    quantile: Callable[[Floats], Floats]


def _logistic_density(x: Floats) -> Floats:
    return special.expit(x) * special.expit(-x)


def _logistic_slope(x: Floats) -> Floats:
    return _logistic_density(x) * -np.tanh(x / 2)


def _normal_density(x: Floats) -> Floats:
    return np.exp(-x * x / 2) / ROOT_TWO_PI


def _normal_slope(x: Floats) -> Floats:
    return -x * _normal_density(x)


LOGIT = Link(special.expit, _logistic_density, _logistic_slope, special.logit)
PROBIT = Link(special.ndtr, _normal_density, _normal_slope, special.ndtri)


@cache
def pairs(size: int) -> tuple[Ints, Ints]:
    """The pairs (d, e), d <= e, in the order in which they are packed."""
    rows, columns = np.triu_indices(size)
    return rows.astype(np.int64), columns.astype(np.int64)


class Family(ABC):
    """How an outcome depends on `predictors` linear predictors."""

    @property
    @abstractmethod
    def predictors(self) -> int:
        """The number D of linear predictors of a row."""

    @abstractmethod
    def rows(self, eta: Floats, seen: Floats) -> Row:
        """Likelihoods of rows with predictors (D, n); `seen` are emissions (J, n) or numbers (n)."""

    @abstractmethod
    def constants(self, typical: Floats) -> Floats:
        """The linear predictors (D,) of a row with these shares, or with this mean and standard deviation."""

    @abstractmethod
    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        """Expected outcomes (A, n), shares of the answers or one mean, and their derivatives (A, D, n)."""


@dataclass(frozen=True)
class Discrete(Family):
    """An outcome with finitely many answers, and one predictor fewer."""

    answers: int

    @property
    def predictors(self) -> int:
        return self.answers - 1

    @abstractmethod
    def shares(self, eta: Floats) -> Floats:
        """The probability of every answer (J, n)."""


@dataclass(frozen=True)
class Binary(Discrete):
    """Two answers; the second has probability F(η)."""

    link: Link

    def shares(self, eta: Floats) -> Floats:
        return np.concatenate([self.link.cdf(-eta), self.link.cdf(eta)])

    def rows(self, eta: Floats, seen: Floats) -> Row:
        g = (seen * self.shares(eta)).sum(axis=0)
        c = (seen[1:] - seen[:1]) / g
        u = c * self.link.density(eta)
        return Row(np.log(g), u, c * self.link.slope(eta) - u * u)

    def constants(self, typical: Floats) -> Floats:
        return self.link.quantile(typical[1:])

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        f = self.link.density(eta)
        return self.shares(eta), np.stack([-f, f])


@dataclass(frozen=True)
class Multinomial(Discrete):
    """J answers; η_d is the log of the odds of answer d against the first."""

    def shares(self, eta: Floats) -> Floats:
        p = np.empty((self.answers, eta.shape[1]))
        top = np.maximum(eta.max(axis=0), 0.0)
        np.negative(top, out=p[0])
        np.subtract(eta, top, out=p[1:])
        np.exp(p, out=p)
        p /= p.sum(axis=0)
        return p

    def rows(self, eta: Floats, seen: Floats) -> Row:
        p = self.shares(eta)
        rho = seen * p
        g = rho.sum(axis=0)
        rho /= g  # of the answers, given the report
        rho, p = rho[1:], p[1:]
        u = rho - p
        first, second = pairs(self.predictors)
        hessian = np.empty((len(first), len(g)))
        for k, (d, e) in enumerate(zip(first, second, strict=True)):
            np.multiply(p[d], p[e], out=hessian[k])
            hessian[k] -= rho[d] * rho[e]
            if d == e:
                hessian[k] += u[d]
        return Row(np.log(g), u, hessian)

    def constants(self, typical: Floats) -> Floats:
        return np.asarray(np.log(typical[1:] / typical[0]))

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        p = self.shares(eta)
        change = -p[:, None] * p[None, 1:]
        for d in range(self.predictors):
            change[d + 1, d] += p[d + 1]
        return p, change


@dataclass(frozen=True)
class Ordinal(Discrete):
    """J answers in order; the first d + 1 of them have probability F(η_d), η_d = threshold d less the slope."""

    link: Link

    def shares(self, eta: Floats) -> Floats:
        p = np.empty((self.answers, eta.shape[1]))
        p[0] = self.link.cdf(eta[0])
        p[-1] = self.link.cdf(-eta[-1])
        low, high = eta[:-1], eta[1:]
        sign = np.where(low > 0, -1.0, 1.0)  # the difference of two small tails, not of two numbers near 1
        p[1:-1] = sign * (self.link.cdf(sign * high) - self.link.cdf(sign * low))
        return p

    def rows(self, eta: Floats, seen: Floats) -> Row:
        p = self.shares(eta)
        g = np.where(
            p.min(axis=0) < -ROUNDING, 0.0, (seen * p).sum(axis=0)
        )  # thresholds out of order: impossible
        c = (seen[:-1] - seen[1:]) / g
        u = c * self.link.density(eta)
        first, second = pairs(self.predictors)
        hessian = -u[first] * u[second]
        hessian[first == second] += c * self.link.slope(eta)
        return Row(np.log(g), u, hessian)

    def constants(self, typical: Floats) -> Floats:
        return self.link.quantile(np.cumsum(typical)[:-1])

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        f = self.link.density(eta)
        change = np.zeros((self.answers, *eta.shape))
        for d in range(self.predictors):
            change[d, d], change[d + 1, d] = f[d], -f[d]
        return self.shares(eta), change


@dataclass(frozen=True)
class Gaussian(Family):
    """A number with mean η_0 and standard deviation exp(η_1)."""

    predictors = 2

    def rows(self, eta: Floats, seen: Floats) -> Row:
        precision = np.exp(-2 * eta[1])
        residual = seen - eta[0]
        square = residual * residual * precision
        value = -square / 2 - eta[1] - np.log(ROOT_TWO_PI)
        u = np.stack([residual * precision, square - 1])
        return Row(value, u, np.stack([-precision, -2 * residual * precision, -2 * square]))

    def constants(self, typical: Floats) -> Floats:
        return np.array([typical[0], np.log(typical[1])])

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        change = np.zeros((1, *eta.shape))
        change[0, 0] = 1.0
        return eta[:1], change


@dataclass(frozen=True)
class Poisson(Family):
    """A count with mean exp(η)."""

    predictors = 1

    def rows(self, eta: Floats, seen: Floats) -> Row:
        mean = np.exp(eta)
        value = seen * eta[0] - mean[0] - special.gammaln(seen + 1)
        return Row(value, seen - mean, -mean)

    def constants(self, typical: Floats) -> Floats:
        return np.log(typical[:1])

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        mean = np.exp(eta)
        return mean, mean[None]


TITLES = {
    "logit": "logit",
    "probit": "probit",
    "multinomial": "multinomial logit",
    "ordinal": "ordinal logit",
    "ordinal-probit": "ordinal probit",
    "gaussian": "linear model",
    "poisson": "Poisson model",
}
DISCRETE = ("logit", "probit", "multinomial", "ordinal", "ordinal-probit")


def check_model(model: Any) -> str | None:
    """The name of a model, None for the default; "binomial" is another name of the logit model."""
    if model is None:
        return None
    remedy = "leave it out for the usual one"
    return "logit" if model == "binomial" else checks.choice(model, "model", TITLES, remedy=remedy)


def family_of(model: str, answers: int) -> Family:
    """The family of a model for an outcome with so many answers."""
    if model == "gaussian":
        return Gaussian()
    if model == "poisson":
        return Poisson()
    if model in ("logit", "probit") and answers != 2:
        raise OptionError(
            f"{model} is a model of 2 answers",
            given=f"{answers} answers",
            remedy='use `model="multinomial"` or `model="ordinal"`',
        )
    if answers < 2:
        raise OptionError("an outcome must have at least 2 answers", given=answers)
    if model == "multinomial":
        return Multinomial(answers)
    link = PROBIT if model.endswith("probit") else LOGIT
    return Ordinal(answers, link) if model.startswith("ordinal") else Binary(answers, link)


def default_model(answers: int) -> str:
    """The usual model of a discrete outcome."""
    return "logit" if answers == 2 else "multinomial"


def model_of_clear(column: Any, model: str | None) -> str:
    """The model of an outcome in the clear: numbers with more than two values have a mean, others shares."""
    if model is not None:
        return model
    import pandas as pd

    counted = int(pd.Series(column).nunique())
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return "gaussian" if numeric and counted > 2 else default_model(counted)


def ordered(labels: Labels, answers: Sequence[Any] | None, model: str) -> tuple[Any, ...]:
    """The answers in the order of the model: those named first, the rest as the mechanism has them.

    The first is the reference of a multinomial model, the lowest of an ordinal one.
    """
    if answers is None:
        return tuple(labels)
    given = [answers] if isinstance(answers, str) or not isinstance(answers, Sequence) else list(answers)
    texts = {str(x): x for x in labels}
    named = [x if x in labels else texts.get(str(x)) for x in given]
    if None in named or len(set(named)) < len(named):
        raise OptionError(
            f"must be different labels of {shorten(labels)}", parameter="answers", given=repr(given)[:80]
        )
    if model.startswith("ordinal") and len(named) < len(labels):
        raise OptionError(
            f"must name all {len(labels)} answers of an ordinal model, from the lowest to the highest",
            parameter="answers",
            given=f"{len(named)}",
        )
    return (*named, *(x for x in labels if x not in set(named)))


def clear_levels(column: Any) -> Labels:
    """The answers of a discrete outcome in the clear: declared categories, or its values in their order."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return tuple(column.cat.categories)
    values = pd.unique(column.dropna())
    try:
        return tuple(x.item() if isinstance(x, np.generic) else x for x in sorted(values))
    except TypeError:
        return tuple(sorted(values, key=str))
