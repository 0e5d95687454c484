"""extremal tradeoff: the best utility at each epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import extremal as ex
from extremal.errors import EpsilonError, ExtremalError, FileError, OptionError

from . import options, show
from .inputs import learn
from .output import Facts, Output, check_table, progress, write_text

MOST_POINTS, USUAL_POINTS = 1000, 12


@dataclass(frozen=True)
class CurveOutput(Output):
    """Where a curve goes, and its picture.

    Parameters
    ----------
    target : --output -o FILE
        The curve as .csv, .parquet, .json or .svg; "-" prints CSV.
    """

    holds = "Curve"

    @property
    def picture(self) -> bool:
        """Whether it is a picture."""
        return self.target is not None and self.target.lower().endswith(".svg")

    def check(self, *inputs: str | None) -> None:
        """Refuse what cannot be written, or would replace one of the inputs, before any work is done."""
        super().check(*inputs)
        if not self.picture:
            check_table(self.target)

    def write(self, result: Any) -> None:
        """Write the picture or the table, if a target was given."""
        if not self.picture:
            return super().write(result)
        from extremal.auditing import pictures

        write_text(str(self.target), pictures.curve(result.curve) + "\n", self.overwrite)


def tradeoff(
    *,
    source: options.PriorOptions,
    epsilons: str | None = None,
    points: int | None = None,
    samples: str | None = None,
    utility: options.Utility = "shares",
    output: CurveOutput,
) -> None:
    """Show what the best design is worth at each epsilon, next to randomized response with the same leakage.

    Parameters
    ----------
    epsilons : E,E,...
        The levels of epsilon; evenly spaced if left out, up to the level that allows true answers.
    points
        How many levels, without --epsilons: 12 if left out.
    samples : N,N,...
        Also what a sample of each of these sizes costs: the best utility if epsilon must hold for every prior that
        fits the sample.

    Examples
    --------
    extremal tradeoff --prior 0.5,0.3,0.2
    extremal tradeoff --data survey.csv --column answer --epsilons 0.1,0.5,1 -o curve.csv
    extremal tradeoff --prior 0.5,0.3,0.2 --epsilons 0.7 --samples 100,1000,10000
    """
    from extremal.estimation.contrasts import purpose_named

    output.check(source.data, source.counts)
    prior = learn(source).prior
    purpose = purpose_named(utility, prior.labels)
    result: CurveResult
    if samples is not None:
        if output.picture:
            raise FileError(
                "the curve over samples must be written as .csv, .parquet or .json",
                given=output.target,
                remedy="choose one",
            )
        level = _only_level(epsilons, points)
        sizes = _numbers(
            samples, OptionError("--samples must be sizes like 100,1000", given=f"{samples!r:.60}")
        )
        with progress("designing") as bar:
            found = ex.sample_tradeoff(prior, level, sizes, purpose, progress=bar)
        about = {name: getattr(found, name) for name in ("epsilon", "confidence", "known")}
        result = SamplesResult(found, utility, about, prior, output.target)
    else:
        levels = _levels(epsilons, points, prior.epsilon_max)
        with progress("designing") as bar:
            curve = ex.tradeoff(prior, levels, purpose, progress=bar)
        about = {
            "ceiling": curve.ceiling,
            "epsilon_max": prior.epsilon_max,
            "region_edges": prior.region_edges.tolist(),
        }
        result = TradeoffResult(curve, utility, about, prior, output.target)
    if output.target == "-":
        return output.write(result)
    output.give(result)


def _numbers(text: str, error: ExtremalError) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise error from None


def _levels(text: str | None, points: int | None, top: float) -> list[float]:
    if text is None:
        from extremal._common import checks

        usual = f"{USUAL_POINTS} is usual"
        points = checks.whole(points or USUAL_POINTS, "--points", least=2, most=MOST_POINTS, remedy=usual)
        return [top * k / points for k in range(1, points + 1)]
    if points is not None:
        raise OptionError("--points and --epsilons must not be combined", remedy="leave one of them out")
    levels = _numbers(text, EpsilonError("--epsilons must be numbers like 0.1,0.5,1", given=f"{text!r:.60}"))
    if len(levels) > MOST_POINTS:
        raise EpsilonError(
            f"--epsilons must be at most {MOST_POINTS} levels", given=len(levels), remedy="leave some out"
        )
    return levels


def _only_level(text: str | None, points: int | None) -> float:
    levels = [] if text is None else _levels(text, points, 1.0)
    if len(levels) != 1:
        raise EpsilonError(
            "--samples needs exactly one level of epsilon", given=text or "none", remedy="--epsilons 0.7"
        )
    return levels[0]


@dataclass(frozen=True)
class CurveResult:
    """A curve of what is possible, by epsilon or by the size of a sample."""

    curve: Any
    utility: str
    about: Facts  # what holds for all points
    prior: ex.Prior
    target: str | None

    def records(self) -> list[Facts]:
        """A row for each point."""
        return list(self.curve.rows())

    def facts(self) -> Facts:
        """All of it, for programs."""
        points = {"prior": show.prior_dict(self.prior), "points": self.records(), "file": self.target}
        return {"utility": self.utility, **self.about, **points}


class TradeoffResult(CurveResult):
    """The best utility at each epsilon."""

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        curve = self.curve
        out.heading(f"{curve.utility.name} at each epsilon; releasing the answer itself: {curve.ceiling:.4f}")
        top = max(curve.ceiling, 1e-300)
        cells = [
            (
                f"{row['epsilon']:.4g}",
                f"{row['optimal']:.6f}",
                f"{row['randomized_response']:.6f}",
                f"{row['optimal'] / row['randomized_response']:.1f}x"
                if row["randomized_response"] > 1e-12
                else "",
                out.bar(row["optimal"] / top),
                row["method"],
            )
            for row in self.records()
        ]
        head = ("epsilon", "optimal", "rand. resp.", "gain", "optimal, of the ceiling", "method")
        out.table(head, cells, (4, 5))
        worst = float((curve.upper_bound - curve.optimal).max())
        known = math.isfinite(worst)
        proof = f"at most {worst:.1e} more is possible anywhere" if known else "no upper bound is known"
        out.say(f"Proven: {proof}.")


class SamplesResult(CurveResult):
    """The best utility for every prior that fits a sample, by the size of the sample."""

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        curve = self.curve
        out.heading(
            f"{curve.utility.name} at epsilon {curve.epsilon:g}; if the prior were known: {curve.known:.4f}"
        )
        cells = [
            (
                f"{row['observations']:.0f}",
                f"{row['optimal']:.6f}",
                f"{row['upper_bound']:.6f}",
                out.bar(row["of_known"]),
            )
            for row in self.records()
        ]
        head = ("observations", "optimal", "at most", "of the known prior's")
        out.table(head, cells, (3,))
