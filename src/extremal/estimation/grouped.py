"""Estimates for every group in one table, and a test of whether the groups differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._common.threads import one_thread
from .._common.types import Floats
from .._common.words import counted
from ..errors import ValuesError
from ..model.labels import Labels
from .contrasts import each_symbol
from .counts import place_finder
from .differences import difference
from .equality import EqualityTest, equality_test
from .interval_table import FIGURES, IntervalTable, Tabled, source
from .promise import Promise
from .result import Estimate
from .sample import Totals


@dataclass(frozen=True, eq=False, repr=False)
class GroupedEstimate(Tabled):
    """An Estimate for every group: `found["a"]` for the group "a", `found.table` for all of them.

    Attributes
    ----------
    by
        The names of the columns that make the groups.
    groups
        The groups.
    estimates
        An estimate for each group.
    confidence
        The confidence level of the intervals.
    intervals
        "each" or "all".
    totals
        Weighted totals, if there were weights, strata or clusters.
    """

    by: tuple[str, ...]
    groups: Labels
    estimates: tuple[Estimate, ...]
    confidence: float
    intervals: str
    totals: Totals | None

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __getitem__(self, group: Any) -> Estimate:
        return self.estimates[self._place(group)]

    @property
    def labels(self) -> Labels:
        """The input labels."""
        return self.estimates[0].labels

    @property
    def reports(self) -> int:
        """How many reports there were in all groups."""
        return sum(e.reports for e in self.estimates)

    @property
    def shares(self) -> Floats:
        """A row for each group."""
        return np.array([e.shares for e in self.estimates])

    @property
    def standard_errors(self) -> Floats:
        """A row for each group."""
        return np.array([e.standard_errors for e in self.estimates])

    @property
    def lower(self) -> Floats:
        """A row for each group."""
        return np.array([e.lower for e in self.estimates])

    @property
    def upper(self) -> Floats:
        """A row for each group."""
        return np.array([e.upper for e in self.estimates])

    @property
    def promise(self) -> Promise:
        """What the intervals of the whole table hold with."""
        first = self.estimates[0].promise
        return Promise(self.confidence, self.intervals, first.exact, first.weighted)

    @cached_property
    def table(self) -> IntervalTable:
        """Every group with every answer."""
        return self._stacked("shares", [e.table for e in self.estimates])

    def mean(self, scores: Any = None) -> IntervalTable:
        """The mean of scores in every group: label -> number, or the labels themselves if they are numbers.

        Parameters
        ----------
        scores
            A number for each label; the labels themselves if None.
        """
        return self._stacked("means", [e.mean(scores) for e in self.estimates])

    def group(self, groups: Any) -> IntervalTable:
        """Sums over labels, name -> labels, in every group of people.

        Parameters
        ----------
        groups
            A mapping name -> labels.
        """
        return self._stacked("sums", [e.group(groups) for e in self.estimates])

    @one_thread
    def difference(self, one: Any, other: Any) -> IntervalTable:
        """Shares of one group minus those of another, with intervals of their own.

        Where clusters reach over groups, what they share is accounted for.

        Parameters
        ----------
        one
            A group.
        other
            The group to subtract.
        """
        first, second = self._place(one), self._place(other)
        a, b = self.estimates[first], self.estimates[second]
        if self.totals is None:
            return a.difference(b, self.confidence)
        targets, size = each_symbol(len(a.labels)), a.mechanism.shape[1]
        linear = self.totals.linear(size)
        A, B = (
            e.uncertainty.linear(targets) @ linear[k * size : (k + 1) * size]
            for e, k in ((a, first), (b, second))
        )
        shared = np.einsum("ij,jk,ik->i", A, self.totals.covariance, B, optimize=True)
        title = f"{len(targets)} differences between {one!r} and {other!r}"
        return replace(difference(a, b, self.confidence, shared), title=title)

    @cached_property
    @one_thread
    def test(self) -> EqualityTest:
        """Whether the groups differ: a score test, or with weights, strata or clusters an adjusted Wald test.

        Both look at the reports in the directions that the mechanism lets through, so its noise is accounted for. The
        score test of a mechanism that reports the truth is Pearson's chi-squared test.
        """
        if len(self) < 2:
            raise ValuesError("a test needs at least 2 groups", given=len(self))
        return equality_test(self.estimates, self.totals)

    @cached_property
    def drift(self) -> EqualityTest | None:
        """Whether the shares of the groups drift from stage to stage; None where there is one mechanism."""
        several = len(self.estimates[0].stages) > 1
        return equality_test(self.estimates, self.totals, "stages") if several else None

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are."""
        return {
            **self.table.to_dict(),
            "by": list(self.by),
            "estimates": [
                {"group": group, **{k: v for k, v in e.to_dict().items() if k not in ("title", "promise")}}
                for group, e in zip(self.groups, self.estimates, strict=True)
            ],
            "test": None if len(self) < 2 else self.test.to_dict(),
            "drift": None if self.drift is None else self.drift.to_dict(),
            "reports": self.reports,
        }

    def notes(self) -> list[str]:
        """What a reader of the figures must know, in words."""
        found = [self.table.note]
        for group, e in zip(self.groups, self.estimates, strict=True):
            # What is not identified depends on the mechanism alone, so it is said once; drift is tested once for all.
            of_all = ("the logarithm", *(() if e.drift is None else (str(e.drift),)))
            said = [note for note in e.other_notes() if not note.startswith(of_all)]
            found += [
                note if note.startswith("not identified") else f"group {group!s}: {note}" for note in said
            ]
        if len(self) > 1:
            found.append(str(self.test))
        if self.drift is not None:
            found.append(str(self.drift))
        return list(dict.fromkeys(found))

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'group')} by {', '.join(self.by)}"
        return f"GroupedEstimate({size}, {counted(self.reports, 'report')})"

    def _place(self, group: Any) -> int:
        return place_finder(self.groups, "group", ValuesError)(group)

    @one_thread
    def _stacked(self, what: str, tables: list[IntervalTable]) -> IntervalTable:
        """The tables of all groups below each other."""
        each = self.estimates[0]
        said = source(self.reports, each.method, each.survey, len(each.stages))
        figures = FIGURES if self.totals is None else (*FIGURES, "design_effects")
        pairs = list(zip(self.groups, tables, strict=True))
        return replace(
            tables[0],
            title=f"{what} in {counted(len(self), 'group')} {said}",
            labels=tuple(label for table in tables for label in table.labels),
            promise=self.promise,
            by=self.by,
            groups=tuple(group for group, table in pairs for _ in table.labels),
            warning="; ".join(f"group {group!s}: {table.warning}" for group, table in pairs if table.warning),
            **{name: np.concatenate([getattr(table, name) for table in tables]) for name in figures},
        )
