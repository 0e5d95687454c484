"""The data that ships with the package."""

from __future__ import annotations

from .studies.data import anes96

__all__ = ["anes96"]
