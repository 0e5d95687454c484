"""One column in, one column of reports out: lists, numpy, pandas, polars and arrow.

Every kind of column becomes codes and the row of each code; the sampler draws; the outcomes become a column
of the same kind. What comes back is built from the mechanism's output labels alone, never from the values:
not their objects, their dictionary or its order, nor the width of a string dtype, any of which could tell
what the values were.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import KeyingError, ValuesError
from . import series
from .columns import Array, Column, from_list, from_numpy, shown
from .job import Certificate, Randomness, Release, choose_randomness, plan, record_blocks
from .sampler import Integers, Sampler, Words, smallest_unsigned, unsigned


@dataclass(frozen=True, eq=False)
class Draws:
    """How words are drawn: from a source, or from a secret key and the ids of the records."""

    key: bytes | None = field(default=None, repr=False)
    ids: Any = None
    column: str | None = None  # the name that enters keyed draws; unset, that of the Series
    repeated_ids: str = "refuse"
    source: Words | None = None

    @property
    def randomness(self) -> Randomness:
        return choose_randomness(self.key, self.ids, self.repeated_ids, self.source)

    def name(self, given: str) -> str:
        name = given if self.column is None else self.column
        if not isinstance(name, str):
            raise KeyingError(f"column must be a string, got {shown(name)}; it is the name of the values")
        return name

    def blocks(self, count: int) -> Integers | None:
        return None if self.ids is None else record_blocks(self.ids, count, self.repeated_ids)


def privatize_values(
    certified: Certificate, values: Any, draws: Draws, unknown: str = "refuse", unknown_as: Hashable = None
) -> Any:
    """Reports of the values, a column of the same kind."""
    if unknown == "drop" and unknown_as is not None:
        raise ValuesError(
            'unknown must not be "drop" together with unknown_as, '
            f"got unknown={unknown!r}, unknown_as={shown(unknown_as)}; choose one"
        )
    column = as_column(certified.sampler, values)
    name = draws.name(column.name)
    instead = None if unknown_as is None else {name: unknown_as}
    job = plan({name: certified}, unknown, instead, draws.randomness, alone=True)
    drawn = job.draw(lambda sampler, name: column, len(column.codes), draws.blocks(len(column.codes)))
    job.check()
    return None if drawn is None else drawn.columns[name]


def privatize_codes(sampler: Sampler, codes: Any, draws: Draws) -> Array:
    """Column numbers of outcomes for row numbers of inputs; the same dtype if it can number every outcome."""
    if not isinstance(codes, np.ndarray) or codes.ndim != 1:
        raise ValuesError(
            f"codes must be a one-dimensional numpy array of row numbers, got {type(codes).__name__}; "
            "give numpy.asarray(codes), and for labels use privatize(values)"
        )
    if np.ma.is_masked(codes):
        raise ValuesError("codes must not be missing, got a masked array; drop what is masked")
    n, m = len(sampler.inputs), len(sampler.outputs)
    plain = np.ascontiguousarray(unsigned(np.asarray(codes)))
    fits = np.iinfo(codes.dtype).max >= m - 1
    outcomes = np.empty(len(plain), dtype=plain.dtype if fits else smallest_unsigned(m))
    release = Release((draws.name(""),), sampler)
    fill = draws.randomness.fill(release, len(plain), draws.blocks(len(plain)), None)
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
        isinstance(values, str | bytes | Mapping | Set)  # a set has no order and lost who answered the same
        or not isinstance(values, Iterable)
        or hasattr(values, "columns")
    ):
        raise ValuesError(
            f"values must be one column of labels, got {type(values).__name__}; "
            "give a list, an array or a Series, and a single value as [value]"
        )
    return from_list(sampler, list(values))
