"""privatize(): reports in place of answers, in whatever holds them.

Of frames some columns are replaced by reports and everything else stays as it was, through narwhals.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, TypedDict, Unpack, cast

import numpy as np

from .._common.frames import eager_frame
from ..certification.certified import Certified
from ..draw.columns import Alphabet, Column
from ..draw.containers import as_column, take_rows
from ..draw.drawing import Drawn, Job
from ..draw.keys import Keyed, distinct_blocks
from ..draw.order import check_index, outside, warn_if_ordered
from ..draw.sampler import Words
from ..errors import FileError, OptionError
from .files.parquet import released_schema, unordered
from .job import Path, Terms, check_columns, plan
from .ledger import CorrectionWarning


class FileKeywords(TypedDict, total=False):
    """What files take: see `privatize`."""

    order: str
    overwrite: bool
    format: str | None
    delimiter: str | None
    progress: Callable[[int, int], None] | None
    unmarked: str


class FrameKeywords(TypedDict, total=False):
    """What files and frames take."""

    ledger: Path | None
    correction: bool
    source: Words | None


class Options(FileKeywords, FrameKeywords, total=False):
    """What some data take; Spark frames take none of it."""


def privatize(
    data: Any,
    mechanisms: Mapping[Any, Certified],
    *,
    target: Path | None = None,
    keyed: Keyed | None = None,
    unknown: str = "refuse",
    unknown_as: Mapping[Any, Hashable] | None = None,
    allow_true_answers: bool = False,
    **options: Unpack[Options],
) -> Any:
    """The data with reports in the named columns, and everything else as it was.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"answer": ["never", "once"], "age": [41, 29]})
    >>> ex.privatize(frame, {"answer": ex.certify(ex.design(prior, 0.6))})["age"].tolist()
    [41, 29]

    Parameters
    ----------
    data
        A frame (pandas, polars, arrow and others), a Spark frame, or the path of a CSV, Parquet, SPSS (.sav) or
        Stata (.dta) file.
    mechanisms
        The certified mechanism of each column; a tuple of columns has one mechanism on tuples, drawn once.
    target
        Where to write: the new file, or for a Spark frame a new folder for the reports. Frames have none.
    keyed
        A secret key, the ids of the records and an occasion: then a report is a function of key, occasion, column,
        mechanism, id and answer, and doing it again repeats the reports. The ids are the name of a column; of a frame
        also a column of its own. The same id twice is refused.
    unknown
        "refuse", or "drop" to leave out records with a missing or unknown value.
    unknown_as
        A label for each column, as which missing and unknown values count.
    allow_true_answers
        Draw even with mechanisms whose reports disclose the answers, fully or nearly, and so protect nobody. They are
        refused otherwise.
    ledger
        Of files and frames, with a key: the file that records every release. A second report of the same people's
        column is refused, and so are answers that differ from those recorded under the same column.
    correction
        With a ledger: release answers that differ because they were corrected, and say what old and new reports tell
        together.
    source
        Of files and frames, in experiments: the source of random words in place of the operating system.
    order
        Of files: "check" refuses records whose order tells answers, because they are sorted by a private column, or
        equal answers stand together or at equal distances. It is wrong about one in a million files. "shuffle" writes
        all records in a random order, for files of up to 1 GiB; "keep" accepts their order.
    overwrite
        Of files: whether to replace a target that is there. It is never the source.
    format
        Of files: "csv", "parquet", "spss" or "stata", where the names do not tell.
    delimiter
        Of CSV files: what separates the fields, where the header does not tell.
    progress
        Of files: called with what is done and the total, in bytes of a CSV file or rows of a Parquet file.
    unmarked
        Of CSV files, with a `source`: "allow" writes reports that are for experiments, though nothing in the file can
        say so.

    Returns
    -------
    A frame of the same kind; for a file, what was written: a FileRelease.

    Notes
    -----
    In a file or frame records keep their order, so they must not be sorted by a private column. Types count as public:
    an Enum or an order of categories must be declared, not made from the values. What metadata say of a whole frame or
    file may describe the values and is left out. A file appears under its name when it is complete, and is no more
    readable than its source; memory does not grow with it. In a CSV file every byte outside of the private fields
    stays. Spark frames are lazy: `docs/ecosystem.md` says when reports are stored.
    """
    from_file = isinstance(data, str | bytes | os.PathLike)
    from_spark = type(data).__module__.split(".")[0] == "pyspark"
    of_files, of_frames = _sorted(options, from_file, not from_spark)
    terms = Terms(keyed, unknown, unknown_as, allow_true_answers, **of_frames)
    if from_file:
        from .files.privatize import FileOptions, privatize_file

        if target is None:
            raise FileError("a file needs a target", remedy="give `target=path`")
        return privatize_file(data, target, mechanisms, terms, FileOptions(**of_files))
    if from_spark:
        from .spark import privatize_spark

        return privatize_spark(data, mechanisms, terms, target)
    if target is not None:
        raise OptionError("is for files and Spark frames", parameter="target", remedy="leave it out")
    return privatize_frame(data, mechanisms, terms)


def _sorted(options: Options, files: bool, frames: bool) -> tuple[FileKeywords, FrameKeywords]:
    """The options of files and those of frames; refused for data that have none."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"privatize() got an unexpected keyword argument {name!r}")
        shared = name in FrameKeywords.__annotations__
        if not (frames if shared else files):
            what = "files and frames" if shared else "files"
            raise OptionError(f"is for {what}", parameter=name, remedy="leave it out")
    of_frames = {name: value for name, value in options.items() if name in FrameKeywords.__annotations__}
    of_files = {name: value for name, value in options.items() if name not in of_frames}
    return cast(FileKeywords, of_files), cast(FrameKeywords, of_frames)


def privatize_frame(frame: Any, mechanisms: Mapping[Any, Certified], terms: Terms) -> Any:
    """A frame of the same kind in which each named column holds reports; other columns, index and order stay.

    Any eager frame that narwhals knows: pandas, polars, arrow tables and others. Separate columns get independent
    words. Metadata of the whole frame (attrs of pandas, schema metadata of arrow) are left out.
    """
    import narwhals

    job, entry = plan(mechanisms, terms)
    eager = eager_frame(frame)
    ids = None if terms.keyed is None else terms.keyed.ids
    check_columns(job, eager.columns, "frame", ids if isinstance(ids, str) else None)
    if eager.implementation.is_pandas_like() and len(eager):  # an index stays as it is
        private = [eager.get_column(name).to_native() for name in job.private]
        check_index(eager.to_native().index, [release.names for release in job.releases], private)
    blocks = None
    if ids is not None:
        records = eager.get_column(ids).to_native() if isinstance(ids, str) else ids
        blocks = distinct_blocks(records, len(eager))

    def read(alphabet: Alphabet, name: Any) -> Column:
        return as_column(alphabet, eager.get_column(name).to_native())

    job.observe = partial(warn_if_ordered, job.releases)
    drawn = job.draw(read, len(eager), blocks)
    job.check()
    with entry:
        released = _replaced(eager, job, drawn) if drawn is not None else eager
        entry.commit()
    for note in entry.notes:
        warnings.warn(note, CorrectionWarning, stacklevel=outside())
    return released if isinstance(frame, narwhals.DataFrame) else released.to_native()


def _replaced(eager: Any, job: Job, drawn: Drawn) -> Any:
    """The frame with the columns that were drawn, and without the rows that were dropped."""
    import narwhals

    if drawn.kept is not None:
        where = np.flatnonzero(drawn.kept)
        if eager.implementation.is_pyarrow():
            eager = narwhals.from_native(take_rows(eager.to_native(), where), eager_only=True)
        else:
            eager = eager[where]
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
