"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def heat_cell(p: float, largest: float) -> str:
    """A table cell for a probability, shaded in proportion to the largest in the table."""
    share = 0.6 * p / largest if largest > 0 else 0.0
    return f"<td style='text-align:right;background-color:rgba(31,119,180,{share:.2f})'>{p:.4g}</td>"


def html_table(caption: str, rows: Iterable[str]) -> str:
    """An HTML table of finished rows."""
    return f"<table><caption>{escape(caption)}</caption>{''.join(rows)}</table>"
