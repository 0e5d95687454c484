"""Notions of privacy a mechanism can be designed for, as values: PML, and its neighbours for comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .._common import checks
from ..errors import EpsilonError


@dataclass(frozen=True)
class Notion:
    """What must not exceed epsilon: PML, LDP, LIP or MaximalLeakage.

    Attributes
    ----------
    name
        What it is called.
    bounded
        What is bounded, in words.
    lowest
        For LIP: the smallest lift allowed, if it is not e^-epsilon.
    """

    name: str
    bounded: str
    lowest: float | None = None

    def lower_lift(self, epsilon: float) -> float:
        """The smallest lift P(y|x) / P(y) that is allowed: e^-epsilon, or another one, for LIP; else 0.

        Parameters
        ----------
        epsilon
            The limit on leakage, in nats.
        """
        if self.lowest is not None:
            return self.lowest
        return math.exp(-epsilon) if self.name == "LIP" else 0.0

    def above(self, lift: float) -> Notion:
        """LIP with another lower bound on lifts than e^-epsilon.

        Parameters
        ----------
        lift
            A number between 0, which is PML, and 1, which allows nothing.
        """
        remedy = "e^-epsilon is what LIP.above replaces"
        if self.name != "LIP":
            raise EpsilonError("only LIP has a lower bound on lifts", given=self.name, remedy=remedy)
        lowest = checks.number(lift, "lift", least=0, most=1, remedy=remedy, error=EpsilonError)
        return replace(self, lowest=lowest)

    def __repr__(self) -> str:
        return self.name if self.lowest is None else f"{self.name}.above({self.lowest:g})"


PML = Notion("PML", "the lift P(y|x) / P(y) of every report is at most e^epsilon")
LDP = Notion("LDP", "P(y|x) is at most e^epsilon P(y|x') for any two answers (local differential privacy)")
LIP = Notion("LIP", "every lift lies between e^-epsilon and e^epsilon (local information privacy)")
MaximalLeakage = Notion("maximal leakage", "the sum over reports of max_x P(y|x) is at most e^epsilon")
