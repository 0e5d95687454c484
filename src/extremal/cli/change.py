"""extremal change: how the answers of the same people changed between two waves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import extremal as ex
from extremal.errors import FileError, OptionError, ValuesError
from extremal.estimation.promise import COMMAND

from . import options, show
from .estimate import interval_rows
from .inputs import load_mechanism
from .output import check_table, check_target, write_table
from .progress import progress

if TYPE_CHECKING:
    from extremal.estimation.interval_table import IntervalTable

MOST_ANSWERS = 30  # whose pairs are estimated; the mechanism of pairs grows with their fourth power


def command(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", help="CSV or Parquet file with the reports of the first wave.")
    ],
    second: Annotated[
        str, typer.Argument(metavar="SECOND", help="The same for the second wave, with the same ids.")
    ],
    mechanism: Annotated[
        list[str],
        typer.Option(
            "--mechanism",
            "-m",
            metavar="FILE",
            help="The certified mechanism; give two, in the order of the waves, if they differ.",
        ),
    ],
    id_column: Annotated[
        str, typer.Option(metavar="NAME", help="The column with each person's id, the same in both waves.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="The column of reports; give two, in the order of the waves, if they differ."
        ),
    ] = None,
    intervals: Annotated[
        Literal["each", "all"],
        typer.Option(
            help='"each": each interval holds by itself; "all": all of a table hold at the same time.'
        ),
    ] = "each",
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    output: options.Table = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Show how the answers of the same people changed between two waves, from their reports.

    The reports of the two waves must have been drawn independently. If you used a key, each wave needs its own
    --occasion in `extremal privatize`. People who reported in one wave only are left out.
    """
    check_target(output, overwrite, as_json)
    check_table(output)
    files, names = (first, second), _both(column, "--column")
    if "-" in files:
        raise FileError("waves must be files", given="-", remedy="a pipe can hold only one wave")
    mechanisms = [load_mechanism(path) for path in _both(mechanism, "--mechanism")]
    size = len(mechanisms[0].inputs)
    if size > MOST_ANSWERS:
        raise ex.errors.SizeError(
            f"changes are estimated for at most {MOST_ANSWERS} answers",
            given=size,
            remedy="merge rare answers",
        )
    with progress("reading"):
        waves = [_wave(path, name, id_column) for path, name in zip(files, names, strict=True)]
    people = list(dict.fromkeys([*waves[0], *waves[1]]))
    if not waves[0].keys() & waves[1].keys():
        raise ValuesError(
            "somebody must have reported in both waves", given="no id in both", remedy="is --id-column right?"
        )
    with progress("estimating"):
        found = ex.panels.change(
            mechanisms,
            [waves[0].get(person) for person in people],
            [waves[1].get(person) for person in people],
            confidence,
            intervals=intervals,
        )
        tables = {"change": found.change, "same": found.stayed, "from_to": found.transitions}
        leaks = ex.panels.leakage(mechanisms, [m.prior for m in mechanisms])
    write_table(
        [{"table": name, **record} for name, table in tables.items() for record in table.records()],
        output,
        overwrite,
    )
    if as_json:
        shown = {name: table.to_dict() for name, table in tables.items()}
        left_out = {"people": found.joint.reports, "left_out": found.dropped}
        show.print_json({**left_out, **shown, "leakage_of_both": leaks.epsilon})
        return
    _tell(found, tables, leaks, output)


def _both(given: list[str] | None, option: str) -> list[Any]:
    """What was given for each wave; once is for both."""
    if given and len(given) > 2:
        raise OptionError(f"{option} must be given once or twice", given=f"{len(given)} times")
    return [None, None] if not given else [given[0], given[-1]]


def _wave(path: str, column: str | None, ids: str) -> dict[Any, Any]:
    """The report of each person; a person must occur once."""
    from extremal.release.files.read import read_texts
    from extremal.release.files.source import open_data

    data = open_data(path, [ids, *([] if column is None else [column])], None, None)
    others = [name for name in data.columns if name != ids]
    if column is None and len(others) != 1:
        raise FileError("the column of reports must be named", given=path, remedy="give --column NAME")
    people, reports = read_texts(data, ids), read_texts(data, column or others[0])
    found = dict(zip(people, reports, strict=True))
    if None in found or len(found) < len(people):
        raise ValuesError("every person must occur once", given=f"an id twice, or none, in {path}")
    return found


def _tell(found: Any, tables: dict[str, IntervalTable], leaks: Any, output: str | None) -> None:
    out = show.console(to_stderr=output == "-")
    for table in tables.values():
        show.heading(out, table.title)
        out.print(interval_rows(out, table))
        show.sentences(out, [show.sentence(table.promise.note(COMMAND))])
    show.sentences(
        out, [f"{found.joint.reports} people reported in both waves, {found.dropped} in one only."]
    )
    show.heading(out, "What both reports of a person tell")
    show.sentences(out, [f"{line[:1].upper()}{line[1:]}." for line in str(leaks).splitlines()])
    if output is not None and output != "-":
        out.print(f"\nTable in {output}", soft_wrap=True)
