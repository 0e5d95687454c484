"""Running the command line inside the test process, with pipes and redirections as a shell would make them."""

import io
import os
import random
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

from extremal.cli import main

ANSWERS = ["never", "once", "often"]


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def error_lines(self):
        return self.err.splitlines()


def run(*arguments, stdin=b""):
    """What a command prints, and its exit status."""
    before = sys.stdin, sys.stdout, sys.stderr
    raw = io.BytesIO(stdin), io.BytesIO(), io.BytesIO()
    sys.stdin, sys.stdout, sys.stderr = (io.TextIOWrapper(r, encoding="utf-8", newline="") for r in raw)
    try:
        status = main([str(argument) for argument in arguments])
        sys.stdout.flush()
        sys.stderr.flush()
        return Done(status, raw[1].getvalue().decode(), raw[2].getvalue().decode())
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def shell(line):
    """A line of commands joined by |, with < and >; stops at the first that fails."""
    piped = b""
    for command in line.split(" | "):
        words, target = shlex.split(command), None
        assert words.pop(0) == "extremal", line
        if "<" in words:
            at = words.index("<")
            piped = Path(words[at + 1]).read_bytes()
            del words[at : at + 2]
        if ">" in words:
            at = words.index(">")
            target = words[at + 1]
            del words[at : at + 2]
        done = run(*words, stdin=piped)
        if done.status:
            return done
        piped = done.out.encode()
        if target is not None:
            Path(target).write_bytes(piped)
    return done


def refuse(*arguments, stdin=b"", says=""):
    """The command is refused as it should be, in words that hold `says`."""
    before = sorted(os.listdir())
    done = run(*arguments, stdin=stdin)
    assert done.status == 2, done
    assert done.out == ""
    assert len(done.error_lines) == 1, done.err
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
    assert len(done.err) < 800
    assert says in done.err
    assert not re.search(r"=True|\w\(\)|\w\((path|\.\.\.|prior|counts)|_column\b", done.err), (
        done.err
    )  # words of Python
    assert "\x1b" not in done.err
    assert sorted(os.listdir()) == before


def write_survey(folder, people=600, seed=1):
    """survey.csv with columns id, answer, age in the folder."""
    rng = random.Random(seed)
    rows = [f"{i},{rng.choices(ANSWERS, [5, 3, 2])[0]},{rng.randint(18, 90)}\n" for i in range(people)]
    path = Path(folder) / "survey.csv"
    path.write_text("id,answer,age\n" + "".join(rows), encoding="utf-8")
    return path


def environment():
    """For a process of its own, without what changes its output."""
    kept = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "NO_COLOR", "COLUMNS")
    }
    source = str(Path(__file__).parents[2] / "src")
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**kept, "PYTHONPATH": path}
