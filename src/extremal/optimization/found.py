"""What a search for lift vectors and their weights comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._common.types import Floats
from ..model.proof import Certificate


@dataclass(frozen=True, eq=False)
class Found:
    """A mixture of vertices, rows of X, for the sorted and merged symbols."""

    X: Floats
    weights: Floats
    upper: float
    certificate: Certificate
    stats: dict[str, Any]
