"""The respondent's page: all files that a phone loads, held together by the first of them.

index.html names the SHA-256 of the scripts, the style sheet, the page's own sentences in each language and survey.json;
survey.json names the digests of the mechanisms. The browser runs no other script and the page takes no other survey or
mechanism, so the digest of index.html stands for the whole.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from .._common.json import canonical
from ..errors import FileError, SurveyError
from .published import Published
from .wordings import LANGUAGES, catalogue, further

STATIC = Path(__file__).parent / "static"
CODE = ("form.css", "start.js", "extremal.js", "words.js", "form.js")
FURTHER = {"field": "field.js", "list": "extremal-list.js"}  # scripts that only some surveys need
META = '<meta name="{}" content="'
CONNECT = "connect-src 'self'"
BY_FILE = (
    "Respondents save their report as a file and send it to you. Put the files into a store with\n"
    "  extremal survey add survey.toml report-*.json"
)
BY_POST = "Reports are posted to {post}\nas JSON; that address must allow pages of this host to post (CORS)."


@dataclass(frozen=True)
class Page:
    """The texts of the files, by their addresses on the site; index.html is served at the root, too."""

    files: dict[str, str]

    @property
    def digest(self) -> str:
        """The SHA-256 of index.html, as `sha256sum` prints it."""
        return hashlib.sha256(self.files["index.html"].encode()).hexdigest()

    def earlier(self) -> dict[str, str]:
        """Files by addresses under which only this page asks for them: survey.json and the mechanisms."""
        survey = self.files["survey.json"]
        mechanisms = {name for q in json.loads(survey)["questions"] for name in q["mechanisms"]}
        found = {name: self.files[name.partition("?")[0]] for name in mechanisms}
        return {**found, f"survey.json?{quote(_integrity(survey.encode()), safe='')}": survey}


def page_of(published: Published, post: str | None) -> Page:
    """The page of a survey whose reports are posted to `post`, or saved as files."""
    lists = any(question.windows for question in published.questions)
    kinds = [kind for kind, is_one in (("field", published.field_code), ("list", lists)) if is_one]
    document = published.page(post) | ({"said": said(kinds, published.languages)} if kinds else {})
    survey = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    names = (*CODE, *(FURTHER[kind] for kind in kinds))
    code = {name: (STATIC / name).read_text(encoding="utf-8") for name in names}
    spoken = {
        f"texts/{lang}.json": sentences(lang) for lang in LANGUAGES if lang in ("en", *published.languages)
    }
    mechanisms = {f"mechanisms/{name}.json": text for name, text in published.mechanism_files().items()}
    return Page(
        {
            "index.html": index(survey, post, published.languages),
            **code,
            **spoken,
            "survey.json": survey,
            **mechanisms,
        }
    )


def index(survey: str, post: str | None = None, languages: Sequence[str] = ("en",)) -> str:
    """index.html for the text of a survey.json. But for one line, it is the same for all surveys."""
    text = (STATIC / "form.html").read_text(encoding="utf-8")
    for name in (*CODE, *FURTHER.values()):
        text = text.replace(f'="{name}"', f'="{name}" integrity="{_integrity((STATIC / name).read_bytes())}"')
    host = urlsplit(post or "")
    if host.netloc:
        text = text.replace(CONNECT, f"{CONNECT} {host.scheme}://{host.netloc}")
    named = {
        "texts": " ".join(f"{lang} {_integrity(sentences(lang).encode())}" for lang in LANGUAGES),
        "survey": " ".join((_integrity(survey.encode()), *languages)),
    }
    for name, content in named.items():
        text = text.replace(META.format(name), META.format(name) + content)
    return text


def sentences(lang: str) -> str:
    """texts/LANG.json: the page's own sentences, but for those that only some surveys need."""
    needed = {key for kind in FURTHER for key in further(kind)}
    return canonical({key: text for key, text in catalogue(lang).items() if key not in needed}) + "\n"


def said(kinds: Sequence[str], languages: Sequence[str]) -> dict[str, dict[str, str]]:
    """The sentences that surveys of these kinds need besides, by language."""
    spoken = [lang for lang in LANGUAGES if lang in ("en", *languages)]
    return {lang: {key: catalogue(lang)[key] for kind in kinds for key in further(kind)} for lang in spoken}


def _integrity(content: bytes) -> str:
    """What a browser compares a file with before it uses it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


def check_new(folder: Path) -> None:
    """Refuse a folder that holds something."""
    if folder.is_dir() and any(folder.iterdir()):
        raise FileError(f"{folder} is not empty", remedy="choose a new folder")


def write_form(published: Published, output: str | os.PathLike[str]) -> list[Path]:
    """The files of the folder; one that exists must be empty."""
    if published.invitation and published.post is None:
        raise SurveyError(
            "a form whose reports are saved as files cannot check invitations",
            remedy='leave out invitation = true, or give post = "https://…"',
        )
    if published.field_code and published.post is None:
        raise SurveyError(
            "field mode sends the reports that wait, so the form needs an address for them",
            remedy='give post = "https://…", or leave out field_code',
        )
    folder = Path(output)
    try:
        check_new(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for part in ("mechanisms", "texts"):
            (folder / part).mkdir()
    except OSError as error:
        raise FileError("the folder cannot be written", given=f"{folder}: {error.strerror}") from None
    how = BY_FILE if published.post is None else BY_POST.format(post=published.post)
    page = page_of(published, published.post)
    texts = dict(page.files)
    readme = (STATIC / "README.txt").read_text(encoding="utf-8")
    texts["README.txt"] = readme.format(title=published.title, how=how, digest=page.digest)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]
