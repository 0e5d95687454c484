"""One column in, one column of reports out: lists, numpy, pandas, polars and arrow.

Every kind of column becomes codes and the row of each code; the sampler draws; the outcomes become a column
of the same kind. What comes back is built from the mechanism's output labels alone, never from the values:
not their objects, their dictionary or its order, nor the width of a string dtype, any of which could tell
what the values were.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import KeyingError, ValuesError
from ..keyed import check_distinct, check_key, id_blocks, keyed_words
from ..prior import shorten
from ..sampling import Fill, Sampler, SecureWords, Words, smallest_unsigned, unsigned
from . import series
from .columns import Array, Column, Kept, Rows, from_list, from_numpy, is_hashable


@dataclass(frozen=True, eq=False)
class Draws:
    """How words are drawn: from a source, or from a secret key and the ids of the records."""

    key: bytes | None = None
    ids: Any = None
    column: str | None = None
    repeated_ids: str = "refuse"
    source: Words | None = None

    def fill(self, sampler: Sampler, count: int, name: str, kept: Kept) -> Fill:
        """The words of `count` records, of which those in `kept` are drawn."""
        if self.repeated_ids not in ("refuse", "allow"):
            raise KeyingError(f'repeated_ids must be "refuse" or "allow", got {self.repeated_ids!r}')
        if self.key is None:
            if self.ids is not None:
                raise KeyingError("ids must come with a key, got ids alone; give key=read_key(path) as well")
            return (self.source or SecureWords()).stream(count)
        if self.ids is None:
            raise KeyingError("a key must come with ids, got a key alone; give ids=, one for each record")
        if self.source is not None:
            raise KeyingError("draws must come from a key or from a source, got both; leave one out")
        column = name if self.column is None else self.column
        if not isinstance(column, str):
            raise KeyingError(f"column must be a string, got {repr(column)[:60]}")
        blocks = id_blocks(self.ids, count)
        if self.repeated_ids == "refuse":
            check_distinct(blocks, self.ids)
        return keyed_words(
            check_key(self.key), column, sampler.digest, blocks if kept is None else blocks[kept]
        )


def privatize_values(
    sampler: Sampler, values: Any, draws: Draws, unknown: str = "refuse", unknown_as: Hashable = None
) -> Any:
    """Reports of the values, a column of the same kind."""
    if unknown not in ("refuse", "drop") or (unknown == "drop" and unknown_as is not None):
        raise ValuesError(
            'unknown must be "refuse" or "drop", and not "drop" together with unknown_as, '
            f"got unknown={unknown!r}, unknown_as={unknown_as!r}; choose one"
        )
    column = as_column(sampler, values)
    nobody = len(sampler.inputs)
    codes, rows = column.codes, column.rows
    kept: Kept = None
    if unknown_as is not None:
        if not is_hashable(unknown_as) or unknown_as not in sampler.row_of:
            raise ValuesError(
                f"unknown_as must be one of the input labels {shorten(sampler.inputs)}, got {unknown_as!r}"
            )
        rows = np.where(rows == nobody, np.uint32(sampler.row_of[unknown_as]), rows)
    elif unknown == "drop" and np.any(rows == nobody):
        kept = _rows_of(codes, rows) != nobody
        codes = codes[kept]
    fill = draws.fill(sampler, len(column.codes), column.name, kept)
    outcomes = np.empty(len(codes), dtype=column.outcomes)
    if not sampler.draw(np.ascontiguousarray(codes), rows, fill, outcomes):
        raise _unknown(sampler, column)
    return column.rebuild(outcomes, kept)


def privatize_codes(sampler: Sampler, codes: Array, draws: Draws) -> Array:
    """Column numbers of outcomes for row numbers of inputs; the same dtype if it can number every outcome."""
    if codes.ndim != 1:
        raise ValuesError(
            "codes must be a one-dimensional numpy array of row numbers; for labels use privatize(values)"
        )
    n, m = len(sampler.inputs), len(sampler.outputs)
    plain = np.ascontiguousarray(unsigned(codes))
    fits = np.iinfo(codes.dtype).max >= m - 1
    outcomes = np.empty(len(plain), dtype=plain.dtype if fits else smallest_unsigned(m))
    fill = draws.fill(sampler, len(plain), "", None)
    if not sampler.draw(plain, np.arange(n + 1, dtype=np.uint32), fill, outcomes):
        wrong = codes[plain >= n]
        raise ValuesError(
            f"codes must be row numbers 0..{n - 1}, got others in {len(wrong)} of {len(codes)} rows, "
            f"{wrong[0]} first; number the values by the order of the input labels"
        )
    return outcomes.view(codes.dtype.newbyteorder("=")) if fits else outcomes


def as_column(sampler: Sampler, values: Any) -> Column:
    """Any column as codes."""
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas and isinstance(values, pandas.Series):
        return series.from_pandas(sampler, values, pandas)
    if polars and isinstance(values, polars.Series):
        return series.from_polars(sampler, values, polars)
    if pyarrow and isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return series.from_arrow(sampler, values)
    if isinstance(values, np.ndarray):
        return from_numpy(sampler, values)
    if (
        isinstance(values, str | bytes | Mapping)
        or not isinstance(values, Iterable)
        or hasattr(values, "columns")
    ):
        raise ValuesError(
            f"values must be one column of labels, got {type(values).__name__}; "
            "give a list, an array or a Series, and a single value as [value]"
        )
    return from_list(sampler, list(values))


def _rows_of(codes: Array, rows: Rows) -> Rows:
    return rows[np.minimum(codes, np.array(len(rows) - 1, dtype=codes.dtype))] if len(codes) else rows[:0]


def _unknown(sampler: Sampler, column: Column) -> ValuesError:
    """One line that names the values that have no row, however many there are."""
    where = np.flatnonzero(_rows_of(column.codes, column.rows) == len(sampler.inputs))
    counts: Counter[str] = Counter()
    missing = 0
    for value in column.values_at(where):
        if _is_missing(value):
            missing += 1
        else:
            counts[repr(value)[:60]] += 1
    shown = [f"{name} ({times})" for name, times in counts.most_common(5)]
    more = [f"{len(counts) - 5} more values"] if len(counts) > 5 else []
    gaps = [f"missing ({missing})"] if missing else []
    return ValuesError(
        f"every value must be one of the input labels {shorten(sampler.inputs)}, got others in {len(where)} "
        f"of {len(column.codes)} rows: {', '.join([*shown, *more, *gaps])}; correct them, drop their rows "
        'with unknown="drop", or treat them as a label of the alphabet with unknown_as=label'
    )


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas' NA refuses to be compared
        return True
