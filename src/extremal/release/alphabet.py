"""The labels of a column: what stands in it, and what reports of it are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..model.labels import Labels


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The input and the output labels of one column."""

    inputs: Labels
    outputs: Labels

    @cached_property
    def row_of(self) -> dict[Any, int]:
        """The row of every input label."""
        return {label: i for i, label in enumerate(self.inputs)}
