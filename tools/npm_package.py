"""The npm package in a folder: the scripts for pages, as the Python package has them, with their types.

    python tools/npm_package.py build/npm && npm pack ./build/npm

Which files belong to it follows from what `contrib/npm/package.json` exports and from what these import.
"""

import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "src" / "extremal" / "collection" / "static"
SOURCE = ROOT / "contrib" / "npm"
IMPORT = re.compile(r'^(?:import|export)\b[^;"]*\bfrom "\./([\w.-]+)";', re.MULTILINE)
VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)


def scripts(exported: list[str]) -> list[str]:
    """These scripts, and all that they import."""
    found: list[str] = []
    waiting = list(exported)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.append(name)
            waiting += IMPORT.findall((STATIC / name).read_text(encoding="utf-8"))
    return sorted(found)


def semantic(version: str) -> str:
    """A version of Python as npm writes it: 0.2.0.dev1 is 0.2.0-dev.1."""
    release, kind, number = re.fullmatch(r"([\d.]+?)(?:\.?(a|b|rc|dev)(\d+))?", version).groups()
    return release if kind is None else f"{release}-{kind}.{number}"


def build(folder: Path) -> None:
    """Write the package into the folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    about = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))
    (version,) = VERSION.findall((ROOT / "src" / "extremal" / "__init__.py").read_text(encoding="utf-8"))
    exported = [entry["default"][2:] for entry in about["exports"].values() if isinstance(entry, dict)]
    names = scripts(exported)
    for name in names:
        shutil.copyfile(STATIC / name, folder / name)
    for path in (*sorted(SOURCE.glob("*.d.ts")), SOURCE / "README.md", ROOT / "LICENSE"):
        shutil.copyfile(path, folder / path.name)
    about = {"name": about.pop("name"), "version": semantic(version), **about}
    about["files"] = sorted({*names, *(path.name for path in SOURCE.glob("*.d.ts"))})
    (folder / "package.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
