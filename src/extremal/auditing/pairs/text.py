"""An audit of observed pairs in words, from its plain figures."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ..._common.words import at_least
from ..wording import (
    MOST_ROWS,
    Table,
    html_table,
    inert,
    label,
    markdown_table,
    number,
    sentence_case,
)

Figures = Mapping[str, Any]


def markdown(figures: Figures) -> str:
    """An audit of observed pairs as a Markdown page."""
    parts = [
        "# Audit of observed reports",
        sentence_case(figures["verdict"]) + ".",
        f"{figures['pairs']} pairs of a secret and its report were examined: {figures['secrets']} different "
        f"secrets, {figures['reports']} different reports. A part of the pairs decided what to test; "
        f"{len(figures['tests'])} tests on the other {figures['tested_pairs']} pairs gave the bounds, all of "
        f"which hold at once with confidence {figures['confidence']:.4g}. The prior was {figures['prior']}.",
        "A system that keeps its promise is accused with probability at most "
        f"{1 - figures['confidence']:.3g}. That nothing was found is no proof that nothing leaks.",
        markdown_table(*_pairs_table(figures)),
    ]
    return inert("\n\n".join(parts)) + "\n"


def page(text: str, figures: Figures) -> str:
    """An audit of observed pairs as HTML for notebooks."""
    lines = "<br>".join(escape(line) for line in text.splitlines())
    return f"<p>{lines}</p>{html_table(*_pairs_table(figures))}"


def _pairs_table(figures: Figures) -> Table:
    tests = sorted(figures["tests"], key=lambda t: -t["lower"])
    body = [
        (
            t["event"],
            label(t["secret"]),
            f"{t['together']} of {t['event_count']}",
            f"{t['secret_count']} of {figures['tested_pairs']}",
            number(t["estimate"]),
            at_least(t["lower"]),
        )
        for t in tests[:MOST_ROWS]
    ]
    return ("when", "the secret was", "how often", "overall", "estimate in nats", "at least"), body
