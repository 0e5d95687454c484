"""Design by enumeration, column generation and arc: speed, agreement for every utility, growth with N."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
from families import EPSILONS, families, measure, separately, warm_up
from report import Report, best, design_by
from scipy.optimize import linprog
from scipy.sparse import csc_array

import extremal as ex

SEPARABLE = (
    ex.mutual_information,
    ex.utilities.total_variation,
    ex.utilities.chi_squared,
    ex.utilities.hellinger,
    ex.utilities.jensen_shannon,
)
EPSILON = math.log(2)
LONG = 3.0  # seconds after which a program is not run again
SPEED_UP = 100.0


def run(report: Report) -> None:
    warm_up(12 if report.level == "tiny" else 60)
    enumeration(report)
    utilities(report)
    growth(report)
    importing(report)


def plain_highs(prior: ex.Prior, epsilon: float) -> float:
    """Algorithm 1, and Theorem 5 by HiGHS with the options it comes with, through scipy."""
    vertices = ex.theory.extremal_lift_vectors(prior, epsilon)
    mu = ex.mutual_information.columns(prior, np.ascontiguousarray(vertices.T))
    result = linprog(-mu, A_eq=csc_array(vertices.T), b_eq=np.ones(prior.size), method="highs")
    return float(-result.fun) if result.status == 0 else math.nan


def enumeration(report: Report) -> None:
    """N = 10..18 by enumeration and by column generation on the same priors."""
    sizes = {"tiny": (8,), "full": (10, 12, 14, 16, 18)}.get(report.level, (10, 12, 14, 16))
    table = report.table(
        "Enumeration against column generation, epsilon = log 2 (seconds)",
        {
            "prior": "<26", "N": "3d", "vertices": "8d", "HiGHS": "8.3f", "tuned": "8.3f",
            "column gen.": "11.4f", "gap": "8.1e", "rel. diff.": "10.1e", "x HiGHS": "8.1f",
            "x tuned": "8.1f",
        },
        "HiGHS: Algorithm 1, then HiGHS with the options it comes with, through scipy. tuned: our\n"
        "  enumeration, whose options suit this program. Each the best of 3, or of 1 that is long.\n"
        f"  target at N = 16: {SPEED_UP:g} x faster than Algorithm 1 + HiGHS, gap <= 1e-6",
    )  # fmt: skip
    for n in sizes:
        priors = families(n, report.seed, report.untuned)
        if n >= 16 and not report.at_least("normal"):
            priors = {"Dirichlet": priors["Dirichlet"]}
        if n >= 18:
            priors = {family: priors[family] for family in ("Dirichlet", "Zipf 1")}
        for family, prior in priors.items():
            runs = 1 if n >= 18 else 3
            plain, plain_cpu, value = best(lambda p=prior: plain_highs(p, EPSILON), runs, LONG)
            tuned, tuned_cpu, full = best(
                lambda p=prior: design_by(p, EPSILON, ex.mutual_information, oracle="enumeration"), runs, LONG
            )
            fast, fast_cpu, part = best(
                lambda p=prior: design_by(p, EPSILON, ex.mutual_information, oracle="column-generation"), runs
            )
            ok = None
            if n == 16:
                ok = report.check(
                    f"N = 16, {family}: column generation is {plain / fast:.0f} x as fast as Algorithm 1 "
                    f"+ HiGHS >= {SPEED_UP:g} x (in processor time {plain_cpu / fast_cpu:.0f} x; "
                    f"{tuned / fast:.0f} x as fast as our enumeration), gap {part.gap:.1e} <= 1e-6",
                    plain / fast >= SPEED_UP and part.gap <= 1e-6,
                )
            if not full.value <= part.upper_bound * (1 + 1e-12):
                report.broke(
                    f"N = {n}, {family}: bound {part.upper_bound!r} below the optimum {full.value!r}"
                )
            difference = abs(part.value - full.value) / full.value
            table.row(
                family, n, full.stats.columns, plain, tuned, fast,
                part.gap, difference, plain / fast, tuned / fast, ok=ok,
                highs_value=value, processor_seconds=[plain_cpu, tuned_cpu, fast_cpu],
            )  # fmt: skip


def utilities(report: Report) -> None:
    """Every separable utility against enumeration, at tolerance 1e-10."""
    every = list(EPSILONS)
    plans: dict[str, list[tuple[int, list[str] | None, list[float]]]] = {
        "tiny": [(6, None, [0.5])],
        "quick": [(12, ["Dirichlet", "Zipf 1", "age"], [0.1, 1.0]), (16, ["Dirichlet"], [EPSILON])],
        "normal": [
            (8, None, every),
            (12, None, every),
            (16, ["Dirichlet", "Zipf 1.5", "age"], [0.1, EPSILON, 2.0]),
        ],
        "full": [(n, None, [*every, EPSILON]) for n in (4, 6, 8, 10, 12, 14, 16)],
    }
    table = report.table(
        "Every separable utility against enumeration, tolerance 1e-10",
        {
            "utility": "<20",
            "N": "3d",
            "cases": "5d",
            "worst difference": "16.1e",
            "worst gap": "9.1e",
            "at": "<36",
        },
        "target: values within 1e-9 of each other, relatively",
    )
    for n, chosen, epsilons in plans[report.level]:
        priors = families(n, report.seed, report.untuned)
        for utility in SEPARABLE:
            worst = (-1.0, "", 0.0)
            gaps = []
            cases = list(itertools.product(chosen or priors, epsilons))
            for family, epsilon in cases:
                full = design_by(priors[family], epsilon, utility, oracle="enumeration")
                part = design_by(
                    priors[family], epsilon, utility, oracle="column-generation", tolerance=1e-10
                )
                difference = abs(part.value - full.value) / full.value
                gaps.append(part.gap)
                if not full.value <= part.upper_bound * (1 + 1e-12):
                    report.broke(f"{utility.name}, N = {n}, {family}, epsilon = {epsilon:g}: a false bound")
                worst = max(worst, (difference, f"{family}, epsilon = {epsilon:.3g}", part.gap))
            ok = report.check(
                f"N = {n}, {utility.name}: within {worst[0]:.1e} <= 1e-9 of enumeration ({worst[1]})",
                worst[0] <= 1e-9,
            )
            table.row(utility.name, n, len(cases), worst[0], max(gaps), worst[1], ok=ok)


def growth(report: Report) -> None:
    """Seconds by N, for column generation and arc."""
    sizes = {"tiny": (16,), "quick": (16, 32, 64, 128, 256, 512)}.get(
        report.level, (16, 32, 64, 128, 256, 512)
    )
    names = ["Dirichlet", "Zipf 1"] if report.at_least("full") else ["Dirichlet"]
    table = report.table(
        "Growth with N, epsilon = 1",
        {
            "prior": "<12", "N": "6d", "column gen. s": "13.3f", "processor s": "11.3f", "gap": "9.1e",
            "rounds": "6d", "columns": "7d", "peak MB": "8.0f", "arc s": "8.4f", "arc gap": "9.1e",
        },
        "column generation: N <= 100 best of 3; from N = 1000 on in a process of its own. arc: best of 5",
    )  # fmt: skip
    for family, n in itertools.product(names, sizes):
        prior = families(n, report.seed)[family]
        if n >= 1000:
            case = separately(report, family, n, 1.0, 400.0, "column-generation")
        else:
            case = min(
                (measure(prior, 1.0) for _ in range(3 if n <= 100 else 1)), key=lambda case: case["seconds"]
            )
        seconds, _, arc = best(lambda p=prior: design_by(p, 1.0, ex.mutual_information, oracle="arc"), 5)
        table.row(
            family, n, case["seconds"], case.get("cpu_seconds"), case["gap"], case.get("rounds"),
            case.get("columns"), case.get("peak_mb"), seconds, arc.gap, case=case,
        )  # fmt: skip


FIRST_DESIGN = """
import extremal
extremal.design(extremal.Prior.from_counts(range(1, 26)), 1.0, extremal.mutual_information)
"""


def importing(report: Report) -> None:
    """Seconds to import, and to the end of a first design in a new process."""
    table = report.table(
        "Import and first call in a new process",
        {"program": "<48", "seconds": "8.3f", "processor s": "11.3f", "x numpy": "8.2f"},
        "without the start of the interpreter; best of several",
    )
    runs = {"tiny": 1, "full": 7}.get(report.level, 4)
    numpy = _new_process("import numpy", runs)
    lines = [
        ("import numpy", numpy),
        ("import extremal", _new_process("import extremal", runs)),
        ("first column generation, N = 25", _new_process(FIRST_DESIGN, min(runs, 3))),
    ]
    for name, (seconds, cpu) in lines:
        table.row(name, seconds, cpu, seconds / numpy[0])


def _new_process(program: str, runs: int) -> tuple[float, float]:
    """The least of the seconds, and of processor time, that the program takes in a new interpreter."""
    timed = (
        "import time; clock, cpu = time.perf_counter(), time.process_time()\n"
        f"{program}\n"
        "print(time.perf_counter() - clock, time.process_time() - cpu)"
    )
    command = [sys.executable, "-c", timed]
    times = []
    for _ in range(runs):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{program.strip()!r} failed: {done.stderr.strip()}")
        times.append([float(figure) for figure in done.stdout.split()])
    return min(clock for clock, _ in times), min(cpu for _, cpu in times)
