"""Where a program that was started with `python -m` looks for modules."""

import os
import sys


def leave_current_folder(package: str) -> None:
    """If the program is `python -m` of this package, look for modules nowhere in the current folder.

    Files in it may come from anybody, and would run as code. Python puts it in front of everything unless it is told
    not to (-P). It stays if this library is itself in it.
    """
    if sys.argv[:1] != ["-m"]:  # what stands there until Python has found the module
        return
    option, _, rest = sys.orig_argv[-len(sys.argv)].rpartition(
        package
    )  # "extremal", "-mextremal", "-Imextremal"
    if rest or not (option == "" or (option.startswith("-") and option.endswith("m"))):
        return
    home = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    try:
        current = os.getcwd()
    except OSError:  # the folder is gone, and nothing can be found in it
        return
    if not sys.flags.safe_path and sys.path[:1] in ([""], [current]) and current != home:
        del sys.path[0]
