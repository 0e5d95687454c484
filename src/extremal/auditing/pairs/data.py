"""Observed (secret, report) pairs as numbers, and the events that are worth testing.

An event is a set of reports. Whoever looks only at whether it happened applies post-processing, which raises
no leakage: if an event leaks more than epsilon, some report in it does. So the first item of a list, or a
group of reports that favour one secret, may be tested in place of single reports.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._common.types import Bools, Floats, Ints
from ...errors import ValuesError
from ...model.labels import as_list

MOST_REPORTS = 40  # single reports that are tested
MOST_VIEWED = 10  # values of each part of a report
MOST_PARTS = 20  # parts of a report that are looked at
MOST_ITEMS = 20  # items that a report may hold at any place
MOST_GROUPS = 10  # secrets for which a group of reports is formed
TAILS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998)
CAUTION = 3.5  # standard errors by which a candidate is marked down: about those of the corrected bounds


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as codes of its distinct values, in order of appearance."""

    codes: Ints
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Event:
    """A set of reports (flags over the distinct ones) and the secret that it may favour."""

    what: str
    holds: Bools
    secret: int
    score: float
    report: int | None = None  # the code, if the event is a single report


def read_column(values: Any, what: str) -> list[Any]:
    """The values of a list, tuple, array, Series or arrow column, one a record."""
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise ValuesError(
            f"{what} must be a column with one value a record",
            given=repr(values)[:80],
            remedy="give a list",
        )
    return as_list(values)


def encode(values: Sequence[Any]) -> Coded:
    """Codes for the values as an observer sees them: types, order and nesting count."""
    number: dict[Hashable, int] = {}
    distinct: list[Any] = []
    codes = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        key = frozen(value)
        code = number.get(key)
        if code is None:
            code = number[key] = len(distinct)
            distinct.append(value)
        codes[i] = code
    return Coded(codes, tuple(distinct))


def frozen(value: Any) -> Hashable:
    """A hashable stand-in that is equal only for values of the same type, content and order."""
    if isinstance(value, str | bytes | int | bool):
        return (type(value).__name__, value)
    if isinstance(value, np.generic):
        return frozen(value.item()) if value.dtype.kind not in "mM" else ("time", str(value))
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else value)
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(frozen, value))
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, frozen(value.ravel().tolist()))
    if isinstance(value, Mapping):
        return ("mapping", *((frozen(k), frozen(v)) for k, v in value.items()))
    if isinstance(value, Set):  # has no order of its own
        return ("set", *sorted(map(repr, map(frozen, value))))
    try:
        hash(value)
    except TypeError:
        return (type(value).__name__, repr(value))
    return (type(value).__name__, value)


def events(secrets: Ints, reports: Ints, distinct: Sequence[Any], ahead: float) -> list[Event]:
    """What to test, chosen from these pairs alone: single reports, parts, groups, and tails of numbers.

    `ahead` is how many times as many pairs the tests will have. The choice may be as greedy as it likes: the
    pairs it was made from take no part in the tests.
    """
    whole = Counts.of(secrets, reports, ahead)
    singles = []
    for code, secret, score in whole.best()[:MOST_REPORTS]:
        holds = np.zeros(len(distinct), dtype=np.bool_)
        holds[code] = True
        singles.append(Event(f"the report is {shown(distinct[code])}", holds, secret, score, code))
    found = []
    for name, view, values in views(distinct):
        for code, secret, score in Counts.of(secrets, view[reports], ahead).best()[:MOST_VIEWED]:
            if values[code] is not ABSENT:
                found.append(Event(f"{name} {shown(values[code])}", view == code, secret, score))
    found += _groups(whole, len(distinct))
    for name, numbers in number_columns(distinct):
        found += _tails(name, numbers, secrets, reports, ahead)
    # Every test costs the others some of their strength. So what promises nothing is left out, but a few
    # different reports are all tested: each of them is to have its bound.
    if len(distinct) > MOST_REPORTS:
        singles = [event for event in singles if event.score > 0]
    return [*singles, *(event for event in found if event.score > 0)]


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each secret came with each value: parallel arrays over the combinations that occurred."""

    secret: Ints
    value: Ints
    both: Ints
    of_secret: Ints
    of_value: Ints
    total: int
    ahead: float

    @classmethod
    def of(cls, secrets: Ints, values: Ints, ahead: float) -> Counts:
        width = int(values.max()) + 1
        combined, both = np.unique(secrets * width + values, return_counts=True)
        return cls(
            combined // width,
            combined % width,
            both,
            np.bincount(secrets)[combined // width],
            np.bincount(values)[combined % width],
            len(secrets),
            ahead,
        )

    def best(self) -> list[tuple[int, int, float]]:
        """(value, the secret it favours most, score) for every value, the most promising first."""
        lift = np.log(self.both * self.total / (self.of_secret * self.of_value))
        score = lift - CAUTION / np.sqrt(self.both * self.ahead)
        order = np.lexsort((-score, self.value))
        first = order[np.concatenate(([True], np.diff(self.value[order]) > 0))]
        first = first[np.argsort(-score[first], kind="stable")]
        return list(
            zip(self.value[first].tolist(), self.secret[first].tolist(), score[first].tolist(), strict=True)
        )


def _groups(counts: Counts, distinct: int) -> list[Event]:
    """For the most promising secrets the reports that favour them, as many as give the best score together."""
    order = np.lexsort((-counts.both / counts.of_value, counts.secret))
    starts = np.flatnonzero(np.diff(counts.secret[order], prepend=-1))
    found = []
    for mine in np.split(order, starts[1:]):
        both, all_of = np.cumsum(counts.both[mine]), np.cumsum(counts.of_value[mine])
        lift = np.log(both * counts.total / (counts.of_secret[mine[0]] * all_of))
        score = lift - CAUTION / np.sqrt(both * counts.ahead)
        last = int(np.argmax(score))
        if last > 0:  # else a single report, which is tested anyway
            found.append((float(score[last]), mine[: last + 1]))
    found.sort(key=lambda group: -group[0])
    groups = []
    for best, members in found[:MOST_GROUPS]:
        holds = np.zeros(distinct, dtype=np.bool_)
        holds[counts.value[members]] = True
        what = f"the report is one of {len(members)} that favour it"
        groups.append(Event(what, holds, int(counts.secret[members[0]]), best))
    return groups


def number_columns(distinct: Sequence[Any]) -> list[tuple[str, Floats]]:
    """(name, number of each distinct report, NaN for none) for reports, or parts of them, of many numbers."""
    columns = [("the report", list(distinct))]
    parts = [_parts(report) for report in distinct]
    places = list(dict.fromkeys(place for each in parts for place in each))[:MOST_PARTS]
    columns += [(f"item {place!r} of the report", [each.get(place) for each in parts]) for place in places]
    found = []
    for name, values in columns:
        numbers = np.array([_number(value) for value in values])
        if np.count_nonzero(np.isfinite(numbers)) > MOST_REPORTS:
            found.append((name, numbers))
    return found


def _tails(name: str, numbers: Floats, secrets: Ints, reports: Ints, ahead: float) -> list[Event]:
    """Events that a number is at most, or at least, one of its quantiles: for reports that rarely repeat."""
    seen = numbers[reports]
    seen = seen[np.isfinite(seen)]
    if len(seen) == 0:
        return []
    occurred = np.bincount(secrets)
    found = []
    limits = [(t, numbers <= t, "at most") for t in np.unique(np.quantile(seen, TAILS, method="lower"))]
    limits += [(t, numbers >= t, "at least") for t in np.unique(np.quantile(seen, TAILS, method="higher"))]
    for limit, holds, word in limits:
        held = holds[reports]
        both, happened = np.bincount(secrets[held], minlength=len(occurred)), int(np.count_nonzero(held))
        some = np.flatnonzero(both)
        lift = np.log(both[some] * len(secrets) / (occurred[some] * happened))
        score = lift - CAUTION / np.sqrt(both[some] * ahead)
        best = int(np.argmax(score))
        found.append(Event(f"{name} is {word} {limit:.6g}", holds, int(some[best]), float(score[best])))
    return sorted(found, key=lambda event: -event.score)[:MOST_VIEWED]


def _number(value: Any) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return math.nan
    try:
        return float(value)
    except (OverflowError, TypeError):  # an integer beyond doubles, a complex number
        return math.nan


ABSENT = object()  # the value of a part that a report does not have


def views(distinct: Sequence[Any]) -> list[tuple[str, Ints, tuple[Any, ...]]]:
    """(name, code of each distinct report, values of the codes) for parts of reports, order left out, items, length."""
    parts = [_parts(report) for report in distinct]
    if not any(parts):
        return []
    places = list(dict.fromkeys(place for each in parts for place in each))[:MOST_PARTS]
    found = []
    for place in places:
        coded = encode([each.get(place, ABSENT) for each in parts])
        found.append((f"item {place!r} of the report is", coded.codes, coded.values))
    unordered = encode([tuple(sorted(map(repr, each.values()))) for each in parts])
    if 1 < len(unordered.values) < len(distinct):
        values = tuple(", ".join(items) for items in unordered.values)
        found.append(("in any order, the report is", unordered.codes, values))
    found += _holding(parts)
    lengths = encode([len(each) for each in parts])
    if len(lengths.values) > 1:
        found.append(("the number of items in the report is", lengths.codes, lengths.values))
    return [view for view in found if len(view[2]) > 1]


def _holding(parts: Sequence[Mapping[Hashable, Any]]) -> list[tuple[str, Ints, tuple[Any, ...]]]:
    """For the items that most reports hold, whether a report holds them at any place."""
    held = [{frozen(item): item for item in each.values()} for each in parts]
    often = Counter(key for each in held for key in each)
    item = {key: value for each in held for key, value in each.items()}
    return [
        (
            "at any place, the report holds",
            np.array([key in each for each in held], dtype=np.int64),
            (ABSENT, item[key]),
        )
        for key, _ in often.most_common(MOST_ITEMS)
    ]


def _parts(report: Any) -> dict[Hashable, Any]:
    """The items of a list, tuple, array or mapping by their place; of anything else none."""
    if isinstance(report, np.ndarray):
        report = report.tolist()
    if isinstance(report, list | tuple):
        return dict(enumerate(report))
    if isinstance(report, Mapping):
        return dict(report)
    return {}


def shown(value: Any) -> str:
    """A value for a sentence, cut to a readable length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
