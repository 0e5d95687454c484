"""The questionnaire as a folder of static files for any web host."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import FileError, SurveyError
from .published import Published

STATIC = Path(__file__).parent / "static"
FILES = {
    "form.html": "index.html",
    "form.js": "form.js",
    "form.css": "form.css",
    "extremal.js": "extremal.js",
}
CONNECT = "connect-src 'self'"

README = """{title}

This folder is a questionnaire. Put it on any web host that serves files over https, and open index.html there. A
browser does not run it from the disk (file://).

{how}

The answers never leave the respondent's device: the page draws a random report there and shows it before it is sent.
survey.json holds the questions, mechanisms/ the probabilities, extremal.js the code that verifies them and draws.
"""
BY_FILE = (
    "Respondents save their report as a file and send it to you. Put the files into a store with\n"
    "  extremal survey add survey.toml report-*.json"
)
BY_POST = "Reports are posted to {post}\nas JSON; that address must allow pages of this host to post (CORS)."


def write_form(published: Published, output: str | os.PathLike[str]) -> list[Path]:
    """The files of the folder; one that exists must be empty."""
    if published.invitation and published.post is None:
        raise SurveyError(
            "a form whose reports are saved as files cannot check invitations",
            remedy='leave out invitation = true, or give post = "https://…"',
        )
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FileError(f"{folder} is not empty", remedy="choose a new folder")
        (folder / "mechanisms").mkdir()
    except OSError as error:
        raise FileError("the folder cannot be written", given=f"{folder}: {error.strerror}") from None
    how = BY_FILE if published.post is None else BY_POST.format(post=published.post)
    texts = {target: (STATIC / source).read_text(encoding="utf-8") for source, target in FILES.items()}
    if published.post is not None:
        host = urlsplit(published.post)
        texts["index.html"] = texts["index.html"].replace(CONNECT, f"{CONNECT} {host.scheme}://{host.netloc}")
    texts |= {f"mechanisms/{name}.json": text for name, text in published.mechanism_files().items()}
    texts["survey.json"] = json.dumps(published.page(published.post), indent=1, ensure_ascii=False) + "\n"
    texts["README.txt"] = README.format(title=published.title, how=how)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]
