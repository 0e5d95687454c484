"""A survey with simulated people, to look at before anybody is asked; and copies of stores.

What is simulated carries another id and other texts than the survey, so another digest: no store of the survey takes
reports to it, and no phone that answered it keeps a report for the survey.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..certification.certified import Certified
from ..certification.stored import encode_label
from ..errors import StoreError, SurveyError
from ..model.prior import Prior
from .database import Sqlite
from .learning import go_on
from .published import Asked, Published
from .store import FIRST, Store, Submission, open_store
from .survey import new_id

TEST = "TEST: "


def rehearsal(published: Published) -> Published:
    """The survey marked as a test, which its own store does not take for itself; open to everybody at any time."""
    questions = tuple(
        replace(q, text=TEST + q.text, words=_marked(q.words, "text")) for q in published.questions
    )
    marked = replace(published, title=TEST + published.title, words=_marked(published.words, "title"))
    opened = replace(marked, invitation=False, post=None, opens=None, closes=None, most_people=None, hold=0)
    return replace(opened, id=new_id(), questions=questions)


def _marked(words: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Texts in all languages, one of them marked."""
    return {lang: {**said, key: TEST + said[key]} if key in said else said for lang, said in words.items()}


def fill(store: Store, people: int, generator: np.random.Generator) -> None:
    """Put reports of simulated people into the store of a rehearsal; where it learns its priors, stage by stage."""
    while people:
        lacking = store.lacking()
        count = people if lacking is None else min(people, lacking)
        mechanism = store.stages[-1].mechanism if store.stages else FIRST
        store.add(simulated(store.published, store.current, mechanism, count, generator))
        people -= count
        if lacking is not None and not go_on(store):
            return


def simulated(
    expected: Published, asked: Published, mechanism: str, people: int, generator: np.random.Generator
) -> list[Submission]:
    """Reports of people whose answers are as common as expected, question by question, by the mechanisms asked with."""
    columns: dict[str, list[Any]] = {}
    clear = {question.name for question in asked.questions if question.kind == "clear"}
    for k, (question, now) in enumerate(zip(expected.questions, asked.questions, strict=True)):
        inside = next((section["ask_if"] for section in asked.sections if k in section["questions"]), None)
        sent = _sent(question, now, people, generator)
        for rule in (inside, question.ask_if):
            if rule and question.optional:  # a private answer decides nothing that can be seen
                earlier = columns[rule["question"]]
                met = [
                    x is not None and (rule["question"] not in clear or x in rule["answers"]) for x in earlier
                ]
                sent = [value if holds else None for value, holds in zip(sent, met, strict=True)]
        columns[question.name] = sent
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return [Submission(secrets.token_hex(16), asked.content(row), None, mechanism) for row in rows]


def _sent(question: Asked, now: Asked, people: int, generator: np.random.Generator) -> list[Any]:
    """What these people send for a question, as it stands in a submission."""
    if question.windows is not None:
        labels, known = question.answers, question.windows.prior
        answers = _answers(known or Prior.uniform(labels), people, generator)
        return list(question.windows.privatize(answers).tolist())
    if not question.mechanisms:
        return [question.answers[k] for k in generator.integers(len(question.answers), size=people)]
    if question.form != "each":
        return _reports(now.mechanisms[0], _answers(question.mechanisms[0].prior, people, generator))
    if question.subsets is None:
        raise SurveyError(f"{question.name} must say how common its items are")
    subsets = _answers(question.subsets, people, generator)
    items = [
        _reports(certified, ["yes" if subset[k] == "1" else "no" for subset in subsets])
        for k, certified in enumerate(question.mechanisms)
    ]
    return [list(row) for row in zip(*items, strict=True)]


def _answers(prior: Any, people: int, generator: np.random.Generator) -> list[Any]:
    masses = prior.probabilities / prior.probabilities.sum()
    return [prior.labels[k] for k in generator.choice(len(masses), people, p=masses)]


def _reports(certified: Certified, answers: list[Any]) -> list[Any]:
    return [encode_label(report) for report in certified.privatize(answers, allow_true_answers=True)]


def copied(place: str | os.PathLike[str]) -> tuple[bytes, int]:
    """The content of a store in a file at one moment, whatever is written meanwhile, and how many reports it holds."""
    store = open_store(place)
    with contextlib.closing(store.database):
        if not isinstance(store.database, Sqlite):
            raise SurveyError(
                "a store on PostgreSQL is copied by its own program",
                given=store.place,
                remedy="run, also beside servers: (umask 077; pg_dump --format=custom --file=copy.dump DATABASE)",
            )
        with store.database.session() as session, contextlib.closing(sqlite3.connect(":memory:")) as copy:
            session.raw.backup(copy)
            if copy.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
                raise StoreError("the store must be whole to be copied", given=store.place)
            count = copy.execute("SELECT (SELECT count(*) FROM reports) + (SELECT count(*) FROM waiting)")
            return copy.serialize(), int(count.fetchone()[0])
