"""What learning the prior from reports is worth: n times the summed squared error of all shares.

    python benchmarks/learn.py [--surveys 8] [--people 20000]

The first 5 % are asked with the design for all priors, the next 10, 20 and 65 % with designs for the sets that the
reports before them gave. The error is that of the pooled estimate for many reports, averaged over random surveys.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import numpy as np

import extremal as ex

STAGES = (0.05, 0.10, 0.20, 0.65)
CASES: dict[str, list[float] | list[int]] = {
    ".7 .2 .07 .03": [0.7, 0.2, 0.07, 0.03],
    "party (7)": list(Counter(ex.datasets.anes96()["party"]).values()),
    "yes 10 %": [0.1, 0.9],
}
LEVELS = {".7 .2 .07 .03": (0.7, 1.5), "party (7)": (0.7, 1.5), "yes 10 %": (0.7,)}
SETTINGS: dict[str, dict[str, Any]] = {
    "delta 0.05": {},
    "0.01": {"delta": 0.01},
    "0.001": {"delta": 0.001},
    "drift 0.05": {"drift": 0.05},
    "forged 1 %": {"forged": 0.01},
    "5 %": {"forged": 0.05},
}


def information(pi: np.ndarray, mechanism: ex.Mechanism) -> np.ndarray:
    """What a report tells about the shares."""
    P = mechanism.matrix
    return (P / (pi @ P)) @ P.T


def error(pi: np.ndarray, information: np.ndarray) -> float:
    """The summed squared error of estimated shares, for one report."""
    return float(np.trace(np.linalg.inv(information)) - pi @ pi)


def survey(
    pi: np.ndarray, epsilon: float, people: int, seed: int, delta: float = 0.05, **assumed: float
) -> float:
    """One survey that learns the prior."""
    rng = np.random.default_rng(seed)
    priors, pairs, known = ex.PriorSet.at_least(len(pi), 0), [], np.zeros((len(pi), len(pi)))
    for share in STAGES:
        certified = ex.certify(ex.design(priors, epsilon))
        known += share * information(pi, certified.mechanism)
        counts = rng.multinomial(round(share * people), pi @ certified.mechanism.matrix)
        pairs.append((certified, dict(zip(certified.outputs, counts.tolist(), strict=True))))
        if len(pairs) < len(STAGES):
            priors = ex.PriorSet.from_reports(pairs, confidence=1 - delta / (len(STAGES) - 1), **assumed)
    return error(pi, known)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--surveys", type=int, default=8, help="random surveys for each figure")
    parser.add_argument("--people", type=int, default=20_000)
    options = parser.parse_args()
    print(f"| prior, ε | all priors | {' | '.join(SETTINGS)} | prior known |")
    print("|---" * (len(SETTINGS) + 3) + "|")
    for name, probabilities in CASES.items():
        pi = np.array(probabilities) / sum(probabilities)
        for epsilon in LEVELS[name]:
            nothing, everything = (
                error(pi, information(pi, ex.design(prior, epsilon).mechanism))
                for prior in (ex.PriorSet.at_least(len(pi), 0), ex.Prior(pi))
            )
            found = [
                np.mean(
                    [survey(pi, epsilon, options.people, seed, **given) for seed in range(options.surveys)]
                )
                for given in SETTINGS.values()
            ]
            shown = " | ".join(f"{value:.2f}" for value in found)
            print(f"| {name}, {epsilon} | {nothing:.2f} | {shown} | {everything:.2f} |", flush=True)


if __name__ == "__main__":
    main()
