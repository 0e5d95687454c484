"""How often each value stands in a column of a CSV or Parquet file, read in constant memory."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import FileError, ValuesError
from ..prior import shorten
from ..sampling import Sampler
from .csv_files import INTEGER, CsvData, finder
from .csv_scan import unquote
from .files import FORMATS
from .parquet_files import ParquetData

MOST_VALUES = 100_000  # different ones in a column of answers; more are no answers but names, numbers or ids
LONGEST_LABEL = 1000  # characters

Progress = Callable[[int, int], None]
Values = dict[Any, int]


def read_counts(
    path: str,
    column: str | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    missing: str = "refuse",
    progress: Progress | None = None,
) -> Values:
    """Value -> how often it occurs. In a CSV file, integers if all values are written as integers, else text.

    Without a column the file must have a single one. An empty field of a CSV file and a null of a Parquet file are
    missing: refused, or left out with missing="drop". `progress` is called with (done, total).
    """
    if missing not in ("refuse", "drop"):
        raise ValuesError(f'missing must be "refuse" or "drop", got {missing!r}')
    data = open_data(path, column, format, delimiter)
    name = _only(data.columns, path) if column is None else column
    if name not in data.columns:
        raise ValuesError(f"file must have the column {name!r}, got {shorten(data.columns, 20)}: {path}")
    counts: Counter[Any] = Counter()
    for part, done in _csv_parts(data, name) if isinstance(data, CsvData) else _parquet_parts(data, name):
        counts.update(part)
        if len(counts) > MOST_VALUES:
            raise ValuesError(
                f"a column of answers must have at most {MOST_VALUES} different values, got more in {name!r} of "
                f"{path}; choose another column, or group its values first"
            )
        if progress is not None:
            progress(min(done, data.total), data.total)
    absent = counts.pop(None, 0)
    if absent and missing == "refuse":
        raise ValuesError(
            f"every record must have a value in column {name!r}, got {absent} without one in {path}; "
            "name them, e.g. 'no answer', or leave them out"
        )
    return _integers(counts) if isinstance(data, CsvData) else dict(counts)


def match_labels(counts: Mapping[Any, int], labels: tuple[Hashable, ...]) -> dict[Hashable, int]:
    """The same counts with each text as the label it stands for, as when a CSV file is privatised."""
    find = finder(Sampler(np.zeros((0, 0), dtype=np.uint64), labels, labels, b""))
    found: Counter[Hashable] = Counter()
    for value, count in counts.items():
        row = find(value) if isinstance(value, str) else len(labels)
        found[labels[row] if row < len(labels) else value] += count
    return dict(found)


def open_data(
    path: str, column: str | None, format: str | None, delimiter: str | None
) -> CsvData | ParquetData:
    """The file, opened by its format: that given, else that of its name."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb"):
                pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise FileError(f"data must be a file that can be read, got {path}: {why}") from None
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "something else"
        raise FileError(f"data must be a file, got {what}: {path}; give a CSV or Parquet file")
    kind = format or FORMATS.get(os.path.splitext(path)[1].lower())
    if kind == "parquet":
        return ParquetData.open(path)
    if kind != "csv":
        raise FileError(
            f"data must be CSV (.csv, .tsv) or Parquet (.parquet, .pq), got {path}; or say which: csv or parquet"
        )
    return CsvData.open(path, [] if column is None else [column], delimiter)


def _only(columns: list[str], path: str) -> str:
    if len(columns) != 1:
        raise ValuesError(f"a column must be named, got a file with {shorten(columns, 20)}: {path}")
    return columns[0]


def _csv_parts(data: CsvData, name: str) -> Iterator[tuple[Values, int]]:
    place = data.columns.index(name)
    for records, done in data._records():
        part: Counter[Any] = Counter()
        for entry in records.fields(place).value_counts().to_pylist():
            part[_label(unquote(entry["values"].decode())) or None] += entry["counts"]
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
                f"a column of answers must hold text, numbers or truth values, got {column.type} in {name!r} of "
                f"{data.path}; convert it"
            ) from None


def _label(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_LABEL:
        raise ValuesError(
            f"an answer must have at most {LONGEST_LABEL} characters, got one of {len(value)}: "
            f"{value[:30]!r}…; is this the right column, or is a quote left open?"
        )
    return value


def _integers(counts: Mapping[Any, int]) -> Values:
    if counts and all(INTEGER.fullmatch(text) for text in counts):
        return {int(text): count for text, count in counts.items()}
    return dict(counts)


def read_texts(data: CsvData | ParquetData, name: str) -> list[Any]:
    """All values of a column in memory, as text from a CSV file; None where there is none."""
    found: list[Any] = []
    if isinstance(data, CsvData):
        place = data.columns.index(name)
        for records, _ in data._records():
            found += [unquote(field.decode()) or None for field in records.fields(place).to_pylist()]
    else:
        if name not in data.columns:
            raise ValuesError(
                f"file must have the column {name!r}, got {shorten(data.columns, 20)}: {data.path}"
            )
        for column in data.ids(name):
            found += column.to_pylist()
    return found
