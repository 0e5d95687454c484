"""What a design says of itself, for those who must not know how it was found."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .levels import Notion
from .mechanism import Mechanism
from .prior import Prior
from .prior_set import PriorSet
from .purpose import Proof, Purpose
from .utility import Utility


class Designed(ABC):
    """What `design` returns: a mechanism, the question it answers, and a claim that needs no trust.

    The mechanism is worth `value`, no other exceeds `upper_bound`, and `proof` proves that. `made` is the mechanism,
    without its matrix if that would be large.
    """

    prior: Prior
    epsilon: float
    utility: Utility | Purpose
    made: object
    value: float
    upper_bound: float
    proof: Proof | None
    proven: bool
    prior_set: PriorSet | None
    notion: Notion

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism with its matrix."""
