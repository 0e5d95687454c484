"""Options that several commands share, each declared once; those that belong together are a group.

A group is a frozen dataclass whose fields are options. A command takes the group as one argument; `grouped` puts the
options in its place.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Literal

import typer

from extremal.errors import OptionError

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
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B",
        help="Several columns treated as one answer, in the same order in every command: one report covers all of "
        "them, and so does epsilon.",
    ),
]
AllowTrueAnswers = Annotated[
    bool,
    typer.Option(
        "--allow-true-answers",
        help="Go on even if reports disclose the true answers, fully or nearly, and protect nobody.",
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="PRIOR",
        help="The prior, how common each answer is: 0.5,0.3,0.2 or a=50%,b=30%,c=20% or a JSON or mechanism file.",
    ),
]
AnyUtility = Literal[
    "shares", "mean", "mutual-information", "total-variation", "chi-squared", "hellinger", "jensen-shannon"
]
Utility = Annotated[
    AnyUtility,
    typer.Option(
        "--utility",
        metavar="NAME",
        help='What the reports are for. "shares": the most precise shares from `extremal estimate`; "mean": the most '
        "precise mean of numeric answers; mutual-information, total-variation, chi-squared, hellinger or "
        "jensen-shannon: the most information by that measure.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it already exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs, and nothing else.")]
Table = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help='Write the table to a .csv, .parquet or .json file; "-" prints CSV.',
    ),
]
Format = Annotated[
    Literal["csv", "parquet"] | None,
    typer.Option("--format", help="Format of the data, if the file name does not show it."),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Delimiter of a CSV file; detected from the header if left out."),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="NAME", help="The column with each person's sampling weight."),
]
Clusters = Annotated[
    str | None,
    typer.Option("--clusters", metavar="NAME", help="The column with each person's sampling cluster."),
]
Confidence = Annotated[float, typer.Option("--confidence", help="Confidence level of the intervals.")]
Intervals = Annotated[
    Literal["each", "all"],
    typer.Option(
        "--intervals",
        help='"each": each interval holds by itself; "all": all of a table hold at the same time.',
    ),
]


@dataclass(frozen=True)
class PriorOptions:
    """Where a prior comes from."""

    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="CSV or Parquet file of answers to count the prior from; only if their shares may become"
            ' public. "-" reads CSV from a pipe.',
        ),
    ] = None
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="The column that holds the answers.")
    ] = None
    columns: Columns = None
    prior: Prior = None
    counts: Annotated[
        str | None,
        typer.Option(
            "--counts",
            metavar="FILE",
            help="Instead of a prior: counts from a census or a study, as JSON {label: count} or CSV with label and "
            "count.",
        ),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="A,B,C",
            help='All possible answers, in the order you want; put "quotes" around an answer that contains a comma.',
        ),
    ] = None
    pseudocount: Annotated[
        float,
        typer.Option(
            "--pseudocount", help="A number added to every count, so that no answer has probability 0."
        ),
    ] = 0.0
    missing: Annotated[
        Literal["refuse", "drop"],
        typer.Option("--missing", help="Stop at missing answers, or drop them."),
    ] = "refuse"
    format: Format = None
    delimiter: Delimiter = None


@dataclass(frozen=True)
class DataOptions:
    """How a file of data is read."""

    format: Format = None
    delimiter: Delimiter = None


@dataclass(frozen=True)
class KeyOptions:
    """With which key reports are drawn."""

    key_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A secret key made by `extremal key`: the same key, id and answer give the same report.",
        ),
    ] = None
    id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column with the id of each record.")
    ] = None
    occasion: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With a key: draw anew for this occasion, e.g. a second wave."),
    ] = None


@dataclass(frozen=True)
class SampleOptions:
    """Which columns say how the people were drawn."""

    weights: Weights = None
    strata: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column with the stratum in which each person was drawn."),
    ] = None
    clusters: Clusters = None

    def sample(self) -> Any:
        """The sample design, if any of them was given."""
        import extremal as ex

        given = {key: name for key, name in vars(self).items() if name is not None}
        return ex.SampleDesign(**given) if given else None


def only_with(needed: str, **given: object) -> None:
    """Refuse options that say nothing without another one: who gave them meant something."""
    for name, value in given.items():
        if value is not None and value is not False:
            option = f"--{name.replace('_', '-')}"
            raise OptionError(
                f"{option} is for {needed}",
                given=f"no {needed}",
                remedy=f"add {needed}, or leave {option} out",
            )


def other_than(usual: object, value: object) -> object:
    """The value, or None if it is the usual one."""
    return None if value == usual else value


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its groups in place of the arguments that hold them."""
    shown: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for name, argument in inspect.signature(command, eval_str=True).parameters.items():
        is_group = is_dataclass(argument.annotation)
        if not is_group:
            shown.append(argument)
            continue
        options = inspect.signature(argument.annotation, eval_str=True).parameters
        groups[name] = argument.annotation, list(options)
        shown += options.values()

    @functools.wraps(command)
    def expanded(**given: object) -> None:
        values = {
            name: group(**{option: given.pop(option) for option in options})
            for name, (group, options) in groups.items()
        }
        command(**given, **values)

    expanded.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in shown]
    )
    expanded.__annotations__ = {p.name: p.annotation for p in shown}
    return expanded
