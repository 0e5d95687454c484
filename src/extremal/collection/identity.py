"""The id of a survey: phones that answered under it send that report again and draw no other.

It stands in survey.toml, or in a file beside it that is made once. Corrections, translations and other mechanisms leave
it as it is. Another wave or another survey has its own.
"""

from __future__ import annotations

import contextlib
import secrets
import tomllib
from pathlib import Path

from ..errors import ExtremalError, FileError, SurveyError
from ..release.files.atomic import new_file
from .survey import ID, Survey
from .tables import read_text


def new_id() -> str:
    """An id that no other survey has."""
    return secrets.token_hex(8)


def id_path(survey: Survey) -> Path:
    """Where the id lies of a survey that does not name it."""
    return survey.path.with_name(f"{survey.path.stem}.id")


def survey_id(survey: Survey) -> str:
    """The id in the survey, or the one beside it, made now if there is none; of two processes one makes it."""
    if survey.id is not None:
        return survey.id
    path = id_path(survey)
    if not path.exists():
        try:
            with new_file(path, overwrite=False, mode=0o644) as file:
                file.write(f"{new_id()}\n".encode())
        except FileError:
            if not path.exists():
                raise
    found = read_text(str(path)).strip()
    if not ID.fullmatch(found):
        raise SurveyError(
            f"{path.name} must hold the id of the survey, 8 to 64 letters, digits, - and _",
            given=found[:80],
            remedy="put it back from a copy; with another id, phones that have answered draw again",
        )
    return found


def same_id(survey: Survey) -> list[str]:
    """A warning for each other survey beside this one that has its id."""
    found = []
    for path in sorted(survey.path.parent.glob("*.toml")):
        if survey.id is None or path.name == survey.path.name:
            continue
        with contextlib.suppress(ExtremalError, tomllib.TOMLDecodeError, RecursionError):
            if tomllib.loads(read_text(str(path))).get("id") == survey.id:
                found.append(
                    f"{path.name} has the same id as this survey: phones that answered one of them send that report to "
                    "the other and draw no new one. That is right for two versions of one survey. For another wave or "
                    "another survey, delete the line that begins with id: it then gets its own."
                )
    return found
