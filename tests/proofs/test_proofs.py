"""The proofs in proofs/: Coq accepts all of them, and none assumes anything."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.extracted import missing

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "proofs").glob("*.v"))
PAGE = "\n".join(
    (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("proofs.md", "api/theorems.md")
)

lacking = {"coqc", "make proofs"}.intersection(missing())
needs_coq = pytest.mark.skipif(bool(lacking), reason=f"needs {lacking}")


def without_comments(text):
    """Coq's comments nest."""
    while True:
        shorter = re.sub(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", " ", text, flags=re.S)
        if shorter == text:
            return text
        text = shorter


def theorems():
    """Every theorem and corollary, as file.name."""
    found = []
    for path in SOURCES:
        code = without_comments(path.read_text(encoding="utf-8"))
        names = re.findall(
            r"^ *(?:(?:Local|Global)\s+)?(?:Theorem|Corollary|Proposition|Fact)\s+([\w']+)", code, re.M
        )
        found += [f"{path.stem}.{name}" for name in names]
    return found


@needs_coq
def test_every_theorem_is_closed_under_the_global_context():
    done = subprocess.run(
        ["sh", str(ROOT / "proofs" / "make.sh")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assumed = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert sorted(assumed) == sorted(theorems())
    assert set(assumed.values()) == {"Closed under the global context"}


def test_nothing_is_admitted_assumed_or_left_out():
    listed = re.search(r'^files="([\w ]+)"$', (ROOT / "proofs" / "make.sh").read_text("utf-8"), re.M)[1]
    assert sorted(listed.split()) == [path.stem for path in SOURCES]
    words = (
        r"\b(Admitted|admit|Abort|Axioms?|Parameters?|Conjecture|give_up|Unset Guard Checking|bypass_check)\b"
    )
    for path in SOURCES:
        code = without_comments(path.read_text(encoding="utf-8"))
        assert not re.search(words, code), path.name
        depth = 0  # in sections, what is assumed becomes a hypothesis of every theorem; outside, an axiom
        for line in code.splitlines():
            depth += bool(re.match(r"\s*Section\b", line)) - bool(re.match(r"\s*End\b", line))
            assert depth > 0 or not re.match(r"\s*(Variables?|Hypothes[ie]s|Context)\b", line), (
                path.name,
                line,
            )


def test_every_theorem_is_stated_with_all_that_it_assumes():
    code = without_comments((ROOT / "proofs" / "statements.v").read_text(encoding="utf-8"))
    stated = re.findall(r"^Proof\. exact \(@([\w.']+)\)\. Qed\.$", code, re.M)
    assert sorted(stated) == sorted(theorems())
    assert code.count("Goal ") == len(stated)


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize(
    "added",
    [
        "Lemma wrong : False. Admitted.",
        *(
            pytest.param(added, marks=pytest.mark.slow)
            for added in (
                "Axiom wrong : False.\nTheorem anything : False. Proof. exact wrong. Qed.",
                "Parameter wrong : False.\nTheorem anything : False. Proof. exact wrong. Qed.",
                "Theorem wrong : False. Admitted.",
                "Unset Guard Checking. Fixpoint wrong (n : nat) : False := wrong n.",
            )
        ),
    ],
)
def test_what_is_assumed_fails_the_check_whether_a_theorem_uses_it_or_not(tmp_path, added):
    shutil.copytree(ROOT / "proofs", tmp_path / "proofs")
    with (tmp_path / "proofs" / "algebra.v").open("a", encoding="utf-8") as file:
        file.write(f"\n{added}\n")
    script = tmp_path / "proofs" / "make.sh"
    only = re.sub(r"^files=.*$", 'files="algebra"', script.read_text("utf-8"), flags=re.M)
    script.write_text(re.sub(r"^for program in .*; do$", "for program in; do", only, flags=re.M), "utf-8")
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True, check=False)
    assert (tmp_path / "build" / "proofs" / "algebra.vo").exists(), done.stderr  # Coq itself accepts it
    assert done.returncode == 1, done.stderr
    assert "Extremal.algebra.wrong" in done.stderr


# A theorem on the page: its name and words, its formula, then a function of the library and a test.
ENTRY = re.compile(
    r"^\*\*`(?P<theorem>[\w.]+)`\*\* (?P<words>(?:.+\n)+)\n(?P<formula>(?:> .+\n)+)\n"
    r"`(?P<source>[\w/.]+)`: `(?P<function>[\w.]+)`;\s`(?P<file>[\w/.]+)`:\s`(?P<test>\w+)`\n",
    re.M,
)


def entries():
    return [found.groupdict() for found in ENTRY.finditer(PAGE)]


def defines(path, name):
    """Whether a file of Python, C or JavaScript defines a function, a class or a method of one."""
    text = path.read_text(encoding="utf-8")
    outer, _, inner = name.partition(".")
    whole = rf"^(?:(?:def|class|(?:async |export )*function) {outer}\b|static [\w ]+ {outer}\()"
    found = re.search(whole, text, re.M)
    return bool(found and (not inner or re.search(rf"^    def {inner}\(", text[found.start() :], re.M)))


def test_the_page_has_every_theorem_once_in_words_in_mathematics_and_with_a_function_and_a_test():
    assert sorted(entry["theorem"] for entry in entries()) == sorted(theorems())
    stems = "|".join(path.stem for path in SOURCES)
    assert set(re.findall(rf"`((?:{stems})\.[\w']+)`", PAGE)) <= set(theorems())
    wrong = [
        entry["theorem"]
        for entry in entries()
        if len(entry["words"].split()) < 5
        or not re.search("[≤≥<>=⟺⟹⊆]", entry["formula"][2:])
        or not defines(ROOT / "src" / "extremal" / entry["source"], entry["function"])
        or not defines(ROOT / entry["file"], entry["test"])
    ]
    assert wrong == []


def test_the_files_that_the_page_names_exist():
    named = set(re.findall(r"`((?:[\w-]+/)+[\w-]+(?:\.(?:py|v|ml|c|js))?)`", PAGE))
    named = {name for name in named if not name.startswith("build/")}  # what `make proofs` makes
    assert len(named) > 20
    missing = {
        name
        for name in named
        if not (ROOT / name).exists() and not (ROOT / "src" / "extremal" / name).exists()
    }
    assert missing == set()
