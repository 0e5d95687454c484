"""A page of HTML that needs nothing else: words, tables and pictures in one file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TypeVar

import numpy as np

from ..certification.certified import Certified
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..optimization.tradeoff import Tradeoff
from . import svg
from . import text as audit_text
from .audit import Audit, audit
from .disclosure import Disclosure
from .figures import plain
from .wording import MOST_NAMES, at_most, chance, quoted

T = TypeVar("T")

MOST_BARS = 12
CERTAIN = "What can become certain"
SAID = ("In short", "What an observer can guess", CERTAIN, "What this rests on")
MOST_LISTED = 20_000  # labels in one table that unfolds: more would be a page that no browser likes to open

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
summary { cursor: pointer; color: #0b4f8a; }
details td { white-space: normal; text-align: left; }
details th { white-space: normal; text-align: left; }
footer { margin-top: 3rem; font-size: .85rem; color: #555; }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""


@dataclass(frozen=True)
class Table:
    """A head and rows of text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Folded:
    """A table that unfolds when its summary is clicked."""

    summary: str
    table: Table


@dataclass(frozen=True)
class Section:
    """A part of the page: a title, paragraphs, pictures with captions, tables, in the order of the fields."""

    title: str
    text: Sequence[str] = ()
    pictures: Sequence[tuple[str, str]] = ()  # SVG text, caption
    table: Table | None = None
    after: Sequence[str] = field(default=())
    folded: Folded | None = None


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
    prior: Prior | PriorSet,
    mechanism: Certified | Mechanism,
    curve: Tradeoff | None = None,
    title: str = "What a private report can give away",
) -> str:
    """A page about one mechanism: the risk in short, prior, matrix, leakage, the risk in words, the trade-off if given.

    `title` is best the question that was asked, for readers who were not there.
    """
    made = audit(prior, mechanism)
    in_short, *risks = risk_sections(made)
    sections = [
        in_short,
        Section(
            "What is known beforehand",
            pictures=[(svg.shares(made.prior), "Share of each answer: the prior.")],
        ),
        matrix_section(made.mechanism),
        leakage_section(made),
        *risks,
    ]
    if curve is not None:
        sections.append(curve_section(curve, made.epsilon))
    promise, *_, certainty = str(made).splitlines()  # what the promise leaves open stands beside it
    lead = f"{promise[:1].upper()}{promise[1:]}. {certainty[:1].upper()}{certainty[1:]}."
    return page(title, lead, sections, _about(mechanism))


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
    texts = [f"{at_most(value)} ({at_most(math.exp(value))}x)" for value in values]
    picture = svg.bars(labels, values, texts, "leakage of reports in nats", made.epsilon)
    caption = (
        "Leakage in nats, at most, and the factor by which a report can raise any chance of guessing right."
    )
    folded = _all_reports(made) if len(made.leakage) > MOST_BARS else None
    return Section("What each report can tell, at most", pictures=[(picture, caption)], folded=folded)


def risk_sections(made: Audit) -> list[Section]:
    """The audit's own words; what each report rules out in full, folded where it is long."""
    found = []
    for title, lines in audit_text.sections(made.to_dict()):
        if title in SAID:
            told = [part for line in lines if not line.startswith("|") for part in _plain(line)]
            folded = None
            if title == CERTAIN and _is_long(made.disclosures):
                told, folded = told[:2], _all_disclosures(made.disclosures)
            found.append(Section(title, told, folded=folded))
    return found


def _is_long(found: Sequence[Disclosure]) -> bool:
    """Whether a sentence on the first of them leaves something out."""
    lists = (found[0].reports, found[0].possible, found[0].excluded) if found else ()
    return len(found) > 1 or any(len(labels) > MOST_NAMES for labels in lists)


def _all_disclosures(found: Sequence[Disclosure]) -> Folded:
    head = ("report", "rules out", "leaves possible", "which had probability", "happens with probability")
    rows = [
        (
            _labels(d.reports),
            _labels(d.excluded),
            _labels(d.possible),
            chance(d.possible_probability),
            chance(d.probability),
        )
        for d in _fitting(found, [len(d.reports) + len(d.excluded) + len(d.possible) for d in found])
    ]
    return Folded(_summary("every report that rules out answers", len(rows), len(found)), Table(head, rows))


def _all_reports(made: Audit) -> Folded:
    head = ("report", "happens with probability", "leakage in nats, at most", "factor, at most", "about")
    order = sorted(made.outcomes, key=lambda o: -o.leakage)
    rows = [
        (
            _labels((o.output,)),
            chance(o.probability),
            at_most(o.leakage),
            at_most(math.exp(o.leakage)),
            _labels(o.symbols) if o.probability > 0 else "",
        )
        for o in _fitting(order, [1 + len(o.symbols) for o in order])
    ]
    return Folded(_summary("every report", len(rows), len(order)), Table(head, rows))


def _fitting(found: Sequence[T], labels: Sequence[int]) -> Sequence[T]:
    """The first of them, as many as name no more than MOST_LISTED labels together, one at least."""
    return found[: max(1, int(np.searchsorted(np.cumsum(labels), MOST_LISTED, side="right")))]


def _summary(what: str, shown: int, all_of_them: int) -> str:
    if shown < all_of_them:
        return f"Show {what}: the first {shown} of {all_of_them}"
    return f"Show {what}"


def _labels(labels: Sequence[object]) -> str:
    return ", ".join(quoted(plain(label)) for label in labels)


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
        parts.append(_table(section.table))
    parts += [f"<p>{_text(text)}</p>" for text in section.after]
    if section.folded is not None:
        folded = section.folded
        parts.append(f"<details><summary>{_text(folded.summary)}</summary>{_table(folded.table)}</details>")
    return "\n".join(parts)


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'


def _about(mechanism: Certified | Mechanism) -> str:
    if isinstance(mechanism, Certified):
        return f"{mechanism.library}; certified for ε = {mechanism.epsilon!r}, digest {mechanism.digest}"
    return "not certified"
