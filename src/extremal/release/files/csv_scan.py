"""CSV as bytes: where records and fields begin and end, found without taking anything apart.

The rules are those of RFC 4180: records end in a line feed, with or without a carriage return; a field that
begins with a quote ends with one, and quotes inside it are doubled. Any other use of quotes is refused, since
programs differ in how they read it. So a byte is inside a quoted field if and only if the number of quotes
before it is odd. The header is the first line: a name that spans lines is refused, because a stray quote in
the header would otherwise make records a part of it.

Quoted fields may span lines: right in free text, and what a file with a quote left open looks like. `Wrapped` tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..._common.files import open_file, utf8_text
from ...draw.texts import Places, Texts
from ...errors import FileError

BLOCK = 1 << 23  # bytes that are read at a time
LONGEST = 1 << 24  # bytes of a record; finding its fields takes several times as many
MARK = b"\xef\xbb\xbf"  # a byte order mark, which some programs put before UTF-8
DELIMITERS = ",;\t|"
FIELD = re.compile(r'[^"]*|"(?:[^"]|"")*"')

Find = Callable[[str], bool]
"""find(text) tells whether a text is an answer that the mechanism knows."""


@dataclass(frozen=True)
class Header:
    """The first record: names of the columns, whether they are quoted, and what separates them."""

    text: bytes
    delimiter: str
    columns: tuple[str, ...]
    quoted: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Records:
    """Where the fields of some records stand in a block of bytes."""

    block: bytes
    starts: Places  # of records, with blank lines before them
    firsts: Places  # of their first fields
    ends: Places  # of their last fields, before the end of the line
    delimiters: Places  # (records, columns - 1)
    inner: Places  # line feeds inside quoted fields

    def __len__(self) -> int:
        return len(self.starts)

    def start(self, column: int) -> Places:
        return self.firsts if column == 0 else self.delimiters[:, column - 1] + 1

    def end(self, column: int) -> Places:
        return self.ends if column == self.delimiters.shape[1] else self.delimiters[:, column]

    def fields(self, column: int) -> Texts:
        """The fields of a column as they stand there, quotes included."""
        return Texts(self.block, self.start(column), self.end(column))


def read_header(path: str, wanted: Sequence[str], delimiter: str | None, likely: str) -> Header:
    """The header, split by the delimiter given, else the first by which it has the columns wanted.

    If there is none, or nothing is wanted, by the one that gives the most columns with distinct names.
    """
    with open_file(path) as file:
        line = file.readline(LONGEST)
    if not line.removeprefix(MARK).strip():
        raise FileError(
            "a CSV file must have the names of its columns in its first line",
            given=f"an empty file or line: {path}",
        )
    body = line.removeprefix(MARK).rstrip(b"\n").removesuffix(b"\r")
    if b"\r" in body or b"\0" in body:
        raise FileError(
            "a CSV file must be UTF-8 text with lines that end in a line feed",
            given=path,
            remedy="convert it",
        )
    choices = dict.fromkeys(likely + DELIMITERS) if delimiter is None else [delimiter]
    found = [_split(line, utf8_text(body, path, "a CSV file"), choice) for choice in choices]
    headers = [header for header in found if header is not None]
    if not headers:
        raise FileError(
            "quotes in the header must enclose whole names and close on the first line",
            given=f"others in {path}",
            remedy="correct the first line, or write the file anew with a CSV library",
        )
    distinct = [h for h in headers if len(set(h.columns)) == len(h.columns)] or headers[:1]
    most = max(distinct, key=lambda h: len(h.columns))
    return next((h for h in headers if wanted and set(wanted) <= set(h.columns)), most)


def whole_records(file: BinaryIO, path: str) -> Iterator[bytes]:
    """The file in blocks that end where a record ends; the last may lack the end of its line."""
    rest = b""
    while more := file.read(BLOCK):
        block = rest + more
        cut = _last_line_end(block)
        if not cut and len(block) > LONGEST:
            raise FileError(
                f"a record must have at most {LONGEST} bytes",
                given=f"a longer one in {path}",
                remedy="is a quote left open?",
            )
        if cut:
            yield block[:cut]
        rest = block[cut:]
    if rest:
        yield rest


def scan(block: bytes, header: Header, path: str, before: int) -> Records:
    """The records of a block that ends where a record ends; `before` it there were so many in the file."""
    data = np.frombuffer(block, dtype=np.uint8)
    lines, delimiters, returns = (data == ord(c) for c in ("\n", header.delimiter, "\r"))
    inner = np.empty(0, dtype=np.int64)
    if b'"' in block:
        quotes = data == ord('"')
        inside = np.bitwise_xor.accumulate(quotes.view(np.uint8)).view(np.bool_)
        _check_quotes(data, np.flatnonzero(quotes), lines, delimiters, path, before)
        inner = np.flatnonzero(lines & inside)
        for marks in (lines, delimiters, returns):
            marks &= ~inside
    if np.any(returns[:-1] & ~lines[1:]):
        raise FileError(
            "a carriage return must stand before a line feed or in quotes",
            given=f"another after record {before} of {path}",
            remedy="write the file anew with a CSV library",
        )
    line_ends, places = np.flatnonzero(lines), np.flatnonzero(delimiters)
    firsts = np.concatenate([[0], line_ends[:-1] + 1])
    ends = line_ends - ((line_ends > firsts) & (data[line_ends - 1] == ord("\r")))
    counts = np.diff(np.searchsorted(places, line_ends), prepend=0)
    width = len(header.columns) - 1
    good = counts == width
    if not good.all():
        # A line with nothing in it is no record, except where a record is a single field.
        wrong = np.flatnonzero(~good & (ends > firsts))
        if len(wrong):
            raise FileError(
                f"every record must have {width + 1} fields, like the header",
                given=(
                    f"{counts[wrong[0]] + 1} in record "
                    f"{before + int(np.count_nonzero(good[: wrong[0]])) + 1} of {path}"
                ),
                remedy=f"is the delimiter {header.delimiter!r}?",
            )
        firsts, ends, line_ends = firsts[good], ends[good], line_ends[good]
    starts = np.concatenate([[0], line_ends[:-1] + 1])[: len(firsts)]
    return Records(block, starts, firsts, ends, places.reshape(len(firsts), width), inner)


def unquote(field: str) -> str:
    """The value that a field stands for."""
    return field[1:-1].replace('""', '"') if field[:1] == '"' else field


def quote(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _last_line_end(block: bytes) -> int:
    """The place after the last line feed that ends a record; 0 if there is none."""
    end = block.rfind(b"\n") + 1
    if block.count(b'"', 0, end) % 2 == 0:
        return end
    # That line feed stands inside a quoted field, and so may millions before it.
    data = np.frombuffer(block, dtype=np.uint8)
    inside = np.bitwise_xor.accumulate((data == ord('"')).view(np.uint8)).view(np.bool_)
    ends = np.flatnonzero((data == ord("\n")) & ~inside)
    return int(ends[-1]) + 1 if len(ends) else 0


def _split(line: bytes, body: str, delimiter: Any) -> Header | None:
    """The header split by this delimiter; None if quotes do not enclose whole names then."""
    if (
        not isinstance(delimiter, str)
        or len(delimiter) != 1
        or not delimiter.isascii()
        or delimiter in '"\r\n'
    ):
        raise FileError(
            "must be one ASCII character and no quote",
            parameter="delimiter",
            given=f"{delimiter!r}",
            remedy="e.g. ';'",
        )
    raw: list[str] = []
    for part in body.split(delimiter):
        if raw and raw[-1].count('"') % 2:
            raw[-1] += delimiter + part
        else:
            raw.append(part)
    if not all(map(FIELD.fullmatch, raw)):
        return None
    return Header(line, delimiter, tuple(map(unquote, raw)), tuple(field[:1] == '"' for field in raw))


def _check_quotes(
    data: NDArray[np.uint8],
    quotes: Places,
    lines: NDArray[np.bool_],
    delimiters: NDArray[np.bool_],
    path: str,
    before: int,
) -> None:
    """Refuse quotes that do not enclose whole fields."""
    opening, closing = quotes[::2], quotes[1::2]
    edge = lines | delimiters
    well = len(opening) == len(closing)
    if well:
        # An opening quote stands at the start of a field or follows a closing one: a doubled quote.
        well = bool(np.all((opening == 0) | edge[opening - 1] | (data[opening - 1] == ord('"'))))
        after = closing + 1  # there is one: the block ends with a line feed
        ends_line = (data[after] == ord("\r")) & lines[np.minimum(after + 1, len(data) - 1)]
        well = well and bool(np.all(edge[after] | ends_line | (data[after] == ord('"'))))
    if not well:
        raise FileError(
            "must enclose whole fields and be doubled inside them",
            parameter="quotes",
            given=f"others after record {before} of {path}",
            remedy="write the file anew with a CSV library",
        )


@dataclass(eq=False)
class Wrapped:
    """The fields that span lines, of block after block.

    A quote left open makes one field of many records, and everything in it would be copied, answers included.
    So a line inside a field is refused if it has the fields of a record and an answer among them. Others are
    counted, and the first is named, for somebody to look at.
    """

    delimiter: str
    width: int
    answers: Mapping[int, Find]  # by the number of their column
    path: str
    line: int = 2  # of the file, at the start of the block; the header is the first
    first: int = 0
    count: int = 0

    def add(self, records: Records) -> None:
        block = records.block
        if len(records.inner):
            self.first = self.first or self.line + block.count(b"\n", 0, int(records.inner[0]))
            self.count += len(records.inner)
            self._refuse_records(records)
        self.line += block.count(b"\n")

    def notes(self) -> list[str]:
        """What the person who runs the job must look at."""
        if not self.count:
            return []
        more = f", and {self.count - 1} more in the file" if self.count > 1 else ""
        return [
            f"Check line {self.first}: there a quoted field holds a line break{more}. If a quote was left open, "
            "answers stand inside that field."
        ]

    def _refuse_records(self, records: Records) -> None:
        """Refuse a line inside a field that has at least the fields of a record, one of them an answer."""
        if not self.width:
            return
        data = np.frombuffer(records.block, dtype=np.uint8)
        starts = records.inner + 1
        closing = np.flatnonzero(data == ord('"'))[1::2]
        marks = data == ord("\n")
        marks[closing[data[closing + 1] != ord('"')]] = True  # those that end a field; others are doubled
        ends = np.flatnonzero(marks)
        stops = ends[np.searchsorted(ends, starts)]
        delimiters = np.flatnonzero(data == ord(self.delimiter))
        counts = np.searchsorted(delimiters, stops) - np.searchsorted(delimiters, starts)
        for i in np.flatnonzero(counts >= self.width).tolist():
            start, stop = int(starts[i]), int(stops[i])
            line = records.block[start:stop].decode()
            fields = [field.strip('"\r') for field in line.split(self.delimiter)]
            if any(find(field) for k, find in self.answers.items() for field in fields[k:]):
                number = self.line + records.block.count(b"\n", 0, start)
                raise FileError(
                    f"a quoted field in line {number} of {self.path} holds whole records",
                    remedy=("is a quote left open before it? Write the file anew with a CSV library"),
                )
