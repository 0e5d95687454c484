"""Print what pip must install for the given requirements: versions and hashes from constraints.txt.

    python tools/locked.py ".[test]"        dependencies of the project with these extras
    python tools/locked.py --group build    packages of a dependency group
    python tools/locked.py uv               packages by name

The output is for `pip install --require-hashes -r`. pip checks hashes only if every package that it installs is listed
with its version and hashes, so constraints.txt as a whole would install everything, and as constraints it is refused.
The comments that `make lock` leaves in it say what each package is needed by; this program follows them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def normal(name: str) -> str:
    """The form of a package's name that is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(text: str) -> tuple[dict[str, str], dict[str, set[str]]]:
    """For each package its lines, and which packages need it."""
    lines: dict[str, list[str]] = {}
    needed_by: dict[str, set[str]] = {}
    name = ""
    for line in text.splitlines():
        if found := re.match(r"[A-Za-z0-9][\w.-]*", line):
            name = normal(found[0])
            lines.setdefault(name, []).append(line)
            needed_by.setdefault(name, set())
        elif found := re.fullmatch(r"    #(?: via)? +([A-Za-z0-9][\w.-]*)", line):
            needed_by[name].add(normal(found[1]))
        elif line.startswith("    --hash="):
            lines[name].append(line)
    return {name: "\n".join(block) for name, block in lines.items()}, needed_by


def asked_for(requirements: list[str], project: dict) -> set[str]:
    """The packages that the requirements name themselves."""
    table = project["project"]
    found: set[str] = set()
    waiting = list(requirements)
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        if requirement in seen:
            continue
        seen.add(requirement)
        name, extras = re.match(r"([\w.-]+)\s*(?:\[([^\]]*)\])?", requirement).groups()
        if name not in (".", table["name"]):
            found.add(normal(name))
            continue
        waiting += table["dependencies"]
        for extra in filter(None, re.split(r"[\s,]+", extras or "")):
            waiting += table["optional-dependencies"][extra]
    return found


def locked(requirements: list[str], project: dict, lock: str) -> str:
    """The part of the lock that holds these packages and everything that they need."""
    lines, needed_by = read_lock(lock)
    chosen = asked_for(requirements, project)
    if missing := sorted(chosen - lines.keys()):
        raise SystemExit(f"error: constraints.txt lacks {', '.join(missing)}; run make lock")
    while more := {name for name, parents in needed_by.items() if parents & chosen} - chosen:
        chosen |= more
    return "".join(f"{lines[name]}\n" for name in sorted(chosen))


def main(arguments: list[str]) -> None:
    """Print the lines for the arguments; -e is passed over, so that they may be those of pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements, words = [], iter(arguments)
    for word in words:
        if word == "--group":
            requirements += project["dependency-groups"][next(words)]
        elif word != "-e":
            requirements.append(word)
    print(locked(requirements, project, (ROOT / "constraints.txt").read_text(encoding="utf-8")), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
