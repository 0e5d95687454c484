"""Questions with thousands of answers: read from survey.toml and its CSV file, and estimated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.words import lookalikes, sentence
from ..errors import ExtremalError, FormatError, SurveyError
from ..estimation.interval_table import IntervalTable
from ..estimation.intervals import normal_quantile
from ..estimation.windows import estimate_window_groups, estimate_windows
from ..lists.answers import read_answers
from ..lists.windows import Windows
from .published import NOT_ASKED, Asked, Wording
from .tables import Section, read_text

if TYPE_CHECKING:
    from .survey import Question

SAID_BY_FILE = (
    *("answers", "answer_texts", "brackets", "prior", "counts", "mechanism", "purpose", "between"),
    "required",
)
MOST_LISTED = 50_000  # answers: they are verified and searched on phones
LARGEST_FILE = 1 << 24  # bytes
LONGEST = 200  # characters of an answer
TOP = 20  # answers that the results page shows


def listed(table: Section, question: Question, earlier: Mapping[str, Wording]) -> Question:
    """The question with the answers of its file."""
    table.without(SAID_BY_FILE, "a list", "its file says it: columns answer, count, also and group")
    if question.ask_if is not None and earlier[question.ask_if["question"]].private:
        raise table.wrong(
            "ask_if",
            "of a list must name a question whose answer is sent as it is",
            question.ask_if["question"],
            "ask the list of everybody, with an answer such as none",
        )
    epsilon, path, extra = table.epsilon(), table.file("answers_file"), table.pseudocount()
    try:
        read = read_answers(read_text(str(path), LARGEST_FILE), most=MOST_LISTED)
        never = [label for label, n in zip(read.labels, read.counts or (), strict=False) if not n + extra]
        if never:
            remedy = "write pseudocount = 1 beside answers_file, or leave the answer out"
            raise FormatError(
                "every answer must have a count above 0", given=f"0 for {never[0]!r:.60}", remedy=remedy
            )
        prior = read.prior(extra)
    except ExtremalError as error:
        raise error.within(f"{table.at('answers_file')}: {path.name}: ", SurveyError) from None
    long = next((x for x in read.labels if len(x) > LONGEST), None)
    if long or NOT_ASKED in read.labels:
        problem = f"must have answers of at most {LONGEST} characters" if long else "must have other answers"
        raise table.wrong("answers_file", problem, long or NOT_ASKED)
    if same := lookalikes(read.labels):
        twice = " and ".join(map(repr, same[0]))
        raise table.wrong("answers_file", "must have answers that differ by more than case and blanks", twice)
    for label, also in zip(read.labels, read.also, strict=True):
        if not any(letter.isalnum() for text in (label, *also) for letter in text):
            problem = (
                "must have a letter or a digit in each answer or its other spellings, by which people find it"
            )
            raise table.wrong("answers_file", problem, label)
    words: dict[str, Any] = {"answers": read.labels, "also": read.also, "groups": read.groups}
    return replace(question, **words, epsilon=epsilon, prior=prior)


def needed(windows: Windows, width: float, confidence: float, intervals: str) -> int:
    """People from whom the interval of the most common answer is about so wide."""
    share = 1 / windows.answers if windows.prior is None else float(windows.prior.probabilities.max())
    error = (1 - confidence) / (windows.answers if intervals == "all" else 1)
    return math.ceil((2 * normal_quantile(error / 2) / width) ** 2 * _variance(windows, share))


def says_nothing(windows: Windows, people: float) -> bool:
    """Whether the ordinary 95 % interval of every answer reaches from its share to 0; of unknown shares, of a half."""
    share = 0.5 if windows.prior is None else float(windows.prior.probabilities.max())
    return 1.96 * math.sqrt(_variance(windows, share) / people) >= share


def _variance(windows: Windows, share: float) -> float:
    """Of one report's estimate of an answer with this share."""
    own, other = windows.supports
    rate = other + (own - other) * share
    return rate * (1 - rate) / (own - other) ** 2


def list_tables(
    windows: Windows, reports: Any, groups: Mapping[str, list[str]] | None, confidence: float, top: int | None
) -> list[IntervalTable]:
    """The most frequent answers with intervals that hold for all together, and groups; all answers without `top`."""
    found = estimate_windows(
        windows, reports, confidence=confidence, intervals="each" if top is None else "all"
    )
    tables = [found if top is None else found.most(top)]
    return [*tables, estimate_window_groups(windows, reports, groups, confidence)] if groups else tables


def list_result(question: Asked, seen: Counter[str], confidence: float) -> dict[str, Any]:
    """What the results page shows of a list, from how often each report came, by its repr."""
    assert question.windows is not None
    texts = [text for text in seen if text != repr(None)]
    reports = np.repeat([int(text) for text in texts], [seen[text] for text in texts])
    tables = list_tables(question.windows, reports, question.groups, confidence, TOP) if texts else []
    rows = [
        {"label": label, "share": share, "low": low, "high": high, "always": None}
        for table in tables
        for label, share, low, high in zip(
            table.labels, table.estimates.tolist(), table.lower.tolist(), table.upper.tolist(), strict=True
        )
    ]
    then = ", then groups" if len(tables) > 1 else ""
    notes = [f"{len(question.answers):,} answers; the {TOP} most frequent are shown{then}."]
    notes += [sentence(table.warning) for table in tables if table.warning]
    said = [str(table.promise).removeprefix("intervals: ") for table in tables]
    promise = f"Intervals: {'; of groups: '.join(said)}." if said else None
    return {"rows": rows, "promise": promise, "note": " ".join(notes)}
