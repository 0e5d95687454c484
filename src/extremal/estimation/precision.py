"""How exact shares will be for each number of people and each epsilon: a table and a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common import checks
from .._common.frames import Tabular
from .._common.threads import one_thread
from .._common.types import Floats
from ..errors import OptionError
from ..model.prior import Prior, check_prior
from ..model.regions import check_epsilon
from ..optimization.design import designed
from .contrasts import Channel, each_symbol, standard_errors
from .intervals import normal_quantile
from .planning import check_people
from .promise import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PEOPLE = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
LEVELS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
MOST = 50  # epsilons


@dataclass(frozen=True, eq=False, repr=False)
class Precision(Tabular):
    """Half widths of ordinary intervals, the root mean square over the answers: a row for each epsilon.

    The last row, at `epsilons[-1]` = infinity, is for true answers.

    Attributes
    ----------
    prior
        How common each answer is.
    epsilons
        The limits; the last is inf, for true answers.
    people
        Numbers of people.
    confidence
        The confidence level of the intervals.
    half_widths
        Half the width of an interval, a row for each epsilon.
    """

    prior: Prior
    epsilons: tuple[float, ...]
    people: tuple[int, ...]
    confidence: float
    half_widths: Floats

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each epsilon and number of people; for true answers epsilon is inf, in a frame missing."""
        return [
            {"epsilon": e, "people": n, "half_width": float(self.half_widths[i, j])}
            for i, e in enumerate(self.epsilons)
            for j, n in enumerate(self.people)
        ]

    def __str__(self) -> str:
        head = "epsilon" + "".join(f"{n:>9,}" for n in self.people)
        lines = [
            f"points to each side of a share: {100 * self.confidence:g}% intervals, {FIGURES['each']}",
            head,
        ]
        for e, row in zip(self.epsilons, self.half_widths, strict=True):
            name = f"{e:7.3g}" if math.isfinite(e) else "  truth"
            lines.append(name + "".join(f"{100 * min(h, 1.0):9.1f}" for h in row))
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with a curve for every epsilon: points to each side over the number of people.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        if axes is None:
            from .._common.plot import empty_axes

            axes = empty_axes((6.4, 4.4))
        markers = "osD^vP*X<>"
        for i, (e, row) in enumerate(zip(self.epsilons, self.half_widths, strict=True)):
            truth = not math.isfinite(e)
            name = "true answers" if truth else f"ε = {e:.3g}"
            style = {"color": "black", "linestyle": "--"} if truth else {"marker": markers[i % len(markers)]}
            axes.plot(self.people, 100 * np.minimum(row, 1.0), label=name, **style)  # type: ignore[arg-type]
        axes.set_xscale("log")
        axes.set_yscale("log")
        marks = [m for m in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if m <= 100 * self.half_widths.max()]
        axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
        axes.minorticks_off()
        axes.set_xlabel("people")
        axes.set_ylabel(f"± points: {100 * self.confidence:g}% intervals, {FIGURES['each']}")
        axes.legend()
        return axes


@one_thread
def precision(
    prior: Prior,
    epsilons: Iterable[float] | None = None,
    people: Iterable[int] = PEOPLE,
    confidence: float = 0.95,
) -> Precision:
    """How precisely each share will be known, for designs at each epsilon and for true answers.

    Parameters
    ----------
    prior
        What is expected.
    epsilons
        Levels to design for; round ones below the level that allows everything if left out.
    people
        Numbers of people.
    confidence
        Of ordinary intervals, whose half widths are shown.
    """
    level = checks.confidence(confidence)
    top = check_prior(prior).epsilon_max
    levels = [e for e in LEVELS if e < top] if epsilons is None else list(epsilons)
    counts = tuple(check_people(n) for n in people)
    if not len(levels) or not counts or len(levels) > MOST:
        raise OptionError(
            f"must be from 1 to {MOST}, with at least one number of people",
            parameter="epsilons",
            given=len(levels),
        )
    rows = []
    for epsilon in levels:
        found = designed(prior, check_epsilon(epsilon))
        rows.append(_root_mean_square(found.mechanism.matrix, prior.probabilities))
    rows.append(_root_mean_square(np.eye(prior.size), prior.probabilities))
    z = normal_quantile((1 - level) / 2)
    half = z * np.multiply.outer(np.array(rows), 1 / np.sqrt(np.array(counts, dtype=np.float64)))
    return Precision(prior, (*map(float, levels), math.inf), counts, level, half)


def _root_mean_square(P: Floats, expected: Floats) -> float:
    errors = standard_errors(Channel(P, expected), each_symbol(len(expected)), 1.0)
    return math.sqrt(float(np.mean(errors**2)))
