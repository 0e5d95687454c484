"""The picture of a regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._common.plot import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, empty_axes
from .fit import text_of
from .summary import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .result import Regression

COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)


def draw(result: Regression, axes: Axes | None = None) -> Axes:
    """Axes with a point and a bar for every coefficient; answers differ by colour and by name."""
    chosen = [k for k, p in enumerate(result.parameters) if p.part == "" and p.column != "Intercept"]
    chosen = chosen or [k for k, p in enumerate(result.parameters) if p.part == ""]
    if axes is None:
        axes = empty_axes((6.4, max(1.4 + 0.3 * len(chosen), 2.4)))
    answers = list(dict.fromkeys(result.parameters[k].answer for k in chosen))
    places = np.arange(len(chosen))
    for place, k in zip(places, chosen, strict=True):
        colour = COLOURS[answers.index(result.parameters[k].answer) % len(COLOURS)]
        axes.hlines(place, result.lower[k], result.upper[k], color=colour)
        axes.plot(result.coefficients[k], place, "o", color=colour)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_yticks(places, [text_of(result.parameters[k])[:48].replace("$", r"\$") for k in chosen])
    axes.invert_yaxis()
    axes.set_xlabel(f"coefficient, with intervals at {result.confidence:g}")
    axes.set_title(title(result), fontsize="medium")
    return axes
