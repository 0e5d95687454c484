"""Which label a value stands for, as it comes from memory or from a text file: 1 and "1" are the same answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.json import parse_json
from .._common.types import Ints
from .._common.words import brief, shorten
from ..certification.stored import decode_label
from ..draw.columns import Alphabet
from ..draw.containers import as_column
from ..errors import ValuesError
from ..model.labels import Labels, as_list, is_hashable, is_missing
from ..release.files.csv import finder


def label_finder(labels: Labels) -> Callable[[Any], int]:
    """The place of the label that a value is or is written like; -1 if there is none.

    Where two labels are written alike, like 1 and "1", only equal values count.
    """
    exact = {label: i for i, label in enumerate(labels)}
    texts = {_text(label): i for label, i in exact.items()}
    alike: Callable[[str], int] | None = None
    if len(texts) == len(labels) and not any(isinstance(label, tuple) for label in labels):
        alike = finder(Alphabet(labels, labels))

    def find(value: Any) -> int:
        if not is_hashable(value):
            return -1
        place = exact.get(value, -1)
        if place >= 0 or is_missing(value) or len(texts) < len(labels):
            return place
        text = _text(value)
        place = texts.get(text, -1)
        if place < 0 and alike is not None and isinstance(text, str):
            found = alike(text)
            place = found if found < len(labels) else -1
        if place < 0 and isinstance(text, str) and text[:1] in ("[", "{"):
            place = exact.get(_exported(text), -1)
        return place

    return find


def _exported(text: str) -> Any:
    """The label that an export of a survey writes as JSON: a combination or a number with decimals; None if none."""
    try:
        return decode_label(parse_json(text))
    except ValueError:
        return None


def _text(value: Any) -> Any:
    """How a value is written in a text file; of a combination, each part."""
    if isinstance(value, tuple):
        return tuple(_text(part) for part in value)
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def report_codes(outputs: Labels, reports: Any) -> Ints:
    """For each report the place of its output label."""
    column = as_column(Alphabet(outputs, outputs), reports)
    last = np.array(len(column.rows) - 1, dtype=column.codes.dtype)
    codes: Ints = column.rows[np.minimum(column.codes, last)].astype(np.int64)
    other = np.flatnonzero(codes == len(outputs))
    if len(other):
        codes[other] = _matched(outputs, list(column.values_at(other)), len(codes))
    return codes


def _matched(outputs: Labels, values: list[Any], total: int) -> Ints:
    """Codes of values that are not labels but written like labels; one line that names those that are not."""
    find = label_finder(outputs)
    known: dict[Any, int] = {}
    unknown: dict[str, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for k, value in enumerate(values):
        hashable = is_hashable(value)
        code = known.get(value) if hashable else -1
        if code is None:
            code = known[value] = find(value)
        codes[k] = code
        if code < 0:
            name = "missing" if is_missing(value) else brief(value)
            unknown[name] = unknown.get(name, 0) + 1
    if unknown:
        often = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{name} ({times})" for name, times in often[:5])
        more = f", {len(often) - 5} more values" if len(often) > 5 else ""
        raise ValuesError(
            f"every report must be one of the output labels {shorten(outputs)}",
            given=f"others in {sum(unknown.values())} of {total} rows: {named}{more}",
            remedy="correct or drop them, or load the mechanism that made these reports",
        )
    return codes


def factorize(values: Any, what: str) -> tuple[Ints, Labels]:
    """Numbers of the different values of a column, in an order that does not depend on that of the rows."""
    codes: dict[Any, int] = {}
    try:
        listed = [values] if isinstance(values, str | bytes) else as_list(values)
        rows = np.array([codes.setdefault(value, len(codes)) for value in listed], dtype=np.int64)
    except TypeError:
        raise ValuesError(
            "must be a column of text, numbers or truth values", parameter=what, given=brief(values)
        ) from None
    missing = [code for value, code in codes.items() if is_missing(value)]
    if missing:
        count = int(np.isin(rows, missing).sum())
        raise ValuesError(
            "must not be missing",
            parameter=what,
            given=f"{count} of {len(rows)} rows without a value",
            remedy='drop these rows, or name them, e.g. "no answer"',
        )
    labels = sorted_labels(codes)
    place = np.empty(len(codes), dtype=np.int64)
    place[[codes[label] for label in labels]] = np.arange(len(codes))
    return place[rows] if len(rows) else rows, tuple(labels)


def sorted_labels(values: Any) -> list[Any]:
    """The values in their own order where they have one, else by type and text."""
    try:
        return sorted(values)
    except (
        TypeError,
        ValueError,
        OverflowError,
    ):  # what is not ordered, or an int beyond doubles beside a float
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))
