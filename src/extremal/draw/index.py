"""The index of a pandas frame or Series: it stays as it is, so it must not tell the private column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ValuesError
from ..model.labels import as_list, is_hashable, is_missing

LOOKS = (100, 10_000, None)  # rows that are compared; nearly every index differs in the first few


def check_index(index: Any, releases: Sequence[tuple[Any, ...]], columns: Sequence[Any]) -> None:
    """Refuse an index, or a level of it, that has the name or the values of a private column.

    `releases` are the names that are drawn together, `columns` the Series of all of them in order. Values that are
    missing on either side do not count. Renamed values count as repeated: an index of 1 and 2 that stands for yes
    and no in every row tells as much.
    """
    import pandas

    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    everything = [*levels, index] if len(levels) > 1 else levels
    private = dict(zip([name for names in releases for name in names], columns, strict=True))
    for level in everything:
        named = set() if level.name is None else {level.name} & private.keys()
        # Row numbers come with every frame, and say nothing about it.
        numbers = isinstance(level, pandas.RangeIndex)
        for names in () if numbers and not named else releases:
            found = [name for name in names if name in named or _repeats(level, [private[name]])]
            if found or (len(names) > 1 and _repeats(level, [private[name] for name in names])):
                what = (found or [names])[0]
                raise ValuesError(
                    f"the index repeats the private column{'' if what is None else f' {what!r}'}",
                    remedy="use reset_index(drop=True)",
                )


def _repeats(level: Any, columns: Sequence[Any]) -> bool:
    """Whether the level has the values of a column, or of several as tuples, under these or other names."""
    for rows in LOOKS:
        left = as_list(level[:rows])
        parts = [as_list(column.iloc[:rows]) for column in columns]
        right = parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))
        pairs = [(x, y) for x, y in zip(left, right, strict=True) if _counts(x) and _counts(y)]
        distinct = set(pairs)
        renamed = len({x for x, _ in distinct}) == len(distinct) == len({y for _, y in distinct})
        equal = all(x == y for x, y in distinct)
        if not (equal or renamed):
            return False
    # Where no value occurs twice, any two columns are each other's renaming; and so are two that never change.
    return bool(pairs) and (equal or 1 < len(distinct) < len(pairs))


def _counts(value: Any) -> bool:
    """Whether a value can be compared: it is not missing, and can be a label."""
    return is_hashable(value) and not (
        any(map(is_missing, value)) if isinstance(value, tuple) else is_missing(value)
    )
