"""Optimal privacy mechanisms under pointwise maximal leakage: design, certify, privatize, estimate, audit.

What is exported stands in __init__.pyi; each name is imported when it is first used.
"""

from importlib import import_module

from ._common.folder import leave_current_folder

__version__ = "0.1.0"

leave_current_folder(__name__)  # before anything is imported that Python has not looked for itself

__getattr__, __dir__, __all__ = import_module("lazy_loader").attach_stub(__name__, __file__)
