"""Everything that the page lets a person choose, and what it means to the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import extremal as ex
from extremal._common import checks
from extremal.estimation.contrasts import label_numbers
from extremal.model.purpose import Purpose

from .priors import learned, words

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


@dataclass(frozen=True, eq=False)
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
        raise ex.errors.OptionError("a state must be an object")
    known: dict[str, Any] = {}
    for name, kind in State.__annotations__.items():
        if name not in document:
            continue
        value = document[name]
        if isinstance(value, bool) != (kind == "bool") or not isinstance(value, TYPES[kind]):
            raise ex.errors.OptionError(f"{name} must be {WORDS[kind]}, got {value!r:.60}")
        known[name] = float(value) if kind == "float" else value
    if "prior" not in known:
        raise ex.errors.OptionError("a state must have a prior")
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
    if state.utility == "shares":
        return ex.shares
    if state.utility == "relative":
        return ex.shares.relative
    if state.utility != "mean":
        found: ex.Utility = getattr(ex.utilities, state.utility.replace("-", "_"))
        return found
    try:
        scores = label_numbers(prior.labels)
    except ex.errors.OptionError:
        raise ex.errors.OptionError(
            "an average needs answers that are numbers; name the answers 0, 1, 2, or estimate their shares"
        ) from None
    return ex.mean(dict(zip(prior.labels, scores.tolist(), strict=True)))
