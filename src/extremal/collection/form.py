"""The questionnaire as a folder of static files for any web host."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import FileError, SurveyError
from .page import page_of
from .published import Published

README = """{title}

This folder is a questionnaire. Put it on any web host that serves files over https, and open index.html there. A
browser does not run it from the disk (file://).

{how}

The answers never leave the respondent's device: the page draws a random report there and shows it before it is sent.
survey.json holds the questions, mechanisms/ the probabilities, extremal.js the code that verifies them and draws.

The SHA-256 of index.html is
  {digest}
It stands for the whole page: index.html names the digests of the scripts, the style sheet and survey.json, and with
others the page does not work. So change nothing, and let no web host "optimise" or "minify" the files.
docs/respondents.md says how to compare it.
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
    page = page_of(published, published.post)
    texts = dict(page.files)
    texts["README.txt"] = README.format(title=published.title, how=how, digest=page.digest)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]
