"""How often each value stands in a column of a CSV or Parquet file, read in constant memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...draw.columns import Alphabet
from ...draw.drawing import labels_at
from ...draw.texts import Texts
from ...errors import ValuesError
from ...model.labels import Labels, is_missing
from .csv import INTEGER, CsvData, finder
from .csv_scan import unquote
from .parquet import ParquetData
from .source import Data, listed, only_column, open_data

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
        raise ValuesError('must be "refuse" or "drop"', parameter="missing", given=f"{missing!r}")
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


def count_values(data: Data, name: str | Sequence[str], progress: Progress | None = None) -> Counted:
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


def count_unknown(data: Data, name: str | tuple[str, ...], labels: Labels) -> tuple[int, int, int]:
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


def _parts(data: Data, name: str) -> Iterator[tuple[Values, int]]:
    return _csv_parts(data, name) if isinstance(data, CsvData) else _parquet_parts(data, name)


def _joint_parts(data: Data, names: Sequence[str]) -> Iterator[tuple[Values, int]]:
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


def read_texts(data: Data, name: str) -> list[Any]:
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
