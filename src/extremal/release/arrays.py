"""One column in, one column of reports out: lists, numpy, pandas, polars and arrow.

Every kind of column becomes codes and the row of each code; the sampler draws; the outcomes become a column
of the same kind. What comes back is built from the mechanism's output labels alone, never from the values:
not their objects, their dictionary or its order, nor the width of a string dtype, any of which could tell
what the values were.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..draw import series
from ..draw.alphabet import Alphabet
from ..draw.columns import Array, Column, from_list, from_numpy, shown
from ..draw.drawing import Randomness, Release, choose_randomness
from ..draw.index import check_index
from ..draw.keys import Columns, check_columns_name, check_given_name
from ..draw.order import warn_if_codes_ordered, warn_if_ordered
from ..draw.sampler import Integers, Words, smallest_unsigned, unsigned
from ..errors import KeyingError, ValuesError
from .certificate import Certificate, sampler_of, sampler_to_draw
from .job import plan, record_blocks

ALONE = ""  # what a job calls a column that comes by itself; keyed draws have the name that was given


@dataclass(frozen=True, eq=False)
class Draws:
    """How words are drawn: from a source, or from a secret key and the ids of the records."""

    key: bytes | None = field(default=None, repr=False)
    ids: Any = None
    column: Columns | None = None  # the name that enters keyed draws; unset, that of the Series
    occasion: int | str | None = None
    source: Words | None = None
    allow_true_answers: bool = False

    def randomness(self, name: Any = None) -> Randomness:
        """Where words come from for a column; `name` is the one that a Series brings with it."""
        randomness = choose_randomness(self.key, self.ids, self.occasion, self.source)
        if randomness.key is None:
            return randomness
        if self.column is None and isinstance(
            name, tuple
        ):  # part of a nested header: not columns taken together
            raise KeyingError(
                "the column must be named by text",
                given=shown(name),
                remedy="give column=",
            )
        column = check_given_name(name) if self.column is None else check_columns_name(self.column)
        return replace(randomness, column=column)

    def blocks(self, count: int) -> Integers | None:
        return None if self.ids is None else record_blocks(self.ids, count)


def privatize_values(
    certified: Certificate, values: Any, draws: Draws, unknown: str = "refuse", unknown_as: Hashable = None
) -> Any:
    """Reports of the values, a column of the same kind."""
    if unknown == "drop" and unknown_as is not None:
        raise ValuesError(
            'must not be "drop" together with unknown_as',
            parameter="unknown",
            given=f"unknown={unknown!r}, unknown_as={shown(unknown_as)}",
            remedy="choose one",
        )
    column = as_column(sampler_of(certified).alphabet, values)
    if hasattr(values, "iloc") and len(values):  # a Series of pandas
        check_index(values.index, [(values.name,)], [values])
    instead = None if unknown_as is None else {ALONE: unknown_as}
    job = plan(
        {ALONE: certified},
        unknown,
        instead,
        draws.randomness(column.name),
        alone=True,
        allow_true_answers=draws.allow_true_answers,
    )
    job.observe = partial(warn_if_ordered, job.releases)
    drawn = job.draw(lambda alphabet, name: column, len(column.codes), draws.blocks(len(column.codes)))
    job.check()
    return None if drawn is None else drawn.columns[ALONE]


def privatize_codes(certified: Certificate, codes: Any, draws: Draws) -> Array:
    """Column numbers of outcomes for row numbers of inputs; the same dtype if it can number every outcome."""
    sampler = sampler_to_draw(certified, draws.allow_true_answers)
    if not isinstance(codes, np.ndarray) or codes.ndim != 1:
        raise ValuesError(
            "must be a one-dimensional numpy array of row numbers",
            parameter="codes",
            given=type(codes).__name__,
            remedy="give numpy.asarray(codes), and for labels use privatize(values)",
        )
    if np.ma.is_masked(codes):
        raise ValuesError(
            "must not be missing",
            parameter="codes",
            given="a masked array",
            remedy="drop what is masked",
        )
    n, m = len(sampler.inputs), len(sampler.outputs)
    plain = np.ascontiguousarray(_row_numbers(np.asarray(codes), n))
    fits = np.iinfo(codes.dtype).max >= m - 1
    outcomes = np.empty(len(plain), dtype=f"u{codes.dtype.itemsize}" if fits else smallest_unsigned(m))
    rows = np.arange(n + 1, dtype=np.uint32)
    release = Release((ALONE,), sampler)
    fill = draws.randomness().fill(release, draws.blocks(len(plain)), plain, rows)
    if not sampler.draw(plain, rows, fill, outcomes):
        wrong = codes[plain >= n]
        raise ValuesError(
            f"must be row numbers 0..{n - 1}",
            parameter="codes",
            given=f"others in {len(wrong)} of {len(codes)} rows, {wrong[0]} first",
            remedy="number the values by the order of the input labels",
        )
    warn_if_codes_ordered(release, plain, rows)
    return outcomes.view(codes.dtype.newbyteorder("=")) if fits else outcomes


def _row_numbers(codes: Array, n: int) -> Array:
    """The codes as unsigned integers, among which a negative one is n or more."""
    plain = unsigned(codes)
    if (
        codes.dtype.kind == "i" and n > np.iinfo(codes.dtype).max + 1
    ):  # -1 as int8 would be 255, which is a row
        return unsigned(codes.astype(np.int64))
    return plain


def as_column(alphabet: Alphabet, values: Any) -> Column:
    """Any column as codes."""
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas and isinstance(values, pandas.Series):
        return series.from_pandas(alphabet, values, pandas)
    if polars and isinstance(values, polars.Series):
        return series.from_polars(alphabet, values, polars)
    if pyarrow and isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return series.from_arrow(alphabet, values)
    if isinstance(values, np.ndarray):
        return from_numpy(alphabet, values)
    if (
        isinstance(values, str | bytes | Mapping | Set)  # a set has no order and lost who answered the same
        or not isinstance(values, Iterable)
        or hasattr(values, "columns")
    ):
        raise ValuesError(
            "must be one column of labels",
            parameter="values",
            given=type(values).__name__,
            remedy="give a list, an array or a Series, and a single value as [value]",
        )
    return from_list(alphabet, list(values))
