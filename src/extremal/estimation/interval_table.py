"""Estimates beside their intervals: as numbers, text, HTML, JSON or a picture."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._html import html_table
from .._types import Floats
from ..model.labels import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST = 40  # rows that are printed


@dataclass(frozen=True, eq=False, repr=False)
class IntervalTable:
    """Estimates with intervals that hold for all rows together with probability `confidence`.

    A standard error is infinite where the reports do not identify the figure.
    """

    title: str
    labels: Labels
    estimates: Floats
    lower: Floats
    upper: Floats
    standard_errors: Floats
    identified: NDArray[np.bool_]
    confidence: float

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each row, for tables and files; null for an infinite standard error."""
        return [
            {
                "label": label,
                "estimate": float(self.estimates[k]),
                "lower": float(self.lower[k]),
                "upper": float(self.upper[k]),
                "standard_error": _finite(float(self.standard_errors[k])),
                "identified": bool(self.identified[k]),
            }
            for k, label in enumerate(self.labels)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are."""
        return {"title": self.title, "confidence": self.confidence, "rows": self.rows()}

    def to_json(self) -> str:
        """The same as text; a label that JSON does not know is written as its str()."""
        return json.dumps(self.to_dict(), default=str, ensure_ascii=False, allow_nan=False)

    def lines(self) -> list[str]:
        """The rows as text, the first of a long table."""
        wide = max([5, *(len(str(label)) for label in self.labels[:MOST])])
        rows = [f"{'':{wide}}  estimate     lower     upper  std error"]
        for k, label in enumerate(self.labels[:MOST]):
            error = self.standard_errors[k]
            shown = f"{error:9.4f}" if math.isfinite(error) else "        -"
            mark = "" if self.identified[k] else "  not identified"
            figures = f"{self.estimates[k]:8.4f}  {self.lower[k]:8.4f}  {self.upper[k]:8.4f}  {shown}"
            rows.append(f"{label!s:{wide}}  {figures}{mark}")
        if len(self) > MOST:
            rows.append(f"… {len(self) - MOST} more")
        return rows

    def __str__(self) -> str:
        return "\n".join([self.title, *self.lines(), self.note])

    __repr__ = __str__

    @property
    def note(self) -> str:
        """What the intervals promise."""
        return f"all intervals together hold with probability {self.confidence:g} or more"

    def _repr_html_(self) -> str:
        rows = [
            "<tr><th></th><th>estimate</th><th>lower</th><th>upper</th><th>standard error</th><th></th></tr>"
        ]
        for row in self.rows()[:MOST]:
            error = "–" if row["standard_error"] is None else f"{row['standard_error']:.4f}"
            cells = [f"{row[name]:.4f}" for name in ("estimate", "lower", "upper")]
            figures = "".join(f"<td style='text-align:right'>{cell}</td>" for cell in [*cells, error])
            mark = "" if row["identified"] else "not identified"
            rows.append(f"<tr><th>{escape(str(row['label']))}</th>{figures}<td>{mark}</td></tr>")
        if len(self) > MOST:
            rows.append(f"<tr><td colspan='6'>… {len(self) - MOST} more</td></tr>")
        return html_table(f"{self.title}; {self.note}", rows)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with a point and a bar for every row; those that are not identified are hollow."""
        if axes is None:
            from .._plot import empty_axes

            axes = empty_axes((6.4, max(1.2 + 0.3 * min(len(self), 100), 2.4)))
        places = np.arange(len(self))
        axes.hlines(places, self.lower, self.upper, color="tab:blue")
        for known, face in ((True, "tab:blue"), (False, "white")):
            chosen = self.identified == known
            axes.plot(self.estimates[chosen], places[chosen], "o", color="tab:blue", markerfacecolor=face)
        axes.set_yticks(places, [str(label)[:30] for label in self.labels])
        axes.invert_yaxis()
        axes.set_xlabel(f"estimate, with simultaneous intervals at {self.confidence:g}")
        axes.set_title(self.title, fontsize="medium")
        return axes


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
