"""Several columns as one symbol: an alphabet of tuples, one column of it for each place in the tuple.

Releasing columns together is one draw a record, so its leakage is that of one mechanism. Releasing them one
by one is one draw a column. If the columns depend on each other, what all the reports of a person leak about one
column is then more than its own report does, and is not bounded by the sum either (docs/audit.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.words import shorten
from ..errors import SizeError, ValuesError
from ..model.labels import Labels
from .alphabet import Alphabet
from .columns import Array, Column, Kept, Rows, label_rows
from .sampler import Sampler, smallest_unsigned

LARGEST_STEP = 1 << 26  # entries of a table that leads from the first columns to one more


@dataclass(frozen=True, eq=False)
class Product:
    """A mechanism on tuples, seen from the columns that its tuples are made of."""

    sampler: Sampler
    parts: tuple[Alphabet, ...]  # the labels of each column

    @classmethod
    def of(cls, sampler: Sampler, names: Sequence[Any]) -> Product:
        """The product of as many columns as there are names."""
        for what, labels in (("inputs", sampler.inputs), ("outputs", sampler.outputs)):
            wrong = [y for y in labels if not isinstance(y, tuple) or len(y) != len(names)]
            if wrong:
                raise ValuesError(
                    f"a mechanism for the columns {list(names)} must have {what} that are "
                    f"tuples of {len(names)} labels",
                    given=shorten(wrong, 3),
                    remedy="design it for these columns together, with `Prior.joint(...)`",
                )
        places = range(len(names))
        parts = (Alphabet(labels_at(sampler.inputs, k), labels_at(sampler.outputs, k)) for k in places)
        return cls(sampler, tuple(parts))

    @cached_property
    def steps(self) -> list[Rows]:
        """For each column a table: number of the tuple so far, and row of the next label -> number of both.

        Beginnings of labels are numbered in the order of the labels, so the number of a whole tuple is its
        row. The last number stands for what no label begins with.
        """
        steps = []
        numbers: dict[Any, int] = {(): 0}
        for k, part in enumerate(self.parts):
            longer: dict[Any, int] = {}
            for label in self.sampler.inputs:
                longer.setdefault(label[: k + 1], len(longer))  # type: ignore[index]
            width = len(part.inputs) + 1
            if (len(numbers) + 1) * width > LARGEST_STEP:
                raise SizeError(
                    f"columns taken together must have at most {LARGEST_STEP} combinations to look up",
                    given=(len(numbers) + 1) * width,
                    remedy="merge rare labels",
                )
            table = np.full((len(numbers) + 1) * width, len(longer), dtype=np.uint32)
            for label, number in longer.items():
                table[numbers[label[:-1]] * width + part.row_of[label[-1]]] = number
            steps.append(table)
            numbers = longer
        return steps

    @cached_property
    def places(self) -> list[NDArray[np.intp]]:
        """For each column the number of its label in every outcome."""
        found = []
        for k, part in enumerate(self.parts):
            number = {label: j for j, label in enumerate(part.outputs)}
            found.append(np.array([number[y[k]] for y in self.sampler.outputs], dtype=np.intp))  # type: ignore[index]
        return found

    def column(self, columns: Sequence[Column]) -> Column:
        """The columns as one; what is built from its outcomes is a tuple of columns."""
        so_far = np.zeros(len(columns[0].codes), dtype=np.uint32)
        for part, step, column in zip(self.parts, self.steps, columns, strict=True):
            width = len(part.inputs) + 1
            so_far = step[so_far.astype(np.intp) * width + label_rows(column.codes, column.rows)]

        def rebuild(drawn: Array, kept: Kept) -> Any:
            return tuple(
                column.rebuild(place.astype(column.outcomes)[drawn], kept)
                for place, column in zip(self.places, columns, strict=True)
            )

        return Column(
            so_far,
            np.arange(len(self.sampler.inputs) + 1, dtype=np.uint32),
            lambda where: zip(*(column.values_at(where) for column in columns), strict=True),
            rebuild,
            smallest_unsigned(len(self.sampler.outputs)),
        )


def labels_at(labels: Labels, k: int) -> Labels:
    """The different labels at one place of tuples."""
    return tuple(dict.fromkeys(label[k] for label in labels))  # type: ignore[index]
