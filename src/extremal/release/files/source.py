"""A CSV or Parquet file to read from: opened once, by its format, with the columns that are asked for."""

from __future__ import annotations

import difflib
import os
import stat
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..._common.files import reason
from ..._common.words import shorten
from ...errors import FileError, ValuesError
from .csv import CsvData
from .parquet import ParquetData

FORMATS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}

Data = CsvData | ParquetData


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
    else:
        raise FileError(
            "must be CSV (.csv, .tsv) or Parquet (.parquet, .pq)",
            parameter=what,
            given=path,
            remedy='or say which: `format="csv"` or `format="parquet"`',
        )
    twice = [name for name, times in Counter(data.columns).items() if times > 1]
    if twice:
        raise FileError(
            "must have distinct names",
            parameter="columns",
            given=f"{shorten(twice, 4)} more than once in {path}",
            remedy="rename them",
        )
    for name in wanted:
        if name not in data.columns:
            raise ValuesError(
                f"the file must have the column {name!r}, got {listed(data.columns)}: {path}"
                + _meant(name, data.columns)
            )
    return data


def format_of(path: str) -> str | None:
    """The format that the name of a file tells."""
    return FORMATS.get(os.path.splitext(path)[1].lower())


def only_column(data: Data) -> str:
    """The name of the column of a file that has a single one."""
    if len(data.columns) != 1:
        raise ValuesError("--column is missing", remedy=f"the file has {listed(data.columns)}: {data.path}")
    return data.columns[0]


def listed(names: Sequence[Any], most: int = 12) -> str:
    """Names for a sentence, cut to the first few."""
    more = f", … {len(names) - most} more" if len(names) > most else ""
    return ", ".join(_cut(str(name)) for name in names[:most]) + more


def check_unchanged(data: Data) -> None:
    """Refuse a file that is no longer what was opened."""
    now = os.stat(data.path)
    if any(getattr(now, what) != getattr(data.state, what) for what in ("st_size", "st_mtime_ns", "st_ino")):
        raise FileError(f"the source changed while it was being read: {data.path}", remedy="try again")


def _check_readable(path: str, what: str) -> None:
    """Refuse what is no file or cannot be read; a named pipe would never end."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb"):
                pass
    except (OSError, ValueError) as error:
        raise FileError(
            "must be a file that can be read",
            parameter=what,
            given=f"{path}: {reason(error) if isinstance(error, OSError) else error}",
        ) from None
    if not stat.S_ISREG(mode):
        raise FileError(
            "must be a regular file",
            parameter=what,
            given=f"{'a folder' if stat.S_ISDIR(mode) else 'something else'}: {path}",
            remedy="give a CSV or Parquet file",
        )


def _cut(name: str, most: int = 40) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _meant(name: str, columns: Sequence[str]) -> str:
    """The question whether a column of a similar name was meant, if there is one."""
    plain = {column.strip().casefold(): column for column in columns}
    near = difflib.get_close_matches(name.strip().casefold(), plain, n=1)
    return f"; did you mean {_cut(plain[near[0]])}?" if near else ""
