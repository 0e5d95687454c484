"""Estimation: seconds for counts and for raw reports, width and coverage of the intervals, reports needed.

Targets: maximum likelihood of 10^8 reports given as counts at N = 200 within 1 s; of a million raw reports in at
most three times the time of numpy's bincount of them; simultaneous intervals that miss no more often than
stated, within the Monte-Carlo error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from report import Report, best
from scipy.stats import binom, norm

import extremal as ex
from extremal.estimation.contrasts import Channel
from extremal.estimation.intervals import target_intervals, within_simplex

ERROR = 0.05
RUNS = {"tiny": 20, "quick": 100, "normal": 200, "full": 1000}


def run(report: Report) -> None:
    _likelihood(report)
    _raw(report)
    _coverage(report)
    _needed(report)


def _drawn(rng: np.random.Generator, theta: Any, P: Any, n: int) -> Any:
    q = theta @ P
    return rng.multinomial(n, q / q.sum())


def _likelihood(report: Report) -> None:
    table = report.table(
        "Maximum likelihood and intervals, 10^8 reports as counts",
        {"mechanism": "<30", "N": "5d", "estimate s": "10.4f", "intervals s": "11.3f", "gap nats": "9.1e"},
        note="gap: over all reports, proven; best of 3",
    )
    rng = np.random.default_rng(report.seed)
    size = 30 if report.level == "tiny" else 200
    prior = ex.Prior(rng.dirichlet(np.ones(size)))
    cases: list[tuple[str, ex.Mechanism]] = [
        ("randomized response", ex.theory.randomized_response_for_pml(prior, 0.8)),
        ("random matrix", ex.Mechanism(rng.dirichlet(np.ones(size), size=size), prior.labels)),
        ("designed", ex.design(prior, 1.0, ex.mutual_information, time_limit=20.0).mechanism),
        ("arc, twice as many outputs", ex.theory.closed_form.arc(prior, 0.5)),
    ]
    if report.at_least("full"):
        few = rng.dirichlet(np.full(3 * size // 4, 0.3), size=size)
        cases.append(("3/4 as many outputs as inputs", ex.Mechanism(few, prior.labels)))
    for name, mechanism in cases:
        counts = _drawn(rng, prior.probabilities, mechanism.matrix, 10**8)
        given = dict(zip(mechanism.outputs, counts.tolist(), strict=True))
        timed = best(lambda m=mechanism, g=given: ex.estimate(m, g, method=ex.Method(prior=prior)))
        intervals = best(
            lambda m=mechanism, g=given: (
                ex.estimate(m, g, method=ex.Method(prior=prior), intervals="all").upper
            ),
            runs=1,
        )
        ok = report.check(f"maximum likelihood, {name}, within 1 s: {timed.seconds:.2f}", timed.seconds <= 1)
        table.row(name, size, timed.seconds, intervals.seconds, timed.result.gap, ok=ok, cpu=timed.cpu)


def _raw(report: Report) -> None:
    n = 10**5 if report.level == "tiny" else 10**6
    table = report.table(
        f"{n} raw reports beside numpy's bincount of the same array",
        {"reports": "<24", "N": "5d", "bincount ms": "11.3f", "estimate ms": "11.3f", "ratio": "6.2f"},
        note="at most 3 times; best of 30",
    )
    rng = np.random.default_rng(report.seed)
    for kind, size, dtype in (
        ("response", 16, np.int64),
        ("response", 16, np.uint8),
        ("response", 200, np.int64),
        ("designed", 16, np.int64),
        ("random matrix", 16, np.int64),
        ("random matrix", 50, np.int64),
        ("random matrix", 200, np.int64),
    ):
        prior = ex.Prior(rng.dirichlet(np.full(size, 2.0)))
        if kind == "random matrix":
            mechanism = ex.Mechanism(rng.dirichlet(np.ones(size), size=size))
        else:
            make = ex.theory.randomized_response_for_pml if kind == "response" else _designed
            mechanism = make(prior, 1.0)
        counts = _drawn(rng, prior.probabilities, mechanism.matrix, n)
        values = rng.permutation(np.repeat(np.array(mechanism.outputs), counts)).astype(dtype)
        ratio, plain, ours = _ratio(
            lambda v=values, k=size: np.bincount(v, minlength=k),
            lambda v=values, m=mechanism: ex.estimate(m, v),
        )
        name = f"{kind}, {np.dtype(dtype).name}"
        held = report.level != "tiny"
        ok = report.check(f"raw reports, {name}, N = {size}: {ratio:.2f} <= 3", ratio <= 3) if held else None
        table.row(name, size, 1e3 * plain, 1e3 * ours, ratio, ok=ok)


def _designed(prior: ex.Prior, epsilon: float) -> ex.Mechanism:
    return ex.design(prior, epsilon, ex.mutual_information).mechanism


def _ratio(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float, float]:
    """In turns, so that both meet the same machine."""
    times = [(best(one, 1).seconds, best(other, 1).seconds) for _ in range(30)]
    plain, ours = (min(column) for column in zip(*times, strict=True))
    return ours / plain, plain, ours


def _coverage(report: Report) -> None:
    runs = RUNS[report.level]
    table = report.table(
        f"Simultaneous intervals at 0.95: misses in {runs} collections, and mean width",
        {"mechanism": "<28", "n": "8d", "missed": "7.3f", "width": "7.4f", "normal": "7.4f"},
        note="normal: the width of Wald intervals with the same correction, which do not hold for small n",
    )
    rng = np.random.default_rng(report.seed + 1)
    for name, P, expected, truth in _cases():
        channel, targets = Channel(P, expected), np.eye(len(P))
        for n in (100, 10_000, 1_000_000):
            missed, width = 0, 0.0
            for _ in range(runs):
                b = within_simplex(target_intervals(channel, _drawn(rng, truth, P, n), targets, ERROR))
                missed += not ((b.lower <= truth + 1e-12) & (truth <= b.upper + 1e-12)).all()
                width += float((b.upper - b.lower).mean()) / runs
            W, q = channel.weights(targets), truth @ P
            wald = 2 * norm.isf(ERROR / 2 / len(P)) * np.sqrt(((W * W) @ q - (W @ q) ** 2) / n)
            known = channel.identified(targets).all()
            ok = report.check(f"coverage, {name}, n = {n}", missed <= binom.isf(1e-4, runs, ERROR))
            table.row(
                name, n, missed / runs, width, float(np.minimum(wald, 1).mean()) if known else None, ok=ok
            )


def _cases() -> Iterator[tuple[str, Any, Any, Any]]:
    rng = np.random.default_rng(7)
    prior = ex.Prior([0.4, 0.25, 0.2, 0.1, 0.05])
    design = ex.design(prior, 0.9, ex.mutual_information).mechanism.matrix
    yield "designed, zeros", design, prior.probabilities, prior.probabilities
    yield "the same, other truth", design, prior.probabilities, np.array([0.0, 0.1, 0.0, 0.2, 0.7])
    response = ex.theory.randomized_response_for_pml(prior, 0.9).matrix
    yield "randomized response", response, prior.probabilities, prior.probabilities
    wide = rng.dirichlet(np.full(12, 0.3), size=5)
    yield "12 outputs", wide, prior.probabilities, np.array([0.6, 0.2, 0.1, 0.1, 0.0])
    few = rng.dirichlet(np.ones(3), size=5)
    yield "3 outputs, not identified", few, prior.probabilities, prior.probabilities
    yield "near-singular", 0.99 / 5 + 0.01 * np.eye(5), prior.probabilities, prior.probabilities


def _needed(report: Report) -> None:
    table = report.table(
        "Reports needed for intervals at most 0.05 wide, all symbols at 0.95, at equal PML",
        {"prior": "<24", "epsilon": "7.2f", "optimal": "10d", "response": "10d", "ratio": "6.2f"},
        note="optimal for mutual information; - where no number is enough: some symbols are merged",
    )
    priors = {
        "0.5 0.3 0.2": [0.5, 0.3, 0.2],
        "uniform, 5": [0.2] * 5,
        "0.4 0.25 0.2 0.1 0.05": [0.4, 0.25, 0.2, 0.1, 0.05],
    }
    for name, masses in priors.items():
        prior = ex.Prior(masses)
        for part in (0.5, 2.0, 4.0):
            epsilon = min(part * float(prior.region_edges[1]), 0.95 * prior.epsilon_max)
            found = ex.planning.compare_sample_sizes(prior, epsilon, 0.05, intervals="all")
            table.row(name, epsilon, found.optimal, found.randomized_response, found.saving)


if __name__ == "__main__":
    import sys

    level = next((a[2:] for a in sys.argv[1:] if a in ("--tiny", "--quick", "--full")), "normal")
    report = Report(level)
    run(report)
    print(report.summary())
    raise SystemExit(math.ceil(bool(report.failures)))
