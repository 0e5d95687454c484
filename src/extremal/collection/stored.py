"""Reports that a survey has collected, as columns to estimate from: questions by name, one row a person."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._common.files import open_file
from .._common.json import parse_json
from ..certification.stored import decode_label
from ..errors import ExtremalError, OptionError, SurveyError, ValuesError
from .database import ADDRESS, SQLITE, Session, opened


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
    """The questions of a survey and the reports that may be shown; all of them once it is closed."""

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
            values = (row[k] if part is None else row[k][part] for row in self.rows)
            found[name] = [None if value is None else decode_label(value) for value in values]
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
        return file.read(len(SQLITE)) == SQLITE
    return False


def report_rows(session: Session) -> list[tuple[str, list[Any]]]:
    """Ids and reports that may be shown, by id; read at one moment, for a part of a batch would tell too much."""
    found = session.rows("SELECT id, content FROM reports ORDER BY id")
    return [(id, parse_json(content)) for id, content in found]


def read_stored(path: str | os.PathLike[str]) -> Stored:
    """What a store holds."""
    with opened(path) as database, contextlib.closing(database), database.session() as session:
        survey = session.survey()
        rows = report_rows(session)
    try:
        document = parse_json(survey["document"])
        questions = tuple(_question(q) for q in document["questions"])
        intervals = str(document.get("intervals", "each"))
    except (KeyError, TypeError, ValueError) as error:
        raise SurveyError(
            f"{database.place} holds no survey that can be read", given=str(error)[:120]
        ) from None
    return Stored(questions, tuple(reports for _, reports in rows), intervals, "closed" in survey)


def stored_digest(path: str | os.PathLike[str]) -> str | None:
    """The digest of the survey that a store holds reports to; None if it cannot be read."""
    with (
        contextlib.suppress(ExtremalError, ImportError),
        opened(path) as database,
        contextlib.closing(database),
        database.session() as session,
    ):
        return session.survey().get("digest")
    return None


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
