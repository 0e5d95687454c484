"""Evidence of a set of priors as JSON: an object whose `kind` says what its other members are.

A reader that does not know a kind refuses the file: it could not tell whether the confidence holds.
"""

from __future__ import annotations

import re
from typing import Any

from ..model.evidence import CountedAnswers, Evidence

COUNTS = "counts"
WHOLE_NUMBER = re.compile("0|[1-9][0-9]{0,299}", re.ASCII)


def encode_evidence(evidence: Evidence) -> dict[str, Any]:
    """The document of a piece of evidence."""
    if isinstance(evidence, CountedAnswers):
        return {"kind": COUNTS, "method": evidence.method, "counts": [str(n) for n in evidence.counts]}
    raise TypeError(f"evidence of the type {type(evidence).__name__} has no form in a file")


def decode_evidence(document: Any, answers: int) -> Evidence:
    """The evidence that a document holds, for so many answers."""
    if not isinstance(document, dict) or document.get("kind") != COUNTS:
        raise ValueError(f"evidence must be of the kind {COUNTS!r}")
    counts, method = document.get("counts"), document.get("method")
    if document.keys() != {"kind", "method", "counts"} or not isinstance(method, str):
        raise ValueError("evidence from counts must have a method and counts")
    if (
        not isinstance(counts, list)
        or len(counts) != answers
        or not all(isinstance(n, str) and WHOLE_NUMBER.fullmatch(n) for n in counts)
    ):
        raise ValueError("evidence must have a whole number for each answer, as a string")
    return CountedAnswers([int(n) for n in counts], method)
