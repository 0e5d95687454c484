"""Spark, beside a function that returns its batches as they are: python benchmarks/spark.py [--rows N] [--runs N]

local[2], Parquet with five columns of which one is private, k = 16 strings. What is measured is one action on
the frame (into Spark's "noop" sink), or storing it, by turns with the identity, the fastest run of each. The
checks that a keyed frame gets before it is returned are measured apart. Needs Java and the extra spark.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from report import Report

import extremal as ex
from extremal.certification.certify import certify

LABELS = [f"answer number {i}" for i in range(16)]
KEY = bytes(range(32))
TARGET = 1.3
ROWS = {"tiny": 20_000, "quick": 1_000_000, "normal": 10_000_000, "full": 10_000_000}
Act = Callable[[], Any]


def run(report: Report, rows: int | None = None, runs: int = 3) -> None:
    """Ratios to the identity, against the target of 1.3."""
    from pyspark.sql import SparkSession

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = Path(tempfile.mkdtemp(prefix="extremal-spark-"))
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if report.level == "tiny":  # few records: to compile well would take longer than all else
        settings["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    try:
        _measure(report, session, folder, rows or ROWS[report.level], 1 if report.level == "tiny" else runs)
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _measure(report: Report, session: Any, folder: Path, rows: int, runs: int) -> None:
    frame = _records(session, folder / "records", rows)
    table = report.table(
        f"Spark {session.version}, local[2], {rows:,} records",
        {"case": "<44", "identity s": "10.2f", "private s": "9.2f", "ratio": "5.2f", "ns/record": "9.0f"},
        note=f"fastest of {runs} runs by turns; load average {os.getloadavg()[0]:.1f} at the start",
    )
    for name, is_target, plain, private in _cases(frame, folder):
        identity, seconds = _by_turns(session, plain, private, runs)
        ratio = seconds / identity
        claim = f"Spark, {name}: within {TARGET} x of the identity"
        verdict = report.check(claim, ratio <= TARGET) if is_target else None
        table.row(name, identity, seconds, ratio, 1e9 * seconds / rows, ok=verdict)
    _checks(report, frame, rows)


def _records(session: Any, path: Path, rows: int) -> Any:
    from pyspark.sql import functions as F

    code = F.pmod(F.hash("id"), F.lit(16))
    session.range(0, rows, 1, 4).select(
        "id",
        F.format_string("person %d", "id").alias("name"),
        F.concat(F.lit("answer number "), code.cast("string")).alias("answer"),
        (F.col("id") / 2).alias("weight"),
        code.cast("int").alias("code"),
    ).write.parquet(str(path))
    return session.read.parquet(str(path))


def _cases(frame: Any, folder: Path) -> Iterator[tuple[str, bool, Act, Act]]:
    """(name, whether it has a target, an action on the identity, the same on reports)."""

    text, numbers = _mechanism(LABELS), _mechanism(list(range(16)))
    unchanged = frame.mapInArrow(lambda batches: batches, frame.schema)

    def keyed(ids: str, **mechanisms: Any) -> Any:
        return ex.privatize(frame, mechanisms, keyed=ex.Keyed(KEY, ids))

    for name, is_target, private in (
        ("keyed, strings, integer ids", True, keyed("id", answer=text)),
        ("keyed, integers, integer ids", True, keyed("id", code=numbers)),
        ("keyed, strings, string ids", False, keyed("name", answer=text)),
    ):
        yield name, is_target, lambda: _consume(unchanged), lambda private=private: _consume(private)
    yield (
        "no key, kept by the session",
        True,
        lambda: unchanged.localCheckpoint(eager=True),
        lambda: ex.privatize(frame, {"answer": text}),
    )
    yield (
        "no key, stored as Parquet",
        True,
        lambda: unchanged.write.parquet(_new(folder)),
        lambda: ex.privatize(frame, {"answer": text}, target=_new(folder)),
    )


def _checks(report: Report, frame: Any, rows: int) -> None:
    """What a call with a key does before it returns."""

    mechanisms = {"answer": _mechanism(LABELS)}
    table = report.table(
        "checks before a keyed frame is returned", {"case": "<44", "s": "6.2f", "ns/record": "9.0f"}
    )
    start = time.perf_counter()
    ex.privatize(frame, mechanisms, keyed=ex.Keyed(KEY, "id"))
    seconds = time.perf_counter() - start
    table.row("values, missing and repeated ids", seconds, 1e9 * seconds / rows)


def _mechanism(labels: list[Any]) -> Any:
    prior = ex.Prior.uniform(labels)
    return certify(prior, ex.theory.randomized_response_for_pml(prior, 1.0), 1.0)


def _consume(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _new(folder: Path) -> str:
    return str(folder / f"out-{time.time_ns()}")


def _by_turns(session: Any, first: Act, second: Act, runs: int) -> tuple[float, float]:
    """The fastest of each. A busy machine slows down both alike when they take turns."""
    fastest = [math.inf, math.inf]
    for _ in range(runs):
        for i, act in enumerate((first, second)):
            start = time.perf_counter()
            act()
            fastest[i] = min(fastest[i], time.perf_counter() - start)
            session._jvm.System.gc()  # what an earlier run kept goes now, not during the next one
    return fastest[0], fastest[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS["normal"], help="records (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default: %(default)s)")
    options = parser.parse_args()
    report = Report()
    run(report, options.rows, options.runs)
    print(report.summary())


if __name__ == "__main__":
    main()
