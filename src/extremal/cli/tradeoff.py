"""extremal tradeoff: the best utility at each epsilon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

import extremal as ex
from extremal.errors import FileError

from . import options, show
from .design import utility_of
from .inputs import learn
from .output import check_table, check_target, write_table, write_text
from .progress import progress

if TYPE_CHECKING:
    from extremal.optimization.curves.tradeoff import Tradeoff

MOST_POINTS = 1000


@options.with_source
def command(
    source: options.Source,
    epsilons: Annotated[
        str | None,
        typer.Option(
            metavar="E,E,...",
            help="The levels of epsilon; evenly spaced if left out, up to the level that allows true answers.",
        ),
    ] = None,
    points: Annotated[int, typer.Option(help="How many levels, without --epsilons.")] = 12,
    samples: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="For a prior counted from samples of these sizes: the best utility if one epsilon must hold for "
            "every prior that fits the sample.",
        ),
    ] = None,
    utility: options.Utility = "shares",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help='The curve as .csv, .parquet, .json or .svg; "-" prints CSV.',
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Show what the best design is worth at each epsilon, next to randomized response with the same leakage."""
    check_target(output, overwrite, as_json)
    picture = output is not None and output.lower().endswith(".svg")
    if not picture:
        check_table(output)
    learned = learn(source)
    if samples is not None:
        _by_sample(learned.prior, epsilons, samples, utility, output, picture, overwrite, as_json)
        return
    levels = _levels(epsilons, points, learned.prior.epsilon_max)
    with progress("designing") as bar:
        curve = ex.tradeoff(learned.prior, levels, utility_of(utility, learned.prior), progress=bar)
    rows = curve.rows()
    if output is not None:
        if picture:
            from extremal.auditing import pictures

            write_text(output, pictures.curve(curve) + "\n", overwrite)
        else:
            write_table(rows, output, overwrite)
    if as_json:
        show.print_json(
            {
                "utility": utility,
                "ceiling": curve.ceiling,
                "epsilon_max": learned.prior.epsilon_max,
                "region_edges": learned.prior.region_edges.tolist(),
                "prior": show.prior_dict(learned.prior),
                "points": rows,
                "file": output,
            }
        )
    elif output != "-":
        _tell_curve(curve, rows, output)


def _by_sample(
    prior: ex.Prior,
    epsilons: str | None,
    samples: str,
    utility: str,
    output: str | None,
    picture: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """The curve over the size of the sample behind the prior."""
    levels = _levels(epsilons, 2, 1.0) if epsilons is not None else []
    if len(levels) != 1:
        raise ex.errors.EpsilonError(
            "--samples needs exactly one level of epsilon", given=epsilons or "none", remedy="--epsilons 0.7"
        )
    if picture:
        raise FileError(
            "the curve over samples must be written as .csv, .parquet or .json",
            given=output,
            remedy="choose one",
        )
    try:
        sizes = [float(part) for part in samples.split(",")]
    except ValueError:
        raise ex.errors.OptionError(
            "must be sizes like 100,1000", parameter="--samples", given=f"{samples!r:.60}"
        ) from None
    with progress("designing") as bar:
        curve = ex.sample_tradeoff(prior, levels[0], sizes, utility_of(utility, prior), progress=bar)
    rows = curve.rows()
    write_table(rows, output, overwrite)
    if as_json:
        show.print_json(
            {
                "utility": utility,
                "epsilon": curve.epsilon,
                "confidence": curve.confidence,
                "known": curve.known,
                "prior": show.prior_dict(prior),
                "points": rows,
                "file": output,
            }
        )
    elif output != "-":
        out = show.console()
        show.heading(
            out,
            f"{curve.utility.name} at epsilon {curve.epsilon:g}; if the prior were known: {curve.known:.4f}",
        )
        cells = [
            (
                f"{row['observations']:.0f}",
                f"{row['optimal']:.6f}",
                f"{row['upper_bound']:.6f}",
                show.bar(row["of_known"], show.room(out)),
            )
            for row in rows
        ]
        head = ("observations", "optimal", "at most", "of the known prior's")
        out.print(show.table(head, cells, (3,)))
        if output is not None:
            out.print(f"Curve in {output}", soft_wrap=True)


def _tell_curve(curve: Tradeoff, rows: list[dict[str, Any]], output: str | None) -> None:
    out = show.console()
    show.heading(
        out, f"{curve.utility.name} at each epsilon; releasing the answer itself: {curve.ceiling:.4f}"
    )
    top = max(curve.ceiling, 1e-300)
    cells = [
        (
            f"{row['epsilon']:.4g}",
            f"{row['optimal']:.6f}",
            f"{row['randomized_response']:.6f}",
            f"{row['optimal'] / row['randomized_response']:.1f}x"
            if row["randomized_response"] > 1e-12
            else "",
            show.bar(row["optimal"] / top, show.room(out)),
            row["method"],
        )
        for row in rows
    ]
    head = ("epsilon", "optimal", "rand. resp.", "gain", "optimal, of the ceiling", "method")
    out.print(show.table(head, cells, (4, 5)))
    worst = float((curve.upper_bound - curve.optimal).max())
    proof = (
        f"at most {worst:.1e} more is possible anywhere"
        if math.isfinite(worst)
        else "no upper bound is known"
    )
    out.print(f"Proven: {proof}.")
    if output is not None:
        out.print(f"Curve in {output}", soft_wrap=True)


def _levels(text: str | None, points: int, top: float) -> list[float]:
    if text is None:
        if not 2 <= points <= MOST_POINTS:
            raise ex.errors.EpsilonError(
                f"--points must be between 2 and {MOST_POINTS}, got {points}; 12 is usual"
            )
        return [top * k / points for k in range(1, points + 1)]
    try:
        levels = [float(part) for part in text.split(",")]
    except ValueError:
        raise ex.errors.EpsilonError(f"--epsilons must be numbers like 0.1,0.5,1, got {text!r:.60}") from None
    if len(levels) > MOST_POINTS:
        raise ex.errors.EpsilonError(
            f"--epsilons must be at most {MOST_POINTS} levels, got {len(levels)}; leave some out"
        )
    return levels
