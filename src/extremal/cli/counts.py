"""Counts of answers from JSON or CSV, whatever separates its columns."""

from __future__ import annotations

import csv
import io
from typing import Any

from extremal.errors import PriorError

from .texts import is_number, number, numeric, pairs, parse_json

DELIMITERS = ",;\t|"


def parse_counts(text: str, delimiter: str | None = None) -> dict[Any, float]:
    """Counts from JSON, label -> count, or from CSV with two columns, label and count."""
    if text.lstrip()[:1] in ("{", "["):
        document = parse_json(text, "counts")
        if isinstance(document, list):
            document = pairs(document, ("count", "counts", "n"))
        if isinstance(document, dict) and all(is_number(n) for n in document.values()):
            return document
        raise PriorError(
            'must be JSON like {"never": 120, "once": 30}',
            parameter="counts",
            given="something else",
        )
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise PriorError(
            "--delimiter must be one character and no quote",
            given=f"{delimiter!r}",
            remedy="e.g. ';'",
        )
    rows = _rows(text, delimiter or _delimiter(text))
    if rows and len(rows[0][1]) == 2 and not numeric(rows[0][1][1]):
        rows = rows[1:]  # a header
    found: dict[Any, float] = {}
    for line, row in rows:
        if len(row) != 2 or not numeric(row[1]):
            raise _refused(f"line {line}: {(text.splitlines()[line - 1 : line] or [''])[0]!r:.60}")
        if row[0] in found:
            raise PriorError(
                "every label must be counted once",
                given=f"{row[0]!r:.60} again in line {line}",
                remedy="add up its counts",
            )
        found[row[0]] = number(row[1])
    return found


def _rows(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """The records that are not empty, each with the number of its line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise _refused(f"line {reader.line_num}: {error}") from None


def _delimiter(text: str) -> str:
    """What splits the first line into two columns; a comma if nothing does."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    for choice in DELIMITERS:
        try:
            if len(next(csv.reader([first], delimiter=choice, strict=True), [])) == 2:
                return choice
        except csv.Error:
            continue
    return ","


def _refused(what: str) -> PriorError:
    return PriorError(
        "counts must be JSON like {label: count}, or CSV with two columns, label and count; got something else in "
        + what
    )
