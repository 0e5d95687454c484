"""People who do not answer as asked: bounds for shares, and how many they are."""

from .estimation.compliance import Compliance, ShareBounds, bounds, rate

__all__ = ["Compliance", "ShareBounds", "bounds", "rate"]
