"""Real Spark, started once for this module: whatever is computed again gives the same reports.

Needs Java 17 or newer. Without it the tests are skipped, unless EXTREMAL_REQUIRE_SPARK=1 (.ci/run sets it).
"""

import base64
import contextlib
import datetime
import decimal
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.errors import DisclosureError, ExtremalError, FileError, KeyingError, OptionError, ValuesError
from extremal.model.mechanism import identity
from extremal.release.job import Terms, plan
from extremal.release.spark import COMMITTER, DrawTask, check_storage, counts_spark, privatize_spark
from tests.support import spark_daemon
from tests.support.falsifier import finds_more_than
from tests.support.joint import Released, all_findings, promise
from tests.support.root import ROOT
from tests.support.wording import refused

# mapInArrow asks for pandas, and says so of every release that is newer than Spark's; it is not used.
pytestmark = [
    pytest.mark.slow,  # Java takes a core and ten seconds before the first test
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

PAGE = ROOT / "docs" / "ecosystem.md"
KEY = bytes(range(100, 132))
ROWS = 3000
WORDS = ex.Prior({"a": 0.5, "bb": 0.3, "ccc": 0.2})
C = certify(WORDS, ex.theory.randomized_response(WORDS, 1.0), 1.0)
NUMBERS = ex.Prior([0.5, 0.3, 0.2], [3, -1, 100])
D = certify(NUMBERS, ex.theory.randomized_response(NUMBERS, 1.0), 1.0)

QUIET = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/spark.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
"""


def java():
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything Spark writes: its log, its event log and its scratch space."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    (folder / "log4j2.properties").write_text(QUIET.format(folder=folder))
    return folder


@pytest.fixture(scope="module")
def spark(folder):
    if java() is None:
        remedy = "Spark needs Java 17 or newer (Debian: apt-get install default-jre-headless)"
        if os.environ.get("EXTREMAL_REQUIRE_SPARK") == "1":
            pytest.fail(remedy)
        pytest.skip(remedy)
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        # Thousands of short-lived methods: the second compiler, and proofs about Spark's classes, would take longer
        # than they save.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
        f"-Dlog4j2.configurationFile={folder}/log4j2.properties",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": folder.joinpath("events").as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "spark.python.daemon.module": spark_daemon.__name__,
        # Plans for a few rows are not worth a compiler's time, nor planning them again halfway.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        "spark.python.task.killTimeout": "50ms",  # of tasks beside one that failed
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": folder.joinpath("warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2, 2]").appName("extremal tests")
    session = builder.config(map=settings).getOrCreate()
    yield session
    session.stop()
    os.environ.pop("PYSPARK_PYTHON")
    if before is not None:
        os.environ["PYSPARK_PYTHON"] = before


@pytest.fixture(scope="module")
def table():
    """The records, with ids of three types."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(ROWS) - 7,
            "name": [f"person {i}" for i in range(ROWS)],
            "token": [b"%d" % i for i in range(ROWS)],
            "answer": rng.choice(WORDS.labels, ROWS, p=WORDS.probabilities),
            "number": rng.choice(NUMBERS.labels, ROWS, p=NUMBERS.probabilities),
            "weight": np.arange(ROWS) / 2,
        }
    )


@pytest.fixture(scope="module")
def frame(spark, table):
    """Shuffled once, not in every job."""
    return made(spark, table).repartition(3, "id").localCheckpoint()


def made(spark, columns):
    """A frame of these columns. Spark would start a job to read rows of Python."""
    return spark.createDataFrame(
        pa.table(columns) if isinstance(columns, dict) else pa.Table.from_pandas(columns)
    )


@pytest.fixture(scope="module")
def keyed(frame):
    return ex.privatize(frame, {"answer": C, "number": D}, keyed=ex.Keyed(KEY, "id"))


@pytest.fixture(scope="module")
def keyed_reports(keyed):
    return reports(keyed)


@pytest.fixture(scope="module")
def kept(frame):
    """Reports that the session keeps."""
    return ex.privatize(frame, {"answer": C})


def reports(frame, column="answer"):
    """The reports by id, one for each record; an action of its own."""
    rows = frame.select("id", column).collect()
    found = dict(rows)
    assert len(found) == len(rows)
    return found


def fails_once(marker, batches_before):
    """A function over batches in whose first run the worker is killed, and the task with it."""

    def run(batches):
        for number, batch in enumerate(batches):
            if number == batches_before and not os.path.exists(marker):
                Path(marker).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return run


def expect(kind, found, call):
    """One line that names what is found, and no trace of what Spark said."""
    with refused(kind, *([found] if isinstance(found, str) else found)) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


# --- the same reports, whatever is computed again
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "occasion", "key"),
    [("name", 2, KEY), pytest.param("token", None, bytes(range(32)), marks=pytest.mark.slow)],
    ids=["name", "token"],
)
def test_keyed_reports_are_those_of_the_array_interface(frame, table, ids, occasion, key):
    private = ex.privatize(frame, {"answer": C, "number": D}, keyed=ex.Keyed(key, ids, occasion))
    keyed = ex.Keyed(key, table[ids].tolist(), occasion)
    rows = sorted(private.collect(), key=lambda row: row["id"])
    for name, certified in {"answer": C, "number": D}.items():
        expected = certified.privatize(table[name].tolist(), keyed=keyed, column=name)
        assert [row[name] for row in rows] == expected


def test_two_actions_on_a_keyed_frame_give_the_same_reports(frame, table, keyed, keyed_reports):
    ids = table["id"].tolist()
    expected = C.privatize(table["answer"].tolist(), keyed=ex.Keyed(KEY, ids), column="answer")
    assert keyed_reports == dict(zip(ids, expected, strict=True))
    assert keyed_reports != dict(zip(ids, table["answer"], strict=True))
    assert reports(keyed, "number") == dict(
        zip(
            ids, D.privatize(table["number"].tolist(), keyed=ex.Keyed(KEY, ids), column="number"), strict=True
        )
    )
    again = ex.privatize(frame.repartition(2, "weight"), {"answer": C}, keyed=ex.Keyed(KEY, "id"))
    assert reports(again) == keyed_reports


def test_a_task_killed_after_it_has_drawn_gives_the_same_reports_when_it_is_retried(
    keyed, keyed_reports, tmp_path
):
    marker = tmp_path / "killed"
    disturbed = keyed.mapInArrow(fails_once(str(marker), 1), keyed.schema)
    assert reports(disturbed) == keyed_reports
    assert marker.exists()


def test_without_a_key_two_actions_read_what_was_drawn_once(frame, kept):
    first = reports(kept)
    assert reports(kept) == first
    assert reports(kept.repartition(2, "weight")) == first
    assert reports(ex.privatize(frame, {"answer": C})) != first


def test_a_task_killed_while_drawing_leaves_one_report_for_each_record(frame, tmp_path):
    marker = tmp_path / "killed"
    disturbed = frame.mapInArrow(fails_once(str(marker), 1), frame.schema)
    private = ex.privatize(disturbed, {"answer": C})
    assert marker.exists()
    first = reports(private)
    assert len(first) == ROWS
    assert reports(private) == first


@pytest.mark.slow
def test_reports_stored_in_a_folder_are_read_back_from_it(spark, frame, tmp_path):
    """Even if a task was killed while it drew them."""
    path, marker = tmp_path / "reports", tmp_path / "killed"
    disturbed = frame.mapInArrow(fails_once(str(marker), 1), frame.schema)
    private = ex.privatize(disturbed, {"answer": C}, target=path)
    assert marker.exists()
    first = reports(private)
    assert len(first) == ROWS
    assert reports(private) == first
    assert (path / "_SUCCESS").exists()
    assert "DrawTask" not in explained(private)
    expect(ValuesError, str(path), lambda: ex.privatize(frame, {"answer": C}, target=str(path)))
    assert reports(spark.read.schema(private.schema).parquet(str(path))) == first


@pytest.mark.slow
def test_a_keyed_stream_gives_the_reports_of_the_array_interface(spark, frame, table, tmp_path):
    (tmp_path / "in").mkdir()
    table.to_parquet(tmp_path / "in" / "records.parquet")
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    private = ex.privatize(stream, {"answer": C}, keyed=ex.Keyed(KEY, "id"))
    query = (
        private.writeStream.trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start(str(tmp_path / "out"), format="parquet")
    )
    assert query.awaitTermination(60)
    ids = table["id"].tolist()
    expected = C.privatize(table["answer"].tolist(), keyed=ex.Keyed(KEY, ids), column="answer")
    assert reports(spark.read.parquet(str(tmp_path / "out"))) == dict(zip(ids, expected, strict=True))
    expect(KeyingError, "`keyed=`", lambda: ex.privatize(stream, {"answer": C}))


# --- what is released
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [True, False])
def test_reports_follow_the_certified_distribution(spark, keyed):
    """Error rate: 3 chi-squared tests at 1e-9 for each of two ways to draw, below 1e-8 in all."""
    labels = F.element_at(F.array(*map(F.lit, WORDS.labels)), (F.col("id") % 3 + 1).cast("int"))
    frame = spark.range(0, 60_000, 1, 4).withColumn("answer", labels)
    frame = frame.withColumn("truth", F.col("answer"))
    options = {"keyed": ex.Keyed(KEY, "id")} if keyed else {}
    private = ex.privatize(frame, {"answer": C}, **options)
    counted = private.groupBy("truth", "answer").count().collect()
    found = {(row["truth"], row["answer"]): row["count"] for row in counted}
    for truth, weights in zip(C.inputs, C.weights.tolist(), strict=True):
        counts = np.array([found[truth, report] for report in C.outputs])
        assert counts.sum() == 20_000
        expected = np.array([20_000 * w / 2**C.bits for w in weights])
        assert stats.chisquare(counts, expected).pvalue > 1e-9


def test_what_spark_hands_on_leaks_no_more_than_epsilon(spark, tmp_path):
    """Batches of three records as bytes: values, order, types and metadata. The first record is the secret one.

    Error rate: a false alarm in 1e-6 of the runs. It has power: with the values themselves it raises one.
    """
    few = certify(WORDS, ex.theory.randomized_response_for_pml(WORDS, 0.4), 0.4)
    secrets = [label for label in WORDS.labels for _ in range(160)]
    values = [value for secret in secrets for value in (secret, "ccc", "a")]
    table = pd.DataFrame(
        {"run": np.arange(len(values)) // 3, "answer": values, "n": [1, 2, 3] * len(secrets)}
    )
    table["answer"] = table["answer"].astype("category")
    table.to_parquet(tmp_path / "runs.parquet")

    def as_bytes(batches):
        import pyarrow as pa

        for batch in batches:
            part, sink = batch.select(["answer", "n"]), pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, part.schema) as writer:
                writer.write_batch(part)
            columns = [batch.column(0).slice(0, 1), pa.array([sink.getvalue().to_pybytes()])]
            yield pa.RecordBatch.from_arrays(columns, ["run", "content"])

    def seen(frame):
        runs = {label: [] for label in WORDS.labels}
        for run, content in frame.mapInArrow(as_bytes, "run long, content binary").collect():
            runs[secrets[run]].append(bytes(content) + frame.schema.json().encode())
        assert {len(found) for found in runs.values()} == {160}
        return runs

    size = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(size)
    spark.conf.set(size, 3)
    try:
        frame = spark.read.parquet(str(tmp_path / "runs.parquet")).coalesce(1)
        runs = seen(ex.privatize(frame, {"answer": few}))
        assert not finds_more_than(0.4, runs, WORDS)
        assert len({content for found in runs.values() for content in found}) <= 27  # three reports, no more
        assert finds_more_than(0.4, seen(frame), WORDS)
    finally:
        spark.conf.set(size, before)


@pytest.mark.slow
def test_spark_and_memory_share_reports_where_documented_and_noise_nowhere(spark, tmp_path):
    """Releases of the same people, keyed and fresh, in Spark and in memory, every two of them.

    Fresh draws are random here: a false alarm in 1e-9 of the comparisons.
    """
    answers = {
        name: np.random.default_rng(seed).choice(WORDS.labels, ROWS, p=WORDS.probabilities).tolist()
        for name, seed in (("x", 1), ("y", 2))
    }
    ids = [f"{i:05d}" for i in range(ROWS)]
    frame = made(spark, {"id": ids, **answers}).repartition(3)

    def released(made, keyed, **how):
        rows = sorted(made.collect(), key=lambda row: row["id"])
        return [
            Released(
                f"Spark {name}",
                C,
                tuple(answers[name]),
                tuple(row[name] for row in rows),
                keyed and (name, how, promise(C)),
            )
            for name in answers
        ]

    def in_memory(name, **how):
        reports = C.privatize(answers[name], keyed=ex.Keyed(KEY, range(ROWS), **how), column=name)
        return Released(f"list {name}", C, tuple(answers[name]), tuple(reports), (name, how, promise(C)))

    keyed = {"keyed": ex.Keyed(KEY, "id")}
    both = {"x": C, "y": C}
    releases = [
        *released(ex.privatize(frame, both, **keyed), True),
        *released(ex.privatize(frame, both, keyed=ex.Keyed(KEY, "id", 2)), True, occasion=2),
        *released(ex.privatize(frame, both), None),
        *released(ex.privatize(frame, both, target=tmp_path / "reports"), None),
        *(in_memory(name) for name in both),
        in_memory("x", occasion=2),
    ]
    assert all_findings(releases) == []


@pytest.mark.slow
def test_other_columns_and_the_schema_stay_as_they_were_whatever_the_names(spark):
    odd = "a dot. and `quotes`"
    schema = T.StructType(
        [
            T.StructField("when", T.TimestampType()),
            T.StructField(odd, T.StringType(), False, {"values": ["a", "bb"]}),
            T.StructField("day", T.DateType(), True, {"unit": "day"}),
            T.StructField("price", T.DecimalType(12, 3)),
            T.StructField("tags", T.ArrayType(T.StringType())),
            T.StructField("place", T.StructType([T.StructField("x", T.DoubleType(), False)])),
            T.StructField("counts", T.MapType(T.StringType(), T.LongType())),
            T.StructField("raw", T.BinaryType()),
            T.StructField("another. `one`", T.ShortType()),
            T.StructField("the.id", T.LongType(), False),
        ]
    )
    when = datetime.datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=datetime.UTC)
    full = (
        when,
        "a",
        datetime.date(1900, 1, 1),
        decimal.Decimal("1.125"),
        ["x", None],
        {"x": 0.5},
        [("k", 1)],
    )
    rows = [(*full, b"\0\xff", 7), (None, "bb", *[None] * 7)] * 25
    columns = [*zip(*rows, strict=True), range(50)]
    types = to_arrow_schema(schema, timezone="UTC")
    arrays = [pa.array(column, field.type) for column, field in zip(columns, types, strict=True)]
    frame = spark.createDataFrame(pa.Table.from_arrays(arrays, schema=types), schema)
    private = ex.privatize(frame, {odd: C}, keyed=ex.Keyed(KEY, "the.id"))
    expected = T.StructType.fromJson(schema.jsonValue())
    expected[odd].metadata = {}  # it may list the values
    assert private.schema == expected
    assert frame.schema == schema
    found, before = (sorted(f.collect(), key=lambda row: row["the.id"]) for f in (private, frame))
    drawn = C.privatize(["a", "bb"] * 25, keyed=ex.Keyed(KEY, range(50)), column=odd)
    assert [row[1] for row in found] == drawn
    assert [(*row[:1], *row[2:]) for row in found] == [(*row[:1], *row[2:]) for row in before]
    assert before[0][3:] == (decimal.Decimal("1.125"), ["x", None], (0.5,), {"k": 1}, b"\0\xff", 7, 0)
    assert counts_spark(private, odd, C) == {label: drawn.count(label) for label in C.outputs}


@pytest.mark.slow
def test_columns_keep_their_types_unless_those_cannot_hold_the_outputs(spark):
    types = {
        "boolean": [False, True],
        "tinyint": [-128, 126],
        "bigint": [1, 2**60],
        "double": [0.5, 2.0],
        "decimal(5,1)": [1, 2],
    }
    texts = {kind: [str(labels[i % 2]) for i in range(9)] for kind, labels in types.items()}
    frame = made(spark, {"id": range(9), "text": ["a"] * 9, **texts}).withColumns(
        {kind: F.col(f"`{kind}`").cast(kind) for kind in types}
    )
    priors = {kind: ex.Prior.uniform(labels) for kind, labels in types.items()}
    exact = {
        kind: certify(prior, identity(prior), prior.epsilon_max, allow_true_answers=True)
        for kind, prior in priors.items()
    }
    words = ex.Prior.uniform(["a", "b"])
    other = certify(words, ex.Mechanism(np.full((2, 4), 0.25), words.labels, [10, 20, 30, 40]), 0.5)
    private = ex.privatize(
        frame, {**exact, "text": other}, keyed=ex.Keyed(KEY, "id"), allow_true_answers=True
    )
    expected = T.StructType.fromJson(frame.schema.jsonValue())
    expected["text"].dataType = T.LongType()
    assert private.schema == expected
    rows = sorted(private.collect(), key=lambda row: row["id"])
    assert [row["text"] for row in rows] == other.privatize(
        ["a"] * 9, keyed=ex.Keyed(KEY, range(9)), column="text"
    )
    assert [(row[0], *row[2:]) for row in rows] == [(row[0], *row[2:]) for row in frame.collect()]


@pytest.mark.slow
def test_columns_taken_together_are_released_as_a_frame_is(spark, frame, table):
    prior = ex.Prior.product(WORDS, NUMBERS)
    joint = certify(prior, ex.theory.randomized_response(prior, 1.0), 1.0)
    together = {("answer", "number"): joint}
    private = ex.privatize(frame, together, keyed=ex.Keyed(KEY, "id"))
    rows = sorted(private.collect(), key=lambda row: row["id"])
    expected = ex.privatize(table, together, keyed=ex.Keyed(KEY, "id"))
    assert [row["answer"] for row in rows] == expected["answer"].tolist()
    assert [row["number"] for row in rows] == expected["number"].tolist()


@pytest.mark.slow
def test_an_empty_frame_stays_empty(frame, tmp_path):
    nothing = frame.filter("id is null")
    for options in ({}, {"keyed": ex.Keyed(KEY, "name")}, {"target": tmp_path / "empty"}):
        private = ex.privatize(nothing, {"answer": C}, **options)
        assert private.collect() == []
    assert counts_spark(private, "answer", C) == {"a": 0, "bb": 0, "ccc": 0}


def test_reports_are_counted_in_the_order_of_the_outputs(frame, kept):
    drawn = list(reports(kept).values())
    counts = counts_spark(kept, "answer", C)
    assert list(counts.items()) == [(label, drawn.count(label)) for label in C.outputs]
    expect(ValuesError, "'name'", lambda: counts_spark(frame, "name", C))
    expect(ValuesError, "'nothing'", lambda: counts_spark(frame, "nothing", C))


# --- unknown values
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dirty(spark):
    """100 rows, of which 7 have no label and 3 no value; all of these among the last 25, which are a task's."""
    answer = F.when(F.col("id") < 90, "a").when(F.col("id") < 95, "stranger").when(F.col("id") < 97, "BB")
    number = F.when(F.col("id") < 90, 3.0).otherwise(float("nan"))
    return spark.range(0, 100, 1, 4).select("id", answer.alias("answer"), number.alias("number"))


REFUSAL = ("'answer'", "10 of 100 rows (3 missing, 2 like a label")


def test_unknown_and_missing_values_are_counted_and_not_repeated(dirty):
    keyed = {"keyed": ex.Keyed(KEY, "id")}
    expect(ValuesError, REFUSAL, lambda: ex.privatize(dirty, {"answer": C}, **keyed))
    nan = ("'number'", "10 of 100 rows (10 missing)")
    expect(ValuesError, nan, lambda: ex.privatize(dirty, {"number": D}))


@pytest.mark.slow
def test_a_refused_job_leaves_nothing_whatever_the_committer(spark, dirty, tmp_path):
    """Algorithm 2 would publish the files of tasks that succeeded before another one failed."""
    path = tmp_path / "reports"
    spark.conf.set(COMMITTER, "2")
    try:
        expect(ValuesError, REFUSAL, lambda: ex.privatize(dirty, {"answer": C}, target=path))
        assert not path.exists()
    finally:
        spark.conf.unset(COMMITTER)


@pytest.mark.slow
def test_unknown_values_can_be_dropped_or_counted_as_a_label(dirty):
    keyed = {"keyed": ex.Keyed(KEY, "id")}
    kept = reports(ex.privatize(dirty, {"answer": C}, unknown="drop", **keyed))
    assert sorted(kept) == list(range(90))
    filled = reports(ex.privatize(dirty, {"answer": C}, unknown_as={"answer": "ccc"}, **keyed))
    values = ["a"] * 90 + ["ccc"] * 10
    expected = C.privatize(values, keyed=ex.Keyed(KEY, range(100)), column="answer")
    assert filled == dict(enumerate(expected))
    assert {i: filled[i] for i in kept} == kept


@pytest.mark.slow
def test_many_unknown_values_are_one_line(spark):
    frame = spark.range(0, 5_000, 1, 2).select("id", F.lit("a").alias("answer"))
    frame = frame.withColumn("other", F.col("id").cast("string"))
    text = ("'other'", "5000 of 5000 rows")
    expect(ValuesError, text, lambda: ex.privatize(frame, {"answer": C, "other": C}))


# --- refusals
# --------------------------------------------------------------------------------------------------


REFUSED = {
    "no such column": (ValuesError, "'nothing'", {"nothing": C}, {}),
    "no column": (ValuesError, "mechanisms", {}, {}),
    "not certified": (ValuesError, "Mechanism", {"answer": C.mechanism}, {}),
    "unknown option": (ValuesError, "'keep'", {"answer": C}, {"unknown": "keep"}),
    "unknown_as": (ValuesError, "'z'", {"answer": C}, {"unknown_as": {"answer": "z"}}),
    "a number for a folder": (FileError, "5", {"answer": C}, {"target": 5}),
    "a folder without a name": (FileError, "''", {"answer": C}, {"target": ""}),
    "a key alone": (KeyingError, "keyed", {"answer": C}, {"keyed": KEY}),
    "no key file": (KeyingError, "gone", {"answer": C}, {"keyed": ex.Keyed("gone", "id")}),
    "a column of ids": (KeyingError, "ids", {"answer": C}, {"keyed": ex.Keyed(KEY, [1])}),
    "no id column": (ValuesError, "'x'", {"answer": C}, {"keyed": ex.Keyed(KEY, "x")}),
    "private ids": (ValuesError, "'number'", {"number": D}, {"keyed": ex.Keyed(KEY, "number")}),
    "fractional ids": (KeyingError, "double", {"answer": C}, {"keyed": ex.Keyed(KEY, "weight")}),
    "repeated ids": (
        KeyingError,
        "[-1, 3, 100] more than once in 'number'",
        {"answer": C},
        {"keyed": ex.Keyed(KEY, "number")},
    ),
    "a ledger": (OptionError, "ledger", {"answer": C}, {"ledger": "book"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_refused_in_one_line(frame, case):
    kind, text, mechanisms, options = REFUSED[case]
    expect(kind, text, lambda: ex.privatize(frame, mechanisms, **options))


def test_something_else_than_a_spark_frame_is_refused(table):
    expect(ValuesError, type(table).__name__, lambda: privatize_spark(table, {}, Terms()))


def test_two_columns_of_one_name_are_refused(frame):
    twice = frame.select("id", "answer", F.col("number").alias("answer"))
    expect(ValuesError, "several named", lambda: ex.privatize(twice, {"answer": C}))


def test_a_type_that_no_label_has_is_refused(frame):
    odd = frame.withColumn("answer", F.expr("make_interval(1)"))
    expect(ValuesError, "'answer'", lambda: ex.privatize(odd, {"answer": C}))


def test_records_without_an_id_are_refused(frame):
    for kind in ("long", "string"):
        some = frame.withColumn("who", F.when(F.col("id") >= 0, F.col("id")).cast(kind))
        options = {"keyed": ex.Keyed(KEY, "who")}
        text = "none in 7 rows of 'who'"
        expect(KeyingError, text, lambda: ex.privatize(some, {"answer": C}, **options))  # noqa: B023


@pytest.mark.parametrize(
    ("ids", "twice"),
    [
        (["7", "007", "8", "+8", "-000", "+0", "x"], "['0', '7', '8']"),
        (["7", "7", "-0", "9", "0000009", "x"], "['7', '9']"),
    ],
)
def test_an_id_that_is_written_in_two_ways_is_refused(spark, ids, twice):
    frame = made(spark, {"id": ids, "answer": ["a"] * len(ids)})
    options = {"keyed": ex.Keyed(KEY, "id")}
    text = f"{twice} more than once"
    expect(KeyingError, text, lambda: ex.privatize(frame, {"answer": C}, **options))


def test_text_ids_draw_as_everywhere(spark):
    ids = ["007", "+8", "-09", "x1", "1.5", "99999999999999999999"]
    frame = made(spark, {"id": ids, "answer": ["a"] * 6})
    rows = ex.privatize(frame, {"answer": C}, keyed=ex.Keyed(KEY, "id")).collect()
    meant = [7, 8, -9, "x1", "1.5", 99999999999999999999]
    expected = C.privatize(["a"] * 6, keyed=ex.Keyed(KEY, meant), column="answer")
    assert {row["id"]: row["answer"] for row in rows} == dict(zip(ids, expected, strict=True))


@pytest.mark.parametrize("expression", ["monotonically_increasing_id()", "uuid()", "int(rand() * 1e9)"])
def test_ids_that_change_when_they_are_computed_again_are_refused(frame, expression):
    numbered = frame.withColumn("row", F.expr(expression))
    options = {"keyed": ex.Keyed(KEY, "row")}
    expect(KeyingError, "'row'", lambda: ex.privatize(numbered, {"answer": C}, **options))


@pytest.mark.parametrize(
    "master", ["yarn", "spark://host:7077", "k8s://https://host", "local-cluster[2,1,1024]", ""]
)
def test_a_cluster_must_store_reports_or_have_a_key(master):
    session = SimpleNamespace(conf={"spark.master": master})
    frame = SimpleNamespace(isStreaming=False, sparkSession=session)
    expect(KeyingError, "`keyed=`", lambda: check_storage(frame, False, None))
    check_storage(frame, True, None)
    check_storage(frame, False, "hdfs://host/reports")


@pytest.mark.slow
def test_an_error_that_is_not_ours_passes_as_it_is(frame):
    def broken(batches):
        raise RuntimeError("somebody else's")

    unreadable = frame.mapInArrow(broken, frame.schema)
    with pytest.raises(Exception, match="somebody else's") as caught:
        ex.privatize(unreadable, {"answer": C})
    assert not isinstance(caught.value, ExtremalError)


# --- secrets
# --------------------------------------------------------------------------------------------------


def explained(frame):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for mode in ("simple", "extended", "codegen", "cost", "formatted"):
            frame.explain(mode=mode)
    return printed.getvalue()


def forms(secret):
    """How bytes may be written."""
    encoded = base64.b64encode(secret)
    signed = [byte - 256 if byte > 127 else byte for byte in secret]
    lists = [str(list(secret))[1:-1], str(signed)[1:-1], str(signed)[1:-1].replace(" ", "")]
    texts = [repr(secret)[2:-1], secret.hex(), secret.hex().upper(), secret.hex(" "), *lists]
    inner = [base64.b64encode(bytes(k) + secret)[8:-8] for k in range(3)]  # in the middle of a longer text
    return [secret, encoded, *inner, *(text.encode() for text in texts)]


@contextlib.contextmanager
def telling(spark):
    """All that Spark can tell, in logs and in plans; elsewhere that would only take time."""
    compiled = "spark.sql.codegen.wholeStage"
    spark.conf.set(compiled, "true")
    spark.sparkContext.setLogLevel("INFO")
    yield
    spark.sparkContext.setLogLevel("WARN")
    spark.conf.set(compiled, "false")


def test_the_key_is_not_in_plans_logs_event_logs_or_files(spark, frame, folder):
    """A large mechanism, because Spark writes large functions to disk."""
    prior = ex.Prior.uniform(400)
    large = certify(prior, ex.theory.randomized_response(prior, 1.0), 1.0)
    key = np.random.default_rng(5).bytes(32)
    with telling(spark):
        numbered = frame.withColumn("code", F.col("id") + 7).filter("code < 400")
        private = ex.privatize(numbered, {"code": large}, keyed=ex.Keyed(key, "name"))
        assert private.count() == 400
        private.createOrReplaceTempView("private")
        plan = private._jdf.queryExecution()
        shown = [repr(private), str(private.schema), explained(private), plan.toString()]
        shown += [plan.analyzed().toJSON(), plan.executedPlan().treeString()]
        assert "DrawTask" in shown[2]
    texts = {f"shown {i}": text.encode() for i, text in enumerate(shown)}
    texts |= {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any("events" in name and b"MapInArrow" in text for name, text in texts.items())
    assert any(name.endswith("spark.log") and b"INFO" in text for name, text in texts.items())
    assert [name for name, text in texts.items() for form in forms(key) if form in text] == []


def test_values_that_were_refused_are_not_in_the_logs(spark, folder, tmp_path):
    stranger = "a value nobody may read"
    pd.DataFrame({"answer": ["a", stranger]}).to_parquet(tmp_path / "values.parquet")
    frame = spark.read.parquet(str(tmp_path / "values.parquet"))
    with telling(spark):
        expect(ValuesError, "others in 1 of 2 rows", lambda: ex.privatize(frame, {"answer": C}))
    logs = [folder / "spark.log", *folder.joinpath("events").iterdir()]
    assert b"extremal.errors.ValuesError" in logs[0].read_bytes()
    assert [path.name for path in logs if stranger.encode() in path.read_bytes()] == []


# --- workers and documentation
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_unpacks_tables_once(spark, frame, keyed, tmp_path):
    job, _ = plan({"answer": C}, Terms())
    releases = spark.sparkContext.broadcast(job.releases)
    work = DrawTask(releases, job.randomness, False, {"answer": frame.columns.index("answer")}, None)

    def watched(batches):
        yield from work(batches)
        seen = f"{os.getpid()} {id(work.releases.value)}"
        Path(tmp_path, f"{time.time_ns()}").write_text(seen)

    for _ in range(2):
        assert frame.mapInArrow(watched, frame.schema).count() == ROWS
    tasks = [path.read_text().split() for path in tmp_path.iterdir()]
    workers = {worker for worker, _ in tasks}
    assert len(tasks) > len(workers)
    assert len({(worker, tables) for worker, tables in tasks}) == len(workers)


@pytest.mark.slow
def test_the_page_about_spark_shows_what_happens(spark, table, tmp_path):
    """With its files in a folder of the test's: Spark's working directory is that of its virtual machine."""
    table.to_parquet(tmp_path / "records.parquet")
    C.save(tmp_path / "mechanism.json")
    page = PAGE.read_text(encoding="utf-8").partition("\n## Spark\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert blocks
    names = {"spark": spark}
    for number, code in enumerate(blocks):
        placed = re.sub(r'"(\w+\.(?:parquet|json|key))"', rf'r"{tmp_path}/\1"', code)
        exec(compile(placed, f"{PAGE.name}:{number}", "exec"), names)
    assert sum(names["counts"].values()) == ROWS


def test_without_spark_the_rest_of_the_library_works():
    program = "import sys; sys.modules['pyspark'] = None; import extremal, extremal.release.privatize"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
def test_true_answers_are_refused_unless_asked_for(spark):
    told = certify(WORDS, identity(WORDS), 2.0, allow_true_answers=True)
    frame = spark.createDataFrame([(1, "a"), (2, "bb")], "id long, answer string")
    with refused(DisclosureError, "mechanism", "every report tells the true answer"):
        ex.privatize(frame, {"answer": told}, keyed=ex.Keyed(KEY, "id"))
    private = ex.privatize(frame, {"answer": told}, keyed=ex.Keyed(KEY, "id"), allow_true_answers=True)
    assert sorted(tuple(row) for row in private.collect()) == [(1, "a"), (2, "bb")]
