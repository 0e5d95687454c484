"""Texts of a survey in its languages, and who is asked what: read strictly, with errors that name what is missing.

A question may be asked after some answers to an earlier one. If that one is private, so is being asked: the device then
sends a report on "not asked". Whatever is left out openly must follow from answers that are sent as they are.

The page's own sentences are in catalogues: those of the package, and those that somebody translates. Sentences that the
page shares with `<extremal-question>` are in texts.js, its own in page.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .._common.json import parse_json
from ..certification.certified import load
from ..errors import OptionError, SurveyError
from ..model.prior import Prior
from .published import NOT_ASKED, Wording
from .tables import Section, is_number, read_text

STATIC = Path(__file__).parent / "static"
LANGUAGES = ("en", "de", "fr", "ar")
PLACES = re.compile(r"\{\w+\}")

Catalogue = dict[str, str]


@cache
def _files() -> tuple[dict[str, Catalogue], dict[str, Any]]:
    shared = (STATIC / "texts.js").read_text(encoding="utf-8").removeprefix("export default ")
    return json.loads(shared), json.loads((STATIC / "page.json").read_text(encoding="utf-8"))


def catalogue(lang: str) -> Catalogue:
    """The sentences of the page in a language of the package."""
    shared, own = _files()
    return {**{key: shared[lang][key] for key in own["shared"]}, **own[lang]}


def further(kind: str) -> list[str]:
    """The sentences that only surveys of a kind need: those in field mode, or with lists."""
    return list(_files()[1]["further"][kind])


def parse_catalogue(text: str, name: str) -> Catalogue:
    """A translated catalogue, if it has every sentence, with the same places for figures, and no other."""
    english = catalogue("en")
    try:
        found = parse_json(text)
    except ValueError as error:
        raise SurveyError(f"{name} must be JSON", given=str(error)[:80]) from None
    if not isinstance(found, dict) or not all(isinstance(x, str) for x in found.values()):
        raise SurveyError(f"{name} must be an object of texts", remedy=_remedy(name))
    lacking = [key for key in english if not found.get(key, "").strip()]
    extra = [key for key in found if key not in english]
    if lacking or extra:
        raise SurveyError(
            f"{name} {'lacks a text' if lacking else 'has a text that the page does not know'}",
            given=(lacking or extra)[0],
            remedy=_remedy(name),
        )
    for key, sentence in english.items():
        if sorted(PLACES.findall(found[key])) != sorted(PLACES.findall(sentence)):
            raise SurveyError(
                f"{name}: {key} must have {', '.join(PLACES.findall(sentence)) or 'no braces'}",
                given=found[key][:80],
            )
    if found["direction"] not in ("ltr", "rtl"):
        raise SurveyError(f'{name}: direction must be "ltr" or "rtl"', given=found["direction"])
    return found


def _remedy(name: str) -> str:
    return f"compare it with: extremal survey texts -o {Path(name).stem}.new.json"


def template(lang: str) -> str:
    """A catalogue of the package to translate or review, with nobody as its reviewer."""
    if lang not in LANGUAGES:
        raise OptionError(f"language must be one of {', '.join(LANGUAGES)}", given=lang)
    found = {**catalogue(lang), "reviewed": "no"}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def fill(sentence: str, **values: object) -> str:
    """The English sentence of the page, for whoever runs the survey."""
    return catalogue("en")[sentence].format(**values)


LANGUAGE = r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"
PREFER_NOT = catalogue("en")["prefer_not"]


@dataclass(frozen=True)
class Tongues:
    """The languages of a survey, the first one first, and catalogues for those that the package does not speak."""

    names: tuple[str, ...] = ("en",)
    texts: Mapping[str, Catalogue] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Section) -> Tongues:
        """Those that a survey names."""
        names = table.values.get("languages", ["en"])
        good = isinstance(names, list) and names and all(isinstance(x, str) for x in names)
        if not good or len(set(names)) < len(names) or not all(re.fullmatch(LANGUAGE, x) for x in names):
            raise table.wrong(
                "languages", "must be a list of different languages", names, 'e.g. ["en", "ar"]'
            )
        part = table.inside("catalogues", 'e.g. catalogues = { sw = "sw.json" }')
        files = part.values
        texts = {lang: parse_catalogue(read_text(str(part.file(lang))), str(files[lang])) for lang in files}
        for lang in set(texts) & set(LANGUAGES):
            if {**texts[lang], "reviewed": ""} != {**catalogue(lang), "reviewed": ""}:
                raise table.wrong(
                    "catalogues",
                    f'must leave the sentences in {lang!r} as they are, but for "reviewed"',
                    None,
                    "a translation of your own needs another name, like de-AT",
                )
        for lang in (*names, *files):
            if lang not in names:
                raise table.wrong("catalogues", f"has sentences in {lang!r}, which is none of the languages")
            if lang not in texts and lang not in LANGUAGES:
                raise table.wrong(
                    "languages",
                    f"has {lang!r}, in which the page has no sentences",
                    remedy=f"translate the file that extremal survey texts -o {lang}.json writes, and name it: "
                    f'catalogues = {{ {lang} = "{lang}.json" }}',
                )
        return cls(tuple(names), texts)

    @property
    def own(self) -> dict[str, Catalogue]:
        """Catalogues that the page does not bring."""
        return {lang: texts for lang, texts in self.texts.items() if lang not in LANGUAGES}

    def sentences(self, lang: str) -> Catalogue:
        """Those of the page in one of the languages."""
        return self.texts[lang] if lang in self.texts else catalogue(lang)

    def text(
        self, table: Section, key: str, words: dict[str, dict[str, Any]], required: bool = False
    ) -> str | None:
        """The text in the first language; all of them go into `words`."""
        given = table.values.get(key)
        if not isinstance(given, dict):
            text = table.text(key, required)
            if text is not None and len(self.names) > 1:
                raise table.wrong(
                    key,
                    f"needs a text in each language: {', '.join(self.names)}",
                    text,
                    f'e.g. {key} = {{ {self.names[0]} = "…" }}',
                )
            return text
        self.complete(table, key, given, self.names)
        for lang in self.names:
            if not isinstance(given[lang], str) or not given[lang].strip():
                raise table.wrong(key, f"must be text in {lang!r}", given[lang])
            words.setdefault(lang, {})[key] = given[lang].strip()
        return str(words[self.names[0]][key])

    def complete(self, table: Section, key: str, given: Mapping[str, Any], wanted: Sequence[str]) -> None:
        """Refuse texts that are missing, and those in other languages."""
        lacking = [lang for lang in wanted if lang not in given]
        extra = [lang for lang in given if lang not in self.names]
        if lacking:
            raise table.wrong(key, f"has no text in {lacking[0]!r}", remedy=f"add {lacking[0]} = … to {key}")
        if extra:
            raise table.wrong(
                key,
                f"has a text in {extra[0]!r}, which is none of the languages",
                remedy="name it under languages",
            )

    def answers(self, table: Section, answers: tuple[str, ...], words: dict[str, dict[str, Any]]) -> None:
        """The texts of answers, by name. Those in the first language are the names, unless they are given, too."""
        given = table.values.get("answer_texts", {})
        if not isinstance(given, dict) or not all(isinstance(x, dict) for x in given.values()):
            raise table.wrong(
                "answer_texts",
                "must have a table of texts for each language",
                given,
                'e.g. answer_texts.ar = { yes = "نعم" }',
            )
        self.complete(
            table, "answer_texts", given, [lang for lang in self.names[1:] if set(answers) != {PREFER_NOT}]
        )
        for lang in self.names:
            texts = given.get(lang, {name: name for name in answers})
            own = {PREFER_NOT: self.sentences(lang)["prefer_not"]} if PREFER_NOT not in texts else {}
            lacking = [name for name in answers if name not in texts and name not in own]
            extra = [name for name in texts if name not in answers]
            if lacking or extra:
                what = (
                    f"a text for {extra[0]!r}, which is no answer,"
                    if extra
                    else f"no text for {lacking[0]!r}"
                )
                raise table.wrong("answer_texts", f"has {what} in {lang!r}")
            said = [texts.get(name, own.get(name)) for name in answers]
            if not all(isinstance(x, str) and x.strip() for x in said) or len(set(said)) < len(said):
                raise table.wrong("answer_texts", f"must be different texts in {lang!r}", said)
            if lang in given or own:
                words.setdefault(lang, {})["answers"] = said


# Brackets of numbers


def bracket_names(table: Section) -> tuple[list[str], tuple[float, ...]]:
    """The names of the answers between these edges, the same in all languages, and the edges."""
    edges = table.values["brackets"]
    if (
        not isinstance(edges, list)
        or not edges
        or not all(map(is_number, edges))
        or any(low >= high for low, high in pairwise(edges))
    ):
        raise table.wrong("brackets", "must be numbers that rise", edges, "e.g. brackets = [10, 20, 50]")
    told = [str(int(edge) if edge == int(edge) else edge) for edge in edges]
    middle = [f"{low} to {high}" for low, high in pairwise(told)]
    return [f"under {told[0]}", *middle, f"{told[-1]} or more"], tuple(map(float, edges))


# Who is asked what


def condition(table: Section, earlier: Mapping[str, Wording], names: Sequence[str]) -> dict[str, Any] | None:
    """ask_if = { question = "…", answers = ["…"] } about an earlier question."""
    given = table.values.get("ask_if")
    if given is None:
        return None
    if not isinstance(given, dict) or given.keys() != {"question", "answers"}:
        raise table.wrong(
            "ask_if",
            "must name a question and answers",
            given,
            'e.g. ask_if = { question = "smokes", answers = ["yes"] }',
        )
    name, answers = given["question"], given["answers"]
    if name not in earlier:
        circle = "a later question, or itself: conditions would go round in a circle"
        where = f"this is {circle if name in names else 'no question'}"
        raise table.wrong("ask_if", "must name a question that comes before", name, where)
    if earlier[name].kind == "list":
        raise table.wrong("ask_if", "must not name a list", name, "ask a question with few answers first")
    known = earlier[name].answers
    some = isinstance(answers, list) and answers and set(map(str, answers)) <= set(known)
    if not some or (len(set(answers)) == len(known) and earlier[name].kind != "several"):
        raise table.wrong(
            "ask_if", f"must name some of the answers to {name}", answers, f"they are {', '.join(known[:8])}"
        )
    return {"question": name, "answers": [str(answer) for answer in answers]}


def check_open(table: Section, asked: Mapping[str, Any], rule: Mapping[str, Any] | None, what: str) -> None:
    """Refuse what everybody sees and follows from a private answer: being blank would tell it."""
    if rule is not None and asked[rule["question"]].kind != "clear":
        raise table.wrong(
            "ask_if",
            f"of {what} must not depend on a private answer: leaving it out would tell that answer",
            rule["question"],
            "make the question that depends on it private, or ask it of everybody",
        )


def share_asked(table: Section, parent: Any, rule: Mapping[str, Any]) -> float:
    """How many people are asked, by the prior of the private question that decides it."""
    prior = parent.prior if parent.mechanism is None else load(parent.mechanism).prior
    if prior is None:
        raise table.wrong(
            "ask_if",
            "must not name a question whose prior is learned: nobody knows how many are asked",
            parent.name,
        )
    met = [meets(parent, label, rule["answers"]) for label in prior.labels]
    return float(prior.probabilities @ np.array(met, float))


def meets(parent: Wording, label: Any, answers: Sequence[str]) -> bool:
    """Whether an answer, or a set of items, is one after which a question is asked."""
    if parent.kind != "several" or label == NOT_ASKED:
        return label in answers
    return any(bit == "1" and item in answers for bit, item in zip(str(label), parent.answers, strict=True))


def with_not_asked(table: Section, prior: Prior, asked: float) -> Prior:
    """The prior of the answers and of "not asked"."""
    if not 0 < asked < 1:
        raise table.wrong(
            "ask_if", "must hold for some people and not for others", f"{asked:.3g} of all are asked"
        )
    return Prior([*(prior.probabilities * asked), 1 - asked], [*prior.labels, NOT_ASKED])


# Sections: questions that stand on one page


def sections(
    table: Section, tongues: Tongues, asked: dict[str, Any], inside: Sequence[str | None]
) -> tuple[dict[str, Any], ...]:
    """The sections with the numbers of their questions; those that name none are sections of their own."""
    questions = list(asked.values())
    found: dict[str, dict[str, Any]] = {}
    for part in table.each("section"):
        part.only(["name", "title", "text", "ask_if"])
        name = part.text("name", required=True) or ""
        members = [q for q, other in enumerate(inside) if other == name]
        if name in found or not members or members != list(range(members[0], members[-1] + 1)):
            problem = (
                "must be named by questions that follow each other"
                if members
                else "must be named by a question"
            )
            problem = "must differ from those of the other sections" if name in found else problem
            raise part.wrong("name", problem, name, f'write section = "{name}" in each of its questions')
        words: dict[str, dict[str, Any]] = {}
        texts = {key: tongues.text(part, key, words) for key in ("title", "text")}
        rule = condition(part, {q.name: q for q in questions[: members[0]]}, list(asked))
        check_open(part, asked, rule, "a section")
        found[name] = {**texts, "words": words, "ask_if": rule, "questions": members}
    for other in inside:
        if other is not None and other not in found:
            raise table.wrong(
                "section",
                f"{other!r} is named by a question, but there is none",
                remedy="begin it with [[section]]",
            )
    return tuple(_in_order(list(found.values()), len(questions)))


def _in_order(found: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """The sections in the order of the questions, and one for each run of questions without any."""
    named = {section["questions"][0]: section for section in found}
    covered = {q for section in found for q in section["questions"]}
    ordered: list[dict[str, Any]] = []
    free = False  # whether the last section is one of questions without any
    for q in range(size):
        if q in named:
            ordered.append(named[q])
        elif q not in covered and free:
            ordered[-1]["questions"].append(q)
        elif q not in covered:
            ordered.append({"title": None, "text": None, "words": {}, "ask_if": None, "questions": [q]})
        free = q not in covered
    return ordered


def left_out(found: Sequence[Mapping[str, Any]], questions: Mapping[str, Any]) -> dict[str, Any]:
    """The questions, with a mark where everybody may see that one was not asked."""
    public = {
        name
        for section in found
        if section["ask_if"]
        for name in (list(questions)[q] for q in section["questions"])
    }
    for name, question in questions.items():
        rule = question.ask_if
        if rule and (rule["question"] in public or questions[rule["question"]].kind == "clear"):
            public.add(name)
    return {name: replace(q, optional=name in public) for name, q in questions.items()}


# What stands around the questions


def front(table: Section, tongues: Tongues) -> dict[str, Any]:
    """The texts of a survey."""
    words: dict[str, dict[str, Any]] = {}
    title = tongues.text(table, "title", words, required=True)
    introduction = tongues.text(table, "introduction", words) or ""
    others = {key: tongues.text(table, key, words) for key in ("collector", "contact")}
    return {"title": title, "introduction": introduction, **others, "words": words}


def times(table: Section) -> dict[str, Any]:
    """When a survey opens and closes, and for how long a report waits before it is sent."""
    opens, closes = (table.moment(key) for key in ("opens", "closes"))
    if opens and closes and datetime.fromisoformat(opens) >= datetime.fromisoformat(closes):
        raise table.wrong("closes", "must come after opens", f"{opens} and {closes}")
    return {"opens": opens, "closes": closes, "hold": table.seconds("hold", 3600)}


def warnings(table: Section, tongues: Tongues, questions: Sequence[Wording]) -> tuple[str, ...]:
    """What people should be able to read or do, and are not."""
    found = []
    private = [q for q in questions if q.kind != "clear"]
    if "collector" not in table.values:
        found.append('nobody reads who collects the reports. Write collector = "…"')
    if private and "respondents" not in table.values:
        found.append('no link tells people what all this means for them. Write respondents = "https://…"')
    ways_out = {PREFER_NOT, *(tongues.sentences(lang)["prefer_not"] for lang in tongues.names)}
    lacking = [q.name for q in private if q.kind != "scale" and ways_out.isdisjoint(q.answers)]
    if lacking:
        found.append(
            f'{", ".join(lacking)}: nobody can decline to answer. Offer "{PREFER_NOT}", an answer like the others.'
        )
    unread = [lang for lang in tongues.names if tongues.sentences(lang)["reviewed"] in ("", "no")]
    if unread:
        found.append(
            f"{', '.join(unread)}: nobody has put their name to the page's sentences in this language. Let somebody "
            'who speaks it read what extremal survey texts writes, and name them there as "reviewed".'
        )
    return tuple(found)
