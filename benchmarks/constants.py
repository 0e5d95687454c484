"""What learning loses if one of its constants is another: each is halved and doubled, the others stay.

    python benchmarks/constants.py [--surveys 4]

A row says by how much the constant changes, in per cent: n times the summed squared error of surveys that learn; the
radius of sets for every look; the widths of intervals for every look, and of simultaneous ones of two stages. All are
means over the cases of learn.py. What is below zero is better than what is built in.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

import extremal as ex
from extremal.estimation import betting
from extremal.model import report_sums

try:
    from benchmarks.learn import CASES, LEVELS, STAGES, survey
except ImportError:  # run as a script
    from learn import CASES, LEVELS, STAGES, survey

PEOPLE = (1000, 20_000)


def chances(scale: float) -> np.ndarray:
    """The stakes of bets, spread over so many steps."""
    found = 1 / (1 + (np.abs(betting.STEPS) / scale) ** 3)
    return found / found.sum()


VARIED: tuple[tuple[ModuleType, str, tuple[Any, ...]], ...] = (
    (report_sums, "STRENGTH", (0.5, 1.0)),
    (report_sums, "MIXED", (1e-4, 1e-2)),
    (report_sums, "RIDGE", (1e-8, 1e-4)),
    (report_sums, "STEEPEST", (15.0, 60.0)),
    (report_sums, "LOOKS", (5, 20)),
    (report_sums, "FEWEST", (50.0, 200.0)),
    (betting, "CHANCES", (chances(1.5), chances(6.0))),
    (betting, "MOST", (0.375, 0.9)),
    (betting, "CUT", (0.025, 0.1)),
)
"""Modules, names, and values to try."""


@contextmanager
def replaced(module: ModuleType, name: str, value: Any) -> Iterator[None]:
    """A constant with another value."""
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


def cases() -> Iterator[tuple[np.ndarray, float]]:
    """The priors and levels of learn.py."""
    for name, values in CASES.items():
        for epsilon in LEVELS[name]:
            yield np.array(values) / sum(values), epsilon


def figures(surveys: int) -> np.ndarray:
    """The four figures, averaged over cases on a logarithmic scale."""
    rows = []
    for pi, epsilon in cases():
        certified = ex.certify(ex.design(ex.PriorSet.at_least(len(pi), 0), epsilon))
        for seed in range(surveys):
            rng = np.random.default_rng(seed)
            radius, always, both = [], [], []
            for people in PEOPLE:
                pairs = []
                for n in (round(STAGES[0] * people), round((1 - STAGES[0]) * people)):
                    counts = rng.multinomial(n, pi @ certified.mechanism.matrix).tolist()
                    pairs.append((certified, dict(zip(certified.outputs, counts, strict=True))))
                radius.append(ex.PriorSet.from_reports(pairs, valid="always").radius)
                for kind, found in (("always", always), ("all", both)):
                    e = ex.estimate(pairs, intervals=kind)
                    found.append(float((e.upper - e.lower).mean()))
            error = survey(pi, epsilon, PEOPLE[-1], seed)
            rows.append([error, *(float(np.exp(np.log(found).mean())) for found in (radius, always, both))])
    return np.exp(np.log(rows).mean(axis=0))


def changes(surveys: int) -> Iterator[tuple[str, Any, np.ndarray]]:
    """For each constant and value, by what part each figure changes."""
    usual = figures(surveys)
    for module, name, values in VARIED:
        for value in values:
            with replaced(module, name, value):
                yield name, value, figures(surveys) / usual - 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--surveys", type=int, default=4, help="random surveys for each case")
    options = parser.parse_args()
    print("| constant | value | error | radius, every look | width, every look | width, all |")
    print("|---" * 6 + "|")
    for name, value, found in changes(options.surveys):
        shown = "others" if isinstance(value, np.ndarray) else f"{value:g}"
        print(
            f"| {name} | {shown} | " + " | ".join(f"{100 * change:+.1f} %" for change in found) + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()
