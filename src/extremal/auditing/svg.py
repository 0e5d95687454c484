"""Pictures as SVG text for a page: no library, no display, the same text every time.

Colours are Okabe and Ito's, and lines differ by their dashes as well, so that nothing depends on colour alone. Every
picture has a title for those who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._plot import BLUE, GREY, ORANGE, VERMILION
from .._types import Floats
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..optimization.tradeoff import Tradeoff

WIDTH = 720
LETTER = 6.6  # the width of a letter at 12 px, on average
MOST_CELLS = 4000  # of a heat map
LONGEST = 26  # characters of a label


@dataclass(frozen=True, eq=False)
class Series:
    """Estimates with intervals for the same labels, under one name and in one look."""

    name: str
    estimates: Floats
    lower: Floats
    upper: Floats
    color: str = BLUE
    dash: str = ""


def heat_map(mechanism: Mechanism) -> str:
    """The matrix, answers down and reports across, the likelier the darker; numbers where they fit."""
    n, m = mechanism.shape
    if n * m > MOST_CELLS:
        return ""
    left = _margin(mechanism.inputs)
    wide = min(86.0, (WIDTH - left - 4) / m)
    high = 26 if n <= 20 else 16
    top = 20.0 if m > 12 else 20 + 0.62 * LETTER * max(len(_short(label)) for label in mechanism.outputs)
    peak = float(mechanism.matrix.max())
    parts = []
    for j, label in enumerate(mechanism.outputs):
        x = left + (j + 0.5) * wide
        if m <= 12:
            parts.append(
                _text(
                    x - 6,
                    top - 6,
                    _short(label),
                    "start",
                    f' transform="rotate(-38 {x - 6:.1f} {top - 6:.1f})"',
                )
            )
        elif j % max(1, m // 10) == 0:
            parts.append(_text(x, top - 6, _short(label)))
    for i, label in enumerate(mechanism.inputs):
        y = top + i * high
        parts.append(_text(left - 8, y + high / 2 + 4, _short(label), "end"))
        for j, p in enumerate(mechanism.matrix[i].tolist()):
            tip = f"<title>{escape(_short(label))} → {escape(_short(mechanism.outputs[j]))}: {100 * p:.2f} %</title>"
            parts.append(
                f'<rect x="{left + j * wide:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high}" '
                f'fill="{_shade(p / peak)}" stroke="#fff" stroke-width="{1 if wide > 8 else 0.3}">{tip}</rect>'
            )
            if wide >= 34 and p > 0:
                color = ' fill="#fff"' if p / peak > 0.55 else ""
                parts.append(
                    _text(left + (j + 0.5) * wide, y + high / 2 + 4, f"{100 * p:.1f}", "middle", color)
                )
    extra = 60 if m <= 12 else 0
    return _svg(
        left + m * wide + extra,
        top + n * high + 4,
        f"probability of each of {m} reports for each answer, in %",
        parts,
    )


def shares(prior: Prior) -> str:
    """The prior as bars."""
    return bars(
        prior.labels,
        prior.probabilities,
        [f"{p:.1%}" for p in prior.probabilities.tolist()],
        "share of each answer",
    )


def bars(
    labels: Sequence[Any], values: Floats, texts: Sequence[str], title: str, limit: float | None = None
) -> str:
    """A bar for each value with its text behind it, and a line at a limit."""
    left, high = _margin(labels), 24
    top = max(float(np.max(values)), limit or 0.0, 1e-300)
    scale = (WIDTH - left - 90) / top
    parts = []
    for i, (label, value, text) in enumerate(zip(labels, values.tolist(), texts, strict=True)):
        y = 4 + i * high
        parts += [
            _text(left - 8, y + 16, _short(label), "end"),
            f'<rect x="{left}" y="{y + 3}" width="{max(value * scale, 0.5):.1f}" height="{high - 6}" fill="{BLUE}"/>',
            _text(left + value * scale + 6, y + 16, text, "start"),
        ]
    bottom = 4 + len(labels) * high
    if limit is not None:
        x = left + limit * scale
        parts.append(_line(x, 0, x, bottom, VERMILION, 1.5, "5 3"))
    return _svg(WIDTH, bottom + 4, title, parts)


def intervals(labels: Sequence[Any], series: Sequence[Series], truth: Floats | None, title: str) -> str:
    """For each label an interval of every series, one below the other, and a mark at the truth."""
    left, step = _margin(labels), 15
    high = step * len(series) + 14
    top = max(max(float(s.upper.max()) for s in series), 0.0 if truth is None else float(truth.max()))
    low = min(0.0, min(float(s.lower.min()) for s in series))
    scale = (WIDTH - left - 24) / (top - low)

    def at(value: float) -> float:
        return left + (value - low) * scale

    bottom = 30 + len(labels) * high
    parts = _scale(at, low, top, 30, bottom)
    legend = float(left)
    for s in series:
        parts.append(_line(legend, 12, legend + 26, 12, s.color, 3, s.dash))
        parts.append(_text(legend + 32, 16, s.name, "start"))
        legend += 32 + LETTER * len(s.name) + 22
    if truth is not None:
        parts.append(_line(legend, 4, legend, 20, "#000", 2))
        parts.append(_text(legend + 8, 16, "true share", "start"))
    for i, label in enumerate(labels):
        y = 30 + i * high
        parts.append(_text(left - 8, y + high / 2 + 4, _short(label), "end"))
        for k, s in enumerate(series):
            line = y + 7 + (k + 0.5) * step
            parts.append(
                f'<line x1="{at(float(s.lower[i])):.1f}" y1="{line}" x2="{at(float(s.upper[i])):.1f}" y2="{line}" '
                f'stroke="{s.color}" stroke-width="3"{_dash(s.dash)}/>'
                f'<circle cx="{at(float(s.estimates[i])):.1f}" cy="{line}" r="4.5" fill="{s.color}"/>'
            )
        if truth is not None:
            x = at(float(truth[i]))
            parts.append(_line(x, y + 4, x, y + high - 4, "#000", 2))
    return _svg(WIDTH, bottom + 22, title, parts)


def curve(tradeoff: Tradeoff, epsilon: float | None = None) -> str:
    """The best utility over epsilon beside randomized response, edges of privacy regions, and a current level."""
    left, right, top, bottom = 52.0, WIDTH - 16.0, 30.0, 320.0
    order = np.argsort(tradeoff.epsilons, kind="stable")
    e = tradeoff.epsilons[order]
    last, peak = max(float(e[-1]), 1e-300), max(tradeoff.ceiling, 1e-300)

    def x(value: float) -> float:
        return left + (right - left) * value / last

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / peak

    parts = [
        _line(x(edge), bottom, x(edge), bottom + 7, GREY, 1.2)
        for edge in tradeoff.prior.region_edges.tolist()
        if edge <= last
    ]
    for tick in _ticks(0.0, peak):
        parts.append(_line(left, y(tick), right, y(tick), "#ddd"))
        parts.append(_text(left - 6, y(tick) + 4, f"{tick:g}", "end"))
    parts += [_text(x(tick), bottom + 20, f"{tick:g}") for tick in _ticks(0.0, last)]
    looks = (
        (tradeoff.optimal[order], BLUE, "", "optimal mechanism"),
        (tradeoff.randomized_response[order], ORANGE, "7 4", "randomized response, same leakage"),
    )
    legend = left
    for values, color, dash, name in looks:
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(e.tolist(), values.tolist(), strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5"{_dash(dash)}/>'
        )
        parts.append(_line(legend, 12, legend + 26, 12, color, 2.5, dash))
        parts.append(_text(legend + 32, 16, name, "start"))
        legend += 32 + LETTER * len(name) + 22
    if epsilon is not None and epsilon <= last:
        parts.append(_line(x(epsilon), top, x(epsilon), bottom, VERMILION, 1, "3 3"))
        parts.append(_text(x(epsilon) + 6, top + 12, f"ε = {epsilon:g}", "start"))
    parts.append(_text((left + right) / 2, bottom + 40, "ε in nats; short marks: edges of privacy regions"))
    return _svg(WIDTH, bottom + 50, f"{tradeoff.utility.name} in nats against ε", parts)


def _scale(at: Any, low: float, top: float, first: float, last: float) -> list[str]:
    parts = []
    for tick in _ticks(low, top):
        x = at(tick)
        parts.append(_line(x, first, x, last, "#ddd"))
        parts.append(_text(x, last + 16, f"{tick:.0%}"))
    return parts


def _ticks(low: float, top: float) -> list[float]:
    """Round numbers, about five, between two bounds."""
    rough = (top - low) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next((size * k for k in (1, 2, 5) if size * k >= rough), size * 10)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(top / step + 1e-9) + 1)]


def _shade(share: float) -> str:
    red, green, blue = (round(250 + (dark - 250) * min(share, 1.0)) for dark in (0, 68, 136))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _margin(labels: Sequence[Any]) -> int:
    return round(16 + LETTER * max((len(_short(label)) for label in labels), default=0))


def _short(label: Any) -> str:
    text = "".join(c if c.isprintable() else "·" for c in str(label))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _dash(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1, dash: str = "") -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"'
        f"{_dash(dash)}/>"
    )


def _text(x: float, y: float, text: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {math.ceil(width)} {math.ceil(height)}" '
        f'width="{math.ceil(width)}" height="{math.ceil(height)}" '
        f'style="min-width:min(34rem,{math.ceil(width)}px)" role="img" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#222">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
