"""extremal plan: how many people, how exact, which epsilon, before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import extremal as ex
from extremal.errors import FileError, OptionError
from extremal.estimation.promise import FIGURES, KINDS

from . import options, show
from .inputs import learn, load_mechanism, named_label
from .output import check_table, check_target, write_table
from .progress import progress


@options.with_source
def command(
    source: options.Source,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", "-m", metavar="FILE", help="A certified mechanism file.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon", "-e", metavar="LIMIT", help="With a prior: the limit to design a mechanism for."
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many people you will ask; with a prior and a goal, finds the smallest epsilon that reaches it.",
        ),
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Goal: every interval at most this wide, from end to end, e.g. 0.05.")
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(help="Goal: detect a difference between two groups, e.g. 0.1 for 10 points."),
    ] = None,
    coefficient: Annotated[
        float | None,
        typer.Option(
            help="Goal: detect a log odds ratio per standard deviation of a covariate, in a logit model."
        ),
    ] = None,
    efficiency: Annotated[
        float | None,
        typer.Option(
            help="Goal: the smallest epsilon for this efficiency, with proof; 0.25: 4 reports are worth 1 true answer."
        ),
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            "--half-width",
            help="Goal: with a prior and --people, the smallest epsilon that gives shares to about ± this, with proof.",
        ),
    ] = None,
    power: Annotated[
        float, typer.Option(help="The probability of detecting the difference or coefficient.")
    ] = 0.8,
    answer: Annotated[
        str | None,
        typer.Option(
            help="The answer whose share differs or is modelled; the one that needs the most people if left out."
        ),
    ] = None,
    intervals: Annotated[
        Literal["each", "all"],
        typer.Option(help='For --width: "each" interval holds by itself, or "all" hold at the same time.'),
    ] = "each",
    confidence: Annotated[
        float, typer.Option(help="Confidence level of intervals; tests are at the level 1 - confidence.")
    ] = 0.95,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Draw the precision by number of people and epsilon, as .png or .svg."
        ),
    ] = None,
    output: options.Table = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Say how many people you need for a goal, how precise the results will be, or which epsilon you need.

    The goal is a width of intervals, a difference between groups or a coefficient. Give a mechanism file, or a prior
    with --epsilon. With a prior, --people and a goal, the command finds the smallest epsilon that reaches the goal.
    --efficiency, and --half-width with --people, also prove which epsilon is too small for any mechanism.
    """
    check_target(picture, overwrite)
    check_target(output, overwrite, as_json)
    check_table(output)
    goal: Any = {"width": width, "difference": difference, "coefficient": coefficient}
    if output is not None and people is None and all(x is None for x in goal.values()):
        raise OptionError("-o must come with a number of people or a goal", remedy="e.g. --people 1000")
    if picture is not None and Path(picture).suffix.lower() not in (".png", ".svg"):
        raise FileError("a picture must be written as .png or .svg", given=picture, remedy="rename it")
    if mechanism is not None and (source.prior or source.data or source.counts):
        raise OptionError("--mechanism must not be combined with a prior", remedy="leave one of them out")
    certified = None if mechanism is None else load_mechanism(mechanism)
    prior = learn(source).prior if certified is None else certified.prior_between
    if efficiency is not None or half_width is not None:
        others = {
            "--mechanism": mechanism,
            "--epsilon": epsilon,
            "--width": width,
            "--difference": difference,
        }
        others |= {"--coefficient": coefficient, "--picture": picture}
        _check_alone("--efficiency" if half_width is None else "--half-width", others)
        with progress("planning"):
            wish: Any = {"people": people, "half_width": half_width} if half_width is not None else {}
            least = ex.planning.least_epsilon(prior, efficiency, confidence=confidence, **wish)
            expected = None if people is None else ex.plan(least.design, people=people, confidence=confidence)
        _write(expected, output, overwrite)
        _tell_least(least, expected, output, as_json)
        return
    asked = people is not None or any(x is not None for x in goal.values())
    found = None
    with progress("planning"):
        if asked or picture is None:
            found = ex.plan(
                certified or prior,
                people=people,
                epsilon=epsilon,
                power=power,
                answer=None if answer is None else named_label(prior.labels, answer),
                intervals=intervals,
                confidence=confidence,
                **goal,
            )
        drawn = None if picture is None else ex.planning.precision(prior, confidence=confidence)
    if drawn is not None and picture is not None:
        _draw(drawn, picture, overwrite)
    _write(found, output, overwrite)
    if as_json:
        facts: dict[str, Any] = {} if found is None else found.to_dict()
        show.print_json({**facts, "precision": None if drawn is None else drawn.rows(), "file": picture})
        return
    out = show.console(to_stderr=output == "-")
    if found is not None:
        _tell(out, found, output)
    if drawn is not None:
        show.sentences(out, [str(drawn), f"Picture in {picture}"])


def _check_alone(option: str, others: dict[str, Any]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise OptionError(
            f"{option} must not be combined with {given[0]}",
            remedy=f"leave out {given[0]}: the command finds epsilon for a prior",
        )


def _write(found: ex.planning.Plan | None, output: str | None, overwrite: bool) -> None:
    """The table of what to expect, if there is one and somebody wants it."""
    if output is None or found is None:
        return
    rows = [
        {
            "answer": label,
            "share": float(p),
            "half_width_each": float(half) / 2,
            "half_width_all": float(wide) / 2,
            "people": found.total,
            "confidence": found.confidence,
        }
        for label, p, half, wide in zip(
            found.labels, found.prior.probabilities, *map(found.widths_of, KINDS), strict=True
        )
    ]
    write_table(rows, output, overwrite)


def _tell_least(
    least: ex.planning.LeastEpsilon, expected: ex.planning.Plan | None, output: str | None, as_json: bool
) -> None:
    if as_json:
        facts: dict[str, Any] = {} if expected is None else expected.to_dict()
        show.print_json({**facts, **least.to_dict()})
        return
    out = show.console(to_stderr=output == "-")
    show.sentences(out, least.lines())
    if expected is not None:
        _tell(out, expected, output)


def _tell(out: Any, found: ex.planning.Plan, output: str | None) -> None:
    lines = found.lines()
    show.warnings(out, [line for line in lines if line.startswith("WARNING")])
    show.sentences(out, [line for line in lines if not line.startswith("WARNING")])
    rows = [
        (show.name_of(label), f"{p:.4f}", _points(half / 2), _points(wide / 2))
        for label, p, half, wide in zip(
            found.labels, found.prior.probabilities, *map(found.widths_of, KINDS), strict=True
        )
    ]
    show.heading(out, f"What to expect from {found.total:,} people, in points to each side")
    out.print(show.table(("answer", "share", *(FIGURES[kind] for kind in KINDS)), rows, most=None))
    if output is not None and output != "-":
        out.print(f"\nTable in {output}", soft_wrap=True)


def _points(half: float) -> str:
    return f"± {100 * half:.1f}" if half < 1 else "nothing"


def _draw(drawn: ex.planning.Precision, target: str, overwrite: bool) -> None:
    from extremal._common.plot import rendered
    from extremal.release.files.atomic import new_file

    (content,) = rendered(drawn.plot, (6.4, 4.4), (Path(target).suffix.lower().lstrip("."),))
    with new_file(target, overwrite, 0o644) as file:
        file.write(content)
