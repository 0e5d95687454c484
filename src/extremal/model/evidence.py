"""What a set of priors was made from, so that whoever reads it can make it again.

Every kind of evidence gives the set for a confidence: `bounds`. Without evidence a confidence is a claim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from .._common.types import Floats
from ..errors import PriorError
from .counts import around

ROUNDING = 1e-9  # of a bound: the intervals are widened by as much, because of how they are computed


class Bounds(NamedTuple):
    """A set of priors: how far each mass, and all together, may be from the center."""

    center: Floats
    lower: Floats
    upper: Floats
    radius: float

    def same_as(self, other: Bounds) -> bool:
        """Whether both sets are the same, up to the rounding of two machines."""
        if len(self.center) != len(other.center):
            return False
        mine, theirs = (np.concatenate((*b[:3], [b.radius])) for b in (self, other))
        return bool(np.allclose(mine, theirs, rtol=ROUNDING, atol=ROUNDING**2))


class Evidence(Protocol):
    """From what a set of priors was made; another kind is another class with these members."""

    @property
    def words(self) -> str:
        """Where the set lies, after its shape: "around the frequencies of 944 observations"."""
        ...

    @property
    def intervals(self) -> str:
        """What the intervals of single answers are called."""
        ...

    def bounds(self, confidence: float) -> Bounds:
        """The set that holds the true prior with this confidence."""
        ...


@dataclass(frozen=True)
class CountedAnswers:
    """How often each answer occurred in a sample of independent answers, and the method: see `PriorSet.from_counts`."""

    counts: tuple[int, ...]
    method: str

    def __init__(self, counts: Sequence[float], method: str) -> None:
        object.__setattr__(self, "counts", tuple(int(n) for n in counts))
        object.__setattr__(self, "method", method)

    @property
    def words(self) -> str:
        """Where the set lies."""
        return f"around the frequencies of {sum(self.counts)} observations"

    @property
    def intervals(self) -> str:
        """What the intervals are called."""
        return "Clopper-Pearson intervals"

    def bounds(self, confidence: float) -> Bounds:
        """The set, from l1 radius and Clopper-Pearson intervals."""
        n = np.array(self.counts, dtype=np.float64)
        total = math.fsum(n)
        if len(n) < 2 or total < 1:
            raise PriorError("must not all be 0: nothing was observed", parameter="counts")
        return Bounds(n / total, *around(n, confidence, self.method))
