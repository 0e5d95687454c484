"""Optimal privacy mechanisms under pointwise maximal leakage: design, certify, privatize, estimate, audit.

What is exported stands in __init__.pyi; each name is imported when it is first used.
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
