"""The parts of pictures as SVG text: no library, no display, the same text every time.

Colours are Okabe and Ito's, and lines differ by their dashes as well, so that nothing depends on colour alone. They are
plain attributes, so a picture can stand in a file of its own; a page turns them into those of its dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

INK, GRID, PAPER = "#222222", "#dddddd", "#ffffff"
HEAT = "#004488"
WIDTH, NARROW = 720, 350  # of a picture on a desk and on a phone
LETTER = 8.0  # the width of a letter at 13 px, in a wide font
LONGEST = 26  # characters of a label
FACTORS = (1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 1e4, 1e6)

Place = Callable[[float], float]


def picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """A picture with a title for those who do not see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {math.ceil(width)} {math.ceil(height)}" '
        f'width="{math.ceil(width)}" height="{math.ceil(height)}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{INK}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def text(x: float, y: float, content: str, anchor: str = "middle", extra: str = "") -> str:
    """Text whose start, middle or end is at x."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1, dash: str = "") -> str:
    """A straight line."""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
        f'stroke-width="{width}"{dashed(dash)}/>'
    )


def path(points: Sequence[tuple[float, float]], color: str, width: float = 2.5, dash: str = "") -> str:
    """A line through points."""
    at = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{at}" fill="none" stroke="{color}" stroke-width="{width}"{dashed(dash)}/>'


def rect(
    x: float, y: float, width: float, height: float, fill: str, extra: str = "", inside: str = ""
) -> str:
    """A box."""
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{extra}'
    return f"{shape}>{inside}</rect>" if inside else f"{shape}/>"


def dashed(dash: str) -> str:
    """The attribute for a pattern of dashes."""
    return f' stroke-dasharray="{dash}"' if dash else ""


def legend(entries: Sequence[tuple[str, str, str]], left: float, width: float) -> tuple[list[str], float]:
    """Names behind lines of (name, colour, dash), as many in a row as fit, and the height that this takes."""
    parts, x, y = [], left, 12.0
    for name, color, dash in entries:
        needed = 32 + LETTER * len(name)
        if x > left and x + needed > width:
            x, y = left, y + 18
        parts += [line(x, y, x + 24, y, color, 3, dash), text(x + 30, y + 4, name, "start")]
        x += needed + 18
    return parts, y + 12


def factor_axis(at: Place, top: float, bottom: float, first: float) -> list[str]:
    """Marks below a picture at round factors on chances, up to e^top, with grid lines up to `first`."""
    parts, last = [], -math.inf
    for factor in FACTORS:
        x = at(math.log(factor))
        if math.log(factor) <= top * (1 + 1e-9) and x - last > 40:
            parts += [line(x, first, x, bottom, GRID), text(x, bottom + 16, f"× {factor:g}")]
            last = x
    return parts


def ticks(low: float, top: float) -> list[float]:
    """Round numbers, about five, between two bounds."""
    rough = (top - low) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next((size * k for k in (1, 2, 5) if size * k >= rough), size * 10)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(top / step + 1e-9) + 1)]


def powers(low: float, top: float) -> list[float]:
    """Powers of ten from at most `low` to at least `top`."""
    return [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(top)) + 1)]


def short(label: Any, longest: int = LONGEST) -> str:
    """A label for a picture; a tuple's parts are separated by commas, and of a long one the middle is left out."""
    whole = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    shown = "".join(c if c.isprintable() else "·" for c in whole)
    tail = longest // 2  # labels often differ in their last words
    return shown if len(shown) <= longest else f"{shown[: longest - tail - 1]}…{shown[-tail:]}"


def margin(labels: Sequence[str]) -> int:
    """Room for labels at the left."""
    return round(14 + LETTER * max((len(label) for label in labels), default=0))
