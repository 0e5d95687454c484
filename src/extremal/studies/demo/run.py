"""The whole way on a real survey: learn, design, certify, privatise, collect, estimate back, audit."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import extremal as ex
from extremal._common.files import make_folder
from extremal.auditing.pairs.audit import PairsAudit
from extremal.errors import EpsilonError
from extremal.model.levels import check_epsilon
from extremal.optimization.curves.tradeoff import Tradeoff
from extremal.optimization.design import designed
from extremal.release.files.atomic import new_file
from extremal.release.files.source import match_labels, read_counts
from extremal.studies.data import ORDER, anes96

from . import phones

COLUMN = "party"
EPSILON = 0.7
LEAST = 0.01  # levels at which there is something to see
SHARES, INFORMATION, RESPONSE = "made for shares", "most information", "randomized response"
FILES = {SHARES: "mechanism.json", INFORMATION: "information.json", RESPONSE: "randomized-response.json"}
WRITTEN = (
    "answers.csv",
    *FILES.values(),
    "private.csv",
    "estimates.json",
    "audit.md",
    "audit.json",
    "tradeoff.csv",
)
POINTS = 24  # of the curve
STEPS = (
    "learning the prior",
    "designing",
    "certifying",
    "privatising",
    "estimating",
    "auditing",
    "waiting for the phones",
    "writing the report",
)

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Way:
    """One mechanism all the way: certified, reports of everybody, shares estimated from them."""

    name: str
    certified: ex.Certified
    reports: dict[Any, int]
    estimate: ex.Estimate
    expected: ex.planning.ExpectedError

    @property
    def information(self) -> float:
        """I(X;Y) in nats."""
        return ex.mutual_information(self.certified.prior, self.certified.mechanism)

    @property
    def covered(self) -> int:
        """How many of the true shares lie in their intervals."""
        truth = self.certified.prior.probabilities
        return int(((self.estimate.lower <= truth) & (truth <= self.estimate.upper)).sum())


@dataclass(frozen=True, eq=False)
class Demo:
    """Everything that came out, and where it was written."""

    folder: Path
    epsilon: float
    prior: ex.Prior
    people: int
    ways: dict[str, Way]
    audit: ex.Audit
    outside: PairsAudit
    curve: Tradeoff
    proof: str
    files: tuple[str, ...]
    collection: phones.Collection | None  # None where the packages for surveys are missing

    @property
    def saving(self) -> float:
        """How many times as many people randomized response needs for shares that are as exact."""
        errors = [self.ways[name].expected.root_mean_square for name in (RESPONSE, SHARES)]
        return (errors[0] / errors[1]) ** 2

    def to_dict(self) -> dict[str, Any]:
        """The figures, for programs."""
        return {
            "folder": str(self.folder),
            "files": list(self.files),
            "epsilon": self.epsilon,
            "people": self.people,
            "saving": self.saving,
            "mechanisms": {
                name: {
                    "realised_epsilon": way.certified.realised_epsilon,
                    "mutual_information": way.information,
                    "standard_error": way.expected.root_mean_square,
                    "width": way.expected.width,
                    "shares_inside_their_intervals": way.covered,
                    "estimate": way.estimate.to_dict(),
                }
                for name, way in self.ways.items()
            },
            "audit": self.audit.to_dict(),
            "audit_from_outside": self.outside.to_dict(),
            "collection": None if self.collection is None else self.collection.to_dict(),
        }


def run(
    output: str | os.PathLike[str],
    epsilon: float = EPSILON,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Demo:
    """All files but the report in the folder `output`; files of the same names are replaced.

    Reports are drawn with the operating system's randomness, so figures differ a little from run to run, unless a seed
    is given. `progress` is called with (steps done, steps, the next one).
    """
    folder, level = make_folder(output), check_epsilon(epsilon)
    steps = iter(enumerate(STEPS))

    def step() -> None:
        done, name = next(steps)
        if progress is not None:
            progress(done, len(STEPS), name)

    step()
    answers, prior = _learn(level)
    write(folder / "answers.csv", _csv([("respondent", COLUMN), *enumerate(answers, start=1)]))
    step()
    best, telling = designed(prior, level), designed(prior, level, ex.mutual_information)
    proof = _proof(best, telling)
    step()
    matrices = {
        SHARES: best.mechanism,
        INFORMATION: telling.mechanism,
        RESPONSE: ex.theory.randomized_response_for_pml(prior, level),
    }
    certified = {name: ex.certify(prior, matrix, level) for name, matrix in matrices.items()}
    for name, c in certified.items():
        c.save(folder / FILES[name])
    with phones.collecting(folder, answers, ORDER, seed) as arriving:
        step()
        reports = _privatise(folder, certified, answers, seed)
        step()
        ways = {name: _way(name, c, reports[name]) for name, c in certified.items()}
        write(folder / "estimates.json", ways[SHARES].estimate.to_json() + "\n")
        step()
        audit = ex.audit(prior, certified[SHARES])
        outside = ex.audit_pairs(answers, _column(folder / "private.csv"), epsilon=level)
        write(folder / "audit.md", audit.to_markdown())
        write(folder / "audit.json", audit.to_json() + "\n")
        curve = ex.tradeoff(prior, np.linspace(0, prior.epsilon_max, POINTS + 1))
        rows = curve.rows()
        write(folder / "tradeoff.csv", _csv([list(rows[0]), *(list(row.values()) for row in rows)]))
        step()
        collection = None if arriving is None else arriving.result()
    step()
    names = (*WRITTEN, *(() if collection is None else phones.FILES))
    files = tuple(str(folder / name) for name in names)
    return Demo(folder, level, prior, len(answers), ways, audit, outside, curve, proof, files, collection)


def _learn(level: float) -> tuple[list[str], ex.Prior]:
    """The answers of the survey, and the prior counted from them."""
    answers = anes96()[COLUMN]
    prior = ex.Prior.from_data(answers, labels=ORDER)
    if not LEAST <= level < prior.epsilon_max:
        raise EpsilonError(
            f"the demo must have an epsilon between {LEAST} and {prior.epsilon_max:.4g}, "
            "where the answers themselves may be released",
            given=f"{level!r}",
            remedy=f"{EPSILON} is a good one",
        )
    return answers, prior


def _proof(best: ex.Design, telling: ex.Design) -> str:
    """What is proven of both designs, in words."""
    sure = (
        "Code that shares nothing with the solver confirms"
        if all(ex.check_design(made).ok for made in (best, telling))
        else "No independent check confirms"
    )
    return (
        f"The design with the most information reaches {telling.value:.4f} nats; more than "
        f"{telling.upper_bound:.4f} is impossible at this ε. One report of the design made for shares is worth "
        f"{best.value:.3f} direct answers; more than {math.ceil(1000 * best.upper_bound) / 1000:.3f} is impossible. "
        f"{sure} both bounds."
    )


def _way(name: str, c: ex.Certified, reports: dict[Any, int]) -> Way:
    """The shares estimated from reports, and how exact they are expected to be."""
    people = sum(reports.values())
    return Way(name, c, reports, ex.estimate(c, reports), ex.planning.expected_error(c.prior, c, people))


def _privatise(
    folder: Path, certified: dict[str, ex.Certified], answers: list[str], seed: int | None
) -> dict[str, dict[Any, int]]:
    """How often each report was given; those of the mechanism made for shares by way of a file."""
    found = {}
    for k, (name, c) in enumerate(certified.items()):
        words = None if seed is None else ex.randomness.SeededWords(seed + k)
        if name == SHARES:
            target = folder / "private.csv"
            allowed = "refuse" if words is None else "allow"
            source = folder / "answers.csv"
            ex.privatize(source, {COLUMN: c}, target=target, overwrite=True, source=words, unmarked=allowed)
            found[name] = match_labels(read_counts(str(target), COLUMN), c.outputs)
        else:
            found[name] = ex.ReportCounts(c.outputs).add(c.privatize(answers, source=words)).to_dict()
    return found


def _column(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row[COLUMN] for row in csv.DictReader(file)]


def _csv(rows: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def write(path: Path, text: str) -> None:
    """The text stands under this name, whole."""
    with new_file(path, True, 0o644) as file:
        file.write(text.encode("utf-8"))
