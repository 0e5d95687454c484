"""How many sets hold each answer, and how many answers of a group each set holds.

Both look at every member of every set, n d of them. Where there are few steps it takes less to convolve: with h_i(b)
the number of reports of step i and start b, the number of sets that hold z is Σ_i Σ_b h_i(b) [z - b in D_i], a
convolution of length p a step. The sums are whole numbers far below 2^53, so rounding gives them exactly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from .._common.types import Floats, Ints
from .steps import Steps

CELLS = 1 << 22  # members of sets that are looked at together, or numbers that are transformed together
CONVOLVED = 10.0  # what a step costs for each number below the prime, as members of sets: two cores share it
GROUPED = 1 << 10  # members of the sets of a step, from which on its numbers are looked up once
WORKERS = min(2, os.cpu_count() or 1)  # of the two transforms of a step; each row's bits are the same


def held(layout: Steps, size: int, starts: Ints, steps: Ints, numbers: Ints | None = None) -> Ints:
    """How many of the sets hold each of these numbers; all below the prime, if None."""
    if numbers is not None and len(numbers) <= size:
        places = (layout.places(steps, (z - starts) % layout.prime) for z in numbers.tolist())
        return np.array([np.count_nonzero(place < size) for place in places], dtype=np.int64)
    if _convolves(layout, size, starts, steps):
        counts = _convolved(layout, size, starts, steps)
    else:
        counts = np.zeros(2 * layout.prime, dtype=np.int64)
        waiting: list[Ints] = []
        for _, members in _sets(layout, size, starts, steps):
            waiting.append(members.ravel())
            if sum(map(len, waiting)) >= CELLS:
                counts += np.bincount(np.concatenate(waiting), minlength=len(counts))
                waiting = []
        counts += np.bincount(np.concatenate([*waiting, counts[:0]]), minlength=len(counts))
        counts = counts[: layout.prime] + counts[layout.prime :]
    return counts if numbers is None else counts[numbers]


def members_held(layout: Steps, size: int, starts: Ints, steps: Ints, member: Floats) -> Ints:
    """How many of the numbers with `member` 1 the set of each report holds."""
    out = np.empty(len(starts), dtype=np.int64)
    if _convolves(layout, size, starts, steps):
        length = _length(layout)
        group = rfft(member, length)
        for step, rows in _by_step(starts, steps):
            first = rfft(_ones(layout, layout.numbers(step, np.arange(size))), length)
            both = irfft(group * first.conj(), length)
            out[rows] = np.rint(both[starts[rows]] + both[starts[rows] - layout.prime])
        return out
    twice = np.concatenate([member, member])
    for rows, members in _sets(layout, size, starts, steps):
        out[rows] = np.rint(twice[members].sum(axis=1))
    return out


def _convolved(layout: Steps, size: int, starts: Ints, steps: Ints) -> Ints:
    length = _length(layout)
    total = np.zeros(length // 2 + 1, dtype=np.complex128)
    every, some = list(_by_step(starts, steps)), max(1, CELLS // (2 * layout.prime))
    for k in range(0, len(every), some):
        seen = [np.bincount(starts[rows], minlength=layout.prime) for _, rows in every[k : k + some]]
        first = [_ones(layout, layout.numbers(step, np.arange(size))) for step, _ in every[k : k + some]]
        spectra = rfft(np.stack([*seen, *first]), length, axis=1, workers=WORKERS)
        for one, other in zip(spectra[: len(seen)], spectra[len(seen) :], strict=True):
            total += np.multiply(one, other, out=one)
    sums = irfft(total, length)
    found = sums[: layout.prime]
    found[: layout.prime - 1] += sums[layout.prime : 2 * layout.prime - 1]
    return np.rint(found).astype(np.int64)


def _convolves(layout: Steps, size: int, starts: Ints, steps: Ints) -> bool:
    """Whether convolutions take less than counting member by member."""
    return CONVOLVED * len(np.unique(steps)) * layout.prime < len(starts) * size


def _length(layout: Steps) -> int:
    """Of a transform in which nothing overlaps; powers of two are transformed a tenth faster than others."""
    return int(64 * next_fast_len(-(-2 * layout.prime // 64), real=True))


def _ones(layout: Steps, numbers: Ints) -> Floats:
    found = np.zeros(layout.prime)
    found[numbers] = 1.0
    return found


def _by_step(starts: Ints, steps: Ints) -> Iterator[tuple[int, Ints]]:
    """Each step, with the rows of its reports in the order of their starts: memory is then used in order, too."""
    order = np.lexsort((starts, steps))
    for rows in np.split(order, np.flatnonzero(np.diff(steps[order])) + 1):
        yield int(steps[rows[0]]), rows


def _sets(layout: Steps, size: int, starts: Ints, steps: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Some rows at a time and the members of their sets, from 0 to 2 p - 2: modulo p."""
    places = np.arange(size, dtype=np.int64)
    most = max(1, CELLS // size)
    if len(starts) * size < GROUPED * len(np.unique(steps)):
        for k in range(0, len(starts), most):
            rows = np.arange(k, min(k + most, len(starts)))
            yield rows, layout.numbers(steps[rows, None], places) + starts[rows, None]
        return
    for step, every in _by_step(starts, steps):
        first = np.sort(layout.numbers(step, places))
        for k in range(0, len(every), most):
            rows = every[k : k + most]
            yield rows, first + starts[rows, None]
