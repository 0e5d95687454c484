"""Trees of prefixes: windows on the beginnings of answers, one level for each person.

Answers are numbers. At each level the number is divided by a power of the branching: what is left is its prefix. Each
person is given one level at random, which is public and drawn without a look at the answer, and reports the prefix with
the windows of that level. A report leaks about the answer what it leaks about the prefix, so the limit of every level
is that of the tree.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..model.prior import Prior
from ..release.arrays import Draws
from ..release.keys import Columns
from ..release.sampler import Words
from ..release.windows import answer_numbers, draw_levels, draw_windows
from .windows import Windows, windows

ROOTS = 256  # prefixes of the first level, at most, unless the branching is larger
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
        return self.levels[-1].epsilon

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
        chosen = draw_levels(
            len(self.levels), self._digest, len(numbers), Draws(key, listed, column, occasion, source)
        )
        out = np.empty(len(numbers), dtype=np.int64)
        for level, made in enumerate(self.levels):
            where = np.flatnonzero(chosen == level)
            some = None if listed is None else [listed[i] for i in where.tolist()]
            draws = Draws(key, some, column, occasion, source)
            prefixes = numbers[where] // self.divisor(level)
            drawn = draw_windows(made.places, bytes.fromhex(made.digest), prefixes, draws)
            out[where] = level + len(self.levels) * drawn
        return out

    @property
    def _digest(self) -> bytes:
        return hashlib.sha256(PURPOSE + b"".join(bytes.fromhex(w.digest) for w in self.levels)).digest()


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
        levels.insert(0, windows(_prefixes(last.prior, count, divisor), epsilon))
        divisor *= branching
    return Tree(tuple(levels), branching)


def _prefixes(prior: Prior | None, count: int, divisor: int) -> Prior | int:
    if prior is None:
        return count
    masses = np.add.reduceat(prior.probabilities, np.arange(0, prior.size, divisor))
    return Prior(masses / masses.sum(), range(count))
