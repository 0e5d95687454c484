"""Observed (secret, report) pairs as numbers, the events that are worth testing, and bounds on what they leak.

An event is a set of reports. Whoever looks only at whether it happened applies post-processing, which raises
no leakage: if an event leaks more than epsilon, some report in it does. So the first item of a list, or a
group of reports that favour one secret, may be tested in place of single reports.

Bounds come from Clopper-Pearson limits whose errors add up to a stated level. All of one call hold at once with
probability at least 1 - alpha, for events that were chosen from other pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._common.types import Bools, Floats, Ints
from ..errors import ValuesError
from ..estimation.intervals import lower_limit, upper_limit
from ..model.labels import as_list, is_hashable
from ..model.prior import Prior

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
        problem = f"{what} must be a column with one value a record"
        raise ValuesError(problem, given=repr(values)[:80], remedy="give a list")
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
    return (type(value).__name__, value if is_hashable(value) else repr(value))


def events(secrets: Ints, reports: Ints, distinct: Sequence[Any], ahead: float) -> list[Event]:
    """What to test, chosen from these pairs alone: single reports, parts, groups, and tails of numbers.

    `ahead` is how many times as many pairs the tests will have. The choice may be as greedy as it likes: the
    pairs it was made from take no part in the tests.
    """
    whole = Counts.of(secrets, reports, ahead)
    singles = []
    for code, secret, score in whole.best()[:MOST_REPORTS]:
        holds = np.arange(len(distinct)) == code
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
        score = _score(self.both, self.of_secret, self.of_value, self.total, self.ahead)
        order = np.lexsort((-score, self.value))
        first = order[np.concatenate(([True], np.diff(self.value[order]) > 0))]
        first = first[np.argsort(-score[first], kind="stable")]
        return list(
            zip(self.value[first].tolist(), self.secret[first].tolist(), score[first].tolist(), strict=True)
        )


def _score(both: Ints, of_secret: Ints, of_value: Ints | int, total: int, ahead: float) -> Floats:
    """The logarithm of the lift, less some standard errors: the bound that may be hoped for."""
    lift = np.log(both * total / (of_secret * of_value))
    return np.asarray(lift - CAUTION / np.sqrt(both * ahead))


def _groups(counts: Counts, distinct: int) -> list[Event]:
    """For the most promising secrets the reports that favour them, as many as give the best score together."""
    order = np.lexsort((-counts.both / counts.of_value, counts.secret))
    starts = np.flatnonzero(np.diff(counts.secret[order], prepend=-1))
    found = []
    for mine in np.split(order, starts[1:]):
        both, all_of = np.cumsum(counts.both[mine]), np.cumsum(counts.of_value[mine])
        score = _score(both, counts.of_secret[mine[0]], all_of, counts.total, counts.ahead)
        last = int(np.argmax(score))
        if last > 0:  # else a single report, which is tested anyway
            found.append((float(score[last]), mine[: last + 1]))
    found.sort(key=lambda group: -group[0])
    groups = []
    for best, members in found[:MOST_GROUPS]:
        holds = np.isin(np.arange(distinct), counts.value[members])
        what = f"the report is one of {len(members)} that favour it"
        groups.append(Event(what, holds, int(counts.secret[members[0]]), best))
    return groups


def number_columns(distinct: Sequence[Any]) -> list[tuple[str, Floats]]:
    """(name, number of each distinct report, NaN for none) for reports, or parts of them, of many numbers."""
    columns = [("the report", list(distinct))]
    parts, places = _all_parts(distinct)
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
        score = _score(both[some], occurred[some], happened, len(secrets), ahead)
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


View = tuple[str, Ints, tuple[Any, ...]]


def views(distinct: Sequence[Any]) -> list[View]:
    """(name, code of each distinct report, values of the codes) for parts of reports, order left out, items, length."""
    parts, places = _all_parts(distinct)
    if not places:
        return []
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


def _holding(parts: Sequence[Mapping[Hashable, Any]]) -> list[View]:
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


def _all_parts(distinct: Sequence[Any]) -> tuple[list[dict[Hashable, Any]], list[Hashable]]:
    """The items of all reports, and the places that are looked at."""
    parts = [_parts(report) for report in distinct]
    return parts, list(dict.fromkeys(place for each in parts for place in each))[:MOST_PARTS]


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


class Met(NamedTuple):
    """For every event how often it came with its secret, how often at all, and how often its secret did, of `pairs`."""

    together: Ints
    happened: Ints
    occurred: Ints
    secrets: Ints  # the code of the secret
    pairs: int

    @classmethod
    def of(cls, s: Ints, r: Ints, chosen: Sequence[Event]) -> Met:
        """The counts for pairs of the codes of secret and report."""
        counts = np.zeros((3, len(chosen)), dtype=np.int64)
        for k, event in enumerate(chosen):
            held, mine = event.holds[r], s == event.secret
            counts[:, k] = [np.count_nonzero(held & mine), np.count_nonzero(held), np.count_nonzero(mine)]
        secrets = np.array([event.secret for event in chosen], dtype=np.int64)
        return cls(counts[0], counts[1], counts[2], secrets, len(s))


def better_read(met: Met) -> Bools:
    """For which events P(x|E) / P(x) has the smaller standard errors, P(E|x) / P(E) for the others.

    Decided by the pairs that choose the tests; relative errors of the two parts are added, as both are
    bounded.
    """
    j, k, m, n = (np.maximum(v, 1) for v in (met.together, met.happened, met.occurred, met.pairs))
    read = np.sqrt((1 - j / k) / j) + np.sqrt((1 - m / n) / m)
    other = np.sqrt((1 - j / m) / j) + np.sqrt((1 - k / n) / k)
    return read <= other


def bound_estimated(met: Met, chosen: Sequence[Event], reads: Bools, alpha: float) -> Floats:
    """log of the lift with both of its parts bounded: half the error for each.

    Where `reads`, P(x|E) from below over P(x) from above: given how often E happened, the number of times x
    came with it is binomial. Elsewhere P(E|x) from below over P(E) from above, in the same way.
    """
    bases = {
        event.secret if read else event.holds.tobytes() for read, event in zip(reads, chosen, strict=True)
    }
    trials = np.where(reads, met.happened, met.occurred)
    below = lower_limit(met.together, np.maximum(trials, 1), alpha / 2 / max(len(chosen), 1))
    above = upper_limit(
        np.where(reads, met.occurred, met.happened), met.pairs, alpha / 2 / max(len(bases), 1)
    )
    return _log_ratio(below, above)


def bound_drawn(met: Met, prior: Prior, alpha: float) -> Floats:
    """log of P(x|E) from below over P(x), which is known."""
    below = lower_limit(met.together, met.happened, alpha / max(len(met.together), 1))
    return _log_ratio(below, prior.probabilities[met.secrets])


def bound_given(met: Met, s: Ints, r: Ints, chosen: Sequence[Event], prior: Prior, alpha: float) -> Floats:
    """log of P(E|x) from below over P(E) from above, the secrets taken as they are.

    Given the secrets, reports are independent. P(E) = sum_x P(x) P(E|x) is bounded in two ways, each with a
    quarter of the error: secret by secret, and through the number of times E happened at all. That number is
    a sum of independent yes-or-no draws with mean n q, q = sum_x (n_x / n) P(E|x), and P(E) is at most
    max_x P(x) n / n_x times q. By Hoeffding (1956) such a sum falls to k <= n q - 1 no more often than a
    binomial one, so the Clopper-Pearson limit holds for q; all but one draw or all of them say nothing.
    """
    n, pi = np.bincount(s, minlength=prior.size), prior.probabilities
    masks = {event.holds.tobytes(): event for event in chosen}
    share = alpha / 4 / max(len(masks), 1)
    above = {}
    with np.errstate(divide="ignore"):
        ratio = float(np.max(pi * len(s) / n))
    for key, event in masks.items():
        hits = np.bincount(s[event.holds[r]], minlength=prior.size)
        single = pi @ np.where(n > 0, upper_limit(hits, np.maximum(n, 1), share / prior.size), 1.0)
        k = int(hits.sum())
        pooled = 1.0 if k >= len(s) - 1 else ratio * float(upper_limit(k, len(s), share))
        above[key] = min(float(single), pooled, 1.0)
    below = lower_limit(met.together, np.maximum(met.occurred, 1), alpha / 2 / max(len(chosen), 1))
    return _log_ratio(below, np.array([above[event.holds.tobytes()] for event in chosen]))


def _log_ratio(below: Floats, above: Floats) -> Floats:
    """log(below / above), and 0 where that shows nothing: a leakage is never negative."""
    ratio = np.divide(below, above, out=np.ones_like(below), where=(below > 0) & (above > 0))
    return np.log(np.maximum(ratio, 1.0))
