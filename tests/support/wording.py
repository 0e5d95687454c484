"""What a test may look at of a message: everything but its words.

A better sentence must break no test. Numbers, labels, names of options, files and parameters, and code stay when a
message is reworded; `facts` leaves them, and `python -m tests.support.reword` replaces all the rest. Promises and
warnings are pinned in tests/promises.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from extremal.errors import ExtremalError

WORD = re.compile(r"(?<![\w./<>=:@_'\"-])[A-Za-z]{3,}(?![\w/<>=@_-]|\.\w|\()")


def unworded(text: str, other: Callable[[str], str] = lambda word: "…") -> str:
    """The text with something else for each of its words, but for those between backticks."""
    parts = text.split("`")
    parts[::2] = [WORD.sub(lambda found: other(found[0]), part) for part in parts[::2]]
    return "`".join(parts)


def facts(error: BaseException) -> str:
    """Parameter, what was given, code, numbers and names of an error."""
    if not isinstance(error, ExtremalError):
        return unworded(str(error))
    kept = [error.parameter, unworded(error.problem), error.given, unworded(error.remedy or "")]
    return "\n".join(part for part in kept if part)


@contextmanager
def refused(
    kind: type[BaseException] | tuple[type[BaseException], ...], *found: str
) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """What is done here is refused with such an error, whose fields hold all that is named."""
    with pytest.raises(kind) as caught:
        yield caught
    said = facts(caught.value)
    assert [part for part in found if part not in said] == [], said
