"""python -m extremal, and the command `extremal`: the command line."""

import sys


def main() -> int:
    """Run a command; the exit status. An interrupt while its code is still being loaded is one, too."""
    if sys.flags.optimize > 1:
        print("error: the options of commands stand in docstrings; run Python without -OO", file=sys.stderr)
        return 2
    try:
        from extremal.cli import main as run
    except KeyboardInterrupt:
        print("interrupted, nothing was written", file=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
