"""XLSForm (.xlsx), the format of ODK, KoboToolbox and SurveyCTO, as the text of a survey.toml.

Questions of one or several choices are taken over, with their texts in the languages that the page speaks, and asked on
the condition of one earlier question. What is not taken over is listed by its row. Columns `garbling::answer` and
`garbling::rate` are those of Safely Report: a "no" is turned into "yes" at the rate g. If a share p of people would say
"yes", a "yes" makes the true one 1 / (p + (1 - p) g) times as likely, so e^-epsilon = p + (1 - p) g.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._common.files import read_bytes
from .._common.words import brief, missing
from ..errors import SurveyError
from .published import NOT_ASKED
from .survey import LONGEST_LABEL, MOST_ANSWERS, MOST_HIDDEN, MOST_ITEMS, MOST_QUESTIONS, NAME, new_id
from .wordings import LANGUAGES

LARGEST = 1 << 24  # bytes of a file
MOST_ROWS = 5000
MOST_COLUMNS = 500
ONE = re.compile(r"(?:select[_ ]one|select1)\s+(\S+)(?:\s+(or[_ ]other))?", re.IGNORECASE)
SEVERAL = re.compile(
    r"(?:select[_ ]multiple|select all that apply from)\s+(\S+)(?:\s+(or[_ ]other))?", re.IGNORECASE
)
OF_DEVICES = re.compile(
    "start|end|today|deviceid|phonenumber|username|email|subscriberid|simserial|audit|start-geopoint|background-.*"
)
OTHERS = re.compile(
    "integer|decimal|range|text|rank|date|time|datetime|geo(point|trace|shape)|image|audio|video|file|barcode|acknowledge|"
    "calculate|hidden|(xml|csv)-external|(select|rank)_.*"
)
IGNORED = re.compile(r"(type|name|label|hint|required|relevant|appearance|garbling)(::.*)?")
FALSE = ("no", "false", "false()", "0")
CODE = re.compile(r"\(([a-z]{2,3}(-[a-z0-9]{2,8})*)\)\s*$")
TERM = re.compile(
    r"\s*(?:selected\(\s*\$\{([\w.-]+)\}\s*,\s*(?:'([^']*)'|\"([^\"]*)\")\s*\)"
    r"|\$\{([\w.-]+)\}\s*(!?=)\s*(?:'([^']*)'|\"([^\"]*)\"|([\d.]+)))\s*"
)
TRUE = ("yes", "true", "true()", "1")


@dataclass(frozen=True)
class Wanted:
    """What the form does not say: the expected shares of questions that are to be private, and their limit."""

    shares: Mapping[str, list[float]] = field(default_factory=dict)
    epsilon: float | None = None


@dataclass(frozen=True)
class Imported:
    """The text of a survey.toml, and what it lacks of the form."""

    text: str
    questions: int
    private: int
    left: tuple[str, ...]


Rows = dict[int, dict[str, str]]
Texts = dict[str, str]  # by language


class _Unfit(Exception):
    """Why a question, or its condition, is not taken over."""


@dataclass(frozen=True)
class _Asked:
    """A question as surveys have it. `answers` are those of the form by name; `lines` say how it is asked."""

    number: int
    name: str
    plain: str
    texts: Texts
    hints: Texts
    answers: dict[str, Texts]
    several: bool
    private: bool
    lines: list[str]

    def labels(self, language: str) -> list[str]:
        """The answers in a language."""
        return [texts.get(language, "") for texts in self.answers.values()]

    def complete(self, language: str) -> bool:
        """Whether all texts are there in a language, and the answers differ."""
        said = [texts.get(language) for texts in (self.texts, self.hints or self.texts)]
        labels = self.labels(language)
        return all((*said, *labels)) and len(set(labels)) == len(labels)


def read_xlsform(path: str | os.PathLike[str], wanted: Wanted) -> Imported:
    """The survey in an XLSForm; refused if it holds no question of a kind that surveys have."""
    sheets = _sheets(os.fspath(path))
    settings = next(iter(sheets["settings"].values()), {})
    keys = [key for row in sheets["survey"].values() for key in row]
    named = dict.fromkeys(key.partition("::")[2] for key in keys if key.startswith("label::"))
    first = settings.get("default_language", "").lower()
    language = first if first in named else next(iter(named), "")
    form = _Form([language, *(other for other in named if other != language)], wanted)
    form.read(sheets["survey"], sheets["choices"])
    missed = [name for name in wanted.shares if name not in {one.name for one in form.asked if one.private}]
    if missed:
        why = "; ".join(line for line in form.left if repr(missed[0]) in line) or "look at its rows"
        problem = "--share must name questions that are taken over"
        raise SurveyError(problem, given=brief(missed[0]), remedy=why)
    if not form.asked:
        given = "; ".join(form.left)[:300] or "no question"
        raise SurveyError(f"{path} must have a question with choices", given=given)
    text = form.text(settings.get("form_title") or settings.get("title") or "Survey")
    return Imported(text, len(form.asked), sum(one.private for one in form.asked), tuple(form.left))


def _sheets(path: str) -> dict[str, Rows]:
    """The sheets of a workbook that forms have."""
    try:
        import openpyxl
    except ImportError:
        raise missing("XLSForms need openpyxl", "survey") from None
    import io

    raw = read_bytes(path, LARGEST, "the form", error=SurveyError)
    try:
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        sheets = {sheet.title.strip().lower(): _sheet(sheet) for sheet in book.worksheets}
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, AttributeError) as error:
        said, remedy = brief(str(error)), "save it in the format .xlsx"
        raise SurveyError(f"{path} must be an XLSForm (.xlsx)", given=said, remedy=remedy) from None
    if "survey" not in sheets or "choices" not in sheets:
        raise SurveyError(f"{path} must have the sheets survey and choices", given=", ".join(sheets)[:100])
    return {"settings": {}, **sheets}


def _sheet(sheet: Any) -> Rows:
    """Rows by number, as cells by header; the first row that is not empty is the header."""
    header: list[str] | None = None
    rows: Rows = {}
    for number, cells in enumerate(sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS), start=1):
        texts = [_cell(value) for value in cells]
        if number > MOST_ROWS:
            raise ValueError(f"more than {MOST_ROWS} rows")
        if not any(texts):
            continue
        if header is None:
            header = [re.sub(r"\s*::?\s*", "::", text).lower().replace(" ", "_") for text in texts]
            # label::english_(en) is label::english (en), which is what settings say.
            header = [
                re.sub("^(label|hint)::.*$", lambda m: m[0].replace("_(", " ("), text) for text in header
            ]
        else:
            rows[number] = {key: text for key, text in zip(header, texts, strict=False) if key and text}
    return rows


def _cell(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else " ".join(str(value).split())


@dataclass
class _Form:
    """The rows of a form, one after the other, in its languages, the default first."""

    languages: list[str]
    wanted: Wanted
    lists: dict[str, dict[str, Texts]] = field(default_factory=dict)
    asked: list[_Asked] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    groups: list[tuple[str, str]] = field(default_factory=list)  # kinds and conditions of those that are open

    def read(self, survey: Rows, choices: Rows) -> None:
        """All rows; whatever is not taken over is listed."""
        for number, row in choices.items():
            listed, name = row.get("list_name", ""), row.get("name") or row.get("value", "")
            if name in self.lists.get(listed, {}):
                self.left.append(f"choices row {number}: {name!r} stands in {listed!r} before")
            elif listed and name:
                self.lists.setdefault(listed, {})[name] = self._texts(row, "label", name)
        for number, row in survey.items():
            kind = row.get("type", "")
            try:
                one = self._row(number, row, kind)
            except _Unfit as why:
                self._leave(number, f"{row.get('name', '')!r} ({brief(kind)}) is left out: {why}")
                continue
            self.asked += [] if one is None else [one]
            for key in row:
                if not IGNORED.fullmatch(key) and row[key].lower() not in FALSE:
                    self._leave(number, f"the column {key!r} is left out")

    def text(self, title: str) -> str:
        """The text of the survey."""
        spoken = self._spoken()

        def line(key: str, texts: Texts) -> str:
            if len(spoken) < 2:
                return f"{key} = {_quoted(texts[self.languages[0]])}"
            pairs = (f"{code} = {_quoted(texts[language])}" for code, language in spoken.items())
            return f"{key} = {{ {', '.join(pairs)} }}"

        head = [f'id = "{new_id()}"', line("title", dict.fromkeys(self.languages, title))]
        if list(spoken) not in ([], ["en"]):
            head.insert(1, f"languages = {_listed(list(spoken))}")
        if self.notes:
            head.append(line("introduction", dict.fromkeys(self.languages, " ".join(self.notes))))
        blocks = [head]
        for one in self.asked:
            block = ["[[question]]", f"name = {_quoted(one.plain)}", line("text", one.texts)]
            block += [line("help", one.hints)] if one.hints else []
            block += [*one.lines, f"answers = {_listed(one.labels(self.languages[0]))}"]
            for code, language in list(spoken.items())[1:]:
                pairs = zip(one.labels(self.languages[0]), one.labels(language), strict=True)
                said = ", ".join(f"{_quoted(name)} = {_quoted(text)}" for name, text in pairs)
                block.append(f"answer_texts.{code} = {{ {said} }}")
            blocks.append(block)
        return "\n\n".join("\n".join(block) for block in blocks) + "\n"

    def _spoken(self) -> dict[str, str]:
        """The languages of the survey by their codes: those that the page speaks, in which no text is missing."""
        found = {language: CODE.search(language) for language in self.languages}
        codes = {language: code[1] for language, code in found.items() if code and code[1] in LANGUAGES}
        first, *others = self.languages
        if first not in codes and found[first]:
            self.left.append(
                f"the page's own sentences stay English beside {first!r}: see extremal survey texts"
            )
        spoken = {codes[first]: first} if first in codes else {}
        for language in others:
            lacking = [one.number for one in self.asked if not one.complete(language)]
            if first in codes and language in codes and not lacking:
                spoken[codes[language]] = language
                continue
            why = (
                f"some are missing or alike in row {lacking[0]}"
                if lacking
                else "the page does not speak both"
            )
            self.left.append(f"texts in {language!r} are left out: {why}")
        return spoken

    def _leave(self, number: int, what: str) -> None:
        self.left.append(f"survey row {number}: {what}")

    def _texts(self, row: Mapping[str, str], what: str, usual: str = "") -> Texts:
        """A label or a hint by language; in the default one always something, if there is anything."""
        plain = row.get(what, "")
        texts = {name: row.get(f"{what}::{name}", "" if name else plain) for name in self.languages}
        first = texts[self.languages[0]] or plain or next(filter(None, texts.values()), usual)
        texts[self.languages[0]] = first
        return texts if first else {}

    def _row(self, number: int, row: Mapping[str, str], kind: str) -> _Asked | None:
        plain = kind.lower().replace(" ", "_")
        if plain in ("begin_group", "begin_repeat"):
            self.groups.append((plain, row.get("relevant", "")))
            if plain == "begin_repeat":
                raise _Unfit("what follows would be asked repeatedly")
            return None
        if plain in ("end_group", "end_repeat"):
            del self.groups[-1:]
        if plain in ("end_group", "end_repeat", ""):
            return None
        one, several = ONE.fullmatch(kind), SEVERAL.fullmatch(kind)
        found = one or several
        if any(opened == "begin_repeat" for opened, _ in self.groups):
            raise _Unfit("it is asked repeatedly")
        if plain == "note" and not self.asked and not row.get("relevant"):
            self.notes.append(self._texts(row, "label").get(self.languages[0], ""))
            return None
        if found is None:
            raise _Unfit(_why(plain))
        return self._question(number, row, found, several is not None)

    def _question(self, number: int, row: Mapping[str, str], found: re.Match[str], several: bool) -> _Asked:
        name, answers = row.get("name", ""), self.lists.get(found[1], {})
        if not 2 <= len(answers) <= (MOST_ITEMS if several else MOST_ANSWERS):
            raise _Unfit(f"its list {found[1]!r} has {len(answers)} choices")
        labels = [texts[self.languages[0]] for texts in answers.values()]
        if len({label.casefold() for label in labels}) < len(labels) or max(map(len, labels)) > LONGEST_LABEL:
            raise _Unfit(f"its choices must have different labels, of at most {LONGEST_LABEL} characters")
        if NOT_ASKED in labels:
            raise _Unfit(f"no choice may be called {NOT_ASKED!r}")
        if len(self.asked) == MOST_QUESTIONS:
            raise _Unfit(f"a survey has at most {MOST_QUESTIONS} questions")
        garbled = row.get("garbling::rate") or row.get("garbling::answer")
        private = bool(garbled) or name in self.wanted.shares
        if several and not private:
            raise _Unfit(f"what applies is only asked privately: give --share {name}=… and --epsilon")
        texts, hints = self._texts(row, "label", name), self._texts(row, "hint")
        if any("${" in text for text in (*texts.values(), *hints.values(), *labels)):
            raise _Unfit("its texts show the answer to another question")
        asked = _Asked(number, name, self._plain(number, name), texts, hints, answers, several, private, [])
        asked.lines.extend(['kind = "several"'] if several else [] if private else ['kind = "clear"'])
        asked.lines.extend(self._garbled(row, asked) if garbled else self._private(asked) if private else [])
        if not private and row.get("required", "").lower() in TRUE:
            asked.lines.append("required = true")
        if found[2]:
            self._leave(number, f"the choice 'other' of {name!r} is left out: it takes a text")
        try:
            asked.lines.extend(
                self._condition(asked, [*(given for _, given in self.groups), row.get("relevant", "")])
            )
        except _Unfit as why:
            self._leave(number, f"the condition of {name!r} is left out, and everybody is asked: {why}")
        return asked

    def _garbled(self, row: Mapping[str, str], asked: _Asked) -> list[str]:
        """The prior and the limit of a garbled question: e^-epsilon = p + (1 - p) g."""
        into, names = row.get("garbling::answer", ""), list(asked.answers)
        try:
            rate = float(row.get("garbling::rate", ""))
        except ValueError:
            rate = math.nan
        if asked.several or len(names) != 2 or into not in names or not 0 < rate < 1:
            raise _Unfit(
                "garbling takes two choices, one of them as garbling::answer, and a rate between 0 and 1"
            )
        given = self.wanted.shares.get(asked.name, [])
        if len(given) != 1 or not 0 < given[0] < 1:
            raise _Unfit(f"garbled: give --share {asked.name}=…, how many would answer {into!r}, e.g. 10%")
        share = given[0]
        epsilon = math.floor(-math.log(share + (1 - share) * rate) * 1e6) / 1e6
        if not epsilon:
            raise _Unfit("at this rate its reports tell nothing")
        if epsilon < -math.log1p(-share):
            self._leave(
                asked.number, f"{asked.name!r} keeps its limit, with better reports than garbled ones"
            )
        if row.get("garbling::covariate"):
            self._leave(asked.number, f"blocks of {asked.name!r} are left out: each person is garbled alone")
        prior = [share if name == into else 1 - share for name in names]
        said = f"# e^-epsilon = p + (1 - p) g, with p = {share:g} and the form's rate g = {rate:g}"
        return [f"epsilon = {epsilon:.6f} {said}", f"prior = {prior}"]

    def _private(self, asked: _Asked) -> list[str]:
        shares = self.wanted.shares[asked.name]
        if self.wanted.epsilon is None or len(shares) != len(asked.answers):
            raise _Unfit(f"to be private it needs --epsilon and {len(asked.answers)} shares")
        if not asked.several and abs(math.fsum(shares) - 1) > 1e-6:
            raise _Unfit(f"its shares must sum to 1, and sum to {math.fsum(shares):.4g}")
        return [f"epsilon = {self.wanted.epsilon:g}", f"prior = {shares}"]

    def _condition(self, asked: _Asked, given: list[str]) -> list[str]:
        """After which answers to an earlier question this one is asked."""
        conditions = [text for text in given if text]
        if not conditions:
            return []
        terms = [TERM.fullmatch(term) for term in re.split(r"\s+or\s+", conditions[0])]
        if len(conditions) > 1 or None in terms:
            raise _Unfit(f"it is none on one earlier question: {brief(' and '.join(conditions), 80)}")
        found = [term.groups() for term in terms if term is not None]
        names = {selected or compared for selected, _, _, compared, *_ in found}
        parent = next((one for one in self.asked if names == {one.name}), None)
        signs = {sign for *_, sign, _, _, _ in found}
        if parent is None or (parent.several and signs != {None}) or ("!=" in signs and len(found) > 1):
            raise _Unfit(f"it is none on one question that is taken over: {brief(conditions[0], 80)}")
        chosen = {next(x for x in (a, b, c, d, e) if x is not None) for _, a, b, _, _, c, d, e in found}
        kept = [name for name in parent.answers if (name in chosen) != ("!=" in signs)]
        if not kept or not chosen <= set(parent.answers):
            raise _Unfit(f"it names no answer to {parent.name!r}")
        if parent.private and not asked.private:
            raise _Unfit(f"leaving out a question in the clear would tell the answer to {parent.name!r}")
        if parent.private and asked.several and len(asked.answers) > MOST_HIDDEN:
            raise _Unfit(f"a set of more than {MOST_HIDDEN} items must not depend on a private answer")
        if len(kept) == len(parent.answers) and not parent.several:
            return []
        listed = _listed([parent.answers[name][self.languages[0]] for name in kept])
        return [f"ask_if = {{ question = {_quoted(parent.plain)}, answers = {listed} }}"]

    def _plain(self, number: int, name: str) -> str:
        """The name as surveys write it."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        plain = (plain if re.match("[A-Za-z]", plain) else f"q{plain}")[:40]
        if not re.fullmatch(NAME, plain) or plain.lower() in {one.plain.lower() for one in self.asked}:
            raise _Unfit("its name is none, or that of a question before")
        if plain != name:
            self._leave(number, f"{name!r} is called {plain!r}")
        return plain


def _why(kind: str) -> str:
    if kind == "note":
        return "texts stand in the introduction only"
    if OF_DEVICES.fullmatch(kind):
        return "devices record it by themselves"
    known = OTHERS.fullmatch(kind)
    return "surveys have no questions of this type" if known else "XLSForm knows no such type"


def _quoted(text: str) -> str:
    """A text in TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _listed(texts: list[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"
