"""Spark frames: reports are drawn by the executors, batch by batch through Arrow, and never twice.

Spark is lazy and computes again whenever it likes: for a second action, a retried task, a speculative copy of
a slow one, a lost executor. Each would draw again, and two draws for one record are two releases. So either
draws are keyed, and computing a report again gives the same report, or reports are stored before anyone sees
them:

    a key                 a lazy frame; the report is a function of key, id, column and mechanism
    target=path           written once to a new Parquet folder, where Spark commits one attempt of each task,
                          and read back; it survives whatever the storage survives
    neither, local[...]   kept by the one executor there is (localCheckpoint); gone when the session ends
    neither, a cluster    refused: what an executor keeps is lost with it, and after a repeated attempt two
                          executors can keep different reports under the name of one block

Plans, logs, the event log and the user interface show the columns and the name `Reports`, never the key: it
travels inside the function that tasks run. docs/ecosystem.md says where that is written, and how to encrypt it.

Frames and columns are checked first, then values and ids, which Spark searches for what is wrong. A search reads only
the columns it needs, and only what a message shows comes back to the driver: of values that are no label how many there
are, never which, because messages are written to logs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._common.words import missing

try:
    import pyarrow as pa
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
except ImportError as error:
    raise missing(f"Spark frames need {error.name}", "spark") from error

from .. import errors
from .._common.files import file_name
from .._common.words import shorten
from ..certification.certified import Certified
from ..draw.columns import Alphabet, Column
from ..draw.containers import as_column
from ..draw.drawing import Job, Randomness, Release
from ..draw.keys import REMEDY, id_blocks
from ..errors import ExtremalError, FileError, KeyingError, ValuesError
from ..model.counting import Unknown
from .job import Path, Terms, check_columns, plan

SUMS = ("rows", "missing", "alike")  # of values that are no label
ID_TYPES = ("byte", "short", "integer", "long", "string", "binary")
COMMITTER = "mapreduce.fileoutputcommitter.algorithm.version"
# The last line of a worker's traceback.
OURS = re.compile(rf"^{re.escape(errors.__name__)}\.(\w+): (.*)$", re.MULTILINE)


def privatize_spark(
    frame: Any, mechanisms: Mapping[Any, Certified], terms: Terms, target: Path | None = None
) -> Any:
    """The frame with reports in these columns and all else as it was; computing it again draws nothing again.

    With a key, and the name of a column of ids, the result is lazy and equals, record by record,
    certified.privatize(values, keyed=Keyed(key, ids, occasion), column=name). Ids must be stored with the
    records; those that Spark makes (monotonically_increasing_id) change with the partitions and are refused.
    Before the frame is returned its values and ids are checked, which reads those columns once more; a repeated
    id is refused. A stream has no end at which ids could be compared: there distinct ids are yours to look after.

    Without a key the reports are stored before the frame is returned: in a new Parquet folder at
    `target`, or by the session on local[...]; a cluster needs the folder or a key.

    A value that is not an input label, or is missing, is refused; unknown="drop" drops its record, and
    unknown_as={column: label} treats it as that label. Types are kept where they can hold every output
    label; metadata of private columns may list their values and are left out. Parquet makes columns nullable
    and does not keep the order of records.
    """
    check_frame(frame)
    folder = None if target is None else file_name(target, "target", FileError, "folder")
    job, _ = plan(mechanisms, terms)
    id_column = terms.id_column
    check_columns_of_frame(frame, job, id_column)
    check_storage(frame, job.randomness.key is not None, folder)
    schema = _schema_of_reports(frame, job)
    # The tables, sent once to every executor and unpacked once in every worker. Not as part of the function, but for
    # Spark Connect, which has no broadcast: one above 1 MB is written to the driver's disk, and the key would be in it.
    remote = is_remote(frame)
    tables = Held(job.releases) if remote else frame.sparkSession.sparkContext.broadcast(job.releases)
    places = {name: frame.columns.index(name) for name in job.private}
    id_place = None if id_column is None else frame.columns.index(id_column)
    work = DrawTask(tables, job.randomness, job.drop, places, id_place)
    reports = by_number(frame).mapInArrow(work, schema)

    def count_unknown() -> None:
        if not job.drop:
            refuse_unknown(frame, job, tables)

    if id_column is not None and not frame.isStreaming:
        refuse_ids(frame, id_column)
    if folder is not None:
        return _stored(reports, folder, count_unknown)
    if job.randomness.key is None:
        return _in_one_line(lambda: reports.localCheckpoint(eager=True), count_unknown)
    if not frame.isStreaming:
        count_unknown()
    return reports


def counts_spark(frame: Any, column: str, certified: Certified) -> dict[Hashable, int]:
    """How often each output label was reported, in the order of the mechanism's outputs, zeros included."""
    check_frame(frame)
    job, _ = plan({column: certified}, Terms(allow_true_answers=True))  # draws nothing
    check_columns_of_frame(frame, job, None)
    outputs = job.releases[0].sampler.outputs
    counts = dict.fromkeys(outputs, 0)
    # One group more than there are labels is enough to know that something else is among them.
    groups = frame.groupBy(quoted(column)).count().limit(len(outputs) + 1).collect()
    for value, count in groups:
        if value not in counts:
            raise ValuesError(
                f"every report in {column!r} must be one of the output labels {shorten(outputs)}",
                given=f"something else in {count} rows",
                remedy="count a column of reports of this mechanism",
            )
        counts[value] += count
    return counts


@dataclass(frozen=True, eq=False, repr=False)  # its representation would show the key
class DrawTask:
    """What a task does with its batches. Workers get it by value, and the tables as a broadcast."""

    releases: Any  # .value: tuple[Release, ...]
    randomness: Randomness
    drop: bool
    places: Mapping[str, int]
    id_place: int | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        job = Job(self.releases.value, self.randomness, self.drop)
        return (self.of_batch(job, batch) for batch in batches)

    def of_batch(self, job: Job, batch: Any) -> Any:
        """The batch with reports instead of values."""

        def read(alphabet: Alphabet, name: str) -> Column:
            return as_column(alphabet, batch.column(self.places[name]))

        blocks = None
        if self.id_place is not None:
            blocks = id_blocks(batch.column(self.id_place), batch.num_rows)
        drawn = job.draw(read, batch.num_rows, blocks)
        if drawn is None:
            raise ValuesError(f"every value of {job.private} must be an input label", given="others")
        if drawn.kept is not None:
            batch = batch.filter(pa.array(drawn.kept))
        for name, reports in drawn.columns.items():
            place = self.places[name]
            batch = batch.set_column(place, pa.field(name, reports.type), reports)
        return batch


class Held(NamedTuple):
    """In place of a broadcast where there is none, in Spark Connect: it travels with the function."""

    value: Any


def _schema_of_reports(frame: Any, job: Job) -> Any:
    """The schema of the frame, with other types only where an output label would not fit."""
    schema = type(frame.schema).fromJson(frame.schema.jsonValue())  # a copy: the frame keeps its own
    fields = {field.name: field for field in schema.fields}

    def read(alphabet: Alphabet, name: str) -> Column:
        try:
            return as_column(alphabet, pa.array([], to_arrow_type(fields[name].dataType)))
        except TypeError:
            kind = fields[name].dataType.simpleString()
            raise ValuesError(f"column {name!r} must hold labels", given=f"values of type {kind}") from None

    # Drawing for no records tells what type workers will give, and makes the tables they need.
    drawn = Job(job.releases, Randomness(), drop=False).draw(read, 0)
    for name, reports in ({} if drawn is None else drawn.columns).items():
        field = fields[name]
        field.metadata = {}
        if reports.type != to_arrow_type(field.dataType):
            field.dataType = from_arrow_type(reports.type)
    return schema


def _stored(reports: Any, path: str, count_unknown: Callable[[], None]) -> Any:
    """The reports, computed once, written to a new folder and read from there."""
    exists = False
    # Another algorithm publishes files of single tasks before the job is known to succeed.
    writer = reports.write.option(COMMITTER, "1").mode("error")
    try:
        _in_one_line(lambda: writer.parquet(path), count_unknown)
    except ExtremalError:
        _remove_empty_folder(reports, path)
        raise
    except AnalysisException as error:
        exists = error.getCondition() == "PATH_ALREADY_EXISTS"
        if not exists:
            raise
    if exists:  # raised here, so that Spark's error is not shown as its cause
        raise ValuesError("must name a new folder", parameter="target", given=f"one that exists: {path}")
    return reports.sparkSession.read.schema(reports.schema).parquet(path)


def _remove_empty_folder(frame: Any, path: str) -> None:
    """Spark takes back what a failed job wrote but leaves the folder, and the next run would refuse it."""
    if is_remote(frame):
        return
    session = frame.sparkSession
    folder = session._jvm.org.apache.hadoop.fs.Path(path)
    system = folder.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    if system.exists(folder) and not system.listStatus(folder):
        system.delete(folder, False)


def _in_one_line(action: Callable[[], Any], count_unknown: Callable[[], None]) -> Any:
    """What the action returns. An error that this library raised in a worker comes out as it was raised.

    Spark wraps it in the traces of two languages. The worker only said that there are unknown values:
    `count_unknown` looks for all of them and says how many.
    """
    try:
        return action()
    except Exception as error:
        said = OURS.search(str(error))
        if said is None:
            raise
    kind, text = said.groups()
    if kind == "ValuesError":
        count_unknown()
    raise getattr(errors, kind, ExtremalError)(text)


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


def by_number(frame: Any) -> Any:
    """The frame with numbered columns: mapInArrow looks them up by name and takes a dot for a part of a struct."""
    return frame.toDF(*map(str, range(len(frame.columns))))


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
    if is_remote(frame):
        return
    execution = frame.select(quoted(id_column))._jdf.queryExecution()
    # Only the optimised plan leaves out what other columns are made of, and a stream has none until it runs.
    plan = execution.analyzed() if frame.isStreaming else execution.optimizedPlan()
    if not plan.deterministic():
        raise KeyingError(
            f"must be stored with the records, but {id_column!r} is computed anew each time "
            "(rand, uuid, monotonically_increasing_id), and another id is another draw",
            parameter="ids",
            remedy="write the frame with its ids first",
        )


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
    """Refuse values that are no labels, with how many there are; Spark looks at all columns in one pass."""

    def strangers(batches: Iterator[Any]) -> Iterator[Any]:
        return (_strangers(releases.value, batch) for batch in batches)

    values = by_number(frame.select(*map(quoted, job.private)))
    found = values.mapInArrow(strangers, ", ".join(f"{name} long" for name in ("release", *SUMS)))
    sums = found.groupBy("release").agg(*map(F.sum, SUMS)).collect()
    if not sums:
        return
    unknown = tuple(Unknown(release.sampler.inputs) for release in job.releases)
    for number, *counts in sums:
        vars(unknown[number]).update(zip(SUMS, counts, strict=True))
    Job(job.releases, job.randomness, job.drop, frame.count(), unknown=unknown).check()


def _strangers(releases: tuple[Release, ...], batch: Any) -> Any:
    """Of the private columns alone, how many values of each release are no label, after its number."""
    job = Job(releases, Randomness(), drop=False)

    def read(alphabet: Alphabet, name: Any) -> Column:
        return as_column(alphabet, batch.column(job.private.index(name)))

    job.look([release.column(read) for release in job.releases])
    found = [(k, one) for k, one in enumerate(job.unknown) if one.rows]
    rows = [{"release": k} | {name: getattr(one, name) for name in SUMS} for k, one in found]
    return pa.RecordBatch.from_pylist(rows, pa.schema([(name, pa.int64()) for name in ("release", *SUMS)]))
