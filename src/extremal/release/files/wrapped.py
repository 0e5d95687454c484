"""Quoted CSV fields that span lines: right in free text, and what a file with a quote left open looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...errors import FileError
from .csv_scan import Records

Find = Callable[[str], bool]
"""find(text) tells whether a text is an answer that the mechanism knows."""


class Wrapped:
    """The fields that span lines, of block after block.

    A quote left open makes one field of many records, and everything in it would be copied, answers included.
    So a line inside a field is refused if it has the fields of a record and an answer among them. Others are
    counted, and the first is named, for somebody to look at.
    """

    def __init__(self, delimiter: str, width: int, answers: Mapping[int, Find], path: str) -> None:
        self._delimiter, self._width, self._path = delimiter, width, path
        self._answers = answers  # by the number of their column
        self._line = 2  # of the file, at the start of the block; the header is the first
        self._first = 0
        self._count = 0

    def add(self, records: Records) -> None:
        block = records.block
        if len(records.inner):
            self._first = self._first or self._line + block.count(b"\n", 0, int(records.inner[0]))
            self._count += len(records.inner)
            self._refuse_records(records)
        self._line += block.count(b"\n")

    def notes(self) -> list[str]:
        """What the person who runs the job must look at."""
        if not self._count:
            return []
        more = f", and {self._count - 1} more in the file" if self._count > 1 else ""
        return [
            f"Check line {self._first}: there a quoted field holds a line break{more}. If a quote was left open, "
            "answers stand inside that field."
        ]

    def _refuse_records(self, records: Records) -> None:
        """Refuse a line inside a field that has at least the fields of a record, one of them an answer."""
        if not self._width:
            return
        data = np.frombuffer(records.block, dtype=np.uint8)
        starts = records.inner + 1
        closing = np.flatnonzero(data == ord('"'))[1::2]
        marks = data == ord("\n")
        marks[closing[data[closing + 1] != ord('"')]] = True  # those that end a field; others are doubled
        ends = np.flatnonzero(marks)
        stops = ends[np.searchsorted(ends, starts)]
        delimiters = np.flatnonzero(data == ord(self._delimiter))
        counts = np.searchsorted(delimiters, stops) - np.searchsorted(delimiters, starts)
        for i in np.flatnonzero(counts >= self._width).tolist():
            start, stop = int(starts[i]), int(stops[i])
            line = records.block[start:stop].decode()
            fields = [field.strip('"\r') for field in line.split(self._delimiter)]
            if any(find(field) for k, find in self._answers.items() for field in fields[k:]):
                number = self._line + records.block.count(b"\n", 0, start)
                raise FileError(
                    f"a quoted field in line {number} of {self._path} holds whole records",
                    remedy=("is a quote left open before it? Write the file anew with a CSV library"),
                )
