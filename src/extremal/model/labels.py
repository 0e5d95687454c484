"""Labels: distinct hashable values in an order, and columns of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Set
from typing import Any

import numpy as np

from .._common.words import shorten
from ..errors import PriorError

Labels = tuple[Hashable, ...]


def check_labels(labels: Iterable[Any], size: int | None, what: str) -> Labels:
    """The labels as a tuple of distinct hashable Python values, one for each of `size` symbols if given."""
    if isinstance(labels, str | bytes | Set) or not isinstance(labels, Iterable):
        raise PriorError(
            f"labels of {what} must be a sequence with an order",
            given=repr(labels)[:80],
            remedy="give a list",
        )
    names = tuple(plain_value(label) for label in as_list(labels))
    if size is not None and len(names) != size:
        raise PriorError(
            f"{what} must have one label for each of its {size} symbols",
            given=f"{len(names)} labels",
            remedy="give as many, or none for 0, 1, 2, …",
        )
    try:
        distinct = set(names)
    except TypeError:
        bad = next(name for name in names if not is_hashable(name))
        raise PriorError(
            f"labels of {what} must be hashable",
            given=repr(bad)[:80],
            remedy="use strings, numbers or tuples",
        ) from None
    missing = [name for name in names if is_missing(name)]
    if missing:
        raise PriorError(
            f"labels of {what} must not be missing",
            given=f"{missing[0]!r}",
            remedy="name the missing answer, e.g. 'no answer'",
        )
    if len(distinct) < len(names):
        twice = [name for name, times in Counter(names).items() if times > 1]
        raise PriorError(
            f"labels of {what} must be distinct",
            given=f"{shorten(twice, 5)} more than once",
            remedy="rename them, or add up the probabilities of equal ones",
        )
    return names


def is_hashable(value: Any) -> bool:
    """Whether the value can be a label."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_missing(value: Any) -> bool:
    """None, NaN, NaT, and pandas' NA, which refuses to be compared."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def as_list(values: Iterable[Any]) -> list[Any]:
    """The values of a list, array, Series or arrow column as Python values; times of numpy stay as they are."""
    if isinstance(values, np.ndarray):
        return list(values if values.dtype.kind in "mM" else values.tolist())
    for convert in ("to_list", "to_pylist"):  # pandas and polars, arrow
        if hasattr(values, convert):
            return list(getattr(values, convert)())
    return list(values)


def plain_value(label: Any) -> Any:
    """A numpy scalar as the Python value it stands for; times stay, their Python values would lose digits."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label
