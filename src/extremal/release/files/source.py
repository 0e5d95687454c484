"""A file of data to read from, of any format: opened once, with the columns asked for, and what stands in them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._common import checks
from ..._common.files import open_file, reason
from ..._common.words import listed, shorten
from ...draw.columns import Alphabet
from ...draw.drawing import labels_at
from ...draw.texts import Texts
from ...errors import FileError, ValuesError
from ...model.labels import Labels, is_missing
from .csv import INTEGER, CsvData, finder
from .csv_scan import unquote
from .labelled import LabelledData
from .parquet import ParquetData

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".sav": "spss",
    ".dta": "stata",
}
KNOWN = "CSV (.csv, .tsv), Parquet (.parquet, .pq), SPSS (.sav) or Stata (.dta)"

Data = CsvData | ParquetData | LabelledData
MOST_VALUES = 100_000  # different ones in a column of answers; more are no answers but names, numbers or ids
LONGEST_LABEL = 1000  # characters

Progress = Callable[[int, int], None]
Values = dict[Any, int]


def open_data(
    path: str, wanted: Sequence[str], format: str | None, delimiter: str | None, what: str = "data"
) -> Data:
    """The file, opened by its format: that given, else that of its name. It has the columns wanted.

    `what` is the caller's word for the file.
    """
    _check_readable(path, what)
    kind = format or format_of(path)
    data: Data
    if kind == "parquet":
        data = ParquetData.open(path)
    elif kind == "csv":
        data = CsvData.open(path, wanted, delimiter)
    elif kind is not None:
        data = LabelledData.open(path, kind)
    else:
        raise FileError(
            f"must be {KNOWN}",
            parameter=what,
            given=path,
            remedy='or say which, e.g. `format="csv"`',
        )
    twice = [name for name, times in Counter(data.columns).items() if times > 1]
    if twice:
        raise FileError(
            "must have distinct names",
            parameter="columns",
            given=f"{shorten(twice, 4)} more than once in {path}",
            remedy="rename them",
        )
    checks.columns(wanted, data.columns, f"the file {path}")
    return data


def format_of(path: str) -> str | None:
    """The format that the name of a file tells."""
    return FORMATS.get(os.path.splitext(path)[1].lower())


def only_column(data: Data) -> str:
    """The name of the column of a file that has a single one."""
    if len(data.columns) != 1:
        raise ValuesError("--column is missing", remedy=f"the file has {listed(data.columns)}: {data.path}")
    return data.columns[0]


def check_unchanged(data: Data) -> None:
    """Refuse a file that is no longer what was opened."""
    now = os.stat(data.path)
    if any(getattr(now, what) != getattr(data.state, what) for what in ("st_size", "st_mtime_ns", "st_ino")):
        raise FileError(f"the source changed while it was being read: {data.path}", remedy="try again")


def _check_readable(path: str, what: str) -> None:
    """Refuse what is no file or cannot be read; a named pipe would never end."""
    try:
        open_file(path).close()
    except (OSError, ValueError) as error:
        given = f"{path}: {reason(error) if isinstance(error, OSError) else error}"
        raise FileError("must be a file that can be read", parameter=what, given=given) from None


def read_counts(
    path: str,
    column: str | Sequence[str] | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    missing: str = "refuse",
    progress: Progress | None = None,
) -> Values:
    """Value -> how often it occurs. In a CSV file, integers if all values are written as integers, else text.

    Of several columns, the combinations of their values that occur, as tuples. Without a column the file must have a
    single one. An empty field of a CSV file and a null of a Parquet file are missing: refused, or left out with
    missing="drop". `progress` is called with (done, total).
    """
    checks.choice(missing, "missing", ("refuse", "drop"), error=ValuesError)
    wanted = [] if column is None else [column] if isinstance(column, str) else list(column)
    data = open_data(path, wanted, format, delimiter)
    name = only_column(data) if column is None else column
    values, absent = count_values(data, name, progress)
    if absent and missing == "refuse":
        raise ValuesError(
            f"every record must have a value in {_words(name)}",
            given=f"{absent} without one in {path}",
            remedy='name them, e.g. "no answer", or leave them out: `missing="drop"`',
        )
    return values


def count_values(
    data: Data, name: str | Sequence[str], progress: Progress | None = None
) -> tuple[Values, int]:
    """How often each value, or combination, stands in columns of a file; and how many records have none."""
    names = [name] if isinstance(name, str) else list(name)
    rows: Counter[Any] = Counter()  # tuples of values; None where some value is missing
    for columns, done in data.parts(names):
        csv = isinstance(data, CsvData)
        for *row, count in _grouped_fields(columns) if csv else _grouped(columns, names, data.path):
            rows[None if any(map(is_missing, row)) else tuple(map(_label, row))] += count
        if len(rows) > MOST_VALUES:
            raise ValuesError(
                f"a column of answers must have at most {MOST_VALUES} different values",
                given=f"more in {_words(name)} of {data.path}",
                remedy="choose another column, or group its values first",
            )
        if progress is not None:
            progress(min(done, data.total), data.total)
    absent = rows.pop(None, 0)
    counts = _integers(rows) if isinstance(data, CsvData) else dict(rows)
    return {row[0]: n for row, n in counts.items()} if isinstance(name, str) else counts, absent


def _words(name: str | Sequence[str]) -> str:
    return f"column {name!r}" if isinstance(name, str) else f"the columns {listed(name)}"


def match_tuples(counts: Mapping[Any, int], labels: Labels) -> dict[Hashable, int]:
    """The same counts of combinations with each text as the label that it stands for in its column."""
    columns = [labels_at(labels, k) for k in range(len(labels[0]))]  # type: ignore[arg-type]
    names = [
        {value: label for value in {row[k] for row in counts} for label in match_labels({value: 1}, column)}
        for k, column in enumerate(columns)
    ]
    found: Counter[Hashable] = Counter()
    for row, count in counts.items():
        found[tuple(name[value] for name, value in zip(names, row, strict=True))] += count
    return dict(found)


def match_labels(counts: Mapping[Any, int], labels: Labels) -> dict[Hashable, int]:
    """The same counts with each text as the label it stands for, as when a CSV file is privatised."""
    find = finder(Alphabet(labels, labels))
    found: Counter[Hashable] = Counter()
    known = set(labels)
    for value, count in counts.items():
        text = (
            str(value) if type(value) is int and value not in known else value
        )  # 1 may stand for the label "1"
        row = find(text) if isinstance(text, str) else len(labels)
        found[labels[row] if row < len(labels) else value] += count
    return dict(found)


def _grouped_fields(columns: Sequence[Texts]) -> Iterator[Sequence[Any]]:
    """The different rows of some columns of a CSV file, each with how often it occurs; None for an empty field."""
    numbered = [column.numbered() for column in columns]
    if len(numbered) == 1:
        ((codes, texts),) = numbered
        yield from zip(map(_value, texts), np.bincount(codes, minlength=len(texts)).tolist(), strict=True)
        return
    keys = numbered[0].codes.astype(np.int64)
    for codes, texts in numbered[
        1:
    ]:  # numbered anew each time: keys stay below the square of the number of rows
        _, keys = np.unique(keys * len(texts) + codes, return_inverse=True)
    firsts = np.empty(int(keys.max(initial=-1)) + 1, dtype=np.int64)
    firsts[keys[::-1]] = np.arange(len(keys))[::-1]  # the last one that is written stays
    counts = np.bincount(keys, minlength=len(firsts))
    for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
        yield [*(_value(texts[codes[first]]) for codes, texts in numbered), count]


def _value(field: str) -> str | None:
    """What a field stands for; None if it is empty."""
    return unquote(field) or None


def _grouped(columns: Sequence[Any], names: Sequence[str], path: str) -> Iterator[Sequence[Any]]:
    """The different rows of some columns, each with how often it occurs, in the order in which they first occur."""
    import pyarrow

    table = pyarrow.table(list(columns), names=[str(k) for k in range(len(columns))])
    try:
        counted = table.group_by(table.column_names, use_threads=False).aggregate([([], "count_all")])
        yield from zip(
            *(counted.column(name).to_pylist() for name in [*table.column_names, "count_all"]), strict=True
        )
    except (TypeError, pyarrow.ArrowException) as error:
        raise ValuesError(
            "columns of answers must hold text, numbers or truth values",
            given=f"others among {listed(names)} of {path}",
            remedy="convert them",
        ) from error


def _label(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_LABEL:
        raise ValuesError(
            f"an answer must have at most {LONGEST_LABEL} characters",
            given=f"one of {len(value)}",
            remedy="is this the right column, or is a quote left open?",
        )
    return value


def _integers(counts: Mapping[Any, int]) -> Values:
    """In each place integers if all of its texts are written as integers."""
    places = [all(map(INTEGER.fullmatch, texts)) for texts in zip(*counts, strict=True)]
    return {
        tuple(int(text) if whole else text for text, whole in zip(row, places, strict=True)): count
        for row, count in counts.items()
    }


def read_texts(data: Data, name: str) -> list[Any]:
    """All values of a column in memory, as text from a CSV file; None where there is none."""
    found: list[Any] = []
    if isinstance(data, CsvData):
        place = data.columns.index(name)
        for records, _ in data._records():
            found += [_value(field) for field in records.fields(place)]
    else:
        for column in data.ids(name):
            found += column.to_pylist()
    return found
