"""The one reader of JSON that comes from outside: strict, and no text can keep it busy.

Python's own reader takes the last of two equal names, NaN and 1e400, and integers of any length. Where a file decides
what is drawn, or what is protected, each of these is an error.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

Document = dict[str, Any]  # an object, by the names of its members
LARGEST_TEXT = 1 << 28  # characters
DEEPEST = 32  # lists and objects inside of each other
MOST_DIGITS = 40  # of an integer

# A string, also one that never ends: each character is looked at once, whatever the text.
STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
OPENING = str.maketrans({c: None for c in map(chr, range(128)) if c not in "[]{}"})


def parse_json(text: str | bytes, largest: int = LARGEST_TEXT) -> Any:
    """The value that the text stands for; a ValueError of one line if it is not strict JSON within the limits."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8 text") from None
    if len(text) > largest:
        raise ValueError(f"it has {len(text)} characters, more than {largest}")
    if _depth(text) > DEEPEST:
        raise ValueError(f"lists and objects are nested more than {DEEPEST} deep")
    try:
        return json.loads(
            text,
            object_pairs_hook=_distinct,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ValueError("lists and objects are nested too deep") from None


def parse_object(text: str | bytes) -> Document | None:
    """The members of an object that the text stands for; None for any other text."""
    try:
        document = parse_json(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _depth(text: str) -> int:
    """How deep lists and objects stand in each other at most, if the text is JSON at all."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    import numpy as np  # not at import: help must appear at once

    brackets = STRING.sub("", text).translate(OPENING).encode("ascii", "ignore")
    steps = np.frombuffer(brackets, dtype=np.uint8)
    opens = (steps == ord("[")) | (steps == ord("{"))
    return int(np.cumsum(np.where(opens, 1, -1)).max(initial=0))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"{name[:40]!r} occurs twice")
            seen.add(name)
    return found


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"the integer {text[:10]}… has {len(text)} digits, more than {MOST_DIGITS}")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large for a number")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def finite_or_none(value: float) -> float | None:
    """The number, or None in place of NaN and infinities, which JSON cannot hold."""
    return value if math.isfinite(value) else None


def finite(document: Any) -> Any:
    """The document with None in place of NaN and infinities, wherever they stand."""
    if isinstance(document, dict):
        return {str(key): finite(item) for key, item in document.items()}
    if isinstance(document, list | tuple):
        return [finite(item) for item in document]
    return finite_or_none(document) if isinstance(document, float) else document


def canonical(value: Any) -> str:
    """One text for each JSON value: what digests are of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def json_text(document: Any, indent: int | None = None) -> str:
    """The document as text, without NaN and infinities; a label that JSON does not know is written as its str()."""
    return json.dumps(document, default=str, ensure_ascii=False, allow_nan=False, indent=indent)
