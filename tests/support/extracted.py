"""The programs that are extracted from the proofs in proofs/."""

import os
import shutil
import subprocess
from functools import cache

from tests.support.root import ROOT

TOOLS = {"EXTREMAL_REQUIRE_COQ": ("coqc", "ocamlopt"), "EXTREMAL_REQUIRE_NODE": ("node",)}


def missing():
    """What these tests need and is not installed, unless it must be."""
    return [
        tool
        for name, tools in TOOLS.items()
        if not os.environ.get(name)
        for tool in tools
        if not shutil.which(tool)
    ]


@cache
def program(name):
    """Where the program is; it is made if it is not there or not up to date."""
    subprocess.run(["sh", str(ROOT / "proofs" / "make.sh")], check=True, capture_output=True)
    return ROOT / "build" / "proofs" / name
