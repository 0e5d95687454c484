"""Tuning: each constant stands once, says its unit and reason, names its benchmark, and is used."""

import ast
import re

from extremal.optimization import tuning
from tests.support.root import ROOT

FOLDER = ROOT / "src" / "extremal" / "optimization"
TEXT = (FOLDER / "tuning.py").read_text(encoding="utf-8")
NAMES = [name for name in vars(tuning) if name.isupper()]


def test_every_constant_has_a_comment_in_a_group_that_names_a_benchmark():
    groups = re.split(r"\n\n(?=#)", TEXT)[1:]
    assert sum(len(re.findall(r"^[A-Z_]+ = ", group, re.MULTILINE)) for group in groups) == len(NAMES)
    for group in groups:
        named = re.findall(r"`(?:benchmarks/)?(\w+\.py)`", group)
        assert named, group[:80]
        assert all((ROOT / "benchmarks" / name).is_file() for name in named)
        lines = group.splitlines()
        for k, line in enumerate(lines):
            if re.match(r"[A-Z_]+ = ", line):
                beside = " ".join(lines[k : k + 3]) if line.endswith("(") else line
                assert "#" in beside or lines[k - 1].startswith("#"), line


def test_every_constant_is_used_outside_of_its_module():
    used = set()
    for path in FOLDER.rglob("*.py"):
        if path.name != "tuning.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert [name for name in NAMES if name not in used] == []
