"""Reports with what stands beside them, in columns, frames or files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._common import checks
from .._common.types import Ints
from .._common.words import shorten
from ..errors import OptionError, ValuesError
from ..model.labels import Labels, as_list, is_missing
from ..model.mechanism import Mechanism
from .counts import ReportCounts, factorize, report_codes
from .sample import SampleDesign, SurveyDesign, check_weights

if TYPE_CHECKING:
    from ..collection.store import StoredReports


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """Named columns in memory."""

    columns: Mapping[str, Any]
    where: str = "the frame"
    drawn: Mapping[str, Mechanism] = field(default_factory=dict)  # from what, where the source says so

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(self.columns)

    def __getitem__(self, name: str) -> Any:
        checks.columns([name], self.names, self.where)
        return self.columns[name]

    def read(self, names: str | Sequence[str]) -> Any:
        """One column, or a tuple of several for each person."""
        if isinstance(names, str):
            return self[names]
        return list(zip(*(as_list(self[name]) for name in names), strict=True))


def read_table(
    path: Any,
    column: str | Sequence[str],
    others: Sequence[str],
    *,
    missing: str = "refuse",
    format: str | None = None,
    delimiter: str | None = None,
) -> NamedColumns:
    """Columns of a CSV or Parquet file, or of a survey's store; missing="drop" leaves out records without a report."""
    from ..collection.store import is_store, read_store
    from ..release.files.csv import INTEGER, CsvData
    from ..release.files.source import open_data, read_texts

    name = os.fspath(path)
    reports = [column] if isinstance(column, str) else list(column)
    wanted = list(dict.fromkeys([*reports, *others]))
    if is_store(name):
        return store_table(read_store(name), reports, others, missing)
    data = open_data(name, wanted, format, delimiter)
    columns = _complete({each: read_texts(data, each) for each in wanted}, reports, missing)
    if isinstance(data, CsvData):
        for each in others:  # groups are numbers if all of them are written as integers, as labels are
            if each not in reports and all(
                value is None or INTEGER.fullmatch(value) for value in columns[each]
            ):
                columns[each] = [None if value is None else int(value) for value in columns[each]]
    return NamedColumns(columns, "the file")


def store_table(
    stored: StoredReports, reports: Sequence[str], others: Sequence[str], missing: str
) -> NamedColumns:
    """Columns of a survey's reports."""
    stored.check_clear(others)
    stored.check_one_mechanism(reports)
    columns = _complete(stored.columns(list(dict.fromkeys([*reports, *others]))), reports, missing)
    drawn = {
        part.column: m.mechanism
        for q in stored.published.questions
        for part, m in zip(q.parts, q.mechanisms, strict=False)
    }
    return NamedColumns(columns, "the store", drawn)


def _complete(columns: Mapping[str, Any], reports: Sequence[str], missing: str) -> dict[str, Any]:
    """The columns; with missing="drop" without the rows that lack a report."""
    if missing != "drop":
        return dict(columns)
    rows = zip(*(columns[name] for name in reports), strict=True)
    kept = [k for k, row in enumerate(rows) if not any(map(is_missing, row))]
    return {name: [values[k] for k in kept] for name, values in columns.items()}


def table_of(reports: Any, column: Any, by: Any, sample: SampleDesign | None) -> NamedColumns | None:
    """The columns of a frame or of a file; None if the reports are a column already."""
    if isinstance(reports, NamedColumns):
        return reports
    if isinstance(reports, str | os.PathLike):
        if column is None:
            raise OptionError("must name the column of reports in the file", parameter="column", given="none")
        others = [*_names(by), *(() if sample is None else sample.names)]
        return read_table(reports, column, others)
    if isinstance(reports, Mapping) or not hasattr(type(reports), "columns"):
        return None
    from .._common.frames import eager_frame

    eager = eager_frame(reports)
    return NamedColumns({name: eager.get_column(name).to_native() for name in eager.columns})


def codes_of(outputs: Labels, reports: Any, table: NamedColumns | None, column: Any) -> Ints:
    """For each person the number of the report."""
    if table is None and isinstance(reports, Mapping | ReportCounts):
        raise OptionError(
            "weights, groups, strata and clusters need one report for each person",
            given="counts",
            remedy="give a column of reports, a frame or a file",
        )
    if table is None and column is not None:
        raise OptionError("must come with a frame or a file", parameter="column", given="a column of reports")
    if table is None:
        return report_codes(outputs, reports)
    if column is None and len(table.names) != 1:
        raise OptionError(
            "must name the column of reports", parameter="column", given=f"none of {shorten(table.names, 12)}"
        )
    return report_codes(outputs, table.read(table.names[0] if column is None else column))


def joined(
    tables: Sequence[NamedColumns | None], by: Any, sample: SampleDesign | None, n: int
) -> NamedColumns | None:
    """The columns of several tables below each other, as far as they are named beside the reports."""
    known = [table for table in tables if table is not None]
    if len(known) < len(tables) or len(tables) == 1:
        return tables[0] if len(tables) == 1 else None
    names = [] if sample is None else list(sample.names)
    if _is_names(by, known[0], n):
        names += _names(by)
    columns = {
        name: [value for table in known for value in as_list(table[name])] for name in dict.fromkeys(names)
    }
    return NamedColumns(columns)


def design_of(table: NamedColumns | None, sample: SampleDesign | None, n: int) -> SurveyDesign | None:
    """How so many people were drawn, as numbers."""
    if sample is None:
        return None
    given = {name: _column(table, value, name) for name, value in sample.given.items()}
    w = check_weights(given["weights"]) if "weights" in given else None
    s, strata_labels = factorize(given["strata"], "strata") if "strata" in given else (None, ())
    c = factorize(given["clusters"], "clusters")[0] if "clusters" in given else None
    for name, values in (("weights", w), ("strata", s), ("clusters", c)):
        if values is not None:
            checks.length(values, name, n, "report", error=ValuesError)
    unit = 1.0 if w is None else float(w.max())
    return SurveyDesign(None if w is None else w / unit, unit, s, strata_labels, c)


def groups_of(table: NamedColumns | None, by: Any, n: int) -> tuple[tuple[str, ...], Ints | None, Labels]:
    """What groups are named by, for each person the number of the group, and the groups."""
    if by is None:
        return (), None, ()
    if table is not None and _is_names(by, table, n):
        names, values = tuple(_names(by)), table.read(by)
        for name in names if len(names) > 1 else ():
            factorize(table[name], f"by={name!r}")  # refuses what is missing
    else:
        named = getattr(by, "name", None)
        names, values = (named if isinstance(named, str) and named else "group",), _column(table, by, "by")
    groups, labels = factorize(values, "by")
    checks.length(groups, "by", n, "report", error=ValuesError)
    return names, groups, labels


def _is_names(by: Any, table: NamedColumns, n: int) -> bool:
    """Whether these are names of columns, or one, and not a value for each person."""
    if isinstance(by, str):
        return True
    if not isinstance(by, list | tuple) or not by or not all(isinstance(x, str) for x in by):
        return False
    return len(by) != n or all(x in table.names for x in by)


def _names(given: Any) -> list[str]:
    """The names of columns that an argument gives."""
    if isinstance(given, str):
        return [given]
    return [x for x in given if isinstance(x, str)] if isinstance(given, list | tuple) else []


def _column(table: NamedColumns | None, given: Any, what: str) -> Any:
    if not isinstance(given, str):
        return given
    if table is None:
        raise OptionError(
            "must be a column: a name needs a frame or a file",
            parameter=what,
            given=repr(given)[:60],
            remedy="give the frame as `reports`, and `column=`",
        )
    return table[given]
