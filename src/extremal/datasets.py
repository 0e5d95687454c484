"""The data that ships with the package."""

from .studies.data import anes96

__all__ = ["anes96"]
