"""Tables of a TOML document, read strictly: every error names the file, the line and what to write instead."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._common.files import read_bytes, utf8_text
from ..errors import SurveyError
from ..model.reading import number

LARGEST = 1 << 20  # bytes of a survey or of counts
HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")
KEY = re.compile(r"\s*([A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')\s*(?:\.[^=]*)?=")
QUOTES = re.compile(r'"""|' + "'''")


def read_text(name: str) -> str:
    """The text of a file that is not too large."""
    raw = read_bytes(name, LARGEST, "the file", remedy="is it the right one?")
    return utf8_text(raw, name, "the file").removeprefix("\ufeff")


@dataclass(frozen=True)
class Places:
    """Line numbers of keys: (table, its number, key) -> line; the key "" is the table's header."""

    file: str
    lines: dict[tuple[str, int, str], int]

    @classmethod
    def of(cls, file: str, text: str) -> Places:
        """Those of a text that is TOML; tomllib itself keeps no lines."""
        lines: dict[tuple[str, int, str], int] = {}
        seen: dict[str, int] = {}
        table, inside = "", ""
        for k, line in enumerate(text.splitlines(), start=1):
            outside = not inside
            for quotes in QUOTES.findall(line):  # a text of several lines begins or ends
                inside = "" if quotes == inside else inside or quotes
            header, key = HEADER.match(line), KEY.match(line)
            if not outside:
                continue
            if header:
                table = header[2].strip("\"'")
                if header[1] == "[[":
                    seen[table] = seen.get(table, -1) + 1
                lines.setdefault((table, seen.get(table, 0), ""), k)
            elif key:
                lines.setdefault((table, seen.get(table, 0), key[1].strip("\"'")), k)
        return cls(file, lines)

    def name(self, table: str = "", number: int = 0, key: str = "") -> str:
        """The file and the line of a key; of its table where the key has none."""
        parent, _, _ = table.partition(".")
        for place in (
            (table, number, key),
            (f"{table}.{key}", 0, ""),
            (table, number, ""),
            (parent, number, ""),
        ):
            if place in self.lines:
                return f"{self.file}, line {self.lines[place]}"
        return self.file


@dataclass(frozen=True)
class Table:
    """A table of the document, with readers that name the line of what is wrong."""

    values: Mapping[str, Any]
    places: Places
    folder: Path
    table: str = ""
    number: int = 0

    def at(self, key: str = "") -> str:
        return self.places.name(self.table, self.number, key)

    def wrong(self, key: str, problem: str, given: object = None, remedy: str | None = None) -> SurveyError:
        shown = None if given is None else (given if isinstance(given, str) else repr(given))[:80]
        return SurveyError(f"{self.at(key)}: {key or self.table} {problem}", given=shown, remedy=remedy)

    def only(self, known: list[str]) -> None:
        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                raise SurveyError(f"{self.at(key)}: unknown key {key!r:.60}", remedy=hint)

    def text(self, key: str, required: bool = False) -> str | None:
        value = self.values.get(key)
        if value is None and not required:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "must be text", "nothing" if value is None else value, f'e.g. {key} = "…"')
        return value.strip()

    def matching(
        self, key: str, pattern: str, what: str, required: bool = False, remedy: str | None = None
    ) -> str | None:
        value = self.text(key, required)
        if value is not None and not re.fullmatch(pattern, value):
            raise self.wrong(key, f"must be {what}", value, remedy)
        return value

    def choice(self, key: str, known: tuple[str, ...], default: str, remedy: str | None = None) -> str:
        value = self.values.get(key, default)
        if value not in known:
            raise self.wrong(key, f"must be one of {', '.join(known)}", value, remedy)
        return str(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "must be true or false", value)
        return value

    def number_of(self, key: str, holds: Callable[[float], bool], what: str) -> float | None:
        if key not in self.values:
            return None
        given = self.values[key]
        value: Any = number(given) if isinstance(given, str) and given.strip().endswith("%") else given
        if not is_number(value) or not holds(value):
            raise self.wrong(key, f"must be {what}", given)
        return float(value)

    def share(self, key: str) -> float | None:
        return self.number_of(key, lambda x: 0 < x < 1, 'a number between 0 and 1, e.g. 0.1 or "10%"')

    def whole(self, key: str) -> int | None:
        found = self.number_of(key, lambda x: x >= 1 and x == int(x), "a whole number from 1")
        return None if found is None else int(found)

    def file(self, key: str) -> Path:
        """The file that a key names, beside the survey."""
        name = self.text(key, required=True) or ""
        path = self.folder / name
        if not path.is_file():
            raise self.wrong(
                key, "must name a file beside the survey that can be read", f"{name}: there is none"
            )
        return path


def is_number(value: object) -> bool:
    """Whether it is a number, and finite; truth values are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
