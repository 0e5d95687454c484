"""Figures, labels and tables as they stand in text; what is rounded still holds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

MOST_NAMES = 5  # labels in a sentence
MOST_ROWS = 20  # of a table

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)


def html_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><tr>{top}</tr>{rows}</table>"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def inert(text: str) -> str:
    """Markdown in which no label becomes a tag, a link or a picture, which would be fetched; no text here has any."""
    return text.replace("<", "&lt;").replace("](", "]\\(")


def names(labels: Sequence[Any], count: int) -> str:
    """The first few labels of `count`, for a sentence."""
    shown = ", ".join(quoted(x) for x in labels[:MOST_NAMES])
    return shown + (f" and {count - MOST_NAMES} more" if count > MOST_NAMES else "")


def quoted(value: Any) -> str:
    """A label as it stands in a sentence."""
    return f"“{label(value)}”"


def label(value: Any) -> str:
    """A label as text; parts of a tuple are separated by commas."""
    text = ", ".join(label(part) for part in value) if isinstance(value, list) else str(value)
    return " ".join(text.split())[:80]


def number(value: float | None) -> str:
    """A figure with four digits; infinite where there is none."""
    return "infinite" if value is None else f"{value:.4g}"


def chance(p: float) -> str:
    """A probability with three digits, never rounded to certainty or impossibility."""
    if 0 < p < 1 and f"{p:.3g}" == "1":
        return "more than 0.999"
    return f"{p:.3g}"


def share_of(share: float) -> str:
    """A share of all reports in per cent, never rounded to all or none of them."""
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.3g} %"


def counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]
