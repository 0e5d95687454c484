"""Tables of a TOML document and the priors in them, read strictly: errors name the line and what to write instead."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from .._common.files import read_bytes, utf8_text
from ..errors import PriorError, SurveyError
from ..model.prior import Prior
from ..model.reading import EPSILON, csv_rows, number, read_counts, read_range, read_table, table_of
from .published import Learn, item_prior, subsets_of

LARGEST = 1 << 20  # bytes of a survey or of counts
HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")
KEY = re.compile(r"\s*([A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')\s*(?:\.[^=]*)?=")
QUOTES = re.compile(r'"""|' + "'''")
LEAST_STAGE = 200  # people: a stage shows who came early, and few reports tell little
# Of all people, after which a stage ends: each is about twice as long as the last.
USUAL_STAGES = (0.05, 0.15, 0.35)
USUAL_FORGED = 0.01  # with invitations
USUAL_DRIFT = 0.05
USUAL_DELTA = 0.05
MOST_STAGES = 20
LEARN = [field.name for field in fields(Learn)]


def read_text(name: str, largest: int = LARGEST) -> str:
    """The text of a file that is not too large."""
    raw = read_bytes(name, largest, "the file", remedy="is it the right one?")
    return utf8_text(raw, name, "the file").removeprefix("\ufeff")


@dataclass(frozen=True)
class LineNumbers:
    """Line numbers of keys: (table, its number, key) -> line; the key "" is the table's header."""

    file: str
    lines: dict[tuple[str, int, str], int]

    @classmethod
    def of(cls, file: str, text: str) -> LineNumbers:
        """Those of a text that is TOML; tomllib itself keeps no lines."""
        lines: dict[tuple[str, int, str], int] = {}
        seen: dict[str, int] = {}
        table, inside = "", ""
        for k, line in enumerate(text.splitlines(), start=1):
            outside = not inside
            for quotes in QUOTES.findall(line):  # a text of several lines begins or ends
                inside = "" if quotes == inside else inside or quotes
            header, key = HEADER.match(line), KEY.match(line)
            if not outside:
                continue
            if header:
                table = header[2].strip("\"'")
                if header[1] == "[[":
                    seen[table] = seen.get(table, -1) + 1
                lines.setdefault((table, seen.get(table, 0), ""), k)
            elif key:
                lines.setdefault((table, seen.get(table, 0), key[1].strip("\"'")), k)
        return cls(file, lines)

    def name(self, table: str = "", number: int = 0, key: str = "") -> str:
        """The file and the line of a key; of its table where the key has none."""
        parent, _, _ = table.partition(".")
        for place in (
            (table, number, key),
            (f"{table}.{key}", 0, ""),
            (table, number, ""),
            (parent, number, ""),
        ):
            if place in self.lines:
                return f"{self.file}, line {self.lines[place]}"
        return self.file


@dataclass(frozen=True)
class Section:
    """A table of the document, with readers that name the line of what is wrong."""

    values: Mapping[str, Any]
    places: LineNumbers
    folder: Path
    table: str = ""
    number: int = 0

    def at(self, key: str = "") -> str:
        return self.places.name(self.table, self.number, key)

    def wrong(self, key: str, problem: str, given: object = None, remedy: str | None = None) -> SurveyError:
        shown = None if given is None else (given if isinstance(given, str) else repr(given))[:80]
        return SurveyError(f"{self.at(key)}: {key or self.table} {problem}", given=shown, remedy=remedy)

    def only(self, known: list[str]) -> None:
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

    def matching(
        self, key: str, pattern: str, what: str, required: bool = False, remedy: str | None = None
    ) -> str | None:
        value = self.text(key, required)
        if value is not None and not re.fullmatch(pattern, value):
            raise self.wrong(key, f"must be {what}", value, remedy)
        return value

    def choice(self, key: str, known: tuple[str, ...], default: str, remedy: str | None = None) -> str:
        value = self.values.get(key, default)
        if value not in known:
            raise self.wrong(key, f"must be one of {', '.join(known)}", value, remedy)
        return str(value)

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "must be true or false", value)
        return value

    def number_of(self, key: str, holds: Callable[[float], bool], what: str) -> float | None:
        if key not in self.values:
            return None
        given = self.values[key]
        value: Any = number(given) if isinstance(given, str) and given.strip().endswith("%") else given
        if not is_number(value) or not holds(value):
            raise self.wrong(key, f"must be {what}", given)
        return float(value)

    def epsilon(self) -> float:
        """The limit of a private question."""
        value: Any = self.values.get("epsilon")
        if not is_number(value) or not 0 < value <= 50:
            raise self.wrong("epsilon", "must be a number above 0 and at most 50", value, EPSILON)
        return float(value)

    def pseudocount(self) -> float:
        return self.number_of("pseudocount", lambda x: x >= 0, "a number from 0") or 0.0

    def without(self, keys: Iterable[str], what: str, remedy: str) -> None:
        """Refuse keys that mean nothing for questions of this kind."""
        for key in keys:
            if key in self.values:
                raise self.wrong(key, f"must not be given for {what}", remedy=remedy)

    def inside(self, key: str, example: str) -> Section:
        """The table that a key holds; an empty one if it is not given."""
        given = self.values.get(key, {})
        if not isinstance(given, dict):
            raise self.wrong(key, "must be a table", given, example)
        return Section(given, self.places, self.folder, key)

    def each(self, key: str) -> list[Section]:
        """The tables that are called so, one after the other."""
        given = self.values.get(key, [])
        if not isinstance(given, list) or not all(isinstance(values, dict) for values in given):
            raise self.wrong(key, f"must begin with a line [[{key}]]")
        return [Section(values, self.places, self.folder, key, k) for k, values in enumerate(given)]

    def share(self, key: str) -> float | None:
        return self.number_of(key, lambda x: 0 < x < 1, 'a number between 0 and 1, e.g. 0.1 or "10%"')

    def whole(self, key: str) -> int | None:
        found = self.number_of(key, lambda x: x >= 1 and x == int(x), "a whole number from 1")
        return None if found is None else int(found)

    def moment(self, key: str) -> str | None:
        """A date, whose day begins at midnight UTC, or a time with its offset, as ISO 8601 has it."""
        value = self.values.get(key)
        if value is None:
            return None
        if type(value) is date:
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        if not isinstance(value, datetime) or value.tzinfo is None:
            remedy = f"write {key} = 2026-03-01, or {key} = 2026-03-01T08:00:00+01:00"
            raise self.wrong(key, "must be a date, or a time with its offset from UTC", value, remedy)
        return value.isoformat()

    def seconds(self, key: str, most: int) -> int:
        """A duration in words, like 3 min; 0 if there is none."""
        text = self.text(key)
        if text is None:
            return 0
        found = re.fullmatch(r"(\d{1,5}) ?(s|min|h)", text)
        seconds = int(found[1]) * {"s": 1, "min": 60, "h": 3600}[found[2]] if found else 0
        if not 1 <= seconds <= most:
            raise self.wrong(
                key, f"must be a time of at most {most // 60} minutes", text, f'e.g. {key} = "3 min"'
            )
        return seconds

    def file(self, key: str) -> Path:
        """The file that a key names, beside the survey."""
        name = self.text(key, required=True) or ""
        path = self.folder / name
        if not path.is_file():
            raise self.wrong(
                key, "must name a file beside the survey that can be read", f"{name}: there is none"
            )
        return path


def is_number(value: object) -> bool:
    """Whether it is a number, and finite; truth values are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read_prior(table: Section, answers: tuple[str, ...], several: bool, key: str) -> tuple[Prior, bool]:
    """The prior of the answers, or of the subsets of items, and whether it was given item by item."""
    labels, numbers = _numbers(table, key, several)
    if several and labels is not None and all(set(label) <= {"0", "1"} for label in labels):
        labels = [label.zfill(len(answers)) for label in labels]  # 0110 in a CSV file may have lost its zero
    subsets = several and labels is not None and set(labels) <= set(subsets_of(len(answers)))
    expected = subsets_of(len(answers)) if subsets else answers
    if labels is None and numbers == "uniform":
        if several:
            return item_prior([0.5] * len(answers)), True
        return Prior.uniform(answers), False
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
    if key == "counts":
        return Prior.from_counts(values, table.pseudocount(), expected), False
    return Prior(values, expected), False


def read_between(table: Section, answers: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """The ranges of shares that are sure, by answer: between = { yes = "1% to 40%" }."""
    example = 'e.g. between = { yes = "1% to 40%" }'
    found = {}
    for label, text in table.inside("between", example).values.items():
        name = " ".join(label.split())
        if name not in answers:
            raise table.wrong("between", "must name answers", label, f"answers are {', '.join(answers[:8])}")
        try:
            found[name] = read_range(str(text))
        except PriorError:
            wanted = 'must have ranges like "1% to 40%"'
            raise table.wrong("between", wanted, f"{label} = {text!r}", example) from None
    return found


def _numbers(table: Section, key: str, several: bool) -> tuple[list[str] | None, Any]:
    """Labels, if there are any, and numbers; percentages are texts."""
    given = table.values[key]
    if several and isinstance(given, list | dict):  # shares of items need not sum to 1
        values = list(given.values()) if isinstance(given, dict) else given
        numbers = [number(x) if isinstance(x, str) else x for x in values]
        if not all(map(is_number, numbers)):
            raise table.wrong(key, "must be numbers or percentages", given)
        return list(given) if isinstance(given, dict) else None, numbers
    if isinstance(given, str):
        if key == "counts":
            counts = read_counts(read_text(str(table.file(key))))
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
    table: Section, key: str, labels: list[str] | None, numbers: Any, expected: tuple[str, ...], sparse: bool
) -> list[float]:
    """The numbers in the order of the answers."""
    if labels is None:
        if len(numbers) != len(expected):
            raise table.wrong(key, f"must be {len(expected)} numbers, one for each answer", f"{len(numbers)}")
        return [float(x) for x in numbers]
    by_label = dict(zip(labels, numbers, strict=True))
    unknown = [label for label in by_label if label not in expected]
    missing = [label for label in expected if label not in by_label]
    if unknown or (missing and not sparse):
        what = f"{unknown[0]!r}, which is no answer" if unknown else f"nothing for {missing[0]!r}"
        raise table.wrong(
            key, "must have the answers as labels", what, f"answers are {', '.join(expected[:8])}"
        )
    return [float(by_label.get(label, 0.0)) for label in expected]


def read_joint(table: Section, alphabets: dict[str, tuple[str, ...]]) -> tuple[tuple[str, ...], Prior]:
    """The names of the questions in a cross table, and the prior of their answers together."""
    table.only(["counts", "pseudocount"])
    rows = csv_rows(read_text(str(table.file("counts"))))
    head = [cell.strip() for cell in rows[0][1]] if rows else []
    names = head[:-1]
    if len(names) < 2 or len(set(names)) < len(names) or not set(names) <= set(alphabets):
        raise table.wrong(
            "counts",
            "must name a CSV file with a column for each of 2 or more questions, and the counts last",
            ",".join(head),
            f"the header is like {','.join([*list(alphabets)[:2], 'count'])}",
        )
    counts: dict[Any, float] = dict.fromkeys(product(*(alphabets[name] for name in names)), 0.0)
    for line, cells in rows[1:]:
        label = tuple(cell.strip() for cell in cells[:-1])
        value = number(cells[-1]) if cells else None
        if label not in counts or value is None or value < 0:
            raise table.wrong("counts", f"has a row that does not fit, line {line}", ",".join(cells)[:60])
        counts[label] += value
    extra = table.pseudocount()
    kept = {label: value + extra for label, value in counts.items() if value + extra > 0}
    if len(kept) < 2:
        raise table.wrong("counts", "must hold at least 2 combinations of answers that occur")
    for k, name in enumerate(names):
        found = {label[k] for label in kept}
        if len(found) < 2:
            raise table.wrong(
                "counts",
                f"must hold at least 2 answers to {name} that occur",
                f"{found.pop()!r} alone",
                "add counts or a pseudocount, or leave the question out of the table",
            )
    return tuple(names), Prior.from_counts(kept)


def read_learn(table: Section, learns: bool) -> Learn | None:
    """The table [learn], with what is usual."""
    part = table.inside("learn", "write [learn] and below it stages = [500, 1500]")
    if not learns:
        if part.values:
            raise part.wrong("", 'must come with a question that has prior = "learn"')
        return None
    part.only(LEARN)
    people, invitation = table.whole("people"), table.flag("invitation")
    if people is None:
        raise table.wrong(
            "people",
            "must be given where a prior is learned: stages are parts of them",
            "nothing",
            "people = 5000",
        )
    forged = part.number_of("forged", lambda x: 0 <= x < 1, "a share from 0 to below 1")
    if forged is None and not invitation:
        raise part.wrong(
            "forged",
            "must be given where anybody can answer: the largest share of reports that may be made up",
            "nothing",
            "forged = 0.01 allows for 1%; or give each person one link with invitation = true",
        )
    most = table.whole("most_people")
    limit = ("people", people) if most is None or most >= people else ("most_people", most)
    drift = part.number_of("drift", lambda x: 0 <= x < 2, "a number from 0 to below 2")
    return Learn(
        _stages(part, *limit),
        USUAL_FORGED if forged is None else forged,
        USUAL_DRIFT if drift is None else drift,
        part.share("delta") or USUAL_DELTA,
    )


def _stages(part: Section, limit: str, people: int) -> tuple[int, ...]:
    """After how many people in all each stage ends but the last; the limit is the key that says how many are asked."""
    given = part.values.get("stages")
    if given is None:
        ends: list[int] = []
        for share in USUAL_STAGES:
            last = ends[-1] if ends else 0
            end = max(round(share * people), last + LEAST_STAGE)
            if end + LEAST_STAGE <= people:
                ends.append(end)
        if not ends:
            raise part.wrong(
                "stages",
                f"need {2 * LEAST_STAGE} people: no stage has fewer than {LEAST_STAGE}",
                f"{limit} = {people}",
                "ask more people, or give a prior",
            )
        return tuple(ends)
    wholes = isinstance(given, list) and all(isinstance(x, int) and not isinstance(x, bool) for x in given)
    if not wholes or not 1 <= len(given) <= MOST_STAGES:
        raise part.wrong(
            "stages",
            f"must be a list of 1 to {MOST_STAGES} whole numbers of people",
            given,
            "e.g. [500, 1500, 3500]",
        )
    if given[-1] >= people:
        raise part.wrong(
            "stages", "must end before all people were asked", given, f"below {limit} = {people}"
        )
    if any(end - start < LEAST_STAGE for start, end in pairwise([0, *given, people])):
        raise part.wrong(
            "stages",
            f"must have at least {LEAST_STAGE} people in each stage, also in the last: a stage shows who came early",
            given,
            f"numbers count all people asked until then, of {people}: [500, 1500] are stages of 500 and 1000",
        )
    return tuple(given)
