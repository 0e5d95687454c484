"""Options that several commands share, each in one place."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon",
        "-e",
        help="The limit: no report makes any guess more than e^epsilon times as likely to be right; "
        "0.7 is about twice.",
        metavar="LIMIT",
    ),
]
Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="CSV or Parquet file of answers to count the prior from; only if their shares may become"
        ' public. "-" reads CSV from a pipe.',
    ),
]
Column = Annotated[
    str | None, typer.Option("--column", metavar="NAME", help="The column that holds the answers.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B",
        help="Several columns treated as one answer, in the same order in every command: one report covers all of "
        "them, and so does epsilon.",
    ),
]
ReportColumn = Annotated[
    str | None, typer.Option("--column", metavar="NAME", help="The column that holds the reports.")
]
AllowTrueAnswers = Annotated[
    bool,
    typer.Option(
        "--allow-true-answers",
        help="Go on even if reports disclose the true answers, fully or nearly, and protect nobody.",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="NAME", help="The column with each person's sampling weight."),
]
Clusters = Annotated[
    str | None,
    typer.Option("--clusters", metavar="NAME", help="The column with each person's sampling cluster."),
]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="PRIOR",
        help="The prior, how common each answer is: 0.5,0.3,0.2 or a=50%,b=30%,c=20% or a JSON or mechanism file.",
    ),
]
Counts = Annotated[
    str | None,
    typer.Option(
        "--counts",
        metavar="FILE",
        help="Instead of a prior: counts from a census or a study, as JSON {label: count} or CSV with label and count.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="A,B,C",
        help='All possible answers, in the order you want; put "quotes" around an answer that contains a comma.',
    ),
]
Pseudocount = Annotated[
    float,
    typer.Option("--pseudocount", help="A number added to every count, so that no answer has probability 0."),
]
Missing = Annotated[
    Literal["refuse", "drop"], typer.Option("--missing", help="Stop at missing answers, or drop them.")
]
MissingOrNone = Annotated[
    Literal["refuse", "drop"] | None,
    typer.Option("--missing", help="Stop at missing answers, which is the default, or drop them."),
]
MissingOrUnknown = Annotated[
    Literal["refuse", "drop"],
    typer.Option(
        "--missing",
        "--unknown",
        help="Stop at missing answers and at answers that the mechanism does not know, or drop them.",
    ),
]
KeyFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A secret key made by `extremal key`: the same key, id and answer give the same report.",
    ),
]
IdColumn = Annotated[str | None, typer.Option(metavar="NAME", help="The column with the id of each record.")]
Occasion = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With a key: draw anew for this occasion, e.g. a second wave."),
]
AnyUtility = Literal[
    "shares", "mean", "mutual-information", "total-variation", "chi-squared", "hellinger", "jensen-shannon"
]
Method = Literal[
    "auto",
    "binary",
    "high-privacy",
    "uniform",
    "enumeration",
    "vertices",
    "column-generation",
    "gain-program",
    "arc",
]
Utility = Annotated[
    AnyUtility,
    typer.Option(
        "--utility",
        help='What the reports are for. "shares": the most precise shares from `extremal estimate`; "mean": the most '
        "precise mean of numeric answers; the others: the most information by that measure.",
    ),
]
Mechanism = Annotated[
    str, typer.Option("--mechanism", "-m", metavar="FILE", help="A certified mechanism file.")
]
MechanismOutput = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help='Where to write the certified mechanism; "-" for a pipe.'
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help='Write the table to a .csv, .parquet or .json file; "-" prints CSV.',
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it already exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs, and nothing else.")]
Format = Annotated[
    Literal["csv", "parquet"] | None,
    typer.Option("--format", help="Format of the data, if the file name does not show it."),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Delimiter of a CSV file; detected from the header if left out."),
]


@dataclass(frozen=True)
class Source:
    """Where a prior comes from, as it was asked for on the command line; each field is an option."""

    data: Data = None
    column: Column = None
    columns: Columns = None
    prior: Prior = None
    counts: Counts = None
    labels: Labels = None
    pseudocount: Pseudocount = 0.0
    missing: Missing = "refuse"
    format: Format = None
    delimiter: Delimiter = None


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of a Source in place of its parameter `source`."""
    parameters = dict(inspect.signature(command, eval_str=True).parameters)
    fields = dict(inspect.signature(Source, eval_str=True).parameters)
    shown = [p for name, p in parameters.items() for p in (fields.values() if name == "source" else [p])]

    @functools.wraps(command)
    def expanded(**given: Any) -> None:
        source = Source(**{name: given.pop(name) for name in fields})
        command(source=source, **given)

    expanded.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in shown]
    )
    expanded.__annotations__ = {p.name: p.annotation for p in shown}
    return expanded
