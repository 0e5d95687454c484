"""The same people asked again: what the waves leak together, and how answers changed."""

from .auditing.joint import PanelLeakage, leakage, markov
from .estimation.panel import Change, change

__all__ = ["Change", "PanelLeakage", "change", "leakage", "markov"]
