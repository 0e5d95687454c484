"""python -m extremal.studies.paper --output DIR [--figure 1a] [--seed S]"""

from __future__ import annotations

import argparse
import sys

from extremal.errors import ExtremalError

from . import FIGURES, SEED, reproduce


def main(arguments: list[str] | None = None) -> int:
    """0 if every check passed, 1 if one failed, 2 if the request made no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m extremal.studies.paper",
        description="The paper's figures and numbers, and some beyond it, as PNG, SVG, CSV and a report.",
        epilog="example: python -m extremal.studies.paper --output reproduced --figure 1a --figure examples",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument(
        "--figure", action="append", metavar="NAME", help=f"one of {', '.join(FIGURES)}; all if left out"
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the simulations, {SEED} if left out")
    chosen = parser.parse_args(arguments)
    try:
        done = reproduce(chosen.output, chosen.figure, chosen.seed, show_progress)
    except (ExtremalError, ValueError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(done)
    for check in done.checks:
        if check.passed is False:
            print(f"FAIL: {check.statement}: stated {check.stated}, found {check.found}")
    return 0 if done.passed else 1


def show_progress(done: int, total: int, name: str) -> None:
    """A bar on the terminal, nothing in a file or pipe."""
    if sys.stderr.isatty():
        bar = "#" * done + "-" * (total - done)
        print(f"\r[{bar}] {name:<20}", end="" if name else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
