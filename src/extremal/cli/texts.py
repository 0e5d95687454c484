"""Numbers, labels and JSON from texts."""

from __future__ import annotations

import csv
from typing import Any

from extremal._json import parse_json as strict_json
from extremal.errors import FormatError, PriorError, ValuesError


def parse_json(text: str, what: str) -> Any:
    """The document in a text, if it is strict JSON: no member twice, no NaN, no number that is too large."""
    try:
        return strict_json(text)
    except ValueError as error:
        raise FormatError(
            f"{what} must be JSON that can be read",
            given=f"an error: {str(error)[:120]}",
            remedy="correct it",
        ) from None


def split_labels(text: str) -> list[str]:
    """Labels separated by commas; one that holds a comma stands in quotes, as in a CSV file."""
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        raise ValuesError(
            'must be like A,B,C, with "quotes" around those that hold commas',
            parameter="labels",
            given=f"{text!r:.60}",
        ) from None
    return [label.strip() for label in rows[0]] if rows and rows[0] else [""]


def pairs(rows: list[Any], names: tuple[str, ...]) -> dict[Any, Any]:
    found = {}
    for row in rows:
        value = next((row[name] for name in names if isinstance(row, dict) and name in row), None)
        if value is None or "label" not in row or isinstance(row["label"], list | dict):
            raise PriorError(
                f'every entry must be like {{"label": "yes", "{names[0]}": 0.5}}',
                given=f"{row!r:.60}",
            )
        if row["label"] in found:
            raise PriorError(
                "every label must be named once",
                given=f"{row['label']!r:.60} twice",
            )
        found[row["label"]] = value
    return found


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FormatError(
            f"not a number: {text!r:.60}",
        ) from None


def numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
