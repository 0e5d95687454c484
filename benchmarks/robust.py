"""Mutual information over sets of priors: proven gap and processor seconds, by kind of set, size and level.

The sets lie around the priors of `families`: intervals of ± 20 %, an l1 ball of radius 0.1, every mass at least half of
the smallest, and what a sample of 1,000 leaves open. With up to 14 symbols column generation is asked for, which
elsewhere is what `design` takes.
"""

from __future__ import annotations

import math

import numpy as np
from families import EPSILONS, families
from report import Report, best, design_by

import extremal as ex

FEW = 14  # symbols up to which six digits are to be proven within a second
SAMPLE = 1000
TARGETS = {"intervals": 2e-2, "ball": 1e-3, "at least": 1e-3, "counts": 1e-2}
SMALL = 1e-6


def sets(prior: ex.Prior) -> dict[str, ex.PriorSet]:
    """The sets of priors around one, by name."""
    p = prior.probabilities
    return {
        "intervals": ex.PriorSet.intervals(0.8 * p, np.minimum(1.2 * p, 1.0), nominal=prior),
        "ball": ex.PriorSet.l1_ball(prior, 0.1),
        "at least": ex.PriorSet.at_least(prior, 0.5 * float(p.min())),
        "counts": ex.PriorSet.from_sample_size(prior, SAMPLE),
    }


def run(report: Report) -> None:
    sizes = {
        "tiny": (5, 8),
        "quick": (12,),
        "normal": (12, 30, 100),
        "full": (12, 15, 16, 20, 30, 60, 100, 300),
    }
    epsilons = {"tiny": (1.0,), "quick": (0.5, 2.0), "normal": (0.1, 1.0, 4.0)}.get(report.level, EPSILONS)
    for n in sizes[report.level]:
        priors = families(n, report.seed, report.untuned)
        few = tuple(priors) if report.level == "full" else ("Zipf 1",)
        small = n <= FEW
        wanted = f"{SMALL:g} within 1 s" if small else ", ".join(f"{k} {v:g}" for k, v in TARGETS.items())
        table = report.table(
            f"Mutual information over sets of priors, N = {n}: proven gap and processor seconds",
            {"prior": "<18", "set": "<10", **{f"epsilon = {e:g}": ">15" for e in epsilons}},
            f"targets: {wanted}; ! where missed",
        )
        for family in few:
            for name, held in sets(priors[family]).items():
                cases = [measure(report, family, name, held, epsilon, small) for epsilon in epsilons]
                cells = [f"{c['gap']:.0e} {c['cpu_seconds']:6.2f}s{' ' if c['ok'] else '!'}" for c in cases]
                table.row(family, name, *cells, ok=all(c["ok"] for c in cases), cases=cases)


def measure(
    report: Report, family: str, name: str, held: ex.PriorSet, epsilon: float, small: bool
) -> dict[str, float]:
    """One design, timed, and its leakage measured over the whole set."""
    method = "column-generation" if small else "auto"
    seconds, cpu, design = best(lambda: design_by(held, epsilon, ex.mutual_information, oracle=method), 1)
    if ex.epsilon_pml(held, design.mechanism) > epsilon + 1e-12:
        report.broke(f"N = {held.size}, {family}, {name}, epsilon = {epsilon:g}: leaks too much")
    gap, limit = (SMALL, 1.0) if small else (TARGETS[name], math.inf)
    ok = report.check(
        f"N = {held.size}, {family}, {name}, epsilon = {epsilon:g}: gap {design.gap:.1e} <= {gap:.0e}"
        + (f", {cpu:.2f} s of processor time <= 1 s" if small else f" ({cpu:.1f} s of processor time)"),
        design.gap <= gap and cpu <= limit,
    )
    return {
        "epsilon": epsilon,
        "gap": design.gap,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "value": design.value,
        "rounds": design.stats.rounds,
        "columns": design.stats.columns,
        "ok": ok,
    }
