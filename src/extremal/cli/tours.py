"""extremal demo, reproduce and explore: the whole way, the paper, the web page."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from . import options, show
from .failure import CheckFailed
from .progress import progress


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="The folder for all files and the report.")
    ] = "extremal-demo",
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", metavar="NATS", help="The privacy level.")
    ] = 0.7,
    as_json: options.Json = False,
) -> None:
    """Go the whole way on a real survey that ships with the package, and leave a report to look at.

    Learn the prior, design, certify, privatise, estimate back with intervals, audit; beside randomized response that
    leaks as much. Files of the same names in the folder are replaced.
    """
    from extremal.demo_run import run, tell

    done = run(output, epsilon)
    if as_json:
        show.print_json(done.to_dict())
    else:
        tell(done, show)


def reproduce(
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The folder to write to.")],
    figure: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="1a, 1b, ..., examples; all if left out; may be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the simulations.")] = None,
    as_json: options.Json = False,
) -> None:
    """Recompute the paper's figures and numbers, with a verdict on each. Exit status 1: a check failed."""
    from extremal.paper import SEED
    from extremal.paper import reproduce as run

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


def explore(
    port: Annotated[int, typer.Option(help="Of the local web page.")] = 8501,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open the explorer: a local web page to choose a prior and an epsilon and see what happens.

    It listens on this machine only and keeps data in memory.
    """
    try:
        from extremal.explorer import serve
    except ImportError as error:
        raise ImportError(f'the explorer needs more: pip install "extremal[explorer]" ({error})') from None
    status = serve(port=port, browser=browser)
    if status:
        sys.exit(status)
