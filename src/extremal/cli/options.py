"""Options of commands: how they are written and what they do stands in docstrings, and is made into their help.

A command is a function. What it takes by position is an argument of the command line, what it takes by keyword an
option. After the name of an option stand its other names and what its value is called. Options that belong together
are a group, a frozen dataclass, which a command takes as one argument. What several commands share stands here, and
holds where a command or group says nothing else.

Parameters
----------
epsilon : -e LIMIT
    The limit: no report makes any guess more than e^epsilon times as likely to be right; 0.7 is about twice.
columns : A,B
    Several columns treated as one answer, in the same order in every command: one report covers all of them, and so
    does epsilon.
allow_true_answers
    Go on even if reports disclose the true answers, fully or nearly, and protect nobody.
prior : PRIOR
    The prior, how common each answer is: 0.5,0.3,0.2 or a=50%,b=30%,c=20% or a JSON or mechanism file.
utility : NAME
    What the reports are for. "shares": the most precise shares from `extremal estimate`; "mean": the most precise mean
    of numeric answers; mutual-information, total-variation, chi-squared, hellinger or jensen-shannon: the most
    information by that measure.
overwrite
    Replace the output if it already exists.
as_json : --json
    Print JSON for programs, and nothing else.
target : --output -o FILE
    Write the table to a .csv, .parquet or .json file; "-" prints CSV.
format
    Format of the data, if the file name does not show it.
delimiter
    Delimiter of a CSV file; detected from the header if left out.
weights : NAME
    The column with each person's sampling weight.
clusters : NAME
    The column with each person's sampling cluster.
confidence
    Confidence level of the intervals.
survey : SURVEY
    The survey: survey.toml.
database : FILE|URL
    Where reports are stored: an SQLite file (by default next to the survey) or postgresql://…
intervals
    "each": each interval holds by itself; "all": all of a table hold at the same time.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Literal, Protocol, get_args, get_origin

import typer

from extremal.errors import OptionError

Utility = Literal[
    "shares", "mean", "mutual-information", "total-variation", "chi-squared", "hellinger", "jensen-shannon"
]
Format = Literal["csv", "parquet", "spss", "stata"] | None
Intervals = Literal["each", "all"]

SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w+)(?: : (.*))?\n((?:    .*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class PriorOptions:
    """Where a prior comes from.

    Parameters
    ----------
    data : FILE
        CSV or Parquet file of answers to count the prior from; only if their shares may become public. "-" reads CSV
        from a pipe.
    column : NAME
        The column that holds the answers.
    counts : FILE
        Instead of a prior: counts from a census or a study, as JSON {label: count} or CSV with label and count.
    labels : A,B,C
        All possible answers, in the order you want; put "quotes" around an answer that contains a comma.
    pseudocount
        A number added to every count, so that no answer has probability 0.
    missing
        Stop at missing answers, or drop them.
    """

    data: str | None = None
    column: str | None = None
    columns: str | None = None
    prior: str | None = None
    counts: str | None = None
    labels: str | None = None
    pseudocount: float = 0.0
    missing: Literal["refuse", "drop"] = "refuse"
    format: Format = None
    delimiter: str | None = None


@dataclass(frozen=True)
class LearnOptions:
    """How a set of priors is learned from reports.

    Parameters
    ----------
    from_reports : FILE
        Instead of a prior: CSV or Parquet file of reports to learn it from. May be repeated, once for each stage.
    mechanism : -m FILE
        With --from-reports: the certified mechanism that drew the reports; once for each file, in the same order.
    forged
        With --from-reports: the largest share of these reports that somebody may have made up, e.g. 0.01.
    drift
        With --from-reports: how far the shares of the next people may be from those of the people who reported, as the
        sum of all differences.
    between : LABEL=LOW-HIGH
        With --from-reports: a range in which you are sure a share lies, e.g. "yes=1% to 40%"; may be repeated.
    """

    from_reports: list[str] | None = None
    mechanism: list[str] | None = None
    forged: float = 0.0
    drift: float = 0.05
    between: list[str] | None = None


class Reading(Protocol):
    """Options that say how a file is read."""

    @property
    def format(self) -> Format:
        """Its format."""

    @property
    def delimiter(self) -> str | None:
        """That of a CSV file."""


@dataclass(frozen=True)
class DataOptions:
    """How a file of data is read."""

    format: Format = None
    delimiter: str | None = None


@dataclass(frozen=True)
class KeyOptions:
    """With which key reports are drawn.

    Parameters
    ----------
    key_file : FILE
        A secret key made by `extremal key`: the same key, id and answer give the same report.
    id_column : NAME
        The column with the id of each record.
    occasion : NAME
        With a key: draw anew for this occasion, e.g. a second wave.
    """

    key_file: str | None = None
    id_column: str | None = None
    occasion: str | None = None


@dataclass(frozen=True)
class SampleOptions:
    """Which columns say how the people were drawn.

    Parameters
    ----------
    strata : NAME
        The column with the stratum in which each person was drawn.
    """

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None

    def sample(self) -> Any:
        """The sample design, if any of them was given."""
        import extremal as ex

        return ex.SampleDesign(**chosen) if (chosen := given(self)) else None


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


def given(group: Any, *but: str) -> dict[str, Any]:
    """The options of a group that are not as they are if nobody says anything."""
    usual = vars(type(group)())
    return {k: v for k, v in vars(group).items() if v not in (usual[k], []) and k not in but}


def sections(thing: Any) -> dict[str, str]:
    """The sections of a docstring by their titles, and under "" what stands before the first."""
    text, *titled = SECTION.split(inspect.cleandoc(thing.__doc__ or ""))
    return {"": text.strip(), **dict(zip(titled[::2], titled[1::2], strict=True))}


def examples(command: Callable[..., None]) -> list[str]:
    """The examples in the docstring of a command; an indented line goes on with the one before."""
    return re.sub(r"\n +", " ", sections(command)["Examples"]).splitlines()


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as the parser takes it: with the options of its groups in place of the arguments that hold them."""
    shown: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for name, argument in inspect.signature(command, eval_str=True).parameters.items():
        if is_dataclass(argument.annotation):
            kind: Any = argument.annotation
            options = inspect.signature(kind, eval_str=True).parameters
            groups[name] = kind, list(options)
            shown += [_declared(one, True, *kind.__mro__) for one in options.values()]
        else:
            shown.append(_declared(argument, argument.kind is argument.KEYWORD_ONLY, command))

    @functools.wraps(command)
    def expanded(**given: object) -> None:
        values = {
            name: group(**{option: given.pop(option) for option in options})
            for name, (group, options) in groups.items()
        }
        command(**given, **values)

    expanded.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in shown}
    return expanded


def _declared(parameter: inspect.Parameter, option: bool, *places: Any) -> inspect.Parameter:
    """The parameter with what the first docstring that describes it says: its names, and what its value is called."""
    texts = (sections(place).get("Parameters", "") for place in (*places, sys.modules[__name__]))
    form, help = next((e[1], e[2]) for text in texts for e in ENTRY.findall(text) if e[0] == parameter.name)
    kind, info = parameter.annotation, typer.Option() if option else typer.Argument()
    if get_origin(kind) is Annotated:
        kind, info = get_args(kind)
    words = form.split()
    names = [word for word in words if word.startswith("-")]
    if not any(name.startswith("--") for name in names) and parameter.default is not True:
        names.insert(0, f"--{parameter.name.replace('_', '-')}")
    info.param_decls = names if option else ()
    info.metavar = next((word for word in words if word not in names), None)
    info.help = " ".join(help.split())
    return parameter.replace(annotation=Annotated[kind, info], kind=parameter.KEYWORD_ONLY)
