"""What somebody reads who wants to change how a design is found: the modules that it runs through, and their lines.

    python benchmarks/reading.py [CASE]

Counts the modules of optimization, model and theory of which a function runs during a design, after everything has been
imported and the prior or the set of priors been made. With the name of a case its modules are listed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import extremal as ex

PACKAGE = Path(ex.__file__).parent
COUNTED = ("optimization", "model", "theory")
THREE = ex.Prior([0.5, 0.3, 0.2])


def zipf(n: int) -> ex.Prior:
    """Masses in proportion to 1, 1/2, 1/3, ..."""
    return ex.Prior.from_counts(1 / np.arange(1, n + 1))


AROUND = ex.PriorSet.l1_ball(THREE, 0.1)
CASES: dict[str, Callable[[], Any]] = {
    "shares of 3": lambda: ex.design(THREE, 0.7),
    "shares of 300": lambda: ex.design(zipf(300), 1.0),
    "shares over a set": lambda: ex.design(AROUND, 0.7),
    "mutual information of 3": lambda: ex.design(THREE, 0.7, ex.mutual_information),
    "mutual information of 20": lambda: ex.design(zipf(20), 0.7, ex.mutual_information),
}


def modules(call: Callable[[], Any]) -> dict[str, int]:
    """The modules that run, with their lines."""
    call()  # imports
    seen: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        seen.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    paths = {Path(name) for name in seen if name.startswith(str(PACKAGE))}
    counted = sorted(p for p in paths if p.relative_to(PACKAGE).parts[0] in COUNTED)
    return {
        p.relative_to(PACKAGE).as_posix(): len(p.read_text(encoding="utf-8").splitlines()) for p in counted
    }


def main() -> None:
    for name, call in CASES.items():
        found = modules(call)
        print(f"{name:<26}{len(found):>4} modules{sum(found.values()):>7} lines")
        if name in sys.argv[1:]:
            for module, lines in found.items():
                print(f"    {module:<50}{lines:>5}")


if __name__ == "__main__":
    main()
