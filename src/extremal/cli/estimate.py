"""extremal estimate: from reports to shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import extremal as ex
from extremal.model.reading import split_labels

from . import advice, options, show
from .failure import CheckFailed
from .inputs import chosen_columns, load_mechanism, named_label, report_counts

if TYPE_CHECKING:
    from rich.console import Console

    from extremal.estimation.interval_table import IntervalTable

Method = Literal["maximum-likelihood", "inverse", "map"]


def command(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help='CSV or Parquet file with reports; "-" for a pipe.')
    ],
    mechanism: options.Mechanism,
    column: options.ReportColumn = None,
    columns: options.Columns = None,
    missing: options.Missing = "refuse",
    confidence: Annotated[float, typer.Option(help="Simultaneous confidence level of all intervals.")] = 0.95,
    method: Annotated[Method, typer.Option(help="How to estimate.")] = "maximum-likelihood",
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B",
            help="Also the sum over some answers, e.g. ever=once,often; may be repeated; quotes as in CSV around an "
            "answer that holds a comma.",
        ),
    ] = None,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Estimate how frequent each answer is from reports, with simultaneous confidence intervals.

    Exit status 1: the reports do not look like those of this mechanism.
    """
    certified = load_mechanism(mechanism)
    chosen = chosen_columns(column, columns)
    if group and columns is not None:
        raise ex.errors.OptionError(
            "--group and --columns must not be combined", remedy="the shares of each column are shown anyway"
        )
    counts = report_counts(source, chosen, certified, missing=missing, format=format, delimiter=delimiter)
    found = ex.estimate(certified, counts, confidence, method=method)
    sums = found.group(dict(_group(certified, text) for text in group)) if group else None
    each = _marginals(found, chosen) if isinstance(chosen, tuple) else {}
    notes = [note[:1].upper() + note[1:] + "." for note in found.notes()]
    warnings = [note for note in notes if note.startswith("WARNING")]
    unsure = advice.estimated(found)
    if as_json:
        vectors = {
            "labels": list(found.labels),
            "frequencies": found.frequencies.tolist(),
            "lower": found.lower.tolist(),
            "upper": found.upper.tolist(),
        }
        groups = None if sums is None else sums.to_dict()
        facts = {**found.to_dict(), **vectors, "groups": groups, "warnings": [*warnings, *unsure]}
        if each:
            facts["columns"] = {name: table.to_dict() for name, table in each.items()}
        show.print_json(facts)
    else:
        out = show.console()
        show.warnings(out, warnings)
        show.heading(out, found.table.title)
        out.print(_intervals(out, found.table))
        show.sentences(out, [*unsure, *(note for note in notes if note not in warnings)])
        for name, table in each.items():
            show.heading(out, f"Column {show.name_of(name)} alone")
            out.print(_intervals(out, table))
        if sums is not None:
            show.heading(out, sums.title)
            out.print(_intervals(out, sums))
    if warnings:
        raise CheckFailed("")  # it has been said


def _marginals(found: ex.Estimate, names: tuple[str, ...]) -> dict[str, IntervalTable]:
    """The shares of each column alone: sums over the combinations."""
    tables = {}
    for k, name in enumerate(names):
        members: dict[str, list[Any]] = {}
        for label in found.labels:
            members.setdefault(str(label[k]), []).append(label)  # type: ignore[index]
        tables[name] = found.group(members)
    return tables


def _intervals(out: Console, table: IntervalTable) -> Any:
    top = max(float(table.upper.max()), 1e-9)
    rows = [
        (
            show.name_of(row["label"]),
            f"{row['estimate']:.4f}",
            f"{row['lower']:.4f}",
            f"{row['upper']:.4f}",
            _error(row["standard_error"]),
            show.interval(row["lower"], row["estimate"], row["upper"], top, show.room(out)),
        )
        for row in table.rows()
    ]
    return show.table(("", "share", "lower", "upper", "std error", f"0 … {top:.3g}"), rows, (0, 5))


def _error(value: float | None) -> str:
    """A standard error of a share; above 1 the figure tells nothing."""
    return "not identified" if value is None else "–" if value > 1 else f"{value:.4f}"


def _group(certified: ex.Certified, text: str) -> tuple[str, list[Any]]:
    name, equals, members = text.partition("=")
    if not equals or not name:
        raise ex.errors.ValuesError(
            f"a group must be like NAME=A,B with labels of the mechanism, got {text!r:.60}"
        )
    return name, [named_label(certified.inputs, member) for member in split_labels(members)]
