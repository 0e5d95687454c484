"""Designs for shares against their targets: proven gap, seconds and outputs, for one prior and for sets of priors.

A gap is (upper bound - efficiency) / efficiency. A search ends after a fixed amount of work, so a gap is the same on
every machine; seconds are not, and a case that is late only by the clock is run again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from families import EPSILONS, families, zipf
from report import Report, best, isolated

import extremal as ex

PLANES = ((7, 3), (13, 4), (31, 6), (57, 8))
TRIES = 3
SAMPLE = 1000  # people behind the priors of `from_counts`
FEW = 4  # outputs for each label: what a design should not need more than
TIMES = (1, 1.5, 2, 3, 4, 6)  # outputs for each label, of the curves
COLUMNS = {
    "prior": "<26",
    "epsilon": "7g",
    "efficiency": "10.4g",
    "gap": "8.1e",
    "seconds": "8.2f",
    "processor s": "11.2f",
    "outputs / N": "11.1f",
}
Case = dict[str, Any]
Target = tuple[float, float]  # gap and seconds


def one_target(n: int, epsilon: float) -> Target:
    """For one prior of n labels."""
    if n <= 12:
        return 1e-3, 2.0
    if n <= 30:
        return (1e-2 if epsilon <= 1 else 5e-2), 5.0
    if n <= 100:
        return (2e-2 if epsilon <= 1 else 5e-2), 30.0
    return 1e-1, 120.0


def set_target(n: int) -> Target:
    """For a set of priors of n labels."""
    return (1e-3, 5.0) if n <= 12 else (2e-2, 20.0) if n <= 30 else (5e-2, 60.0)


def run(report: Report) -> None:
    ex.design(zipf(12, 1.0), 1.0)  # loads every library
    ex.design(ex.PriorSet.l1_ball(zipf(6, 1.0), 0.1), 1.0)
    planes(report)
    one_prior(report)
    if report.level != "normal":  # a run that is complete within 20 minutes
        curves(report)
    large(report)
    sets(report)


def measure(prior: ex.Prior | ex.PriorSet, epsilon: float, verify: bool = False) -> Case:
    """One design, timed."""
    try:
        seconds, cpu, design = best(lambda: ex.design(prior, epsilon), 1)
    except ex.errors.ExtremalError as error:
        return {"epsilon": epsilon, "gap": math.inf, "seconds": math.inf, "error": str(error)}
    nominal = design.prior
    return {
        "epsilon": epsilon,
        "efficiency": design.value,
        "gap": design.gap,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "outputs": design.mechanism.matrix.shape[1] / nominal.size,
        "excess": max(ex.epsilon_pml(nominal, design.mechanism) - epsilon, 0.0),
        "method": design.method,
        "rounds": design.stats.rounds,
        "problems": list(ex.check_design(design).problems) if verify else [],
    }


def tried(call: Callable[[], Case], target: Target) -> Case:
    """The case, run again if only the clock is to blame, and then the fastest."""
    fastest: Case = {}
    for tries in range(1, TRIES + 1):
        case = {**call(), "tries": tries}
        if not fastest or case["seconds"] < fastest["seconds"]:
            fastest = case
        if case["gap"] > target[0] or case["seconds"] <= target[1] or case["cpu_seconds"] > 2 * target[1]:
            break
    return {**fastest, "tries": tries}


def entered(report: Report, table: Any, name: str, case: Case, target: Target, most_mb: float | None) -> None:
    """A row of a table, and whether it meets its target."""
    gap, seconds = target
    epsilon, peak, cpu = case["epsilon"], case.get("peak_mb"), case.get("cpu_seconds", math.inf)
    for problem in case.get("problems", ()):
        report.broke(f"{table.title}, {name}, epsilon = {epsilon:g}: {problem}")
    met = case["gap"] <= gap and case["seconds"] <= seconds and case.get("excess", math.inf) <= 1e-12
    memory = "" if most_mb is None else f", {peak or math.nan:.0f} MB <= {most_mb:.0f} MB"
    ok = report.check(
        f"{table.title}, {name}, epsilon = {epsilon:g}: gap {case['gap']:.1e} <= {gap:.0e}, "
        f"{case['seconds']:.2f} s ({cpu:.2f} s of processor time) <= {seconds:g} s{memory}",
        met and (most_mb is None or peak is None or peak <= most_mb),
    )
    cells = [
        case.get("efficiency"),
        case["gap"],
        case["seconds"],
        case.get("cpu_seconds"),
        case.get("outputs"),
    ]
    table.row(name, epsilon, *cells, *([] if most_mb is None else [peak]), ok=ok, case=case)


def planes(report: Report) -> None:
    """Uniform priors for which a projective plane is the optimum."""
    table = report.table(
        "Planes: uniform priors of N labels, k of them in every output",
        {"N, k": "<26", **{k: v for k, v in COLUMNS.items() if k != "prior"}},
        "target: gap <= 1e-9, N outputs, <= 1 s",
    )
    for n, k in PLANES[:1] if report.level == "tiny" else PLANES:
        epsilon = math.log(n / k)
        case = tried(lambda n=n, e=epsilon: measure(ex.Prior.uniform(n), e, report.verify), (1e-9, 1.0))
        report.check(f"plane ({n}, {k}): {n} outputs, got {case['outputs'] * n:.0f}", case["outputs"] == 1)
        entered(report, table, f"{n}, {k}", case, (1e-9, 1.0), None)


def one_prior(report: Report) -> None:
    """Every family up to 100 labels."""
    sizes = {"tiny": (4,), "quick": (4, 12, 30)}.get(report.level, (4, 8, 12, 30, 100))
    for n in sizes:
        table = report.table(
            f"Shares, N = {n}",
            COLUMNS,
            "target: " + _targets(lambda e, n=n: one_target(n, e), EPSILONS),
        )
        names = families(n, report.seed, report.untuned)
        for (name, prior), epsilon in itertools.product(names.items(), EPSILONS):
            if _chosen(report.level, n, name, epsilon):
                target = one_target(n, epsilon)
                case = tried(lambda p=prior, e=epsilon: measure(p, e, report.verify), target)
                entered(report, table, name, case, target, None)


def _chosen(level: str, n: int, name: str, epsilon: float) -> bool:
    """Whether a case is for this level: all of them for the full one."""
    if level == "tiny":
        return name in ("Dirichlet", "Zipf 1") and epsilon in (0.5, 2.0)
    if level == "quick":
        return name in ("Dirichlet", "Zipf 1", "age") and epsilon in ((0.1, 1.0, 4.0) if n <= 12 else (1.0,))
    few = level == "full" or n <= 12 or epsilon in (0.1, 1.0, 4.0)
    return few and (level == "full" or n <= 30 or name in ("Zipf 1", "age"))


def _targets(target: Callable[[float], Target], epsilons: Iterable[float]) -> str:
    gaps = {epsilon: target(epsilon)[0] for epsilon in epsilons}
    least, most = min(gaps.values()), max(gaps.values())
    parts = f"gap <= {least:g}" if least == most else f"gap <= {least:g} for epsilon <= 1, else {most:g}"
    return f"{parts}, <= {target(1.0)[1]:g} s; hoped for: at most {FEW} N outputs"


def curves(report: Report) -> None:
    """What fewer outputs cost: the proven gap by their number, for the design and for cuts of it."""
    n = {"tiny": 8, "quick": 12}.get(report.level, 30)
    table = report.table(
        f"Outputs against gap, N = {n}",
        {
            "prior": "<26",
            "epsilon": "7g",
            "outputs / N": "11.1f",
            "gap": "8.1%",
            **{f"{k:g} N": "7.1%" for k in TIMES},
        },
        "of a design within half the target, a tenth up to 12 labels; and of that design cut by `fewer_reports`",
    )
    few = ("Zipf 1",)
    for name, prior in families(n, report.seed, report.untuned).items():
        for epsilon in EPSILONS if name in few or report.level == "full" else ():
            tolerance = one_target(n, epsilon)[0] / (10 if n <= 12 else 2)
            design = ex.design(prior, epsilon, tolerance=tolerance)
            outputs = design.mechanism.matrix.shape[1] / n
            gaps = [ex.fewer_reports(design, math.ceil(k * n)).gap for k in TIMES]
            table.row(name, epsilon, outputs, design.gap, *gaps)


def alone(n: int, family: str, epsilon: float, seed: int, untuned: bool) -> Case:
    """measure() in a process of its own, for its memory."""
    ex.design(zipf(12, 1.0), 1.0)
    return measure(families(n, seed, untuned)[family], epsilon)


def large(report: Report) -> None:
    """1000 labels, each case in a process of its own."""
    n, limit = (40, 60.0) if report.level == "tiny" else (1000, 400.0)
    names = list(families(n, report.seed, report.untuned))
    chosen = {
        "tiny": [("Zipf 1", 1.0)],
        "quick": [],
        "normal": [("Dirichlet", 4.0)],
    }.get(report.level, list(itertools.product(names, EPSILONS)))
    if not chosen:
        return
    table = report.table(
        f"Shares, N = {n}, each in a process of its own",
        {**COLUMNS, "peak MB": "8.0f"},
        "target: gap <= 0.1, <= 120 s, <= 4 GB",
    )
    for family, epsilon in chosen:
        arguments = {"n": n, "family": family, "epsilon": epsilon, "seed": report.seed}
        done = isolated("shares", "alone", {**arguments, "untuned": report.untuned}, limit)
        if done.status != "ok" and not done.late:
            report.broke(f"N = {n}, {family}, epsilon = {epsilon:g}: {done.status}")
        failed = {"epsilon": epsilon, "gap": math.inf, "seconds": math.inf, "error": done.status}
        case = {**done.result, "peak_mb": done.peak_mb} if done.status == "ok" else failed
        entered(report, table, family, case, one_target(n, epsilon), 4096.0)


def kinds(prior: ex.Prior, seed: int) -> dict[str, ex.PriorSet]:
    """Sets around a prior."""
    n, pi = prior.size, prior.probabilities
    counts = np.random.default_rng((seed, n)).multinomial(SAMPLE, pi)
    return {
        "all priors": ex.PriorSet.at_least(prior, 0.0),
        "l1 ball 0.1": ex.PriorSet.l1_ball(prior, 0.1),
        "within 20 %": ex.PriorSet.intervals(0.8 * pi, np.minimum(1.2 * pi, 1.0), nominal=prior),
        f"sample of {SAMPLE}": ex.PriorSet.from_counts(counts),
    }


def sets(report: Report) -> None:
    """Designs that keep epsilon for every prior of a set."""
    sizes = {"tiny": (4,), "quick": (12,)}.get(report.level, (12, 30, 100))
    for n in sizes:
        table = report.table(
            f"Shares over sets of priors, N = {n}",
            {**COLUMNS, "prior": "<36"},
            "target: " + _targets(lambda _, n=n: set_target(n), EPSILONS),
        )
        for name, prior in families(n, report.seed, report.untuned).items():
            for (kind, priors), epsilon in itertools.product(kinds(prior, report.seed).items(), EPSILONS):
                if _set_chosen(report.level, n, name, kind, epsilon):
                    target = set_target(n)
                    case = tried(lambda p=priors, e=epsilon: measure(p, e, report.verify), target)
                    entered(report, table, f"{name}, {kind}", case, target, None)


def _set_chosen(level: str, n: int, name: str, kind: str, epsilon: float) -> bool:
    """Whether a case is for this level."""
    if level == "tiny":
        return name == "Zipf 1" and epsilon == 1.0
    if level == "quick":
        return name == "Zipf 1" and epsilon in (0.1, 2.0)
    if level == "normal":
        few = n <= 12 or (kind in ("all priors", "l1 ball 0.1") and not (n > 30 and epsilon > 1))
        return name == "Zipf 1" and epsilon in (0.1, 1.0, 4.0) and few
    return True


if __name__ == "__main__":
    import sys

    report = Report(sys.argv[1].lstrip("-") if len(sys.argv) > 1 else "normal", 0)
    run(report)
    print(report.summary())
