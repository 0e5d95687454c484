"""What a store gives out: shares with intervals, means of scales, and the reports as files.

And how many people a survey takes for the width of intervals that its researcher wants. Where a private answer decided
who was asked, everybody sent a report, and shares are among those who were asked.

Nothing here says anything about invitations. Rows are in the order of their random ids.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._common.types import Floats
from .._common.words import sentence
from ..certification.certified import Certified
from ..errors import MechanismError
from ..estimation.contrasts import Channel, standard_errors
from ..estimation.counts import ReportCounts
from ..estimation.differences import ratios
from ..estimation.estimate import estimate, stacked
from ..estimation.interval_table import IntervalTable
from ..estimation.planning import expected_bounds, sample_size
from ..estimation.promise import FIGURES, SURVEY
from ..estimation.result import Estimate
from ..lists.windows import Windows
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from . import lists
from .published import NOT_ASKED, Asked, Part, Published, mechanisms_of
from .store import NUMBER, Store, StoredReports

Asking = tuple[Published, int]  # a survey with the mechanisms of a stage, and how many people are asked in it
MOST_PEOPLE = 10**8  # a width that takes more is called out of reach


def people_needed(published: Published, stages: Sequence[Asking] = ()) -> dict[str, int | None]:
    """For each question the people that the wanted width takes; it does not depend on what came in.

    Where stages are given, as surveys with their people, they are asked in these proportions.
    """
    if published.width is None:
        return {question.name: None for question in published.questions}
    goal = published.width, published.confidence, published.intervals
    pairs = {q.name: staged(k, stages) for k, q in enumerate(published.questions) if q.between is not None}
    return {q.name: needed(q, *goal, pairs.get(q.name)) for q in published.questions}


def planned(store: Store) -> list[Asking]:
    """The stages so far with the people who are asked in each; the last one takes all who are left."""
    learn, people = store.published.learn, store.published.people
    if learn is None or people is None:
        return []
    surveys = [store.surveys[stage.mechanism] for stage in store.stages]
    ends = [*learn.stages[: len(surveys) - 1], people]
    return [(survey, end - start) for survey, start, end in zip(surveys, [0, *ends], ends, strict=False)]


def staged(place: int, stages: Sequence[Asking]) -> tuple[Mechanism, Prior] | None:
    """A mechanism that draws the stage of a question first, and the shares that are expected; None without stages."""
    if not stages:
        return None
    used = [(survey.questions[place].mechanisms[0], people) for survey, people in stages]
    people = np.array([people for _, people in used], dtype=np.float64)
    return stacked([certified.mechanism for certified, _ in used], people), used[-1][0].prior


def needed(
    question: Asked,
    width: float,
    confidence: float = 0.95,
    intervals: str = "each",
    asked: tuple[Mechanism, Prior] | None = None,
) -> int | None:
    """People from whom intervals are expected to be at most `width` wide; None if no number is enough.

    For a scale that is designed for its mean, `width` is a share of the range of its scores. `asked` has a mechanism
    and the shares that are expected, if they are not the question's own.
    """
    if question.kind == "clear":
        return None
    if question.windows is not None:
        return lists.needed(question.windows, width, confidence, intervals)
    used = [(m.mechanism, m.prior) for m in question.mechanisms] if asked is None else [asked]
    if question.form is None and question.purpose == "shares" and not question.hides:
        ((matrix, prior),) = used
        try:
            return sample_size(prior, matrix, width, confidence, intervals=intervals)
        except MechanismError:
            return None
    error = 1 - confidence if intervals == "each" else (1 - confidence) / len(question.parts)
    people = [
        _people(Channel(matrix.matrix, prior.probabilities), targets_of(part), width, error, intervals)
        for (matrix, prior), part in zip(used, question.parts, strict=True)
    ]
    return None if None in people else max(p for p in people if p is not None)


def too_few(published: Published, people: Mapping[str, int | None]) -> list[str]:
    """Warnings where the survey names fewer people than its questions take; `people` is what they take."""
    asked, said = published.people, []
    for question in published.questions if asked is not None else ():
        wanted = people[question.name]
        if any(_says_nothing(m, float(asked or 0)) for m in question.drawn_from):
            said.append(
                f"WARNING: {asked:,} people are too few to say anything about {question.name}: no share can be told "
                "from 0; ask more people, or choose a larger epsilon"
            )
        elif wanted is not None and wanted > (asked or 0):
            said.append(
                f"{question.name} takes {wanted:,} people for {100 * published.confidence:g}% intervals "
                f"{published.width:g} wide, {FIGURES[published.intervals]}; you will ask {asked:,}."
            )
    return said


def _says_nothing(certified: Certified | Windows, people: float) -> bool:
    """Whether every ordinary 95 % interval reaches from its share to 0."""
    if isinstance(certified, Windows):
        return lists.says_nothing(certified, people)
    prior = certified.prior.probabilities
    errors = standard_errors(Channel(certified.mechanism.matrix, prior), np.eye(len(prior)), people)
    return bool((1.96 * errors >= prior).all())


def targets_of(part: Part) -> Floats:
    """What is estimated from one column, as coefficients of its inputs; ranges of scores are 1."""
    inputs = [str(x) for x in part.inputs]
    if part.hides and isinstance(part.mechanism, Certified):
        return targets_among_asked(part, part.mechanism.prior)
    if part.scores is None and part.groups is None:
        return np.eye(len(inputs))
    if part.groups is not None:
        return np.array([[float(x in members) for x in inputs] for members in part.groups.values()])
    scores = part.scores or {}
    spread = max(scores.values()) - min(scores.values())
    return np.array([[scores[x] / spread for x in inputs]])


def _people(channel: Channel, targets: Floats, width: float, error: float, kind: str) -> int | None:
    """A number of reports that is enough for all targets of a column."""
    if not channel.identified(targets).all():
        return None

    def enough(n: float) -> bool:
        bounds = expected_bounds(channel, targets, n, error, kind)
        return bool(np.max(bounds.upper - bounds.lower) <= width)

    return least(enough, 1.0, 16.0)


def least(enough: Callable[[float], bool], low: float, high: float) -> int | None:
    """A number that is enough where one a hundredth smaller is not; `high` is tried first. None if there is none."""
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_PEOPLE:
            return None
    while high - low > max(1.0, 0.01 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.ceil(high)


Reports = tuple[Certified | Mechanism | Windows, Counter[str]]  # a mechanism, and how often each label came
Drawn = dict[str, list[Reports]]


def results(store: Store, people: Mapping[str, int | None] | None = None) -> dict[str, Any]:
    """results.json; `people` is what `people_needed` gives, if it is known already."""
    published = store.published
    people = people_needed(published) if people is None else people
    tallies = store.tallied()  # read once: all questions show the same people
    counts = {number: published.counted(contents) for number, contents in tallies.items()}
    wanted = None
    if published.width is not None or published.people is not None:
        wanted = {"width": published.width, "people": published.people}
    return {
        "title": published.title,
        "reports": sum(contents.total() for contents in tallies.values()),
        "closed": store.closed(),
        "wanted": wanted,
        "questions": [
            _result(q, _drawn(store, counts, q), people[q.name], published.confidence, published.intervals)
            for q in published.questions
        ],
        "stages": [
            {"number": stage.number, "full": stage.counts is not None, "said": stage.said}
            for stage in store.stages
        ],
        "confidence": published.confidence,
        "intervals": published.intervals,
        "exports": ["reports.csv"],
    }


def _drawn(store: Store, counts: Mapping[str, Mapping[str, Counter[str]]], question: Asked) -> Drawn:
    """For each column of a question the mechanisms that drew its reports, and how often each report came."""
    found: Drawn = {part.column: [] for part in question.parts}
    for column, given in found.items():
        for mechanism, numbers in mechanisms_of(store.surveys, column):
            total: Counter[str] = Counter()
            for number in numbers:
                total += counts[number][column] if number in counts else Counter()
            given.append((mechanism, total))
    return found


def estimated(drawn: list[Reports], confidence: float, intervals: str) -> Estimate | None:
    """The estimate from one column, under each mechanism that drew some of it; None if nobody answered."""
    known = [(m, counts) for m, counts in drawn if not isinstance(m, Windows)]
    pairs = [(m, ReportCounts(m.outputs, [counts[repr(y)] for y in m.outputs])) for m, counts in known]
    pairs = [(m, counts) for m, counts in pairs if counts.total]
    if len(pairs) > 1:
        return estimate(pairs, None, confidence, intervals=intervals)
    return estimate(*pairs[0], confidence, intervals=intervals) if pairs else None


def tables(part: Part, found: Any) -> list[IntervalTable]:
    """What an estimate tells of a column: shares of answers or of items, and the mean of a scale."""
    if part.hides:
        return tables_among_asked(part, found)
    first = found.table if part.groups is None else found.group(part.groups)
    return [first] if part.scores is None else [first, found.mean(part.scores)]


def _result(
    question: Asked, drawn: Drawn, people: int | None, confidence: float, intervals: str
) -> dict[str, Any]:
    head = {"name": question.name, "text": question.text, "kind": question.kind, "needed": people}
    if question.windows is not None:
        ((_, seen),) = drawn[question.name]
        return {**head, "mean": None, "always": None, **lists.list_result(question, seen, confidence)}
    # With "all" and "always" the intervals of all parts of a question hold together.
    together = 1 - (1 - confidence) / len(question.parts)
    level = confidence if intervals == "each" else together
    rows: list[dict[str, Any]] = []
    mean, promise, always, notes = None, None, None, []
    for part in question.parts:
        found = estimated(drawn[part.column], level, intervals)
        if found is None:
            continue
        looked = replace(found, confidence=together, intervals="always")
        shares, *means = (
            _rows(*both) for both in zip(tables(part, found), tables(part, looked), strict=True)
        )
        rows += shares
        mean = {**means[0][0], "label": "mean"} if means else None
        promise = replace(found.promise, confidence=confidence).note(SURVEY)
        always = str(replace(looked.promise, confidence=confidence))
        notes += [sentence(note) for note in looked.other_notes() if "WARNING" in note or "stage" in note]
    if rows and question.kind == "scale" and question.purpose == "mean":
        notes.insert(0, "The reports are made for the mean: single shares are less exact.")
    if question.hides:
        notes.insert(0, "Shares are of those who were asked.")
    if question.kind == "clear":
        left_out = sum(counts[repr(None)] for _, counts in drawn[question.name])
        notes.append("Asked in the clear." + (f" {left_out} left it out." if left_out else ""))
    return {
        **head,
        "rows": rows,
        "mean": mean,
        "promise": None if promise is None else sentence(promise),
        "always": None if always is None else sentence(always),
        "note": " ".join(notes) or None,
    }


def _rows(table: IntervalTable, looked: IntervalTable) -> list[dict[str, Any]]:
    """The rows of a table, each with its interval for every look, too."""
    return [
        {
            "label": row["label"],
            "share": row["estimate"],
            "low": row["lower"],
            "high": row["upper"],
            "always": [other["lower"], other["upper"]],
        }
        for row, other in zip(table.rows(), looked.rows(), strict=True)
    ]


def csv_text(reports: StoredReports) -> str:
    """The reports as CSV, as texts and numbers that mechanism files have."""
    columns, text = _columns(reports), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def parquet_bytes(reports: StoredReports) -> bytes:
    """The same as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(_columns(reports)), sink)
    return sink.getvalue()


def _columns(reports: StoredReports) -> dict[str, list[Any]]:
    """The columns of such files."""
    parts = enumerate(reports.published.parts)
    found = {part.column: [exported(row[k]) for _, row in reports.rows] for k, part in parts}
    return found | ({} if reports.published.learn is None else {NUMBER: reports.numbers})


def exported(value: Any) -> Any:
    """One cell of a file: JSON where a label is no text and no number."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def statistics_bytes(reports: StoredReports, kind: str) -> bytes:
    """The same as an SPSS or Stata file: codes with labels, questions as labels of columns, mechanisms in notes."""
    from ..release.files.labelled import Variable, coded, labelled_bytes, valid_names
    from ..release.files.privatize import note_of

    parts = [(question.text, part) for question in reports.published.questions for part in question.parts]
    columns = reports.columns([part.column for _, part in parts])
    found = {}
    *names, number = valid_names([*columns, NUMBER], kind)
    for name, (text, part) in zip(names, parts, strict=True):
        label, values = f"{text} [{part.column}]", columns[part.column]
        if isinstance(part.mechanism, Windows):
            found[name] = Variable(values, label, note=f"reports on a list, digest {part.mechanism.digest}")
            continue
        drew = [m for m, _ in mechanisms_of(reports.surveys, part.column) if not isinstance(m, Windows)]
        outputs = list(dict.fromkeys(y for mechanism in drew for y in mechanism.outputs))
        note = " ".join(note_of(mechanism) for mechanism in drew if isinstance(mechanism, Certified)) or None
        numbers = all(type(y) is int for y in outputs)
        found[name] = (
            Variable(values, label, note=note) if numbers else coded(values, outputs, label, note, {})
        )
    if reports.published.learn is not None:
        found[number] = Variable([int(one) for one in reports.numbers], NUMBER)
    return labelled_bytes(found, kind)


def tables_among_asked(part: Part, found: Estimate) -> list[IntervalTable]:
    """The shares of answers or of items, and the mean of a scale."""
    rows, whole = _sums(part)
    names = tuple(part.groups or [x for x in part.inputs if x != NOT_ASKED])
    shares = ratios(found, f"{len(names)} shares among those asked,", names, rows, whole)
    if part.scores is None:
        return [shares]
    scores = np.array([[part.scores.get(str(x), 0.0) for x in part.inputs]])
    return [shares, ratios(found, "mean of scores among those asked,", ("mean",), scores, whole)]


def targets_among_asked(part: Part, prior: Prior) -> Floats:
    """How the shares among those asked move with those of all answers, to first order."""
    rows, whole = _sums(part)
    asked = float(whole @ prior.probabilities)
    return (rows - (rows @ prior.probabilities / asked)[:, None] * whole) / asked


def _sums(part: Part) -> tuple[Floats, Floats]:
    """Coefficients of each share of all people, and of the share that was asked."""
    inputs = [str(x) for x in part.inputs]
    whole = np.array([x != NOT_ASKED for x in inputs], float)
    groups = part.groups or {str(x): [str(x)] for x in inputs if x != NOT_ASKED}
    return np.array([[float(x in members) for x in inputs] for members in groups.values()]), whole
