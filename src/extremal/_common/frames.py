"""Tables: results as frames, files and HTML, and frames of any library as they come in.

Libraries are imported when one is needed.
"""

from __future__ import annotations

import csv
import importlib
import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

from ..errors import OptionError, ValuesError
from . import checks
from .json import finite, json_text
from .words import missing

LIBRARIES = ("pandas", "polars", "pyarrow")
KINDS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "json"}

Records = Sequence[Mapping[str, Any]]


class Tabular(ABC):
    """A result that is a table, and turns into a frame."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each row."""

    def records(self) -> list[dict[str, Any]]:
        """The rows of frames and files, which may say more because they stand alone."""
        return self.rows()

    def to_frame(self, library: str | None = None) -> Any:
        """A frame of pandas, polars or pyarrow.

        Parameters
        ----------
        library
            "pandas", "polars" or "pyarrow"; if None, the first of them that is installed.
        """
        return to_frame(self.records(), library)


def to_frame(records: Records, library: str | None = None) -> Any:
    """A frame with a row for each record: of the library named, else of the first one that is installed.

    Values of mixed types in one column, such as labels that are text and numbers, are written as text.
    """
    if library is not None:
        checks.choice(library, "library", LIBRARIES)
    name = library or next((each for each in LIBRARIES if find_spec(each)), None)
    if name is None or find_spec(name) is None:
        raise ImportError(f"a frame needs {name or 'pandas, polars or pyarrow'}; install it with pip")
    columns = _columns(records)
    module = importlib.import_module(name)
    return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)


def table_kind(path: str) -> str:
    """How a file of this name is written."""
    ending = path[path.rfind(".") :].lower() if "." in path else ""
    if ending not in KINDS:
        raise OptionError(
            "the name of a table must end in .csv, .parquet or .json", given=path[-60:], remedy="rename it"
        )
    return KINDS[ending]


def encode_table(records: Records, kind: str) -> bytes:
    """The content of a file with one row for each record: "csv", "parquet" or "json"."""
    if kind == "json":
        return (json_text(finite(records), indent=2) + "\n").encode()
    columns = _columns(records)
    if kind == "parquet":
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise missing("Parquet files need pyarrow", "parquet") from None
        target = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), target)
        return target.getvalue()
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return lines.getvalue().encode()


def heat_cell(p: float, largest: float) -> str:
    """A table cell for a probability, shaded in proportion to the largest in the table."""
    share = 0.6 * p / largest if largest > 0 else 0.0
    return f"<td style='text-align:right;background-color:rgba(31,119,180,{share:.2f})'>{p:.4g}</td>"


def html_rows(table: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text as those of an HTML table, the first one its head."""
    kinds = ["th", *["td"] * (len(table) - 1)]
    return [
        f"<tr>{''.join(f'<{kind}>{escape(x)}</{kind}>' for x in row)}</tr>"
        for kind, row in zip(kinds, table, strict=True)
    ]


def html_table(caption: str, rows: Iterable[str]) -> str:
    """An HTML table of finished rows."""
    return f"<table><caption>{escape(caption)}</caption>{''.join(rows)}</table>"


def eager_frame(frame: Any, parameter: str = "frame") -> Any:
    """The frame as a narwhals DataFrame, if it is one that holds its values."""
    import narwhals

    try:
        wrapped = narwhals.from_native(frame)
    except (TypeError, narwhals.exceptions.NarwhalsError) as error:
        raise ValuesError(
            "must be a pandas, polars or arrow table, or another eager frame with distinct column names",
            parameter=parameter,
            given=f"{type(frame).__name__}: {' '.join(str(error).split())[:80]}",
            remedy="a column by itself is for the method privatize of a certified mechanism",
        ) from None
    if isinstance(wrapped, narwhals.LazyFrame):
        given = "an engine may evaluate it more than once, and two draws of one record are two releases"
        raise ValuesError(
            "must hold its values",
            parameter=parameter,
            given=f"a lazy {type(frame).__name__}: {given}",
            remedy="collect it first, and for Spark use extremal.release.spark",
        )
    if any(isinstance(name, tuple) for name in wrapped.columns):
        remedy = "flatten the columns first"
        raise ValuesError("must be named by strings", parameter="columns", given="tuples", remedy=remedy)
    return wrapped


def _columns(records: Records) -> dict[str, list[Any]]:
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: _alike([_plain(record.get(name)) for record in records]) for name in names}


def _plain(value: Any) -> Any:
    """A value that any table can hold: an infinite number is missing, combinations of labels are text."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else finite(value)


def _alike(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2 or kinds <= {int, float}:
        return values
    return [None if value is None else str(value) for value in values]
