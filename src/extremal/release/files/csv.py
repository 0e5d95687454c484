"""CSV: the same bytes with reports in some fields, a block at a time.

What stands between private fields is copied as it is: quoting, spaces, line ends, numbers in any notation.
How a report is written depends on its label and the header alone, not on how the value that it replaces was
written.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from ..._common.files import open_file, utf8_text
from ..._common.words import shorten
from ...draw.columns import Alphabet, Column, smallest_unsigned
from ...draw.drawing import Drawn, Job
from ...draw.texts import Places, Texts, replace_fields
from ...errors import KeyingError, ValuesError
from .csv_scan import (
    Header,
    Records,
    Wrapped,
    quote,
    read_header,
    scan,
    unquote,
    whole_records,
)
from .task import ShuffledText, Task, as_number

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,34}", re.ASCII)
LONGEST_NUMBER = 1000  # characters; labels are shorter, and reading a long one would take long


@dataclass(frozen=True, eq=False)
class CsvData:
    """A CSV file to read from."""

    path: str
    state: os.stat_result  # before anything was read
    header: Header

    @classmethod
    def open(cls, path: str, wanted: Sequence[str], delimiter: str | None) -> CsvData:
        """The file, split by the delimiter given, else by one that gives the columns wanted."""
        likely = "\t" if path.lower().endswith(".tsv") else ","
        return cls(path, os.stat(path), read_header(path, wanted, delimiter, likely))

    @property
    def columns(self) -> list[str]:
        return list(self.header.columns)

    @property
    def total(self) -> int:
        """Bytes: what progress is counted in."""
        return os.path.getsize(self.path)

    def ids(self, name: str) -> Iterator[Any]:
        """The column of ids, part by part."""
        for records, _ in self._records():
            yield self._ids(records, name)

    def parts(self, names: Sequence[str]) -> Iterator[tuple[list[Any], int]]:
        """Some columns as they are written, part by part, and how much of the file has been read."""
        places = [self.columns.index(name) for name in names]
        for records, done in self._records():
            yield [records.fields(place) for place in places], done

    def release(self, sink: BinaryIO, task: Task) -> list[str]:
        """Write the file with the reports of the task; what the person who runs it must look at."""
        job = task.job
        sink.write(self.header.text)
        mixed = ShuffledText.of(self.path, self.total) if task.shuffle else None
        public = [name for name in self.columns if name not in job.private]
        wrapped = Wrapped(self.header.delimiter, len(self.columns) - 1, self._answers(job), self.path)
        labels = {name: self._labels(part, name) for name, part in job.parts.items()}
        for records, done in self._records():
            wrapped.add(records)

            def read(part: Alphabet, name: str, records: Records = records) -> Column:
                return text_column(part, records.fields(self.columns.index(name)))

            drawn = task.draw(read, len(records), partial(self._ids, records))
            if drawn is not None:
                text, edges = self._replaced(records, labels, drawn)
                if mixed is not None:
                    mixed.add(text, edges)
                    for name in public:
                        fields = records.fields(self.columns.index(name))
                        task.keep(name, [as_number(unquote(field)) for field in fields])
                else:
                    sink.write(text[: len(text) - (done > self.total)])
            elif job.give_up():
                break
            task.progress(min(done, self.total))
        if mixed is not None:
            sink.writelines(mixed.pieces(job.randomness.source))
        return wrapped.notes()

    def _answers(self, job: Job) -> dict[int, Callable[[str], bool]]:
        """For each private column whether a text is one of its answers."""

        def known(part: Alphabet) -> Callable[[str], bool]:
            find = finder(part)
            return lambda text: text != "" and find(text) < len(part.inputs)

        return {self.columns.index(name): known(part) for name, part in job.parts.items()}

    def _records(self) -> Iterator[tuple[Records, int]]:
        """The records in blocks, and how many bytes of the file they end at.

        The last line may lack its line feed. It then gets one, and ends one byte beyond the file.
        """
        done = len(self.header.text)
        before = 0
        with open_file(self.path) as file:
            file.seek(done)
            for block in whole_records(file, self.path):
                utf8_text(block, self.path, "a CSV file")
                whole = block if block.endswith(b"\n") else block + b"\n"
                done += len(whole)
                records = scan(whole, self.header, self.path, before)
                before += len(records)
                yield records, done

    def _labels(self, part: Alphabet, name: str) -> list[str]:
        """The output labels as they are written: quoted if the header is, or if they must be."""
        check_texts(part.outputs)
        always = self.header.quoted[self.columns.index(name)]
        special = (self.header.delimiter, '"', "\r", "\n")
        texts = []
        for label in part.outputs:
            if not isinstance(label, str | bool | int | float):
                raise ValuesError(
                    "must be text, numbers or truth values to be written to a CSV file",
                    parameter="outputs",
                    given=repr(label)[:60],
                    remedy="rename the outputs of the mechanism",
                )
            text = str(label)
            needed = any(mark in text for mark in special) or (text == "" and len(self.columns) == 1)
            texts.append(quote(text) if always or needed else text)
        return texts

    def _ids(self, records: Records, name: str) -> Texts:
        """The ids as text; which of them are integers is decided as for ids from anywhere else."""
        raw = records.fields(self.columns.index(name))
        if b'"' in records.block:
            raw = Texts.of([unquote(field) for field in raw])
        if np.any(raw.starts == raw.ends):
            raise KeyingError(
                "every record must have an id",
                given=f"some without one in column {name!r} of {self.path}",
                remedy="number the records",
            )
        return raw

    def _replaced(
        self, records: Records, labels: dict[str, list[str]], drawn: Drawn
    ) -> tuple[memoryview, Places]:
        """The text of the records with other fields in the private columns, without the records dropped.

        And where each record begins, then where the last one ends.
        """
        if not len(records):
            return memoryview(records.block), np.array([0, len(records.block)])
        edges, chosen = [records.starts], []
        pool: list[str] = []
        for k, name in sorted((self.columns.index(name), name) for name in labels):
            edges += [records.start(k), records.end(k)]
            chosen.append(drawn.columns[name].astype(np.int64) + len(pool))
            pool += labels[name]
        edges.append(np.append(records.starts[1:], len(records.block)))
        kept = slice(None) if drawn.kept is None else drawn.kept
        rows = np.stack([edge[kept] for edge in edges], axis=1)
        return replace_fields(records.block, rows, np.stack(chosen, axis=1), Texts.of(pool))


def text_column(part: Alphabet, fields: Texts) -> Column:
    """Fields as codes: each different text is looked up once. What is built are the outcomes themselves."""
    codes, raw = fields.numbered()
    texts = [unquote(field) for field in raw]
    find = finder(part)
    rows = np.array([*map(find, texts), len(part.inputs)], dtype=np.uint32)
    return Column(
        codes,
        rows,
        lambda where: (texts[code] or None for code in codes[where].tolist()),
        lambda drawn, kept: drawn,
        smallest_unsigned(len(part.outputs)),
    )


def finder(part: Alphabet) -> Callable[[str], int]:
    """The row of the label that a text stands for: itself, else the number or truth value it denotes."""
    check_texts(part.inputs)
    nobody = len(part.inputs)
    truths = {str(label).lower(): row for label, row in part.row_of.items() if isinstance(label, bool)}
    numbers = {
        label: row
        for label, row in part.row_of.items()
        if isinstance(label, int | float) and not isinstance(label, bool)
    }

    def find(text: str) -> int:
        row = part.row_of.get(text)
        if row is None and numbers and len(text) < LONGEST_NUMBER and (match := NUMBER.fullmatch(text)):
            row = numbers.get(float(text) if match[1] or match[2] else int(text))
        if row is None:
            row = truths.get(text.lower())
        return nobody if row is None else row

    return find


def check_texts(labels: Iterable[Any]) -> None:
    """Refuse labels that are one text, like 1 and "1": in a text file they could not be told apart."""
    plain = [label for label in labels if isinstance(label, str | bool | int | float)]
    texts = Counter(map(str, plain))
    same = [label for label in plain if texts[str(label)] > 1]
    if same:
        raise ValuesError(
            "must have different texts to be told apart in a CSV file",
            parameter="labels",
            given=shorten(same, 4),
            remedy="rename them, or use Parquet",
        )
