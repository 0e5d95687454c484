"""What stands beside reports and can tell the answers: the order of the records, and an index.

A mechanism protects an answer whose neighbours say nothing about it. In a file sorted by the private column a
thousand reports in a row are about the same answer, and together they tell it. So runs of equal answers are
counted, and compared with a random order of the same records.

The number U of runs of one answer, which a of n records have, is hypergeometric in a random order:
P(U = u) = C(a - 1, u - 1) C(n - a + 1, u) / C(n, a). So the chance of so few or so many runs is known exactly
at any size; no approximation can raise a false alarm.

Neighbours at a distance d are compared in the same way: records 0, d, 2d, …, then 1, d + 1, …, are in random order
if the records are. So orders that repeat themselves, like no no yes yes, are found by runs, too. All distances up to
half of the first records are tested; which of them are looked at is found by autocorrelation.

The index of a pandas frame or Series stays as it is, so it must not tell the private column either.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.types import Floats, Ints
from ..errors import ValuesError
from ..model.labels import as_list, is_hashable, is_missing
from .columns import Column, Kept, label_rows
from .drawing import Release

PACKAGE = __name__.partition(".")[0] + "."
FALSE_ALARM = 1e-6  # the chance that records in random order are taken for ordered ones
FEW_LABELS = (
    8  # up to which runs of single answers find every order; of more, halves of the alphabet are taken too
)
TOO_FEW = 20  # records: no order of them is as rare as a false alarm
SAMPLED = 1 << 16  # records of a column in memory that are looked at, once side by side and once far apart
LOOKS = (100, 10_000, None)  # rows that are compared; nearly every index differs in the first few
FIRST = 1 << 16  # records of a file whose distances are looked at
MOST_SYMBOLS = 64  # of a view whose distances are looked at; of a larger alphabet its halves are


class OrderWarning(UserWarning):
    """The order of the records tells their answers."""


@dataclass(eq=False)
class Runs:
    """How often each symbol occurs in a sequence, and in how many runs, piece after piece."""

    counts: Ints
    runs: Ints
    last: int = -1

    @classmethod
    def of(cls, symbols: int) -> Runs:
        return cls(np.zeros(symbols, dtype=np.int64), np.zeros(symbols, dtype=np.int64))

    def add(self, codes: NDArray[Any]) -> None:
        if not len(codes):
            return
        twice = codes.astype(np.intp) * 2  # and one more where a run begins
        twice[0] += int(codes[0]) != self.last
        twice[1:] += codes[1:] != codes[:-1]
        found = np.bincount(twice, minlength=2 * len(self.counts))
        self.counts += found[::2] + found[1::2]
        self.runs += found[1::2]
        self.last = int(codes[-1])

    def log_chance(self, both: bool) -> Floats:
        """For each symbol log P(as few runs as it has, or if `both` as many) in a random order, bounded from above.

        Away from the middle the ratio of neighbouring probabilities falls, so a tail is at most a geometric
        series. In the middle the bound is 1 and more.
        """
        there = self.counts > 0
        a, u = self.counts[there].astype(np.float64), self.runs[there].astype(np.float64)
        n = a.sum()
        b = n - a
        exact = _log_choose(a - 1, u - 1) + _log_choose(b + 1, u) - _log_choose(n, a)
        fewer = u * (u - 1) / ((a - u + 1) * (b + 2 - u))
        more = (a - u) * (b + 1 - u) / ((u + 1) * u)
        least = np.minimum(fewer, more) if both else fewer  # below 1 on the side on which the number lies
        return np.where(least < 1, exact - np.log1p(-np.minimum(least, 0.999999)), 0.0)


def _log_choose(n: Any, k: Any) -> Any:
    return _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)


@np.vectorize  # over symbols, so never long; scipy's would be the only use of scipy in a release
def _log_factorial(n: float) -> float:
    return math.lgamma(n + 1)


@dataclass(eq=False)
class Watch:
    """The answers of one release, as they pass: their number, and their runs in several views."""

    name: Any
    views: list[tuple[NDArray[np.uint32] | None, Runs]] = field(default_factory=list)
    first: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.uint32))

    @classmethod
    def of(cls, release: Release) -> Watch:
        """Views: the answer itself, or its block; each column of several; the halves of a large alphabet."""
        sampler, product = release.sampler, release.product
        first = None if sampler.blocks is None else sampler.block_rows
        views: list[tuple[NDArray[np.uint32] | None, Runs]] = [(first, Runs.of(len(sampler.weights) + 1))]
        tables = []
        for k, part in enumerate(() if product is None else product.parts):
            rows = [part.row_of[label[k]] for label in sampler.inputs]  # type: ignore[index]
            tables.append(np.array([*rows, len(part.inputs)], dtype=np.uint32))
        if len(sampler.inputs) > FEW_LABELS:
            tables += sampler.alphabet.halves
        views += [(table, Runs.of(int(table.max()) + 1)) for table in tables]
        return cls(release.name, views)

    def add(self, rows: NDArray[Any]) -> None:
        if len(self.first) < FIRST:
            self.first = np.concatenate([self.first, rows[: FIRST - len(self.first)]])
        for table, runs in self.views:
            runs.add(rows if table is None else table[rows])

    @property
    def counts(self) -> Ints:
        """How often each answer, or each block of answers, occurred."""
        return self.views[0][1].counts[:-1]

    def ordered(self, both: bool = True) -> bool:
        """Whether equal answers stand together, or if `both` apart or at equal distances, more than at random."""
        if not self.counts.any() or self.views[0][1].counts.sum() <= TOO_FEW:
            return False
        chances = np.concatenate([runs.log_chance(both) for _, runs in self.views])
        # Any of these may have raised the alarm, in either direction; half of all alarms are for distances.
        if np.any(chances < np.log(FALSE_ALARM / (4 * len(chances)))):
            return True
        return both and self._repeated()

    def _repeated(self) -> bool:
        """Whether answers at some distance are alike, or different, more often than in a random order."""
        count = len(self.first)
        views = [
            (self.first if table is None else table[self.first], len(runs.counts))
            for table, runs in self.views
            if len(runs.counts) <= MOST_SYMBOLS
        ]
        if count <= TOO_FEW or not views:
            return False
        tests = 2 * sum(symbols for _, symbols in views) * (count // 2)
        return any(
            np.any(_at_distance(codes, symbols, d).log_chance(True) < np.log(FALSE_ALARM / 2 / tests))
            for codes, symbols in views
            for d in _distances(codes, symbols)
        )


def _at_distance(codes: NDArray[Any], symbols: int, distance: int) -> Runs:
    """The runs of every distance-th record, one class of them after the other."""
    order = np.argsort(np.arange(len(codes)) % distance, kind="stable")
    runs = Runs.of(symbols)
    runs.add(codes[order])
    return runs


def _distances(codes: NDArray[Any], symbols: int) -> list[int]:
    """For each symbol the distances at which it is most and least often followed by itself."""
    count = len(codes)
    pairs = count - np.arange(1, count // 2 + 1)
    found = set()
    for symbol in range(symbols):
        there = (codes == symbol).astype(np.float64)
        if 0 < there.sum() < count:
            spectrum = np.fft.rfft(there - there.mean(), 1 << (2 * count - 1).bit_length())
            alike = np.fft.irfft(np.abs(spectrum) ** 2)[1 : count // 2 + 1] / np.sqrt(pairs)
            found |= {int(alike.argmax()) + 1, int(alike.argmin()) + 1}
    return sorted(found)


def see(watches: Sequence[Watch], columns: Sequence[Column], kept: Kept) -> None:
    """Show the answers of some records to the watches of their releases."""
    for one, column in zip(watches, columns, strict=True):
        codes = column.codes if kept is None else column.codes[kept]
        one.add(label_rows(codes, column.rows))


def warn_if_ordered(releases: Sequence[Release], columns: Sequence[Column], kept: Kept) -> None:
    """Warn where a column in memory is ordered, judged by a part of it.

    Neighbours at the start, and a sample in the order of the column: the former find clusters, the latter that it is
    sorted.
    A column that alternates is no reason to warn: in memory it is an example.
    """
    for release, column in zip(releases, columns, strict=True):
        codes = column.codes if kept is None else column.codes[kept]
        warn_if_codes_ordered(release, codes, column.rows)


def warn_if_codes_ordered(release: Release, codes: NDArray[Any], rows: NDArray[np.uint32]) -> None:
    """Warn where the codes of one release are ordered; `rows` gives the row of each code."""
    if len(codes) <= TOO_FEW:
        return
    for part in _parts(codes):
        one = Watch.of(release)
        one.add(label_rows(part, rows))
        if _warned(one):
            break


def warn_if_numbers_ordered(numbers: NDArray[np.int64], answers: int) -> None:
    """The same for answers given by their numbers, of which there may be too many to count each."""
    for part in _parts(numbers):
        met, codes = np.unique(part, return_inverse=True)
        halves = np.append(2 * met >= answers, False).astype(np.uint32)
        one = Watch(None, [(None, Runs.of(len(met) + 1)), (halves, Runs.of(2))])
        one.add(codes)
        if _warned(one):
            break


def _parts(codes: NDArray[Any]) -> list[NDArray[Any]]:
    parts = [codes[:SAMPLED]]
    if len(codes) > SAMPLED:  # at random, since records at equal distances can repeat a pattern
        some = np.random.default_rng().integers(0, len(codes), SAMPLED)
        parts.append(codes[np.unique(some)])
    return parts


def _warned(watch: Watch) -> bool:
    """Whether the answers stand together, of which a warning then tells."""
    if not watch.ordered(both=False):
        return False
    of = "" if watch.name in (None, "") else f" of {watch.name!r}"
    warnings.warn(
        f"the order of the records reveals answers{of}: they are sorted, or equal answers are next to "
        "each other; shuffle the records before you privatise and publish them",
        OrderWarning,
        stacklevel=outside(),
    )
    return True


def outside() -> int:
    """The level, for a warning of the function that asks, of the code that called the library."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


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
