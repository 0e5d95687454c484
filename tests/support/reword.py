"""How many tests fail when the library says the same in other words.

    python -m tests.support.reword FOLDER [--plain] [tests and options of pytest ...]

Copies the working tree to FOLDER, replaces each word of the messages in src by another, and runs the tests there.
Numbers, names with dashes, dots or underscores, code between backticks, and what is given to an error as `parameter` or
`given` stay; so do sentences of tests/promises.toml, which are pinned on purpose. With --plain nothing is replaced:
what fails then fails because of the copy. Prints the share of the tests that fail, by folder.

Messages are the texts of errors and warnings in all modules, and in the command line what it prints and the heads of
its tables.
"""

from __future__ import annotations

import argparse
import ast
import codecs
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

from tests.support.root import ROOT
from tests.support.wording import unworded

SPEAKS = re.compile(r"(Error|Warning|Refusal|Failed|wrong|refusal|refuse|warn|within|too_leaky|missing)$")
KEPT = {"parameter", "given", "error", "help", "metavar", "kind", "key", "words"}
PRINTED = ("cli",)


def other_words(text: str) -> str:
    """The same with every word replaced, but not between backticks."""
    return unworded(text, lambda word: codecs.encode(word, "rot13"))


class Reworded(ast.NodeTransformer):
    """A module with other messages."""

    def __init__(self, promised: str, printed: bool) -> None:
        self.promised, self.printed, self.speaking, self.replaced = promised, printed, False, 0

    def within(self, node: ast.AST, speaking: bool) -> ast.AST:
        before, self.speaking = self.speaking, speaking
        self.generic_visit(node)
        self.speaking = before
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):  # whatever makes the error is told its message
            self.within(node.exc, True)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = ast.unparse(node.func).rpartition(".")[2]
        speaking = bool(SPEAKS.search(name)) or (self.speaking and name in ("join", "format", "shorten"))
        if self.printed:
            speaking = speaking or name in ("print", "heading", "sentences", "warnings", "sentence", "table")
        return self.within(node, speaking or (self.speaking and name[:1].isupper()))

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return self.within(
            node, (self.speaking or node.arg in ("problem", "remedy")) and node.arg not in KEPT
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self.within(node, False)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self.within(node, False)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.visit(node.value)  # not the format
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not self.speaking or not isinstance(node.value, str):
            return node
        if len(node.value.split()) >= 4 and " ".join(node.value.split()) in self.promised:
            return node
        text = other_words(node.value)
        self.replaced += text != node.value
        return ast.copy_location(ast.Constant(text), node)


def promised() -> str:
    """All sentences that are listed."""
    listed = tomllib.loads((ROOT / "tests" / "promises.toml").read_text(encoding="utf-8"))
    places = [parts for kind in listed.values() for entry in kind for parts in entry["stands"].values()]
    quoted = [part for parts in places for part in parts]
    return "\n".join(" ".join(part.split()) for part in quoted)


def copy(target: Path, plain: bool) -> int:
    """The tree with other messages; how many were replaced."""
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    natives = (ROOT / "src" / "extremal" / "_native").glob("extremal.*")
    known, replaced = promised(), 0
    for name in [*listed.splitlines(), *(path.relative_to(ROOT).as_posix() for path in natives)]:
        source, place = ROOT / name, target / name
        if not source.is_file():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)
        if name.startswith("src/") and name.endswith(".py"):
            change = Reworded(known, name.startswith(tuple(f"src/extremal/{part}/" for part in PRINTED)))
            tree = ast.parse(source.read_text(encoding="utf-8"))
            if not plain:
                tree = ast.fix_missing_locations(change.visit(tree))
            place.write_text(ast.unparse(tree) + "\n", encoding="utf-8")
            replaced += change.replaced
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    return replaced


def main() -> int:
    parser = argparse.ArgumentParser(description="Count the tests that fail when messages change.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--plain", action="store_true", help="replace nothing")
    given, rest = parser.parse_known_args()
    target = given.folder.resolve()
    if target.exists() and not (target / "said.txt").exists():
        parser.error(f"{target} was not made by this script, which would replace it")
    print(f"{copy(target, given.plain)} messages replaced")
    environment = os.environ | {"PYTHONPATH": str(target / "src")}
    command = [sys.executable, "-m", "pytest", "-rfE", "--tb=line", "-p", "no:cacheprovider", *rest]
    said = subprocess.run(command, cwd=target, env=environment, capture_output=True, text=True).stdout
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+?)(?:::|\s|$)", said, re.MULTILINE)
    for folder, count in sorted(Counter(str(Path(name).parent) for name in failed).items()):
        print(f"{count:5d}  {folder}")
    (target / "said.txt").write_text(said, encoding="utf-8")
    print(said.strip().rpartition("\n")[2] or said[-300:])
    passed = sum(map(int, re.findall(r"(\d+) passed", said)))
    print(f"{len(failed)} of {len(failed) + passed} fail: {len(failed) / max(len(failed) + passed, 1):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
