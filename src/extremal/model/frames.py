"""Frames of several libraries, through narwhals: columns together as one answer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import product
from typing import Any

from .._common.words import shorten
from ..errors import PriorError, ValuesError
from .labels import is_missing, plain_value


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


def eager_frame(frame: Any) -> Any:
    """The frame as a narwhals DataFrame, if it is one that holds its values."""
    import narwhals

    try:
        wrapped = narwhals.from_native(frame)
    except (TypeError, narwhals.exceptions.NarwhalsError) as error:
        raise ValuesError(
            "must be a pandas, polars or arrow table, or another eager frame with distinct column names",
            parameter="frame",
            given=f"{type(frame).__name__}: {' '.join(str(error).split())[:80]}",
            remedy="a column by itself is for the method privatize of a certified mechanism",
        ) from None
    if isinstance(wrapped, narwhals.LazyFrame):
        raise ValuesError(
            "must hold its values",
            parameter="frame",
            given=(
                f"a lazy {type(frame).__name__}: an engine may evaluate it more than once, "
                "and two draws of one record are two releases"
            ),
            remedy="collect it first, and for Spark use extremal.release.spark",
        )
    if any(isinstance(name, tuple) for name in wrapped.columns):
        raise ValuesError(
            "must be named by strings",
            parameter="columns",
            given="tuples",
            remedy="flatten the columns first",
        )
    return wrapped


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
