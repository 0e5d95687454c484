"""The labels of a column: what stands in it, and what reports of it are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.labels import Labels


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The input and the output labels of one column; what is made of them is made once, for they may be a million."""

    inputs: Labels
    outputs: Labels

    @cached_property
    def row_of(self) -> dict[Any, int]:
        """The row of every input label."""
        return {label: i for i, label in enumerate(self.inputs)}

    @cached_property
    def integers(self) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """The labels that are whole numbers, and their rows: of int64 if all fit, else of Python integers."""
        found = {int(x): i for x, i in self.row_of.items() if is_integer(x)}
        fits = all(-(1 << 63) <= x < 1 << 63 for x in found)
        numbers = np.array(list(found), dtype=np.int64 if fits else object)
        return numbers, np.array(list(found.values()), dtype=np.uint32)

    @cached_property
    def halves(self) -> list[NDArray[np.uint32]]:
        """The inputs in two halves, by their own order and by that of their labels; 2 for none of them."""
        n = len(self.inputs)
        try:
            order = sorted(range(n), key=self.inputs.__getitem__)  # type: ignore[arg-type]
        except TypeError:
            order = sorted(range(n), key=lambda row: str(self.inputs[row]))
        place = np.arange(n)
        sorted_place = np.empty(n, dtype=np.int64)
        sorted_place[order] = place
        tables = [np.append(2 * where >= n, 2).astype(np.uint32) for where in (place, sorted_place)]
        return tables[:1] if np.array_equal(tables[0], tables[1]) else tables


def is_integer(label: Any) -> bool:
    """Whether a label is a whole number, as an integer or as a double."""
    return isinstance(label, int) or (isinstance(label, float) and label.is_integer())
