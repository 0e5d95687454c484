"""Pictures of what people see, for the README and the documentation, made from the real pages in a browser.

    python tools/screenshots.py          docs/_static/{phone,results,audit}-{light,dark}.png and pictures.json

pictures.json says what each picture shows, as a digest of the page's sources: a test compares it, and fails when a page
has changed since its picture was made. Needs Debian's chromium-headless-shell.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "docs" / "_static"
PACKAGE = ROOT / "src" / "extremal"
SURVEY = """
id = "work-and-respect-1"
title = "Work and respect"
introduction = "How common is harassment where we work? Your answer stays on your phone. It takes one minute."
collector = "Ada Lovelace, Institute of Work"
contact = "ada@example.org"
respondents = "https://example.org/respondents"
width = 0.1
people = 2000

[[question]]
name = "harassed"
text = "Has anybody harassed you at work in the last twelve months?"
answers = ["yes, more than once", "yes, once", "no", "I prefer not to say"]
epsilon = 0.7
prior = [0.08, 0.12, 0.72, 0.08]
"""
SHOWN = {  # what decides how each picture looks
    "phone": [
        "collection/static/form.html",
        "collection/static/form.css",
        "collection/static/form.js",
        "collection/static/page.json",
        "collection/static/texts.js",
    ],
    "results": [f"collection/static/results.{kind}" for kind in ("html", "css", "js")],
    "audit": ["auditing/page.css", "auditing/report.py", "auditing/pictures.py", "auditing/text.py"],
}


def digests() -> dict[str, str]:
    """What each picture shows, as one SHA-256 of the sources of its page."""
    return {
        name: hashlib.sha256(b"".join((PACKAGE / path).read_bytes() for path in paths)).hexdigest()
        for name, paths in SHOWN.items()
    }


def main() -> None:
    from playwright.sync_api import sync_playwright

    from extremal.collection.designs import check
    from extremal.collection.rehearsal import fill
    from extremal.collection.server import Settings, running
    from extremal.collection.store import create_store
    from extremal.collection.survey import parse_survey

    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        survey = parse_survey(SURVEY, Path(folder, "survey.toml"))
        published, _ = check(survey)
        audit = Path(folder, "audit.html")
        mechanism = str(Path(folder, "mechanism.json"))
        counts = str(ROOT / "examples" / "earlier.csv")
        extremal("design", "--counts", counts, "--epsilon", "0.7", "-o", mechanism)
        extremal("audit", mechanism, "--report-file", str(audit))
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        with create_store(Path(folder, "survey.db"), published) as store:
            fill(store, 1200, np.random.default_rng(1))
            with running(store, Settings("secret", log=lambda line: None)) as (address, secret):
                for scheme in ("light", "dark"):
                    look: dict[str, Any] = {"color_scheme": scheme, "device_scale_factor": 2}
                    page = chromium.new_page(viewport={"width": 390, "height": 640}, **look)
                    page.goto(address)
                    answer(page)
                    take(page, f"phone-{scheme}")
                    page = chromium.new_page(viewport={"width": 760, "height": 700}, **look)
                    page.goto(f"{address}results")
                    page.get_by_label("secret").fill(secret)
                    page.get_by_role("button", name="Show the results").click()
                    page.get_by_text("prefer not to say").first.wait_for()
                    take(page, f"results-{scheme}")
                    page = chromium.new_page(viewport={"width": 960, "height": 660}, **look)
                    page.goto(audit.as_uri())
                    take(page, f"audit-{scheme}")
    (STATIC / "pictures.json").write_text(json.dumps(digests(), indent=2) + "\n", encoding="utf-8")


def extremal(*words: str) -> None:
    """Run a command."""
    subprocess.run([sys.executable, "-m", "extremal", *words], check=True, capture_output=True)


def answer(page: Any) -> None:
    """Choose an answer to the private question."""
    page.locator("#start").click()
    page.get_by_label("no", exact=True).check()


def take(page: Any, name: str) -> None:
    """The picture, with few colours, so that it is small."""
    from PIL import Image

    path = STATIC / f"{name}.png"
    page.screenshot(path=path)
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
