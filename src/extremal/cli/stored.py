"""extremal estimate on the store of a survey: the questions and their mechanisms lie in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import extremal as ex
from extremal.errors import OptionError, ValuesError
from extremal.estimation.promise import COMMAND

from . import advice, show
from .failure import CheckFailed
from .output import write_table
from .progress import progress

if TYPE_CHECKING:
    from extremal.collection.stored import Stored, StoredQuestion
    from extremal.estimation.sample import Table

WAITING = (
    "The survey is not closed: results grow in steps of five reports, and the newest five to nine wait until you run "
    "`extremal survey close`."
)


@dataclass(frozen=True, eq=False)
class Part:
    """One column of reports, and what is estimated from it."""

    question: str
    column: str
    mechanism: ex.Certified | ex.Mechanism
    groups: dict[str, list[str]] | None  # items of a set; None for the shares of all answers
    scores: dict[str, float] | None


@dataclass(frozen=True)
class Shown:
    """How results are shown and where they are written; `draw` makes a table of intervals."""

    as_json: bool
    output: str | None
    overwrite: bool
    draw: Callable[[Any, Any], Any]


def estimate_store(
    source: str, question: str | None, names: dict[str, Any], how: dict[str, Any], shown: Shown
) -> None:
    """Shares of the answers to one question, or to every question."""
    from extremal.collection.stored import read_stored
    from extremal.estimation.sample import read_table

    stored = read_stored(source)
    if not stored.rows:
        raise ValuesError(
            "the store has no reports yet that may be shown",
            given=source,
            remedy="the first five are shown once ten people have answered, or when the survey is closed",
        )
    chosen = [q for q in stored.questions if question in (None, q.name)]
    if not chosen:
        known = ", ".join(q.name for q in stored.questions)
        raise OptionError("--question must be one of the survey", given=question, remedy=f"it asks {known}")
    by = names.pop("by")
    others = [*(by or []), *(name for name in names.values() if name)]
    facts, records, warned = {}, [], False
    out = show.console(to_stderr=shown.output == "-")
    for part in (part for q in chosen for part in _parts(q)):
        table = read_table(source, part.column, others, missing="drop")
        if not table.columns[part.column]:
            nobody = f"nobody answered ({len(stored.rows)} left it out)"
            facts[part.column] = {"tables": [], "warnings": [nobody]}
            if not shown.as_json:
                show.heading(out, f"{part.column}: {nobody}")
            continue
        table = _named(table, [name for name in others if name != part.column], stored)
        given = {"intervals": stored.intervals, **how}
        if given["intervals"] == "all":
            given["confidence"] = 1 - (1 - how["confidence"]) / _shared(part, stored)
        with progress(f"estimating {part.column}"):
            found: Any = ex.estimate(
                part.mechanism,
                table,
                column=part.column,
                by=by[0] if by and len(by) == 1 else by,
                **names,
                **given,
            )
            tables = [found.table if part.groups is None else found.group(part.groups)]
            tables += [] if part.scores is None else [found.mean(part.scores)]
        records += [{"question": part.column, **record} for t in tables for record in t.records()]
        notes = [show.sentence(note) for note in found.notes() if "WARNING" in note]
        warned = warned or bool(notes)
        if part.groups is None and isinstance(part.mechanism, ex.Certified):  # not for answers in the clear
            notes += advice.estimated(found)
        facts[part.column] = {"tables": [t.to_dict() for t in tables], "warnings": notes}
        if not shown.as_json:
            show.heading(out, f"{part.column}: {tables[0].title}")
            show.warnings(out, notes)
            for one in tables:  # each with a note of its own: they do not hold together
                out.print(shown.draw(out, one))
                show.sentences(out, [show.sentence(one.promise.note(COMMAND))])
    if not stored.closed and not shown.as_json:
        show.sentences(out, ["", WAITING])
    write_table(records, shown.output, shown.overwrite)
    if shown.as_json:
        show.print_json(
            {"store": source, "reports": len(stored.rows), "closed": stored.closed, "questions": facts}
        )
    elif shown.output is not None and shown.output != "-":
        out.print(f"\nTable in {shown.output}", soft_wrap=True)
    if warned:
        raise CheckFailed("")  # it has been said


def _named(table: Table, others: list[str], stored: Stored) -> Table:
    """The table with a name for the answers in the clear that people left out: they are a group, too."""
    answers = {q.name: q.answers for q in stored.questions}
    named = {}
    for x in others:
        left_out = "no answer"
        while left_out in answers[x]:  # somebody chose that, who is in another group
            left_out = f"({left_out})"
        named[x] = [left_out if value is None else value for value in table.columns[x]]
    return replace(table, columns={**table.columns, **named})


def _shared(part: Part, stored: Stored) -> int:
    """Over how many parts of a question the error is divided, so that they hold together."""
    return next(len(q.columns) for q in stored.questions if q.name == part.question)


def _parts(question: StoredQuestion) -> list[Part]:
    mechanisms: list[Any] = [ex.Certified.from_json(text) for text in question.mechanisms]
    scores = None
    if question.scores is not None:
        scores = dict(zip(question.answers, question.scores, strict=True))
    if question.kind == "clear":
        from extremal.model.mechanism import identity

        mechanisms = [identity(ex.Prior.uniform(question.answers))]
    found = []
    for k, (column, mechanism) in enumerate(zip(question.columns, mechanisms, strict=True)):
        groups = None
        if question.form == "each":
            groups = {question.answers[k]: ["yes"]}
        elif question.form == "joint":
            sets = ["".join(bits) for bits in product("01", repeat=len(question.answers))]
            groups = {item: [s for s in sets if s[j] == "1"] for j, item in enumerate(question.answers)}
        found.append(Part(question.name, column, mechanism, groups, scores))
    return found
