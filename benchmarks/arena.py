"""Designs for shares beside the usual clients of local differential privacy: squared error of the shares.

All figures are n times the expected sum of squared errors of the estimated shares of n people, who are drawn from the
prior; direct answers have 1 - sum p^2. The clients are pure protocols: a report supports a symbol with probability p
if it is the true one, else with probability q, and the usual estimator has the error sum P (1 - P) / (p - q)^2,
P = q + (p - q) prior. Subset selection takes the best size of its sets.

- At equal PML each client has the level at which its reports leak epsilon under the prior: its largest lift is
  e^level / (1 + (e^level - 1) m), where m is the mass of the lightest set that a report can support.
- At equal LDP ours is the design for the set of all priors. For symbols that are all alike subset selection is optimal.

Simulations run certified reports of ours, and the peers' own clients (multi-freq-ldpy; Hadamard response of pure-ldp)
with their estimators.

    python benchmarks/arena.py [--quick | --full]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from families import survey, zipf
from report import Report, Table

import extremal as ex

NOTIONS = ("PML", "LDP")
CLIENTS = ("randomized response", "subset selection", "OUE", "RAPPOR", "Hadamard response")
PEOPLE, TIMES = 1000, 40  # of a simulation
PROVEN = (
    1e-3  # the gap where symbols are alike and the best mechanism is known: what is left is for few outputs
)
LARGEST_PROVEN = 1000  # symbols
SIMULATED, PEERS_SIMULATED = 100, 8  # symbols up to which ours is simulated, and the peers, which are slower
SIZES = {
    "tiny": (2, 6),
    "quick": (2, 8, 32),
    "normal": (2, 8, 32, 100, 300, 1000),
    "full": (2, 8, 32, 100, 300, 1000),
}


def squared_error(pi: np.ndarray, p: float, q: float) -> float:
    """n times the squared error of the usual estimator."""
    P = q + (p - q) * pi
    return float(np.sum(P * (1 - P)) / (p - q) ** 2)


def supports(name: str, n: int, level: float, size: int = 1) -> tuple[float, float]:
    """With what probability a report supports the true symbol, and any other."""
    c = math.exp(level)
    if name == "randomized response":
        return c / (c + n - 1), 1 / (c + n - 1)
    if name == "subset selection":
        p = c * size / (c * size + n - size)
        return p, p * (size - 1) / (n - 1) + (1 - p) * size / (n - 1)
    if name == "OUE":
        return 0.5, 1 / (c + 1)
    if name == "RAPPOR":
        return 1 - 1 / (math.exp(level / 2) + 1), 1 / (math.exp(level / 2) + 1)
    return c / (c + 1), 0.5


def lightest(name: str, pi: np.ndarray, size: int = 1) -> float:
    """The least mass that a report can support."""
    if name == "subset selection":
        return float(np.sort(pi)[:size].sum())
    if name != "Hadamard response":
        return float(pi.min())
    spread = np.zeros(1 << len(pi).bit_length())
    spread[1 : len(pi) + 1] = pi
    width = 1
    while width < len(spread):  # Walsh and Hadamard: the difference of the two halves, for every output
        pairs = spread.reshape(-1, 2, width)
        spread = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        width *= 2
    return float((1 + spread[1:].min()) / 2)


def best_client(name: str, pi: np.ndarray, epsilon: float, by_pml: bool) -> tuple[float, float, int]:
    """The least error of a client, with its level and the size of its sets."""
    n, found = len(pi), (math.inf, 0.0, 1)
    for size in range(1, n) if name == "subset selection" else (1,):
        level = epsilon
        if by_pml:
            m = lightest(name, pi, size)
            left = 1 - m * math.exp(epsilon)
            level = epsilon + math.log((1 - m) / left) if left > 1e-12 else 40.0
        found = min(found, (squared_error(pi, *supports(name, n, level, size)), level, size))
    return found


def ours(prior: ex.Prior, epsilon: float, by_pml: bool) -> ex.Design:
    tolerance = PROVEN if prior.size <= LARGEST_PROVEN and (prior.is_uniform or not by_pml) else None
    question = prior if by_pml else ex.PriorSet.at_least(prior.size, 0)
    return ex.design(question, epsilon, tolerance=tolerance)


def error_of(prior: ex.Prior, design: ex.Design) -> float:
    value = ex.shares(prior, ex.Mechanism(design.mechanism.matrix, prior.labels))
    return (1 - float(np.sum(prior.probabilities**2))) / value


def simulate_ours(prior: ex.Prior, design: ex.Design, rng: np.random.Generator) -> tuple[float, float]:
    certified = ex.certify(design, allow_true_answers=True)  # of any prior and level: only the error counts
    mechanism = certified.mechanism

    def once(answers: np.ndarray) -> np.ndarray:
        labels = [mechanism.inputs[i] for i in answers]
        source = ex.randomness.SeededWords(int(rng.integers(2**31)))
        reports = certified.privatize(labels, source=source, allow_true_answers=True)
        return ex.estimate(
            certified,
            reports,
            method=ex.Method("inverse", prior=ex.Prior(prior.probabilities, mechanism.inputs)),
        ).shares

    return simulate(once, prior, rng)


def simulate(
    once: Callable[[np.ndarray], Any], prior: ex.Prior, rng: np.random.Generator
) -> tuple[float, float]:
    """n times the mean squared error over TIMES samples, and its standard error."""
    errors = []
    for _ in range(TIMES):
        answers = rng.choice(prior.size, PEOPLE, p=prior.probabilities)
        errors.append(PEOPLE * float(np.sum((np.asarray(once(answers)) - prior.probabilities) ** 2)))
    return float(np.mean(errors)), float(np.std(errors)) / math.sqrt(TIMES)


def client(name: str, n: int, level: float) -> Callable[[np.ndarray], Any] | None:
    """A peer's client and estimator; None where it has none at this level."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, SS, UE

    if name == "randomized response":
        return lambda x: GRR.GRR_Aggregator_MI([GRR.GRR_Client(v, n, level) for v in x], n, level)
    if name == "subset selection":
        return lambda x: SS.SS_Aggregator_MI([SS.SS_Client(v, n, level) for v in x], n, level)
    if name in ("OUE", "RAPPOR"):
        best = name == "OUE"
        return lambda x: UE.UE_Aggregator_MI([UE.UE_Client(v, n, level, best) for v in x], level, best)
    if level > 1:  # the peer then has another, hashed variant
        return None
    try:
        from pure_ldp.frequency_oracles.hadamard_response import (
            HadamardResponseClient,
            HadamardResponseServer,
        )
    except ImportError:  # it needs scikit-learn, and does not say so
        return None

    def hadamard(x: np.ndarray) -> list[float]:
        server = HadamardResponseServer(level, n)
        one = HadamardResponseClient(level, n, server.get_hash_funcs())
        server.aggregate_all([one.privatise(int(v) + 1) for v in x])
        return [float(server.estimate(i + 1, suppress_warnings=True)) / PEOPLE for i in range(n)]

    return hadamard


def cases(level: str) -> list[tuple[str, ex.Prior]]:
    found = [("party of the survey", survey("party")(7)), ("education of the survey", survey("education")(7))]
    cells = survey("party", "education", "income", "vote", "age")
    if level in ("normal", "full"):
        found += [("income of the survey", survey("income")(24)), ("party and education", cells(49))]
        found += [("300 cells of the survey", cells(300))]
    for n in SIZES[level]:
        found += [(f"uniform {n}", ex.Prior.uniform(n)), (f"Zipf {n}", zipf(n, 1.0))]
    return found


def levels(level: str, labels: int) -> tuple[float, ...]:
    """Of a thousand labels, one level is enough for the picture."""
    every = level == "full" or (level == "normal" and labels < 1000)
    return (0.5, 1.0, 2.0, 4.0) if every else (1.0,)


def run(report: Report) -> None:
    columns = {"prior": "<24", "epsilon": "7g", "ours": ">16", **dict.fromkeys(CLIENTS, ">19")}
    rng = np.random.default_rng(report.seed)
    for notion in NOTIONS:
        table = report.table(
            f"Squared error of shares, times people, at equal {notion}",
            columns,
            f"in brackets: simulated, {TIMES} samples of {PEOPLE} people; ! where a client does better than ours",
        )
        for name, prior in cases(report.level):
            for epsilon in levels(report.level, prior.size):
                _row(report, table, name, prior, epsilon, notion == "PML", rng)


def _row(
    report: Report,
    table: Table,
    name: str,
    prior: ex.Prior,
    epsilon: float,
    by_pml: bool,
    rng: np.random.Generator,
) -> None:
    """One prior at one level: errors in theory, and simulated where that is fast enough."""
    design = ours(prior, epsilon, by_pml)
    own = error_of(prior, design)
    errors, cells, simulated = {}, [], {}
    if prior.size <= SIMULATED and (epsilon == 1 or report.level == "full"):
        mean, spread = simulate_ours(prior, design, rng)
        simulated["ours"] = mean
        what = f"{name}, {'PML' if by_pml else 'LDP'} {epsilon:g}: ours simulated {mean:.4g}"
        report.check(f"{what} within 4 standard errors of {own:.4g}", abs(mean - own) <= 4 * spread)
    for other in CLIENTS:
        error, level, _ = best_client(other, prior.probabilities, epsilon, by_pml)
        errors[other] = error
        small = not by_pml and 3 <= prior.size <= PEERS_SIMULATED and epsilon == 1
        make = client(other, prior.size, level) if small else None
        if make is not None:
            simulated[other] = simulate(make, prior, rng)[0]
        cells.append(_text(error, simulated.get(other)) + ("!" if error < own * (1 - 1e-9) else ""))
    table.row(
        name,
        epsilon,
        _text(own, simulated.get("ours")),
        *cells,
        labels=prior.size,
        errors={"ours": own, **errors},
        simulated=simulated,
        gap=design.gap,
        outputs=design.mechanism.shape[1],
    )


def _text(error: float, simulated: float | None) -> str:
    return f"{error:.4g}" if simulated is None else f"{error:.4g} ({simulated:.3g})"


if __name__ == "__main__":
    import sys

    report = Report(sys.argv[1].lstrip("-") if len(sys.argv) > 1 else "normal", 0)
    run(report)
    print(report.summary())
