"""What a person must know before a mechanism is used, whatever the page: commands and the explorer say the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..certification.certified import Certified
from .audit import Audit, audit
from .wording import chance

# How surveys write that there is no answer. Numbers like 99 may be answers; negative ones hardly are.
GAPS = {
    "na",
    "n/a",
    "n.a.",
    "nan",
    "null",
    "#n/a",
    "missing",
    "k.a.",
    "-",
    ".",
    "?",
    "-9",
    "-99",
    "-999",
    "-9999",
}


def disclosure(certified: Certified) -> list[str]:
    """That epsilon allows everything, where it does; else that reports nearly are the answers, where they are."""
    top = certified.prior.epsilon_max
    if certified.epsilon < top:
        return near_disclosure(audit(certified.prior, certified))
    said = f"WARNING: epsilon {certified.epsilon:g} is not below epsilon_max = {top:.4g} of this prior: "
    if certified.blocks is None and bool(((certified.mechanism.matrix > 0).sum(axis=0) == 1).all()):
        return [said + "every report is the true answer"]
    return [said + "it rules nothing out, not even to report the true answer"]


def near_disclosure(made: Audit) -> list[str]:
    """That reports are nearly as good as the answers, where they are."""
    if not made.nearly_discloses:
        return []
    return [
        "WARNING: reports are close to the answers themselves: the best guess from a report is right with probability "
        f"{chance(made.average_guess)}, {chance(made.prior_guess)} without one"
    ]


def twins(names: Iterable[Any]) -> list[list[str]]:
    """Answers that differ in upper and lower case or in spaces alone, group by group."""
    same: dict[str, list[str]] = {}
    for text in map(str, names):
        same.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return [group for group in same.values() if len(group) > 1]


def gaps(names: Iterable[Any]) -> list[str]:
    """Answers that perhaps mean that there is none."""
    return [text for text in map(str, names) if text.strip().casefold() in GAPS]
