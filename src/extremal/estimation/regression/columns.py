"""The columns that a regression reads, from any frame, mapping of arrays or file, and reports as numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._common.files import file_name
from ..._common.types import Bools, Floats, Ints
from ..._common.words import shorten
from ...errors import FileError, ValuesError
from ...model.labels import Labels
from .formula import check_columns

# What stands for a missing covariate in a CSV file; "None" is often an answer.
ABSENT = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]


@dataclass(frozen=True)
class File:
    """A CSV or Parquet file, with what its name does not say."""

    path: str
    format: str | None = None
    delimiter: str | None = None


def read(data: Any, wanted: Sequence[str], private: Sequence[str]) -> Any:
    """A pandas frame with the columns wanted; private columns of a CSV file stay text.

    Parameters
    ----------
    data
        Any eager frame that narwhals knows, a mapping name -> array, a File or the path of one.
    wanted
        The columns to read.
    private
        Those of them that hold reports.
    """
    import pandas as pd

    if isinstance(data, str | os.PathLike):
        data = File(file_name(data, "data", FileError))
    if isinstance(data, File):
        return _from_file(data, wanted, private)
    if isinstance(data, Mapping):
        check_columns(wanted, [str(name) for name in data])
        columns = {name: data[name] for name in wanted}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValuesError("columns must be of one length", given=f"{lengths}"[:120])
        try:
            return _native(pd.DataFrame({name: _plain(column) for name, column in columns.items()}))
        except ValueError as error:
            raise ValuesError("columns must hold one value for each person", given=str(error)[:80]) from None
    return _native(_from_frame(data, wanted))


def _native(frame: Any) -> Any:
    """The frame with numbers in the byte order of this machine: pandas counts no others."""
    orders = {
        name: kind.newbyteorder("=")
        for name, kind in frame.dtypes.items()
        if isinstance(kind, np.dtype) and not kind.isnative
    }
    return frame.astype(orders) if orders else frame


def _from_frame(data: Any, wanted: Sequence[str]) -> Any:
    import narwhals as nw
    import pandas as pd

    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise ValuesError(
            "must be a frame, a mapping name -> array, or the path of a CSV or Parquet file",
            parameter="data",
            given=type(data).__name__,
            remedy="collect a lazy frame first",
        ) from None
    except nw.exceptions.NarwhalsError as error:  # such as two columns of one name
        raise ValuesError(
            "cannot be read", parameter="data", given=" ".join(str(error).split())[:120]
        ) from None
    check_columns(wanted, list(map(str, frame.columns)))
    native = nw.to_native(frame)
    if isinstance(native, pd.DataFrame):
        return native[list(wanted)].reset_index(drop=True)
    return pd.DataFrame({name: _plain(frame.get_column(name)) for name in wanted})


def _plain(column: Any) -> Any:
    """A column as pandas holds it; the levels of an Enum keep their order."""
    import narwhals as nw
    import pandas as pd

    if isinstance(column, pd.Series | pd.Categorical):
        return column.array if isinstance(column, pd.Series) else column
    if isinstance(column, list | tuple | np.ndarray):
        return np.asarray(column) if not isinstance(column, list | tuple) else list(column)
    try:
        series = nw.from_native(column, series_only=True, allow_series=True)
    except TypeError:
        return np.asarray(column)
    if isinstance(series.dtype, nw.Enum):
        return pd.Categorical(series.to_list(), categories=list(series.dtype.categories))
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return series.to_numpy()
    return pd.Series(series.to_list(), dtype=object)


def _from_file(file: File, wanted: Sequence[str], private: Sequence[str]) -> Any:
    import pandas as pd

    from ...release.files.csv import CsvData
    from ...release.files.source import open_data

    path, kind, delimiter = file.path, file.format, file.delimiter
    try:
        opened = open_data(path, list(wanted), kind, delimiter)
    except ValuesError:  # a column is missing: the same words as for a frame
        opened = open_data(path, [], kind, delimiter)
        check_columns(wanted, opened.columns)
        raise
    if not isinstance(opened, CsvData):
        import pyarrow.parquet as pq

        return _from_frame(pq.read_table(path, columns=list(wanted)), wanted)
    try:
        return pd.read_csv(
            path,
            sep=opened.header.delimiter,
            usecols=list(wanted),
            dtype=dict.fromkeys(private, str),
            keep_default_na=False,
            na_values={name: [""] if name in private else ABSENT for name in wanted},
            encoding="utf-8-sig",
            low_memory=False,
        )[list(wanted)]
    except (ValueError, UnicodeDecodeError) as error:
        raise FileError(
            "must be a CSV file", parameter="data", given=" ".join(str(error).split())[:200]
        ) from None


def check_kind(column: Any, name: str) -> None:
    """Refuse dates and times, of which no model says what they mean."""
    if column.dtype.kind in "mM":
        raise ValuesError(
            f"the column {name!r} must hold numbers, text or truth values",
            given=str(column.dtype),
            remedy="convert dates to numbers first, such as years",
        )


def missing(column: Any) -> Bools:
    """The rows that have no value."""
    import pandas as pd

    return np.asarray(pd.isna(column), dtype=bool)


def codes(column: Any, labels: Labels, name: str) -> Ints:
    """The number of the label in each row, texts that are written like a label included; -1 if there is none."""
    import pandas as pd

    numbers, values = pd.factorize(column, use_na_sentinel=True)
    place = {label: k for k, label in enumerate(labels)}
    texts = Counter(str(label) for label in labels)
    by_text = {str(label): k for k, label in enumerate(labels) if texts[str(label)] == 1}
    rows = np.empty(len(values) + 1, dtype=np.int64)
    rows[-1] = -1
    unknown = []
    for k, value in enumerate(values):
        rows[k] = _find(value, place, by_text)
        if rows[k] < 0:
            unknown.append(k)
    if unknown:
        counts = np.bincount(numbers[numbers >= 0], minlength=len(values))
        worst = sorted(unknown, key=lambda k: -counts[k])
        named = ", ".join(f"{_item(values[k])!r:.40} ({counts[k]})" for k in worst[:5])
        raise ValuesError(
            f"every report in {name!r} must be one of the output labels {shorten(labels)}",
            given=f"others in {int(counts[unknown].sum())} of {len(numbers)} rows: {named}"
            + (f", {len(unknown) - 5} more values" if len(unknown) > 5 else ""),
            remedy="correct or drop them, or load the mechanism that made these reports",
        )
    return np.asarray(rows[numbers])


def _find(value: Any, place: Mapping[Any, int], by_text: Mapping[str, int]) -> int:
    value = _item(value)
    try:
        if value in place:
            return place[value]
    except TypeError:
        return -1
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return by_text.get(text, -1)


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def numbers(column: Any, what: str, rows: int) -> Floats:
    """A column of finite numbers >= 0, one for each row: weights."""
    try:
        values = np.asarray(_plain(column), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValuesError(f"{what} must be numbers", given=repr(column)[:60]) from None
    if values.shape != (rows,):
        raise ValuesError(f"{what} must be one for each row", given=f"shape {values.shape} for {rows} rows")
    wrong = ~(values >= 0) | ~np.isfinite(values)
    if wrong.any():
        absent = int(np.isnan(values).sum())
        raise ValuesError(
            f"{what} must be finite numbers >= 0",
            given=f"{absent} missing and {int(wrong.sum()) - absent} negative or infinite",
            remedy="drop these rows, or correct them",
        )
    if not values.sum() > 0:
        raise ValuesError(f"{what} must not all be 0", given=f"{rows} rows of weight 0")
    return values


def equal_rows(arrays: Sequence[Any]) -> tuple[Ints, Ints] | None:
    """First row of each group of equal rows, and the group of every row; None if few rows are equal.

    Rows are compared through a 64-bit hash, and then in full.
    """
    n = len(arrays[0])
    parts = [np.ascontiguousarray(a).reshape(n, -1).view(np.uint64) for a in arrays]
    key = np.zeros(n, dtype=np.uint64)
    for part in parts:
        for k in range(part.shape[1]):
            key ^= part[:, k] + np.uint64(0x9E3779B97F4A7C15) + (key << np.uint64(6)) + (key >> np.uint64(2))
            key *= np.uint64(0xFF51AFD7ED558CCD)
            key ^= key >> np.uint64(33)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    if 2 * len(first) > n:
        return None
    for part in parts:
        if any(not np.array_equal(part[first[group], k], part[:, k]) for k in range(part.shape[1])):
            return None
    return first.astype(np.int64), group.astype(np.int64)
