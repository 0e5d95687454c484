"""Figures with standard errors and intervals, one a row: as text, HTML, JSON or a frame."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from statistics import NormalDist
from typing import Any

import numpy as np
import scipy.special

from ..._common.frames import Tabular, html_table
from ..._common.types import Floats
from ..promise import Promise


def quantile(confidence: float) -> float:
    """The normal quantile of a two-sided interval."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def two_sided(z: Floats) -> Floats:
    """The probability of a normal deviate at least as large."""
    return np.asarray(2 * scipy.special.ndtr(-np.abs(z)))


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
        return two_sided(self.z)

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
        return json.dumps(
            {
                "title": self.title,
                "confidence": self.confidence,
                "intervals": self.promise.kind,
                "promise": str(self.promise),
                "rows": self.rows(),
            },
            default=str,
            ensure_ascii=False,
            allow_nan=False,
        )

    def cells(self) -> list[list[str]]:
        """The headings, and the rows as they are printed."""
        low = (1 - self.confidence) / 2
        tested = ["z", "P>|z|"] if self.tested else []
        head = [*self.keys, "estimate", "std error", *tested, f"[{low:.3f}", f"{1 - low:.3f}]"]
        figures = zip(*self._figures(), strict=True)
        return [
            head,
            *([*map(str, labels), *row] for labels, row in zip(self.labels, figures, strict=True)),
        ]

    def lines(self) -> list[str]:
        """The rows as text."""
        return aligned(self.cells(), len(self.keys))

    def _figures(self) -> list[list[str]]:
        found = [
            [f"{x:.4f}" for x in self.estimates],
            [f"{x:.4f}" for x in self.standard_errors],
        ]
        if self.tested:
            found += [[f"{x:.3f}" for x in self.z], [f"{x:.3f}" for x in self.p_values]]
        return [*found, [f"{x:.4f}" for x in self.lower], [f"{x:.4f}" for x in self.upper]]

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


def aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Rows as lines of equal columns, the first `left` of them aligned to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
