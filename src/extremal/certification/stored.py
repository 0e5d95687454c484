"""Labels, numbers and evidence as JSON.

Labels are told apart as 1, 1.0, True and "1" are. Evidence of a set of priors is an object whose `kind` says what its
other members are; a reader that does not know a kind refuses the file: it could not tell whether the confidence holds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable

from ..errors import CertificationError
from ..model.evidence import CountedAnswers, Evidence
from ..model.report_evidence import VALID, Collected, CollectedReports

DEEPEST_LABEL = 8  # tuples in tuples
SAFE_INTEGER = 1 << 53  # below it every JSON reader gives the same integer
COUNTS, REPORTS = "counts", "reports"
WHOLE_NUMBER = re.compile("0|[1-9][0-9]{0,299}", re.ASCII)


def encode_label(label: Hashable, depth: int = 0) -> object:
    """A label as JSON that tells 1, 1.0, True and "1" apart; CertificationError for what cannot be stored."""
    if isinstance(label, bool):
        return label
    if type(label) is str:
        try:
            label.encode("utf-8")
        except UnicodeEncodeError:
            raise CertificationError(
                "labels must be text that UTF-8 can hold",
                given=f"{label[:60]!a}: a lone surrogate is half a character",
                remedy="rename it",
            ) from None
        return label
    if type(label) is int:
        return label if abs(label) < SAFE_INTEGER else {"int": str(label)}
    if type(label) is float and math.isfinite(label):
        return {"float": decimal(label)}
    if type(label) is tuple and depth < DEEPEST_LABEL:
        return [encode_label(part, depth + 1) for part in label]
    raise CertificationError(
        "labels must be strings, integers, finite floats, booleans or tuples of them to be stored",
        given=f"{repr(label)[:60]} of type {type(label).__name__}",
        remedy="rename it, e.g. `str(label)`",
    )


def decode_label(value: object, depth: int = 0) -> Hashable:
    """The label that a JSON value stands for."""
    if isinstance(value, bool | str) or type(value) is int:
        return value
    if isinstance(value, list) and depth < DEEPEST_LABEL:
        return tuple(decode_label(part, depth + 1) for part in value)
    if isinstance(value, dict) and len(value) == 1:
        ((kind, text),) = value.items()
        if kind == "int" and isinstance(text, str):
            return int(text)
        if kind == "float" and isinstance(text, str):
            return float(text)
    raise ValueError(f"not a label: {repr(value)[:60]}")


def decimal(number: float) -> str:
    """The shortest decimal that reads back as this double; -0.0 equals 0.0 and is written like it."""
    return repr(float(number) + 0.0)


def decimals(numbers: Iterable[float]) -> list[str]:
    """The same for several."""
    return [decimal(number) for number in numbers]


def encode_evidence(evidence: Evidence) -> dict[str, object]:
    """The document of a piece of evidence."""
    if isinstance(evidence, CountedAnswers):
        return {"kind": COUNTS, "method": evidence.method, "counts": _texts(evidence.counts)}
    if isinstance(evidence, CollectedReports):
        return {
            "kind": REPORTS,
            "stages": [
                {
                    "weights": [_texts(row) for row in stage.weights],
                    "bits": stage.bits,
                    "prior": decimals(stage.expected),
                    "counts": _texts(stage.counts),
                }
                for stage in evidence.stages
            ],
            "assumed": decimals((evidence.forged, evidence.drift)),
            "valid": evidence.valid,
            "between": None if evidence.between is None else list(map(decimals, evidence.between)),
        }
    raise TypeError(f"evidence of the type {type(evidence).__name__} has no form in a file")


def decode_evidence(document: object, answers: int) -> Evidence:
    """The evidence that a document holds, for so many answers."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == COUNTS:
        counts, method = _members(document, "kind", "counts", "method")[1:]
        if not isinstance(method, str):
            raise ValueError("the method of evidence from counts must be a word")
        return CountedAnswers(_numbers(counts, answers), method)
    if kind == REPORTS:
        stages, assumed, valid, between = _members(document, "kind", "stages", "assumed", "valid", "between")[
            1:
        ]
        if not isinstance(stages, list) or not stages:
            raise ValueError("evidence from reports must have stages")
        forged, drift = shares(assumed, 2)
        if not isinstance(valid, str) or valid not in VALID or not (forged < 1 and drift <= 2):
            raise ValueError("evidence from reports must say what is assumed of them")
        made = tuple(_stage(stage, answers) for stage in stages)
        return CollectedReports(made, forged, drift, valid, _ranges(between, answers))
    raise ValueError(f"evidence must be of the kind {COUNTS!r} or {REPORTS!r}")


def _stage(document: object, answers: int) -> Collected:
    rows, bits, prior, counts = _members(document, "weights", "bits", "prior", "counts")
    if type(bits) is not int or not 0 < bits <= 62:
        raise ValueError("bits must be a whole number from 1 to 62")
    if not (isinstance(rows, list) and len(rows) == answers and isinstance(counts, list) and counts):
        raise ValueError("a stage must have a row of weights for each answer and a count for each report")
    weights = tuple(tuple(_numbers(row, len(counts))) for row in rows)
    if any(sum(row) != 1 << bits for row in weights):
        raise ValueError("every row of weights must sum to 2^bits")
    expected = shares(prior, answers)
    if abs(math.fsum(expected) - 1) > 1e-9 or min(expected) <= 0:
        raise ValueError("the prior of a stage must be positive and sum to 1")
    numbers = _numbers(counts, len(counts))
    if not sum(numbers):
        raise ValueError("a stage must have reports")
    return Collected(weights, bits, expected, tuple(numbers))


def _ranges(document: object, answers: int) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    if document is None:
        return None
    if not isinstance(document, list) or len(document) != 2:
        raise ValueError("ranges must be a list of smallest and one of largest shares")
    lower, upper = (shares(side, answers) for side in document)
    if not all(0 <= l <= u <= 1 for l, u in zip(lower, upper, strict=True)):
        raise ValueError("ranges must be shares from 0 to 1")
    return lower, upper


def _members(document: object, *names: str) -> list[object]:
    """The members of an object that has these and no others."""
    if not isinstance(document, dict) or document.keys() != set(names):
        raise ValueError(f"evidence must have {', '.join(names)}")
    return [document[name] for name in names]


def _texts(numbers: Iterable[int]) -> list[str]:
    return [str(n) for n in numbers]


def strings(value: object, count: int, what: str) -> list[str]:
    """The elements of a list of so many strings."""
    if not isinstance(value, list) or len(value) != count or not all(isinstance(x, str) for x in value):
        raise ValueError(f"{what} must be a list of strings, one for each answer or report")
    return value


def _numbers(document: object, count: int) -> list[int]:
    found = strings(document, count, "counts and weights of evidence")
    if not all(map(WHOLE_NUMBER.fullmatch, found)):
        raise ValueError("evidence must have whole numbers")
    return [int(n) for n in found]


def shares(document: object, count: int, what: str = "shares of evidence") -> tuple[float, ...]:
    """So many doubles of at least 0."""
    found = tuple(map(float, strings(document, count, what)))
    if not all(math.isfinite(p) and p >= 0 for p in found):
        raise ValueError(f"{what} must be finite numbers >= 0")
    return found
