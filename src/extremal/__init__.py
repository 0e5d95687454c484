"""Optimal privacy mechanisms under pointwise maximal leakage: design, certify, privatize, estimate, audit.

What is exported stands in __init__.pyi; each name is imported when it is first used.
"""

from __future__ import annotations

import sys
from types import ModuleType

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _Package(ModuleType):
    """The package: `extremal.design` is the function, also after the module of that name was imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, ModuleType) or name in MODULES or name not in __all__:
            super().__setattr__(name, value)


MODULES = {"adversary", "closed_form", "majorization"}  # exported as modules
sys.modules[__name__].__class__ = _Package
