"""A page of HTML that needs nothing else: words, tables and pictures in one file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from . import audit_text, svg
from .audit import Audit, audit
from .certify import Certified
from .mechanism import Mechanism
from .prior import Prior
from .tradeoff import Tradeoff

MOST_BARS = 12
SAID = ("In short", "What an observer can guess", "What can become certain", "What this rests on")
MOST_SAID = 5  # paragraphs of one section of the audit

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 46rem; margin: 0 auto;
  padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; border-bottom: 1px solid #ccc; padding-bottom: .2rem; }
.lead { font-size: 1.1rem; }
.wide { overflow-x: auto; margin: .8rem 0; }
svg { display: block; max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .93rem; }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; white-space: nowrap; vertical-align: top; }
th { font-weight: 600; border-bottom: 1px solid #999; }
th:first-child, td:first-child { text-align: left; }
tr + tr td { border-top: 1px solid #eee; }
figcaption { font-size: .9rem; color: #555; }
figure { margin: 1rem 0; }
code { background: #f3f3f3; padding: 0 .2em; }
footer { margin-top: 3rem; font-size: .85rem; color: #555; }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Table:
    """A head and rows of text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A part of the page: a title, paragraphs, pictures with captions and a table, in this order."""

    title: str
    text: Sequence[str] = ()
    pictures: Sequence[tuple[str, str]] = ()  # SVG text, caption
    table: Table | None = None
    after: Sequence[str] = field(default=())


def page(title: str, lead: str, sections: Sequence[Section], footer: str = "") -> str:
    """The page as HTML; all text is escaped, pictures stand inside."""
    body = "\n".join(_section(section) for section in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{_text(title)}</h1>\n<p class="lead">{_text(lead)}</p>\n{body}\n'
        f"<footer>{_text(footer)}</footer>\n</body>\n</html>\n"
    )


def mechanism_report(
    prior: Prior,
    mechanism: Certified | Mechanism,
    curve: Tradeoff | None = None,
    title: str = "A private mechanism",
) -> str:
    """A page about one mechanism: prior, matrix, leakage by report, the risk in words, the trade-off if given."""
    made = audit(prior, mechanism)
    sections = [
        Section(
            "What is known beforehand", pictures=[(svg.shares(prior), "Share of each answer: the prior.")]
        ),
        matrix_section(made.mechanism),
        leakage_section(made),
        *risk_sections(made),
    ]
    if curve is not None:
        sections.append(curve_section(curve, made.epsilon))
    lead = str(made).splitlines()[0]
    return page(title, lead[:1].upper() + lead[1:] + ".", sections, _about(mechanism))


def matrix_section(matrix: Mechanism) -> Section:
    """The mechanism as a heat map."""
    n, m = matrix.shape
    caption = f"How often each of the {m} reports (across) is given for each true answer (down), in per cent."
    picture = svg.heat_map(matrix)
    if not picture:
        return Section("The mechanism", [f"{n} answers, {m} reports: too many to show."])
    return Section("The mechanism", pictures=[(picture, caption)])


def leakage_section(made: Audit) -> Section:
    """What each report leaks, the worst first; of many reports how many leak how much, at most."""
    order = np.argsort(-made.leakage, kind="stable")
    values = made.leakage[order]
    labels = [made.mechanism.outputs[j] for j in order]
    if len(labels) > MOST_BARS:
        rounded = np.ceil(values * 100 - 1e-6) / 100  # upwards: what is said must hold
        values, counts = np.unique(rounded, return_counts=True)
        values, counts = values[::-1][:MOST_BARS], counts[::-1][:MOST_BARS]
        labels = [f"{count} reports" if count > 1 else "1 report" for count in counts]
    texts = [f"{value:.3f} ({math.ceil(100 * math.exp(value)) / 100:.2f}x)" for value in values]
    picture = svg.bars(labels, values, texts, "leakage of reports in nats", made.epsilon)
    caption = (
        "Leakage in nats, at most, and the factor by which a report can raise any chance of guessing right."
    )
    return Section("What each report can tell, at most", pictures=[(picture, caption)])


def risk_sections(made: Audit) -> list[Section]:
    """The audit's own words, the first of them where they are many."""
    found = []
    for title, lines in audit_text.sections(made.to_dict()):
        if title in SAID:
            told = [part for line in lines if not line.startswith("|") for part in _plain(line)]
            if len(told) > MOST_SAID:
                told = [*told[: MOST_SAID - 1], f"… and {len(told) - MOST_SAID + 1} more of this kind."]
            found.append(Section(title, told))
    return found


def curve_section(curve: Tradeoff, epsilon: float | None = None) -> Section:
    """The trade-off between privacy and utility."""
    caption = (
        f"Largest {curve.utility.name} at each ε, and what randomized response keeps at the same "
        f"leakage; releasing the answer itself gives {curve.ceiling:.3f}."
    )
    return Section("What is possible at each privacy level", pictures=[(svg.curve(curve, epsilon), caption)])


def _text(text: str) -> str:
    """Escaped, with a dot for every control character but the end of a line."""
    return escape("".join(c if c.isprintable() or c == "\n" else "·" for c in text))


def _plain(text: str) -> list[str]:
    return [line.removeprefix("- ").replace("\\|", "|") for line in text.split("\n") if line]


def _section(section: Section) -> str:
    parts = [f"<h2>{_text(section.title)}</h2>"]
    parts += [f"<p>{_text(text)}</p>" for text in section.text]
    for picture, caption in section.pictures:
        parts.append(
            f'<figure><div class="wide">{picture}</div><figcaption>{_text(caption)}</figcaption></figure>'
        )
    if section.table is not None:
        head = "".join(f"<th>{_text(cell)}</th>" for cell in section.table.head)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>"
            for row in section.table.rows
        )
        parts.append(f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>')
    parts += [f"<p>{_text(text)}</p>" for text in section.after]
    return "\n".join(parts)


def _about(mechanism: Certified | Mechanism) -> str:
    if isinstance(mechanism, Certified):
        return f"{mechanism.library}; certified for ε = {mechanism.epsilon!r}, digest {mechanism.digest}"
    return "not certified"
