"""Where in a TOML file something stands, so that an error can name the line."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")
KEY = re.compile(r"\s*([A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')\s*(?:\.[^=]*)?=")
QUOTES = re.compile(r'"""|' + "'''")


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
        for number, line in enumerate(text.splitlines(), start=1):
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
                lines.setdefault((table, seen.get(table, 0), ""), number)
            elif key:
                lines.setdefault((table, seen.get(table, 0), key[1].strip("\"'")), number)
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
