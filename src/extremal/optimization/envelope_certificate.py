"""What proves the bound of a design with limits of the leakage envelope."""

from __future__ import annotations

from dataclasses import dataclass

from .._common.types import Floats


@dataclass(frozen=True, eq=False)
class EnvelopeCertificate:
    """Boxes of thresholds that cover all of them, each with prices that prove the bound in it; see `envelope`."""

    lows: Floats  # (boxes, limits, N)
    highs: Floats
    prices: Floats  # (boxes, N), of the lifts
    penalties: Floats  # (boxes, limits, N), of the limits
