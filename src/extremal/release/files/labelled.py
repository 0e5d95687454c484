"""SPSS and Stata files (.sav, .dta), which give codes a label: the same file with reports in some columns.

A column with value labels stands for its labels, unless a mechanism knows numbers alone. Reports that are texts get
codes with labels: an answer's own code where the report reads like one. They depend on the labels of the source and on
the mechanism, never on values. Formats, missing codes and widths of a private column were made for its answers and go;
so do the notes and the label of the whole file. The columns beside keep theirs.
"""

from __future__ import annotations

import math
import os
import re
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, BinaryIO

import numpy as np

from ..._common.words import brief, missing
from ...draw.columns import Alphabet
from ...draw.containers import as_column
from ...errors import FileError, ValuesError
from .task import Task, random_order

KINDS = {"spss": "sav", "stata": "dta"}
STATA = 14  # its release 118: what Stata 14 and later read in every edition
NOTE_WIDTH = 76  # of a line of notes in an SPSS file, which has 80 bytes
LONGEST_NAME = {"spss": 64, "stata": 32}
LONGEST_LABEL = 120  # bytes of a value label in an SPSS file, which is cut without a word
LONGEST_TITLE = {"spss": 256, "stata": 80}  # bytes of a column's label
SAID = ("missing_ranges", "missing_user_values", "variable_display_width", "variable_measure")
WRITTEN = {"spss": ("variable_format", "missing_ranges", *SAID[2:]), "stata": ("variable_format", SAID[1])}
INTEGERS = {"int8": "Int8", "int16": "Int16", "int32": "Int32"}


@dataclass(frozen=True)
class Variable:
    """A column as these files have it. `kept` is what else they say about it: format, missing codes and the like."""

    values: Sequence[Any]
    label: str | None = None
    labels: Mapping[Any, str] = field(default_factory=dict)
    note: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LabelledData:
    """An SPSS or Stata file, in memory."""

    path: str
    state: os.stat_result  # before anything was read
    kind: str
    table: Mapping[str, Any]
    about: Any

    @classmethod
    def open(cls, path: str, kind: str) -> LabelledData:
        """The file, whose answers are its own: nothing is converted."""
        pyreadstat = _pyreadstat()
        try:
            state = os.stat(path)
            read = getattr(pyreadstat, f"read_{KINDS[kind]}")
            how = {"user_missing": True, "disable_datetime_conversion": True, "output_format": "dict"}
            table, about = read(path, **how)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OSError) as error:
            said = " ".join(str(error).split())[:120]
            raise FileError(f"not {_article(kind)} file that can be read: {path}", given=said) from None
        return cls(path, state, kind, table, about)

    @property
    def columns(self) -> list[str]:
        return list(self.about.column_names)

    @property
    def total(self) -> int:
        """Rows: what progress is counted in."""
        return len(next(iter(self.table.values()), ()))

    def ids(self, name: str) -> Iterator[Any]:
        """A column, as other files have theirs."""
        yield self._column(name)

    def parts(self, names: Sequence[str]) -> Iterator[tuple[list[Any], int]]:
        """Some columns, all at once, and how many rows have been read."""
        yield [self._column(name) for name in names], self.total

    def release(self, sink: BinaryIO, task: Task) -> list[str]:
        """Write the file with the reports of the task; nothing in it needs to be looked at."""
        job = task.job
        drawn = task.draw(self._read, self.total, self._column)
        task.progress(self.total)
        if drawn is None:
            return []
        rows = np.arange(self.total) if drawn.kept is None else np.flatnonzero(drawn.kept)
        order = random_order(len(rows), job.randomness.source) if task.shuffle else np.arange(len(rows))
        variables = {}
        for name in self.columns:
            if name in job.parts:
                found = drawn.columns[name].to_pylist()
                said = " ".join(filter(None, (task.notes.get(name), job.randomness.note)))
                reports = [found[k] for k in order]
                variables[name] = self._reports(name, reports, job.parts[name].outputs, said)
                continue
            values = [self.table[name][k] for k in rows]
            task.keep(name, values)
            variables[name] = self._kept(name, [values[k] for k in order])
        sink.write(labelled_bytes(variables, self.kind))
        return []

    def values(self, name: str, codes: bool = False) -> list[Any]:
        """What a column says: labels where codes have some, unless codes are asked for; None where it says nothing."""
        there = self._there(name)
        labels = {} if codes else self._labels(name, there)
        values = [_whole(value) if there(value) else None for value in self.table[name]]
        if not labels:
            return values
        plain = {str(value) for value in values if value is not None and value not in labels}
        if both := sorted(plain & set(labels.values())):
            raise self._refused(name, f"{brief(both[0])}, also a value without a label")
        return [None if value is None else labels.get(value, str(value)) for value in values]

    def _there(self, name: str) -> Callable[[Any], bool]:
        """Whether a value of this column is one: codes that stand for missing ones are not, nor are Stata's letters."""
        ranges = self._about("missing_ranges", name, ())
        text = self.about.readstat_variable_types[name] == "string"

        def holds(value: Any) -> bool:
            if value is None or value == "" or value != value or isinstance(value, str) != text:
                return False
            known = [one for one in ranges if type(one["lo"]) is type(value)]
            return not any(one["lo"] <= value <= one["hi"] for one in known)

        return holds

    def _labels(self, name: str, there: Callable[[Any], bool]) -> dict[Any, str]:
        """The label of each code; refused if two codes have one label."""
        given = self._about("variable_value_labels", name, {})
        labels = {_whole(code): text.strip() for code, text in given.items() if there(code) and text.strip()}
        for text in labels.values():
            same = [str(other) for other, label in labels.items() if label == text]
            if len(same) > 1:
                raise self._refused(name, f"{brief(text)} for {' and '.join(same)}")
        return labels

    def _refused(self, name: str, given: str) -> ValuesError:
        return ValuesError(
            f"value labels of column {name!r} must tell its values apart",
            given=f"{given}: {self.path}",
            remedy="give each code a label of its own, or recode the column",
        )

    def _about(self, what: str, name: str, usual: Any) -> Any:
        return (getattr(self.about, what) or {}).get(name, usual)

    def _column(self, name: str, codes: bool = False) -> Any:
        import pyarrow

        values = self.values(name, codes)
        if any(isinstance(value, float) for value in values):
            values = [float(value) if isinstance(value, int) else value for value in values]
        return pyarrow.array(values, None if any(value is not None for value in values) else pyarrow.string())

    def _read(self, alphabet: Alphabet, name: str) -> Any:
        return as_column(alphabet, self._column(name, not any(isinstance(x, str) for x in alphabet.inputs)))

    def _kept(self, name: str, values: list[Any]) -> Variable:
        """A column that stays as it was, but for rows that are gone."""
        kept = {key: self._about(key, name, None) for key in SAID}
        kept["variable_format"] = self.about.original_variable_types[name]
        kept["storage"] = self.about.readstat_variable_types[name]
        labels = self._about("variable_value_labels", name, {})
        return Variable(values, self.about.column_names_to_labels[name], labels, kept=kept)

    def _reports(self, name: str, reports: list[Any], outputs: Sequence[Any], note: str) -> Variable:
        """A column of reports: as codes, those of the source where it has a label that reads like the report."""
        label = self.about.column_names_to_labels[name]
        if all(isinstance(y, int | float) and not isinstance(y, bool) for y in outputs):
            return Variable(reports, label, note=note)
        given = {text: code for code, text in self._about("variable_value_labels", name, {}).items()}
        codes = {y: given[y] for y in outputs if type(given.get(y)) in (int, float)}
        return coded(reports, outputs, label, note, codes)


def coded(
    values: Sequence[Any],
    labels: Sequence[Any],
    label: str | None,
    note: str | None,
    codes: Mapping[Any, Any],
) -> Variable:
    """Values as codes with labels: those given, and for the others the next whole numbers."""
    free = math.floor(max(codes.values(), default=0)) + 1
    taken = {**codes, **{y: free + k for k, y in enumerate(y for y in labels if y not in codes)}}
    found = [None if value is None else taken[value] for value in values]
    return Variable(found, label, {taken[y]: str(y) for y in labels}, note)


def labelled_bytes(variables: Mapping[str, Variable], kind: str) -> bytes:
    """The content of an SPSS or Stata file."""
    pyreadstat = _pyreadstat()
    import pandas

    labels = {name: dict(v.labels) for name, v in variables.items() if v.labels}
    long = [x for texts in labels.values() for x in texts.values() if len(x.encode()) > LONGEST_LABEL]
    if kind == "spss" and long:
        problem = f"an SPSS file has value labels of at most {LONGEST_LABEL} bytes"
        raise FileError(problem, given=brief(long[0]), remedy="use CSV")
    frame = pandas.DataFrame({name: _series(variable) for name, variable in variables.items()})
    titles = {name: v.label for name, v in variables.items()}
    for name, title in titles.items():
        if title is not None and len(title.encode()) > LONGEST_TITLE[kind]:  # cut where it has no room
            titles[name] = title.encode()[: LONGEST_TITLE[kind] - 3].decode(errors="ignore") + "…"
    settings: dict[str, Any] = {"column_labels": titles, "variable_value_labels": labels}
    for key in WRITTEN[kind]:
        settings[key] = {name: v.kept[key] for name, v in variables.items() if v.kept.get(key)}
    notes = {name: v.note for name, v in variables.items() if v.note}
    if kind == "stata":
        settings["version"] = STATA
    else:
        settings["note"] = [x for name, note in notes.items() for x in (f"{name}:", *wrap(note, NOTE_WIDTH))]
    try:
        with tempfile.TemporaryDirectory(prefix="extremal-") as folder:  # the library writes to names alone
            place = os.path.join(folder, "written")
            getattr(pyreadstat, f"write_{KINDS[kind]}")(frame, place, **settings)
            with open(place, "rb") as file:
                content = file.read()
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        raise FileError(f"must be written as {_article(kind)} file", given=str(error)[:200]) from None
    if kind == "spss":  # without the time of writing: the same records are the same bytes
        return content[:92] + b"01 Jan 7000:00:00" + content[109:]
    end = content.index(b"</timestamp>")
    return _with_notes(content[: end - 17] + b"01 Jan 1970 00:00" + content[end:], notes)


def valid_names(names: Sequence[str], kind: str) -> list[str]:
    """Names that these programs take, one for each: letters, digits and _."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]", "_", name)[: LONGEST_NAME[kind] - 4]
        tries = (plain, *(f"{plain}_{k}" for k in range(2, len(names) + 2)))
        found.append(next(one for one in tries if one.lower() not in {x.lower() for x in found}))
    return found


def _series(variable: Variable) -> Any:
    """Whole numbers stay whole where some are missing."""
    import pandas

    there = [x for x in variable.values if x is not None]
    width = INTEGERS.get(variable.kept.get("storage", ""))
    if width is None and there and all(type(x) is int and abs(x) < 2**31 for x in there):
        width = "Int32"
    if any(isinstance(x, str) for x in there):  # also the letters of missing values in Stata
        width = None
    return pandas.Series(list(variable.values), dtype=width)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _with_notes(content: bytes, notes: Mapping[str, str]) -> bytes:
    """A Stata file with a note on some variables: what its `notes` command shows."""
    entries = b""
    for name, note in notes.items():
        for key, text in (("note0", "1"), ("note1", note)):
            raw = name.encode().ljust(129, b"\0") + key.encode().ljust(129, b"\0") + text.encode() + b"\0"
            entries += b"<ch>" + struct.pack("=I", len(raw)) + raw + b"</ch>"
    at = content.index(b"<map>") + 5
    places = struct.unpack_from("=14Q", content, at)  # the ninth is that of the notes
    moved = struct.pack("=14Q", *(p + len(entries) * (k > 8) for k, p in enumerate(places)))
    inside = places[8] + len(b"<characteristics>")
    return content[:at] + moved + content[at + len(moved) : inside] + entries + content[inside:]


def _article(kind: str) -> str:
    return "an SPSS" if kind == "spss" else "a Stata"


def _pyreadstat() -> Any:
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import pyreadstat
    except ImportError as error:
        raise missing(f"SPSS and Stata files need {error.name}", "statistics") from None
    return pyreadstat
