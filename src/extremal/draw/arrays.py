"""One column in, one column of reports out: lists, numpy, pandas, polars and arrow.

Every kind of column becomes codes and the row of each code; the sampler draws; the outcomes become a column
of the same kind. What comes back is built from the mechanism's output labels alone, never from the values:
not their objects, their dictionary or its order, nor the width of a string dtype, any of which could tell
what the values were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._common.types import Floats
from ..errors import KeyingError, OptionError, ValuesError
from .columns import Array, shown, smallest_unsigned, unsigned
from .containers import as_column
from .drawing import Job, Randomness, Release, choose_randomness, drops
from .kernel import Integers
from .keys import Columns, Keyed, check_columns_name, check_given_name, distinct_blocks
from .order import check_index, warn_if_codes_ordered, warn_if_ordered
from .sampler import Sampler, Words

ALONE = ""  # what a job calls a column that comes by itself; keyed draws have the name that was given
GRID_PURPOSE = b"extremal-grid-1\0"
DIGITS = 53  # of a double: the first bits of a word, as a share of all words


@dataclass(frozen=True, eq=False)
class Draws:
    """How words are drawn for a column by itself: from a source, or with a key."""

    keyed: Keyed | None = None
    column: Columns | None = None  # the name that enters keyed draws; unset, that of the Series
    source: Words | None = None

    def randomness(self, name: Any = None) -> Randomness:
        """Where words come from for a column; `name` is the one that a Series brings with it."""
        randomness = choose_randomness(self.keyed, self.source)
        if randomness.key is None:
            return randomness
        if self.column is None and isinstance(name, tuple):  # a nested header: not columns taken together
            raise KeyingError("the column must be named by text", given=shown(name), remedy="give column=")
        column = check_given_name(name) if self.column is None else check_columns_name(self.column)
        return replace(randomness, column=column)

    def blocks(self, count: int) -> Integers | None:
        return None if self.keyed is None else distinct_blocks(self.keyed.ids, count)


def draw_column(sampler: Sampler, values: Any, draws: Draws, unknown: str, unknown_as: Hashable) -> Any:
    """Reports of the values, a column of the same kind; None if all were dropped."""
    if unknown == "drop" and unknown_as is not None:
        problem, given = 'must not be "drop" together with unknown_as', f"unknown_as={shown(unknown_as)}"
        raise ValuesError(problem, parameter="unknown", given=given, remedy="choose one")
    column = as_column(sampler.alphabet, values)
    if hasattr(values, "iloc") and len(values):  # a Series of pandas
        check_index(values.index, [(values.name,)], [values])
    release = Release.of(ALONE, sampler)
    if unknown_as is not None:
        release = release.with_unknown_as(unknown_as)
    job = Job((release,), draws.randomness(column.name), drops(unknown), alone=True)
    job.observe = partial(warn_if_ordered, job.releases)
    drawn = job.draw(lambda alphabet, name: column, len(column.codes), draws.blocks(len(column.codes)))
    job.check()
    return None if drawn is None else drawn.columns[ALONE]


def draw_codes(sampler: Sampler, codes: Any, draws: Draws) -> Array:
    """Column numbers of outcomes for row numbers of inputs; the same dtype if it can number every outcome."""
    if not isinstance(codes, np.ndarray) or codes.ndim != 1:
        raise ValuesError(
            "must be a one-dimensional numpy array of row numbers",
            parameter="codes",
            given=type(codes).__name__,
            remedy="give numpy.asarray(codes), and for labels use privatize(values)",
        )
    if np.ma.is_masked(codes):
        raise ValuesError(
            "must not be missing", parameter="codes", given="a masked array", remedy="drop what is masked"
        )
    n, m = len(sampler.inputs), len(sampler.outputs)
    plain = unsigned(np.asarray(codes))  # among which a negative one is n or more
    if codes.dtype.kind == "i" and n > np.iinfo(codes.dtype).max + 1:  # -1 as int8 would be the row 255
        plain = unsigned(codes.astype(np.int64))
    plain = np.ascontiguousarray(plain)
    fits = np.iinfo(codes.dtype).max >= m - 1
    outcomes = np.empty(len(plain), dtype=f"u{codes.dtype.itemsize}" if fits else smallest_unsigned(m))
    rows = np.arange(n + 1, dtype=np.uint32)
    release = Release.of(ALONE, sampler)
    fill = draws.randomness().fill(release, draws.blocks(len(plain)), plain, rows)
    if not sampler.draw(plain, rows, fill, outcomes):
        wrong = np.flatnonzero(plain >= n)
        raise ValuesError(
            f"must be row numbers 0..{n - 1}",
            parameter="codes",
            given=f"others in {len(wrong)} of {len(codes)} rows, first in record {wrong[0] + 1}",
            remedy="number the values by the order of the input labels",
        )
    warn_if_codes_ordered(release, plain, rows)
    return outcomes.view(codes.dtype.newbyteorder("=")) if fits else outcomes


def rounding_shares(
    points: Sequence[float], numbers: Floats, draws: Draws, name: Any, seed: int | None
) -> Floats:
    """For each number a share in [0, 1), at random: a function of key, occasion, column, points, id and number.

    It rounds numbers to one of two points before a report is drawn from the point. Without a key chance decides, or the
    seed. `name` is the name that the column brings with it.
    """
    randomness = draws.randomness(name)
    if randomness.key is None:
        return np.random.default_rng(seed).random(len(numbers))
    if seed is not None:
        raise OptionError(
            "must not come with a key", parameter="seed", given=f"{seed}", remedy="leave it out"
        )
    digest = hashlib.sha256(GRID_PURPOSE + np.asarray(points, dtype="<f8").tobytes()).digest()
    bits = (numbers + 0.0).view(np.uint64)  # minus zero is zero
    words = np.empty(len(numbers), dtype=np.uint64)
    randomness.keyed(digest, draws.blocks(len(numbers)), bits, None)(0, words)
    return np.asarray((words >> np.uint64(64 - DIGITS)) * 2.0**-DIGITS)
