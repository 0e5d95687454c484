"""extremal privatize: from answers to reports."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

import typer

import extremal as ex
from extremal._common.words import counted
from extremal.errors import FileError

from . import advice, options, show
from .inputs import check_columns, chosen_columns, file_or_stdin, load_key, load_mechanism, named_label
from .output import check_own_files
from .progress import progress


def command(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help='CSV or Parquet file; "-" reads from a pipe.')
    ],
    mechanism: Annotated[
        list[str],
        typer.Option(
            "--mechanism",
            "-m",
            metavar="FILE",
            help="The certified mechanism of the column; one for each --column.",
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
            help="The column to replace; may be repeated; needed unless the file has only one column.",
        ),
    ] = None,
    columns: options.Columns = None,
    key_file: options.KeyFile = None,
    id_column: options.IdColumn = None,
    missing: options.MissingOrUnknown = "refuse",
    unknown_as: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Treat unknown and missing answers as this answer.")
    ] = None,
    occasion: options.Occasion = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With a key: the file that records releases, so that a second report about the same "
            'column of the same people is refused. By default next to the key file; "none" turns it off.',
        ),
    ] = None,
    correction: Annotated[
        bool,
        typer.Option(
            "--correction",
            help="Release answers that differ from those in the ledger, because they were corrected. Reports that "
            "differ then show whose answer changed.",
        ),
    ] = False,
    order: Annotated[
        Literal["check", "keep", "shuffle"],
        typer.Option(
            help="Refuse records whose order reveals answers (check), accept them (keep), or write all records in "
            "random order (shuffle)."
        ),
    ] = "check",
    allow_true_answers: options.AllowTrueAnswers = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Replace the answers in a file with random reports, drawn with secure randomness.

    Everything else in the file stays as it is. The file may be larger than memory. The output appears under its name
    only when it is complete.
    """
    from extremal.release.files.source import open_data

    if output == "-" and as_json:
        raise FileError(
            "standard output can take one thing only",
            given="-o - and --json",
            remedy="leave one of them out",
        )
    book = _ledger(ledger, key_file)
    own = [*mechanism, *(name for name in (key_file, book) if name is not None)]
    check_own_files(output, own, "the mechanism, the key or the ledger")
    loaded = [load_mechanism(path) for path in mechanism]
    how: dict[str, Any] = {
        "key": None if key_file is None else load_key(key_file),
        "id_column": id_column,
        "unknown": missing,
        "occasion": occasion,
        "ledger": book,
        "correction": correction,
        "order": order,
        "allow_true_answers": allow_true_answers,
    }
    with file_or_stdin(source, format) as (path, kind):
        together = _together(column, columns)
        named = [*(column or []), *(together or ())]
        data = open_data(path, [*named, *([] if id_column is None else [id_column])], kind, delimiter)
        chosen = [together] if together else column or [_only_column(data, loaded[0])]
        jobs = _jobs(chosen, loaded)
        private = named or list(jobs)
        if unknown_as is not None:
            how["unknown_as"] = {name: named_label(c.inputs, unknown_as) for name, c in jobs.items()}
        reasons: dict[Any, tuple[int, int]] = {}
        if missing == "drop" and unknown_as is None:
            reasons, empty = advice.gaps(data, jobs)
            if empty:
                raise _nothing_left(_name(empty[0]))
        done = _run(data, output, jobs, how, overwrite, kind)
    from extremal.auditing.advice import disclosure

    warnings = [text for c in jobs.values() for text in disclosure(c)]
    lost = advice.dropped(done.rows, done.dropped, reasons)
    # For the person who runs this alone, so never on standard output, which may be passed on.
    show.warnings(show.console(to_stderr=True), done.notes)
    notes = [*advice.unchanged(data.columns, private), *advice.together(list(jobs))]
    if as_json:
        show.print_json(
            {
                "file": output,
                "rows": done.rows,
                "dropped": done.dropped,
                "dropped_why": {
                    _name(name): {"missing": n, "not_in_the_alphabet": other}
                    for name, (n, other) in reasons.items()
                },
                "columns": {
                    _name(name): {"epsilon": c.epsilon, "digest": c.digest} for name, c in jobs.items()
                },
                "unchanged": [name for name in data.columns if name not in private],
                "keyed": key_file is not None,
                "warnings": [*warnings, *lost[1:], *notes],
            }
        )
        return
    _tell_release(output, jobs, done.rows, [*warnings, *lost[1:]], lost[:1], notes)


def _together(column: list[str] | None, columns: str | None) -> tuple[str, ...] | None:
    """The columns that are released by one draw, if there are any."""
    found = chosen_columns(column[0] if column else None, columns)
    return found if isinstance(found, tuple) else None


def _name(column: str | tuple[str, ...]) -> str:
    """A column, or several together, in JSON."""
    return column if isinstance(column, str) else ",".join(column)


def _tell_release(
    output: str,
    jobs: dict[Any, ex.Certified],
    rows: int,
    warnings: list[str],
    lost: list[str],
    notes: list[str],
) -> None:
    out = show.console(to_stderr=output == "-")
    show.warnings(out, warnings)
    where = "on standard output" if output == "-" else f"in {output}"
    out.print(f"{counted(rows, 'report')} {where}" + "".join(f"; {text}" for text in lost), soft_wrap=True)
    for name, c in jobs.items():
        if c.doubt.disclosed:
            show.warnings(out, [_disclosed(name, c)])
            continue
        out.print(
            (
                f"columns {show.name_of(name)} now hold one joint report instead of the answers: none leaks more "
                if isinstance(name, tuple)
                else f"column {show.name_of(name)} now holds reports, not answers: none leaks more "
            )
            + f"than {show.nats(c.epsilon)} under the prior in the mechanism file",
            soft_wrap=True,
        )
    show.sentences(out, notes)


def _disclosed(name: Any, certified: ex.Certified) -> str:
    """What a column holds that protects nobody."""
    column = name if certified.doubt.part is None else name[certified.doubt.part]
    kept = certified.between.matrix.argmax(axis=1).tolist()
    same = certified.inputs == tuple(certified.outputs[j] for j in kept)
    verb = "holds" if same and certified.doubt.part is None else "tells"
    amount = "the true answers" if certified.doubt.fully else "nearly all true answers"
    if certified.doubt.part is None and isinstance(name, tuple):
        return f"columns {show.name_of(name)} now {verb[:-1]} {amount}: no protection"
    return f"column {show.name_of(column)} now {verb} {amount}: no protection"


def _jobs(column: list[Any], loaded: list[ex.Certified]) -> dict[Any, ex.Certified]:
    """The mechanism of each column, or of several together."""
    if len(column) != len(loaded):
        raise FileError(
            "--column and --mechanism must be given equally often",
            given=f"{len(column)} columns and {len(loaded)} mechanisms",
            remedy="repeat --mechanism where two columns have the same",
        )
    jobs = dict(zip(column, loaded, strict=True))
    if len(jobs) < len(column):
        raise FileError(
            "each column must be named once",
            given="one of them twice",
            remedy="two reports about one answer reveal more than one",
        )
    for name, certified in jobs.items():
        check_columns(name, certified)
    return jobs


def _only_column(data: Any, certified: ex.Certified) -> str:
    """The name of the only column; an answer in its place is the first record of a file without a header."""
    from extremal.draw.alphabet import Alphabet
    from extremal.release.files.csv import finder
    from extremal.release.files.source import only_column

    name = only_column(data)
    known = [*certified.inputs, *certified.outputs]
    if finder(Alphabet(tuple(dict.fromkeys(known)), ()))(name.strip()) < len(dict.fromkeys(known)):
        raise FileError(
            "the first line must be the name of the column",
            given=f"an answer of the mechanism in {data.path}",
            remedy="add a header line, or confirm with --column that this is the name",
        )
    return name


def _ledger(given: str | None, key_file: str | None) -> str | None:
    """The ledger that was named, else the one beside the key; None for none."""
    if given is None:
        return None if key_file is None else f"{key_file}.ledger"
    return None if given == "none" else given


def _nothing_left(name: str) -> ex.errors.ValuesError:
    return ex.errors.ValuesError(
        f"No records left: no value in {name!r} is a label of this mechanism. Is it the right mechanism file?"
    )


def _run(data: Any, output: str, jobs: Any, how: dict[str, Any], overwrite: bool, format: str | None) -> Any:
    """The file written, or standard output."""
    from extremal.release.files.privatize import privatize_file

    target = sys.stdout.buffer if output == "-" else output
    with progress("privatising") as bar:
        return privatize_file(data, target, jobs, overwrite=overwrite, format=format, progress=bar, **how)
