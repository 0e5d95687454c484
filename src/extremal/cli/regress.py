"""extremal regress: models of true answers, from reports."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import extremal as ex
from extremal.model.reading import split_labels

from . import options, show
from .failure import CheckFailed
from .inputs import file_or_stdin, load_mechanism
from .output import check_table, check_target, write_table
from .progress import progress

if TYPE_CHECKING:
    from rich.console import Console

    from extremal.estimation.regression.table import FigureTable

Model = Literal["logit", "probit", "multinomial", "ordinal", "ordinal-probit", "gaussian", "poisson"]


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help='CSV or Parquet file with reports and covariates; "-" for a pipe. Or give the mechanism here, '
            "and the file last.",
        ),
    ],
    formula: Annotated[str, typer.Argument(metavar="FORMULA", help='Such as "answer ~ age + C(sex)".')],
    last: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="The file, if the mechanism came first.", show_default=False),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            "--mechanism",
            "-m",
            metavar="[COLUMN=]FILE",
            help="The certified mechanism of the outcome; COLUMN=FILE for another private column, A,B=FILE for "
            "columns whose reports were drawn together; may be repeated.",
        ),
    ] = None,
    model: Annotated[
        Model | None,
        typer.Option(help="The model; by default logit for two answers and multinomial for more."),
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="The order of the answers: the reference first; for an ordinal model all answers, the lowest first.",
        ),
    ] = None,
    predictors: Annotated[
        Literal["covariates", "shares", "prior", "corrected"],
        typer.Option(
            help="How the model treats private predictors; docs/regression.md explains the choices."
        ),
    ] = "covariates",
    weights: options.Weights = None,
    clusters: options.Clusters = None,
    errors: Annotated[
        Literal["information", "robust", "cluster"] | None,
        typer.Option(
            help="The standard errors; by default cluster with --clusters, robust with --weights, else information."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of each interval by itself.")] = 0.95,
    effects: Annotated[
        bool, typer.Option("--effects", help="Also print predicted shares and average marginal effects.")
    ] = False,
    tests: Annotated[bool, typer.Option("--tests", help="Also print a test of each term.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help='Write the coefficients as .csv, .parquet or .json; "-" for a pipe.',
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Fit a model of how true answers depend on other columns, from reports.

    Exit status 1: the model does not fit, and you must not trust the coefficients of private predictors.
    """
    check_target(output, overwrite, as_json)
    check_table(output)
    if last is not None:
        if mechanism:
            raise ex.errors.OptionError(
                "a file must be given once", given=f"{source} and {last}", remedy="leave one of them out"
            )
        mechanism, source = [source], last
    given = _mechanisms(mechanism or [])
    from extremal.estimation.regression.columns import File

    with (
        file_or_stdin(source, format) as (path, kind),
        warnings.catch_warnings(),
        progress("fitting"),
    ):
        warnings.simplefilter("ignore")  # what they say is among the notes
        found = ex.regress(
            given,
            formula,
            File(path, kind, delimiter),
            model=model,
            answers=None if answers is None else split_labels(answers),
            predictors=predictors,
            weights=weights,
            clusters=clusters,
            errors=errors,
            confidence=confidence,
        )
    write_table(found.records(), output, overwrite)
    with progress("effects and tests"):
        more = {"shares": found.shares(), "effects": found.effects()} if effects else {}
        tested = found.tests() if tests else None
    if as_json:
        facts = {**found.to_dict(), **{name: table.rows() for name, table in more.items()}}
        show.print_json(facts if tested is None else {**facts, "tests": tested.rows()})
    else:
        _print(found, more, tested, output)
    if any(note.startswith("WARNING") for note in found.notes()):
        raise CheckFailed("")  # it has been said


def _print(found: ex.Regression, more: dict[str, FigureTable], tested: Any, output: str | None) -> None:
    out = show.console(to_stderr=output == "-")
    _coefficients(out, found)
    for table in more.values():
        show.heading(out, table.title)
        out.print(_figures(table))
        show.sentences(out, [show.sentence(str(table.promise))])
    if tested is not None:
        show.heading(out, "tests of each term")
        show.lines(out, str(tested).splitlines())
    if output is not None and output != "-":
        out.print(f"\nTable in {output}", soft_wrap=True)


def _mechanisms(given: list[str]) -> Any:
    """The mechanism of the outcome alone, or column -> mechanism."""
    if not given:
        raise ex.errors.OptionError(
            "the mechanism that made the reports is missing", remedy="give --mechanism FILE"
        )
    if len(given) == 1 and "=" not in given[0]:
        return load_mechanism(given[0])
    found: dict[Any, ex.Certified] = {}
    for text in given:
        names, equals, path = text.partition("=")
        if not equals or not names or not path:
            raise ex.errors.OptionError(
                "with several private columns, every --mechanism must be like COLUMN=FILE",
                given=f"{text!r:.60}",
            )
        columns = tuple(split_labels(names))
        found[columns if len(columns) > 1 else columns[0]] = load_mechanism(path)
    return found


def _coefficients(out: Console, found: ex.Regression) -> None:
    """The summary: what was fitted, a table for each answer, and what a reader must know."""
    from extremal.estimation.regression import summary

    show.heading(out, f"{summary.title(found)}: {found.formula}")
    show.lines(out, summary.facts(found))
    for answer, table in summary.tables(found).items():
        if answer is not None:
            show.heading(out, f"{found.source.parsed.outcome} = {show.name_of(answer)}")
        head, *rows = table
        out.print(show.table(head, rows, most=None))
    notes = [show.sentence(note) for note in found.notes()]
    out.print()
    show.warnings(out, [note for note in notes if note.startswith("WARNING")])
    show.sentences(out, [note for note in notes if not note.startswith("WARNING")])


def _figures(table: FigureTable) -> Any:
    head, *rows = table.cells()
    return show.table(head, rows, range(len(table.keys)), most=None)
