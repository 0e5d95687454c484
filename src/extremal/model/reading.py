"""Priors and counts from text, as people type, paste and store them: one grammar for command line and explorer.

0.5, 0.3, 0.2                                   numbers; also one a line, 50%, 50 %, fractions such as 1/3
never=0.5, once=0.3, often=0.2                  labels with numbers; also one a line, "never: 50%", CSV
[0.5, 0.3, 0.2], {"never": 0.5, ...}            JSON
[{"label": "never", "probability": 0.5}, ...]   JSON; "count" instead of "probability" for counts
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._common.json import parse_json
from ..errors import FormatError, PriorError, ValuesError

if TYPE_CHECKING:
    from .prior import Prior
    from .prior_set import PriorSet

DELIMITERS = ",;\t|"
LABEL_NAMES = ("label", "labels", "answer", "value", "name", "category", "x")
NUMBER_NAMES = ("probability", "p", "prior", "share", "frequency", "count", "counts", "n", "weight")
ROW = re.compile(r"(?P<label>.*[^\s,;:=|])[\s,;:=|]+(?P<number>[^\s,;:=|%]+(?:\s?%)?)")
RANGE = re.compile(r"(.+?)\s*(?:\bto\b|[-–])\s*(.+)")
DIGITS = re.compile(r"[+-]?\d[\d.,'’\s]*%?")  # a number, also as 0,45 or 1,200 or 1 200
COMMA_ROW = re.compile(
    r"(?P<label>.*?)(?P<between>[\s,;:=|]*)(?P<number>(?<![\d.])[+-]?\d[\d.]*(,\d+)+\s?%?)"
)
EPSILON = "epsilon is in nats, usually between 0.1 and 3 (0.7 means a factor of 2.02); it is not a percentage"
OFF = 0.1  # percentage points that published shares may miss 100 % by, however many digits they have
MOST_DIGITS = 40  # after the point of a percentage
INTEGER = re.compile(r"0|-?[1-9]\d{0,14}")

Row = tuple[int, list[str]]
"""The number of a line of a CSV file, and its fields."""


@dataclass(frozen=True)
class Numbers:
    """Numbers with their labels, or with none."""

    labels: list[Any] | None
    numbers: list[float]

    def prior(self) -> Prior:
        """The numbers as probabilities."""
        from .prior import Prior  # with numpy, which takes a while: not at import

        total = sum(self.numbers)
        if abs(total - 100) <= OFF and min(self.numbers) > 0:  # percentages without their sign
            return Prior([x / total for x in self.numbers], self.labels)
        return Prior(self.numbers, self.labels)


@dataclass(frozen=True, eq=False)
class Learned:
    """What was read about a prior: its probabilities, or the counts of a sample to learn it from."""

    numbers: Numbers
    counted: bool
    pseudocount: float = 0.0

    @cached_property
    def prior(self) -> Prior:
        """The prior; a count of 0 is refused here, and not where a set of priors is learned."""
        from .prior import Prior

        if not self.counted:
            return self.numbers.prior()
        return Prior.from_counts(self.numbers.numbers, self.pseudocount, self.numbers.labels)

    @property
    def observations(self) -> int | None:
        """How many answers were counted."""
        return int(sum(self.numbers.numbers)) if self.counted else None

    def prior_set(self, confidence: float) -> PriorSet:
        """The priors that fit the sample."""
        from .prior_set import PriorSet

        if not self.counted:
            raise PriorError(
                "must be learned from counts, which say how large the sample was",
                parameter="a set of priors",
                given="shares",
                remedy="give `how many people gave each answer`",
            )
        if self.pseudocount:
            raise PriorError(
                "must be 0 for a set of priors: an answer that was never counted stays possible",
                parameter="pseudocount",
                given=self.pseudocount,
            )
        return PriorSet.from_counts(self.numbers.numbers, confidence, self.numbers.labels)


def read_table(text: str) -> Numbers:
    """Labels and numbers from "a=0.5, b=0.5", lines "label, number", numbers alone, or JSON."""
    text = text.removeprefix("\ufeff").strip()
    if not text:
        raise PriorError("a prior must not be empty", remedy="give one answer a line, e.g. never, 0.5")
    if text[0] in "[{":
        return table_of(read_json(text, "a prior"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        lines = _entries(lines[0])
    if all(number(line) is not None for line in lines):
        return Numbers(None, _numbers(lines))
    rows = [_row(line) for line in lines]
    wrong = next((line for line, row in zip(lines, rows, strict=True) if row is None), None)
    if wrong is not None:
        raise PriorError(
            "every entry of a prior must be a label and a number, or every one a number",
            given=f"{wrong!r:.60}",
            remedy="write decimals with a point: 70.5, not 70,5"
            if re.search(r";.*\d,\d|\d,\d.*;|[=:]\s*\d+,\d", text)
            else "e.g. `never=0.5,once=0.3,often=0.2 or 0.5,0.3,0.2`",
        )
    _refuse_commas(lines)
    found = [row for row in rows if row is not None]
    return Numbers(typed([label for label, _ in found]), _numbers([text for _, text in found]))


def read_json(text: str, what: str) -> Any:
    """The document in a text, if it is strict JSON: no member twice, no NaN, no number that is too large."""
    try:
        return parse_json(text)
    except ValueError as error:
        raise FormatError(
            f"{what} must be JSON that can be read",
            given=f"an error: {str(error)[:120]}",
            remedy="correct it",
        ) from None


def table_of(document: Any) -> Numbers:
    """Labels and numbers from a JSON document, also from what commands print with --json."""
    if isinstance(document, dict) and isinstance(document.get("prior"), dict | list):
        document = document["prior"]
    labels: Any
    if isinstance(document, dict) and set(document) == {"labels", "probabilities"}:
        labels, numbers = document["labels"], document["probabilities"]
    elif isinstance(document, dict):
        labels, numbers = list(document), list(document.values())
    elif isinstance(document, list) and document and isinstance(document[0], dict):
        pairs = [_pair(entry) for entry in document]
        labels, numbers = [label for label, _ in pairs], [value for _, value in pairs]
    else:
        labels, numbers = None, document
    if (
        not isinstance(numbers, list)
        or not all(map(_is_number, numbers))
        or not isinstance(labels, list | None)
    ):
        raise PriorError(
            'a prior must be JSON like [0.5, 0.5] or {"yes": 0.5, "no": 0.5}', given="something else"
        )
    # A list is a tuple of labels: the answer to several questions together.
    return Numbers(
        labels and [tuple(x) if isinstance(x, list) else x for x in labels], list(map(float, numbers))
    )


def read_counts(text: str, delimiter: str | None = None) -> dict[Any, float]:
    """Label -> count from JSON, or from CSV with two columns, label and count, with a header or without."""
    if text.lstrip()[:1] in ("{", "["):
        table = table_of(read_json(text, "counts"))
        if table.labels is None:
            raise _no_counts("numbers alone")
        rows = [(k, [label]) for k, label in enumerate(table.labels, 1)]
        labels, numbers = table.labels, table.numbers
    else:
        rows = csv_rows(text, delimiter)
        lines = text.splitlines()
        _refuse_commas([line for k, _ in rows for line in lines[k - 1 : k]])
        for line, row in rows:
            _refuse_comma(",".join(row[1:]), f" in line {line}")
        if rows and len(rows[0][1]) == 2 and number(rows[0][1][1]) is None:
            rows = rows[1:]  # a header
        for line, row in rows:
            if len(row) != 2 or number(row[1]) is None:
                raise _no_counts(f"line {line}: {(text.splitlines()[line - 1 : line] or [''])[0]!r:.60}")
        labels, numbers = typed([row[0] for _, row in rows]), [float(number(row[1]) or 0) for _, row in rows]
    found: dict[Any, float] = {}
    for (line, _), label, count in zip(rows, labels, numbers, strict=True):
        if label in found:
            raise PriorError(
                "every label must be counted once",
                given=f"{label!r:.60} again in line {line}",
                remedy="add up its counts",
            )
        found[label] = count
    return found


def csv_rows(text: str, delimiter: str | None = None) -> list[Row]:
    """The records of a CSV text that are not empty, whichever delimiter its first line has."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise PriorError(
            "must be one character and no quote",
            parameter="delimiter",
            given=f"{delimiter!r}",
            remedy="e.g. ';'",
        )
    text = text.removeprefix("\ufeff")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or _delimiter(text), strict=True)
    try:
        return [(reader.line_num, row) for row in reader if any(row)]
    except csv.Error as error:
        raise FormatError(
            "the text must be CSV that can be read", given=f"an error in line {reader.line_num}: {error}"
        ) from None


def labelled(rows: list[Row]) -> Numbers | None:
    """The labels and numbers of CSV records that have just these, with a header or without; else None."""
    head = [cell.strip().lower() for cell in rows[0][1]]
    named = [k for k, cell in enumerate(head) if cell in NUMBER_NAMES]
    labels = [k for k, cell in enumerate(head) if cell in LABEL_NAMES]
    if named and labels:
        at, number_at, body = labels[0], named[0], rows[1:]
    elif len(head) == 2:
        at, number_at = 0, 1
        first = rows[0][1][1].strip()
        body = rows if DIGITS.fullmatch(first) or number(first) is not None else rows[1:]
        if len(body) < 2 or len({row[0] for _, row in body}) < len(body):
            return None  # an answer twice: two columns of data
    else:
        return None
    cells = [row[number_at].strip() for _, row in body if len(row) > max(at, number_at)]
    if all(number(cell) is not None or DIGITS.fullmatch(cell) for cell in cells):
        _refuse_commas([",".join(row) for _, row in rows])
        for cell in cells:
            _refuse_comma(cell)
    if not body or any(len(row) <= max(at, number_at) or number(row[number_at]) is None for _, row in body):
        return None
    return Numbers(typed([row[at].strip() for _, row in body]), _numbers([row[number_at] for _, row in body]))


def split_labels(text: str) -> list[str]:
    """Labels separated by commas; one that holds a comma stands in quotes, as in a CSV file."""
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        raise ValuesError(
            'must be like A,B,C, with "quotes" around those that hold commas',
            parameter="labels",
            given=f"{text!r:.60}",
        ) from None
    return [label.strip() for label in rows[0]] if rows and rows[0] else [""]


def typed(labels: list[str]) -> list[Any]:
    """The labels, as integers if every one is written as an integer: such a column holds numbers."""
    if all(map(INTEGER.fullmatch, labels)):
        return [int(label) for label in labels]
    return list(labels)


def number(text: str) -> float | None:
    """A decimal number, a percentage or a fraction such as 1/3; None for anything else."""
    text = text.strip()
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        above, slash, below = text.partition("/")
        return float(above) / float(below) if slash else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def read_range(text: str) -> tuple[float, float]:
    """The smallest and the largest share from "1% to 40%" or "0.01-0.4"."""
    found = RANGE.fullmatch(text.strip())
    low, high = (None, None) if found is None else map(number, found.groups())
    if low is None or high is None or not 0 <= low <= high <= 1:
        raise PriorError(
            "a range of shares must be like 1% to 40%, the smaller one first",
            given=f"{text!r:.60}",
            remedy="use percentages, or decimals up to 1",
        )
    return low, high


def _numbers(texts: list[str]) -> list[float]:
    """The numbers that texts stand for; where all are percentages, of nearly 100 %, they are made to sum to 1.

    Published shares are rounded. Each may be off by half a unit of its last digit, and their sum by OFF points anyway.
    """
    if not all(text.strip().endswith("%") for text in texts):
        return [x for x in map(number, texts) if x is not None]
    try:
        shares = [Decimal(text.strip()[:-1].strip()) for text in texts]
    except InvalidOperation:
        shares = []
    if not shares or not all(
        share.is_finite() and abs(_last_digit(share)) <= MOST_DIGITS for share in shares
    ):
        return [x for x in map(number, texts) if x is not None]  # Prior says what is wrong
    exact = list(map(Fraction, shares))
    total = sum(exact, Fraction(0))
    rounding = sum((Fraction(10) ** _last_digit(share) / 2 for share in shares), Fraction(0))
    if abs(total - 100) > max(rounding, Fraction(str(OFF))):
        raise PriorError(
            "the shares must sum to 100%",
            given=f"{float(total):g}%",
            remedy="correct them, or give counts",
        )
    return [float(share / total) for share in exact]


def _last_digit(share: Decimal) -> int:
    """The power of ten of its last digit."""
    exponent = share.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _entries(line: str) -> list[str]:
    """The entries of a prior that stands on one line."""
    joined = re.sub(r"(?<=\d)\s+%", "%", line)
    ways = (r"[,;]", r"(?<=%)\s+", r"\s+")  # the second: yes 70% no 30%
    for parts in ([part.strip() for part in re.split(way, joined)] for way in ways):
        if len(parts) > 1 and all(number(part) is not None or _row(part) is not None for part in parts):
            return parts
    return [line]


def _row(line: str) -> tuple[str, str] | None:
    found = ROW.fullmatch(line)
    if found is None or number(found["number"]) is None:
        return None
    return found["label"].strip('"'), found["number"]


def _refuse_commas(lines: list[str]) -> None:
    """Refuse lines such as never;0,45, whose comma separates no label from its number.

    Where the rest of a line could be a label, as in "age 20,50", commas are refused if they make shares of 100 %.
    """
    for line in lines:
        if spaced := re.fullmatch(r".*[,;=|\t]\s*(\d{1,3}(?:\s\d{3})+)", line.strip()):
            _refuse_comma(spaced[1])
    found = [COMMA_ROW.fullmatch(line.strip()) for line in lines]
    texts = [row["number"] for row in found if row is not None]
    shares = [number(text.replace(",", ".")) for text in texts]
    total = sum(share for share in shares if share is not None)
    whole = len(texts) == len(lines) and min(abs(total - 1), abs(total - 100)) <= OFF / 100
    for row in found:
        if row is not None and (whole or set(row["between"]) & set(";=|\t")):
            _refuse_comma(row["number"])


def _refuse_comma(text: str, where: str = "") -> None:
    """Refuse a number that is written as 0,45 or 1,200 or 1 200."""
    text = text.strip()
    if DIGITS.fullmatch(text) and number(text) is None:
        plain = re.sub(r"['’\s]", "", text)
        if re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", plain):
            plain = plain.replace(",", "")
        elif plain.count(",") == 1:
            plain = plain.replace(".", "").replace(",", ".")
        raise PriorError(
            "a number must have digits and at most a decimal point",
            given=f"{text!r:.60}{where}",
            remedy=f"write {plain:.60}" if number(plain) is not None else "e.g. 1200 or 0.45",
        )


def _pair(entry: Any) -> tuple[Any, Any]:
    value = next((entry[name] for name in NUMBER_NAMES if isinstance(entry, dict) and name in entry), None)
    if value is None or "label" not in entry or isinstance(entry["label"], dict):
        raise PriorError(
            'every entry must be like {"label": "yes", "probability": 0.5} or {"label": "yes", "count": 12}',
            given=f"{entry!r:.60}",
        )
    return entry["label"], value


def _delimiter(text: str) -> str:
    """What splits the first line into two columns, else into the most; a comma if nothing splits it."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    widths = {}
    for choice in DELIMITERS:
        try:
            widths[choice] = len(next(csv.reader([first], delimiter=choice, strict=True), []))
        except csv.Error:
            continue
    two = [choice for choice, width in widths.items() if width == 2]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if ";" in two and all(re.search(r";\s*[+-]?[\d.,]+\s?%?$", line) for line in lines[1:] or lines):
        return ";"  # though the numbers may have commas
    return two[0] if two else max(widths, key=lambda choice: widths[choice], default=",")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _no_counts(what: str) -> PriorError:
    return PriorError(
        "must be JSON like {label: count}, or CSV with two columns, label and count",
        parameter="counts",
        given=f"something else in {what}",
    )
