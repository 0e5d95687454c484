"""The whole way on a real survey: learn, design, certify, privatise, collect, estimate back, audit.

While the rest runs, simulated phones answer through the real server. Each does what the page in a browser does: it
loads the questionnaire and the mechanism, proves the mechanism anew, draws a report from the answer and posts it. The
answer stays in the phone.
"""

from __future__ import annotations

import csv
import json
import math
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import numpy as np

import extremal as ex
from extremal._common.files import make_folder, write_file
from extremal._common.frames import encode_table
from extremal._common.types import Floats
from extremal._common.words import missing
from extremal.auditing.pairs import PairsAudit
from extremal.errors import EpsilonError
from extremal.model.levels import check_epsilon
from extremal.optimization.curves import Tradeoff
from extremal.optimization.design import designed
from extremal.studies.data import ORDER, anes96

COLUMN = "party"
EPSILON = 0.7
LEAST = 0.01  # levels at which there is something to see
SHARES, INFORMATION, RESPONSE = "made for shares", "most information", "randomized response"
FILES = {SHARES: "mechanism.json", INFORMATION: "information.json", RESPONSE: "randomized-response.json"}
REPORTED = ("audit.md", "audit.json", "tradeoff.csv")
WRITTEN = ("answers.csv", *FILES.values(), "private.csv", "estimates.json", *REPORTED)
POINTS = 24  # of the curve
STEPS = 8  # that progress tells of
PHONES = 300
AT_ONCE = 8
COLLECTED = ("survey.toml", "survey.lock.json", "survey.db")
MISSING = f"{missing('The phones are left out: they need more packages', 'survey')}."

Progress = Callable[[int, int, str], None]


def covered(estimate: ex.Estimate, truth: Floats) -> int:
    """How many of the true shares lie in their intervals."""
    return int(((estimate.lower <= truth) & (truth <= estimate.upper)).sum())


@dataclass(frozen=True)
class Collection:
    """What came in from the phones: the shares among the people who answered, and the estimate from the store."""

    people: int
    truth: Floats  # the shares of their answers, in the order of the prior
    estimate: ex.Estimate

    def to_dict(self) -> dict[str, Any]:
        """The figures, for programs."""
        return {"people": self.people, "truth": self.truth.tolist(), "estimate": self.estimate.to_dict()}


@dataclass(frozen=True)
class Way:
    """One mechanism all the way: certified, and shares estimated from the reports of everybody."""

    name: str
    certified: ex.Certified
    estimate: ex.Estimate
    expected: ex.planning.ExpectedError

    @property
    def information(self) -> float:
        """I(X;Y) in nats."""
        return ex.mutual_information(self.certified.prior, self.certified.mechanism)

    def to_dict(self) -> dict[str, Any]:
        """The figures, for programs."""
        return {
            "realised_epsilon": self.certified.realised_epsilon,
            "mutual_information": self.information,
            "standard_error": self.expected.root_mean_square,
            "width": self.expected.width,
            "shares_inside_their_intervals": covered(self.estimate, self.certified.prior.probabilities),
            "estimate": self.estimate.to_dict(),
        }


@dataclass(frozen=True)
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
    collection: Collection | None  # None where the packages for surveys are missing

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
            "mechanisms": {name: way.to_dict() for name, way in self.ways.items()},
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
    done = count()

    def step(name: str) -> None:
        if progress is not None:
            progress(next(done), STEPS, name)

    step("learning the prior")
    answers, prior = _learn(level)
    _write_table(folder / "answers.csv", [{"respondent": k, COLUMN: x} for k, x in enumerate(answers, 1)])
    step("designing")
    best, telling = designed(prior, level), designed(prior, level, ex.mutual_information)
    proof = _proof(best, telling)
    step("certifying")
    matrices = {
        SHARES: best.mechanism,
        INFORMATION: telling.mechanism,
        RESPONSE: ex.theory.randomized_response_for_pml(prior, level),
    }
    certified = {name: ex.certify(prior, matrix, level) for name, matrix in matrices.items()}
    for name, c in certified.items():
        c.save(folder / FILES[name])
    with collecting(folder, answers, seed) as arriving:
        step("privatising")
        reports = {name: _reports(name, c, folder, answers, seed) for name, c in certified.items()}
        step("estimating")
        ways = {}
        for name, c in certified.items():
            expected = ex.planning.expected_error(prior, c, len(answers))
            ways[name] = Way(name, c, ex.estimate(c, reports[name]), expected)
        write(folder / "estimates.json", ways[SHARES].estimate.to_json() + "\n")
        step("auditing")
        audit = ex.audit(prior, certified[SHARES])
        outside = ex.audit_pairs(answers, [str(report) for report in reports[SHARES]], epsilon=level)
        write(folder / "audit.md", audit.to_markdown())
        write(folder / "audit.json", audit.to_json() + "\n")
        curve = ex.tradeoff(prior, np.linspace(0, prior.epsilon_max, POINTS + 1))
        _write_table(folder / "tradeoff.csv", curve.rows())
        step("waiting for the phones")
        collection = arriving()
    step("writing the report")
    names = (*WRITTEN, *(() if collection is None else COLLECTED))
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


def _words(seed: int | None, place: int) -> ex.randomness.Words | None:
    return None if seed is None else ex.randomness.SeededWords(seed + place)


def _reports(name: str, c: ex.Certified, folder: Path, answers: list[str], seed: int | None) -> Sequence[Any]:
    """One report for each answer; those of the mechanism made for shares by way of a file."""
    words = _words(seed, list(FILES).index(name))
    if name != SHARES:
        return list(c.privatize(answers, source=words))
    source, target = folder / "answers.csv", folder / "private.csv"
    allowed = "refuse" if words is None else "allow"
    ex.privatize(source, {COLUMN: c}, target=target, overwrite=True, source=words, unmarked=allowed)
    known = {str(report): report for report in c.outputs}
    with target.open(encoding="utf-8", newline="") as file:
        return [known[row[COLUMN]] for row in csv.DictReader(file)]


def _write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    write_file(path, encode_table(rows, "csv"), overwrite=True, mode=0o644)


def write(path: Path, text: str) -> None:
    """The text stands under this name, whole."""
    write_file(path, text.encode(), overwrite=True, mode=0o644)


# --- the phones -------------------------------------------------------------------------------------


def available() -> bool:
    """Whether the packages of the server are installed."""
    try:
        import extremal.collection.server
        import extremal.collection.store  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def collecting(
    folder: Path, answers: list[str], seed: int | None
) -> Iterator[Callable[[], Collection | None]]:
    """Phones answer in the background; what waits for the collection, None where the server's packages are missing."""
    with ThreadPoolExecutor(1) as background:
        yield background.submit(collect, folder, answers, seed).result if available() else lambda: None


def collect(folder: Path, answers: list[str], seed: int | None) -> Collection:
    """The survey in this folder, which holds mechanism.json, answered by `PHONES` of these people."""
    from extremal.collection.designs import check
    from extremal.collection.server import running
    from extremal.collection.store import create_store
    from extremal.collection.survey import read_survey

    for name in (*COLLECTED, "survey.db-journal"):
        (folder / name).unlink(missing_ok=True)
    write(folder / "survey.toml", _survey())
    published, _ = check(read_survey(folder / "survey.toml"))
    rng = np.random.default_rng(seed)
    people = [answers[k] for k in rng.choice(len(answers), PHONES, replace=False)]
    with create_store(folder / "survey.db", published) as store, running(store) as (base, _):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            posted = [pool.submit(_phone, base, answer, _words(seed, k)) for k, answer in enumerate(people)]
        for phone in posted:
            phone.result()
        store.finish()
    counts = Counter(people)
    truth = np.array([counts[label] / PHONES for label in ORDER])
    mechanism = ex.load(folder / "mechanism.json")
    return Collection(PHONES, truth, ex.estimate(mechanism, str(folder / "survey.db"), column=COLUMN))


def _phone(base: str, answer: str, words: Any) -> None:
    """One person's phone."""
    ask, base = build_opener(ProxyHandler({})).open, base.rstrip("/")  # no proxy: it is on this machine
    with ask(f"{base}/survey.json", timeout=60) as found:
        survey = json.load(found)
    (question,) = survey["questions"]
    with ask(f"{base}/{question['mechanisms'][0]}", timeout=60) as found:
        mechanism = ex.Certified.from_json(found.read().decode())
    report = mechanism.privatize([answer], source=words)[0]
    body = json.dumps({"survey": survey["digest"], "id": secrets.token_hex(16), "reports": {COLUMN: report}})
    ask(Request(f"{base}/reports", body.encode(), {"Content-Type": "application/json"}), timeout=60).close()


def _survey() -> str:
    return f"""\
id = "{secrets.token_hex(8)}"
title = "Party identification"
introduction = "Which party do you lean to? Your phone sends a random report, never your answer."

[[question]]
name = "{COLUMN}"
text = "Generally speaking, do you usually think of yourself as a Republican, a Democrat or an Independent?"
answers = {json.dumps(ORDER)}
mechanism = "mechanism.json"
"""
