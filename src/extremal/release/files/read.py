"""How often each value stands in a column of a CSV or Parquet file, read in constant memory."""

from __future__ import annotations

import difflib
import os
import stat
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import FileError, ValuesError
from ...model.prior import Labels, is_missing
from ..alphabet import Alphabet
from ..product import labels_at
from ..texts import Texts
from .csv import INTEGER, CsvData, finder
from .csv_scan import DELIMITERS, unquote
from .parquet import ParquetData
from .privatize import FORMATS

MOST_VALUES = 100_000  # different ones in a column of answers; more are no answers but names, numbers or ids
LONGEST_LABEL = 1000  # characters

Progress = Callable[[int, int], None]
Values = dict[Any, int]


class Counted(NamedTuple):
    """Value -> how often it occurs, and how many records have none."""

    values: Values
    missing: int


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
    if missing not in ("refuse", "drop"):
        raise ValuesError(
            'must be "refuse" or "drop"',
            parameter="missing",
            given=f"{missing!r}",
        )
    data = open_data(path, column, format, delimiter)
    name = only_column(data, path) if column is None else column
    values, absent = count_values(data, name, progress)
    if absent and missing == "refuse":
        raise ValuesError(
            f"every record must have a value in {_words(name)}",
            given=f"{absent} without one in {path}",
            remedy='name them, e.g. "no answer", or leave them out: `missing="drop"`',
        )
    return values


def count_values(
    data: CsvData | ParquetData, name: str | Sequence[str], progress: Progress | None = None
) -> Counted:
    """How often each value stands in a column of a file that has it, or each combination in several columns."""
    counts: Counter[Any] = Counter()
    joint = not isinstance(name, str)
    for part, done in _joint_parts(data, name) if joint else _parts(data, str(name)):
        counts.update(part)
        if len(counts) > MOST_VALUES:
            raise ValuesError(
                f"a column of answers must have at most {MOST_VALUES} different values",
                given=f"more in {_words(name)} of {data.path}",
                remedy="choose another column, or group its values first",
            )
        if progress is not None:
            progress(min(done, data.total), data.total)
    absent = counts.pop(None, 0)
    if not isinstance(data, CsvData):
        return Counted(dict(counts), absent)
    return Counted(_integer_tuples(counts) if joint else _integers(counts), absent)


def _words(name: str | Sequence[str]) -> str:
    return f"column {name!r}" if isinstance(name, str) else f"the columns {listed(name)}"


def count_unknown(
    data: CsvData | ParquetData, name: str | tuple[str, ...], labels: Labels
) -> tuple[int, int, int]:
    """How many records of a column hold one of the labels, none at all, and something else."""
    values, absent = count_values(data, name)
    known = set(labels)
    if isinstance(name, tuple):
        found, empty = match_tuples(values, labels), 0
    elif isinstance(data, CsvData):  # integers that were recognised are texts again: labels may be those
        found = match_labels({str(value): n for value, n in values.items()}, labels)
        absent, empty = (0, absent) if "" in known else (absent, 0)
    else:
        gaps = sum(n for value, n in values.items() if is_missing(value))  # NaN
        found, empty, absent = dict(values), 0, absent + gaps
    good = empty + sum(n for value, n in found.items() if value in known)
    other = sum(n for value, n in found.items() if value not in known and not is_missing(value))
    return good, absent, other


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


def open_data(
    path: str, column: str | Sequence[str] | None, format: str | None, delimiter: str | None
) -> CsvData | ParquetData:
    """The file, opened by its format: that given, else that of its name. It has the columns named."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb"):
                pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise FileError(
            "must be a file that can be read",
            parameter="data",
            given=f"{path}: {why}",
        ) from None
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "something else"
        raise FileError(
            "must be a file",
            parameter="data",
            given=f"{what}: {path}",
            remedy="give a CSV or Parquet file",
        )
    kind = format or FORMATS.get(os.path.splitext(path)[1].lower())
    wanted = [] if column is None else [column] if isinstance(column, str) else list(column)
    data: CsvData | ParquetData
    if kind == "parquet":
        data = ParquetData.open(path)
    elif kind == "csv":
        data = _open_csv(path, wanted, delimiter)
    else:
        raise FileError(
            "must be CSV (.csv, .tsv) or Parquet (.parquet, .pq)",
            parameter="data",
            given=path,
            remedy='or say which: `format="csv"` or `format="parquet"`',
        )
    for name in wanted:
        if name not in data.columns:
            raise ValuesError(
                f"the file must have the column {name!r}, got {listed(data.columns)}: {path}"
                + _meant(name, data.columns)
            )
    return data


def _open_csv(path: str, wanted: list[str], delimiter: str | None) -> CsvData:
    """The file with the columns wanted, else split by the delimiter that gives the most columns."""
    if wanted or delimiter is not None:
        try:
            return CsvData.open(path, wanted, delimiter)
        except ValuesError:  # some column is not there: what is there, for the message
            if delimiter is not None:
                return CsvData.open(path, [], delimiter)
    found, refused = [], None
    for choice in dict.fromkeys(("\t" if path.lower().endswith(".tsv") else ",") + DELIMITERS):
        try:
            found.append(CsvData.open(path, [], choice))
        except FileError as error:  # e.g. names that are the same when they are split like this
            refused = refused or error
    if not found and refused is not None:
        raise refused
    return max(found, key=lambda data: len(data.columns))


def only_column(data: CsvData | ParquetData, path: str) -> str:
    """The name of the column of a file that has a single one."""
    if len(data.columns) != 1:
        raise ValuesError(
            "--column is missing",
            remedy=f"the file has {listed(data.columns)}: {path}",
        )
    return data.columns[0]


def listed(names: Sequence[Any], most: int = 12) -> str:
    """Names for a sentence, cut to the first few."""
    more = f", … {len(names) - most} more" if len(names) > most else ""
    return ", ".join(_cut(str(name)) for name in names[:most]) + more


def _cut(name: str, most: int = 40) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _meant(name: str, columns: Sequence[str]) -> str:
    """The question whether a column of a similar name was meant, if there is one."""
    plain = {column.strip().casefold(): column for column in columns}
    near = difflib.get_close_matches(name.strip().casefold(), plain, n=1)
    return f"; did you mean {_cut(plain[near[0]])}?" if near else ""


def _parts(data: CsvData | ParquetData, name: str) -> Iterator[tuple[Values, int]]:
    return _csv_parts(data, name) if isinstance(data, CsvData) else _parquet_parts(data, name)


def _joint_parts(data: CsvData | ParquetData, names: Sequence[str]) -> Iterator[tuple[Values, int]]:
    """Counts of combinations, part by part; None where some value is missing."""
    for columns, done in data.parts(names):
        part: Counter[Any] = Counter()
        grouped = (
            _grouped_fields(columns) if isinstance(data, CsvData) else _grouped(columns, names, data.path)
        )
        for *row, count in grouped:
            part[None if any(map(is_missing, row)) else tuple(map(_label, row))] += count
        yield part, done


def _grouped_fields(columns: Sequence[Texts]) -> Iterator[Sequence[Any]]:
    """The different rows of some columns of a CSV file, each with how often it occurs; None for an empty field."""
    numbered = [column.numbered() for column in columns]
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    for codes, texts in numbered:  # numbered anew each time: keys stay below the square of the number of rows
        _, keys = np.unique(keys * len(texts) + codes, return_inverse=True)
    _, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
        yield [*(unquote(texts[codes[first]]) or None for codes, texts in numbered), count]


def _grouped(columns: Sequence[Any], names: Sequence[str], path: str) -> Iterator[Sequence[Any]]:
    """The different rows of some columns, each with how often it occurs."""
    import pyarrow

    table = pyarrow.table(list(columns), names=[str(k) for k in range(len(columns))])
    try:
        counted = table.group_by(table.column_names).aggregate([([], "count_all")])
        yield from zip(
            *(counted.column(name).to_pylist() for name in [*table.column_names, "count_all"]), strict=True
        )
    except (TypeError, pyarrow.ArrowException) as error:
        raise ValuesError(
            "columns of answers must hold text, numbers or truth values",
            given=f"others among {listed(names)} of {path}",
            remedy="convert them",
        ) from error


def _csv_parts(data: CsvData, name: str) -> Iterator[tuple[Values, int]]:
    place = data.columns.index(name)
    for records, done in data._records():
        part: Counter[Any] = Counter()
        codes, texts = records.fields(place).numbered()
        for text, count in zip(texts, np.bincount(codes, minlength=len(texts)).tolist(), strict=True):
            part[_label(unquote(text)) or None] += count
        yield part, done


def _parquet_parts(data: ParquetData, name: str) -> Iterator[tuple[Values, int]]:
    done = 0
    for column in data.ids(name):
        done += len(column)
        try:
            counted = column.value_counts().to_pylist()
            yield {_label(entry["values"]): entry["counts"] for entry in counted}, done
        except (TypeError, NotImplementedError, ValueError) as error:
            if isinstance(error, ValuesError):
                raise
            raise ValuesError(
                "a column of answers must hold text, numbers or truth values",
                given=f"{column.type} in {name!r} of {data.path}",
                remedy="convert it",
            ) from None


def _label(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_LABEL:
        raise ValuesError(
            f"an answer must have at most {LONGEST_LABEL} characters",
            given=f"one of {len(value)}: {value[:30]!r}…",
            remedy="is this the right column, or is a quote left open?",
        )
    return value


def _integers(counts: Mapping[Any, int]) -> Values:
    if counts and all(INTEGER.fullmatch(text) for text in counts):
        return {int(text): count for text, count in counts.items()}
    return dict(counts)


def _integer_tuples(counts: Mapping[Any, int]) -> Values:
    """In each place integers if all of its texts are written as integers."""
    places = [all(map(INTEGER.fullmatch, texts)) for texts in zip(*counts, strict=True)]
    return {
        tuple(int(text) if whole else text for text, whole in zip(row, places, strict=True)): count
        for row, count in counts.items()
    }


def read_texts(data: CsvData | ParquetData, name: str) -> list[Any]:
    """All values of a column in memory, as text from a CSV file; None where there is none."""
    found: list[Any] = []
    if isinstance(data, CsvData):
        place = data.columns.index(name)
        for records, _ in data._records():
            found += [unquote(field) or None for field in records.fields(place)]
    else:
        for column in data.ids(name):
            found += column.to_pylist()
    return found
