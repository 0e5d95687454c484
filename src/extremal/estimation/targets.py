"""Linear combinations of shares, as callers give them: labels to sum over, coefficients, scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._common.types import Floats
from .._common.words import brief, shorten
from ..errors import OptionError, ValuesError
from ..model.labels import Labels, as_list
from .labels import label_finder


def statements(targets: Floats) -> int:
    """Over how many statements the error of simultaneous intervals is divided.

    Of two answers there is one: shares sum to 1, so every combination is a + b times the share of the first, and its
    interval is right where that share's is.
    """
    return 1 if targets.shape[1] == 2 else len(targets)


def target_of(labels: Labels, coefficients: Any) -> Floats:
    """The coefficient of every label: 1 for those to sum over, or those of a mapping label -> coefficient."""
    target = np.zeros(len(labels))
    if isinstance(coefficients, str | bytes) or not isinstance(coefficients, Iterable):
        raise ValuesError(
            "a group must be a list of labels or a mapping label -> coefficient",
            given=f"{coefficients!r}",
            remedy="one label is a list of one",
        )
    items = coefficients.items() if isinstance(coefficients, Mapping) else ((x, 1.0) for x in coefficients)
    find = label_finder(labels)
    for label, value in items:
        place = find(label)
        if place < 0 or not is_finite(value):
            raise ValuesError(
                f"a group must hold input labels, of {shorten(labels)}, with finite coefficients",
                given=f"{label!r}: {value!r}",
                remedy="correct it",
            )
        target[place] = value
    return target


def score_target(labels: Labels, scores: Any) -> Floats:
    """The score of every label: of a mapping or a list, else the labels themselves, which must be numbers."""
    if scores is None:
        return label_numbers(labels)
    if isinstance(scores, Mapping):
        find = label_finder(labels)
        found: list[Any] = [None] * len(labels)
        for label, value in scores.items():
            place = find(label)
            if place < 0:
                raise OptionError(
                    f"must be for the labels {shorten(labels)}", parameter="scores", given=brief(label)
                )
            found[place] = value
        absent = [label for label, value in zip(labels, found, strict=True) if value is None]
        if absent:
            raise OptionError(
                "must cover every label", parameter="scores", given=f"none for {shorten(absent, 3)}"
            )
        values: Sequence[Any] = found
    else:
        values = as_list(scores)
    if len(values) != len(labels) or not all(map(is_finite, values)):
        raise OptionError(
            f"must be a finite number for each of the {len(labels)} labels",
            parameter="scores",
            given=repr(scores)[:60],
            remedy="give a mapping label -> number",
        )
    return np.array(values, dtype=np.float64)


def label_numbers(labels: Labels) -> Floats:
    """The labels as numbers, also where they are written as text."""
    numbers = [_number(label) for label in labels]
    if None in numbers:
        raise OptionError(
            "must be given where labels are not numbers",
            parameter="scores",
            given=shorten(labels),
            remedy='e.g. `scores={"no": 0, "yes": 1}`',
        )
    return np.array(numbers, dtype=np.float64)


def _number(label: Any) -> float | None:
    """A label as a number, also one that is written as text."""
    try:
        value = float(label) if not isinstance(label, bool | tuple) else math.nan
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def is_finite(value: Any) -> bool:
    """Whether it is a number, and finite; text and truth values are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond doubles
        return False
