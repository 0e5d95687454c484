"""The pictures of a report, in people, chances and percentage points; and the one that matplotlib draws.

Pictures are SVG text: no library, no display, the same text every time. Colours are Okabe and Ito's, and lines differ
by their dashes as well, so that nothing depends on colour alone. They are plain attributes, so a picture can stand in
a file of its own; a page turns them into those of its dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._common.plot import BLUE, ORANGE, VERMILION, given_axes
from .._common.types import Axes, Floats, Ints
from .._common.words import factor, visible, without_middle
from ..model.labels import Labels
from ..model.leakage_measures import LeakageDistribution
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.purpose import Purpose, shares
from ..model.purposes import Mean
from ..optimization.curves import Tradeoff
from .envelope import Envelope

INK, GRID, PAPER = "#222222", "#dddddd", "#ffffff"
HEAT = "#004488"
WIDTH, NARROW = 720, 350  # of a picture on a desk and on a phone
LETTER = 8.0  # the width of a letter at 13 px, in a wide font
FACTORS = (1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 1e4, 1e6)
MOST_COLUMNS = 12  # reports of a heat map; of more, the chances after a report are drawn
ROOMY = 500  # pixels from which labels need not be so short
MOST_ROWS = 24  # answers of a picture
POINTS = 0.05  # half the width of the intervals that people are counted for
NORMAL = 1.959964  # of ordinary 95 % intervals
RAREST = 1e-2  # share of reports with which the envelope begins
LOW, HIGH = 0.48, 0.72  # shades of a cell between which black can be read on light and on dark pages
MOST_BARS = 40  # outputs that are drawn one by one; of more, the tail of the leakage is drawn


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


def marks(at: Callable[[float], float], low: float, top: float, first: float, bottom: float) -> list[str]:
    """Upright grid lines at round shares, with their names below."""
    parts = []
    for x, tick in ((at(tick), tick) for tick in ticks(low, top)):
        parts += [line(x, first, x, bottom, GRID), text(x, bottom + 16, f"{tick:.0%}")]
    return parts


def ticks(low: float, top: float) -> list[float]:
    """Round numbers, about five, between two bounds."""
    rough = (top - low) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next((size * k for k in (1, 2, 5) if size * k >= rough), size * 10)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(top / step + 1e-9) + 1)]


def short(label: Any, longest: int) -> str:
    """A label for a picture; a tuple's parts are separated by commas, and of a long one the middle is left out."""
    whole = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    return without_middle(visible(whole, ""), longest)


def margin(labels: Sequence[Any], width: int) -> tuple[list[str], int]:
    """Labels beside a picture of this width, and the room that they take at the left."""
    names = [short(label, longest(width)) for label in labels]
    return names, round(14 + LETTER * max(map(len, names), default=0))


def longest(width: int) -> int:
    """Characters of a label beside a picture of this width."""
    return min(26, width // 27)


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
    heads = [short(label, longest(width)) for label in mechanism.outputs]
    (names, left), high = margin(mechanism.inputs, width), 26
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
    order = _most_common(prior)
    joint = prior.probabilities[:, None] * mechanism.matrix
    often = joint.sum(axis=0)
    after = np.divide(joint, often, out=np.zeros_like(joint), where=often > 0)
    (names, left), high = margin([prior.labels[i] for i in order], width), 30
    top = min(1.0, 1.04 * max(float(after[order].max()), float(prior.probabilities.max())))

    def at(chance: float) -> float:
        return left + 14 + (width - left - 30) * chance / top

    first, bottom = 36.0, 36.0 + high * len(order)
    parts = marks(at, 0.0, top, first, bottom)
    parts += [line(left, 8, left, 22, INK, 2), text(left + 8, 19, "before", "start")]
    parts += [_bubble(left + 78, 15, 6.0), text(left + 90, 19, "after a report", "start")]
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


def _most_common(prior: Prior) -> Ints:
    return np.sort(np.argsort(-prior.probabilities, kind="stable")[:MOST_ROWS])


def answer_shares(prior: Prior, width: int = WIDTH) -> str:
    """The prior as bars, the most common answers if there are many."""
    order = _most_common(prior)
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
    (names, left), high = margin(labels, width), 24
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
    (names, left), step = margin(labels, width), 15
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
    parts += marks(at, low, top, first, bottom)
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
        parts += _level(left, right, y(tick), f"× {tick:g}")
    raised = [min(math.exp(found(float(share))), high) for share in grid]
    parts.append(line(left, y(high), right, y(high), VERMILION, 1.5, "5 3"))
    parts.append(text(left + 6, y(high) - 7, f"no report gives more than × {factor(epsilon)}", "start"))
    parts.append(path([(x(float(s)), y(f)) for s, f in zip(grid, raised, strict=True)], BLUE))
    parts.append(text((left + right) / 2, bottom + 36, "the most telling reports, of all that come in"))
    return picture(width, bottom + 44, "factor on the chance of an answer, by share of reports", parts)


def _level(left: float, right: float, y: float, name: str) -> list[str]:
    """A grid line across, with its name before it."""
    return [line(left, y, right, y, GRID), text(left - 6, y + 4, name, "end")]


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

    reached = -math.inf
    for level in FACTORS:
        at = x(math.log(level))
        if math.log(level) <= last * (1 + 1e-9) and at - reached > 40:
            parts += [line(at, top, at, bottom, GRID), text(at, bottom + 16, f"× {level:g}")]
            reached = at
    heights, place = _heights(tradeoff, top, bottom)
    for height, name in heights:
        parts += _level(left, right, height, name)
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


def half_width(efficiency: float, purpose: Purpose, prior: Prior) -> float:
    """Half the width of an ordinary interval from one report: of a mean, or of a typical share."""
    if efficiency <= 0:
        return math.inf
    loss = purpose.loss(prior)
    direct = float(np.diagonal(loss) @ prior.probabilities - prior.probabilities @ loss @ prior.probabilities)
    return NORMAL * math.sqrt(direct / efficiency / (1 if isinstance(purpose, Mean) else prior.size))


def people_for(efficiency: float, prior: Prior) -> float:
    """People for shares within ± POINTS on average, by ordinary intervals; infinite where shares are not identified."""
    return (half_width(efficiency, shares, prior) / POINTS) ** 2


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
        kept = [(bottom - (bottom - top) * t, f"{t:.0%}") for t in (0.0, 0.25, 0.5, 0.75, 1.0)]
        return kept, lambda value: bottom - (bottom - top) * value / peak
    least = people_for(1.0, tradeoff.prior)
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(1000 * least)) + 1)
    low, high = powers[0] * math.log(10), powers[-1] * math.log(10)

    def at(people: float) -> float:
        return bottom - (bottom - top) * (math.log(people) - low) / (high - low)

    def place(efficiency: float) -> float:
        people = people_for(efficiency, tradeoff.prior)
        return at(people) if people < math.inf else -math.inf

    return [(at(10.0**k), f"{10.0**k:,.0f}") for k in powers], place


def draw_leakage(
    leakage: Floats,
    distribution: LeakageDistribution,
    outputs: Labels,
    epsilon: float,
    axes: Axes | None = None,
) -> Axes:
    """Axes with the leakage of each report as a bar, or of many reports how often a level is exceeded."""
    axes = given_axes(axes)
    if len(outputs) <= MOST_BARS:
        places = np.arange(len(outputs))
        axes.bar(places, leakage, color="tab:blue")
        axes.set_xticks(places, [str(y)[:20] for y in outputs], rotation=45 if len(outputs) > 6 else 0)
        axes.axhline(epsilon, color="tab:red", linestyle="--", label=f"worst report: {epsilon:.4g}")
        axes.set_xlabel("report")
        axes.set_ylabel("leakage in nats")
    else:
        above = 1 - np.cumsum(distribution.probabilities)
        levels = np.concatenate(([0.0], distribution.values))
        axes.step(levels, np.clip(np.concatenate(([1.0], above)), 0, 1), where="post", color="tab:blue")
        axes.axvline(epsilon, color="tab:red", linestyle="--", label=f"worst report: {epsilon:.4g}")
        axes.set_xlabel("level in nats")
        axes.set_ylabel("share of reports that leak more")
    axes.set_title("Pointwise maximal leakage")
    axes.legend()
    return axes
