"""The pictures of the README and the documentation show the pages as they are."""

import json
import re
import runpy

from tests.support.root import ROOT

STATIC = ROOT / "docs" / "_static"


def test_the_pictures_show_the_pages_as_they_are_now():
    """If this fails: run tools/screenshots.py, look at what it made, and commit it."""
    shown = json.loads((STATIC / "pictures.json").read_text(encoding="utf-8"))
    assert shown == runpy.run_path(str(ROOT / "tools" / "screenshots.py"))["digests"]()


def test_the_readme_shows_every_picture_in_light_and_in_dark_and_they_are_small():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = {f"{name}-{scheme}.png" for name in ("phone", "results", "audit") for scheme in ("light", "dark")}
    assert set(re.findall(r"docs/_static/([\w-]+\.png)", readme)) == named
    assert {path.name for path in STATIC.glob("*.png")} == named
    assert all((STATIC / name).stat().st_size < 120_000 for name in named)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_documentation_is_short():
    """The reference in docs/api is apart."""
    pages = list((ROOT / "docs").glob("*.md"))
    assert len(pages) <= 22
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 25_000
