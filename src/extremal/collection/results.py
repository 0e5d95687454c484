"""From the reports in a store to figures: shares with intervals, means of scales, and how many people are needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._common.json import parse_json
from .._common.words import counted
from ..certification.certified import Certified
from ..certification.stored import decode_label
from ..estimation.counts import ReportCounts
from ..estimation.estimate import estimate
from ..estimation.interval_table import IntervalTable
from ..estimation.promise import SURVEY
from ..estimation.result import Estimate
from ..model.mechanism import Mechanism, identity
from ..model.prior import Prior
from .needed import people_needed
from .published import Asked
from .several import members
from .store import Store


@dataclass(frozen=True, eq=False)
class Collected:
    """The reports to one question: mechanisms and how often each report came, part by part.

    There is one part, or one for each item of a question whose items are drawn one by one. `skipped` counts those who
    left out a question in the clear.
    """

    question: Asked
    mechanisms: tuple[Certified | Mechanism, ...]
    counts: tuple[ReportCounts, ...]
    skipped: int = 0

    @property
    def reports(self) -> int:
        """How many people's reports there are."""
        return self.counts[0].total

    def estimates(self, confidence: float = 0.95, intervals: str = "each") -> tuple[Estimate, ...]:
        """An estimate for each part; with "all" the intervals of all parts hold together."""
        level = confidence if intervals == "each" else 1 - (1 - confidence) / len(self.counts)
        return tuple(
            estimate(m, c, level, intervals=intervals)
            for m, c in zip(self.mechanisms, self.counts, strict=True)
        )

    def table(self, confidence: float = 0.95, intervals: str = "each") -> IntervalTable:
        """The shares of the answers, or of the items, with their intervals."""
        found = self.estimates(confidence, intervals)
        if self.question.form == "joint":
            return found[0].group(members(self.question.answers))
        if self.question.form != "each":
            return found[0].table
        rows = [f.group({item: ["yes"]}) for item, f in zip(self.question.answers, found, strict=True)]
        joined: Any = {
            name: np.concatenate([getattr(row, name) for row in rows])
            for name in ("estimates", "lower", "upper", "standard_errors", "identified")
        }
        title = f"{len(rows)} items from {counted(self.reports, 'report')}"
        promise = replace(found[0].promise, confidence=confidence)
        return IntervalTable(title, self.question.answers, **joined, promise=promise)

    def mean(self, confidence: float = 0.95, intervals: str = "each") -> IntervalTable | None:
        """The mean score of a scale, with its interval."""
        if self.question.scores is None:
            return None
        scores = dict(zip(self.question.answers, self.question.scores, strict=True))
        return self.estimates(confidence, intervals)[0].group({"mean": scores})


def collected(questions: Sequence[Asked], contents: Counter[str]) -> dict[str, Collected]:
    """What came in, question by question, from how often each content was sent."""
    tallies = [[Counter[str]() for _ in q.reports] for q in questions]
    for content, times in contents.items():
        for question, counters, value in zip(questions, tallies, parse_json(content), strict=True):
            parts = value if question.form == "each" else [value]
            for counter, part in zip(counters, parts, strict=True):
                counter[repr(decode_label(part)) if part is not None else ""] += times
    return {q.name: _collected(q, counters) for q, counters in zip(questions, tallies, strict=True)}


def _collected(question: Asked, counters: list[Counter[str]]) -> Collected:
    mechanisms: tuple[Certified | Mechanism, ...] = question.mechanisms
    if question.kind == "clear":
        mechanisms = (identity(Prior.uniform(question.answers)),)
    counts = tuple(
        ReportCounts(m.outputs, [counter[repr(y)] for y in m.outputs])
        for m, counter in zip(mechanisms, counters, strict=True)
    )
    return Collected(question, mechanisms, counts, counters[0][""])


def results(store: Store, people: Mapping[str, int | None] | None = None) -> dict[str, Any]:
    """results.json; `people` is what `people_needed` gives, if it is known already."""
    published = store.published
    people = people_needed(published) if people is None else people
    contents = store.tallies()  # read once: all questions show the same people
    found = collected(published.questions, contents)
    wanted = None
    if published.width is not None or published.people is not None:
        wanted = {"width": published.width, "people": published.people}
    return {
        "title": published.title,
        "reports": contents.total(),
        "closed": store.closed(),
        "wanted": wanted,
        "questions": [
            _result(found[q.name], people[q.name], published.confidence, published.intervals)
            for q in published.questions
        ],
        "confidence": published.confidence,
        "intervals": published.intervals,
        "exports": ["reports.csv"],
    }


def _result(found: Collected, people: int | None, confidence: float, intervals: str) -> dict[str, Any]:
    question = found.question
    rows, mean, notes, promise = [], None, [], None
    if found.reports:
        table = found.table(confidence, intervals)
        promise = table.promise.note(SURVEY)
        rows = [
            {"label": r["label"], "share": r["estimate"], "low": r["lower"], "high": r["upper"]}
            for r in table.rows()
        ]
        if question.kind == "scale" and question.purpose == "mean":
            notes.append("The reports are made for the mean: single shares are less exact.")
        scored = found.mean(confidence, intervals)
        if scored is not None:
            (row,) = scored.rows()
            mean = {"label": "mean", "share": row["estimate"], "low": row["lower"], "high": row["upper"]}
        notes += [
            note[:1].upper() + note[1:] + "."
            for e in found.estimates(confidence, intervals)
            for note in e.notes()
            if note.startswith("WARNING")
        ]
    if question.kind == "clear":
        notes.append("Asked in the clear." + (f" {found.skipped} left it out." if found.skipped else ""))
    return {
        "name": question.name,
        "text": question.text,
        "kind": question.kind,
        "rows": rows,
        "mean": mean,
        "needed": people,
        "promise": None if promise is None else f"{promise[:1].upper()}{promise[1:]}.",
        "note": " ".join(notes) or None,
    }
