"""A page of HTML that needs nothing else: words, tables and pictures in one file, for screens, phones and paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from .pictures import NARROW, WIDTH
from .text import Cells

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
    after: Sequence[str] = field(default=())
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
    return escape("".join(c if c.isprintable() or c == "\n" else "·" for c in text))


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
