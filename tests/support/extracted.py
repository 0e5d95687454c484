"""The programs that are extracted from the proofs in proofs/."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import extremal as ex
from extremal.errors import ExtremalError
from tests.support.draws import by_node
from tests.support.root import ROOT

TOOLS = {"EXTREMAL_REQUIRE_COQ": ("coqc", "ocamlopt"), "EXTREMAL_REQUIRE_NODE": ("node",)}


def missing():
    """What these tests need and is not there, unless it must be: tools, and the proofs that `make proofs` checked."""
    lacking = [
        tool
        for name, tools in TOOLS.items()
        if not os.environ.get(name)
        for tool in tools
        if not shutil.which(tool)
    ]
    checked = (ROOT / "build" / "proofs" / "check").exists() or os.environ.get("EXTREMAL_REQUIRE_COQ")
    return lacking if checked else [*lacking, "make proofs"]


@cache
def program(name):
    """Where the program is; it is made if it is not there or not up to date."""
    subprocess.run(["sh", str(ROOT / "proofs" / "make.sh")], check=True, capture_output=True)
    return ROOT / "build" / "proofs" / name


def by_checker(paths):
    """What the extracted checker says of each file: "yes", or "no" with or without a reason."""
    done = subprocess.run([program("check"), *paths], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def by_python(path):
    """ "yes" if the library loads it, else why it does not."""
    try:
        ex.load(path)
    except ExtremalError as error:
        return str(error)
    return "yes"


def verdicts(texts, folder):
    """Whether each of the three says yes to files with these texts, as triples: the checker, Python, JavaScript."""
    paths = [Path(folder) / f"{k}.json" for k in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    python = [by_python(path) == "yes" for path in paths]
    script = [isinstance(verdict, dict) for verdict in by_node(texts)[0]]
    return list(zip([word == "yes" for word in by_checker(paths)], python, script, strict=True))
