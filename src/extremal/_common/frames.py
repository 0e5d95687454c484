"""Tables of results as frames and as files. Libraries are imported when one is made."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from ..errors import OptionError
from . import checks
from .extras import missing

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
        finite = [{name: _finite(value) for name, value in record.items()} for record in records]
        text = json.dumps(finite, default=str, ensure_ascii=False, allow_nan=False, indent=2)
        return (text + "\n").encode()
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


def _columns(records: Records) -> dict[str, list[Any]]:
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: _alike([_plain(record.get(name)) for record in records]) for name in names}


def _plain(value: Any) -> Any:
    """A value that any table can hold: an infinite number is missing, combinations of labels are text."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else _finite(value)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _alike(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2 or kinds <= {int, float}:
        return values
    return [None if value is None else str(value) for value in values]
