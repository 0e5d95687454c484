"""extremal audit: what a mechanism, or somebody's system, leaks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import extremal as ex
from extremal.errors import FileError, PriorError

from . import options, show
from .failure import CheckFailed
from .inputs import file_or_stdin, parse_mechanism, parse_prior, read_text, renamed
from .output import check_table, check_target, write_table, write_text
from .progress import progress

if TYPE_CHECKING:
    from rich.console import Console


def command(
    source: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help='A mechanism file (or matrix, with --prior); "-" for a pipe.'),
    ] = None,
    prior: options.Prior = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="LIMIT",
            help="The limit to check: exit status 1 if a report leaks more.",
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the whole audit as a Markdown page.")
    ] = False,
    report_file: Annotated[
        str | None,
        typer.Option("--report-file", metavar="FILE", help="Also write a page with pictures, as HTML."),
    ] = None,
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="With --report-file: its title, such as the question.")
    ] = "",
    output: options.Table = None,
    overwrite: options.Overwrite = False,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Instead of a mechanism, test any system: a CSV file with pairs of true answer and report.",
        ),
    ] = None,
    secret: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --pairs: the column of true answers.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --pairs: the column of reports.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="With --pairs: confidence level of the bounds.")] = 0.95,
    as_json: options.Json = False,
) -> None:
    """Say in plain words what each report of a mechanism can reveal.

    Exit status 1: a report leaks more than --epsilon. With --pairs: the pairs show, at the given confidence,
    that the system leaks more.
    """
    if as_json and markdown:
        raise FileError(
            "standard output can take one thing only",
            given="--json and --markdown",
            remedy="leave one of them out",
        )
    if (source is None) == (pairs is None):
        raise FileError(
            "give either a mechanism file, or --pairs with a CSV file",
        )
    if epsilon is not None:
        from extremal.model.regions import check_epsilon

        epsilon = check_epsilon(epsilon)  # whatever leaks, nothing is above nan
    if title and report_file is None:
        raise FileError(
            "--title is for a page", given="no --report-file", remedy="add --report-file page.html"
        )
    check_target(report_file, overwrite)
    check_target(output, overwrite, as_json or markdown)
    check_table(output)
    if pairs is not None:
        if output is not None or report_file is not None:
            raise FileError(
                "--pairs must not be combined with -o or --report-file",
                remedy="print it with --json or --markdown",
            )
        _audit_pairs(pairs, secret, report, epsilon, prior, confidence, as_json, markdown)
        return
    text = read_text(str(source))
    with progress("proving the mechanism"):
        found = parse_mechanism(text, str(source))
    inputs = found.inputs
    chosen: ex.Prior | ex.PriorSet
    if prior is not None:
        chosen = renamed(parse_prior(prior), inputs)
    elif isinstance(found, ex.Certified):
        chosen = found.prior_set or found.prior
    else:
        raise PriorError(
            "a matrix must come with a prior: what it leaks depends on it",
            remedy="give --prior 0.5,0.3,0.2",
        )
    with progress("auditing"):
        made = ex.audit(chosen, found)
        rows = [] if output is None else _rows(made)
        facts = made.to_dict() if as_json else {}
        page = "" if report_file is None else _page(chosen, found, title, str(source))
    if report_file is not None:
        write_text(report_file, page, overwrite)
    write_table(rows, output, overwrite)
    if as_json:
        show.print_json(facts)
    elif markdown:
        print(show.visible(made.to_markdown()), end="")
    else:
        from extremal.auditing.advice import disclosure, near_disclosure

        if isinstance(found, ex.Certified) and prior is None:
            warnings = disclosure(found)
        else:
            warnings = near_disclosure(made)
        out = show.console(to_stderr=output == "-")
        _tell_audit(out, made, warnings)
        for what, where in {"Page": report_file, "Table": output}.items():
            if where is not None and where != "-":
                out.print(f"\n{what} in {where}", soft_wrap=True)
    if epsilon is not None and made.epsilon > epsilon + (0.0 if made.exact else 1e-9):
        raise CheckFailed(f"leakage must be at most {epsilon!r} nats, but it is {made.epsilon!r}")


def _page(
    prior: ex.Prior | ex.PriorSet, mechanism: ex.Certified | ex.Mechanism, title: str, source: str
) -> str:
    from extremal.auditing.report import mechanism_report

    return mechanism_report(prior, mechanism, title=title, source="" if source == "-" else Path(source).name)


def _rows(made: ex.Audit) -> list[dict[str, Any]]:
    """A row for each report: how often it occurs, what it tells, and what it rules out."""
    return [
        {
            "report": o.output,
            "probability": o.probability,
            "leakage": o.leakage,
            "factor": math.exp(o.leakage),
            "best_guess": o.guess,
            "best_guess_probability": o.guess_probability,
            "ruled_out": "; ".join(map(str, o.excluded)),
            "ruled_out_probability": o.excluded_probability,
        }
        for o in made.outcomes
    ]


def _tell_audit(out: Console, made: ex.Audit, warnings: list[str]) -> None:
    show.warnings(out, warnings)
    show.heading(out, "In short")
    show.sentences(out, show.risk(made))
    show.heading(out, "What each report can tell, at most")
    out.print(show.leakage_table(out, made))
    show.heading(out, "How often a report rules out answers")
    if made.disclosures:
        from extremal.auditing.text import sentence

        found = made.to_dict()["certainty"]["disclosures"]
        show.sentences(out, [f"- {sentence(d)}" for d in found[:5]])
        if len(found) > 5:
            out.print(f"- … and {len(found) - 5} more; extremal audit --markdown lists all")
    else:
        out.print("Never: after every report every answer is still possible.")
    measures = [
        ("pointwise maximal leakage, worst report", made.epsilon),
        ("maximal leakage, average over reports", made.maximal_leakage),
        ("mutual information", made.mutual_information),
        ("entropy of the answer", made.answer_prior.entropy),
        ("local differential privacy", made.ldp_epsilon),
    ]
    show.heading(out, "In nats")
    rows = [(name, f"{value:.4f}" if math.isfinite(value) else "none (infinite)") for name, value in measures]
    out.print(show.table(("measure", ""), rows))


def _audit_pairs(
    path: str,
    secret: str | None,
    report: str | None,
    epsilon: float | None,
    prior: str | None,
    confidence: float,
    as_json: bool,
    markdown: bool,
) -> None:
    if secret is None or report is None:
        raise FileError(
            "--pairs must come with --secret and --report, the names of two columns",
        )
    from extremal.release.files.read import read_texts
    from extremal.release.files.source import open_data

    with file_or_stdin(path, None) as (name, format), progress("reading"):
        data = open_data(name, (secret, report), format, None)
        x, y = (read_texts(data, c) for c in (secret, report))
    known = None if prior is None else parse_prior(prior)
    with progress("testing the pairs"):
        made = ex.audit_pairs(x, y, confidence=confidence, epsilon=epsilon, prior=known)
    if as_json:
        show.print_json(made.to_dict())
    elif markdown:
        print(show.visible(made.to_markdown()), end="")
    else:
        show.sentences(show.console(), str(made).splitlines())
    if made.violation:
        raise CheckFailed("")
