"""extremal reproduce: the paper's figures and numbers, with a verdict on each."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options, show
from .failure import CheckFailed
from .progress import progress


def command(
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The folder to write to.")],
    figure: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="1a, 1b, ..., examples; all if left out; may be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the simulations.")] = None,
    as_json: options.Json = False,
) -> None:
    """Recompute the paper's figures and numbers, with a verdict on each. Exit status 1: a check failed."""
    from extremal.studies.paper import SEED
    from extremal.studies.paper import reproduce as run

    with progress("reproducing") as bar:
        done = run(output, figure, SEED if seed is None else seed, bar)
    failed = [check for check in done.checks if check.passed is False]
    if as_json:
        show.print_json(
            {
                "passed": done.passed,
                "checks": [
                    {"statement": c.statement, "stated": c.stated, "found": c.found, "passed": c.passed}
                    for c in done.checks
                ],
                "files": [str(path) for path in done.files],
                "report": str(done.report),
            }
        )
    else:
        out = show.console()
        out.print(str(done), soft_wrap=True)
        for check in failed:
            out.print(f"FAIL: {check.statement}: stated {check.stated}, found {check.found}", soft_wrap=True)
    if failed:
        raise CheckFailed("")
