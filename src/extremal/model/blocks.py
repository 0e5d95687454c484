"""Mechanisms on large alphabets without a matrix: all symbols of a block are treated alike.

If P(y|x) depends on x only through the block b(x) that x belongs to, then for every report y

    max_x P(y|x) / P_Y(y) = max_b Q(y|b) / P_Y(y)   with   P_Y(y) = sum_b P_X(b) Q(y|b),

so what a report leaks about the symbol is what it leaks about the block, and a small matrix Q, the prior and the block
of each symbol say everything. Guesses are the exception: the best guess of a symbol is the likeliest one of a block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MechanismError
from .labels import Labels
from .mechanism import Mechanism, check_mechanism, check_size
from .prior import Prior

BlockNumbers = NDArray[np.uint32]


# Symbols up to which a mechanism that has blocks is given as a matrix, which is easier to read.
LARGEST_DENSE = 4096


@dataclass(frozen=True, eq=False)
class Blocks:
    """Which block each symbol belongs to: `numbers` from 0 on, one for each of the labels, none left out."""

    labels: Labels
    numbers: BlockNumbers

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", _check_numbers(self.numbers, len(self.labels)))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The symbols, block after block."""
        return np.argsort(self.numbers, kind="stable")

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where each block begins in that order, and the end of the last one."""
        return np.concatenate(([0], np.cumsum(np.bincount(self.numbers)))).astype(np.intp)

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.starts) - 1

    @cached_property
    def names(self) -> Labels:
        """A label for each block: that of its only symbol, or the first and the last of several and their number."""
        first, last = self.order[self.starts[:-1]], self.order[self.starts[1:] - 1]
        sizes = np.diff(self.starts).tolist()
        names = [
            self.labels[i] if size == 1 else f"{self.labels[i]} … {self.labels[j]} ({size})"
            for i, j, size in zip(first.tolist(), last.tolist(), sizes, strict=True)
        ]
        if len(set(names)) < len(names):  # a label that looks like the name of a block
            names = [f"block {b}: {name}" for b, name in enumerate(names)]
        return tuple(names)

    def merged(self, prior: Prior) -> Prior:
        """The prior of the blocks."""
        p = prior.probabilities[self.order].tolist()
        bounds = self.starts.tolist()
        masses = [math.fsum(p[i:j]) for i, j in pairwise(bounds)]
        return Prior(np.array(masses) / math.fsum(masses), self.names)

    def likeliest(self, prior: Prior) -> NDArray[np.intp]:
        """The likeliest symbol of each block, the first of equally likely ones."""
        order = np.lexsort((-prior.probabilities, self.numbers))
        return order[self.starts[:-1]]


@dataclass(frozen=True, eq=False)
class BlockMechanism:
    """A mechanism P(y|x) = between.matrix[blocks.numbers[x], y], without its matrix."""

    blocks: Blocks
    between: Mechanism

    def __post_init__(self) -> None:
        if check_mechanism(self.between).shape[0] != self.blocks.count:
            raise MechanismError(
                "a mechanism between blocks must have one row for each",
                given=f"{self.between.shape[0]} rows and {self.blocks.count} blocks",
                remedy="give a row of probabilities for each block",
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(number of inputs, number of outputs)."""
        return len(self.blocks.labels), self.between.shape[1]

    @property
    def inputs(self) -> Labels:
        """The labels of the symbols."""
        return self.blocks.labels

    @property
    def outputs(self) -> Labels:
        """The labels of the reports."""
        return self.between.outputs

    def dense(self) -> Mechanism:
        """The mechanism with its matrix, refused if that is too large."""
        check_size(*self.shape)
        return Mechanism(self.between.matrix[self.blocks.numbers], self.inputs, self.outputs)


def _check_numbers(given: Any, size: int) -> BlockNumbers:
    raw = np.asarray(given)
    if raw.shape != (size,) or raw.dtype.kind not in "iu" or size == 0 or raw.min() < 0 or raw.max() >= size:
        raise MechanismError(
            f"must be a number from 0 on for each of the {size} symbols",
            parameter="blocks",
            given=f"shape {raw.shape} of {raw.dtype}",
            remedy="number the blocks 0, 1, 2, …",
        )
    numbers = raw.astype(np.uint32)
    empty = np.flatnonzero(np.bincount(numbers) == 0)
    if len(empty):
        raise MechanismError(
            "every block must have a symbol",
            given=f"none in block {empty[0]}",
            remedy="number the blocks 0, 1, 2, …",
        )
    numbers.setflags(write=False)
    return numbers
