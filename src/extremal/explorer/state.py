"""Everything that the page lets a person choose, and what it means to the library.

Priors come as people paste and upload them: numbers, labels with numbers, JSON, CSV, columns of answers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import extremal as ex
from extremal._common import checks
from extremal.auditing.figures import plain
from extremal.certification.certified import read_numbers
from extremal.errors import FileError, OptionError, PriorError, SizeError
from extremal.estimation.contrasts import purpose_named
from extremal.model.purpose import Purpose
from extremal.model.reading import Learned, Numbers, csv_rows, labelled, number, typed

CONFIDENCE = 0.95  # of intervals, and that the true shares are among those that fit a sample
# What is estimated, in the words of the page; designs for the others are for those who know what they are.
PURPOSES = {
    "shares": "the share of every answer",
    "relative": "the share of every answer, rare ones as carefully",
    "mean": "the average, of answers that are numbers",
}
MEASURES = {
    "mutual-information": "mutual information",
    "total-variation": "total variation",
    "chi-squared": "χ² information",
    "hellinger": "Hellinger information",
    "jensen-shannon": "Jensen–Shannon information",
}
TYPES: dict[str, Any] = {"str": (str,), "float": (int, float), "int": (int,), "bool": (bool,)}
WORDS = {"str": "text", "float": "a number", "int": "a whole number", "bool": "true or false"}


@dataclass(frozen=True)
class State:
    """What the page asks about: the answers, the limit, what is estimated, and from how many people."""

    prior: str
    kind: str = "auto"
    pseudocount: float = 0.0
    robust: bool = False  # the numbers are a sample: the limit holds for all shares that fit it
    epsilon: float = 0.7
    utility: str = "shares"
    people: int = 1000
    allow_true_answers: bool = False  # draw, and download a mechanism, though reports disclose the answers
    width: int = 480  # of a picture, in pixels


@dataclass(frozen=True)
class Known:
    """What is known about the answers: a prior, or a set of priors around it; and how it was read."""

    prior: ex.Prior
    priors: ex.PriorSet | None
    words: str

    @property
    def given(self) -> ex.Prior | ex.PriorSet:
        """What a design is made for."""
        return self.prior if self.priors is None else self.priors


def read_state(document: Any) -> State:
    """The state in a JSON document, if every member has its type."""
    if not isinstance(document, dict):
        raise OptionError("a state must be an object")
    known: dict[str, Any] = {}
    for name, kind in State.__annotations__.items():
        if name not in document:
            continue
        value = document[name]
        if isinstance(value, bool) != (kind == "bool") or not isinstance(value, TYPES[kind]):
            raise OptionError(f"{name} must be {WORDS[kind]}, got {value!r:.60}")
        known[name] = float(value) if kind == "float" else value
    if "prior" not in known:
        raise OptionError("a state must have a prior")
    state = State(**known)
    checks.choice(state.utility, "the purpose", [*PURPOSES, *MEASURES])
    checks.whole(state.people, "the number of people", least=1, most=10**9)
    checks.whole(state.width, "the width of pictures in pixels", least=200, most=2000)
    return state


def known_of(state: State) -> Known:
    """The prior of a state, or the set of priors that fit its sample."""
    found = learned(state.prior, state.kind, state.pseudocount)
    if not state.robust:
        return Known(found.prior, None, words(found))
    priors = found.prior_set(CONFIDENCE)
    return Known(priors.nominal, priors, words(found))


def utility_of(state: State, prior: ex.Prior) -> ex.Utility | Purpose:
    """The purpose or the utility that a state names."""
    return purpose_named(state.utility, prior.labels)


KINDS = ("auto", "probabilities", "counts")
MOST_SYMBOLS = 1000
BETWEEN = "|"  # the answers to two questions that are one secret


@dataclass(frozen=True)
class Upload:
    """What a file holds: the text for the editor, and the columns to choose from where there are several."""

    text: str
    kind: str
    words: str
    columns: list[str] = field(default_factory=list)
    column: str | None = None
    second: str | None = None  # a column that is one secret with the first
    warning: str = ""


def learned(text: str, kind: str = "auto", pseudocount: float = 0.0) -> Learned:
    """What the editor's text says about the prior.

    "auto" takes whole numbers that sum to more than 1 for counts, everything else for probabilities.
    """
    checks.choice(kind, "the kind of numbers", KINDS)
    found = joint(read_numbers(text))
    size = len(found.numbers)
    if size > MOST_SYMBOLS:
        raise SizeError(
            f"a question must have at most {MOST_SYMBOLS} answers in the explorer",
            given=size,
            remedy="merge rare answers, or use the library",
        )
    whole = all(x == int(x) for x in found.numbers if abs(x) < 1e15)
    counted = kind == "counts" or (kind == "auto" and whole and sum(found.numbers) > 1)
    return Learned(found, counted, pseudocount)


def words(found: Learned) -> str:
    """How it was read."""
    if not found.counted:
        return f"{len(found.numbers.numbers)} probabilities"
    added = f", {found.pseudocount:g} added to each" if found.pseudocount else ""
    return f"counts of {sum(found.numbers.numbers):,.6g} answers{added}"


def joint(table: Numbers) -> Numbers:
    """Pairs as labels, where every label is written as answers to several questions, "yes | old"."""
    labels = table.labels or []
    parts = [str(label).split(BETWEEN) for label in labels]
    if not parts or len(parts[0]) < 2 or any(len(part) != len(parts[0]) for part in parts):
        return table
    columns = [typed([part.strip() for part in column]) for column in zip(*parts, strict=True)]
    return Numbers(list(zip(*columns, strict=True)), table.numbers)


def shown(label: Any) -> Any:
    """A label as the page shows it, and as its editor reads it."""
    return f" {BETWEEN} ".join(map(str, label)) if isinstance(label, tuple) else plain(label)


def editor_text(labels: list[Any], numbers: list[Any]) -> str:
    """One line an answer, as `learned` reads it again."""
    rows = zip(labels, numbers, strict=True)
    return "\n".join(f"{' '.join(str(shown(label)).split())}, {number!r}" for label, number in rows)


def read_upload(name: str, text: str, column: str | None = None, second: str | None = None) -> Upload:
    """What an uploaded CSV or JSON file says about the prior.

    CSV with a column of labels and one of numbers is a prior or counts. Every other CSV is data: the answers of a
    column are counted, or those of two columns together.
    """
    text = text.removeprefix("\ufeff")
    if name.lower().endswith(".json") or text.lstrip()[:1] in ("[", "{"):
        table = read_numbers(text if text.strip() else "{")
        labels = list(range(len(table.numbers))) if table.labels is None else table.labels
        return Upload(editor_text(labels, table.numbers), "auto", "JSON")
    lines = csv_rows(text)
    if not lines or "\0" in text:
        raise FileError("the file must be CSV or JSON with a prior or a column of answers", given="neither")
    if column is None and (found := labelled(lines)) is not None:
        whole = [int(x) if x.is_integer() and x > 1 else x for x in found.numbers]
        return Upload(editor_text(found.labels or [], whole), "auto", "labels with numbers")
    rows = [row for _, row in lines]
    if len(rows[0]) == 1 and column is None and all(number(row[0]) is not None for row in rows):
        numbers = [number(row[0]) or 0.0 for row in rows]
        if sum(numbers) <= 1 + 1e-6 and len(numbers) > 1:
            return Upload(editor_text(list(range(len(numbers))), numbers), "auto", "numbers")
    return _count_column(name, rows, column, second)


def _count_column(name: str, rows: list[list[str]], column: str | None, second: str | None) -> Upload:
    columns = [cell.strip() for cell in rows[0]]
    if len(set(columns)) < len(columns):
        raise FileError(
            "the columns of a CSV file must have distinct names in its first line, got some twice"
        )
    for asked in (column, second):
        if asked is not None:
            checks.label(asked, "the column", columns, error=FileError)
    cells = {
        head: [row[k].strip() if k < len(row) else "" for row in rows[1:]] for k, head in enumerate(columns)
    }
    # Unless one is named, the column with the fewest different answers, which a survey's question has.
    chosen = column if column is not None else min(columns, key=lambda head: _variety(cells[head]))
    values = cells[chosen]
    if second is not None and second != chosen:
        pairs = zip(values, cells[second], strict=True)
        values = [f"{a} {BETWEEN} {b}" if a and b else "" for a, b in pairs]
    else:
        second = None
    counts = Counter(value for value in values if value)
    if len(counts) < 2:
        problem = f"column {chosen!r:.60} must hold at least 2 different answers"
        raise PriorError(problem, given=len(counts))
    if len(counts) > MOST_SYMBOLS:
        raise SizeError(
            f"a column must have at most {MOST_SYMBOLS} different answers, got {len(counts)} in {chosen!r:.60}; "
            "choose another column"
        )
    labels = sorted(counts, key=lambda label: (number(label) is None, number(label) or 0.0, label))
    empty = len(values) - sum(counts.values())
    where = f"column “{chosen}”" if second is None else f"columns “{chosen}” and “{second}” together"
    words = f"{sum(counts.values()):,} answers counted in {where}"
    words += f", {empty:,} empty ones left out" if empty else ""
    warning = (
        f"These shares were counted from {name}, and the mechanism file will contain them exactly. If these are the "
        "people you protect, publishing that file reveals them: take the shares from a census or an earlier study, or "
        "keep the file secret."
    )
    text = editor_text(labels, [counts[label] for label in labels])
    return Upload(text, "counts", words, columns, chosen, second, warning)


def _variety(values: list[str]) -> tuple[bool, int]:
    kinds = len(set(values) - {""})
    return kinds < 2, kinds
