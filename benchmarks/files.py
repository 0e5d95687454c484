"""Files: privatising one column of five beside a plain copy of the same file, and the memory it takes.

    python benchmarks/files.py [--rows N] [--folder DIR]

The copy is what anybody would write with pyarrow: batches in, row groups of the same size out. Both run in turn
in one process, best of several; each is also run in a process of its own, for its peak memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import extremal as ex
from extremal.privatize.parquet_files import ParquetData

LABELS = [f"answer number {i}" for i in range(16)]
REGIONS = [f"region {i}" for i in range(100)]
PART = 1_000_000
RATIO, MEMORY, GROWTH = 1.5, 1024, 100  # targets: times the copy, MB, MB from a tenth of the rows to all


class Figure(NamedTuple):
    case: str
    seconds: float
    cpu: float
    ratio: float | None  # of processor time to that of the copy: the clock of a busy machine says little
    clock_ratio: float | None
    peak: int  # MB
    ok: bool | None


def certified() -> Any:
    prior = ex.Prior.uniform(LABELS)
    return ex.certify(prior, ex.randomized_response_for_pml(prior, 1.0), 1.0)


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


def privatise(source: Path, target: Path) -> None:
    ex.privatize_file(source, target, {"answer": certified()}, overwrite=True)


def privatise_keyed(source: Path, target: Path) -> None:
    mechanisms = {"answer": certified()}
    ex.privatize_file(source, target, mechanisms, overwrite=True, key=bytes(32), id_column="id")


JOBS: dict[str, Callable[[Path, Path], None]] = {
    "copy": copy,
    "privatise": privatise,
    "privatise, keyed": privatise_keyed,
}


def peak(job: str, source: Path, target: Path) -> int:
    """Peak memory in MB of a process that does nothing else.

    Not ru_maxrss: a new process starts with that of the process that started it.
    """
    code = (
        "import re, sys; from pathlib import Path; import files; "
        "files.JOBS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3])); "
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]) // 1024)"
    )
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code, job, source, target],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return int(done.stdout)


def measure(folder: Path, suffix: str, rows: int, runs: int = 3) -> Iterator[Figure]:
    """Every job on a file of so many rows, and privatising on one of a tenth of them."""
    source, small, target = (folder / f"{name}.{suffix}" for name in ("source", "small", "target"))
    write(source, rows)
    write(small, rows // 10)
    clock = dict.fromkeys(JOBS, float("inf"))
    cpu = dict(clock)
    for job in JOBS.values():
        job(small, target)  # compiles
    for _ in range(runs):
        for name, job in JOBS.items():
            start, used = time.perf_counter(), time.process_time()
            job(source, target)
            clock[name] = min(clock[name], time.perf_counter() - start)
            cpu[name] = min(cpu[name], time.process_time() - used)
    yield Figure(
        f"{suffix}: copy", clock["copy"], cpu["copy"], None, None, peak("copy", source, target), None
    )
    for name in ("privatise", "privatise, keyed"):
        ratio, most = cpu[name] / cpu["copy"], peak(name, source, target)
        few = peak(name, small, target)
        ok = most < MEMORY and most < few + GROWTH and (suffix == "csv" or ratio <= RATIO)
        yield Figure(
            f"{suffix}: {name} (a tenth of the rows: {few} MB)",
            clock[name],
            cpu[name],
            ratio,
            clock[name] / clock["copy"],
            most,
            ok,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", help="where the files go (default: a temporary folder)")
    options = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print(f"{options.rows} rows, 5 columns, load {load:.1f} at the start")
    print(f"{'seconds':>8} {'cpu':>8} {'x cpu':>6} {'x clock':>8} {'peak MB':>8}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for suffix, rows in (("parquet", options.rows), ("csv", options.rows // 5)):
            for f in measure(Path(folder), suffix, rows):
                ratios = "" if f.ratio is None else f"{f.ratio:6.2f} {f.clock_ratio:8.2f}"
                verdict = {None: "", True: "  pass", False: "  FAIL"}[f.ok]
                print(
                    f"{f.seconds:8.2f} {f.cpu:8.2f} {ratios:>15} {f.peak:8d}  {f.case}{verdict}", flush=True
                )


if __name__ == "__main__":
    main()
