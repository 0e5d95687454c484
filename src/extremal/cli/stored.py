"""extremal estimate on the store of a survey: the questions and their mechanisms lie in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import extremal as ex
from extremal.errors import OptionError, ValuesError

from . import advice, show
from .output import Facts, progress

if TYPE_CHECKING:
    from extremal.collection.published import Part
    from extremal.collection.store import StoredReports
    from extremal.estimation.equality import EqualityTest
    from extremal.estimation.named_columns import NamedColumns

MOST_SHOWN = 50  # answers of a list, if nobody says
WAITING = (
    "The survey is not closed: results grow in steps of five reports, and the newest five to nine wait until you run "
    "`extremal survey close`."
)


@dataclass(frozen=True)
class Beside:
    """Answers in the clear that stand beside reports: of groups, and of the sample."""

    by: list[str] | None
    sample: ex.SampleDesign | None
    top: int | None = None  # answers of a list

    @property
    def names(self) -> list[str]:
        """The columns in which they stand."""
        return [*(self.by or []), *(() if self.sample is None else self.sample.names)]

    @property
    def given(self) -> Any:
        """What an estimate is told of them."""
        by = self.by[0] if self.by is not None and len(self.by) == 1 else self.by
        return {"by": by, "sample": self.sample}


@dataclass(frozen=True)
class ColumnEstimated:
    """What the reports in one column tell: no tables if nobody answered."""

    name: str
    tables: list[show.IntervalTable]
    warnings: list[str]
    notes: list[str]
    drift: EqualityTest | None = None  # between stages
    stages: dict[str, show.IntervalTable] = field(
        default_factory=dict
    )  # by title, what each mechanism's reports tell


@dataclass(frozen=True)
class StoreEstimated:
    """Shares of the answers to one question or to all."""

    source: str
    reports: StoredReports
    columns: list[ColumnEstimated]

    def records(self) -> list[Facts]:
        """All tables as one."""
        return [
            {"question": column.name, **record}
            for column in self.columns
            for table in column.tables
            for record in table.records()
        ]

    def warnings(self) -> list[str]:
        """What is wrong with reports."""
        return [text for column in self.columns if column.tables for text in column.warnings]

    def facts(self) -> Facts:
        """All of it, for programs."""
        questions = {
            column.name: {
                "tables": [table.to_dict() for table in column.tables],
                "warnings": column.warnings + column.notes,
                **({} if column.drift is None else {"drift": column.drift.to_dict()}),
                **(
                    {"stage_by_stage": [t.to_dict() for t in column.stages.values()]} if column.stages else {}
                ),
            }
            for column in self.columns
        }
        people, closed = len(self.reports.rows), self.reports.closed
        return {"store": self.source, "reports": people, "closed": closed, "questions": questions}

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        for column in self.columns:
            out.heading(f"{column.name}: {column.tables[0].title if column.tables else column.warnings[0]}")
            if column.tables:
                out.warn(*column.warnings, *column.notes)
            for table in column.tables:
                out.interval_table(table)
            if column.drift is not None:
                out.say(show.sentence(str(column.drift)))
            out.tables({f"{column.name}: {title}": t for title, t in column.stages.items()})
        if not self.reports.closed:
            out.say("", WAITING)


def estimate_store(
    source: str,
    question: str | None,
    beside: Beside,
    how: Facts,
    stages: bool = False,
) -> StoreEstimated:
    """Shares of the answers to one question, or to every question, from the same people; also stage by stage."""
    from extremal.collection.store import read_store

    reports = read_store(source)
    if not reports.rows:
        raise ValuesError(
            "the store has no reports yet that may be shown",
            given=source,
            remedy="the first five are shown once ten people have answered, or five once the survey is closed",
        )
    questions = reports.published.questions
    chosen = [q for q in questions if question in (None, q.name)]
    if not chosen:
        known = ", ".join(q.name for q in questions)
        raise OptionError("--question must be one of the survey", given=question, remedy=f"it asks {known}")
    columns = []
    for q in chosen:
        if q.windows is not None:
            columns.append(_list_column(reports, q.parts[0], beside, how))
            continue
        given = {"intervals": reports.published.intervals, **how}
        if given["intervals"] == "all":  # all columns of a question hold together
            given["confidence"] = 1 - (1 - given["confidence"]) / len(q.parts)
        columns += [_estimated(reports, part, beside, given, stages) for part in q.parts]
    return StoreEstimated(source, reports, columns)


def _list_column(reports: StoredReports, part: Part, beside: Beside, how: Facts) -> ColumnEstimated:
    """The most frequent answers to a question with a list, or all, and its groups."""
    from extremal.collection.lists import list_tables

    if beside.names or how.get("intervals") == "always":
        raise OptionError(
            "a list must be estimated without --by, --weights, --strata, --clusters and --intervals always",
            remedy="choose other questions with --question",
        )
    values = [value for value in reports.columns([part.column])[part.column] if value is not None]
    if not values:
        return _unanswered(reports, part)
    with progress(f"estimating {part.column}"):
        assert isinstance(part.mechanism, ex.large.Windows)
        found = list_tables(part.mechanism, values, part.groups, how["confidence"], beside.top or MOST_SHOWN)
    return ColumnEstimated(
        part.column, found, [show.sentence(table.warning) for table in found if table.warning], []
    )


def _unanswered(reports: StoredReports, part: Part) -> ColumnEstimated:
    return ColumnEstimated(part.column, [], [f"nobody answered ({len(reports.rows)} left it out)"], [])


def _estimated(
    reports: StoredReports, part: Part, beside: Beside, how: Facts, stages: bool
) -> ColumnEstimated:
    from extremal.collection.published import mechanisms_of
    from extremal.collection.results import tables
    from extremal.estimation.named_columns import store_table

    if part.hides and beside.by:
        raise OptionError(
            "shares among those asked must be estimated without --by",
            given=part.column,
            remedy="choose other questions with --question",
        )
    pairs: list[tuple[Any, Any]] = []
    drew = []
    for mechanism, numbers in mechanisms_of(reports.surveys, part.column):
        table = store_table(reports.only(numbers), [part.column], beside.names, "drop")
        if table.columns[part.column]:
            others = [name for name in beside.names if name != part.column]
            pairs.append((mechanism, _named(table, others, reports)))
            drew.append(", ".join(numbers))
    if not pairs:
        return _unanswered(reports, part)
    with progress(f"estimating {part.column}"):
        given: Any = {"column": part.column, **beside.given, **how}
        source: tuple[Any, Any] = pairs[0] if len(pairs) == 1 else (pairs, None)
        found = ex.estimate(*source, **given)
        shown = tables(part, found)
        each = {}
        for number, pair in zip(drew, pairs, strict=True) if stages and len(pairs) > 1 else ():
            alone = ex.estimate(*pair, **given)
            each[f"mechanism number {number}, {alone.table.title}"] = alone.table
    warnings = [show.sentence(note) for note in found.notes() if "WARNING" in note]
    shares_of_answers = part.groups is None and isinstance(part.mechanism, ex.Certified)  # not in the clear
    notes = advice.estimated(found) if shares_of_answers else []
    return ColumnEstimated(part.column, shown, warnings, notes, found.drift, each)


def _named(table: NamedColumns, others: list[str], reports: StoredReports) -> NamedColumns:
    """The table with a name for the answers in the clear that people left out: they are a group, too."""
    answers = {q.name: q.answers for q in reports.published.questions}
    named = {}
    for x in others:
        left_out = "no answer"
        while left_out in answers[x]:  # somebody chose that, who is in another group
            left_out = f"({left_out})"
        named[x] = [left_out if value is None else value for value in table.columns[x]]
    return replace(table, columns={**table.columns, **named})
