"""Where a program that was started with `python -m` looks for modules."""

import os
import sys


def leave_current_folder() -> None:
    """Look for modules nowhere in the current folder: files in it may come from anybody, and would run as code.

    Python puts it in front of everything unless it is told not to (-P). It stays if this library is itself in it.
    """
    home = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    try:
        current = os.getcwd()
    except OSError:  # the folder is gone, and nothing can be found in it
        return
    if not sys.flags.safe_path and sys.path[:1] in ([""], [current]) and current != home:
        del sys.path[0]
