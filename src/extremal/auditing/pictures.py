"""The pictures of a report, in people, chances and percentage points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._common.plot import BLUE, ORANGE, VERMILION
from .._common.types import Floats
from .._common.words import factor
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.purpose import Purpose, shares
from ..optimization.curves.tradeoff import Tradeoff
from .envelope import Envelope
from .svg import (
    GRID,
    HEAT,
    INK,
    LETTER,
    PAPER,
    WIDTH,
    dashed,
    factor_axis,
    legend,
    line,
    margin,
    path,
    picture,
    powers,
    rect,
    short,
    text,
    ticks,
)

MOST_COLUMNS = 12  # reports of a heat map; of more, the chances after a report are drawn
ROOMY = 500  # pixels from which labels need not be so short
MOST_ROWS = 24  # answers of a picture
POINTS = 0.05  # half the width of the intervals that people are counted for
NORMAL = 1.959964  # of ordinary 95 % intervals
RAREST = 1e-2  # share of reports with which the envelope begins
LOW, HIGH = 0.48, 0.72  # shades of a cell between which black can be read on light and on dark pages


@dataclass(frozen=True, eq=False)
class Series:
    """Estimates with intervals for the same labels, under one name and in one look."""

    name: str
    estimates: Floats
    lower: Floats
    upper: Floats
    color: str = BLUE
    dash: str = ""


def heat_map(mechanism: Mechanism, width: int = WIDTH) -> str:
    """The matrix, answers down and reports across, the likelier the darker, with the scale of shades."""
    n, m = mechanism.shape
    longest = _longest(width)
    names = [short(label, longest) for label in mechanism.inputs]
    heads = [short(label, longest) for label in mechanism.outputs]
    left, high = margin(names), 26
    wide = min(86.0, (width - left - 4) / m)
    flat = max(LETTER * len(head) for head in heads) < wide - 4
    tilt = 0.0 if flat else 0.62 * LETTER * max(map(len, heads))
    right = 0.0 if flat else 0.79 * LETTER * len(heads[-1])
    if left + m * wide + right > width:
        wide = (width - left - right) / m
    top, peak = 20 + tilt, float(mechanism.matrix.max())
    parts = []
    for j, head in enumerate(heads):
        x = left + (j + 0.5) * wide
        turned = "" if flat else f' transform="rotate(-38 {x - 6:.1f} {top - 6:.1f})"'
        parts.append(text(x if flat else x - 6, top - 6, head, "middle" if flat else "start", turned))
    for i, name in enumerate(names):
        y = top + i * high
        parts.append(text(left - 8, y + high / 2 + 4, name, "end"))
        for j, p in enumerate(mechanism.matrix[i].tolist()):
            tip = f"<title>{escape(name)} → {escape(heads[j])}: {100 * p:.2f} %</title>"
            parts.append(_cell(left + j * wide, y, wide, high, p / peak, tip))
            if wide >= 34 and p > 0:
                shown = "<0.1" if p < 0.0005 else f"{100 * p:.1f}"
                parts.append(text(left + (j + 0.5) * wide, y + high / 2 + 4, shown, "middle", _ink(p / peak)))
    bottom = top + n * high
    parts += _shades(left if width > ROOMY else 8, bottom + 10, peak)
    return picture(width, bottom + 34, f"chance of each of {m} reports for each answer, in %", parts)


def _cell(x: float, y: float, wide: float, high: float, share: float, tip: str = "") -> str:
    edge = f' stroke="{GRID}" stroke-width="0.5"'
    return rect(x, y, wide, high, PAPER, edge) + rect(
        x, y, wide, high, HEAT, f' fill-opacity="{share:.3f}"', tip
    )


def _ink(share: float) -> str:
    kind = "low" if share < LOW else "mid" if share < HIGH else "high"
    return f' class="{kind}" fill="{PAPER if kind == "high" else "#000000"}"'


def _shades(x: float, y: float, peak: float) -> list[str]:
    """What the shades mean, from never to the largest chance."""
    scale = [_cell(x + 46 + 22 * k, y, 22, 16, k / 5) for k in range(6)]
    most = text(x + 184, y + 12, f"{100 * peak:.0f} % of the time", "start")
    return [text(x, y + 12, "never", "start"), *scale, most]


def after_reports(prior: Prior, mechanism: Mechanism, width: int = WIDTH) -> str:
    """For each answer a mark at its chance before, and circles at its chances after a report, as large as frequent."""
    order = np.argsort(-prior.probabilities, kind="stable")[:MOST_ROWS]
    order.sort()
    joint = prior.probabilities[:, None] * mechanism.matrix
    often = joint.sum(axis=0)
    after = np.divide(joint, often, out=np.zeros_like(joint), where=often > 0)
    names = [short(prior.labels[i], _longest(width)) for i in order]
    left, high = margin(names), 30
    top = min(1.0, 1.04 * max(float(after[order].max()), float(prior.probabilities.max())))

    def at(chance: float) -> float:
        return left + 14 + (width - left - 30) * chance / top

    first, bottom = 36.0, 36.0 + high * len(order)
    parts = [
        part
        for tick in ticks(0.0, top)
        for part in (
            line(at(tick), first, at(tick), bottom, GRID),
            text(at(tick), bottom + 16, f"{tick:.0%}"),
        )
    ]
    parts += [line(left, 8, left, 22, INK, 2), text(left + 8, 19, "before", "start")]
    parts += [
        _bubble(left + 78, 15, 6.0),
        text(left + 90, 19, "after a report", "start"),
    ]
    for k, i in enumerate(order):
        y = first + (k + 0.5) * high
        parts.append(text(left - 8, y + 4, names[k], "end"))
        parts.append(line(left + 14, y, width - 16, y, GRID))
        places, which = np.unique(np.round(after[i], 3), return_inverse=True)
        for place, share in zip(places.tolist(), np.bincount(which, often).tolist(), strict=True):
            if share > 0:
                tip = f"{names[k]}: {place:.1%} after {share:.1%} of reports"
                parts.append(_bubble(at(place), y, max(1.5, 12 * math.sqrt(share)), tip))
        x = at(float(prior.probabilities[i]))
        parts.append(line(x, y - high / 2 + 4, x, y + high / 2 - 4, INK, 2))
    return picture(width, bottom + 24, "chance of each answer before and after a report", parts)


def _bubble(x: float, y: float, radius: float, tip: str = "") -> str:
    shape = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{BLUE}" fill-opacity="0.6" stroke="{BLUE}"'
    )
    return f"{shape}><title>{escape(tip)}</title></circle>" if tip else f"{shape}/>"


def _longest(width: int) -> int:
    """Characters of a label beside a picture of this width."""
    return min(26, width // 27)


def answer_shares(prior: Prior, width: int = WIDTH) -> str:
    """The prior as bars, the most common answers if there are many."""
    order = np.argsort(-prior.probabilities, kind="stable")[:MOST_ROWS]
    order.sort()
    values = prior.probabilities[order]
    labels = [prior.labels[i] for i in order]
    return bars(labels, values, [f"{p:.1%}" for p in values.tolist()], "share of each answer", width)


def bars(
    labels: Sequence[Any],
    values: Floats,
    texts: Sequence[str],
    title: str,
    width: int = WIDTH,
    zero: float = 0.0,
) -> str:
    """A bar from `zero` to each value, with its text behind it."""
    names = [short(label, _longest(width)) for label in labels]
    left, high = margin(names), 24
    room = 10 + LETTER * max(map(len, texts))
    scale = (width - left - room) / max(float(np.max(values)) - zero, 1e-300)
    parts = []
    for i, (name, value, told) in enumerate(zip(names, values.tolist(), texts, strict=True)):
        y, long = 4 + i * high, max((value - zero) * scale, 0.5)
        parts += [
            text(left - 8, y + 16, name, "end"),
            rect(left, y + 3, long, high - 6, BLUE),
            text(left + long + 6, y + 16, told, "start"),
        ]
    return picture(width, 8 + len(labels) * high, title, parts)


def intervals(
    labels: Sequence[Any], series: Sequence[Series], truth: Floats | None, title: str, width: int = WIDTH
) -> str:
    """For each label an interval of every series, one below the other, and a mark at the truth."""
    names = [short(label, _longest(width)) for label in labels]
    left, step = margin(names), 15
    high = step * len(series) + 14
    top = max(max(float(s.upper.max()) for s in series), 0.0 if truth is None else float(truth.max()))
    low = min(0.0, min(float(s.lower.min()) for s in series))

    def at(value: float) -> float:
        return left + (value - low) * (width - left - 24) / (top - low)

    start = left if width > ROOMY else 8
    parts, first = legend([(s.name, s.color, s.dash) for s in series], start, width)
    if truth is not None:
        parts += [line(start + 2, first, start + 2, first + 16, INK, 2)]
        parts += [text(start + 10, first + 12, "true share", "start")]
        first += 24
    bottom = first + len(labels) * high
    for tick in ticks(low, top):
        parts += [line(at(tick), first, at(tick), bottom, GRID), text(at(tick), bottom + 16, f"{tick:.0%}")]
    for i, name in enumerate(names):
        y = first + i * high
        parts.append(text(left - 8, y + high / 2 + 4, name, "end"))
        for k, s in enumerate(series):
            row = y + 7 + (k + 0.5) * step
            ends = at(float(s.lower[i])), at(float(s.upper[i]))
            parts.append(
                f'<line x1="{ends[0]:.1f}" y1="{row}" x2="{ends[1]:.1f}" y2="{row}" '
                f'stroke="{s.color}" stroke-width="3"{dashed(s.dash)}/>'
                f'<circle cx="{at(float(s.estimates[i])):.1f}" cy="{row}" r="4.5" fill="{s.color}"/>'
            )
        if truth is not None:
            x = at(float(truth[i]))
            parts.append(line(x, y + 4, x, y + high - 4, INK, 2))
    return picture(width, bottom + 22, title, parts)


def envelope(found: Envelope, epsilon: float, width: int = WIDTH) -> str:
    """By how much the most telling reports can raise the chance of an answer, by how many reports these are."""
    left, right, top, bottom = 52.0, width - 20.0, 34.0, 210.0
    high = max(math.exp(epsilon), 1 + 1e-9)
    grid = np.geomspace(RAREST, 1.0, 61)

    def x(share: float) -> float:
        return left + (right - left) * (1 - math.log(share) / math.log(RAREST))

    def y(raised: float) -> float:
        return bottom - (bottom - top) * (raised - 1) / (high - 1)

    parts = []
    for share, name in ((0.01, "1 in 100"), (0.05, "1 in 20"), (0.2, "1 in 5"), (0.5, "half"), (1.0, "all")):
        anchor = "start" if share == RAREST else "end" if share == 1 else "middle"
        parts += [line(x(share), top, x(share), bottom, GRID), text(x(share), bottom + 16, name, anchor)]
    for tick in ticks(1.0, high):
        parts += [
            line(left, y(tick), right, y(tick), GRID),
            text(left - 6, y(tick) + 4, f"× {tick:g}", "end"),
        ]
    raised = [min(math.exp(found(float(share))), high) for share in grid]
    parts.append(line(left, y(high), right, y(high), VERMILION, 1.5, "5 3"))
    parts.append(text(left + 6, y(high) - 7, f"no report gives more than × {factor(epsilon)}", "start"))
    parts.append(path([(x(float(s)), y(f)) for s, f in zip(grid, raised, strict=True)], BLUE))
    parts.append(text((left + right) / 2, bottom + 36, "the most telling reports, of all that come in"))
    return picture(width, bottom + 44, "factor on the chance of an answer, by share of reports", parts)


def curve(tradeoff: Tradeoff, epsilon: float | None = None, width: int = WIDTH) -> str:
    """What each promise costs, beside randomized response: people for shares, else what is kept in per cent."""
    left, right, bottom = 76.0 if in_people(tradeoff) else 52.0, width - 16.0, 320.0
    order = np.argsort(tradeoff.epsilons, kind="stable")
    e = tradeoff.epsilons[order]
    last = max(float(e[-1]), 1e-300)
    looks = (
        ("optimal mechanism", BLUE, "", tradeoff.optimal[order]),
        ("randomized response, same promise", ORANGE, "7 4", tradeoff.randomized_response[order]),
    )
    parts, top = legend([look[:3] for look in looks], left if width > ROOMY else 8.0, width)
    top += 8

    def x(level: float) -> float:
        return left + (right - left) * level / last

    parts += factor_axis(x, last, bottom, top)
    marks, place = _heights(tradeoff, top, bottom)
    for height, name in marks:
        parts += [line(left, height, right, height, GRID), text(left - 6, height + 4, name, "end")]
    for _, color, dash, values in looks:
        shown = [
            (x(a), place(b)) for a, b in zip(e.tolist(), values.tolist(), strict=True) if place(b) >= top - 1
        ]
        parts.append(path(shown, color, 2.5, dash))
    if epsilon is not None and epsilon <= last:
        near = x(epsilon) > width / 2
        parts.append(line(x(epsilon), top, x(epsilon), bottom, VERMILION, 1, "3 3"))
        parts.append(text(x(epsilon) + (-6 if near else 6), top + 12, "here", "end" if near else "start"))
    axis = "a report makes any guess at most … times as likely to be right"
    parts.append(text(width / 2, bottom + 36, axis if width > ROOMY else "largest factor on any guess"))
    return picture(width, bottom + 44, curve_title(tradeoff), parts)


def in_people(tradeoff: Tradeoff) -> bool:
    """Whether the curve tells how many people a precision of shares takes."""
    return tradeoff.utility == shares


def people_for(efficiency: float, prior: Prior) -> float:
    """People for shares within ± POINTS on average, by ordinary intervals; infinite where shares are not identified."""
    variance = (1 - float(prior.probabilities @ prior.probabilities)) / prior.size
    return math.inf if efficiency <= 0 else (NORMAL / POINTS) ** 2 * variance / efficiency


def curve_title(tradeoff: Tradeoff) -> str:
    """What the heights of the curve are."""
    if in_people(tradeoff):
        return f"people to ask for shares within ± {100 * POINTS:g} points"
    name = tradeoff.utility.name
    return f"efficiency for {name}, in %" if isinstance(tradeoff.utility, Purpose) else f"{name} kept, in %"


def _heights(tradeoff: Tradeoff, top: float, bottom: float) -> tuple[list[tuple[float, str]], Any]:
    """Marks at the left, and where a value stands: people on a scale of powers, or per cent of what is possible."""
    if not in_people(tradeoff):
        peak = max(tradeoff.ceiling, 1e-300)
        marks = [(bottom - (bottom - top) * t, f"{t:.0%}") for t in (0.0, 0.25, 0.5, 0.75, 1.0)]
        return marks, lambda value: bottom - (bottom - top) * value / peak
    least = people_for(1.0, tradeoff.prior)
    scale = powers(least, 1000 * least)
    low, high = math.log(scale[0]), math.log(scale[-1])

    def place(efficiency: float) -> float:
        people = people_for(efficiency, tradeoff.prior)
        return (
            -math.inf
            if people == math.inf
            else bottom - (bottom - top) * (math.log(people) - low) / (high - low)
        )

    return [(bottom - (bottom - top) * (math.log(p) - low) / (high - low), f"{p:,.0f}") for p in scale], place
