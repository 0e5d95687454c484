"""A list of answers as a CSV file has it: how common they are, how else they are written, and groups for tables.

answer,count,also,group          The first line names the columns. Only `answer` must be there; where it is the only
Lyon,522250,Lugdunum|Lione,Rhône column, the name may be missing. `count` (or `share`) makes a prior. `also` has other
Nice,348085,Nizza,South|Coast    spellings and `group` the groups of an answer, divided by |.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from ..errors import FormatError, OptionError
from ..model.prior import Prior
from ..model.reading import LABEL_NAMES, NUMBER_NAMES, csv_rows, number
from .steps import LARGEST

BETWEEN = "|"  # of several in one cell


@dataclass(frozen=True, eq=False)
class AnswerList:
    """The answers of a list, all texts, and what the file says of each.

    Attributes
    ----------
    labels
        The answers.
    counts
        How often each was counted, or its share; None if the file does not say.
    also
        Other spellings of each answer.
    member_of
        The groups of each answer.
    """

    labels: tuple[str, ...]
    counts: tuple[float, ...] | None
    also: tuple[tuple[str, ...], ...]
    member_of: tuple[tuple[str, ...], ...]

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The answers of each group."""
        found: dict[str, list[str]] = {}
        for label, names in zip(self.labels, self.member_of, strict=True):
            for name in names:
                found.setdefault(name, []).append(label)
        return found

    def prior(self, pseudocount: float = 0.0) -> Prior | None:
        """The prior that the counts make; None without counts."""
        return None if self.counts is None else Prior.from_counts(self.counts, pseudocount, self.labels)


def read_answers(text: str, delimiter: str | None = None, most: int = LARGEST) -> AnswerList:
    """The list in a CSV text, of at most so many answers."""
    rows = csv_rows(text, delimiter)
    first = rows[0][1] if rows else []
    head = [cell.strip().lower() for cell in first]
    if len(head) == 1 and head[0] not in LABEL_NAMES:
        head = ["answer"]
    else:
        rows = rows[1:]
    known = {"answer": LABEL_NAMES, "count": NUMBER_NAMES, "also": ("also",), "group": ("group",)}
    at = {what: [k for k, name in enumerate(head) if name in names] for what, names in known.items()}
    if len(at["answer"]) != 1 or sum(map(len, at.values())) != len(head) or max(map(len, at.values())) > 1:
        raise FormatError(
            "the first line of a list must name its columns: answer, and if there are any count, also and group",
            given=",".join(first)[:60] or "nothing",
            remedy='e.g. answer,count; put "quotes" around an answer that contains a comma',
        )
    if not 2 <= len(rows) <= most:
        raise FormatError(f"a list must have 2 to {most} answers", given=len(rows))
    for line, row in rows:
        if len(row) != len(head):
            raise _wrong(line, f"must have {len(head)} fields", BETWEEN.join(row))
    columns = {what: [row[k[0]] for _, row in rows] for what, k in at.items() if k}
    labels = tuple(map(plain, columns["answer"]))
    counts = [number(text) for text in columns.get("count", ())]
    seen: set[str] = set()
    for k, (line, row) in enumerate(rows):
        if not labels[k] or labels[k] in seen:
            raise _wrong(line, "must have an answer of its own", labels[k] or "nothing")
        if counts and (counts[k] is None or not 0 <= (counts[k] or 0.0) < float("inf")):
            raise _wrong(line, "must have a count from 0", row[at["count"][0]])
        seen.add(labels[k])
    several = (tuple(_parts(columns.get(what, [""] * len(rows)))) for what in ("also", "group"))
    return AnswerList(labels, tuple(float(x or 0) for x in counts) or None, *several)


def plain(text: str) -> str:
    """The text with single blanks, in the one normal form in which equal texts have equal characters."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def numbers_of(labels: Iterable[object]) -> dict[str, int]:
    """The number of each answer by its label, as `plain` writes it."""
    return {plain(str(label)): k for k, label in enumerate(labels)}


def number_of(numbers: dict[str, int], text: str, parameter: str) -> int:
    """The number of the answer with this label."""
    found = numbers.get(plain(text))
    if found is None:
        remedy = like(text, set(numbers))
        raise OptionError("must name answers of the list", parameter=parameter, given=text, remedy=remedy)
    return found


def like(text: str, names: set[str]) -> str:
    """What to do about a text that is none of the names."""
    near = get_close_matches(text, names, 1)
    return f"did you mean {near[0]}?" if near else "see the file of the list"


def _parts(cells: Iterable[str]) -> Iterable[tuple[str, ...]]:
    for cell in cells:
        yield tuple(dict.fromkeys(part for part in map(plain, cell.split(BETWEEN)) if part))


def _wrong(line: int, problem: str, given: str) -> FormatError:
    return FormatError(f"every line of a list {problem}", given=f"{given!r:.60} in line {line}")
