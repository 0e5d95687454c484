"""Reports that a survey has collected, read from its store: SQLite by Python's own module, PostgreSQL by psycopg."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._common.files import open_file
from ..._common.json import parse_json
from ..._common.words import missing
from ...errors import FileError, OptionError, ValuesError

MAGIC = b"SQLite format 3\0"
ADDRESS = re.compile(r"postgres(ql)?(\+\w+)?://")


@dataclass(frozen=True)
class StoredQuestion:
    """One question of a survey: its columns, and the texts of the mechanism files behind them."""

    name: str
    kind: str
    form: str | None
    answers: tuple[str, ...]
    scores: tuple[float, ...] | None
    mechanisms: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """One, or one for each item where items are drawn one by one."""
        return tuple(f"{self.name}: {item}" for item in self.answers) if self.form == "each" else (self.name,)


@dataclass(frozen=True)
class Stored:
    """The questions of a survey and the reports that may be shown, one row a person; all of them once it is closed."""

    place: str
    questions: tuple[StoredQuestion, ...]
    rows: tuple[list[Any], ...]
    intervals: str  # that the survey's results are shown with
    closed: bool

    def columns(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """Columns by name: reports of private questions, answers in the clear; None where somebody left one out."""
        where = {
            column: (k, part if question.form == "each" else None)
            for k, question in enumerate(self.questions)
            for part, column in enumerate(question.columns)
        }
        unknown = [name for name in names if name not in where]
        if unknown:
            raise ValuesError(
                f"the store must have the question {unknown[0]!r}",
                given=", ".join(where)[:200],
                remedy="name one of these",
            )
        found = {}
        for name in names:
            k, part = where[name]
            found[name] = [_label(row[k] if part is None else row[k][part]) for row in self.rows]
        return found

    def check_clear(self, names: Sequence[str]) -> None:
        """Refuse names of private questions where true values are needed: their reports are random."""
        private = {column for q in self.questions if q.kind != "clear" for column in q.columns}
        wrong = [name for name in names if name in private]
        if wrong:
            clear = ", ".join(q.name for q in self.questions if q.kind == "clear")[:200]
            raise OptionError(
                "groups, weights, strata and clusters must come from questions asked in the clear",
                given=f"{wrong[0]!r}, whose reports are random",
                remedy=f"name one of {clear}" if clear else "this survey has none",
            )


def is_store(path: Any) -> bool:
    """Whether a path or an address is that of a store."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    if ADDRESS.match(text):
        return True
    with contextlib.suppress(OSError, ValueError), open_file(text) as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def read_stored(path: Any) -> Stored:
    """What a store holds."""
    place = os.fspath(path)
    try:
        with _cursor(place) as cursor:
            cursor.execute("SELECT value FROM survey WHERE name = 'document'")
            (document,) = cursor.fetchone() or (None,)
            cursor.execute("SELECT value FROM survey WHERE name = 'closed'")
            closed = cursor.fetchone() is not None
            cursor.execute("SELECT content FROM reports ORDER BY id")
            rows = tuple(parse_json(content) for (content,) in cursor)
        survey = parse_json(document or "")
        questions = tuple(_question(q) for q in survey["questions"])
        intervals = str(survey.get("intervals", "each"))
    except ImportError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:120] or type(error).__name__
        raise FileError(
            "the store must be one that a survey was served with",
            given=f"{re.sub(r'//[^@/]*@', '//…@', place)}: {said}",
        ) from None
    return Stored(place, questions, rows, intervals, closed)


def stored_digest(path: Any) -> str | None:
    """The digest of the survey that a store holds reports to; None if it cannot be read."""
    with contextlib.suppress(Exception), _cursor(os.fspath(path)) as cursor:
        cursor.execute("SELECT value FROM survey WHERE name = 'digest'")
        (digest,) = cursor.fetchone() or (None,)
        return None if digest is None else str(digest)
    return None


@contextlib.contextmanager
def _cursor(place: str) -> Iterator[Any]:
    connection: Any
    if ADDRESS.match(place):
        try:
            import psycopg
        except ImportError as error:
            raise missing(f"PostgreSQL needs {error.name or error}", "survey") from None
        connection = psycopg.connect(ADDRESS.sub("postgresql://", place), connect_timeout=10)
    else:
        connection = sqlite3.connect(f"{Path(place).absolute().as_uri()}?mode=ro", uri=True, timeout=20)
    with contextlib.closing(connection):
        yield connection.cursor()


def _question(given: dict[str, Any]) -> StoredQuestion:
    scores = given["scores"]
    return StoredQuestion(
        given["name"],
        given["kind"],
        given["form"],
        tuple(given["answers"]),
        None if scores is None else tuple(scores),
        tuple(given["mechanisms"]),
    )


def _label(value: Any) -> Any:
    """A label as mechanism files write it: lists are tuples."""
    if isinstance(value, list):
        return tuple(map(_label, value))
    if isinstance(value, dict) and len(value) == 1:
        ((kind, text),) = value.items()
        return {"int": int, "float": float}.get(kind, str)(text)
    return value
