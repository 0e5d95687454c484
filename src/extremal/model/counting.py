"""How often each label or combination of labels occurs, and values that are no label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import product
from typing import Any

from .._common import checks
from .._common.frames import eager_frame
from .._common.words import shorten
from ..errors import PriorError
from .labels import as_list, check_labels, is_missing, plain_value


class Unknown:
    """Values that are no label: how many there are, and what helps to find them.

    Never the values themselves. They may be true answers, and what is said of them goes to logs.
    """

    def __init__(self, labels: Iterable[Any]) -> None:
        self.rows = self.missing = self.alike = 0
        self.first: int | None = None  # record, counted from 1
        self._labels = labels

    def add(self, value: Any, count: int = 1) -> None:
        """Count a value that so many rows have."""
        parts = value if isinstance(value, tuple) else (value,)
        self.rows += count
        if any(map(is_missing, parts)):
            self.missing += count
        elif _plain(value) in self._written:
            self.alike += count

    def among(self, total: object) -> str:
        """What was given in so many rows instead of labels."""
        kinds = ((self.missing, "missing"), (self.alike, "like a label but for case, spaces or type"))
        said = ", ".join(f"{count} {what}" for count, what in kinds if count)
        first = "" if self.first is None else f", first in record {self.first}"
        return f"others in {self.rows} of {total} rows{first}{f' ({said})' if said else ''}"

    @cached_property
    def _written(self) -> set[str]:
        return set(map(_plain, self._labels))


def _plain(value: Any) -> str:
    return " ".join(str(value).split()).casefold()


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


def count_column(values: Iterable[Any], labels: Iterable[Any] | None) -> dict[Hashable, int]:
    """How often each value of a column occurs: those that do, sorted if they can be, or all of the labels in order."""
    observed = count_values(values)
    names: Sequence[Hashable]
    if labels is None:
        try:
            names = sorted(observed)  # type: ignore[type-var]
        except TypeError:
            names = list(observed)
    else:
        names = check_labels(labels, None, "prior")
        remedy = "add them to labels or drop them from the data"
        checks.labels(observed, "values", names, remedy=remedy, error=PriorError)
    if not names:
        raise PriorError(
            "must not be empty: there is nothing to learn a prior from",
            parameter="values",
            remedy="give data",
        )
    return {name: observed.get(name, 0) for name in names}


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
    # The name of the counts is longer than that of any column.
    counted = eager.select(*names).group_by(*names).agg(narwhals.len().alias("n".join(["", *names, ""])))
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


def _in_order(labels: Iterable[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=repr)  # engines count in any order: the prior must not depend on it
