"""extremal demo: the whole way on a real survey."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import advice, options, show
from .progress import progress

if TYPE_CHECKING:
    from extremal.studies.demo.run import Demo


def command(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="The folder for all files and the report.")
    ] = "extremal-demo",
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="LIMIT",
            help="The limit: no report makes any guess more than e^epsilon times as likely to be right.",
        ),
    ] = 0.7,
    as_json: options.Json = False,
) -> None:
    """Run every step on a real survey that ships with the package, and write a report to look at.

    The steps are: count the prior, design, certify, replace answers with reports, estimate shares with intervals,
    audit. Randomized response with the same leakage runs next to it for comparison. 300 simulated phones also answer
    through the survey server, if its packages are installed. Existing files of the same names in the folder are
    replaced.
    """
    from extremal.studies.demo.report import make

    with progress("demo:") as bar:
        done, report = make(output, epsilon, progress=bar)
    if as_json:
        warnings = advice.counted_prior("answers.csv", "mechanism.json")
        show.print_json({**done.to_dict(), "report": str(report), "warnings": warnings})
    else:
        _tell(done, report)


def _tell(done: Demo, report: Path) -> None:
    """The demo in a terminal; the report says more."""
    from extremal.studies.demo.phones import MISSING
    from extremal.studies.demo.report import comparison, summary
    from extremal.studies.demo.run import SHARES

    out, way = show.console(), done.ways[SHARES]
    show.heading(out, f"Party identification of {done.people} people, American National Election Study 1996")
    truth = done.prior.probabilities.tolist()
    found = way.estimate.table.rows()
    top = max(row["upper"] for row in found)
    rows = [
        (
            show.name_of(row["label"]),
            f"{p:.1%}",
            f"{row['estimate']:.1%}",
            f"{row['lower']:.1%} to {row['upper']:.1%}",
            show.interval(row["lower"], row["estimate"], row["upper"], top, 26),
        )
        for row, p in zip(found, truth, strict=True)
    ]
    head = ("answer", "truly", "estimated", "interval", f"0 … {top:.0%}, from private reports")
    out.print(show.table(head, rows, (0, 4)))
    show.sentences(out, [show.sentence(str(way.estimate.promise))])
    show.heading(out, f"Three mechanisms at the same leakage of {show.nats(done.epsilon)}")
    out.print(show.table(*comparison(done)))
    show.heading(out, "In words")
    show.sentences(out, summary(done))
    if done.collection is None:
        show.sentences(out, [MISSING])
    show.sentences(out, advice.counted_prior("answers.csv", "mechanism.json"))
    show.heading(out, "Look at")
    out.print(f"  {report.resolve()}", soft_wrap=True)
    out.print(f"and the other files in {done.folder.resolve()}", soft_wrap=True)
