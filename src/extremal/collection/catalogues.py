"""The sentences of the respondent's page, by language: catalogues of the package, and those that somebody translates.

Sentences that the page shares with `<extremal-question>` are in texts.js, its own in page.json.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from .._common.json import parse_json
from ..errors import OptionError, SurveyError

STATIC = Path(__file__).parent / "static"
LANGUAGES = ("en", "de", "fr", "ar")
NOT_REVIEWED = ("", "no")
PLACES = re.compile(r"\{\w+\}")

Catalogue = dict[str, str]


@cache
def _files() -> tuple[dict[str, Catalogue], dict[str, Any]]:
    shared = (STATIC / "texts.js").read_text(encoding="utf-8").removeprefix("export default ")
    return json.loads(shared), json.loads((STATIC / "page.json").read_text(encoding="utf-8"))


def catalogue(lang: str) -> Catalogue:
    """The sentences of the page in a language of the package."""
    shared, own = _files()
    return {**{key: shared[lang][key] for key in own["shared"]}, **own[lang]}


def further(kind: str) -> list[str]:
    """The sentences that only surveys of a kind need: those in field mode, or with lists."""
    return list(_files()[1]["further"][kind])


def parse_catalogue(text: str, name: str) -> Catalogue:
    """A translated catalogue, if it has every sentence, with the same places for figures, and no other."""
    english = catalogue("en")
    try:
        found = parse_json(text)
    except ValueError as error:
        raise SurveyError(f"{name} must be JSON", given=str(error)[:80]) from None
    if not isinstance(found, dict) or not all(isinstance(x, str) for x in found.values()):
        raise SurveyError(f"{name} must be an object of texts", remedy=_remedy(name))
    lacking = [key for key in english if not found.get(key, "").strip()]
    extra = [key for key in found if key not in english]
    if lacking or extra:
        raise SurveyError(
            f"{name} {'lacks a text' if lacking else 'has a text that the page does not know'}",
            given=(lacking or extra)[0],
            remedy=_remedy(name),
        )
    for key, sentence in english.items():
        if sorted(PLACES.findall(found[key])) != sorted(PLACES.findall(sentence)):
            raise SurveyError(
                f"{name}: {key} must have {', '.join(PLACES.findall(sentence)) or 'no braces'}",
                given=found[key][:80],
            )
    if found["direction"] not in ("ltr", "rtl"):
        raise SurveyError(f'{name}: direction must be "ltr" or "rtl"', given=found["direction"])
    return found


def _remedy(name: str) -> str:
    return f"compare it with: extremal survey texts -o {Path(name).stem}.new.json"


def template(lang: str) -> str:
    """A catalogue of the package to translate or review, with nobody as its reviewer."""
    if lang not in LANGUAGES:
        raise OptionError(f"language must be one of {', '.join(LANGUAGES)}", given=lang)
    found = {**catalogue(lang), "reviewed": "no"}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def fill(sentence: str, **values: object) -> str:
    """The English sentence of the page, for whoever runs the survey."""
    return catalogue("en")[sentence].format(**values)
