"""Pages of the gallery, made by running the scripts in examples/ when the site is built."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

FIRST = ("people", "mechanism", "guessing_risk", "tradeoff", "planning", "survey_estimates")


class Example(NamedTuple):
    name: str
    title: str
    text: str

    @property
    def caption(self) -> str:
        """The first sentence of the text, below the picture among the others."""
        return re.split(r"(?<=[.?])\s", self.text, maxsplit=1)[0]


def read(script: Path) -> Example:
    """Title and text of an example: the first line and the rest of its docstring."""
    doc = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    if not doc or "\n\n" not in doc:
        raise ValueError(f"{script} must begin with a docstring: a title, an empty line, and a text")
    title, text = doc.split("\n\n", 1)
    return Example(script.stem, title.rstrip("."), text)


def run(script: Path, folder: Path) -> str:
    """What the script prints; its picture goes into the folder."""
    command = [sys.executable, "-W", "error", str(script), str(folder)]
    undated = os.environ | {"SOURCE_DATE_EPOCH": "0"}  # the same bytes each time
    return subprocess.run(
        command, env=undated, check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout


def build(scripts: Path, folder: Path) -> None:
    """One page for each script, and gallery.txt with a tile for each, which index.md includes."""
    folder.mkdir(exist_ok=True)
    rank = {name: k for k, name in enumerate(FIRST)}
    paths = sorted(scripts.glob("*.py"), key=lambda path: (rank.get(path.stem, len(rank)), path.stem))
    examples = [read(path) for path in paths]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each runs in a process of its own
        outputs = pool.map(run, paths, [folder] * len(paths))
    for example, printed in zip(examples, outputs, strict=True):
        page = (
            f"# {example.title}\n\n{example.text}\n\n![{example.title}]({example.name}.svg)\n\n"
            f"```{{literalinclude}} ../../examples/{example.name}.py\n:language: python\n```\n\n"
            f"It prints:\n\n```text\n{printed.rstrip()}\n```\n"
        )
        (folder / f"{example.name}.md").write_text(page, encoding="utf-8")
    tiles = "\n".join(
        f":::{{container}}\n[![{e.title}](generated/{e.name}.svg)](generated/{e.name}.md)\n\n"
        f"[{e.title}](generated/{e.name}.md)\n\n{e.caption}\n:::\n"
        for e in examples
    )
    names = "\n".join(f"generated/{e.name}" for e in examples)
    (folder / "gallery.txt").write_text(
        f"::::{{container}} gallery\n{tiles}::::\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n",
        encoding="utf-8",
    )
