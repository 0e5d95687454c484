"""Optimal privacy mechanisms under pointwise maximal leakage: design, certify, privatize, estimate, audit.

What is exported stands in __init__.pyi; each name is imported when it is first used.
"""

import os
import sys
from importlib import import_module

__version__ = "0.1.0"


def _leave_current_folder() -> None:
    """If the program is `python -m extremal`, look for modules nowhere in the current folder.

    Files in it may come from anybody, and would run as code. Python puts it in front of everything unless it is told
    not to (-P). It stays if this library is itself in it.
    """
    if sys.argv[:1] != ["-m"]:  # what stands there until Python has found the module
        return
    argument = sys.orig_argv[-len(sys.argv)]  # "extremal", "-mextremal", "-Imextremal"
    option, _, rest = argument.rpartition(__name__)
    if rest or not (option == "" or (option.startswith("-") and option.endswith("m"))):
        return
    home = os.path.dirname(os.path.dirname(__file__))
    try:
        current = os.getcwd()
    except OSError:  # the folder is gone, and nothing can be found in it
        return
    if not sys.flags.safe_path and sys.path[:1] in ([""], [current]) and current != home:
        del sys.path[0]


_leave_current_folder()  # before anything is imported that Python has not looked for itself

__getattr__, __dir__, __all__ = import_module("lazy_loader").attach_stub(__name__, __file__)
