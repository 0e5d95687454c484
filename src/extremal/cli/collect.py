"""extremal privatize, estimate and key: from answers to reports, and from reports to shares."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import extremal as ex
from extremal.errors import FileError

from . import advice, options, show
from .failure import CheckFailed
from .inputs import file_or_stdin, load_mechanism, report_counts
from .progress import progress
from .texts import split_labels

if TYPE_CHECKING:
    from rich.console import Console

    from extremal.estimation.interval_table import IntervalTable

Method = Literal["maximum-likelihood", "inverse", "map"]


def privatize(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help='CSV or Parquet file; "-" reads from a pipe.')
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
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME",
            help="The column to privatise; may be repeated; needed unless the file has a single one.",
        ),
    ] = None,
    key_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Secret key: the same key and id give the same report (extremal key)."
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column with one id a record.")
    ] = None,
    missing: options.MissingOrUnknown = "refuse",
    unknown_as: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Treat unknown and missing answers as this one.")
    ] = None,
    occasion: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With a key: draw new reports for this occasion, e.g. a wave."),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help='Where keyed releases are recorded; beside the key file unless given, "none" for nowhere. A second '
            "report of the same people's column is refused.",
        ),
    ] = None,
    order: Annotated[
        Literal["check", "keep", "shuffle"],
        typer.Option(
            help="Refuse records whose order tells answers (check), accept them (keep), or write all records in random "
            "order (shuffle)."
        ),
    ] = "check",
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Replace answers in a file by random reports, drawn with secure randomness.

    Everything else in the file stays as it is. The file is streamed, so it may be larger than memory, and appears under
    its name when it is complete.
    """
    from extremal.release.files.read import open_data

    if output == "-" and as_json:
        raise FileError(
            "standard output must hold one thing",
            given="-o - and --json",
            remedy="leave one of them out",
        )
    loaded = [load_mechanism(path) for path in mechanism]
    how: dict[str, Any] = {
        "key": None if key_file is None else _key(key_file),
        "id_column": id_column,
        "unknown": missing,
        "occasion": occasion,
        "ledger": _ledger(ledger, key_file),
        "order": order,
        "delimiter": delimiter,
    }
    with file_or_stdin(source, format) as (path, kind):
        data = open_data(
            path, [*(column or []), *([] if id_column is None else [id_column])], kind, delimiter
        )
        jobs = _jobs(column or [_only_column(data, path, loaded[0])], loaded)
        if unknown_as is not None:
            how["unknown_as"] = {name: _label(c, unknown_as) for name, c in jobs.items()}
        reasons: dict[str, tuple[int, int]] = {}
        if missing == "drop" and unknown_as is None:
            reasons, empty = advice.gaps(data, jobs)
            if empty:
                raise _nothing_left(f"no answer in column {empty[0]!r}")
        done = _run(path, output, jobs, how, overwrite, kind)
    warnings = [text for c in jobs.values() for text in advice.full_disclosure(c)]
    lost = advice.dropped(done.rows, done.dropped, reasons)
    # For the person who runs this alone, so never on standard output, which may be passed on.
    show.warnings(show.console(to_stderr=True), done.notes)
    notes = [*advice.unchanged(data.columns, list(jobs)), *advice.together(list(jobs))]
    if as_json:
        show.print_json(
            {
                "file": output,
                "rows": done.rows,
                "dropped": done.dropped,
                "dropped_why": {
                    name: {"missing": n, "not_in_the_alphabet": other} for name, (n, other) in reasons.items()
                },
                "columns": {name: {"epsilon": c.epsilon, "digest": c.digest} for name, c in jobs.items()},
                "unchanged": [name for name in data.columns if name not in jobs],
                "keyed": key_file is not None,
                "warnings": [*warnings, *lost[1:], *notes],
            }
        )
        return
    _tell_release(output, jobs, done.rows, [*warnings, *lost[1:]], lost[:1], notes)


def _tell_release(
    output: str,
    jobs: dict[str, ex.Certified],
    rows: int,
    warnings: list[str],
    lost: list[str],
    notes: list[str],
) -> None:
    out = show.console(to_stderr=output == "-")
    show.warnings(out, warnings)
    where = "on standard output" if output == "-" else f"in {output}"
    out.print(f"{rows} reports {where}" + "".join(f"; {text}" for text in lost), soft_wrap=True)
    for name, c in jobs.items():
        out.print(
            f"column {show.name_of(name)} now holds reports, not answers: none leaks more than "
            f"{show.nats(c.epsilon)} under the prior in the mechanism file",
            soft_wrap=True,
        )
    show.sentences(out, notes)


def _jobs(column: list[str], loaded: list[ex.Certified]) -> dict[str, ex.Certified]:
    """The mechanism of each column."""
    if len(column) != len(loaded):
        raise FileError(
            "every --column must have its --mechanism",
            given=f"{len(column)} columns and {len(loaded)} mechanisms",
            remedy="repeat --mechanism where two columns have the same",
        )
    jobs = dict(zip(column, loaded, strict=True))
    if len(jobs) < len(column):
        raise FileError(
            "a column must be named once",
            given="one more than once",
            remedy="a second report would leak more",
        )
    return jobs


def _only_column(data: Any, path: str, certified: ex.Certified) -> str:
    """The name of the only column; an answer in its place is the first record of a file without a header."""
    from extremal.release.files.read import only_column

    name = only_column(data, path)
    if any(str(label) == name for label in certified.inputs):
        raise FileError(
            "the first line must be the name of the column",
            given=f"an answer of the mechanism in {path}",
            remedy="put a header before it, or say that it is the name with --column",
        )
    return name


def _key(path: str) -> bytes:
    """The key in a file; whether it is one at all is said first."""
    try:
        with open(path, "rb") as file:
            content = file.read(200)
        if len(content) != 32 and len(content.strip()) != 64:
            raise ex.errors.KeyingError(
                f"--key-file must be a key of 64 hexadecimal digits or 32 bytes, got something else: {path}; "
                "make one with: extremal key FILE"
            )
    except OSError:
        pass  # read_key says what is wrong
    return ex.keys.read(path)


def _ledger(given: str | None, key_file: str | None) -> str | None:
    """The ledger that was named, else the one beside the key; None for none."""
    if given is None:
        return None if key_file is None else f"{key_file}.ledger"
    return None if given == "none" else given


def _nothing_left(why: str) -> ex.errors.ValuesError:
    return ex.errors.ValuesError(
        f"some record must have an answer that the mechanism knows, got none with --missing drop: {why} is one of its "
        "labels; is it the mechanism of another question?"
    )


def _run(path: str, output: str, jobs: Any, how: dict[str, Any], overwrite: bool, format: str | None) -> Any:
    """The file written, or standard output."""
    from extremal.release.files.privatize import privatize_file

    target = sys.stdout.buffer if output == "-" else output
    with progress("privatising") as bar:
        return privatize_file(path, target, jobs, overwrite=overwrite, format=format, progress=bar, **how)


def _label(certified: ex.Certified, text: str) -> Any:
    """The input label that a text stands for: itself, else one that is written like it."""
    return next((label for label in certified.inputs if str(label) == text), text)


def estimate(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help='CSV or Parquet file with reports; "-" for a pipe.')
    ],
    mechanism: options.Mechanism,
    column: options.ReportColumn = None,
    missing: options.Missing = "refuse",
    confidence: Annotated[float, typer.Option(help="With which all intervals hold together.")] = 0.95,
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
    """Estimate how frequent each answer is from reports, with intervals that hold together.

    Exit status 1: the reports do not look like those of this mechanism.
    """
    certified = load_mechanism(mechanism)
    counts = report_counts(source, column, certified, missing=missing, format=format, delimiter=delimiter)
    found = ex.estimate(certified, counts, confidence, method=method)
    sums = found.group(dict(_group(certified, text) for text in group)) if group else None
    notes = [note[:1].upper() + note[1:] + "." for note in found.notes()]
    warnings = [note for note in notes if note.startswith("WARNING")]
    unsure = advice.estimated(found)
    if as_json:
        columns = {
            "labels": list(found.labels),
            "frequencies": found.frequencies.tolist(),
            "lower": found.lower.tolist(),
            "upper": found.upper.tolist(),
        }
        groups = None if sums is None else sums.to_dict()
        show.print_json({**found.to_dict(), **columns, "groups": groups, "warnings": [*warnings, *unsure]})
    else:
        out = show.console()
        show.warnings(out, warnings)
        show.heading(out, found.table.title)
        out.print(_intervals(out, found.table))
        show.sentences(out, [*unsure, *(note for note in notes if note not in warnings)])
        if sums is not None:
            show.heading(out, sums.title)
            out.print(_intervals(out, sums))
    if warnings:
        raise CheckFailed("")  # it has been said


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
    return name, [_label(certified, member) for member in split_labels(members)]


def key(path: Annotated[str, typer.Argument(metavar="FILE", help="The key file to make.")]) -> None:
    """Make a secret key for repeatable reports, in a new file that only its owner can read."""
    ex.keys.write(path)
    show.console().print(f"Secret key in {path}: keep it as safe as the answers themselves", soft_wrap=True)
