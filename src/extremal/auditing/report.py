"""The report on one mechanism, from its audit: the promise and what it leaves open, pictures, words.

It is a page of HTML that needs nothing else, for screens, phones and paper; the demo's is made in the same way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TypeVar

import numpy as np

from .._common.words import counted, factor, visible
from ..certification.certified import Certified
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..optimization.curves import Tradeoff
from . import pictures
from . import text as audit_text
from .audit import Audit, audit
from .figures import Disclosure, excluding
from .pictures import NARROW, WIDTH
from .text import MOST_NAMES, Cells, chance, names, number, percentage, quoted, share_of

T = TypeVar("T")

TITLE = "What a private report can give away"
MOST_BARS = 12
CERTAIN = "What can become certain"
SAID = ("What an observer can guess", CERTAIN, "What this rests on")
# P(E|x) ≤ 1, so that P(E|x) / P(E) ≤ 1 / P(E).
FALLS = (
    "The curve falls to the right, as it must: half of all reports can at most double the chance of an answer, and all "
    "of them together leave it as it was."
)
MOST_LISTED = 20_000  # labels in one table that unfolds: more would be a page that no browser likes to open


def mechanism_report(
    prior: Prior | PriorSet,
    mechanism: Certified | Mechanism,
    curve: Tradeoff | None = None,
    title: str = "",
    source: str = "",
) -> str:
    """A page about one mechanism: the promise and what it leaves open, pictures, the risk in words.

    `title` is best the question that was asked, for readers who were not there; `source` is the name of the file that
    holds the mechanism. With a `curve`, the page shows what other promises would cost.
    """
    made = audit(prior, mechanism)
    sections = [prior_section(made), matrix_section(made), leakage_section(made), *risk_sections(made)]
    if curve is not None:
        sections.insert(3, curve_section(curve, made.epsilon))
    return page(title or TITLE, _subject(made, source), sections, _about(mechanism), promise_boxes(made))


def _subject(made: Audit, source: str) -> str:
    """Which answers the page is about, and which file."""
    prior = made.answer_prior
    said = f"About a question with {prior.size:,} answers: {names(prior.labels)}."
    return f"{said} Mechanism: {source}." if source else said


def promise_boxes(made: Audit) -> list[Box]:
    """What a guess gains, what is promised, and what the promise leaves open."""
    certain = Box(CERTAIN, "None", "of the reports rules out an answer", ["No report rules out any answer."])
    if made.disclosures:
        share = share_of(excluding(made))
        certain = Box(CERTAIN, share, "of reports rule out some answer", audit_text.left_open(made))
    said = audit_text.promise(made)
    if made.doubt.disclosed:
        return [Box("No protection", "True answers", "", said, alarm=True), certain]
    guess = Box(
        "The best guess",
        f"{percentage(made.prior_guess)} → {percentage(made.worst_guess)}",
        "right without a report, and after the report that helps most",
        [f"On average over reports it is right in {percentage(made.average_guess)} of cases."],
    )
    raised = "1" if audit_text.silent(made) else factor(made.epsilon)
    return [
        guess,
        Box("The promise", f"× {raised}", "at most, on any chance of guessing right", said),
        certain,
    ]


def prior_section(made: Audit) -> Section:
    """The answers and how common they are."""
    prior = made.prior
    shown = min(prior.size, pictures.MOST_ROWS)
    one = "block of answers" if made.blocks is not None else "answer"
    which = (
        f"each {one}" if shown == prior.size else f"the {shown} most common of {prior.size} {_answers(made)}"
    )
    return Section(
        "What is known beforehand",
        pictures=[drawn(lambda width: pictures.answer_shares(prior, width), f"Share of {which}: the prior.")],
    )


def _answers(made: Audit) -> str:
    """What the rows of the audit's mechanism are."""
    return "answers" if made.blocks is None else "blocks of answers that are treated alike"


def matrix_section(made: Audit, title: str = "The mechanism") -> Section:
    """How reports are drawn."""
    return Section(title, pictures=[drawn(*matrix_picture(made))])


def matrix_picture(made: Audit) -> tuple[Callable[[int], str], str]:
    """A heat map of the mechanism, or of many reports what they do to the chances of the answers; and its caption."""
    n, m = made.mechanism.shape
    if m <= pictures.MOST_COLUMNS and n <= pictures.MOST_ROWS:
        caption = (
            f"How often each of the {m} reports (across) is given for each true answer (down), in per cent."
        )
        return partial(pictures.heat_map, made.mechanism), caption
    shown = (
        f" The {pictures.MOST_ROWS} most common of {n} {_answers(made)}." if n > pictures.MOST_ROWS else ""
    )
    caption = (
        f"There are {m} different reports. Each circle shows how likely the answer is after some of them, a larger "
        f"circle after more of them. The line shows how likely it was before. Reports at 0% rule the answer out.{shown}"
    )
    return partial(pictures.after_reports, made.prior, made.mechanism), caption


def leakage_section(made: Audit) -> Section:
    """How telling reports are, the most telling first, and how few of them are as telling as that."""
    title = "How telling a report can be"
    levels: dict[str, list[int]] = {}
    for j in np.argsort(-made.leakage, kind="stable").tolist():
        levels.setdefault(factor(float(made.leakage[j])), []).append(j)
    if made.epsilon < 1e-9:
        return Section(title, ["No report tells anything: each is as likely whatever the answer is."])
    m = len(made.leakage)
    told = []
    shown = []
    if len(levels) == 1:
        told.append(
            f"All {m} reports are equally telling: each can raise a chance by a factor of {next(iter(levels))}."
        )
    else:
        many = m > MOST_BARS
        groups = (
            list(levels.items())[:MOST_BARS] if many else [(t, [j]) for t, js in levels.items() for j in js]
        )
        names = [counted(len(js), "report") if many else made.mechanism.outputs[js[0]] for _, js in groups]
        values = np.array([math.exp(made.leakage[js[0]]) for _, js in groups])
        texts = [f"× {t}" for t, _ in groups]
        left = len(levels) - len(groups) if many else 0
        caption = "By how much a report can raise the chance of any guess, at most." + (
            f" {left} lower levels are left out." if left else ""
        )
        shown.append(
            drawn(
                lambda width: pictures.bars(names, values, texts, "factor on a chance", width, 1.0), caption
            )
        )
    nominal = "" if made.prior_set is None else " Under the nominal prior."
    shown.append(
        drawn(
            lambda width: pictures.envelope(made.envelope, made.epsilon, width),
            f"By how much the most telling reports make an answer likelier, at most, by how rare they are.{nominal} "
            f"{FALLS}",
        )
    )
    return Section(title, told, shown, folded=_all_reports(made) if m > MOST_BARS else None)


def risk_sections(made: Audit) -> list[Section]:
    """The audit's own words; what each report rules out in full, folded where it is long."""
    found = []
    for title, said in audit_text.sections(made):
        if title in SAID:
            told, folded = audit_text.told(said), None
            if title == CERTAIN and _is_long(made.disclosures):
                told, folded = told[:2], _all_disclosures(made.disclosures)
            shown = "What reports rule out" if title == CERTAIN else title
            found.append(Section(shown, told, folded=folded))
    return found


def _is_long(found: Sequence[Disclosure]) -> bool:
    """Whether a sentence on the first of them leaves something out."""
    lists = (found[0].reports, found[0].possible, found[0].excluded) if found else ()
    return len(found) > 1 or any(len(labels) > MOST_NAMES for labels in lists)


def _all_disclosures(found: Sequence[Disclosure]) -> Folded:
    head = ("report", "rules out", "leaves possible", "which is true of", "how often")
    rows = [
        (
            _labels(d.reports),
            _labels(d.excluded),
            _labels(d.possible),
            f"{chance(d.possible_probability)} of people",
            chance(d.probability),
        )
        for d in _fitting(found, [len(d.reports) + len(d.excluded) + len(d.possible) for d in found])
    ]
    return Folded(_summary("every report that rules out answers", len(rows), len(found)), Cells(head, rows))


def _all_reports(made: Audit) -> Folded:
    head = ("report", "how often", "factor, at most", "favours")
    order = sorted(made.outcomes, key=lambda o: -o.leakage)
    rows = [
        (
            _labels((o.output,)),
            chance(o.probability),
            factor(o.leakage),
            _labels(o.symbols) if o.probability > 0 else "",
        )
        for o in _fitting(order, [1 + len(o.symbols) for o in order])
    ]
    return Folded(_summary("every report", len(rows), len(order)), Cells(head, rows))


def _fitting(found: Sequence[T], labels: Sequence[int]) -> Sequence[T]:
    """The first of them, as many as name no more than MOST_LISTED labels together, one at least."""
    return found[: max(1, int(np.searchsorted(np.cumsum(labels), MOST_LISTED, side="right")))]


def _summary(what: str, shown: int, all_of_them: int) -> str:
    if shown < all_of_them:
        return f"Show {what}: the first {shown} of {all_of_them}"
    return f"Show {what}"


def _labels(labels: Sequence[object]) -> str:
    return ", ".join(map(quoted, labels))


def curve_section(curve: Tradeoff, epsilon: float | None = None) -> Section:
    """What stronger and weaker promises cost."""
    what = f"{pictures.curve_title(curve)} of what the answer itself gives"
    if pictures.in_people(curve):
        what = f"{pictures.curve_title(curve)} (95 % intervals, each by itself)"
    caption = f"{what[:1].upper()}{what[1:]}, by promise. Randomized response is set to the same promise."
    return Section(
        "What other promises would cost",
        pictures=[drawn(lambda width: pictures.curve(curve, epsilon, width), caption)],
    )


def _about(mechanism: Certified | Mechanism) -> str:
    if isinstance(mechanism, Certified):
        return (
            f"{mechanism.library}; certified for ε = {number(mechanism.epsilon)}, digest {mechanism.digest}"
        )
    return "not certified"


STYLE = "\n" + Path(__file__).with_name("page.css").read_text(encoding="utf-8")

ALARM = ' class="alarm"'


@dataclass(frozen=True)
class Folded:
    """A table that unfolds when its summary is clicked."""

    summary: str
    table: Cells


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text, once for a desk or paper and once for a phone, and what it shows."""

    wide: str
    narrow: str
    caption: str


def drawn(draw: Callable[[int], str], caption: str) -> Picture:
    """The picture that `draw` makes of a given width."""
    return Picture(draw(WIDTH), draw(NARROW), caption)


@dataclass(frozen=True)
class Box:
    """One of the boxes at the top, which are read together: a title, a large figure, paragraphs."""

    title: str
    figure: str
    about: str
    text: Sequence[str]
    alarm: bool = False  # in red: what nobody should overlook


@dataclass(frozen=True)
class Section:
    """A part of the page: a title, paragraphs, pictures with captions, tables, in the order of the fields."""

    title: str
    text: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    table: Cells | None = None
    words: bool = False  # whether the table holds words rather than numbers, which stand at the right
    after: Sequence[str] = ()
    folded: Folded | None = None


def page(
    title: str, lead: str, sections: Sequence[Section], footer: str = "", beside: Sequence[Box] = ()
) -> str:
    """The page as HTML; all text is escaped, pictures stand inside."""
    body = "\n".join(_section(section) for section in sections)
    boxes = "".join(
        f"<section{ALARM if box.alarm else ''}><h2>{_text(box.title)}</h2>"
        f'<p class="figure">{_text(box.figure)} <small>{_text(box.about)}</small></p>'
        + "".join(f"<p>{_text(text)}</p>" for text in box.text)
        + "</section>"
        for box in beside
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{_text(title)}</h1>\n"
        + (f'<p class="lead">{_text(lead)}</p>\n' if lead else "")
        + (f'<div class="beside">{boxes}</div>\n' if boxes else "")
        + f"{body}\n</main>\n<footer>{_text(footer)}</footer>\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    """Escaped, with a dot for every control character but the end of a line."""
    return re.sub(r"(?<=\d) %", "\u00a0%", escape(visible(text)))  # on one line


def _section(section: Section) -> str:
    parts = [f"<h2>{_text(section.title)}</h2>"]
    parts += [f"<p>{_text(text)}</p>" for text in section.text]
    for picture in section.pictures:
        parts.append(
            f'<figure><div class="roomy">{picture.wide}</div><div class="narrow">{picture.narrow}</div>'
            f"<figcaption>{_text(picture.caption)}</figcaption></figure>"
        )
    if section.table is not None:
        parts.append(_table(section.table, section.title, section.words))
    parts += [f"<p>{_text(text)}</p>" for text in section.after]
    if section.folded is not None:
        folded = section.folded
        parts.append(
            f"<details><summary>{_text(folded.summary)}</summary>{_table(folded.table, folded.summary)}</details>"
        )
    return "\n".join(parts)


def _table(table: Cells, name: str, words: bool = False) -> str:
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    # A box that scrolls must be reached by the keyboard, and have a name.
    box = f'<div class="wide" tabindex="0" role="region" aria-label="{_text(name)}">'
    kind = ' class="words"' if words else ""
    return f"{box}<table{kind}><tr>{head}</tr>{rows}</table></div>"
