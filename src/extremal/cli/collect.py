"""extremal privatize, estimate and key: from answers to reports, and from reports to shares."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import extremal as ex
from extremal.errors import FileError

from . import options, show
from .inputs import file_or_stdin, load_mechanism, report_counts
from .progress import progress

if TYPE_CHECKING:
    from rich.console import Console

Method = Literal["maximum-likelihood", "inverse", "map"]


def privatize(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help='CSV or Parquet file; "-" reads from a pipe.')
    ],
    column: Annotated[
        list[str], typer.Option("--column", metavar="NAME", help="The column to privatise; may be repeated.")
    ],
    mechanism: Annotated[
        list[str],
        typer.Option(
            "--mechanism", "-m", metavar="FILE", help="Its certified mechanism; one for each --column."
        ),
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help='Where to write the reports; "-" for a pipe.'),
    ],
    key_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Secret key: the same key and id give the same report (extremal key)."
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column with one id a record.")
    ] = None,
    unknown: Annotated[
        Literal["refuse", "drop"],
        typer.Option(help="What to do with answers that the mechanism does not know."),
    ] = "refuse",
    unknown_as: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Treat unknown and missing answers as this one.")
    ] = None,
    repeated_ids: Annotated[
        Literal["refuse", "allow"], typer.Option(help="What to do where an id stands twice.")
    ] = "refuse",
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Replace answers in a file by random reports, drawn with secure randomness.

    Everything else in the file stays as it is. The file is streamed, so it may be larger than memory, and appears under
    its name when it is complete.
    """
    if output == "-" and as_json:
        raise FileError("standard output must hold one thing, got -o - and --json; leave one of them out")
    if len(column) != len(mechanism):
        raise FileError(
            f"every --column must have its --mechanism, got {len(column)} columns and {len(mechanism)} mechanisms"
        )
    loaded = [load_mechanism(path) for path in mechanism]
    jobs = dict(zip(column, loaded, strict=True))
    if len(jobs) < len(column):
        raise FileError(
            "a column must be named once, got one more than once; a second report would leak more"
        )
    how: dict[str, Any] = {
        "key": None if key_file is None else ex.read_key(key_file),
        "id_column": id_column,
        "unknown": unknown,
        "unknown_as": None
        if unknown_as is None
        else {name: _label(c, unknown_as) for name, c in jobs.items()},
        "repeated_ids": repeated_ids,
        "delimiter": delimiter,
    }
    done = _run(source, output, jobs, how, overwrite, format)
    facts = {
        "file": output,
        "rows": done.rows,
        "dropped": done.dropped,
        "columns": {name: {"epsilon": c.epsilon, "digest": c.digest} for name, c in jobs.items()},
        "keyed": key_file is not None,
    }
    if as_json:
        show.print_json(facts)
        return
    out = show.console(to_stderr=True) if output == "-" else show.console()
    where = "on standard output" if output == "-" else f"in {output}"
    said = f"{done.rows} reports {where}" + (f", {done.dropped} records dropped" if done.dropped else "")
    out.print(said, soft_wrap=True)
    for name, c in jobs.items():
        out.print(f"{show.name_of(name)}: no report leaks more than {c.epsilon:g} nats", soft_wrap=True)


def _run(
    source: str, output: str, jobs: Any, how: dict[str, Any], overwrite: bool, format: str | None
) -> Any:
    """The file written; a pipe goes through a folder that only its owner can read."""
    with file_or_stdin(source, format) as path, progress("privatising") as bar:
        if output != "-":
            kind = format or ("csv" if source == "-" else None)
            return ex.privatize_file(
                path, output, jobs, overwrite=overwrite, format=kind, progress=bar, **how
            )
        with tempfile.TemporaryDirectory(prefix="extremal-") as folder:
            target = os.path.join(folder, os.path.basename(path))
            done = ex.privatize_file(path, target, jobs, format=format, progress=bar, **how)
            bar.close()
            with open(target, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return done


def _label(certified: ex.Certified, text: str) -> Any:
    """The input label that a text stands for: itself, else one that is written like it."""
    return next((label for label in certified.inputs if str(label) == text), text)


def estimate(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help='CSV or Parquet file with reports; "-" for a pipe.')
    ],
    mechanism: options.Mechanism,
    column: options.Column = None,
    missing: options.Missing = "refuse",
    confidence: Annotated[float, typer.Option(help="With which all intervals hold together.")] = 0.95,
    method: Annotated[Method, typer.Option(help="How to estimate.")] = "maximum-likelihood",
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B", help="Also the sum over some answers, e.g. ever=once,often; may be repeated."
        ),
    ] = None,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Estimate how frequent each answer is from reports, with intervals that hold together."""
    certified = load_mechanism(mechanism)
    counts = report_counts(source, column, certified, missing=missing, format=format, delimiter=delimiter)
    found = ex.estimate(certified, counts, confidence, method=method)
    sums = found.group(dict(_group(certified, text) for text in group)) if group else None
    if as_json:
        columns = {
            "labels": list(found.labels),
            "frequencies": found.frequencies.tolist(),
            "lower": found.lower.tolist(),
            "upper": found.upper.tolist(),
        }
        groups = None if sums is None else sums.to_dict()
        show.print_json({**found.to_dict(), **columns, "groups": groups})
        return
    out = show.console()
    show.heading(out, found.table.title)
    out.print(_intervals(out, found.table))
    show.sentences(out, [note[:1].upper() + note[1:] + "." for note in found.notes()])
    if sums is not None:
        show.heading(out, sums.title)
        out.print(_intervals(out, sums))


def _intervals(out: Console, table: ex.IntervalTable) -> Any:
    top = max(float(table.upper.max()), 1e-9)
    rows = [
        (
            show.name_of(row["label"]),
            f"{row['estimate']:.4f}",
            f"{row['lower']:.4f}",
            f"{row['upper']:.4f}",
            "not identified" if row["standard_error"] is None else f"{row['standard_error']:.4f}",
            show.interval(row["lower"], row["estimate"], row["upper"], top, show.room(out)),
        )
        for row in table.rows()
    ]
    return show.table(("", "share", "lower", "upper", "std error", f"0 … {top:.3g}"), rows, (0, 5))


def _group(certified: ex.Certified, text: str) -> tuple[str, list[Any]]:
    name, equals, members = text.partition("=")
    if not equals or not name:
        raise ex.ValuesError(f"a group must be like NAME=A,B with labels of the mechanism, got {text!r:.60}")
    return name, [_label(certified, member.strip()) for member in members.split(",")]


def key(path: Annotated[str, typer.Argument(metavar="FILE", help="The key file to make.")]) -> None:
    """Make a secret key for repeatable reports, in a new file that only its owner can read."""
    ex.write_key(path)
    show.console().print(f"Secret key in {path}: keep it as safe as the answers themselves", soft_wrap=True)
