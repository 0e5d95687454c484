"""What privatize_spark refuses: frames and columns first, then values and ids, which Spark searches for it.

A search reads only the columns it needs, and only what a message shows comes back to the driver. The driver
names unknown values; a task never does, because its errors are written to logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from .._common.words import shorten
from ..draw.columns import Alphabet, Column, shown
from ..draw.containers import as_column
from ..draw.drawing import MOST_NAMES, Job, Release, Unknown
from ..draw.ids import REMEDY
from ..errors import KeyingError, ValuesError
from ..model.labels import is_missing
from .job import check_columns

ID_TYPES = ("byte", "short", "integer", "long", "string", "binary")


def check_frame(frame: Any) -> None:
    """Refuse what is not a frame of Spark."""
    if not hasattr(frame, "mapInArrow"):
        raise ValuesError(
            "must be a Spark DataFrame",
            parameter="frame",
            given=type(frame).__name__,
            remedy="for others use privatize",
        )


def is_remote(frame: Any) -> bool:
    """Whether the frame belongs to Spark Connect, which gives no way into the virtual machine."""
    return not hasattr(frame, "_jdf")


def quoted(name: str) -> Any:
    """The column of this name, whatever characters are in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def check_columns_of_frame(frame: Any, job: Job, id_column: str | None) -> None:
    """Refuse names that are not those of one column each, and ids that cannot name a record for good."""
    check_columns(job, frame.columns, "frame", id_column)
    names = job.private if id_column is None else [*job.private, id_column]
    twice = [name for name in names if frame.columns.count(name) > 1]
    if twice:
        raise ValuesError(
            "must have one column of each name",
            parameter="frame",
            given=f"several named {shorten(twice, 4)}",
            remedy="rename them",
        )
    if id_column is None:
        return
    kind = frame.schema[id_column].dataType.typeName()
    if kind not in ID_TYPES:
        raise KeyingError(
            "must be integers, strings or bytes",
            parameter="ids",
            given=f"{kind} in {id_column!r}",
            remedy="cast them",
        )
    if not is_remote(frame) and not _is_deterministic(frame.select(quoted(id_column))):
        raise KeyingError(
            f"must be stored with the records, but {id_column!r} is computed anew each time "
            "(rand, uuid, monotonically_increasing_id), and another id is another draw",
            parameter="ids",
            remedy="write the frame with its ids first",
        )


def _is_deterministic(frame: Any) -> bool:
    """Whether computing the frame again gives the same values, as far as Spark knows."""
    execution = frame._jdf.queryExecution()
    # Only the optimised plan leaves out what other columns are made of, and a stream has none until it runs.
    plan = execution.analyzed() if frame.isStreaming else execution.optimizedPlan()
    return bool(plan.deterministic())


def check_storage(frame: Any, keyed: bool, target: Any) -> None:
    """Refuse what could be drawn twice."""
    if frame.isStreaming:
        if not keyed or target is not None:
            raise KeyingError(
                "a stream has no end at which to store it",
                remedy="give `keyed=`, without target=",
            )
    elif not keyed and target is None:
        master = str(frame.sparkSession.conf.get("spark.master", ""))
        if not re.fullmatch(r"local(\[.*\])?", master):
            raise KeyingError(
                "without a key reports must be stored before they are used, and executors of a "
                "cluster can be lost",
                remedy="give target=, a new folder for Parquet files, or `keyed=`",
            )


def refuse_ids(frame: Any, id_column: str) -> None:
    """Refuse records without an id, and those that share one; "007" and "7" are one id."""
    column = quoted(id_column)
    if frame.schema[id_column].dataType.typeName() == "string":
        # As id_blocks does: a sign and leading zeros say nothing.
        column = F.regexp_replace(column, r"^\+?0*([0-9]+)\z", "$1")
        column = F.regexp_replace(F.regexp_replace(column, r"^-0*([0-9]+)\z", "-$1"), r"^-0\z", "0")
    ids = frame.select(column.alias("id"))
    found = ids.groupBy("id").count().filter("id is null or count > 1").orderBy("id").limit(4).collect()
    if found and found[0]["id"] is None:  # null comes first
        raise KeyingError(
            "every record needs an id",
            given=f"none in {found[0]['count']} rows of {id_column!r}",
            remedy="give them one, or leave them out",
        )
    if found:
        raise KeyingError(
            "must be distinct",
            parameter="ids",
            given=(
                f"{shorten([row['id'] for row in found[:3]])}{' and others' if len(found) > 3 else ''} "
                f"more than once in {id_column!r}"
            ),
            remedy=REMEDY,
        )


def refuse_unknown(frame: Any, job: Job, releases: Any) -> None:
    """Refuse values that are no labels, naming the most frequent ones of the first column that has any.

    Spark counts the distinct values of every release in one pass, Python decides which of them are labels.
    """
    numbers = {name: f"v{i}" for i, name in enumerate(job.private)}
    values = frame.select(*(quoted(name).alias(number) for name, number in numbers.items()))
    sets = [[numbers[name] for name in release.names] for release in job.releases]
    counted = values.groupingSets(sets, *numbers.values()).agg(
        F.count(F.lit(1)).alias("size"), F.grouping_id().alias("grouping")
    )
    found = (
        counted.mapInArrow(Strangers(releases), "release int, value string, size long")
        .groupBy("release", "value")
        .agg(F.sum("size").alias("size"))
    )
    sums = found.groupBy("release").agg(F.sum("size")).orderBy("release").collect()
    if not sums:
        return
    first, rows = sums[0]
    names = found.filter(F.col("release") == first).orderBy(F.desc("size"), "value").limit(MOST_NAMES)
    unknown = Unknown()
    unknown.rows = rows
    for _, value, size in names.collect():
        if value is None:
            unknown.missing = size
        else:
            unknown.counts[value] = size
    before = tuple(Unknown() for _ in range(first))
    Job(job.releases, job.randomness, job.drop, frame.count(), unknown=(*before, unknown)).check()


@dataclass(frozen=True, eq=False, repr=False)
class Strangers:
    """Of groups, each the values of one release and how many rows have them, those that are no label."""

    releases: Any  # .value: tuple[Release, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return (self.of_batch(batch) for batch in batches)

    def of_batch(self, batch: Any) -> Any:
        releases: tuple[Release, ...] = self.releases.value
        count = sum(len(release.names) for release in releases)
        size, grouping = batch.column(count), batch.column(count + 1).to_numpy()
        place = 0
        numbers: list[int] = []
        texts: list[str | None] = []
        rows: list[int] = []
        for number, release in enumerate(releases):
            own = {name: place + k for k, name in enumerate(release.names)}
            place += len(own)
            # A bit for each column, the first one highest: 1 if the group is not by this column.
            mark = (1 << count) - 1 - sum(1 << (count - 1 - k) for k in own.values())

            def read(alphabet: Alphabet, name: Any, own: dict[Any, int] = own) -> Column:
                return as_column(alphabet, batch.column(own[name]))

            column = release.column(read)
            strange = np.flatnonzero((grouping == mark) & ~release.known(column))
            numbers += [number] * len(strange)
            texts += map(_text, column.values_at(strange))
            rows += strange.tolist()
        arrays = [pa.array(numbers, pa.int32()), pa.array(texts, pa.string())]
        sizes = size.take(pa.array(rows, pa.int64()))
        return pa.RecordBatch.from_arrays([*arrays, sizes], ["release", "value", "size"])


def _text(value: Any) -> str | None:
    """A value as messages show it, None for a missing one."""
    return None if is_missing(value) else shown(value)
