"""privatize(): reports in place of answers, in whatever holds them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import Any

from ..errors import FileError, OptionError
from .certificate import Certificate


def privatize(
    data: Any,
    mechanisms: Mapping[Any, Certificate],
    *,
    target: str | os.PathLike[str] | None = None,
    key: bytes | None = None,
    ids: Any = None,
    occasion: int | str | None = None,
    unknown: str = "refuse",
    unknown_as: Mapping[Any, Hashable] | None = None,
    allow_true_answers: bool = False,
    **options: Any,
) -> Any:
    """The data with reports in the named columns, and everything else as it was.

    Parameters
    ----------
    data
        A frame (pandas, polars, arrow and others), a Spark frame, or the path of a CSV or Parquet file.
    mechanisms
        The certified mechanism of each column; a tuple of columns has one mechanism on tuples, drawn once.
    target
        Where to write: the new file, or for a Spark frame a new folder for the reports. Frames have none.
    key
        32 secret bytes: then a report is a function of key, occasion, column, mechanism, id and answer, and doing it
        again repeats the reports.
    ids
        With a key: the name of the column that holds one id a record.
    occasion
        With a key: a wave, as text or an integer; another occasion draws a new report.
    unknown
        "refuse", or "drop" to leave out records with a missing or unknown value.
    unknown_as
        A label for each column, as which missing and unknown values count.
    allow_true_answers
        Draw even with mechanisms whose reports disclose the answers, fully or nearly, and so protect nobody. They are
        refused otherwise.
    **options
        What else files take (ledger, correction, order, overwrite, format, delimiter, progress), or frames (ledger,
        correction).

    Returns
    -------
    A frame of the same kind; for a file, what was written: a FileRelease.
    """
    how = options | {"key": key, "occasion": occasion, "unknown": unknown, "unknown_as": unknown_as}
    how["allow_true_answers"] = allow_true_answers
    if isinstance(data, str | os.PathLike):
        from .files.privatize import privatize_file

        if target is None:
            raise FileError("a file needs a target", remedy="give `target=path`")
        return privatize_file(data, target, mechanisms, id_column=ids, **how)
    if type(data).__module__.split(".")[0] == "pyspark":
        from .spark import privatize_spark

        return privatize_spark(data, mechanisms, id_column=ids, materialize=target, **how)
    if target is not None:
        raise OptionError("is for files and Spark frames", parameter="target", remedy="leave it out")
    from .frames import privatize_frame

    return privatize_frame(data, mechanisms, ids=ids, **how)
