"""How a regression is shown: figures with standard errors and intervals in tables, and what their reader must know.

Also predicted shares and average marginal effects, with errors by the delta method.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

from ..._common import checks
from ..._common.frames import Tabular, html_rows, html_table
from ..._common.json import json_text
from ..._common.plot import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from ..._common.threads import one_thread
from ..._common.types import Floats
from ..._common.words import aligned
from ...errors import OptionError, ValuesError
from ..promise import Promise
from . import columns
from .families import TITLES
from .likelihood import Likelihood

if TYPE_CHECKING:
    from .result import Regression


DIFFERENT = 1e-3  # p-values below: the outcome's model is called wrong
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)
ERRORS = {
    "information": "from the observed information",
    "robust": "robust (sandwich)",
    "cluster": "robust, between clusters",
}
DOUBT = (
    "the model of the outcome, or that of the private predictors, does not fit: do not trust the coefficients of "
    'private predictors, use predictors="corrected"'
)
PREDICTORS = {
    "covariates": "their shares depend on the other covariates (a multinomial logit fitted along with the model)",
    "shares": "their shares are the same for everybody, whatever the other covariates, and fitted along with the model",
    "prior": "their shares are those of the mechanism's prior, for everybody, and taken as given",
    "corrected": "scores are corrected by the inverse of the mechanism, without a model of their shares",
}


def quantile(confidence: float) -> float:
    """The normal quantile of a two-sided interval."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


@dataclass(frozen=True, eq=False, repr=False)
class FigureTable(Tabular):
    """Figures under keys, such as (answer, term), with normal intervals that each hold with `confidence`.

    `tested` is whether 0 is a value to test against; shares have none.

    Attributes
    ----------
    title
        What the table is about.
    keys
        Headings of the keys.
    labels
        The keys of each row.
    estimates
        The figures.
    covariance
        Their covariance matrix.
    confidence
        The confidence level of each interval.
    tested
        Whether 0 is a value to test against.
    within
        The smallest and the largest possible value.
    """

    title: str
    keys: tuple[str, ...]  # the headings of the keys
    labels: tuple[tuple[Any, ...], ...]
    estimates: Floats
    covariance: Floats
    confidence: float
    tested: bool = True
    within: tuple[float, float] = (-math.inf, math.inf)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    @property
    def promise(self) -> Promise:
        """What the intervals hold with."""
        return Promise(self.confidence, "each", exact=False, choice=False)

    @property
    def standard_errors(self) -> Floats:
        """Of each figure."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def lower(self) -> Floats:
        """Lower ends of the intervals."""
        return np.maximum(self.estimates - quantile(self.confidence) * self.standard_errors, self.within[0])

    @property
    def upper(self) -> Floats:
        """Upper ends of the intervals."""
        return np.minimum(self.estimates + quantile(self.confidence) * self.standard_errors, self.within[1])

    @property
    def z(self) -> Floats:
        """Figures in standard errors; 0 for a figure that is 0 without error."""
        errors = self.standard_errors
        return np.divide(self.estimates, errors, out=np.zeros_like(errors), where=errors > 0)

    @property
    def p_values(self) -> Floats:
        """Two-sided, against 0."""
        return 2 * scipy.special.ndtr(-np.abs(self.z))

    def columns(self) -> dict[str, list[Any]]:
        """Heading -> values."""
        found: dict[str, list[Any]] = {
            key: [labels[k] for labels in self.labels] for k, key in enumerate(self.keys)
        }
        found["estimate"] = self.estimates.tolist()
        found["standard_error"] = self.standard_errors.tolist()
        if self.tested:
            found["z"], found["p_value"] = self.z.tolist(), self.p_values.tolist()
        found["lower"], found["upper"] = self.lower.tolist(), self.upper.tolist()
        return found

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each row."""
        columns = self.columns()
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def to_json(self) -> str:
        """The rows as text; a label that JSON does not know is written as its str()."""
        said = {"title": self.title, "confidence": self.confidence, "intervals": self.promise.kind}
        return json_text({**said, "promise": str(self.promise), "rows": self.rows()})

    def cells(self) -> list[list[str]]:
        """The headings, and the rows as they are printed."""
        low = (1 - self.confidence) / 2
        tested = ["z", "P>|z|"] if self.tested else []
        head = [*self.keys, "estimate", "std error", *tested, f"[{low:.3f}", f"{1 - low:.3f}]"]
        forms = {"z": ".3f", "p_value": ".3f"}
        body = [
            [str(x) if name in self.keys else format(x, forms.get(name, ".4f")) for x in values]
            for name, values in self.columns().items()
        ]
        return [head, *map(list, zip(*body, strict=True))]

    def lines(self) -> list[str]:
        """The rows as text."""
        return aligned(self.cells(), len(self.keys))

    def __str__(self) -> str:
        return "\n".join([self.title, *self.lines(), str(self.promise)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = self.columns()
        body = zip(*columns.values(), strict=True)
        cells = [[f"{x:.4f}" if isinstance(x, float) else str(x) for x in values] for values in body]
        return html_table(f"{self.title}; {self.promise}", html_rows([list(columns), *cells]))


def title(result: Regression) -> str:
    """The model in words."""
    what = TITLES[result.model]
    return f"{what[:1].upper()}{what[1:]} of {result.source.parsed.outcome}"


def every(result: Regression) -> FigureTable:
    """All coefficients, those of private predictors' shares included."""
    return FigureTable(
        f"{title(result)}, {result.rows} rows",
        ("part", "answer", "term"),
        tuple(
            (p.part or "coefficient", "" if p.answer is None else p.answer, p.column)
            for p in result.parameters
        ),
        result.coefficients,
        result.covariance,
        result.confidence,
    )


def facts(result: Regression) -> list[str]:
    """What was fitted to what, and how well."""
    figures = [("Rows", f"{result.rows}"), ("Log-likelihood", f"{result.log_likelihood:.3f}")]
    figures += [("AIC", f"{result.aic:.2f}"), ("BIC", f"{result.bic:.2f}")]
    if result.predictors == "corrected":  # there is no likelihood
        figures[1:] = [("", "")] * 3
    found = [
        ("Outcome", result.source.parsed.outcome, *figures[0]),
        ("Model", TITLES[result.model], *figures[1]),
        ("Private", ", ".join(result.private), *figures[2]),
        ("Errors", ERRORS[result.errors], *figures[3]),
    ]
    return aligned([[f"{a}:", b, f"{c}:" if c else "", d] for a, b, c, d in found], 3)


def tables(result: Regression) -> dict[Any, list[list[str]]]:
    """For each answer, or None, the headings and rows of its coefficients; shares of private predictors have none."""
    first, *rows = every(result).cells()
    head = ["", "coef", "std err", *first[5:], "privacy"]
    found: dict[Any, list[list[str]]] = {}
    for p, ratio, (_, _, *cells) in zip(result.parameters, result.variance_ratios, rows, strict=True):
        if p.part != "private":
            cells.append(f"x {ratio:.2f}" if ratio < 1e6 else "-")
            found.setdefault(p.answer, [head]).append(cells)
    return found


STEP = 1e-4  # of a derivative, in standard deviations of the variable


@one_thread
def predict(result: Regression, data: Any = None) -> Floats:
    """Expected outcomes of each row, (rows, answers) or (rows, 1)."""
    likelihood = _model(result, _rows(result, data), {}, {})
    B, gamma = likelihood.coefficients(result.coefficients)
    shares = np.exp(likelihood.log_priors(slice(None), gamma))
    means = [likelihood.family.mean(B @ X)[0] for X in likelihood.designs]
    return np.asarray(sum(share * mean for share, mean in zip(shares, means, strict=True))).T


@one_thread
def shares(result: Regression, data: Any, at: Mapping[str, Any] | None) -> FigureTable:
    """Expected outcomes on average over the rows."""
    frame = _rows(result, data)
    weights = result.source.weights if data is None else np.ones(len(frame))
    fixed = dict(at or {})
    checks.columns(fixed, sorted(result.source.parsed.columns), "the formula")
    known = result.source.combinations.each
    private = {name: fixed.pop(name) for name in list(fixed) if name in known}
    for name, value in private.items():
        checks.label(value, name, known[name])
    moved = {name: _constant(frame[name], value) for name, value in fixed.items()}
    values, jacobian = _average(result, _model(result, frame, moved, private, weights))
    where = "" if not at else " at " + ", ".join(f"{name} = {value}" for name, value in at.items())
    what = "predicted shares" if result.answers else "predicted mean"
    return FigureTable(
        f"{what}, average of {len(frame)} rows{where}",
        ("answer",),
        tuple((x,) for x in result.answers or (result.source.parsed.outcome,)),
        values,
        jacobian @ result.covariance @ jacobian.T,
        result.confidence,
        tested=False,
        within=(0.0, 1.0) if result.answers else (-np.inf, np.inf),
    )


@one_thread
def effects(result: Regression, variables: Sequence[str]) -> FigureTable:
    """Average marginal effects of variables, all of the formula if none is named."""
    there = sorted(result.source.parsed.columns)
    checks.columns(variables, there, "the formula")
    labels: list[tuple[Any, ...]] = []
    values: list[Floats] = []
    jacobians: list[Floats] = []
    outcomes = result.answers or (result.source.parsed.outcome,)
    for name in variables or there:
        for change, value, jacobian in _changes(result, name):
            labels += [(change, answer) for answer in outcomes]
            values.append(value)
            jacobians.append(jacobian)
    if not values:
        raise OptionError("a model without covariates has no marginal effects", given=repr(result.formula))
    J = np.vstack(jacobians)
    return FigureTable(
        f"average marginal effects, {result.rows} rows",
        ("change", "answer"),
        tuple(labels),
        np.concatenate(values),
        J @ result.covariance @ J.T,
        result.confidence,
    )


def _changes(result: Regression, name: str) -> list[tuple[str, Floats, Floats]]:
    """What is changed, in words, and how expected outcomes and their derivatives change with it."""
    frame, known = result.source.frame, result.source.combinations.each
    levels = known[name] if name in known else _levels(result, name)

    def average(moved: Mapping[str, Any], fixed: Mapping[str, Any]) -> tuple[Floats, Floats]:
        return _average(result, _model(result, frame, moved, fixed, result.source.weights))

    def at(value: Any) -> tuple[Floats, Floats]:
        return (
            average({}, {name: value})
            if name in known
            else average({name: _constant(frame[name], value)}, {})
        )

    if levels is not None:
        base, others = at(levels[0]), [at(x) for x in levels[1:]]
        return [
            (f"{name}: {levels[0]} → {x}", v - base[0], J - base[1])
            for x, (v, J) in zip(levels[1:], others, strict=True)
        ]
    numbers = np.asarray(frame[name], dtype=np.float64)
    step = STEP * (float(numbers.std()) or 1.0)
    up, down = (average({name: moved}, {}) for moved in (numbers + step, numbers - step))
    return [(f"d/d {name}", (up[0] - down[0]) / (2 * step), (up[1] - down[1]) / (2 * step))]


def _levels(result: Regression, name: str) -> Sequence[Any] | None:
    """The levels of a column that the formula takes for categories."""
    import pandas as pd

    column = result.source.frame[name]
    if pd.api.types.is_bool_dtype(column):
        return [False, True]
    for factor, levels in result.source.design.categorical.items():
        inside = factor.partition("(")[2] if "(" in factor else factor
        if inside.split(",")[0].strip(" )`") == name:
            return levels
    return None


def _constant(column: Any, value: Any) -> Any:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical([value] * len(column), dtype=column.dtype)
    return pd.Series([value] * len(column), index=column.index)


def _rows(result: Regression, data: Any) -> Any:
    """The frame that was fitted, or another that has what the right of the formula needs."""
    if data is None:
        return result.source.frame
    clear = sorted(result.source.parsed.columns - set(result.private))
    if not clear:
        raise ValuesError(
            "rows are not needed: the model has no covariates in the clear", remedy="leave data out"
        )
    frame = columns.read(data, clear, [])
    gone = int(np.any([columns.missing(frame[name]) for name in clear], axis=0).sum())
    if gone:
        raise ValuesError("every row must have all covariates", given=f"{gone} of {len(frame)} rows do not")
    for name in clear:  # as it was fitted: text, categories or numbers
        fitted = result.source.frame[name]
        if isinstance(fitted.dtype, type(frame[name].dtype)) or fitted.dtype.kind in "ifb":
            continue
        frame[name] = frame[name].astype(fitted.dtype)
    return frame


def _model(
    result: Regression, frame: Any, moved: Mapping[str, Any], fixed: Mapping[str, Any], weights: Any = 1.0
) -> Likelihood:
    """The model of some rows, in the coefficients themselves.

    Some columns are moved, some private predictors fixed; P(k | z) stays that of the rows as they are, so that what
    changes is the effect of these columns alone.
    """
    source, prepared = result.source, result.fitted.prepared
    filled = frame.assign(**moved)
    matrices: dict[tuple[Any, ...], Floats] = {}
    designs = []
    for labels in source.combinations.labels:
        at = tuple(fixed.get(name, x) for name, x in zip(source.combinations.names, labels, strict=True))
        if at not in matrices:
            X = source.design.matrix(source.combinations.filled(filled, at))
            extra = len(prepared.assembly.names) - X.shape[1]  # the nameless constant of a Gaussian model
            matrices[at] = np.ascontiguousarray(np.hstack([X, np.ones((len(X), extra))]).T)
        designs.append(matrices[at])
    Z = source.covariate_design
    return Likelihood(
        prepared.likelihood.family,
        tuple(designs),
        prepared.contrast,
        (),
        np.broadcast_to(weights, len(frame)),
        None,
        np.zeros((0, len(frame))) if Z is None else Z.matrix(frame).T,
        result.assembly.log_shares,
    )


def _average(result: Regression, likelihood: Likelihood) -> tuple[Floats, Floats]:
    """Expected outcomes on average over the rows, (A,), and their derivatives by the coefficients (A, P)."""
    B, gamma = likelihood.coefficients(result.coefficients)
    q, K = likelihood.contrast.shape[1], len(likelihood.designs)
    values = np.zeros(max(len(result.answers), 1))
    jacobian = np.zeros((len(values), likelihood.size))
    for rows in likelihood.blocks():
        weights = likelihood.weights[rows]
        w = np.broadcast_to(np.exp(likelihood.log_priors(rows, gamma)), (K, len(weights)))
        means = []
        for X, share in zip((X[:, rows] for X in likelihood.designs), w, strict=True):
            mean, change = likelihood.family.mean(B @ X)
            values += mean @ (weights * share)
            own = (change * (weights * share)).reshape(-1, len(weights)) @ X.T
            jacobian[:, :q] += own.reshape(len(values), -1) @ likelihood.contrast
            means.append(mean)
        if likelihood.share_size:
            whole = np.sum([share * mean for share, mean in zip(w, means, strict=True)], axis=0)
            gains = [
                (weights * w[k] * (means[k] - whole)) @ likelihood.covariates[:, rows].T for k in range(1, K)
            ]
            jacobian[:, q:] += np.hstack(gains)
    total = float(likelihood.weights.sum())
    return values / total, jacobian / total
