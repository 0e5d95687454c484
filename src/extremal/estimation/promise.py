"""What intervals promise, in words: every table of the library takes them from here.

Ordinary intervals ("each") are what surveys publish: every row by itself. Simultaneous ones ("all") are wider: no row
of the table is wrong, except with the error allowed. Those that hold "always" also hold for whoever looks again and
again, and stops when they like what they see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KINDS = ("each", "all")  # the first is the default, everywhere
EVERY = (*KINDS, "always")  # where reports are looked at while they come in
ROWS = {
    "each": "for each row by itself",
    "all": "for all rows together",
    "always": "for all rows together, however often you look",
}
FIGURES = {"each": "each by itself", "all": "all together"}  # in a sentence

# How to ask for a kind, wherever the reader is.
PYTHON = 'intervals="{}"'
COMMAND = "--intervals {}"
SURVEY = 'intervals = "{}" in survey.toml'


@dataclass(frozen=True)
class Promise:
    """What the intervals of a table promise; `choice`: whether the other kind can be had."""

    confidence: float
    kind: str
    exact: bool  # for every number of reports; else in the limit of many
    weighted: bool = False
    choice: bool = True

    def __str__(self) -> str:
        said = (
            f"intervals: {'at least' if self.exact else 'about'} {100 * self.confidence:g}% {ROWS[self.kind]}"
        )
        if self.weighted:
            said += (
                " (with weights, strata or clusters a large-sample approximation, not a guarantee for every number "
                "of reports)"
            )
        return said

    def note(self, option: str = PYTHON) -> str:
        """The same, and how to get the other kind."""
        if not self.choice:
            return str(self)
        other = next(kind for kind in KINDS if kind != self.kind)
        return f"{self}; {option.format(other)} {ROWS[other]}"


def goal(confidence: float, kind: str, option: str = PYTHON) -> str:
    """The intervals that a number of people is for, and how to ask for the other kind."""
    other = next(each for each in KINDS if each != kind)
    return f"{100 * confidence:g}% intervals, {FIGURES[kind]}; for intervals {FIGURES[other]}: {option.format(other)}"


def check_kind(given: Any, kinds: tuple[str, ...] = KINDS) -> str:
    """One of the kinds of intervals."""
    from .._common import checks  # numpy, which the help does without

    return checks.choice(given, "intervals", kinds, remedy='leave it out for "each"')
