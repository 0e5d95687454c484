"""The demo's collection: simulated phones answer through the real server, while the rest of the demo runs.

Each phone does what the page in a browser does: it loads the questionnaire and the mechanism, proves the mechanism
anew, draws a report from the answer and posts it. The answer stays in the phone.
"""

from __future__ import annotations

import http.client
import json
import secrets
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import extremal as ex
from extremal._common.words import missing

PHONES = 300
AT_ONCE = 8
QUESTION = "party"
FILES = ("survey.toml", "survey.lock.json", "survey.db")
MISSING = f"{missing('The phones are left out: they need more packages', 'survey')}."


@dataclass(frozen=True, eq=False)
class Collection:
    """What came in from the phones: the shares among the people who answered, and the estimate from the store."""

    people: int
    truth: Any  # the shares of their answers, in the order of the prior
    estimate: ex.Estimate

    @property
    def covered(self) -> int:
        """How many of the true shares lie in their intervals."""
        return int(((self.estimate.lower <= self.truth) & (self.truth <= self.estimate.upper)).sum())

    def to_dict(self) -> dict[str, Any]:
        """The figures, for programs."""
        return {"people": self.people, "truth": self.truth.tolist(), "estimate": self.estimate.to_dict()}


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
    folder: Path, answers: list[str], labels: list[str], seed: int | None
) -> Iterator[Future[Collection] | None]:
    """Phones of some of these people answer in the background; None where the server's packages are missing."""
    if not available():
        yield None
        return
    with ThreadPoolExecutor(1) as background:
        yield background.submit(collect, folder, answers, labels, seed)


def collect(folder: Path, answers: list[str], labels: list[str], seed: int | None) -> Collection:
    """The survey in this folder, which holds mechanism.json, answered by `PHONES` of these people."""
    from extremal.collection.designs import check
    from extremal.collection.server import running
    from extremal.collection.store import create_store
    from extremal.collection.survey import read_survey

    for name in (*FILES, "survey.db-journal"):
        (folder / name).unlink(missing_ok=True)
    (folder / "survey.toml").write_text(_survey(labels), encoding="utf-8")
    published, _ = check(read_survey(folder / "survey.toml"))
    rng = np.random.default_rng(seed)
    people = [answers[k] for k in rng.choice(len(answers), PHONES, replace=False)]
    with create_store(folder / "survey.db", published) as store, running(store) as (base, _):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            phones = [
                pool.submit(
                    _phone, base, answer, None if seed is None else ex.randomness.SeededWords(seed + k)
                )
                for k, answer in enumerate(people)
            ]
        for phone in phones:
            phone.result()
        store.finish()
    counts = Counter(people)
    truth = np.array([counts[label] / PHONES for label in labels])
    mechanism = ex.load(folder / "mechanism.json")
    return Collection(PHONES, truth, ex.estimate(mechanism, str(folder / "survey.db"), column=QUESTION))


def _phone(base: str, answer: str, words: Any) -> None:
    """One person's phone."""
    line = http.client.HTTPConnection(urlsplit(base).netloc, timeout=60)
    try:
        survey = json.loads(_asked(line, "GET", "/survey.json"))
        (question,) = survey["questions"]
        mechanism = ex.Certified.from_json(_asked(line, "GET", f"/{question['mechanisms'][0]}"))
        report = mechanism.privatize([answer], source=words)[0]
        body = {"survey": survey["digest"], "id": secrets.token_hex(16), "reports": {QUESTION: report}}
        _asked(line, "POST", "/reports", json.dumps(body), {"Content-Type": "application/json"})
    finally:
        line.close()


def _asked(
    line: http.client.HTTPConnection, method: str, path: str, body: str | None = None, headers: Any = None
) -> str:
    line.request(method, path, body, headers or {})
    answer = line.getresponse()
    text = answer.read().decode()
    if answer.status != 200:
        raise RuntimeError(f"{method} {path} was refused: {answer.status} {text[:200]}")
    return text


def _survey(labels: list[str]) -> str:
    answers = ", ".join(json.dumps(label) for label in labels)
    return f"""\
id = "{secrets.token_hex(8)}"
title = "Party identification"
introduction = "Which party do you lean to? Your phone sends a random report, never your answer."

[[question]]
name = "{QUESTION}"
text = "Generally speaking, do you usually think of yourself as a Republican, a Democrat or an Independent?"
answers = [{answers}]
mechanism = "mechanism.json"
"""
