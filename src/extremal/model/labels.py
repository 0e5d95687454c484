"""Labels: distinct hashable values in an order, and columns of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from itertools import product
from typing import Any

import numpy as np

from .._common.frames import eager_frame
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


def count_values(values: Iterable[Any]) -> dict[Hashable, int]:
    """How often each value occurs in a list, array or column; a missing value is refused with its count."""
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise PriorError(
            "must be a column of labels",
            parameter="values",
            given=repr(values)[:80],
            remedy="give a list of values, or counts to `Prior.from_counts(...)`",
        )
    if len(getattr(values, "shape", (0,))) != 1:
        raise PriorError(
            "must be one column",
            parameter="values",
            given=f"shape {getattr(values, 'shape', None)}",
            remedy="choose a column of it",
        )
    try:
        counts: dict[Hashable, int] = Counter(as_list(values))
    except TypeError:
        raise PriorError(
            "must be hashable",
            parameter="values",
            given="one that is not",
            remedy="use strings, numbers or tuples",
        ) from None
    missing = sum(times for value, times in counts.items() if is_missing(value))
    if missing:
        raise PriorError(
            "must not be missing",
            parameter="values",
            given=f"{missing} missing values",
            remedy="drop them or name them, e.g. 'no answer'",
        )
    return dict(counts)


def count_combinations(
    frame: Any, columns: Sequence[Any], labels: Sequence[Iterable[Any]] | None
) -> dict[Hashable, int]:
    """How often each combination of the values of several columns occurs: those that do, or all of the labels."""
    import narwhals

    eager = eager_frame(frame)
    names = [columns] if isinstance(columns, str) else list(columns)
    absent = [name for name in names if name not in eager.columns]
    if absent or len(set(names)) < 2 or len(set(names)) < len(names):
        raise PriorError(
            f"a joint prior must be of at least 2 different columns among {shorten(eager.columns, 20)}",
            given=names,
        )
    counted = eager.select(*names).group_by(*names).agg(narwhals.len().alias(_another(names)))
    counts = {tuple(map(plain_value, row[:-1])): int(row[-1]) for row in counted.rows()}
    gaps = sum(n for label, n in counts.items() if any(map(is_missing, label)))
    if gaps:
        raise PriorError(
            "must not be missing",
            parameter="values",
            given=f"{gaps} rows with missing values in {names}",
            remedy="drop them or name them, e.g. 'no answer'",
        )
    if labels is None:
        return {label: counts[label] for label in _in_order(counts)}
    if len(labels) != len(names):
        raise PriorError(
            f"must be one list for each of the {len(names)} columns",
            parameter="labels",
            given=len(labels),
        )
    symbols = list(product(*labels))
    strange = sorted(map(repr, counts.keys() - set(symbols)))
    if strange:
        raise PriorError(
            "every combination must be one of the labels",
            given=", ".join(strange[:5]),
            remedy="add to labels or drop them",
        )
    return {symbol: counts.get(symbol, 0) for symbol in symbols}


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


def _in_order(labels: Iterable[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=repr)  # engines count in any order: the prior must not depend on it


def _another(names: Sequence[Any]) -> str:
    name = "n"
    while name in names:
        name += "n"
    return name
