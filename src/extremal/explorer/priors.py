"""Priors as people paste and upload them: numbers, labels with numbers, JSON, CSV, columns of answers."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import extremal as ex
from extremal._json import parse_json

KINDS = ("auto", "probabilities", "counts")
MOST_SYMBOLS = 1000
LABEL_NAMES = ("label", "labels", "answer", "value", "name", "category", "x")
NUMBER_NAMES = ("probability", "p", "prior", "share", "frequency", "count", "counts", "n", "weight")
ROW = re.compile(r"(?P<label>.*[^\s,;:=|])[\s,;:=|]+(?P<number>[^\s,;:=|%]+(?:\s?%)?)")


@dataclass(frozen=True)
class Table:
    """Numbers with their labels, or with none."""

    labels: list[Any] | None
    numbers: list[float]


@dataclass(frozen=True)
class Upload:
    """What a file holds: the text for the editor, and the columns to choose from where there are several."""

    text: str
    kind: str
    columns: list[str]
    column: str | None
    words: str


def read_prior(text: str, kind: str = "auto", pseudocount: float = 0.0) -> tuple[ex.Prior, str]:
    """The prior in the editor's text, and how it was read, in words.

    "auto" takes whole numbers that sum to more than 1 for counts, everything else for probabilities.
    """
    if kind not in KINDS:
        raise ex.errors.OptionError(f"numbers must be read as one of {', '.join(KINDS)}, got {kind!r:.40}")
    table = parse(text)
    if len(table.numbers) > MOST_SYMBOLS:
        raise ex.errors.SizeError(
            f"the explorer is for at most {MOST_SYMBOLS} answers, got {len(table.numbers)}; merge rare answers, or "
            "use the library"
        )
    whole = all(number == int(number) for number in table.numbers if abs(number) < 1e15)
    counted = kind == "counts" or (kind == "auto" and whole and sum(table.numbers) > 1)
    if not counted:
        return ex.Prior(table.numbers, table.labels), f"{len(table.numbers)} probabilities"
    prior = ex.Prior.from_counts(table.numbers, pseudocount, table.labels)
    added = f", {pseudocount:g} added to each" if pseudocount else ""
    return prior, f"counts of {sum(table.numbers):,.6g} answers{added}"


def parse(text: str) -> Table:
    """Labels and numbers from lines "label, number", from numbers alone, or from JSON."""
    text = text.strip().removeprefix("\ufeff")
    if not text:
        raise ex.errors.PriorError("a prior must not be empty; give one answer a line, e.g. never, 0.5")
    if text[0] in "[{":
        return _from_json(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        lines = _split(lines[0])
    if all(_number(line) is not None for line in lines):
        return Table(None, [_must_be_number(line) for line in lines])
    rows = [_row(line) for line in lines]
    wrong = next((line for line, row in zip(lines, rows, strict=True) if row is None), None)
    if wrong is not None:
        raise ex.errors.PriorError(
            f"every line of a prior must be a label and a number, got {wrong!r:.60}; e.g. never, 0.5"
        )
    found = [row for row in rows if row is not None]
    return Table(typed([label for label, _ in found]), [number for _, number in found])


def _split(line: str) -> list[str]:
    """The entries of a prior that stands on one line."""
    for parts in ([part.strip() for part in re.split(r"[,;]", line) if part.strip()], line.split()):
        if len(parts) > 1 and all(_number(part) is not None or _row(part) is not None for part in parts):
            return parts
    return [line]


def _row(line: str) -> tuple[str, float] | None:
    found = ROW.fullmatch(line)
    number = None if found is None else _number(found["number"])
    return None if found is None or number is None else (found["label"].strip('"'), number)


def typed(labels: list[str]) -> list[Any]:
    """The labels, as integers if every one is written as an integer: such a column holds numbers."""
    if all(re.fullmatch(r"0|-?[1-9]\d{0,14}", label) for label in labels):
        return [int(label) for label in labels]
    return list(labels)


def editor_text(labels: list[Any], numbers: list[Any]) -> str:
    """One line an answer, as `parse` reads it again."""
    rows = zip(labels, numbers, strict=True)
    return "\n".join(f"{' '.join(str(label).split())}, {number!r}" for label, number in rows)


def read_upload(name: str, text: str, column: str | None = None) -> Upload:
    """What an uploaded CSV or JSON file says about the prior.

    CSV with a column of labels and one of numbers is a prior or counts. Every other CSV is data: the answers of a
    column are counted.
    """
    text = text.removeprefix("\ufeff")
    if name.lower().endswith(".json") or text.lstrip()[:1] in ("[", "{"):
        table = _from_json(text)
        labels = list(range(len(table.numbers))) if table.labels is None else table.labels
        return Upload(editor_text(labels, table.numbers), "auto", [], None, "JSON")
    rows = _csv_rows(text)
    if column is None and (table_rows := _labelled(rows)) is not None:
        return Upload(editor_text(*table_rows), "auto", [], None, "labels with numbers")
    if len(rows[0]) == 1 and column is None and all(_number(row[0]) is not None for row in rows):
        numbers = [_must_be_number(row[0]) for row in rows]
        if sum(numbers) <= 1 + 1e-6 and len(numbers) > 1:
            return Upload(editor_text(list(range(len(numbers))), numbers), "auto", [], None, "numbers")
    return _count_column(rows, column)


def _csv_rows(text: str) -> list[list[str]]:
    try:
        first = text.lstrip("\n").split("\n", 1)[0]
        delimiter = max(",;\t", key=first.count)
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True) if any(row)]
    except csv.Error as error:
        raise ex.errors.FileError(f"the file must be CSV or JSON that can be read, got: {error}") from None
    if not rows or "\0" in text:
        raise ex.errors.FileError(
            "the file must be CSV or JSON with a prior or a column of answers, got neither"
        )
    return rows


def _labelled(rows: list[list[str]]) -> tuple[list[Any], list[float]] | None:
    """The labels and numbers of a file that has just these, with a header or without."""
    head = [cell.strip().lower() for cell in rows[0]]
    named = [k for k, cell in enumerate(head) if cell in NUMBER_NAMES]
    labels = [k for k, cell in enumerate(head) if cell in LABEL_NAMES]
    if named and labels:
        at, number_at, body = labels[0], named[0], rows[1:]
    elif len(head) == 2:
        at, number_at = 0, 1
        body = rows if _number(rows[0][1]) is not None else rows[1:]
        if len(body) < 2 or len({row[0] for row in body}) < len(body):
            return None  # an answer twice: two columns of data
    else:
        return None
    if not body or any(len(row) <= max(at, number_at) or _number(row[number_at]) is None for row in body):
        return None
    numbers = [_must_be_number(row[number_at]) for row in body]
    return [row[at].strip() for row in body], [int(x) if x == int(x) and x > 1 else x for x in numbers]


def _count_column(rows: list[list[str]], column: str | None) -> Upload:
    columns = [cell.strip() for cell in rows[0]]
    if len(set(columns)) < len(columns):
        raise ex.errors.FileError(
            "the columns of a CSV file must have distinct names in its first line, got some twice"
        )
    if column is not None and column not in columns:
        raise ex.errors.FileError(f"the column must be one of {columns[:8]}, got {column!r:.60}")
    cells = {
        name: [row[k].strip() if k < len(row) else "" for row in rows[1:]] for k, name in enumerate(columns)
    }
    # Unless one is named, the column with the fewest different answers, which a survey's question has.
    chosen = column if column is not None else min(columns, key=lambda name: _variety(cells[name]))
    values = cells[chosen]
    counts = Counter(value for value in values if value)
    if len(counts) < 2:
        raise ex.errors.PriorError(
            f"column {chosen!r:.60} must hold at least 2 different answers, got {len(counts)}"
        )
    if len(counts) > MOST_SYMBOLS:
        raise ex.errors.SizeError(
            f"a column must have at most {MOST_SYMBOLS} different answers, got {len(counts)} in {chosen!r:.60}; "
            "choose another column"
        )
    labels = sorted(counts, key=lambda label: (_number(label) is None, _number(label) or 0.0, label))
    empty = len(values) - sum(counts.values())
    words = f"{sum(counts.values()):,} answers counted in column “{chosen}”"
    words += f", {empty:,} empty ones left out" if empty else ""
    return Upload(editor_text(labels, [counts[label] for label in labels]), "counts", columns, chosen, words)


def _variety(values: list[str]) -> tuple[bool, int]:
    kinds = len(set(values) - {""})
    return kinds < 2, kinds


def _from_json(text: str) -> Table:
    try:
        document = parse_json(text)
    except ValueError as error:
        raise ex.errors.FormatError(
            f"a prior must be JSON that can be read, got an error: {str(error)[:120]}"
        ) from None
    if isinstance(document, dict) and document.get("format") == "extremal-mechanism":
        prior = ex.from_json(text).prior
        return Table(list(prior.labels), prior.probabilities.tolist())
    if isinstance(document, dict) and isinstance(document.get("prior"), dict | list):
        document = document["prior"]
    if isinstance(document, dict) and set(document) >= {"labels", "probabilities"}:
        labels, numbers = document["labels"], document["probabilities"]
    elif isinstance(document, dict):
        labels, numbers = list(document), list(document.values())
    elif document and all(isinstance(row, dict) for row in document):
        labels = [row.get("label") for row in document]
        numbers = [next((row[name] for name in NUMBER_NAMES if name in row), None) for row in document]
    else:
        labels, numbers = None, document
    wrong = not isinstance(numbers, list) or not all(
        isinstance(number, int | float) and not isinstance(number, bool) for number in numbers
    )
    if wrong or not isinstance(labels, list | None):
        raise ex.errors.PriorError(
            'a prior must be JSON like [0.5, 0.5] or {"yes": 0.5, "no": 0.5}, got something else'
        )
    return Table(labels, [float(number) for number in numbers])


def _number(text: str) -> float | None:
    """A decimal number, a percentage or a fraction such as 1/3."""
    text = text.strip()
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        above, slash, below = text.partition("/")
        return float(above) / float(below) if slash else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _must_be_number(text: str) -> float:
    number = _number(text)
    assert number is not None  # checked by the caller
    return number
