"""python -m extremal: the command line."""

import sys

from extremal.cli import main

if __name__ == "__main__":
    sys.exit(main())
