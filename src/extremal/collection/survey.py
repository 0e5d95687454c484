"""survey.toml: what a researcher asks, read strictly.

Every error names the file, the line and what to write instead. `docs/survey.md` lists the keys.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._files import file_name, open_file, reason
from ..errors import ExtremalError, FileError, SurveyError
from ..model.prior import Prior
from ..model.reading import csv_rows, number, read_counts, read_table, table_of
from .places import Places

Kind = Literal["single", "several", "scale", "clear"]
KINDS = ("single", "several", "scale", "clear")
PURPOSES = ("shares", "mean")
LARGEST = 1 << 20  # bytes of a survey
MOST_QUESTIONS = 100
MOST_ANSWERS = 1000
MOST_ITEMS = 12  # of a question with several answers: their subsets are listed
LONGEST_LABEL = 200  # characters
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
PRIOR_EXAMPLE = (
    'write prior = [0.5, 0.3, 0.2], prior = ["50%", "30%", "20%"], prior = {yes = 0.1, no = 0.9}, '
    'prior = "uniform", or counts = "census.csv"'
)


@dataclass(frozen=True, eq=False)
class Question:
    """One question. Private ones have an epsilon and a prior, or a mechanism file.

    `prior` is that of the answers; with several answers that of their subsets, as texts of 0 and 1 in the order of the
    items. `independent`: it was given item by item.
    """

    name: str
    text: str
    kind: Kind
    answers: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    help: str | None = None
    required: bool = True
    purpose: str = "shares"
    epsilon: float | None = None
    prior: Prior | None = None
    independent: bool = False
    mechanism: Path | None = None
    place: str = ""

    @property
    def private(self) -> bool:
        """Whether a report is sent instead of the answer."""
        return self.kind != "clear"


@dataclass(frozen=True, eq=False)
class Joint:
    """How frequent combinations of answers to several questions are."""

    questions: tuple[str, ...]
    prior: Prior


@dataclass(frozen=True, eq=False)
class Survey:
    """A survey as its file says; mechanisms are designed by `designs`."""

    path: Path
    title: str
    introduction: str
    contact: str | None
    invitation: bool
    post: str | None
    width: float | None
    people: int | None
    confidence: float
    questions: tuple[Question, ...]
    joint: Joint | None


def read_survey(path: str | os.PathLike[str]) -> Survey:
    """The survey in a file."""
    name = file_name(path, "survey", SurveyError)
    return parse_survey(read_text(name), Path(name))


def read_text(name: str) -> str:
    """The text of a file that is not too large."""
    try:
        with open_file(name) as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise FileError(
            "the file must be one that can be read", given=f"{name}: {reason(error)}", remedy="check the path"
        ) from None
    if len(raw) > LARGEST:
        raise FileError(f"the file must have at most {LARGEST} bytes", given=f"more: {name}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError("the file must be UTF-8 text", given=f"other bytes: {name}") from None


def parse_survey(text: str, path: Path) -> Survey:
    """The survey in a text; other files that it names lie beside `path`."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        said = str(error) or type(error).__name__
        where = re.search(r"line (\d+)", said)
        at = f"{path.name}, line {where[1]}" if where else path.name
        raise SurveyError(
            f"{at}: this is not TOML: {re.sub(r' ?.at .*?line.*', '', said)}",
            remedy='a key and its value stand on one line, like title = "Visits"; a key stands once',
        ) from None
    table = _Table(document, Places.of(path.name, text), folder=path.parent)
    table.only("title introduction contact invitation post width people confidence question joint".split())
    questions = _questions(table)
    return Survey(
        path,
        title=table.text("title", required=True) or "",
        introduction=table.text("introduction") or "",
        contact=table.text("contact"),
        invitation=table.flag("invitation", False),
        post=_address(table),
        width=table.share("width"),
        people=table.whole("people"),
        confidence=table.share("confidence") or 0.95,
        questions=questions,
        joint=_joint(table, questions),
    )


@dataclass(frozen=True)
class _Table:
    """A table of the document, with readers that name the line of what is wrong."""

    values: Mapping[str, Any]
    places: Places
    folder: Path
    table: str = ""
    number: int = 0

    def at(self, key: str = "") -> str:
        return self.places.name(self.table, self.number, key)

    def wrong(self, key: str, problem: str, given: object = None, remedy: str | None = None) -> SurveyError:
        shown = None if given is None else (given if isinstance(given, str) else repr(given))[:80]
        return SurveyError(f"{self.at(key)}: {key or self.table} {problem}", given=shown, remedy=remedy)

    def only(self, known: list[str]) -> None:
        import difflib

        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                raise SurveyError(f"{self.at(key)}: unknown key {key!r:.60}", remedy=hint)

    def text(self, key: str, required: bool = False) -> str | None:
        value = self.values.get(key)
        if value is None and not required:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "must be text", "nothing" if value is None else value, f'e.g. {key} = "…"')
        return value.strip()

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "must be true or false", value)
        return value

    def number_of(self, key: str, holds: Callable[[float], bool], what: str) -> float | None:
        value = self.values.get(key)
        if isinstance(value, str) and value.strip().endswith("%"):
            value = number(value)
        if value is None and key not in self.values:
            return None
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not math.isfinite(value) or not holds(value):
            raise self.wrong(key, f"must be {what}", self.values[key])
        return float(value)

    def share(self, key: str) -> float | None:
        return self.number_of(key, lambda x: 0 < x < 1, "a number between 0 and 1, e.g. 0.1 or \"10%\"")

    def whole(self, key: str) -> int | None:
        found = self.number_of(key, lambda x: x >= 1 and x == int(x), "a whole number from 1")
        return None if found is None else int(found)


def _questions(table: _Table) -> tuple[Question, ...]:
    given = table.values.get("question")
    if not isinstance(given, list) or not given or not all(isinstance(q, dict) for q in given):
        raise table.wrong(
            "question", "must be given at least once", remedy="begin each question with a line [[question]]"
        )
    if len(given) > MOST_QUESTIONS:
        raise table.wrong("question", f"must be given at most {MOST_QUESTIONS} times", len(given))
    found: dict[str, Question] = {}
    for k, values in enumerate(given):
        part = _Table(values, table.places, table.folder, "question", k)
        question = _question(part)
        if question.name.lower() in (name.lower() for name in found):
            raise part.wrong("name", "must differ from those of the other questions", question.name)
        found[question.name] = question
    return tuple(found.values())


def _question(table: _Table) -> Question:
    table.only(
        "name text help kind answers required epsilon prior counts pseudocount mechanism purpose".split()
    )
    name, text = table.text("name", required=True) or "", table.text("text", required=True) or ""
    if not NAME.fullmatch(name):
        raise table.wrong("name", "must be a letter, then letters, digits, - and _, at most 40", name)
    kind: Any = table.values.get("kind", "scale" if isinstance(table.values.get("answers"), dict) else "single")
    if kind not in KINDS:
        raise table.wrong("kind", f"must be one of {', '.join(KINDS)}", kind)
    answers, scores = _answers(table, kind)
    if kind == "clear":
        extra = [k for k in ("epsilon", "prior", "counts", "mechanism", "purpose") if k in table.values]
        if extra:
            raise table.wrong(
                extra[0], "must not be given for a question in the clear", remedy='or leave out kind = "clear"'
            )
        required = table.flag("required", False)
        return Question(name, text, kind, answers, help=table.text("help"), required=required, place=table.at())
    if "required" in table.values:
        raise table.wrong(
            "required",
            "must not be given for a private question",
            remedy='all are required, because skipping tells something; add an answer such as "I prefer not to say"',
        )
    purpose = table.values.get("purpose", "mean" if kind == "scale" else "shares")
    if purpose not in PURPOSES or (purpose == "mean" and scores is None):
        raise table.wrong("purpose", 'must be "shares", or "mean" for a scale', purpose)
    draft = Question(name, text, kind, answers, scores, table.text("help"), True, purpose, place=table.at())
    return _privacy(table, draft)


def _answers(table: _Table, kind: str) -> tuple[tuple[str, ...], tuple[float, ...] | None]:
    given = table.values.get("answers")
    scores = None
    if kind == "scale":
        numbers = list(given.values()) if isinstance(given, dict) else []
        if len(numbers) < 2 or not all(_is_number(x) for x in numbers) or len(set(numbers)) < 2:
            raise table.wrong(
                "answers",
                "of a scale must be labels with scores that are not all equal",
                given,
                'e.g. answers = {"not at all" = 0, "a little" = 1, "a lot" = 2}',
            )
        order = sorted(given, key=lambda label: float(given[label]))  # type: ignore[arg-type,index]
        labels, scores = order, tuple(float(given[label]) for label in order)  # type: ignore[index]
    else:
        labels = given if isinstance(given, list) else []
    most = MOST_ITEMS if kind == "several" else MOST_ANSWERS
    good = all(isinstance(x, str) and x.strip() and len(x) <= LONGEST_LABEL for x in labels)
    if not 2 <= len(labels) <= most or not good:
        raise table.wrong(
            "answers", f"must be a list of 2 to {most} texts", given, 'e.g. answers = ["never", "once", "often"]'
        )
    labels = [" ".join(label.split()) for label in labels]
    for k, label in enumerate(labels):
        if label.casefold() in (other.casefold() for other in labels[:k]):
            raise table.wrong("answers", "must all be different", label, "remove one of them")
    return tuple(labels), scores


def _privacy(table: _Table, question: Question) -> Question:
    """The question with its privacy: an epsilon and a prior, or a mechanism file."""
    from dataclasses import replace

    given = [key for key in ("prior", "counts", "mechanism") if key in table.values]
    if len(given) != 1 or (given == ["mechanism"]) == ("epsilon" in table.values):
        raise table.wrong(
            given[1] if len(given) > 1 else given[0] if given else "",
            'needs epsilon with either prior or counts, or else mechanism = "file.json"',
            " and ".join(k for k in ("epsilon", *given) if k in table.values) or "none of them",
            f'for a question that is not sensitive write kind = "clear"; {PRIOR_EXAMPLE}' if not given else None,
        )
    if given == ["mechanism"]:
        return replace(question, mechanism=_beside(table, "mechanism"))
    epsilon = table.number_of("epsilon", lambda x: 0 < x <= 50, "a number above 0, in nats, e.g. 0.7")
    try:
        prior, independent = _prior(table, question, given[0])
    except SurveyError:
        raise
    except ExtremalError as error:
        what = f"{error.parameter or ''} {error.problem}".strip()
        raise SurveyError(
            f"{table.at(given[0])}: {given[0]} does not fit: {what}", given=error.given, remedy=PRIOR_EXAMPLE
        ) from None
    return replace(question, epsilon=epsilon, prior=prior, independent=independent)


def _prior(table: _Table, question: Question, key: str) -> tuple[Prior, bool]:
    """The prior of the answers, or of the subsets of items, and whether it was given item by item."""
    labels, numbers = _numbers(table, key)
    several = question.kind == "several"
    subsets = several and labels is not None and set(labels) <= set(subsets_of(len(question.answers)))
    expected = subsets_of(len(question.answers)) if subsets else question.answers
    if labels is None and numbers == "uniform":
        if several:
            return item_prior([0.5] * len(question.answers)), True
        return Prior.uniform(question.answers), False
    values = _in_order(table, key, labels, numbers, expected, key == "counts" or subsets)
    if several and not subsets:
        if key == "counts":
            raise table.wrong(
                key,
                "of a question with several answers must be counts of subsets",
                remedy=f"name each by 0 and 1 in the order of the items, like {'01' * 6:.{len(expected)}}",
            )
        if not all(0 < p < 1 for p in values):
            raise table.wrong(key, "must be shares between 0 and 1, one for each item", values)
        return item_prior(values), True
    extra = table.number_of("pseudocount", lambda x: x >= 0, "a number from 0") or 0.0
    if key == "counts":
        return Prior.from_counts(values, extra, expected), False
    return Prior(values, expected), False


def _numbers(table: _Table, key: str) -> tuple[list[str] | None, Any]:
    """Labels, if there are any, and numbers; percentages are texts."""
    given = table.values[key]
    if isinstance(given, str):
        if key == "counts":
            counts = read_counts(read_text(str(_beside(table, key))))
            return [str(label) for label in counts], list(counts.values())
        if given.strip() == "uniform":
            return None, "uniform"
        found = read_table(given)
    elif isinstance(given, list) and any(isinstance(x, str) for x in given):
        found = read_table("\n".join(map(str, given)))
    elif isinstance(given, dict) and any(isinstance(x, str) for x in given.values()):
        found = read_table("\n".join(f"{k}={x}" for k, x in given.items()))
    else:
        found = table_of(given)
    return None if found.labels is None else [str(x) for x in found.labels], found.numbers


def _in_order(
    table: _Table, key: str, labels: list[str] | None, numbers: Any, expected: tuple[str, ...], sparse: bool
) -> list[float]:
    """The numbers in the order of the answers."""
    if labels is None:
        if len(numbers) != len(expected):
            raise table.wrong(key, f"must be {len(expected)} numbers, one for each answer", f"{len(numbers)}")
        return [float(x) for x in numbers]
    if len(expected[0]) > 1 and set(expected) == set(subsets_of(len(expected[0]))):
        labels = [label.zfill(len(expected[0])) for label in labels]  # 0110 in a CSV file may have lost its zero
    by_label = dict(zip(labels, numbers, strict=True))
    unknown = [label for label in by_label if label not in expected]
    missing = [label for label in expected if label not in by_label]
    if unknown or (missing and not sparse):
        what = f"{unknown[0]!r}, which is no answer" if unknown else f"nothing for {missing[0]!r}"
        raise table.wrong(key, "must have the answers as labels", what, f"answers are {', '.join(expected[:8])}")
    return [float(by_label.get(label, 0.0)) for label in expected]


def _joint(table: _Table, questions: tuple[Question, ...]) -> Joint | None:
    given = table.values.get("joint")
    if given is None:
        return None
    if not isinstance(given, dict):
        raise table.wrong("joint", "must be a table", remedy='write [joint] and below it counts = "cross-table.csv"')
    part = _Table(given, table.places, table.folder, "joint")
    part.only(["counts", "pseudocount"])
    rows = csv_rows(read_text(str(_beside(part, "counts"))))
    head = [cell.strip() for cell in rows[0][1]] if rows else []
    known = {question.name: question for question in questions}
    names = head[:-1]
    if len(names) < 2 or len(set(names)) < len(names) or not set(names) <= set(known):
        raise part.wrong(
            "counts",
            "must name a CSV file with a column for each of 2 or more questions, and the counts last",
            ",".join(head),
            f"the header is like {','.join([*list(known)[:2], 'count'])}",
        )
    alphabets = [_alphabet(known[name]) for name in names]
    counts = dict.fromkeys(product(*alphabets), 0.0)
    for line, cells in rows[1:]:
        label = tuple(cell.strip() for cell in cells[:-1])
        value = number(cells[-1]) if cells else None
        if label not in counts or value is None:
            raise part.wrong("counts", f"has a row that does not fit, line {line}", ",".join(cells)[:60])
        counts[label] += value
    extra = part.number_of("pseudocount", lambda x: x >= 0, "a number from 0") or 0.0
    kept = {label: value + extra for label, value in counts.items() if value + extra > 0}
    return Joint(tuple(names), Prior.from_counts(kept))


def _alphabet(question: Question) -> tuple[str, ...]:
    return subsets_of(len(question.answers)) if question.kind == "several" else question.answers


def subsets_of(items: int) -> tuple[str, ...]:
    """All subsets as texts of 0 and 1."""
    return tuple("".join(bits) for bits in product("01", repeat=items))


def item_prior(shares: list[float]) -> Prior:
    """The prior of subsets of independent items."""
    masses = np.ones(1)
    for share in shares:
        masses = np.outer(masses, [1 - share, share]).ravel()
    return Prior(masses, subsets_of(len(shares)))


def _beside(table: _Table, key: str) -> Path:
    """The file that a key names, beside the survey."""
    name = table.text(key, required=True) or ""
    path = table.folder / name
    if not path.is_file():
        raise table.wrong(key, "must name a file beside the survey that can be read", f"{name}: there is none")
    return path


def _address(table: _Table) -> str | None:
    found = table.text("post")
    if found is not None and not re.fullmatch(r"https://\S+|http://(localhost|127\.0\.0\.1)(:\d+)?/\S*", found):
        raise table.wrong("post", "must be an address that begins with https://", found)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
