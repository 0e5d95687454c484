"""extremal estimate: from reports to shares."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import extremal as ex
from extremal.estimation.promise import COMMAND
from extremal.model.reading import split_labels
from extremal.release.files.stored import is_store

from . import advice, options, show
from .failure import CheckFailed
from .inputs import check_columns, chosen_columns, file_or_stdin, load_mechanism, named_label, report_counts
from .output import check_table, check_target, write_table
from .progress import progress
from .stored import Shown, estimate_store

if TYPE_CHECKING:
    from rich.console import Console

    from extremal.estimation.interval_table import IntervalTable

Method = Literal["maximum-likelihood", "inverse", "map"]
Found = Any  # an Estimate, or a GroupedEstimate with --by


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help='CSV or Parquet file with reports, or the database of a survey (survey.db); "-" for a pipe.',
        ),
    ],
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            "-m",
            metavar="FILE",
            help="The certified mechanism that drew the reports; leave it out for the database of a survey.",
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which question of a survey; all of them if left out."),
    ] = None,
    column: options.ReportColumn = None,
    columns: options.Columns = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Also estimate every group in this column; A,B for combinations of columns."
        ),
    ] = None,
    weights: options.Weights = None,
    strata: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column with the stratum in which each person was drawn."),
    ] = None,
    clusters: options.Clusters = None,
    missing: options.MissingOrNone = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    intervals: Annotated[
        Literal["each", "all"] | None,
        typer.Option(
            help='"each": ordinary intervals, each holds by itself; "all": all of a table hold at the same time. By '
            'default "each", or what the survey.toml of a survey says.'
        ),
    ] = None,
    method: Annotated[Method, typer.Option(help="How to estimate.")] = "maximum-likelihood",
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B",
            help="Also the share of several answers together, e.g. ever=once,often; may be repeated; "
            "put quotes around an answer that holds a comma.",
        ),
    ] = None,
    mean: Annotated[
        bool, typer.Option("--mean", help="Also the mean of the answers, which must be numbers.")
    ] = False,
    scores: Annotated[
        str | None,
        typer.Option(metavar="A=0,B=1", help="Also the mean score; give a number for each answer."),
    ] = None,
    safe: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL=SHARE",
            help="Also how far off the shares can be if up to this share of people give this answer untruthfully.",
        ),
    ] = None,
    output: options.Table = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Estimate from reports how common each answer is, with confidence intervals, for everybody or by group.

    Exit status 1: the reports do not look as if this mechanism had drawn them.
    """
    check_target(output, overwrite, as_json)
    check_table(output)
    if safe is not None and by is not None:
        raise ex.errors.OptionError("--safe and --by must not be combined", remedy="leave one of them out")
    how: Any = {"confidence": confidence, "method": method}
    if intervals is not None:
        how["intervals"] = intervals
    names = {"by": by, "weights": weights, "strata": strata, "clusters": clusters}
    if is_store(source):
        _check_store_options(
            {
                "--mechanism": mechanism,
                "--column": column,
                "--columns": columns,
                "--group": group,
                "--mean": mean,
                "--scores": scores,
                "--safe": safe,
                "--missing": missing,
                "--format": format,
                "--delimiter": delimiter,
            }
        )
        chosen_by = None if by is None else split_labels(by)
        estimate_store(
            source,
            question,
            {**names, "by": chosen_by},
            how,
            Shown(as_json, output, overwrite, interval_rows),
        )
        return
    if mechanism is None:
        _check_exists(source)
    if mechanism is None or question is not None:
        raise ex.errors.OptionError(
            "--mechanism must be given for a file, --question for the store of a survey",
            given=source,
        )
    certified = load_mechanism(mechanism)
    chosen = chosen_columns(column, columns)
    if group and columns is not None:
        raise ex.errors.OptionError(
            "--group and --columns must not be combined", remedy="the shares of each column are shown anyway"
        )
    file: Any = {"missing": missing or "refuse", "format": format, "delimiter": delimiter}
    found: Found
    counts = None if any(names.values()) else report_counts(source, chosen, certified, **file)
    with progress("estimating"):
        if counts is None:
            found = _with_columns(source, chosen, certified, names, file, how)
        else:
            found = ex.estimate(certified, counts, **how)
        tables = _tables(found, certified, chosen, group, mean, scores)
        bounds = None if safe is None else _bounds(found, safe)
        records = found.table.records()
    write_table(records, output, overwrite)
    notes = [show.sentence(note) for note in (found.table.promise.note(COMMAND), *found.notes()[1:])]
    warnings = [note for note in notes if "WARNING" in note]
    unsure = advice.estimated(found)
    if as_json:
        facts = _facts(found, tables, [*warnings, *unsure])
        show.print_json(facts if bounds is None else {**facts, "bounds": bounds.rows()})
    else:
        out = show.console(to_stderr=output == "-")
        show.warnings(out, warnings)
        show.heading(out, found.table.title)
        out.print(interval_rows(out, found.table))
        show.warnings(out, unsure)
        show.sentences(out, [note for note in notes if note not in warnings])
        for title, table in tables.items():
            show.heading(out, title)
            out.print(interval_rows(out, table))
            show.sentences(out, [show.sentence(table.promise.note(COMMAND))])
        if bounds is not None:
            show.heading(out, "People who do not comply")
            show.sentences(out, str(bounds).splitlines())
        if output is not None and output != "-":
            out.print(f"\nTable in {output}", soft_wrap=True)
    if warnings:
        raise CheckFailed("")  # it has been said


def _check_exists(source: str) -> None:
    """Refuse a file that is missing or empty, if it may be meant as the store of a survey."""
    if source == "-" or source.lower().endswith((".csv", ".parquet")):
        return
    if not os.path.exists(source):
        raise ex.errors.FileError(
            f"{source} does not exist", remedy="run this in the folder where the survey was served"
        )
    if os.path.isfile(source) and not os.path.getsize(source):
        raise ex.errors.FileError(
            f"{source} is empty, not the store of a survey",
            remedy="name the store that the survey was served with",
        )


def _check_store_options(given: dict[str, Any]) -> None:
    """Refuse options that only a file can have: a store says for itself what it holds."""
    unused = [name for name, value in given.items() if value not in (None, False, [])]
    if unused:
        raise ex.errors.OptionError(
            f"the store of a survey has its own mechanisms and cannot be combined with {', '.join(unused)}",
            remedy="choose with --question, or write the reports to a file: extremal survey export",
        )


def _with_columns(
    source: str, chosen: Any, certified: ex.Certified, names: dict[str, str | None], file: Any, how: Any
) -> Found:
    """The estimate from a file that has more than reports."""
    from extremal.estimation.sample import read_table
    from extremal.release.files.source import only_column, open_data

    check_columns(chosen, certified)
    groups = None if names["by"] is None else split_labels(names["by"])
    others = [*(groups or []), *(name for key, name in names.items() if name and key != "by")]
    with file_or_stdin(source, file["format"]) as (path, format):
        reading = {"format": format, "delimiter": file["delimiter"]}
        reports = chosen or only_column(open_data(path, [], **reading))
        table = read_table(path, reports, others, missing=file["missing"], **reading)
    given: Any = {key: name for key, name in names.items() if key != "by"}
    by = groups[0] if groups is not None and len(groups) == 1 else groups
    return ex.estimate(certified, table, column=reports, by=by, **given, **how)


def _tables(
    found: Found,
    certified: ex.Certified,
    chosen: Any,
    group: list[str] | None,
    mean: bool,
    scores: str | None,
) -> dict[str, IntervalTable]:
    """What was asked for beside the shares, by its title."""
    tables = {}
    if isinstance(chosen, tuple):
        for k, name in enumerate(chosen):
            members: dict[str, list[Any]] = {}
            for label in found.labels:
                members.setdefault(str(label[k]), []).append(label)
            tables[f"Column {show.name_of(name)} alone"] = found.group(members)
    if group:
        sums = found.group(dict(_group(certified, text) for text in group))
        tables[sums.title] = sums
    if mean or scores is not None:
        means = found.mean(None if scores is None else _scores(scores))
        tables[means.title] = means
    return tables


def _facts(found: Found, tables: dict[str, IntervalTable], warnings: list[str]) -> dict[str, Any]:
    facts = {**found.to_dict(), "labels": list(found.labels), "shares": found.shares.tolist()}
    facts |= {"lower": found.lower.tolist(), "upper": found.upper.tolist(), "warnings": warnings}
    columns = {title[7:-6]: table for title, table in tables.items() if title.startswith("Column ")}
    if columns:
        facts["columns"] = {name: table.to_dict() for name, table in columns.items()}
    sums = [t for title, t in tables.items() if not title.startswith(("Column ", "mean"))]
    facts["groups"] = sums[0].to_dict() if sums else None
    means = [t for title, t in tables.items() if title.startswith("mean")]
    if means:
        facts["mean"] = means[0].to_dict()
    return facts


def interval_rows(out: Console, table: IntervalTable) -> Any:
    """All rows of a table; with a picture of the intervals where it fits."""
    low, top = min(float(table.lower.min()), 0.0), max(float(table.upper.max()), 1e-9)
    rows = [
        (
            *(show.name_of(row[name]) for name in table.by),
            show.name_of(row["label"]),
            _figure(row["estimate"], top),
            _figure(row["lower"], top),
            _figure(row["upper"], top),
            _error(row["standard_error"], top),
            show.interval(
                row["lower"] - low, row["estimate"] - low, row["upper"] - low, top - low, show.room(out)
            ),
        )
        for row in table.rows()
    ]
    head = (
        *table.by,
        "",
        "share" if top <= 1 else "estimate",
        "lower",
        "upper",
        "std error",
        f"{low:.3g} … {top:.3g}",
    )
    return show.table(head, rows, (*range(len(table.by) + 1), len(head) - 1), most=None)


def _figure(value: float, top: float) -> str:
    return f"{value:.4f}" if top <= 10 else f"{value:.6g}"


def _error(value: float | None, top: float) -> str:
    """A standard error; of a share one above 1 tells nothing."""
    return "not identified" if value is None else "–" if value > max(top, 1) else _figure(value, top)


def _group(certified: ex.Certified, text: str) -> tuple[str, list[Any]]:
    name, equals, members = text.partition("=")
    if not equals or not name:
        raise ex.errors.ValuesError(
            f"a group must be like NAME=A,B with labels of the mechanism, got {text!r:.60}"
        )
    return name, [named_label(certified.inputs, member) for member in split_labels(members)]


def _bounds(found: Found, text: str) -> ex.compliance.ShareBounds:
    label, equals, value = text.rpartition("=")
    try:
        share = float(value)
    except ValueError:
        equals = ""
    if not equals or not label:
        raise ex.errors.ValuesError(f"--safe must be like never=0.1, got {text!r:.60}")
    try:
        return ex.compliance.bounds(found, label, share)
    except ex.errors.OptionError as error:
        raise ex.errors.OptionError(f"--safe {error.problem}", given=error.given) from None


def _scores(text: str) -> dict[str, float]:
    scores = {}
    for part in split_labels(text):
        label, equals, value = part.rpartition("=")
        try:
            scores[label] = float(value)
        except ValueError:
            equals = ""
        if not equals or not label:
            raise ex.errors.ValuesError(f"--scores must be like A=0,B=1, got {text!r:.60}")
    return scores
