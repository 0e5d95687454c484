"""Drawing a start and a step: see `lists.leakage` for what they mean.

One 64-bit word gives the step, another the place of the answer in the set. The step's word knows nothing of the answer:
with a key it is made from the id alone. Of the 2^62 values that the second word can take, every place has a whole
number, its weight; places are cut off one after the other, so no table is needed. The step is the word modulo the
number of steps: equally likely up to one part in 2^35, which matters to no estimate, and not at all to privacy, which
allows any step.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common.types import Ints
from ..draw import kernel
from ..draw.arrays import Draws
from ..draw.columns import label_rows
from ..draw.containers import as_column
from ..draw.drawing import Randomness
from ..draw.order import warn_if_numbers_ordered
from ..draw.sampler import CHUNK, Fill, Integers, keystream
from ..errors import ValuesError
from .steps import Steps

STEP_PURPOSE = b"extremal-window-step-1\0"


@dataclass(frozen=True)
class Places:
    """The weights of the places of an answer: below `size` it is in the set.

    The first `extra` places weigh inside + 1, those below `size` inside, the others outside; all add up to 2^62.
    """

    layout: Steps
    size: int
    inside: int
    extra: int
    outside: int

    def weight(self, place: int) -> int:
        """Of one place."""
        if place >= self.size:
            return self.outside
        return self.inside + (place < self.extra)

    def draw(self, words: Integers) -> Ints:
        """The place for each word: its last two bits are not used."""
        u = words >> np.uint64(2)
        first = self.extra * (self.inside + 1)
        second = first + (self.size - self.extra) * self.inside
        place = u // np.uint64(self.inside + 1)
        middle = u >= np.uint64(first)
        place[middle] = np.uint64(self.extra) + (u[middle] - np.uint64(first)) // np.uint64(
            max(self.inside, 1)
        )
        last = u >= np.uint64(second)
        if self.outside:
            place[last] = np.uint64(self.size) + (u[last] - np.uint64(second)) // np.uint64(self.outside)
        return place.astype(np.int64)

    def report(self, codes: Ints, steps: Integers, words: Integers) -> Ints:
        """step · p + start for each answer's number and two words."""
        step = (steps % np.uint64(self.layout.steps)).astype(np.int64)
        start = (codes - self.layout.numbers(step, self.draw(words))) % self.layout.prime
        return np.asarray(step * self.layout.prime + start)


def draw_windows(places: Places, digest: bytes, codes: Ints, draws: Draws) -> Ints:
    """A report for each number of an answer, with words from a secure source or from a key and ids."""
    kernel.check_drawing(keystream)
    randomness = draws.randomness()
    blocks = draws.blocks(len(codes))
    steps = _fill(randomness, hashlib.sha256(STEP_PURPOSE + digest).digest(), blocks, np.zeros_like(codes))
    words = _fill(randomness, digest, blocks, codes)
    out = np.empty(len(codes), dtype=np.int64)
    room = np.empty((2, min(CHUNK, len(codes))), dtype=np.uint64)
    for start in range(0, len(codes), CHUNK):
        part = codes[start : start + CHUNK]
        step, word = room[:, : len(part)]
        steps(start, step)
        words(start, word)
        out[start : start + CHUNK] = places.report(part, step, word)
    return out


def _fill(randomness: Randomness, digest: bytes, blocks: Integers | None, codes: Ints) -> Fill:
    if randomness.key is None:
        return randomness.source.stream(len(codes))
    rows = codes.astype(np.uint32)
    return randomness.keyed(digest, blocks, np.arange(len(rows), dtype=np.uint64), rows)


def answer_numbers(alphabet: Any, answers: int, values: Any) -> Ints:
    """The number of every answer: its place among the labels, or itself where there are no labels."""
    if alphabet is not None:
        column = as_column(alphabet, values)
        numbers = label_rows(column.codes, column.rows).astype(np.int64)
        wrong = np.flatnonzero(numbers == answers)
    else:
        raw = np.asarray(values)
        if raw.ndim != 1 or (raw.dtype.kind not in "iu" and len(raw)) or np.ma.is_masked(values):
            raise ValuesError(
                f"must be one column of whole numbers below {answers}",
                parameter="values",
                given=f"shape {raw.shape} of {raw.dtype}",
                remedy="number the answers, or make the windows from a prior with labels",
            )
        wrong = np.flatnonzero((raw < 0) | (raw >= answers))
        numbers = raw.astype(np.int64)
    if len(wrong):
        raise ValuesError(
            "every value must be one of the answers",
            given=f"others in {len(wrong)} of {len(numbers)} rows, first in record {wrong[0] + 1}",
            remedy="correct them, or leave these rows out",
        )
    warn_if_numbers_ordered(numbers, answers)
    return numbers
