"""Files: privatising one column of five beside a plain copy of the same file, and the memory it takes.

    python benchmarks/files.py [--tiny | --quick]

The copy is what anybody would write with pyarrow: batches in, row groups of the same size out. All jobs run in
turn in one process, best of several; each is also run in a process of its own, for its peak memory.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet
from report import LEVELS, Report, isolated

import extremal as ex
from extremal.release.files.parquet import ParquetData

LABELS = [f"answer number {i}" for i in range(16)]
REGIONS = [f"region {i}" for i in range(100)]
PART = 1_000_000
ROWS = {"tiny": 100_000, "quick": 1_000_000, "normal": 10_000_000, "full": 10_000_000}
RATIO, MEMORY, GROWTH = 1.5, 1024, 100  # targets: times the copy; MB; MB more than for a tenth of the rows


def table(first: int, rows: int) -> pa.Table:
    rng = np.random.default_rng(first)
    return pa.table(
        {
            "id": np.arange(first, first + rows),
            "answer": pa.array(LABELS).take(pa.array(rng.integers(0, len(LABELS), rows))),
            "weight": rng.random(rows),
            "region": pa.array(REGIONS).take(pa.array(rng.integers(0, len(REGIONS), rows))),
            "when": pa.array(rng.integers(0, 10**9, rows).astype("M8[s]")),
        }
    )


def write(path: Path, rows: int) -> None:
    schema = table(0, 1).schema
    with (csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter)(path, schema) as writer:
        for first in range(0, rows, PART):
            writer.write_table(table(first, min(PART, rows - first)))


def copy(source: Path, target: Path) -> None:
    """The same copy without privatising."""
    if source.suffix == ".csv":
        reader = csv.open_csv(source)
        with csv.CSVWriter(target, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        return
    group = ParquetData.open(str(source))._rows_in_a_group(["answer"])
    with parquet.ParquetFile(source) as file, parquet.ParquetWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches(group):
            writer.write_table(pa.Table.from_batches([batch]))


def privatise(source: Path, target: Path, **keyed: Any) -> None:
    prior = ex.Prior.uniform(LABELS)
    certified = ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 1.0), 1.0)
    ex.privatize(source, target=target, mechanisms={"answer": certified}, overwrite=True, **keyed)


def privatise_keyed(source: Path, target: Path) -> None:
    privatise(source, target, keyed=ex.Keyed(bytes(range(32)), "id"))


JOBS: dict[str, Callable[[Path, Path], None]] = {
    "copy": copy,
    "privatise": privatise,
    "privatise, keyed": privatise_keyed,
}


def alone(job: str, source: str, target: str) -> None:
    """What a process of its own does."""
    JOBS[job](Path(source), Path(target))


def run(report: Report) -> None:
    rows = ROWS[report.level]
    with tempfile.TemporaryDirectory() as folder:
        for suffix, count in (("parquet", rows), ("csv", rows // 5)):
            _measure(report, Path(folder), suffix, count)


def _measure(report: Report, folder: Path, suffix: str, rows: int) -> None:
    """Every job on a file of so many rows, and its memory on one of a tenth of them."""
    source, small, target = (folder / f"{name}.{suffix}" for name in ("source", "small", "target"))
    write(source, rows)
    write(small, rows // 10)
    clock, cpu = _times(source, small, target)
    columns = {
        "job": "<18",
        "seconds": "8.2f",
        "cpu": "8.2f",
        "x clock": "8.2f",
        "x cpu": "8.2f",
        "peak MB": "8.0f",
        "of a tenth": "10.0f",
    }
    out = report.table(f"{suffix}, {rows} rows of 5 columns", columns, note="in turn, best of 3")
    for name in JOBS:
        peaks = [
            isolated("files", "alone", {"job": name, "source": str(path), "target": str(target)}, 600).peak_mb
            for path in (source, small)
        ]
        ratios = (clock[name] / clock["copy"], cpu[name] / cpu["copy"])
        ok = None
        if name != "copy":
            ok = True
            if suffix == "parquet":  # of a busy machine the clock says little
                what = (
                    f"{name}: {suffix} within {RATIO} of the copy, got {ratios[0]:.2f}, cpu {ratios[1]:.2f}"
                )
                ok = report.check(what, min(ratios) <= RATIO)
            if None not in peaks:
                flat = peaks[0] < MEMORY and (peaks[0] < peaks[1] + GROWTH or not report.at_least("normal"))
                what = f"{name}: {suffix} in less than {MEMORY} MB, whatever the rows, got {peaks[0]:.0f}"
                ok = report.check(what, flat) and ok
        out.row(name, clock[name], cpu[name], *ratios, *peaks, ok=ok)


def _times(source: Path, small: Path, target: Path) -> tuple[dict[str, float], dict[str, float]]:
    clock = dict.fromkeys(JOBS, float("inf"))
    cpu = dict(clock)
    for job in JOBS.values():
        job(small, target)  # compiles
    for _ in range(3):
        for name, job in JOBS.items():
            start, used = time.perf_counter(), time.process_time()
            job(source, target)
            clock[name] = min(clock[name], time.perf_counter() - start)
            cpu[name] = min(cpu[name], time.process_time() - used)
    return clock, cpu


if __name__ == "__main__":
    report = Report(next((level for level in LEVELS if f"--{level}" in sys.argv), "normal"))
    run(report)
    print(report.summary())
