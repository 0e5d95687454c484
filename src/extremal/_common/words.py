"""Figures and values as text. Bounds are rounded to the side on which they still hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

LARGE = 1e6  # factors beyond are shown with four digits
LONGEST_SHOWN = 40  # characters of a value in a message
# How surveys write that there is no answer. Numbers like 99 may be answers; negative ones hardly are.
GAP = re.compile(r"n/?a|n\.a\.|nan|null|#n/a|missing|k\.a\.|[-.?]|-9{1,4}", re.IGNORECASE)


def counted(n: int, thing: str) -> str:
    """A number of things, such as "1 report" and "2 reports"."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def shorten(labels: Sequence[Any], most: int = 8) -> str:
    """The labels as a list for a message, cut to the first few."""
    shown = ", ".join(brief(label) for label in labels[:most])
    return f"[{shown}{f', … {len(labels) - most} more' if len(labels) > most else ''}]"


def listed(names: Sequence[Any], most: int = 12) -> str:
    """Names for a sentence, cut to the first few."""
    more = f", … {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(cut, names[:most])) + more


def cut(name: Any, most: int = LONGEST_SHOWN) -> str:
    """A name without quotes, cut."""
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "…"


def visible(text: str, kept: str = "\n") -> str:
    """The text with a dot for every other control character: a label must not steer a terminal."""
    return "".join(c if c.isprintable() or c in kept else "·" for c in text)


def without_middle(text: str, most: int) -> str:
    """The beginning and the end of a text that is too long: labels often differ in their last words."""
    tail = most // 2
    return text if len(text) <= most else f"{text[: most - tail - 1]}…{text[len(text) - tail :]}"


def aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Rows as lines of equal columns, the first `left` of them aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def brief(value: Any, most: int = LONGEST_SHOWN) -> str:
    """A value for a message, cut: what was read from data is never repeated at length."""
    return cut(repr(value[: 2 * most] if isinstance(value, str | bytes) else value), most)


def sentence(text: str) -> str:
    """The words with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def in_nats(level: str) -> str:
    """A level with its unit."""
    return f"{level} nat" if float(level) == 1 else f"{level} nats"


def factor(nats: float) -> str:
    """e^nats, the factor on chances that a leakage allows, rounded up: the one text for it on every page.

    It has two decimals; near 1, as many as show two digits of what it adds to 1.
    """
    if nats >= 700:
        return f"e^{at_most(nats)}"  # beyond doubles
    added = math.expm1(nats)
    if added >= LARGE:
        return at_most(math.exp(nats))
    decimals = 2 if added >= 0.1 else 2 if added < 1e-12 else 1 - math.floor(math.log10(added))
    whole = math.ceil(added * 10**decimals - 1e-8)
    return f"{1 + whole / 10**decimals:.{decimals}f}".rstrip("0").rstrip(".")


def at_most(value: float) -> str:
    """A bound from above with four digits, rounded up: what is printed must hold too."""
    return _rounded(value, math.inf)


def at_least(value: float) -> str:
    """A bound from below with four digits, rounded down."""
    return _rounded(value, -math.inf)


def apart(one: float, other: float) -> tuple[str, str]:
    """Two figures that differ, each with four digits, or with as many more as show that they do."""
    texts = ((f"{one:.{digits}g}", f"{other:.{digits}g}") for digits in range(4, 18))
    return next(pair for pair in texts if pair[0] != pair[1])


def _rounded(value: float, towards: float) -> str:
    if not 1e-290 < value < 1e290:
        return f"{value:.4g}"  # 0, and figures that nobody reads
    digits = 3 - math.floor(math.log10(value))
    scaled = value * 10.0**digits
    # A figure that has four digits anyway stays as it is.
    whole = round(scaled) if abs(scaled - round(scaled)) < 1e-8 else math.floor(scaled) + (towards > 0)
    return f"{whole / 10.0**digits:.4g}"


def missing(problem: str, extra: str) -> ImportError:
    """The error for something that needs an extra, e.g. missing("pictures need matplotlib", "plot")."""
    return ImportError(f'{problem}; run pip install ".[{extra}]" in the project\'s folder')


def lookalikes(names: Iterable[Any]) -> list[list[str]]:
    """Answers that differ in upper and lower case or in spaces alone, group by group."""
    same: dict[str, list[str]] = {}
    for text in map(str, names):
        same.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return [group for group in same.values() if len(group) > 1]


def gaps(names: Iterable[Any]) -> list[str]:
    """Answers that perhaps mean that there is none."""
    return [text for text in map(str, names) if GAP.fullmatch(text.strip())]
