"""Who was asked: weights, strata and clusters, and reports with what stands beside them, in columns, frames or files.

A person in a cell (a group and a report) adds his weight to the total of that cell. The covariance of the totals is
estimated as if the clusters of a stratum were drawn with replacement,

    B = sum_h n_h / (n_h - 1) sum_c (T_hc - mean_h)(T_hc - mean_h)',

T_hc the totals of cluster c of stratum h. Without clusters each person is one, without strata there is one stratum.
Everything else is linear in the totals to first order, so its covariance is A B A'. R's package `survey` calls this
Taylor linearisation and does the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common import checks
from .._common.types import Floats, Ints
from .._common.words import brief, shorten
from ..errors import OptionError, ValuesError
from ..model.labels import Labels, as_list, is_missing
from .counts import ReportCounts, factorize, report_codes

if TYPE_CHECKING:
    from ..collection.store import StoredReports
    from ..model.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """How people were drawn: with which weights, in which strata, in which clusters. Each a column, or its name.

    Without any of them each person was drawn alone, and all alike.

    Examples
    --------
    >>> SampleDesign(weights="w", clusters="school").names
    ('w', 'school')

    Parameters
    ----------
    weights
        A sampling weight for each person, a number >= 0: shares are those of the population that the weighted people
        stand for (Horvitz-Thompson).
    strata
        Where people were drawn separately. Clusters are nested in strata.
    clusters
        Who was drawn together. Standard errors are those between the clusters of each stratum, as if drawn with
        replacement.
    """

    weights: Any = None
    strata: Any = None
    clusters: Any = None

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            if isinstance(value, str):
                continue
            column: Any = check_weights(value) if name == "weights" else _listed(value, name)
            object.__setattr__(self, name, column)
        sizes = {len(value) for value in self.given.values() if not isinstance(value, str)}
        if len(sizes) > 1:
            said = ", ".join(f"{len(x)} {name}" for name, x in self.given.items() if not isinstance(x, str))
            raise ValuesError("the columns of a sample design must be of one length", given=said)

    @property
    def given(self) -> dict[str, Any]:
        """Those that are given, by name."""
        named = (("weights", self.weights), ("strata", self.strata), ("clusters", self.clusters))
        return {name: value for name, value in named if value is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of columns among them."""
        return tuple(value for value in self.given.values() if isinstance(value, str))

    def at(self, rows: Ints, people: int) -> SampleDesign:
        """The same of some people: it must hold columns, not names.

        Parameters
        ----------
        rows
            Whom to keep, by number.
        people
            How many there are.
        """
        for name, value in self.given.items():
            if isinstance(value, str):
                raise OptionError(
                    "must be a column where reports are columns", parameter=name, given=brief(value)
                )
            checks.length(value, name, people, "person", error=ValuesError)
        return SampleDesign(**{name: [value[k] for k in rows] for name, value in self.given.items()})


def check_sample(sample: Any) -> SampleDesign | None:
    """A sample design that says something, or None."""
    if sample is None:
        return None
    remedy = 'e.g. `ex.SampleDesign(weights="w")`'
    design = checks.instance(sample, "sample", SampleDesign, "a SampleDesign", remedy=remedy)
    return design if design.given else None


def _listed(values: Any, name: str) -> tuple[Any, ...]:
    try:
        return tuple(as_list(values))
    except TypeError:
        raise ValuesError("must be a column, or its name", parameter=name, given=brief(values)) from None


@dataclass(frozen=True, eq=False)
class SurveyDesign:
    """Who was asked with which weight, in which stratum and cluster; None where nobody said."""

    weights: Floats | None = None  # over the largest one, `unit`, so that no square is out of range
    unit: float = 1.0
    strata: Ints | None = None
    strata_labels: Labels = ()
    clusters: Ints | None = None

    @property
    def words(self) -> str:
        """What it uses, for a sentence."""
        named = [name for name in ("weights", "strata", "clusters") if vars(self)[name] is not None]
        return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


@dataclass(frozen=True, eq=False)
class Totals:
    """Weighted totals of cells, their covariance, and how many clusters and strata are behind them."""

    design: SurveyDesign
    totals: Floats
    squares: Floats  # sums of squared weights
    covariance: Floats
    block_degrees: Ints  # for each block, the clusters minus the strata in which its cells occur
    degrees: int  # all clusters minus all strata

    def of_block(self, block: int, size: int) -> WeightedReports:
        """Of the cells of one block, for example the reports of one group."""
        cells = slice(block * size, (block + 1) * size)
        total = float(self.totals[cells].sum())
        f = self.totals[cells] / total
        A = (np.eye(size) - f[:, None]) / total
        covariance = A @ self.covariance[cells, cells] @ A.T
        kish = total**2 / float(self.squares[cells].sum())
        degrees = int(self.block_degrees[block])
        return WeightedReports(f, covariance, total * self.design.unit, kish, degrees, self.design.words)

    def linear(self, size: int) -> Floats:
        """The matrix that leads from errors of totals to errors of the shares within each block."""
        return shares_within(self.totals, [slice(k, k + size) for k in range(0, len(self.totals), size)])


def shares_within(totals: Floats, parts: Sequence[slice]) -> Floats:
    """The matrix that leads from errors of totals to errors of the shares within each part, part by part."""
    found = []
    for part in parts:
        total = float(totals[part].sum())
        rows = np.zeros((part.stop - part.start, len(totals)))
        rows[:, part] = (np.eye(len(rows)) - (totals[part] / total)[:, None]) / total
        found.append(rows)
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class WeightedReports:
    """Weighted shares of the reports with their design-based covariance."""

    report_shares: Floats
    covariance: Floats
    total: float  # sum of the weights
    effective: float  # Kish's number of equally weighted people worth as much
    degrees: int  # clusters minus strata
    words: str

    @property
    def totals(self) -> Floats:
        """Totals of the outputs, as parts of the total of all."""
        return self.report_shares


def survey_totals(cells: Ints, blocks: int, size: int, design: SurveyDesign) -> Totals:
    """Weighted totals of `blocks * size` cells, one of which each person is in."""
    n, width = len(cells), blocks * size
    w = np.ones(n) if design.weights is None else design.weights
    strata = np.zeros(n, dtype=np.int64) if design.strata is None else design.strata
    totals = np.asarray(np.bincount(cells, weights=w, minlength=width), dtype=np.float64)
    squares = np.asarray(np.bincount(cells, weights=w * w, minlength=width), dtype=np.float64)
    if design.clusters is None:
        sizes = np.bincount(strata)
        factor = _factors(sizes, design)
        squared = np.bincount(cells, weights=w * w * factor[strata], minlength=width)
        second: Floats = np.diag(np.asarray(squared, dtype=np.float64))
        each = np.bincount(cells // size, minlength=blocks)
    else:
        many = int(design.clusters.max()) + 1
        pairs, units = np.unique(strata * many + design.clusters, return_inverse=True)
        of_unit = pairs // many
        sizes = np.bincount(of_unit)
        factor = _factors(sizes, design)
        second = _between(units, cells, w, width, factor[of_unit])
        each = np.bincount(np.unique(units * blocks + cells // size) % blocks, minlength=blocks)
    by_stratum = np.bincount(strata * width + cells, weights=w, minlength=len(sizes) * width)
    means = by_stratum.reshape(len(sizes), width)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(sizes > 0, factor / sizes, 0.0)
    covariance = second - (means * scale[:, None]).T @ means
    found = np.bincount(np.unique(strata * blocks + cells // size) % blocks, minlength=blocks)
    degrees = int(sizes.sum() - np.count_nonzero(sizes))
    return Totals(design, totals, squares, covariance, each - found, degrees)


def _between(units: Ints, cells: Ints, w: Floats, width: int, factor: Floats) -> Floats:
    """Sum over clusters of factor T T', T the totals of a cluster."""
    from scipy.sparse import coo_array

    T = coo_array((w, (units, cells)), shape=(len(factor), width)).tocsr()
    scaled = T.multiply(np.sqrt(factor)[:, None]).tocsr()
    return np.asarray((scaled.T @ scaled).todense())


def _factors(sizes: Ints, design: SurveyDesign) -> Floats:
    """n_h / (n_h - 1) for every stratum; refuses one with a single cluster, whose variance nobody can tell."""
    if (sizes == 1).any():
        one, several = ("person", "people") if design.clusters is None else ("cluster", "clusters")
        if design.strata is None:
            raise ValuesError(f"a variance needs at least 2 {several}", given="1")
        lonely = [design.strata_labels[k] for k in np.flatnonzero(sizes == 1)]
        raise ValuesError(
            f"every stratum must have at least 2 {several}",
            given=f"one {one} in {shorten(lonely, 5)}",
            remedy="merge it with a similar stratum",
        )
    return np.asarray(sizes / np.maximum(sizes - 1, 1), dtype=np.float64)


def check_weights(values: Any, name: Any = None) -> Floats:
    """The weights as numbers, none missing or negative, not all 0; `name` is that of their column."""
    of = f"in {name!r} " if isinstance(name, str) else ""
    try:
        w = checks.floats(values)
    except (TypeError, ValueError, OverflowError):
        w = np.array([_number(value) for value in as_list(values)], dtype=np.float64)
    bad = ~np.isfinite(w)
    if w.ndim != 1:
        raise ValuesError(f"{of}must be one column", parameter="weights", given=f"shape {w.shape}")
    if bad.any():
        raise ValuesError(
            f"{of}must be a finite number for every person",
            parameter="weights",
            given=f"{int(bad.sum())} of {len(w)} missing or not a number",
            remedy="drop these rows, or give each of them a weight",
        )
    if (w < 0).any():
        given = f"{int((w < 0).sum())} below 0, the least {w.min():g}"
        raise ValuesError(
            f"{of}must not be negative", parameter="weights", given=given, remedy="correct them"
        )
    if not w.any():
        raise ValuesError(f"{of}must not all be 0", parameter="weights", remedy="give weights")
    w.setflags(write=False)
    return w


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """Named columns in memory."""

    names: tuple[str, ...]
    columns: Mapping[str, Any]
    where: str = "the frame"
    drawn: Mapping[str, Mechanism] = field(default_factory=dict)  # from what, where the source says so

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
    return NamedColumns(tuple(wanted), columns, "the file")


def store_table(
    stored: StoredReports, reports: Sequence[str], others: Sequence[str], missing: str
) -> NamedColumns:
    """Columns of a survey's reports."""
    stored.check_clear(others)
    stored.check_one_mechanism(reports)
    wanted = list(dict.fromkeys([*reports, *others]))
    columns = _complete(stored.columns(wanted), reports, missing)
    drawn = {
        part.column: m.mechanism
        for q in stored.published.questions
        for part, m in zip(q.parts, q.mechanisms, strict=False)
    }
    return NamedColumns(tuple(wanted), columns, "the store", drawn)


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
    return NamedColumns(
        tuple(eager.columns), {name: eager.get_column(name).to_native() for name in eager.columns}
    )


def codes_of(outputs: Labels, reports: Any, table: NamedColumns | None, column: Any) -> Ints:
    """For each person the number of the report."""
    if table is None and isinstance(reports, Mapping | ReportCounts):
        raise OptionError(
            "weights, groups, strata and clusters need one report for each person",
            given="counts",
            remedy="give a column of reports, a frame or a file",
        )
    return report_codes(outputs, _reports(table, reports, column))


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
    return NamedColumns(tuple(columns), columns)


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


def _reports(table: NamedColumns | None, reports: Any, column: Any) -> Any:
    if table is None:
        if column is not None:
            raise OptionError(
                "must come with a frame or a file", parameter="column", given="a column of reports"
            )
        return reports
    if column is None:
        if len(table.names) == 1:
            return table[table.names[0]]
        raise OptionError(
            "must name the column of reports", parameter="column", given=f"none of {shorten(table.names, 12)}"
        )
    return table.read(column)


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
