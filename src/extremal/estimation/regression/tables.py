"""How a regression is shown: figures with standard errors and intervals in tables, and what their reader must know."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

from ..._common.frames import Tabular, html_table
from ..._common.json import json_text
from ..._common.plot import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from ..._common.types import Floats
from ..._common.words import aligned
from ..promise import Promise
from .families import TITLES

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
    "corrected": "scores are corrected by the inverse of the mechanism, without a model of their shares",
    "prior": "their shares are those of the mechanism's prior, for everybody, and taken as given",
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
        return np.asarray(2 * scipy.special.ndtr(-np.abs(self.z)))

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
        rows = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in columns) + "</tr>"]
        for values in zip(*columns.values(), strict=True):
            cells = [f"{x:.4f}" if isinstance(x, float) else escape(str(x)) for x in values]
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        return html_table(f"{self.title}; {self.promise}", rows)


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
