"""XLSForm (.xlsx), the format of ODK, KoboToolbox and SurveyCTO, as the text of a survey.toml.

Questions of one or several choices are taken over. What is not is listed by its row. Columns `garbling::answer` and
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
from dataclasses import dataclass, field, replace
from typing import Any

from .._common.files import read_bytes
from .._common.words import brief, missing
from ..errors import SurveyError
from .survey import LONGEST_LABEL, MOST_ITEMS, NAME, new_id

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
TERM = re.compile(
    r"\s*(?:selected\(\s*\$\{([\w.-]+)\}\s*,\s*(?:'([^']*)'|\"([^\"]*)\")\s*\)"
    r"|\$\{([\w.-]+)\}\s*(!?=)\s*(?:'([^']*)'|\"([^\"]*)\"|([\d.]+)))\s*"
)
TRUE = ("yes", "true", "true()", "1")
ROW = "survey row {}: "


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


@dataclass(frozen=True)
class Sheet:
    """The rows of a sheet that are not empty, by their numbers: cells as texts, by the header in small letters."""

    rows: dict[int, dict[str, str]]

    def texts(self, row: Mapping[str, str], what: str, language: str) -> str:
        """A label or a hint in the language, else without one, else the first there is."""
        named = [key for key in row if key == what or key.startswith(f"{what}::")]
        first = [key for key in named if key.partition("::")[2] == language] + [what, *named]
        return next((row[key] for key in first if row.get(key)), "")


class _Unfit(Exception):
    """Why a question is not taken over."""


@dataclass(frozen=True)
class _Asked:
    """A question as it goes into the text, under the name that it has in the form."""

    name: str
    answers: dict[str, str]  # names of choices -> labels
    lines: list[str]
    private: bool
    several: bool = False


def read_xlsform(path: str | os.PathLike[str], wanted: Wanted) -> Imported:
    """The survey in an XLSForm; refused if it holds no question of a kind that surveys have."""
    sheets = _sheets(os.fspath(path))
    settings = next(iter(sheets["settings"].rows.values()), {})
    language = settings.get("default_language", "").lower() or "default"
    reader = _Reader(sheets["survey"], _choices(sheets["choices"], language), language, wanted)
    reader.read()
    unknown = [
        name for name in wanted.shares if name not in {one.name for one in reader.asked if one.private}
    ]
    if unknown:
        raise SurveyError(
            "--share must name questions that are taken over",
            given=brief(unknown[0]),
            remedy="; ".join(line for line in reader.left if repr(unknown[0]) in line) or "look at its rows",
        )
    if not reader.asked:
        raise SurveyError(
            f"{path} must have a question with choices", given="; ".join(reader.left)[:300] or "no question"
        )
    title = settings.get("form_title") or settings.get("title") or "Survey"
    head = [f'id = "{new_id()}"', f"title = {_quoted(title)}"]
    head += [f"introduction = {_quoted(' '.join(reader.notes))}"] if reader.notes else []
    blocks = [["[[question]]", *one.lines] for one in reader.asked]
    text = "\n\n".join("\n".join(block) for block in [head, *blocks]) + "\n"
    return Imported(text, len(reader.asked), sum(one.private for one in reader.asked), tuple(reader.left))


def _sheets(path: str) -> dict[str, Sheet]:
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
        raise SurveyError(
            f"{path} must be an XLSForm (.xlsx)",
            given=brief(str(error)),
            remedy="save it in the format .xlsx",
        ) from None
    if "survey" not in sheets or "choices" not in sheets:
        raise SurveyError(
            f"{path} must have the sheets survey and choices",
            given=", ".join(sheets)[:100],
            remedy="is it an XLSForm?",
        )
    return {"settings": Sheet({}), **sheets}


def _sheet(sheet: Any) -> Sheet:
    """The first row that is not empty is the header."""
    header: list[str] | None = None
    rows = {}
    for number, cells in enumerate(sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS), start=1):
        texts = [_cell(value) for value in cells]
        if number > MOST_ROWS:
            raise ValueError(f"more than {MOST_ROWS} rows")
        if not any(texts):
            continue
        if header is None:
            header = [re.sub(r"\s*::?\s*", "::", text).lower().replace(" ", "_") for text in texts]
            header = [re.sub(r"^(label|hint)::(.*)$", _language, text) for text in header]
        else:
            rows[number] = {key: text for key, text in zip(header, texts, strict=False) if key and text}
    return Sheet(rows)


def _language(found: re.Match[str]) -> str:
    """label::english_(en) as label::english (en), which is what settings say."""
    return f"{found[1]}::{found[2].replace('_(', ' (')}"


def _cell(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else " ".join(str(value).split())


def _choices(sheet: Sheet, language: str) -> dict[str, dict[str, str]]:
    """For each list the labels of its choices by their names."""
    lists: dict[str, dict[str, str]] = {}
    for row in sheet.rows.values():
        listed, name = row.get("list_name", ""), row.get("name") or row.get("value", "")
        if listed and name:
            lists.setdefault(listed, {}).setdefault(name, sheet.texts(row, "label", language) or name)
    return lists


@dataclass
class _Reader:
    """The sheet of questions, row by row."""

    sheet: Sheet
    lists: dict[str, dict[str, str]]
    language: str
    wanted: Wanted
    asked: list[_Asked] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    repeats: int = 0

    def read(self) -> None:
        """All rows; whatever is not taken over is listed."""
        for number, row in self.sheet.rows.items():
            kind = row.get("type", "")
            self.repeats += {"begin_repeat": 1, "end_repeat": -1}.get(kind.lower().replace(" ", "_"), 0)
            try:
                one = self._row(number, row, kind)
            except _Unfit as why:
                self.left.append(
                    f"{ROW.format(number)}{row.get('name', '')!r} ({brief(kind)}) is left out: {why}"
                )
                continue
            self.asked += [] if one is None else [one]
            for key in row:
                if not IGNORED.fullmatch(key) and row[key].lower() not in FALSE:
                    self.left.append(f"{ROW.format(number)}the column {key!r} is left out")
        languages = {
            key.partition("::")[2]
            for row in self.sheet.rows.values()
            for key in row
            if key.startswith("label::")
        }
        others = sorted(languages - {self.language})
        if len(languages) > 1:
            self.left.append(f"texts are in one language; left out: {', '.join(others)}")

    def _row(self, number: int, row: Mapping[str, str], kind: str) -> _Asked | None:
        plain = kind.lower().replace(" ", "_")
        if plain in ("begin_group", "end_group", "end_repeat", ""):
            if row.get("relevant"):
                self.left.append(f"{ROW.format(number)}the condition of a group is left out: all are asked")
            return None
        if plain == "note" and not self.asked and not row.get("relevant"):
            self.notes.append(self.sheet.texts(row, "label", self.language))
            return None
        one, several = ONE.fullmatch(kind), SEVERAL.fullmatch(kind)
        found = one or several
        if self.repeats:
            raise _Unfit("it is asked repeatedly")
        if found is None:
            raise _Unfit(_why(plain))
        return self._question(number, row, found, several is not None)

    def _question(self, number: int, row: Mapping[str, str], found: re.Match[str], several: bool) -> _Asked:
        name, answers = row.get("name", ""), self.lists.get(found[1], {})
        if not 2 <= len(answers) <= (MOST_ITEMS if several else 1000):
            raise _Unfit(f"its list {found[1]!r} has {len(answers)} choices")
        labels = list(answers.values())
        if len({label.casefold() for label in labels}) < len(labels) or max(map(len, labels)) > LONGEST_LABEL:
            raise _Unfit("its choices must have different labels, of at most 200 characters")
        text = self.sheet.texts(row, "label", self.language) or name
        hint = self.sheet.texts(row, "hint", self.language)
        if found[2]:
            self.left.append(
                f"{ROW.format(number)}the choice 'other' of {name!r} is left out: it takes a text"
            )
        plain = self._name(number, name)
        help = [f"help = {_quoted(hint)}"] if hint else []
        asked = _Asked(
            name, answers, [f"name = {_quoted(plain)}", f"text = {_quoted(text)}", *help], False, several
        )
        listed = f"answers = {_listed(labels)}"
        if row.get("garbling::rate") or row.get("garbling::answer"):
            lines = [listed, *self._garbled(number, row, asked)]
        elif name in self.wanted.shares:
            lines = [*(['kind = "several"'] if several else []), listed, *self._private(asked)]
        elif several:
            raise _Unfit(f"what applies is only asked privately: give --share {name}=… and --epsilon")
        else:
            required = [] if row.get("required", "").lower() not in TRUE else ["required = true"]
            lines = ['kind = "clear"', listed, *required, *self._condition(number, row, True)]
            return replace(asked, lines=[*asked.lines, *lines])
        return replace(
            asked, private=True, lines=[*asked.lines, *lines, *self._condition(number, row, False)]
        )

    def _garbled(self, number: int, row: Mapping[str, str], asked: _Asked) -> list[str]:
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
        given = self.wanted.shares.get(asked.name)
        if given is None or len(given) != 1 or not 0 < given[0] < 1:
            raise _Unfit(
                f"garbled: give --share {asked.name}=…, how many people would answer {into!r}, e.g. 10%"
            )
        share = given[0]
        epsilon = math.floor(-math.log(share + (1 - share) * rate) * 1e6) / 1e6
        if not epsilon:
            raise _Unfit("at this rate its reports tell nothing")
        if epsilon < -math.log1p(-share):
            self.left.append(
                f"{ROW.format(number)}{asked.name!r} keeps its limit with other reports, better than garbled ones"
            )
        if row.get("garbling::covariate"):
            self.left.append(
                f"{ROW.format(number)}blocks of {asked.name!r} are left out: each person is garbled alone"
            )
        prior = [share if name == into else 1 - share for name in names]
        said = f"# e^-epsilon = p + (1 - p) g, with p = {share:g} and the form's rate g = {rate:g}"
        return [f"epsilon = {epsilon:.6f} {said}", f"prior = {prior}"]

    def _private(self, asked: _Asked) -> list[str]:
        shares = self.wanted.shares[asked.name]
        if self.wanted.epsilon is None or len(shares) != len(asked.answers):
            raise _Unfit(f"to be private it needs --epsilon and {len(asked.answers)} shares")
        return [f"epsilon = {self.wanted.epsilon:g}", f"prior = {shares}"]

    def _condition(self, number: int, row: Mapping[str, str], clear: bool) -> list[str]:
        """Whom it is asked, if that depends on one question of one choice before; else a line in the list."""
        given = row.get("relevant", "")
        if not given:
            return []
        self.left.append(
            f"{ROW.format(number)}the condition {brief(given, 80)} is left out: everybody is asked"
        )
        return []

    def _name(self, number: int, name: str) -> str:
        """The name as surveys write it."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        plain = (plain if re.match("[A-Za-z]", plain) else f"q{plain}")[:40]
        taken = {one.lines[0].lower() for one in self.asked}
        if not re.fullmatch(NAME, plain) or f"name = {_quoted(plain)}".lower() in taken:
            raise _Unfit("its name is none, or that of a question before")
        if plain != name:
            self.left.append(f"{ROW.format(number)}{name!r} is called {plain!r}")
        return plain


def _why(kind: str) -> str:
    if kind == "note":
        return "texts stand in the introduction only"
    if kind == "begin_repeat":
        return "what follows would be asked repeatedly"
    if OF_DEVICES.fullmatch(kind):
        return "devices record it by themselves"
    known = OTHERS.fullmatch(kind)
    return "surveys have no questions of this type" if known else "XLSForm knows no such type"


def _quoted(text: str) -> str:
    """A text in TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _listed(texts: list[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"
