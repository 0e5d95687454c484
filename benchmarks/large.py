"""Large alphabets: a million answers from the design to the report, and shares of 22,000 answers beside other clients.

- Mechanisms in blocks: time and memory of every step, and the rate of privatising beside that of 1000 answers, measured
  by turns in one process.
- Windows (a start and a public step): the mean squared error of a share in millionths, Zipf's law, epsilon = 5, 1000
  people, simulated with the library's own draws and estimates. The published figures are those of subset selection,
  projective geometry response, and Hadamard response in two variants (Feldman, Nelson, Nguyen and Talwar, 2022).
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from families import zipf
from report import Report, best

import extremal as ex

ANSWERS = {"tiny": 5_000, "quick": 100_000, "normal": 1_000_000, "full": 1_000_000}
RECORDS = {"tiny": 100_000, "quick": 2_000_000, "normal": 10_000_000, "full": 10_000_000}
TIMES = {"tiny": 2, "quick": 10, "normal": 40, "full": 100}
SLOWER = 5.0  # target: times as long as with 1000 answers, at most
SIZE, EPSILON, PEOPLE = 22_000, 5.0, 1000
PUBLISHED = {
    "subset selection": 27.3,
    "projective geometry response": 27.3,
    "recursive Hadamard response": 36.7,
    "Hadamard response": 68.9,
}
NEAR = 0.02  # of the published figure of subset selection, beside 4 standard errors


def run(report: Report) -> None:
    certified = steps(report)
    rates(report, certified)
    shares(report)
    counting(report)


def steps(report: Report) -> ex.Certified:
    """Every step with its time, for the largest alphabet of this level."""
    prior = zipf(ANSWERS[report.level], 1.0)
    table = report.table(f"{prior.size} answers in blocks", {"step": "<24", "cpu s": "8.2f", "note": "<40"})

    def timed(name, call, note=lambda value: ""):
        begin = time.process_time()
        value = call()
        table.row(name, time.process_time() - begin, note(value))
        return value

    design = timed(
        "design", lambda: ex.design(prior, 1.0, ex.mutual_information), lambda d: f"gap {d.gap:.1e}"
    )
    report.check(f"{prior.size} answers: gap {design.gap:.1e}, at most 1e-6", design.gap <= 1e-6)
    certified = timed("certify", lambda: ex.certify(design), lambda c: f"{c.weights.size} weights")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mechanism.json"
        timed("save", lambda: certified.save(path), lambda _: f"{path.stat().st_size / 1e6:.1f} MB")
        timed(
            "load and prove again",
            lambda: ex.load(path),
            lambda c: "equal" if c == certified else "DIFFERENT",
        )
    timed("audit", lambda: ex.audit(certified), lambda a: f"epsilon {a.epsilon:.6g}")
    timed("check_design", lambda: ex.check_design(design), lambda c: "holds" if c.ok else "DOES NOT HOLD")
    return certified


def rates(report: Report, large: ex.Certified) -> None:
    """Records a second, beside 1000 answers."""
    count, rng = RECORDS[report.level], np.random.default_rng(report.seed)
    prior = ex.Prior.uniform(1000)
    small = ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 1.0), 1.0)
    table = report.table(
        f"{count} records", {"case": "<34", "million/s": "9.1f", "times as long": "13.2f"}, "cpu"
    )
    few = rng.integers(0, 1000, count).astype(np.uint16)
    base = best(lambda: small.privatize_codes(few), 5)
    table.row("1000 answers, codes", count / base.cpu / 1e6, 1.0)
    codes = rng.choice(large.prior.size, size=count, p=large.prior.probabilities).astype(np.uint32)
    for name, call in (
        ("codes", lambda: large.privatize_codes(codes)),
        ("values", lambda: large.privatize(codes)),
    ):
        taken = best(call, 5)
        ratio = taken.cpu / base.cpu
        table.row(f"{large.prior.size} answers, {name}", count / taken.cpu / 1e6, ratio)
        report.check(
            f"{large.prior.size} answers, {name}: at most {SLOWER:g} x as long as 1000, got {ratio:.2f} x",
            ratio <= SLOWER,
        )
    windows = ex.large.windows(large.prior.size, 1.0)
    taken = best(lambda: windows.privatize(codes), 2)
    table.row(f"{large.prior.size} answers, windows", count / taken.cpu / 1e6, taken.cpu / base.cpu)


def shares(report: Report) -> None:
    """The mean squared error of a share, in millionths."""
    prior, times = zipf(SIZE, 1.0), TIMES[report.level]
    table = report.table(
        f"Squared error of a share of {SIZE} answers, in millionths: epsilon {EPSILON:g}, {PEOPLE} people",
        {"method": "<46", "error": "8.2f", "std error": "9.2f", "note": "<20"},
    )
    for name, error in PUBLISHED.items():
        table.row(name, error, math.nan, "published")
    for name, windows in (
        ("windows, limit for every prior (LDP)", ex.large.windows(SIZE, EPSILON)),
        ("windows, limit for the prior (PML)", ex.large.windows(prior, EPSILON)),
    ):
        mean, spread = simulate(windows, prior, times, report.seed)
        table.row(name, mean, spread, f"simulated {times} x")
        aim = PUBLISHED["subset selection"]
        report.check(
            f"{name}: {mean:.2f}, at most {aim} and {NEAR:.0%}", mean <= aim * (1 + NEAR) + 4 * spread
        )


def counting(report: Report) -> None:
    """All shares from as many reports as answers; half of the people give one answer."""
    n = ANSWERS[report.level]
    table = report.table(
        f"All {n} shares from {n} reports: processor time of one thread, in seconds",
        {"epsilon": "8g", "steps": "7d", "size of sets": "8d", "seconds": "8.2f"},
    )
    rng = np.random.default_rng(report.seed)
    answers = np.where(rng.random(n) < 0.5, 7, rng.integers(0, n, n))
    for epsilon in (0.5, 1.0, 3.0, 5.0, 6.0, 8.0):
        windows = ex.large.windows(n, epsilon)
        reports = windows.privatize(answers, source=ex.randomness.SeededWords(report.seed))
        taken = best(lambda w=windows, y=reports: ex.large.estimate(w, y), 1)
        table.row(epsilon, windows.layout.steps, windows.size, taken.cpu)


def simulate(windows: ex.large.Windows, prior: ex.Prior, times: int, seed: int) -> tuple[float, float]:
    rng, errors = np.random.default_rng(seed), []
    for k in range(times):
        answers = rng.choice(SIZE, size=PEOPLE, p=prior.probabilities)
        reports = windows.privatize(answers, source=ex.randomness.SeededWords(seed + k))
        estimates = ex.large.estimate(windows, reports).estimates
        errors.append(1e6 * float(np.mean((estimates - prior.probabilities) ** 2)))
    return float(np.mean(errors)), float(np.std(errors, ddof=1)) / math.sqrt(times)


if __name__ == "__main__":
    import sys

    run(Report(sys.argv[1].lstrip("-") if len(sys.argv) > 1 else "normal", 0))
