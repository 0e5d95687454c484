"""Tabled: what an estimate and an estimate by groups have in common, a table of intervals with notes below it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._common.frames import html_table
from .._common.words import counted
from .interval_table import IntervalTable
from .survey import WeightedReports

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        return json.dumps(self.to_dict(), default=str, ensure_ascii=False, allow_nan=False)

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


def source(reports: int, method: str, survey: WeightedReports | None) -> str:
    """Where figures come from, for a title."""
    said = f"from {counted(reports, 'report')} by {method}"
    return said if survey is None else f"{said}, with {survey.words}"
