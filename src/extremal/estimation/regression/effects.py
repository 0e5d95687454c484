"""Predicted shares and average marginal effects, with errors by the delta method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.threads import one_thread
from ..._common.types import Floats
from ...errors import OptionError, ValuesError
from . import columns
from .formula import check_columns, constant
from .table import FigureTable

if TYPE_CHECKING:
    from .result import Regression

STEP = 1e-4  # of a derivative, in standard deviations of the variable
ROWS = 1 << 14


@one_thread
def predict(result: Regression, data: Any = None) -> Floats:
    """Expected outcomes of each row, (rows, answers) or (rows, 1)."""
    return _each(result, _rows(result, data))


@one_thread
def shares(result: Regression, data: Any, at: Mapping[str, Any] | None) -> FigureTable:
    """Expected outcomes on average over the rows."""
    frame = _rows(result, data)
    weights = result.source.weights if data is None else np.ones(len(frame))
    fixed = dict(at or {})
    check_columns(list(fixed), sorted(result.source.parsed.columns), "at")
    private = {name: _label(result, name, fixed.pop(name)) for name in list(fixed) if name in _known(result)}
    moved = {name: _constant(frame[name], value) for name, value in fixed.items()}
    values, jacobian = _average(result, frame, weights, moved, private)
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
    check_columns(variables, there, "effects")
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
    frame, weights = result.source.frame, result.source.weights
    known = _known(result)
    levels = list(known[name]) if name in known else _levels(result, name)

    def at(value: Any) -> tuple[Floats, Floats]:
        if name in known:
            return _average(result, frame, weights, {}, {name: value})
        return _average(result, frame, weights, {name: _constant(frame[name], value)}, {})

    if levels is not None:
        base, others = at(levels[0]), [at(x) for x in levels[1:]]
        return [
            (f"{name}: {levels[0]} → {x}", v - base[0], J - base[1])
            for x, (v, J) in zip(levels[1:], others, strict=True)
        ]
    numbers = np.asarray(frame[name], dtype=np.float64)
    step = STEP * (float(numbers.std()) or 1.0)
    up, down = (_average(result, frame, weights, {name: numbers + s}, {}) for s in (step, -step))
    return [(f"d/d {name}", (up[0] - down[0]) / (2 * step), (up[1] - down[1]) / (2 * step))]


def _levels(result: Regression, name: str) -> list[Any] | None:
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


def _known(result: Regression) -> dict[str, tuple[Any, ...]]:
    """Private predictor -> its labels."""
    return {
        name: release.inputs(name)
        for release in result.source.releases
        for name in release.names
        if name in result.source.combinations.names
    }


def _label(result: Regression, name: str, value: Any) -> Any:
    labels = _known(result)[name]
    if value not in labels:
        raise OptionError(f"{name} must be one of its labels", given=repr(value)[:40])
    return value


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


def _designs(
    result: Regression, frame: Any, moved: Mapping[str, Any], fixed: Mapping[str, Any]
) -> tuple[list[Floats], Floats | None]:
    """The designs for each combination of private predictors, and that of P(k | z).

    Some columns are moved, some private predictors fixed; P(k | z) stays that of the rows as they are, so that what
    changes is the effect of these columns alone.
    """
    source, known = result.source, _known(result)
    names = source.combinations.names
    matrices: dict[tuple[Any, ...], Floats] = {}
    designs = []
    for labels in source.combinations.labels:
        at = tuple(fixed.get(name, label) for name, label in zip(names, labels, strict=True))
        if at not in matrices:
            filled = frame.assign(
                **moved,
                **{name: constant(x, known[name], len(frame)) for name, x in zip(names, at, strict=True)},
            )
            matrices[at] = source.design.matrix(filled)
        designs.append(matrices[at])
    Z = None if source.covariate_design is None else source.covariate_design.matrix(frame)
    return designs, Z


def _split(result: Regression) -> tuple[Floats, Floats | None, int]:
    """B (D, p) and the coefficients of P(k | z) (c, K - 1), and how many coefficients belong to B."""
    prepared = result.fitted.prepared
    q = prepared.contrast.shape[1]
    D = prepared.problem.family.predictors
    B = (prepared.contrast @ result.coefficients[:q]).reshape(D, -1)
    if result.source.covariate_design is None:
        return B, None, q
    c = len(result.source.covariate_design.names)
    return B, result.coefficients[q:].reshape(-1, c).T, q


def _priors(result: Regression, Z: Floats | None, gamma: Floats | None, rows: int) -> Floats:
    if gamma is None or Z is None:
        fixed = result.assembly.log_shares
        return np.ones((rows, 1)) if fixed is None else np.tile(np.exp(fixed), (rows, 1))
    zeta = np.hstack([np.zeros((rows, 1)), Z @ gamma])
    w = np.exp(zeta - zeta.max(axis=1, keepdims=True))
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def _padded(result: Regression, X: Floats) -> Floats:
    """The design with the nameless constant that a Gaussian model may have been given."""
    extra = len(result.fitted.prepared.assembly.names) - X.shape[1]
    return X if not extra else np.hstack([X, np.ones((len(X), extra))])


def _each(result: Regression, frame: Any) -> Floats:
    B, gamma, _ = _split(result)
    designs, Z = _designs(result, frame, {}, {})
    w = _priors(result, Z, gamma, len(frame))
    family = result.fitted.prepared.problem.family
    found = [w[:, k : k + 1] * family.mean(B @ _padded(result, X).T)[0].T for k, X in enumerate(designs)]
    return np.asarray(np.sum(found, axis=0))


def _average(
    result: Regression,
    frame: Any,
    weights: Floats,
    moved: Mapping[str, Any],
    fixed: Mapping[str, Any],
) -> tuple[Floats, Floats]:
    """Expected outcomes on average over the rows, (A,), and their derivatives by the coefficients (A, P)."""
    B, gamma, q = _split(result)
    designs, Z = _designs(result, frame, moved, fixed)
    w = _priors(result, Z, gamma, len(frame))
    family, contrast = result.fitted.prepared.problem.family, result.fitted.prepared.contrast
    values, jacobian = np.zeros(0), np.zeros((0, 0))
    c = 0 if Z is None else Z.shape[1]
    for start in range(0, len(frame), ROWS):
        rows = slice(start, start + ROWS)
        means: list[Floats] = []
        for k, X in enumerate(designs):
            X = _padded(result, X[rows])
            mean, change = family.mean(B @ X.T)
            share = weights[rows] * w[rows, k]
            if not len(values):
                values, jacobian = np.zeros(len(mean)), np.zeros((len(mean), len(result.coefficients)))
            values += mean @ share
            own = (change * share).reshape(-1, len(X)) @ X
            jacobian[:, :q] += own.reshape(len(mean), -1) @ contrast
            means.append(mean.T)
        if Z is not None:
            whole = sum((w[rows, k : k + 1] * mean for k, mean in enumerate(means)), np.zeros_like(means[0]))
            for k in range(1, len(designs)):
                share = (weights[rows] * w[rows, k])[:, None] * (means[k] - whole)
                jacobian[:, q + (k - 1) * c : q + k * c] += share.T @ Z[rows]
    total = float(weights.sum())
    return values / total, jacobian / total
