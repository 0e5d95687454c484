"""Designs and estimates as a user gets them, beside one thread for linear algebra: seconds, and the same bits."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from families import zipf
from report import Report

import extremal as ex

RATIO = 1.2
VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def cases(level: str) -> dict[str, Callable[[], Any]]:
    """What is measured, by its name: a call whose result is numbers."""
    found = {
        f"shares, N = {n}": _shares(n)
        for n in {"tiny": (12,), "full": (18, 30, 60, 100)}.get(level, (18, 60))
    }
    found |= {
        f"a set of priors, N = {n}": _over_a_set(n)
        for n in {"tiny": (6,), "full": (12, 30)}.get(level, (12,))
    }
    return found | {"estimate, 200 answers": _estimate}


def run(report: Report) -> None:
    runs = 1 if report.level == "tiny" else 3
    table = report.table(
        "As a user gets it, and with OPENBLAS_NUM_THREADS=1",
        {
            "case": "<26", "user s": "8.2f", "processor s": "11.2f", "one thread s": "12.2f",
            "processor s ": "12.2f", "ratio": "6.2f", "bits": "<9",
        },
        f"median of {runs} by turns, each in a process of its own. target: ratio <= {RATIO:g}, the same bits; the "
        "ratio of seconds or of processor time, whichever is smaller: threads that wait raise both, others' work one",
    )  # fmt: skip
    for name in cases(report.level):
        user, one = [], []
        for _ in range(runs):
            user.append(_measured(name, report.level, {}))
            one.append(_measured(name, report.level, {"OPENBLAS_NUM_THREADS": "1"}))
        figures = [
            statistics.median(found[what] for found in side)
            for side in (user, one)
            for what in ("seconds", "cpu")
        ]
        ratio = min(figures[0] / figures[2], figures[1] / figures[3])
        same = len({found["digest"] for found in user + one}) == 1
        if not same:
            report.broke(f"{name}: the number of threads changes the bits")
        ok = report.check(f"{name}: {ratio:.2f} <= {RATIO:g} x one thread", ratio <= RATIO)
        table.row(name, *figures, ratio, "same" if same else "DIFFERENT", ok=ok)


def _measured(name: str, level: str, variables: Mapping[str, str]) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES} | dict(variables)
    command = [sys.executable, str(Path(__file__)), name, level]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout))


def _shares(n: int) -> Callable[[], Any]:
    return lambda: ex.design(zipf(n, 1.0), 1.0).mechanism.matrix


def _over_a_set(n: int) -> Callable[[], Any]:
    return lambda: ex.design(ex.PriorSet.l1_ball(zipf(n, 1.0), 0.1), 1.0).mechanism.matrix


def _estimate() -> Any:
    mechanism = ex.theory.randomized_response_for_pml(zipf(200, 1.0), 1.0)
    found = ex.estimate(mechanism, dict(zip(mechanism.outputs, range(200, 400), strict=True)))
    return np.array([found.lower, found.upper, found.standard_errors])


def _main(name: str, level: str) -> None:
    call = cases(level)[name]
    ex.design(zipf(5, 1.0), 1.0)  # loads every library
    clock, cpu = time.perf_counter(), time.process_time()
    result = call()
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    digest = hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()
    print(json.dumps({"seconds": clock, "cpu": cpu, "digest": digest}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
