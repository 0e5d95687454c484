"""Labels as JSON, which tells 1, 1.0, True and "1" apart."""

from __future__ import annotations

import math
from collections.abc import Hashable

from ..errors import CertificationError

DEEPEST_LABEL = 8  # tuples in tuples
SAFE_INTEGER = 1 << 53  # below it every JSON reader gives the same integer


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
    if isinstance(value, bool | str):
        return value
    if type(value) is int:
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
