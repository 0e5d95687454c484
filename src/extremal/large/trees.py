"""Trees of prefixes: windows on the beginnings of answers, one level for each person.

Answers are numbers. At each level the number is divided by a power of the branching: what is left is its prefix. Each
person is given one level at random, which is public and drawn without a look at the answer, and reports the prefix with
the windows of that level. A report leaks about the answer what it leaks about the prefix, so the limit of every level
is that of the tree. Masses of prefixes are rounded: each is wrong by a factor below 1 + SLACK, and so is the lift.
Levels with a prior are therefore proved for a limit that is lower by SLACK.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..draw.keys import Columns
from ..draw.sampler import Words
from ..errors import OptionError
from ..model.prior import Prior
from ..release.arrays import Draws
from .drawing import answer_numbers, draw_levels, draw_windows
from .windows import Windows, windows

ROOTS = 256  # prefixes of the first level, at most, unless the branching is larger
SLACK = 2.0**-49  # three roundings of a mass and as many of the sum, 2^-53 each
PURPOSE = b"extremal-tree-digest-1\0"


@dataclass(frozen=True)
class Tree:
    """Windows for each level of prefixes. Make one with `large.tree`.

    Attributes
    ----------
    levels
        The windows of each level, the shortest prefixes first. The last level are the answers themselves.
    branching
        How many prefixes of a level begin with the same prefix of the level before.
    """

    levels: tuple[Windows, ...]
    branching: int

    @property
    def answers(self) -> int:
        """The number of answers."""
        return self.levels[-1].answers

    @property
    def epsilon(self) -> float:
        """The limit, in nats."""
        return max(level.epsilon for level in self.levels)

    def divisor(self, level: int) -> int:
        """What a number is divided by at a level.

        Parameters
        ----------
        level
            From 0 on.
        """
        return int(self.branching ** (len(self.levels) - 1 - level))

    def privatize(
        self,
        values: Any,
        *,
        key: bytes | None = None,
        ids: Any = None,
        column: Columns | None = None,
        occasion: int | str | None = None,
        source: Words | None = None,
    ) -> NDArray[np.int64]:
        """One whole number a record: level + (number of levels) * report of the level's windows.

        Parameters
        ----------
        values
            The answers: labels of the prior, or numbers where there is none.
        key, ids
            32 secret bytes and an id for each record: repeating a job repeats its reports.
        column
            The name of the column, which keyed draws need.
        occasion
            Another one draws new reports under the same key.
        source
            Replaces the operating system's randomness in experiments.
        """
        last = self.levels[-1]
        numbers = answer_numbers(last.alphabet, last.answers, values)
        listed = None if ids is None else list(ids)
        everybody = Draws(key, listed, column, occasion, source)
        chosen = draw_levels(len(self.levels), self._digest(None), len(numbers), everybody)
        out = np.empty(len(numbers), dtype=np.int64)
        for level, made in enumerate(self.levels):
            where = np.flatnonzero(chosen == level)
            some = None if listed is None else [listed[i] for i in where.tolist()]
            draws = Draws(key, some, column, occasion, source)
            prefixes = numbers[where] // self.divisor(level)
            drawn = draw_windows(made.places, self._digest(level), prefixes, draws)
            out[where] = level + len(self.levels) * drawn
        return out

    def _digest(self, level: int | None) -> bytes:
        """What keyed draws of a level depend on, or of the levels themselves.

        The branching is part of it: the same windows on other prefixes are another question, with noise of its own.
        """
        whole = b"".join(bytes.fromhex(w.digest) for w in self.levels)
        return hashlib.sha256(PURPOSE + f"{self.branching} {level} ".encode() + whole).digest()


def tree(answers: Prior | int, epsilon: float, branching: int = 16) -> Tree:
    """Windows on prefixes, to find the most common of very many answers.

    Parameters
    ----------
    answers
        A prior, for a limit on PML under it, or the number of answers, for a limit under every prior: as in
        `large.windows`. Neighbours in the order of the answers share prefixes.
    epsilon
        The limit, in nats.
    branching
        By how much the number of prefixes grows from level to level.
    """
    if type(branching) is not int or branching < 2:
        raise OptionError(
            "must be a whole number from 2 on", parameter="branching", given=f"{branching!r}", remedy="16"
        )
    last = windows(answers, epsilon)
    levels, divisor = [last], branching
    while levels[0].answers > max(ROOTS, branching):
        count = -(-last.answers // divisor)
        limit = last.epsilon if last.prior is None else _lowered(last.epsilon)
        levels.insert(0, windows(_prefixes(last.prior, count, divisor), limit))
        divisor *= branching
    return Tree(tuple(levels), branching)


def _prefixes(prior: Prior | None, count: int, divisor: int) -> Prior | int:
    if prior is None:
        return count
    p = prior.probabilities.tolist()
    masses = [math.fsum(p[k : k + divisor]) for k in range(0, len(p), divisor)]
    return Prior(np.array(masses) / math.fsum(masses), range(count))


def _lowered(epsilon: float) -> float:
    """A float that is below epsilon by SLACK at least, or 0."""
    return max(math.nextafter(epsilon - SLACK, -math.inf), 0.0)
