"""What proves an upper bound of the efficiency, in the order of the caller's symbols."""

from __future__ import annotations

from dataclasses import dataclass

from ..._types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Certificate:
    """W, as a vector where it is diagonal, and prices y where the proof is over all lift vectors.

    Without prices every variance and covariance is at its limit. With `groups` the proof is for the symbols merged into
    these groups, which the purpose does not tell apart; W and y are then over the groups.
    """

    weights: Floats
    prices: Floats | None = None
    groups: Ints | None = None
