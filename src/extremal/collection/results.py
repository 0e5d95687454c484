"""What a store gives out: shares with intervals, means of scales, and the reports as CSV and Parquet.

Nothing here says anything about invitations. Rows are in the order of their random ids.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..certification.stored import decode_label
from ..estimation.counts import ReportCounts
from ..estimation.estimate import estimate
from ..estimation.interval_table import IntervalTable
from ..estimation.promise import SURVEY
from ..estimation.result import Estimate
from .needed import people_needed
from .published import Asked, Part
from .store import Reports, Store

Counts = dict[str, Counter[str]]  # for each column how often each label came, by its repr


def results(store: Store, people: Mapping[str, int | None] | None = None) -> dict[str, Any]:
    """results.json; `people` is what `people_needed` gives, if it is known already."""
    published = store.published
    people = people_needed(published) if people is None else people
    tallies = store.tallies()  # read once: all questions show the same people
    counts = counted(store, tallies)
    wanted = None
    if published.width is not None or published.people is not None:
        wanted = {"width": published.width, "people": published.people}
    return {
        "title": published.title,
        "reports": tallies.total(),
        "closed": store.closed(),
        "wanted": wanted,
        "questions": [
            _result(q, counts, people[q.name], published.confidence, published.intervals)
            for q in published.questions
        ],
        "confidence": published.confidence,
        "intervals": published.intervals,
        "exports": ["reports.csv"],
    }


def counted(store: Store, tallies: Counter[str]) -> Counts:
    """What came in, column by column, from how often each content was sent."""
    parts = store.published.parts
    found: Counts = {part.column: Counter() for part in parts}
    for content, times in tallies.items():
        for part, cell in zip(parts, store.published.cells(content), strict=True):
            found[part.column][repr(None if cell is None else decode_label(cell))] += times
    return found


def estimated(part: Part, counts: Counts, confidence: float, intervals: str) -> Estimate | None:
    """The estimate from one column; None if nobody answered."""
    outputs = part.mechanism.outputs
    found = ReportCounts(outputs, [counts[part.column][repr(y)] for y in outputs])
    return estimate(part.mechanism, found, confidence, intervals=intervals) if found.total else None


def tables(part: Part, found: Any) -> list[IntervalTable]:
    """What an estimate tells of a column: shares of answers or of items, and the mean of a scale."""
    first = found.table if part.groups is None else found.group(part.groups)
    return [first] if part.scores is None else [first, found.mean(part.scores)]


def _result(
    question: Asked, counts: Counts, people: int | None, confidence: float, intervals: str
) -> dict[str, Any]:
    # With "all" the intervals of all parts of a question hold together.
    level = confidence if intervals == "each" else 1 - (1 - confidence) / len(question.parts)
    rows: list[dict[str, Any]] = []
    mean, promise, notes = None, None, []
    for part in question.parts:
        found = estimated(part, counts, level, intervals)
        if found is None:
            continue
        shares, *means = tables(part, found)
        rows += [_row(row, row["label"]) for row in shares.rows()]
        mean = _row(means[0].rows()[0], "mean") if means else None
        promise = replace(shares.promise, confidence=confidence).note(SURVEY)
        notes += [_sentence(note) for note in found.notes() if note.startswith("WARNING")]
    if rows and question.kind == "scale" and question.purpose == "mean":
        notes.insert(0, "The reports are made for the mean: single shares are less exact.")
    if question.kind == "clear":
        left_out = counts[question.name][repr(None)]
        notes.append("Asked in the clear." + (f" {left_out} left it out." if left_out else ""))
    return {
        "name": question.name,
        "text": question.text,
        "kind": question.kind,
        "rows": rows,
        "mean": mean,
        "needed": people,
        "promise": None if promise is None else _sentence(promise),
        "note": " ".join(notes) or None,
    }


def _row(row: Mapping[str, Any], label: str) -> dict[str, Any]:
    return {"label": label, "share": row["estimate"], "low": row["lower"], "high": row["upper"]}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def csv_text(reports: Reports) -> str:
    """The reports as CSV, as texts and numbers that mechanism files have."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(part.column for part in reports.published.parts)
    writer.writerows(["" if value is None else exported(value) for value in row] for _, row in reports.rows)
    return text.getvalue()


def parquet_bytes(reports: Reports) -> bytes:
    """The same as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    columns = {
        part.column: pyarrow.array([exported(row[k]) for _, row in reports.rows])
        for k, part in enumerate(reports.published.parts)
    }
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


def exported(value: Any) -> Any:
    """One cell of a file: JSON where a label is no text and no number."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
