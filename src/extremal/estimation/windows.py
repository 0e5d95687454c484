"""Shares from reports that are a start and a step each (`lists.steps`).

The set of a report holds an answer z with probability Q + (P - Q) share(z), whatever the other shares are. The number
of sets that hold z is binomial, and (C_z / n - Q) / (P - Q) is an unbiased estimate of the share; Clopper and Pearson's
limits for the binomial, transformed, are limits for the share that hold for every number of reports. Sums over groups
of answers are means over reports of a number that each report has, so their standard errors are those of a mean. Codes
that are no answer have a share of 0. So how many of them a set holds is noise that is known, and a group takes as much
of it into its number as makes all answers together exactly 1: for large groups the error is several times smaller.
Where there are many of each number, the interval of a group is its mean plus and minus a quantile times its standard
error. Where there are few it is one that holds for every number of reports (Bentkus' inequality, module intervals).

Counting how many sets hold each answer, and how many answers of a group each set holds, looks at every member of every
set, n d of them. Where there are few steps it takes less to convolve: with h_i(b) the number of reports of step i and
start b, the number of sets that hold z is Σ_i Σ_b h_i(b) [z - b in D_i], a convolution of length p a step. The sums are
whole numbers far below 2^53, so rounding gives them exactly.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import bdtr, bdtrc

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Floats, Ints
from .._common.words import shorten
from ..errors import ValuesError
from ..lists.steps import Steps
from ..lists.windows import Windows
from ..model.labels import Labels
from .approximate import FEW, covering, pulls
from .interval_table import IntervalTable
from .intervals import (
    VARIANCE_SHARE,
    Ends,
    Spread,
    chernoff_above,
    lower_limit,
    normal_quantile,
    side_of,
    upper_limit,
)
from .likelihood import unexplained
from .promise import Promise, check_kind

CELLS = 1 << 22  # members of sets that are looked at together, or numbers that are transformed together
CONVOLVED = 10.0  # what a step costs for each number below the prime, as members of sets: two cores share it
GROUPED = 1 << 10  # members of the sets of a step, from which on its numbers are looked up once
WORKERS = min(2, os.cpu_count() or 1)  # of the two transforms of a step; each row's bits are the same


class Reports(NamedTuple):
    """Reports as numbers: their sets hold `size` numbers below the prime of the layout each."""

    layout: Steps
    size: int
    starts: Ints
    steps: Ints

    def held(self, numbers: Ints | None = None) -> Ints:
        """How many of the sets hold each of these numbers; all below the prime, if None."""
        prime = self.layout.prime
        if numbers is not None and len(numbers) <= self.size:
            places = (self.layout.places(self.steps, (z - self.starts) % prime) for z in numbers.tolist())
            return np.array([np.count_nonzero(place < self.size) for place in places], dtype=np.int64)
        counts = self._convolved() if self._convolves() else self._counted()
        counts = counts[:prime] + counts[prime:]
        return counts if numbers is None else counts[numbers]

    def members_held(self, member: Floats) -> Ints:
        """How many of the numbers with `member` 1 the set of each report holds."""
        out = np.empty(len(self.starts), dtype=np.int64)
        if self._convolves():
            group = rfft(member, self._length)
            for step, rows in self._by_step():
                both = irfft(group * rfft(self._first(step), self._length).conj(), self._length)
                starts = self.starts[rows]
                out[rows] = np.rint(both[starts] + both[starts - self.layout.prime])
            return out
        twice = np.concatenate([member, member])
        for rows, members in self._sets():
            out[rows] = np.rint(twice[members].sum(axis=1))
        return out

    def _counted(self) -> Ints:
        """How often each number from 0 to 2 p - 1 is a member, member by member."""
        counts = np.zeros(2 * self.layout.prime, dtype=np.int64)
        waiting: list[Ints] = []
        for _, members in self._sets():
            waiting.append(members.ravel())
            if sum(map(len, waiting)) >= CELLS:
                counts += np.bincount(np.concatenate(waiting), minlength=len(counts))
                waiting = []
        return counts + np.bincount(np.concatenate([*waiting, counts[:0]]), minlength=len(counts))

    def _convolved(self) -> Ints:
        """The same by convolutions."""
        prime, length = self.layout.prime, self._length
        total = np.zeros(length // 2 + 1, dtype=np.complex128)
        every, some = list(self._by_step()), max(1, CELLS // (2 * prime))
        for k in range(0, len(every), some):
            part = every[k : k + some]
            seen = [np.bincount(self.starts[rows], minlength=prime) for _, rows in part]
            spectra = rfft(
                np.stack([*seen, *(self._first(step) for step, _ in part)]), length, axis=1, workers=WORKERS
            )
            for one, other in zip(spectra[: len(seen)], spectra[len(seen) :], strict=True):
                total += np.multiply(one, other, out=one)
        return np.rint(irfft(total, length)[: 2 * prime]).astype(np.int64)

    def _convolves(self) -> bool:
        """Whether convolutions take less than counting member by member."""
        work = CONVOLVED * len(np.unique(self.steps)) * self.layout.prime
        return work < len(self.starts) * self.size

    @property
    def _length(self) -> int:
        """Of a transform in which nothing overlaps; powers of two are transformed a tenth faster than others."""
        return int(64 * next_fast_len(-(-2 * self.layout.prime // 64), real=True))

    def _first(self, step: int) -> Floats:
        """1 for each number that the first set of a step holds."""
        found = np.zeros(self.layout.prime)
        found[self.layout.numbers(step, np.arange(self.size))] = 1.0
        return found

    def _by_step(self) -> Iterator[tuple[int, Ints]]:
        """Each step, with the rows of its reports in the order of their starts: memory is then used in order, too."""
        order = np.lexsort((self.starts, self.steps))
        for rows in np.split(order, np.flatnonzero(np.diff(self.steps[order])) + 1):
            yield int(self.steps[rows[0]]), rows

    def _sets(self) -> Iterator[tuple[Ints, Ints]]:
        """Some rows at a time and the members of their sets, from 0 to 2 p - 2: modulo p."""
        n, places = len(self.starts), np.arange(self.size)
        most = max(1, CELLS // self.size)
        if n * self.size < GROUPED * len(np.unique(self.steps)):
            for rows in np.split(np.arange(n), range(most, n, most)):
                yield rows, self.layout.numbers(self.steps[rows, None], places) + self.starts[rows, None]
            return
        for step, every in self._by_step():
            first = np.sort(self.layout.numbers(step, places))
            for rows in np.split(every, range(most, len(every), most)):
                yield rows, first + self.starts[rows, None]


def sample_mean(
    values: Floats,
    times: Ints,
    most: float,
    least: float,
    largest: float,
    error: float,
    least_variance: float,
) -> tuple[float, ...]:
    """Mean, standard error and interval of numbers that came so often; it misses with chance about `error`.

    The standard error of a few numbers, which may all be equal, is at least that of the given variance.
    """
    n = float(times.sum())
    mean = float(values @ times) / n
    variance = float((values - mean) ** 2 @ times) / max(n - 1, 1)
    center = min(max(mean, least), largest)
    if variance > 0 and float(pulls(values[None], times / n)[0][0]) * n >= FEW:
        away = normal_quantile(error / 2) * math.sqrt(variance / n)
        return mean, math.sqrt(variance / n), center - away, center + away
    middle = (least + largest) / 2
    top = max(middle, most - middle) ** 2
    second = np.array([(values - middle) ** 2 @ times / n / top])
    second = chernoff_above(second, math.log(1 / (VARIANCE_SHARE * error)) / n) * top
    spread = Spread(*(np.array([x]) for x in (mean, 0.0, most, least, largest, middle, second[0])))
    upper, lower = side_of(spread.both_ways(), n, (1 - VARIANCE_SHARE) * error / 2) * (1.0, -1.0)
    return mean, math.sqrt(max(variance, least_variance) / n), float(lower), float(upper)


@one_thread
def estimate_windows(
    windows: Windows,
    reports: Any,
    labels: Iterable[Any] | None = None,
    confidence: float = 0.95,
    intervals: str = "each",
) -> IntervalTable:
    """The shares of answers, unbiased, with standard errors and intervals that hold for every number of reports.

    Examples
    --------
    >>> import extremal as ex
    >>> towns = [f"town {k}" for k in range(100)]
    >>> windows = ex.large.windows(towns, 3.0)
    >>> reports = windows.privatize(towns * 20, source=ex.randomness.SeededWords(1))
    >>> len(ex.large.estimate(windows, reports, ["town 7", "town 8"]))
    2

    Parameters
    ----------
    windows
        What the reports were drawn with.
    reports
        The whole numbers that `Windows.privatize` gave.
    labels
        The answers to estimate; all if None. A few answers take little time, however many there are.
    confidence
        Of the intervals.
    intervals
        "each": every interval covers the truth with this confidence by itself. "all": all of them together do.

    Notes
    -----
    An estimate may be negative: cutting it off would bias it. Shares are those of the population that people were drawn
    from; for the people themselves the intervals are wider than need be.
    """
    level = checks.confidence(confidence)
    kind = check_kind(intervals)
    found = split(windows, reports)
    chosen = tuple(windows.labels) if labels is None else tuple(labels)
    counts = found.held(None if labels is None else numbers_of(windows, chosen))[: len(chosen)]
    n = len(found.starts)
    own, other = windows.supports
    error = (1 - level) / (2 * (max(len(counts), 1) if kind == "all" else 1))
    seen = counts / n
    rate = np.clip(seen, other, own)  # what it can be; a share of 0 has noise, too
    kinds, kind_of = np.unique(rate, return_inverse=True)  # far fewer than answers
    low, high = (limit(n * kinds, n, error)[kind_of] for limit in (lower_limit, upper_limit))
    return IntervalTable(
        f"{len(counts)} shares from {n} reports",
        chosen,
        (seen - other) / (own - other),
        np.clip((low - other) / (own - other), 0.0, 1.0),
        np.clip((high - other) / (own - other), 0.0, 1.0),
        np.sqrt(rate * (1 - rate) / n) / (own - other),
        np.ones(len(counts), dtype=np.bool_),
        Promise(level, kind, exact=True),
        warning=unexplained(2 * min(_misfit(counts, len(counts), n, own, other), _uneven(found))),
    )


def _uneven(found: Reports) -> float:
    """How likely some step is drawn as often or as rarely, at most: whatever the answers are, all are alike."""
    kinds, drawn = found.layout.steps, np.unique(found.steps, return_counts=True)[1]
    drawn = np.append(drawn, 0) if len(drawn) < kinds else drawn
    return _misfit(drawn, kinds, len(found.steps), 1 / kinds, 1 / kinds)


def _misfit(counts: Ints, kinds: int, n: int, own: float, other: float) -> float:
    """How likely one of so many counts is as far beyond what shares of 0 and 1 lead to, at most."""
    if not len(counts):
        return 1.0
    few, many = float(bdtr(counts.min(), n, other)), float(bdtrc(counts.max() - 1, n, own))
    return min(1.0, kinds * (few + many))


@one_thread
def estimate_window_groups(
    windows: Windows, reports: Any, groups: Mapping[Any, Iterable[Any]], confidence: float = 0.95
) -> IntervalTable:
    """The shares of groups of answers, unbiased, with the standard errors of means over reports.

    Examples
    --------
    >>> import extremal as ex
    >>> towns = [f"town {k}" for k in range(100)]
    >>> windows = ex.large.windows(towns, 3.0)
    >>> reports = windows.privatize(towns * 20, source=ex.randomness.SeededWords(1))
    >>> len(ex.large.estimate_groups(windows, reports, {"north": towns[:50], "south": towns[50:]}))
    2

    Parameters
    ----------
    windows
        What the reports were drawn with.
    reports
        The whole numbers that `Windows.privatize` gave.
    groups
        The labels of the answers of each group, by its name. Groups may overlap.
    confidence
        Of each interval by itself, in the limit of many reports.
    """
    level = checks.confidence(confidence)
    found = split(windows, reports)
    n = len(found.starts)
    own, other = windows.supports
    means, errors, lower, upper = np.empty((4, len(groups)))
    size, unused = windows.size, windows.prime - windows.answers
    spare = np.zeros(windows.prime)
    spare[windows.answers :] = 1.0
    idle = found.members_held(spare) if unused else np.zeros(n, dtype=np.int64)
    for k, labels in enumerate(groups.values()):
        member = np.zeros(windows.prime)
        member[numbers_of(windows, tuple(labels))] = 1.0
        part = float(member.sum()) / windows.answers  # of the spare codes
        numbers = found.members_held(member) + part * idle
        held_by, times = np.unique(numbers, return_counts=True)
        # A group of size g is held `other` g times on average if its share is 0, own - other more if it is 1.
        none = (member.sum() + part * unused) * other
        most = min(float(member.sum()), size) + part * min(unused, size)
        largest = none + own - other
        mean, errors[k], low, high = sample_mean(
            held_by, times, most, none, largest, 1 - level, other * (1 - other)
        )
        means[k], lower[k], upper[k] = (x - none for x in (mean, low, high))
    means, errors, lower, upper = (x / (own - other) for x in (means, errors, lower, upper))
    bounds = covering(Ends(np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)), means, errors)
    return IntervalTable(
        f"{len(groups)} shares of groups from {n} reports",
        tuple(groups),
        means,
        *bounds,
        errors,
        np.ones(len(groups), dtype=np.bool_),
        Promise(level, "each", exact=False, choice=False),
    )


def split(windows: Windows, reports: Any) -> Reports:
    """Reports, checked."""
    raw = _whole_numbers(reports)
    most = windows.reports
    whole = raw.ndim == 1 and raw.dtype.kind in "iu" and len(raw) > 0
    wrong = raw[(raw < 0) | (raw >= most)] if whole else raw.ravel()
    if not whole or len(wrong):
        raise ValuesError(
            f"must be whole numbers from 0 to {most - 1}, and some",
            parameter="reports",
            given=shorten(wrong[:3].tolist()),
            remedy="give what `Windows.privatize` made, with the same windows",
        )
    step, start = np.divmod(raw.astype(np.int64), windows.prime)
    return Reports(windows.layout, windows.size, start, step)


def _whole_numbers(reports: Any) -> NDArray[Any]:
    """The reports as an array; those that are text after a round trip through a file, as numbers, if they are any."""
    try:
        raw = np.asarray(reports)
    except ValueError:  # lists within the list
        return np.array([], dtype=np.float64)
    if raw.dtype.kind in "OUS" and raw.ndim == 1:
        try:
            return np.array([int(value) for value in raw.tolist()], dtype=np.int64)
        except (TypeError, ValueError, OverflowError):
            return raw
    return raw


def numbers_of(windows: Windows, labels: Labels) -> Ints:
    """The numbers of these answers."""
    if windows.alphabet is None:
        found = [x if isinstance(x, int | np.integer) and 0 <= x < windows.answers else -1 for x in labels]
    else:
        found = [windows.alphabet.row_of.get(x, -1) for x in labels]
    numbers = np.array(found, dtype=np.int64)
    if (numbers < 0).any():
        wrong = [x for x, number in zip(labels, found, strict=True) if number < 0]
        raise ValuesError(
            "must be among the answers",
            parameter="labels",
            given=shorten(wrong, 3),
            remedy="see `windows.labels`",
        )
    return numbers
