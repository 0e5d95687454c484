"""What a person must know before a mechanism is used, whatever the page: commands and the explorer say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..certification.certified import Certified
from .audit import Audit, audit
from .text import chance

# How surveys write that there is no answer. Numbers like 99 may be answers; negative ones hardly are.
GAP = re.compile(r"n/?a|n\.a\.|nan|null|#n/a|missing|k\.a\.|[-.?]|-9{1,4}", re.IGNORECASE)


def disclosure(certified: Certified) -> list[str]:
    """That reports disclose the answers; else that epsilon would allow it, or that they come close; where it is so."""
    top = certified.prior.epsilon_max
    if certified.doubt.disclosed or certified.epsilon < top:
        return near_disclosure(audit(certified.prior, certified))
    return [
        f"WARNING: epsilon {certified.epsilon:g} is not below epsilon_max = {top:.4g} of this prior: it rules nothing "
        "out, not even to report the true answer"
    ]


def near_disclosure(made: Audit) -> list[str]:
    """That reports disclose the answers, or come close to them, where they do."""
    if made.doubt.disclosed:
        return [f"WARNING: no protection: {made.doubt}"]
    if not made.nearly_discloses:
        return []
    return [
        "WARNING: reports are close to the answers themselves: the best guess from a report is right with probability "
        f"{chance(made.average_guess)}, {chance(made.prior_guess)} without one"
    ]


def lookalikes(names: Iterable[Any]) -> list[list[str]]:
    """Answers that differ in upper and lower case or in spaces alone, group by group."""
    same: dict[str, list[str]] = {}
    for text in map(str, names):
        same.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return [group for group in same.values() if len(group) > 1]


def gaps(names: Iterable[Any]) -> list[str]:
    """Answers that perhaps mean that there is none."""
    return [text for text in map(str, names) if GAP.fullmatch(text.strip())]
