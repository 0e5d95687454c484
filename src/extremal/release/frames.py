"""Frames: some columns replaced by reports, everything else as it was, through narwhals."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np

from .._common.frames import eager_frame
from ..draw.alphabet import Alphabet
from ..draw.arrow_rows import take_rows
from ..draw.columns import Column
from ..draw.drawing import choose_randomness
from ..draw.index import check_index
from ..draw.order import outside, warn_if_ordered
from ..draw.sampler import Words
from .arrays import as_column
from .arrow_schema import released_schema, unordered
from .certificate import Certificate
from .job import Drawn, Job, check_columns, plan, record_blocks
from .ledger import CorrectionWarning


def privatize_frame(
    frame: Any,
    mechanisms: Mapping[Any, Certificate],
    *,
    key: bytes | None = None,
    ids: Any = None,
    unknown: str = "refuse",
    unknown_as: Mapping[Any, Hashable] | None = None,
    occasion: int | str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    correction: bool = False,
    source: Words | None = None,
    allow_true_answers: bool = False,
) -> Any:
    """A frame of the same kind in which each named column holds reports; other columns, index and order stay.

    Any eager frame that narwhals knows: pandas, polars, arrow tables and others. `mechanisms` maps a column
    to its certified mechanism, or a tuple of columns to one mechanism on tuples (Prior.joint makes a prior
    for it): these columns are drawn together, once. Separate columns get independent words.

    With `key` and `ids` (a column of the frame by name, or one id a row) a report is a function of key,
    `occasion`, column, mechanism, id and answer, so doing it again repeats the reports. The same id twice is
    refused. Another occasion (a wave, say: text or an integer) draws a new report. With `ledger`, the path of
    a file, every keyed release is recorded, and a second report of the same people's column is refused. So are
    answers that differ from those recorded under the same column: correction=True releases corrected answers, and
    warns of what old and new reports tell together.

    Rows with an unknown or missing value are refused; unknown="drop" drops them from all columns,
    unknown_as={column: label} treats such values as a label. The rows keep their order, so they must not be
    sorted by a private column. Types count as public: an Enum or an order of categories must be declared, not
    made from the values. Metadata of the whole frame (attrs of pandas, schema metadata of arrow) may describe
    the values and are left out. Mechanisms that disclose the answers are refused unless `allow_true_answers`.
    """
    import narwhals

    randomness = choose_randomness(key, ids, occasion, source)
    job = plan(
        mechanisms,
        unknown,
        unknown_as,
        randomness,
        ledger=ledger,
        correction=correction,
        allow_true_answers=allow_true_answers,
    )
    eager = eager_frame(frame)
    check_columns(job, eager.columns, "frame", ids if isinstance(ids, str) else None)
    _check_index(eager, job)
    blocks = None
    if ids is not None:
        records = eager.get_column(ids).to_native() if isinstance(ids, str) else ids
        blocks = record_blocks(records, len(eager))

    def read(alphabet: Alphabet, name: Any) -> Column:
        return as_column(alphabet, eager.get_column(name).to_native())

    job.observe = partial(warn_if_ordered, job.releases)
    drawn = job.draw(read, len(eager), blocks)
    job.check()
    with job.entry:
        released = _replaced(eager, job, drawn) if drawn is not None else eager
        job.entry.commit()
    for note in job.entry.notes:
        warnings.warn(note, CorrectionWarning, stacklevel=outside())
    return released if isinstance(frame, narwhals.DataFrame) else released.to_native()


def _check_index(eager: Any, job: Job) -> None:
    """Refuse a pandas index that repeats a private column: it would stay as it is."""
    if eager.implementation.is_pandas_like() and len(eager):
        columns = [eager.get_column(name).to_native() for name in job.private]
        check_index(eager.to_native().index, [release.names for release in job.releases], columns)


def _rows(eager: Any, where: Any) -> Any:
    if not eager.implementation.is_pyarrow():
        return eager[where]
    import narwhals
    import pyarrow

    return narwhals.from_native(take_rows(eager.to_native(), pyarrow.array(where)), eager_only=True)


def _replaced(eager: Any, job: Job, drawn: Drawn) -> Any:
    """The frame with the columns that were drawn, and without the rows that were dropped."""
    import narwhals

    if drawn.kept is not None:
        eager = _rows(eager, np.flatnonzero(drawn.kept))
    columns = []
    for name, reports in drawn.columns.items():
        if isinstance(reports, list):  # a kind of Series that is read value by value
            columns.append(narwhals.new_series(name, reports, backend=eager.implementation))
        else:
            columns.append(narwhals.from_native(reports, series_only=True).alias(name))
    released = eager.with_columns(*columns)
    native = released.to_native()
    if released.implementation.is_pyarrow():
        types = {name: unordered(native.schema.field(name).type) for name in drawn.columns}
        native = native.cast(released_schema(eager.to_native().schema, types, job.parts))
    elif hasattr(native, "attrs"):
        native.attrs = {}
    return narwhals.from_native(native, eager_only=True)
