"""Pictures in one style, the same bytes every time. matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which people with any kind of colour vision can tell apart. Curves differ by marker or
# dash as well, so that a print without colours is legible too.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
BLACK, GREY = "#000000", "#666666"

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 12,
    "axes.linewidth": 0.8,
    "axes.titlesize": 12,
    "figure.dpi": 150,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine has it
    "font.size": 11,
    "grid.color": "#D0D0D0",
    "grid.linewidth": 0.6,
    "legend.fontsize": 10,
    "legend.framealpha": 1.0,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "svg.fonttype": "path",
    "svg.hashsalt": "extremal",  # identifiers inside an SVG are random otherwise
}


def picture(
    stem: Path, draw: Callable[[Axes], None], size: tuple[float, float] = (5.4, 4.4)
) -> tuple[Path, Path]:
    """`stem`.png and `stem`.svg with what `draw` puts on an empty pair of axes; size in inches.

    Nothing depends on the clock, on the reader's own settings of matplotlib, or on a display.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError('pictures need matplotlib; install it with: pip install "extremal[plot]"') from None
    png, svg = stem.with_name(stem.name + ".png"), stem.with_name(stem.name + ".svg")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for key, value in STYLE.items():
            matplotlib.rcParams[key] = value  # type: ignore[index]  # only literal names are typed
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(png, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None, "Creator": None})
    return png, svg
