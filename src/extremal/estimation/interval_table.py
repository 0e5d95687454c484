"""Estimates beside their intervals: as numbers, text, HTML, JSON, a frame or a picture."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.frames import Tabular, html_table
from .._common.json import finite_or_none, json_text
from .._common.types import Axes, Floats
from .._common.words import aligned, counted
from ..model.labels import Labels
from .promise import Promise
from .sample import WeightedReports

FIGURES = ("estimates", "lower", "upper", "standard_errors", "identified")


@dataclass(frozen=True, eq=False, repr=False)
class IntervalTable(Tabular):
    """Estimates with intervals; `promise` says what these hold with.

    A standard error is infinite where the reports do not identify the figure. With groups, `by` is what they are
    called and `groups` has the group of each row.

    Attributes
    ----------
    title
        What the table is about.
    labels
        A label for each row.
    estimates
        The estimates.
    lower
        Lower ends of the intervals.
    upper
        Upper ends of the intervals.
    standard_errors
        Standard errors; inf where the reports do not identify a figure.
    identified
        Whether the reports identify each figure.
    promise
        What the intervals hold with.
    design_effects
        Variances over those of simple random samples, for weighted estimates.
    by
        Names of the columns that make groups.
    groups
        The group of each row.
    warning
        What is wrong with the reports; empty if nothing is.
    """

    title: str
    labels: Labels
    estimates: Floats
    lower: Floats
    upper: Floats
    standard_errors: Floats
    identified: NDArray[np.bool_]
    promise: Promise
    design_effects: Floats | None = None
    by: tuple[str, ...] = ()
    groups: Labels = ()
    warning: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def confidence(self) -> float:
        """Of the intervals: of all together, or of each."""
        return self.promise.confidence

    @property
    def intervals(self) -> str:
        """ "all" if the intervals hold together, "each" if every one holds by itself."""
        return self.promise.kind

    def most(self, count: int) -> IntervalTable:
        """The rows with the largest estimates, the largest first. With intervals "all" these hold for them, too.

        Parameters
        ----------
        count
            How many rows at most.
        """
        chosen = np.argsort(-self.estimates, kind="stable")[:count]
        numbers = {name: getattr(self, name)[chosen] for name in FIGURES}
        labels = tuple(self.labels[k] for k in chosen.tolist())
        title, promise = f"{self.title}, the {len(labels)} largest", replace(self.promise, choice=False)
        return replace(self, title=title, labels=labels, promise=promise, design_effects=None, **numbers)

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each row, for tables and files; null for an infinite standard error."""
        found = []
        for k, label in enumerate(self.labels):
            row = {
                **self._group(k),
                "label": label,
                "estimate": float(self.estimates[k]),
                "lower": float(self.lower[k]),
                "upper": float(self.upper[k]),
                "standard_error": finite_or_none(float(self.standard_errors[k])),
                "identified": bool(self.identified[k]),
            }
            if self.design_effects is not None:
                row["design_effect"] = finite_or_none(float(self.design_effects[k]))
            found.append(row)
        return found

    def records(self) -> list[dict[str, Any]]:
        """The rows with the confidence and the kind of their intervals, so that a file says what it shows."""
        said = {"confidence": self.confidence, "intervals": self.intervals}
        return [{**row, **said} for row in self.rows()]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are."""
        return {
            "title": self.title,
            "confidence": self.confidence,
            "intervals": self.intervals,
            "promise": str(self.promise),
            **({"warning": self.warning} if self.warning else {}),
            "rows": self.rows(),
        }

    def to_json(self) -> str:
        """The same as text; a label that JSON does not know is written as its str()."""
        return json_text(self.to_dict())

    def lines(self) -> list[str]:
        """The rows as text, all of them."""
        effects = [] if self.design_effects is None else [f"{x:.3f}" for x in self.design_effects]
        rows = [[*self.by, " " * 5, "estimate", "   lower", "   upper", "std error", "design effect", ""]]
        for k, label in enumerate(self.labels):
            error = self.standard_errors[k]
            figures = [f"{x[k]:.4f}" for x in (self.estimates, self.lower, self.upper)]
            figures.append(f"{error:.4f}" if math.isfinite(error) else "-")
            mark = "" if self.identified[k] else "not identified"
            names = map(str, (*self._group(k).values(), label))
            rows.append([*names, *figures, effects[k] if effects else "", mark])
        if not effects:
            rows = [[*row[:-2], row[-1]] for row in rows]
        return aligned(rows, len(self.by) + 1)

    def __str__(self) -> str:
        return "\n".join([self.title, *self._warned(), *self.lines(), self.note])

    __repr__ = __str__

    @property
    def note(self) -> str:
        """What the intervals promise, in words, and how to get the other kind."""
        return self.promise.note()

    def _repr_html_(self) -> str:
        names = "".join(f"<th>{escape(name)}</th>" for name in (*self.by, ""))
        rows = [
            f"<tr>{names}<th>estimate</th><th>lower</th><th>upper</th><th>standard error</th><th></th></tr>"
        ]
        for k, row in enumerate(self.rows()):
            error = "–" if row["standard_error"] is None else f"{row['standard_error']:.4f}"
            cells = [f"{row[name]:.4f}" for name in ("estimate", "lower", "upper")]
            figures = "".join(f"<td style='text-align:right'>{cell}</td>" for cell in [*cells, error])
            mark = "" if row["identified"] else "not identified"
            named = "".join(f"<th>{escape(str(x))}</th>" for x in (*self._group(k).values(), row["label"]))
            rows.append(f"<tr>{named}{figures}<td>{mark}</td></tr>")
        return html_table("; ".join([self.title, *self._warned(), self.note]), rows)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with a point and a bar for every row; those that are not identified are hollow. Groups are apart.

        Of more than 50 rows, evenly chosen ones are named.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from .._common.plot import given_axes, short

        groups = [tuple(self._group(k).values()) for k in range(len(self))]
        starts = [k for k, group in enumerate(groups) if k == 0 or group != groups[k - 1]]
        places = np.arange(len(self))
        if self.by:
            places = places + 2 * np.searchsorted(starts, places, side="right")
        every = -(-len(self) // 50)  # rows to a name: of more than 50, names would cover each other
        axes = given_axes(axes, (6.4, max(1.2 + 0.3 * min(int(places[-1]) + 1, 50), 2.4)))
        axes.hlines(places, self.lower, self.upper, color="tab:blue", linewidth=1.5 if every == 1 else 0.6)
        for known, face in ((True, "tab:blue"), (False, "white")):
            chosen = self.identified == known
            axes.plot(
                self.estimates[chosen],
                places[chosen],
                "o",
                color="tab:blue",
                markerfacecolor=face,
                markersize=6 if every == 1 else 2,
            )
        axes.set_ylim(-1 + bool(self.by), places[-1] + 1)
        ticks = [*zip(places, map(short, self.labels), strict=True)][::every]
        named = len(ticks)
        if self.by:  # a heading above each group
            ticks += [(places[k] - 1, short(", ".join(map(str, groups[k])))) for k in starts]
        axes.set_yticks(*zip(*ticks, strict=True))
        for heading in axes.get_yticklabels()[named:]:
            heading.set_fontweight("bold")
        axes.invert_yaxis()
        axes.set_xlabel(f"estimate; {self.promise}")
        axes.set_title("\n".join(wrap(self.title, 56)), fontsize="medium")
        return axes

    def _warned(self) -> list[str]:
        return [self.warning] if self.warning else []

    def _group(self, k: int) -> dict[str, Any]:
        if not self.by:
            return {}
        group: Any = self.groups[k]
        return dict(zip(self.by, group if len(self.by) > 1 else (group,), strict=True))


class Tabled(ABC):
    """A result that is shown as its table and notes."""

    @cached_property
    @abstractmethod
    def table(self) -> IntervalTable:
        """The figures with their intervals."""

    @abstractmethod
    def notes(self) -> list[str]:
        """What a reader of the figures must know, in words; first what the table itself says below its rows."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are."""

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a frame of pandas, polars or pyarrow.

        Parameters
        ----------
        library
            "pandas", "polars" or "pyarrow"; if None, the first of them that is installed.
        """
        return self.table.to_frame(library)

    def to_json(self) -> str:
        """Everything as text; a label that JSON does not know is written as its str()."""
        return json_text(self.to_dict())

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with every figure of the table and its interval.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        return self.table.plot(axes)

    def __str__(self) -> str:
        notes = self.notes()
        warnings = [note for note in notes if "WARNING" in note]
        rest = [note for note in notes if note not in warnings]
        return "\n".join([self.table.title, *warnings, *self.table.lines(), *rest])

    def _repr_html_(self) -> str:
        return self.table._repr_html_() + html_table("; ".join(self.notes()[1:]), [])


def source(reports: int, method: str, survey: WeightedReports | None, stages: int) -> str:
    """Where figures come from, for a title."""
    several = f" in {stages} stages" if stages > 1 else ""
    said = f"from {counted(reports, 'report')}{several} by {method}"
    return said if survey is None else f"{said}, with {survey.words}"
