"""A survey as it is served, stored and estimated from: questions with their certified mechanisms.

It can be written as one JSON document and read back, so a store needs no other file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._common.json import parse_json
from ..certification.certified import Certified
from ..certification.stored import encode_label
from ..errors import SurveyError
from ..estimation.promise import KINDS
from ..model.prior import Prior
from .priors import subsets_of
from .sets import set_leakage
from .survey import TERMS, Kind, Terms

FORMAT = "extremal-survey"
VERSION = 1
DIGEST_PURPOSE = b"extremal-survey-digest-1\0"
LONGEST_ID = 32  # hexadecimal digits


def canonical(value: Any) -> str:
    """One text for each JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _bytes(text: str) -> int:
    return len(text.encode())


@dataclass(frozen=True, eq=False)
class Asked:
    """One question with what reports are drawn from: no mechanism in the clear, one for each item with form "each"."""

    name: str
    text: str
    kind: Kind
    answers: tuple[str, ...]
    scores: tuple[float, ...] | None
    help: str | None
    required: bool
    purpose: str
    form: str | None  # "joint" or "each", with several answers
    mechanisms: tuple[Certified, ...]
    subsets: Prior | None  # of the items, with form "each": the mechanisms know only how common each item is
    independent: bool  # that prior was given item by item

    @cached_property
    def level(self) -> float:
        """What the report leaks about the answer: as proved, for every prior of a set if there is one."""
        if self.subsets is None or self.independent:  # leakages of independent items add up
            return math.fsum(m.realised_epsilon for m in self.mechanisms)
        return set_leakage(self.subsets, self.mechanisms)

    @cached_property
    def reports(self) -> tuple[frozenset[str], ...]:
        """For each part of a report the JSON texts that it can be."""
        if self.kind == "clear":
            return (frozenset(canonical(x) for x in (*self.answers, *([] if self.required else [None]))),)
        return tuple(frozenset(canonical(encode_label(y)) for y in m.outputs) for m in self.mechanisms)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the mechanism files, without their folder."""
        if self.form == "each":
            return tuple(f"{self.name}.{k}" for k in range(1, len(self.mechanisms) + 1))
        return (self.name,) if self.mechanisms else ()

    def accepts(self, value: Any) -> bool:
        """Whether a value from outside can be a report to this question."""
        if self.form != "each":
            return canonical(value) in self.reports[0]
        return (
            isinstance(value, list)
            and len(value) == len(self.reports)
            and all(canonical(v) in known for v, known in zip(value, self.reports, strict=True))
        )


@dataclass(frozen=True, eq=False)
class Published(Terms):
    """What people are asked, and on what terms; `together` says what all their reports leak."""

    together: str
    questions: tuple[Asked, ...]

    @cached_property
    def digest(self) -> str:
        """Names the questions, their answers, scores and mechanisms: reports to one digest can be counted together."""
        covered = [
            [
                q.name,
                q.text,
                q.kind,
                list(q.answers),
                list(q.scores or ()),
                q.form,
                [m.digest for m in q.mechanisms],
            ]
            for q in self.questions
        ]
        return hashlib.sha256(DIGEST_PURPOSE + canonical(covered).encode()).hexdigest()

    def question(self, name: str) -> Asked:
        """The question of that name."""
        for question in self.questions:
            if question.name == name:
                return question
        known = ", ".join(q.name for q in self.questions)
        raise SurveyError(
            "must be one of the survey's questions", parameter="question", given=repr(name), remedy=known
        )

    @property
    def largest_body(self) -> int:
        """Bytes of the longest submission that a respondent's device can make, up to a few more."""
        empty = {"survey": self.digest, "id": "0" * 32, "reports": {q.name: [] for q in self.questions}}
        frame = canonical({**empty, "token": "0" * 32} if self.invitation else empty)
        parts = [max(map(_bytes, part)) + 1 for q in self.questions for part in q.reports]  # and a comma
        return _bytes(frame) + sum(parts)

    def page(self, post: str | None) -> dict[str, Any]:
        """survey.json: what the respondent's page needs; reports are posted to `post`."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "id": self.id,
            "title": self.title,
            "introduction": self.introduction,
            "contact": self.contact,
            "digest": self.digest,
            "invitation": self.invitation,
            "post": post,
            "together": self.together,
            "questions": [
                {
                    "name": q.name,
                    "text": q.text,
                    "help": q.help,
                    "kind": q.kind,
                    "answers": list(q.answers),
                    "required": q.required,
                    "mechanisms": [f"mechanisms/{name}.json" for name in q.files],
                    "digests": [m.digest for m in q.mechanisms],
                    "form": q.form,
                    "independent": q.independent,
                    "level": q.level if q.form == "each" else None,
                }
                for q in self.questions
            ],
        }

    def mechanism_files(self) -> dict[str, str]:
        """The text of each mechanism file by its name, without folder and ending."""
        pairs = ((name, m) for q in self.questions for name, m in zip(q.files, q.mechanisms, strict=True))
        return {name: m.to_json() for name, m in pairs}

    def content(self, reports: Any) -> str:
        """The reports of one person as the text that is stored; SurveyError if they do not fit the questions."""
        names = [q.name for q in self.questions]
        if not isinstance(reports, Mapping) or list(reports) != names:
            raise SurveyError("the reports do not fit the questions of this survey")
        for question in self.questions:
            if not question.accepts(reports[question.name]):
                raise SurveyError(f"the report on {question.name!r} is not one that this survey knows")
        return canonical([reports[name] for name in names])

    def to_json(self) -> str:
        """The whole as one document, mechanism files included."""
        parts = (
            "name",
            "text",
            "kind",
            "answers",
            "scores",
            "help",
            "required",
            "purpose",
            "form",
            "independent",
        )
        return canonical(
            {
                "format": FORMAT + "-store",
                "version": VERSION,
                **{name: getattr(self, name) for name in (*TERMS, "together")},
                "questions": [
                    {
                        **{name: getattr(q, name) for name in parts},
                        "mechanisms": [m.to_json() for m in q.mechanisms],
                        "subsets": None if q.subsets is None else q.subsets.probabilities.tolist(),
                    }
                    for q in self.questions
                ],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Published:
        """What `to_json` wrote; mechanisms are proved anew."""
        try:
            document = {"id": None, **parse_json(text)}  # stores of old have none
            if document.pop("format") != FORMAT + "-store" or document.pop("version") != VERSION:
                raise ValueError("another format or version")
            questions = tuple(
                Asked(
                    **{
                        **q,
                        "answers": tuple(q["answers"]),
                        "scores": None if q["scores"] is None else tuple(q["scores"]),
                        "mechanisms": tuple(Certified.from_json(m) for m in q["mechanisms"]),
                        "subsets": None
                        if q["subsets"] is None
                        else Prior(q["subsets"], subsets_of(len(q["answers"]))),
                    }
                )
                for q in document["questions"]
            )
            return cls(**{"intervals": KINDS[0], **document, "questions": questions})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SurveyError(
                "the survey in the store cannot be read",
                given=str(error)[:120],
                remedy="is it a store of extremal?",
            ) from None
