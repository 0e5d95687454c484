"""What the pages show is what the code prints."""

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = re.compile(r"\d+\.\d+ s\b")  # the only thing that differs from run to run


def examples() -> list[tuple[str, str, str]]:
    """(name, code, output) of every python block that is followed by a text block."""
    found = []
    for page in PAGES:
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        blocks.append(("", ""))
        for (kind, code), (after, output) in pairwise(blocks):
            if kind == "python":
                found.append((f"{page.name}:{len(found)}", code, output if after == "text" else ""))
    return found


@pytest.mark.parametrize(("name", "code", "output"), examples(), ids=[name for name, *_ in examples()])
def test_every_example_prints_what_the_page_shows(name: str, code: str, output: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), {})
    shown = [line.rstrip() for line in printed.getvalue().rstrip().splitlines()]
    assert SECONDS.sub("… s", "\n".join(shown)) == SECONDS.sub("… s", output.rstrip())


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
