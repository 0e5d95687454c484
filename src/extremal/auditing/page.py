"""A page of HTML that needs nothing else: words, tables and pictures in one file, for screens, phones and paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from . import svg

STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #555; --grid: #ddd; --paper: #fff; --card: #f5f7f9;
  --blue: #0072b2; --orange: #b36b00; --warm: #d55e00; --heat: #004488; --link: #0b4f8a; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #a9b2bc; --grid: #3a424c; --paper: #14181d; --card: #1d232a;
    --blue: #56b4e9; --orange: #e69f00; --warm: #ff8c42; --heat: #9ad0ff; --link: #8cc8ff; }
  svg text.low { fill: var(--ink); } svg text.mid, svg text.high { fill: #000; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 48rem;
  margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; border-bottom: 1px solid var(--grid); padding-bottom: .2rem; }
p { overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1rem; margin: 1rem 0; }
.beside section { background: var(--card); border: 1px solid var(--grid); border-radius: 8px; padding: .8rem 1rem; }
.beside h2 { margin: 0; border: 0; padding: 0; }
.beside p { margin: .5rem 0 0; }
.beside .alarm { background: #b00020; border-color: #b00020; color: #fff; }
.alarm .figure small { color: #fff; }
.figure { font-size: 2rem; font-weight: 650; line-height: 1.2; }
.figure small { display: block; font-size: .95rem; font-weight: 400; color: var(--soft); }
.wide { overflow-x: auto; margin: .8rem 0; background:
  linear-gradient(to right, var(--paper) 30%, transparent) left / 2rem 100%,
  linear-gradient(to left, var(--paper) 30%, transparent) right / 2rem 100%,
  linear-gradient(to right, var(--soft), transparent) left / .4rem 100%,
  linear-gradient(to left, var(--soft), transparent) right / .4rem 100%;
  background-repeat: no-repeat; background-attachment: local, local, scroll, scroll; }
svg { display: block; max-width: 100%; height: auto; }
svg, svg [fill="#222222"] { fill: var(--ink); } svg [stroke="#222222"] { stroke: var(--ink); }
svg [stroke="#dddddd"] { stroke: var(--grid); } svg rect[fill="#ffffff"] { fill: var(--paper); }
svg [fill="#0072B2"] { fill: var(--blue); } svg [stroke="#0072B2"] { stroke: var(--blue); }
svg [fill="#E69F00"] { fill: var(--orange); } svg [stroke="#E69F00"] { stroke: var(--orange); }
svg [stroke="#D55E00"] { stroke: var(--warm); } svg [fill="#004488"] { fill: var(--heat); }
.narrow { display: none; }
table { border-collapse: collapse; font-size: .93rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .9rem .25rem 0; text-align: right; vertical-align: top; }
th { font-weight: 600; border-bottom: 1px solid var(--soft); }
th:first-child, td:first-child { text-align: left; }
tr + tr td { border-top: 1px solid var(--grid); }
td { min-width: 4rem; }
figcaption { font-size: .9rem; color: var(--soft); }
figure { margin: 1rem 0; }
summary { cursor: pointer; color: var(--link); padding: .4rem 0; }
details td, details th, .words td, .words th { text-align: left; }
footer { margin-top: 3rem; font-size: .85rem; color: var(--soft); overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--orange); outline-offset: 2px; }
@media screen and (max-width: 600px) { .roomy { display: none; } .narrow { display: block; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } h2 { break-after: avoid; }
  .wide { overflow: visible; background: none; } figure, tr, .beside section { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .beside { grid-template-columns: 1fr 1fr; } }
"""

ALARM = ' class="alarm"'


@dataclass(frozen=True)
class Table:
    """A head and rows of text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: bool = False  # rather than numbers, which stand at the right


@dataclass(frozen=True)
class Folded:
    """A table that unfolds when its summary is clicked."""

    summary: str
    table: Table


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text, once for a desk or paper and once for a phone, and what it shows."""

    wide: str
    narrow: str
    caption: str


def drawn(draw: Callable[[int], str], caption: str) -> Picture:
    """The picture that `draw` makes of a given width."""
    return Picture(draw(svg.WIDTH), draw(svg.NARROW), caption)


@dataclass(frozen=True)
class Beside:
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
    table: Table | None = None
    after: Sequence[str] = field(default=())
    folded: Folded | None = None


def page(
    title: str, lead: str, sections: Sequence[Section], footer: str = "", beside: Sequence[Beside] = ()
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
        parts.append(_table(section.table, section.title))
    parts += [f"<p>{_text(text)}</p>" for text in section.after]
    if section.folded is not None:
        folded = section.folded
        parts.append(
            f"<details><summary>{_text(folded.summary)}</summary>{_table(folded.table, folded.summary)}</details>"
        )
    return "\n".join(parts)


def _table(table: Table, name: str) -> str:
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    # A box that scrolls must be reached by the keyboard, and have a name.
    box = f'<div class="wide" tabindex="0" role="region" aria-label="{_text(name)}">'
    kind = ' class="words"' if table.words else ""
    return f"{box}<table{kind}><tr>{head}</tr>{rows}</table></div>"
