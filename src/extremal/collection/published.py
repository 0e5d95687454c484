"""A survey as it is served, stored and estimated from: questions with their certified mechanisms.

It can be written as one JSON document and read back, so a store needs no other file.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np

from .._common.json import canonical, parse_json
from ..certification.certified import Certified
from ..certification.stored import decode_label, encode_label
from ..errors import SizeError, SurveyError
from ..lists.windows import Windows, pack
from ..model.labels import Labels
from ..model.leakage import epsilon_pml
from ..model.mechanism import Mechanism, identity
from ..model.prior import Prior

NO, YES = "no", "yes"  # for each item of a set
NOT_ASKED = "not asked"  # the answer to a private question after an answer to another that leaves it out
FORMAT = "extremal-survey"
VERSION = 1
PAGE_VERSION = 2  # of survey.json, which has these members of a survey and of a question, and more
PAGE_TERMS = (
    *("id", "title", "introduction", "contact", "collector", "respondents", "languages", "words", "texts"),
    *("digest", "invitation", "together", "pages", "opens", "closes", "hold"),
)
PAGE_WORDS = (
    *("name", "text", "help", "before", "kind", "answers", "words", "brackets", "required", "ask_if", "form"),
    "independent",
)
DIGEST_PURPOSE = b"extremal-survey-digest-1\0"

Kind = Literal["single", "several", "scale", "list", "clear"]


def _bytes(text: str) -> int:
    return len(text.encode())


@dataclass(frozen=True)
class Learn:
    """How a survey learns its priors: after how many people in all each stage ends but the last, and what is assumed.

    `forged` is the largest share of the reports that may be made up, `drift` how far shares of later people may be from
    those who reported, in l1 distance, and `delta` the probability with which any set may miss the shares it was
    learned from, over all questions and redesigns together.
    """

    stages: tuple[int, ...]
    forged: float
    drift: float
    delta: float

    @property
    def assumption(self) -> str:
        """On what the limit of a later stage relies, for the people who are asked in it."""
        moved = (
            f"have changed since by at most {100 * self.drift:.4g} percentage points in all"
            if self.drift
            else "are the same now"
        )
        made_up = (
            f"at most {100 * self.forged:.4g}% of those reports were"
            if self.forged
            else "none of those reports was"
        )
        return (
            "The limit was worked out from reports of earlier people. It holds, except with a probability of "
            f"{100 * self.delta:.4g}%, if the shares of all answers {moved}, and if {made_up} made up."
        )

    def people(self, number: int) -> int | None:
        """How many people are asked in a stage, from 1; None in the last one, which ends with the survey."""
        ends = (0, *self.stages)
        return ends[number] - ends[number - 1] if number < len(ends) else None


@dataclass(frozen=True, eq=False, kw_only=True)
class SurveyTerms:
    """What stands on the page of a survey besides its questions, and what the collection is to reach."""

    id: str | None  # one person gives one report under it
    title: str
    introduction: str
    contact: str | None
    invitation: bool
    post: str | None
    width: float | None
    people: int | None
    confidence: float
    intervals: str
    learn: Learn | None
    collector: str | None = None  # who collects the reports
    respondents: str | None = None  # address of a page for those who answer
    languages: tuple[str, ...] = ("en",)  # the texts above are in the first one
    words: Mapping[str, Any] = field(default_factory=dict)  # the same in each language, if there are several
    texts: Mapping[str, Any] = field(default_factory=dict)  # the page's sentences in other languages
    pages: str = "section"  # what stands on one page: a section, or a question
    sections: tuple[Mapping[str, Any], ...] = ()  # each with the numbers of its questions
    opens: str | None = None
    closes: str | None = None
    most_people: int | None = None
    hold: int = 0  # seconds up to which a report waits, at random, before it is sent


@dataclass(frozen=True, eq=False)
class Wording:
    """What a question asks. `independent`: the prior of a set of items was given item by item.

    `between` has the ranges of shares that are sure where the prior is learned from reports; None where it is not.
    """

    name: str
    text: str
    kind: Kind
    answers: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    help: str | None = None
    required: bool = True
    purpose: str = "shares"
    independent: bool = False
    between: dict[str, tuple[float, float]] | None = None
    before: str | None = None  # a text above the question
    words: Mapping[str, Any] = field(default_factory=dict)  # text, help, before and answers in each language
    brackets: tuple[float, ...] = ()  # edges between answers that are brackets of numbers
    ask_if: Mapping[str, Any] | None = None  # an earlier question, and the answers after which this is asked
    also: tuple[tuple[str, ...], ...] = ()  # other spellings of each answer of a list
    groups: Mapping[str, list[str]] = field(default_factory=dict)  # answers of a list, for tables
    hides: bool = False  # its report may also mean "not asked": a private answer decides that
    optional: bool = False  # left out after an answer that is sent as it is

    @property
    def private(self) -> bool:
        """Whether a report is sent instead of the answer."""
        return self.kind != "clear"

    def wording(self) -> dict[str, Any]:
        """These words, without what a kind of question adds."""
        return {field.name: getattr(self, field.name) for field in fields(Wording)}


@dataclass(frozen=True, eq=False)
class Part:
    """One column of reports, and what is estimated from it."""

    column: str
    mechanism: Certified | Mechanism | Windows
    groups: Mapping[str, list[str]] | None = None  # items of a set; None for the shares of all answers
    scores: dict[str, float] | None = None
    hides: bool = False  # shares are of those asked

    @property
    def inputs(self) -> Labels:
        """The answers that reports of this column are about."""
        m = self.mechanism
        return tuple(m.labels) if isinstance(m, Windows) else m.inputs


@dataclass(frozen=True, eq=False)
class Asked(Wording):
    """A question with what reports are drawn from: no mechanism in the clear, one for each item with form "each"."""

    form: str | None = None  # "joint" or "each", with several answers
    mechanisms: tuple[Certified, ...] = ()
    subsets: Prior | None = None  # with form "each", whose mechanisms know only how common each item is
    windows: Windows | None = None  # of a list, in place of mechanisms

    @property
    def drawn_from(self) -> tuple[Certified | Windows, ...]:
        """All that reports are drawn from."""
        return self.mechanisms if self.windows is None else (self.windows,)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The columns: one, or one for each item where items are drawn one by one."""
        if self.form == "each":
            pairs = zip(self.answers, self.mechanisms, strict=True)
            return tuple(Part(f"{self.name}: {item}", m, {item: [YES]}) for item, m in pairs)
        if self.windows is not None:
            return (Part(self.name, self.windows, self.groups),)
        scores = None if self.scores is None else dict(zip(self.answers, self.scores, strict=True))
        groups = members(self.answers) if self.form == "joint" else None
        mechanism = self.mechanisms[0] if self.mechanisms else identity(Prior.uniform(self.answers))
        return (Part(self.name, mechanism, groups, scores, self.hides),)

    def cells(self, value: Any) -> list[Any]:
        """What one person sent for this question, column by column."""
        if self.form != "each":
            return [value]
        return [None] * len(self.parts) if value is None else list(value)

    @cached_property
    def level(self) -> float:
        """What the report leaks about the answer: as proved, for every prior of a set if there is one.

        If the prior is learned, what it may leak at any stage.
        """
        if self.between is not None:
            return self.mechanisms[0].epsilon
        if self.subsets is None or self.independent:  # leakages of independent items add up
            return math.fsum(m.realised_epsilon for m in self.drawn_from)
        return set_leakage(self.subsets, self.mechanisms)

    @cached_property
    def reports(self) -> tuple[frozenset[str], ...]:
        """For each column the JSON texts that can stand in it; those of a list are too many."""
        may = self.optional or (self.kind == "clear" and not self.required)
        left_out = {"null"} if may else set()
        return tuple(
            frozenset({canonical(encode_label(y)) for y in part.mechanism.outputs} | left_out)
            for part in self.parts
            if not isinstance(part.mechanism, Windows)
        )

    @property
    def longest(self) -> int:
        """Bytes of the longest report, up to a few more."""
        if self.windows is not None:
            return _bytes(str(self.windows.reports))
        return sum(max(map(_bytes, known)) + 1 for known in self.reports)  # and a comma

    @property
    def files(self) -> dict[str, Certified | Windows]:
        """What reports are drawn from by the names of the files, without their folder and ending."""
        if self.form == "each":
            return {f"{self.name}.{k}": m for k, m in enumerate(self.mechanisms, start=1)}
        return dict(zip([self.name], self.drawn_from, strict=False))

    def accepts(self, value: Any) -> bool:
        """Whether a value from outside can be a report to this question."""
        if value is None and self.optional:
            return True
        if self.form == "each" and not (isinstance(value, list) and len(value) == len(self.parts)):
            return False
        if self.windows is not None:
            return type(value) is int and 0 <= value < self.windows.reports
        pairs = zip(self.cells(value), self.reports, strict=True)
        return all(canonical(cell) in known for cell, known in pairs)


@dataclass(frozen=True, eq=False, kw_only=True)
class Published(SurveyTerms):
    """What people are asked, and on what terms.

    `together` says what all their reports leak: epsilon, and the conditions under which it holds. `field_code` is the
    digest of the code that switches field mode on.
    """

    together: Any
    questions: tuple[Asked, ...]
    field_code: str | None = None

    @cached_property
    def digest(self) -> str:
        """Names questions, answers, mechanisms and conditions: reports to one digest can be counted together."""
        covered: list[Any] = [
            [q.name, q.text, q.kind, q.answers, q.scores or (), q.form, [m.digest for m in q.drawn_from]]
            for q in self.questions
        ]
        rules = [[s["questions"], s["ask_if"]] for s in self.sections if s["ask_if"]]
        rules += [[q.name, q.ask_if] for q in self.questions if q.ask_if]
        if rules:  # who is asked
            covered.append(rules)
        return hashlib.sha256(DIGEST_PURPOSE + canonical(covered).encode()).hexdigest()

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The columns of all questions."""
        return tuple(part for question in self.questions for part in question.parts)

    def cells(self, content: str) -> list[Any]:
        """What one person sent, from the text that is stored: one value in each column."""
        values = zip(self.questions, parse_json(content), strict=True)
        return [cell for question, value in values for cell in question.cells(value)]

    def counted(self, tallies: Mapping[str, int]) -> dict[str, Counter[str]]:
        """For each column how often each label came, by its repr, from how often each content was sent."""
        found: dict[str, Counter[str]] = {part.column: Counter() for part in self.parts}
        for content, times in tallies.items():
            for column, cell in zip(found, self.cells(content), strict=True):
                found[column][repr(None if cell is None else decode_label(cell))] += times
        return found

    @property
    def learned(self) -> tuple[Asked, ...]:
        """The questions whose priors are learned."""
        return tuple(q for q in self.questions if q.between is not None)

    @property
    def level(self) -> float:
        """The confidence of one set of priors, so that all of them hold the shares but for delta."""
        return (
            1.0 if self.learn is None else 1 - self.learn.delta / (len(self.learned) * len(self.learn.stages))
        )

    @property
    def largest_body(self) -> int:
        """Bytes of the longest submission that a respondent's device can make, up to a few more."""
        empty = {"survey": self.digest, "id": "0" * 32, "reports": {q.name: [] for q in self.questions}}
        frame = canonical({**empty, "token": "0" * 32} if self.invitation else empty)
        return _bytes(frame) + sum(q.longest for q in self.questions)

    def page(self, post: str | None) -> dict[str, Any]:
        """survey.json: what the respondent's page needs; reports are posted to `post`."""
        terms = {name: getattr(self, name) for name in PAGE_TERMS}
        return {
            "format": FORMAT,
            "version": PAGE_VERSION,
            **terms,
            "field": self.field_code,
            "post": post,
            "learns": self.learn is not None,
            "sections": list(self.sections) or [{"questions": list(range(len(self.questions)))}],
            "questions": [self._page_question(q) for q in self.questions],
        }

    def _page_question(self, question: Asked) -> dict[str, Any]:
        """A question for the respondent's page; files of mechanisms that change have their digests in the address."""
        words = {name: getattr(question, name) for name in PAGE_WORDS}
        if question.windows is not None:  # its answers stand in its own file
            words |= {"answers": [], "also": pack(list(question.also)) if any(question.also) else None}
            words["script"] = "extremal-list.js"
        return {
            **words,
            "mechanisms": [
                f"mechanisms/{name}.json" + ("" if self.learn is None else f"?{m.digest}")
                for name, m in question.files.items()
            ],
            "digests": [m.digest for m in question.drawn_from],
            "level": question.level if question.form == "each" else None,
        }

    def over(self, now: datetime) -> bool:
        """Whether the closing date has passed."""
        return self.closes is not None and now >= datetime.fromisoformat(self.closes)

    def early(self, now: datetime) -> bool:
        """Whether the opening date has not come."""
        return self.opens is not None and now < datetime.fromisoformat(self.opens)

    def mechanism_files(self) -> dict[str, str]:
        """The text of each mechanism file by its name, without folder and ending."""
        return {name: m.to_json() for q in self.questions for name, m in q.files.items()}

    def with_mechanisms(self, found: Mapping[str, Certified]) -> Published:
        """The same survey with other mechanisms, by question, which rely on what earlier reports told."""
        if self.learn is None or all(
            q.mechanisms == (found.get(q.name, q.mechanisms[0]),) for q in self.learned
        ):
            return self
        questions = tuple(
            replace(q, mechanisms=(found[q.name],)) if q.name in found else q for q in self.questions
        )
        learned = {key: 100 * getattr(self.learn, key) for key in ("delta", "drift", "forged")}
        return replace(self, together={**self.together, "learned": learned}, questions=questions)

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
        questions = [
            {
                **q.wording(),
                "form": q.form,
                "mechanisms": [m.to_json() for m in q.drawn_from],
                "subsets": None if q.subsets is None else q.subsets.probabilities.tolist(),
            }
            for q in self.questions
        ]
        terms = {field.name: getattr(self, field.name) for field in fields(self)}
        terms["learn"] = None if self.learn is None else asdict(self.learn)
        return canonical({"format": FORMAT + "-store", "version": VERSION, **terms, "questions": questions})

    @classmethod
    def from_json(cls, text: str) -> Published:
        """What `to_json` wrote; mechanisms are proved anew."""
        try:
            usual = {"id": None, "intervals": "each", "learn": None}  # stores of old have none
            document = {**usual, **parse_json(text)}
            if document.pop("format") != FORMAT + "-store" or document.pop("version") != VERSION:
                raise ValueError("another format or version")
            questions = tuple(_asked(question) for question in document.pop("questions"))
            learn = document.pop("learn")
            if learn is not None:
                learn = Learn(**{**learn, "stages": tuple(learn["stages"])})
            return cls(**document, learn=learn, questions=questions)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SurveyError(
                "the survey in the store cannot be read",
                given=str(error)[:120],
                remedy="is it a store of extremal?",
            ) from None


def mechanisms_of(
    surveys: Mapping[str, Published], column: str
) -> list[tuple[Certified | Mechanism | Windows, list[str]]]:
    """The mechanisms that drew a column, and the numbers under which a survey has each."""
    found: dict[str, tuple[Certified | Mechanism | Windows, list[str]]] = {}
    for number, survey in surveys.items():
        mechanism = next(part.mechanism for part in survey.parts if part.column == column)
        name = "" if isinstance(mechanism, Mechanism) else mechanism.digest
        found.setdefault(name, (mechanism, []))[1].append(number)
    return list(found.values())


def _asked(question: dict[str, Any]) -> Asked:
    """A question as JSON has it."""
    scores, subsets, between = question["scores"], question["subsets"], question.get("between")
    texts, one = question["mechanisms"], question["kind"] == "list"
    values = {
        "answers": tuple(question["answers"]),
        "scores": None if scores is None else tuple(scores),
        "mechanisms": () if one else tuple(map(Certified.from_json, texts)),
        "windows": Windows.from_json(texts[0]) if one else None,
        "also": tuple(map(tuple, question.get("also", ()))),
        "between": None if between is None else {label: tuple(ends) for label, ends in between.items()},
        "subsets": None if subsets is None else Prior(subsets, subsets_of(len(question["answers"]))),
    }
    return Asked(**{**question, **values})


# Sets of items, as texts of 0 and 1: their priors, and what one report for each item leaks about the set


def subsets_of(items: int) -> tuple[str, ...]:
    """All subsets as texts of 0 and 1."""
    return tuple("".join(bits) for bits in product("01", repeat=items))


def members(items: tuple[str, ...]) -> dict[str, list[str]]:
    """For each item the subsets that it is in."""
    return {item: [s for s in subsets_of(len(items)) if s[k] == "1"] for k, item in enumerate(items)}


def item_prior(shares: list[float]) -> Prior:
    """The prior of subsets of independent items."""
    masses = np.ones(1)
    for share in shares:
        masses = np.outer(masses, [1 - share, share]).ravel()
    return Prior(masses, subsets_of(len(shares)))


def item_priors(prior: Prior, items: int) -> list[Prior]:
    """For each item the prior of "no" and "yes", from that of the subsets."""
    bits = np.array([[c == "1" for c in str(label)] for label in prior.labels])
    shares = prior.probabilities @ bits
    return [Prior([1 - share, share], [NO, YES]) for share in shares[:items].tolist()]


def set_leakage(prior: Prior, mechanisms: tuple[Certified, ...]) -> float:
    """What one report for each item leak together about the set, exactly."""
    return epsilon_pml(prior, set_mechanism(prior, mechanisms))


def set_mechanism(prior: Prior, mechanisms: tuple[Certified, ...]) -> Mechanism:
    """The mechanism from subsets to the reports of all items."""
    matrix: Any = np.ones((prior.size, 1))
    outputs: list[tuple[Any, ...]] = [()]
    for k, certified in enumerate(mechanisms):
        rows = [certified.inputs.index(YES if str(label)[k] == "1" else NO) for label in prior.labels]
        if matrix.shape[1] * len(certified.outputs) * prior.size > 1 << 24:
            raise SizeError(
                "too many combinations of reports", given=len(mechanisms), remedy="ask fewer items"
            )
        part = certified.mechanism.matrix[rows]
        matrix = np.einsum("ij,ik->ijk", matrix, part).reshape(prior.size, -1)
        outputs = [(*done, y) for done in outputs for y in certified.outputs]
    return Mechanism(matrix, prior.labels, outputs)
