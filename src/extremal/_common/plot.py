"""Pictures in one style, the same bytes every time. matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .types import Axes
from .words import missing

# Okabe and Ito's palette, which people with any kind of colour vision can tell apart. Curves differ by marker or
# dash as well, so that a print without colours is legible too.
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
VERMILION, PURPLE, SKY = "#D55E00", "#CC79A7", "#56B4E9"
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
    stem: Path, draw: Callable[[Axes], Any], size: tuple[float, float] = (5.4, 4.4)
) -> tuple[Path, Path]:
    """`stem`.png and `stem`.svg with what `draw` puts on an empty pair of axes; size in inches."""
    png, svg = stem.with_name(stem.name + ".png"), stem.with_name(stem.name + ".svg")
    for path, content in zip((png, svg), rendered(draw, size, ("png", "svg")), strict=True):
        path.write_bytes(content)
    return png, svg


def rendered(
    draw: Callable[[Axes], Any], size: tuple[float, float] = (5.4, 4.4), kinds: Sequence[str] = ("png",)
) -> list[bytes]:
    """The contents of a PNG or SVG file with what `draw` puts on an empty pair of axes, for each of the kinds.

    Nothing depends on the clock, on the reader's own settings of matplotlib, or on a display.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("pictures need matplotlib", "plot") from None
    found = []
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for key, value in STYLE.items():
            matplotlib.rcParams[key] = value  # type: ignore[index]  # only literal names are typed
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        # `savefig` would draw every file twice, the first time to find the layout. One layout is good for all.
        canvas = FigureCanvasAgg(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for kind in kinds:
            target = io.BytesIO()
            if kind == "png":
                canvas.print_png(target, metadata={"Software": None})  # type: ignore[no-untyped-call]
            else:
                FigureCanvasSVG(figure).print_svg(target, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
            found.append(target.getvalue())
    return found


MOST_NAMED = 40  # symbols whose labels are written beside a picture
MOST_FIGURES = 12  # rows and columns up to which a heat map shows its numbers


def given_axes(axes: Axes | None, size: tuple[float, float] = (5.4, 4.0)) -> Axes:
    """The axes, if there are any, else new ones in a figure that pyplot knows, so that a notebook shows it."""
    if axes is not None:
        return axes
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing("pictures need matplotlib", "plot") from None
    return plt.subplots(figsize=size, layout="constrained")[1]


def draw_bars(
    values: Sequence[float], labels: Sequence[Any], title: str, quantity: str, axes: Axes | None = None
) -> Axes:
    """Axes with one horizontal bar a label, the first on top; of more than 40, a line without names."""
    axes = given_axes(axes, bars_size(len(values)))
    places = range(len(values))
    if len(values) <= MOST_NAMED:
        axes.barh(places, values, color=BLUE)
        axes.set_yticks(places, [short(label) for label in labels])
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.set_xlabel(quantity)
    else:
        axes.step(places, values, where="mid", color=BLUE)
        axes.set_xlabel("position of the label")
        axes.set_ylabel(quantity)
        axes.set_ylim(bottom=0)
    axes.set_title(title)
    return axes


def bars_size(count: int) -> tuple[float, float]:
    """The size in inches that suits so many bars."""
    return 5.4, 1.4 + 0.26 * count if count <= MOST_NAMED else 4.0


def draw_matrix(
    matrix: NDArray[np.float64],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    title: str,
    axes: Axes | None = None,
) -> Axes:
    """Axes with a heat map of P(y|x), up to the largest; what never happens is hatched, a small one has its numbers."""
    n, m = matrix.shape
    axes = given_axes(axes, matrix_size(n, m))
    # Zeros are transparent: what never happens shows the hatching behind. The rest begins at a blue that can be seen.
    named = max(n, m) <= MOST_NAMED
    axes.patch.set(facecolor="white", edgecolor="#D8D8D8", hatch="////" if named else None)
    colors = shades()
    possible = np.ma.masked_less_equal(matrix, 0.0)
    image = axes.imshow(
        possible, cmap=colors, vmin=0, aspect="auto", interpolation="nearest" if named else "auto"
    )
    axes.grid(False)
    if max(n, m) <= MOST_FIGURES:
        top = matrix.max()
        for i, j in np.argwhere(matrix > 0):
            p = float(matrix[i, j])
            axes.text(j, i, f"{p:.2f}", ha="center", va="center", color="white" if p > 0.6 * top else "black")
    if named:
        turned = max((len(short(y)) for y in outputs), default=0) * m > 36
        axes.set_xticks(range(m), [short(y) for y in outputs], rotation=90 if turned else 0)
        axes.set_yticks(range(n), [short(x) for x in inputs])
    axes.set_xlabel("report")
    axes.set_ylabel("true answer")
    axes.set_title(title)
    axes.figure.colorbar(image, ax=axes, label="probability")
    return axes


def shades() -> Any:
    """The colours of probabilities: blues, of which the palest is not white."""
    import matplotlib
    from matplotlib.colors import ListedColormap

    return ListedColormap(matplotlib.colormaps["Blues"](np.linspace(0.16, 1, 200)))


def matrix_size(n: int, m: int) -> tuple[float, float]:
    """The size in inches that suits a heat map of n rows and m columns."""
    return 3.2 + 0.42 * min(m, 14), 2.2 + 0.36 * min(n, 14)


def draw_tradeoff(
    epsilons: NDArray[np.float64],
    optimal: NDArray[np.float64],
    response: NDArray[np.float64],
    ceiling: float,
    quantity: str,
    axes: Axes | None = None,
) -> Axes:
    """Axes with utility against leakage, for the optimal mechanisms and randomized response."""
    axes = given_axes(axes)
    order = epsilons.argsort(kind="stable")
    axes.plot(epsilons[order], optimal[order], color=BLUE, label="optimal")
    axes.plot(epsilons[order], response[order], color=VERMILION, linestyle="--", label="randomized response")
    axes.axhline(ceiling, color=GREY, linestyle=":", linewidth=1.2, label="the answer itself")
    axes.set_xlabel("leakage of the worst report in nats")
    axes.set_ylabel(quantity)
    axes.set_ylim(bottom=0)
    axes.legend()
    return axes


def short(label: Any) -> str:
    text = " ".join(str(label).split()).replace("$", r"\$")  # matplotlib sets formulas between dollars
    return text if len(text) <= 24 else text[:23] + "…"
