"""extremal demo, explore and reproduce: a look at the whole before one's own data is at stake."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import advice, show
from .failure import CheckFailed
from .output import Facts, answer, check_folder, progress

if TYPE_CHECKING:
    from extremal.studies.demo.run import Demo
    from extremal.studies.paper import Reproduction

BAR = 26  # characters of the picture of an interval


def demo(
    *,
    output: str = "extremal-demo",
    epsilon: float = 0.7,
    as_json: bool = False,
) -> None:
    """Run every step on a real survey that ships with the package, and write a report to look at.

    The steps are: count the prior, design, certify, replace answers with reports, estimate shares with intervals,
    audit. Randomized response with the same leakage runs next to it for comparison. 300 simulated phones also answer
    through the survey server, if its packages are installed. Existing files of the same names in the folder are
    replaced.

    Parameters
    ----------
    output : -o DIR
        The folder for all files and the report.
    epsilon : -e LIMIT
        The limit: no report makes any guess more than e^epsilon times as likely to be right.

    Examples
    --------
    extremal demo --output extremal-demo
    """
    from extremal.studies.demo.report import make

    check_folder(output)
    with progress("demo:") as bar:
        done, report = make(output, epsilon, progress=bar)
    answer(DemoResult(done, report), as_json)


@dataclass(frozen=True)
class DemoResult:
    """The demo; its report says more."""

    done: Demo
    report: Path

    def facts(self) -> Facts:
        """All of it, for programs."""
        return {**self.done.to_dict(), "report": str(self.report), "warnings": self.warnings()}

    def warnings(self) -> list[str]:
        """What is different with one's own data."""
        return advice.counted_prior("answers.csv", "mechanism.json")

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        from extremal.studies.demo.report import comparison, summary
        from extremal.studies.demo.run import MISSING, SHARES

        done, way = self.done, self.done.ways[SHARES]
        out.heading(f"Party identification of {done.people} people, American National Election Study 1996")
        found = way.estimate.table.rows()
        top = max(row["upper"] for row in found)
        rows = [
            (
                show.name_of(row["label"]),
                f"{p:.1%}",
                f"{row['estimate']:.1%}",
                f"{row['lower']:.1%} to {row['upper']:.1%}",
                show.interval(row["lower"], row["estimate"], row["upper"], top, BAR),
            )
            for row, p in zip(found, done.prior.probabilities.tolist(), strict=True)
        ]
        head = ("answer", "truly", "estimated", "interval", f"0 … {top:.0%}, from private reports")
        out.table(head, rows, (0, 4))
        out.say(show.sentence(str(way.estimate.promise)))
        out.heading(f"Three mechanisms at the same leakage of {show.nats(done.epsilon)}")
        out.table(*comparison(done))
        out.heading("In words")
        left_out = [MISSING] if done.collection is None else []
        out.say(*summary(done), *left_out, *self.warnings())
        out.heading("Look at")
        out.lines(f"  {self.report.resolve()}", f"and the other files in {done.folder.resolve()}")


def explore(
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8501,
    browser: bool = True,
) -> None:
    """Open the explorer: a local web page to plan a survey before you run it.

    Only this machine can reach it unless --host says otherwise, and data stays in memory. Ctrl-C ends it.

    Parameters
    ----------
    host
        The address to listen on; 0.0.0.0 lets other machines in.
    port
        Port of the page; 0 takes a free one.
    browser
        Open the page in a browser.

    Examples
    --------
    extremal explore --port 8600 --no-browser
    """
    try:
        from extremal.explorer import serve

        serve(host, port, browser)
    except KeyboardInterrupt:
        return  # how one ends a server


def reproduce(
    *,
    output: str,
    figure: list[str] | None = None,
    seed: int | None = None,
    as_json: bool = False,
) -> None:
    """Recompute the paper's figures and numbers, with a verdict on each. Exit status 1: a check failed.

    Parameters
    ----------
    output : -o DIR
        The folder to write to.
    figure : NAME
        1a, 1b, ..., examples; all if left out; may be repeated.
    seed
        Seed of the simulations.

    Examples
    --------
    extremal reproduce --output reproduced --figure 1a
    """
    from extremal.studies.paper import SEED
    from extremal.studies.paper import reproduce as run

    check_folder(output)
    with progress("reproducing") as bar:
        done = run(output, figure, SEED if seed is None else seed, bar)
    answer(ReproduceResult(done), as_json)
    if not done.passed:
        raise CheckFailed("")


@dataclass(frozen=True)
class ReproduceResult:
    """The paper's numbers, with the verdict on each."""

    done: Reproduction

    def facts(self) -> Facts:
        """All of it, for programs."""
        return {
            "passed": self.done.passed,
            "checks": [
                {"statement": c.statement, "stated": c.stated, "found": c.found, "passed": c.passed}
                for c in self.done.checks
            ],
            "files": [str(path) for path in self.done.files],
            "report": str(self.done.report),
        }

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        out.facts(str(self.done))
        for check in self.done.checks:
            if check.passed is False:
                failed = f"FAIL: {check.statement}: stated {check.stated}, found {check.found}"
                out.facts(failed)
