"""What surrounds the package: the container, the workflow, hooks and the paper refer to things that exist."""

import contextlib
import fnmatch
import os
import re
import shlex
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def instructions(name):
    lines = re.findall(rf"^{name} (.*)$", CONTAINER, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def copied():
    """Paths of the repository that the container is built from."""
    return [path for words in instructions("COPY") if not words[0].startswith("--") for path in words[:-1]]


def test_everything_that_is_copied_into_the_container_exists_and_is_sent_to_the_builder():
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert copied()
    for path in copied():
        assert (ROOT / path).exists(), path
        assert any(fnmatch.fnmatch(path, pattern) for pattern in allowed), path


def test_what_the_container_copies_is_all_that_the_build_reads():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [
        project["project"]["readme"],
        *project["project"]["license-files"],
        "hatch_build.py",
        "constraints.txt",
    ]
    assert {*needed, "pyproject.toml", "src", "tools"} == set(copied())


def test_the_container_serves_as_a_user_of_its_own_and_with_options_that_exist():
    user = re.search(r"^RUN useradd --uid \d+ --create-home (\w+)$", CONTAINER, re.MULTILINE)
    assert instructions("USER") == [[user[1]]]
    (command,) = re.findall(r"^CMD (\[.*\])$", CONTAINER, re.MULTILINE)
    words = re.findall(r'"([^"]*)"', command)
    assert words[:3] == ["survey", "serve", "survey.toml"]
    shown = subprocess.run(
        [sys.executable, "-m", "extremal", "survey", "serve", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env=os.environ | {"COLUMNS": "200"},
    ).stdout
    options = re.findall(r"(?<!\w)--[\w-]+", "\n".join(re.findall(r"serve(?:.*\\\n)*.*", CONTAINER)))
    assert {"--host", "--url", "--secret-file"} <= set(options)
    assert all(option in shown for option in options)


@pytest.mark.slow
def test_the_commands_of_the_container_install_a_server_that_answers(tmp_path):
    """Without an engine for containers: the same script, from the same files alone, into an empty environment."""
    source, target = tmp_path / "source", tmp_path / "opt" / "extremal"
    source.mkdir()
    subprocess.run(["cp", "-r", *(str(ROOT / path) for path in copied()), str(source)], check=True)
    for stale in source.rglob("*.so"):
        stale.unlink()
    (run,) = [words for words in instructions("RUN") if words[0] == "sh"]
    assert run[2] == "/opt/extremal"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYTHON": sys.executable}
    subprocess.run([*run[:2], str(target), *run[3:]], cwd=source, env=environment, check=True)
    study = tmp_path / "study"
    study.mkdir()
    (study / "survey.toml").write_text(
        'title = "T"\n[[question]]\nname = "q"\ntext = "Q?"\nanswers = ["yes", "no"]\nepsilon = 0.5\n'
        'prior = ["40%", "60%"]\n'
    )
    command = [str(target / "bin" / "extremal"), "survey"]
    subprocess.run([*command, "check", "survey.toml"], cwd=study, env=environment, check=True)
    serve = [*command, "serve", "survey.toml", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(serve, cwd=study, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next(
                found[1] for line in server.stdout if (found := re.search(r"Survey: +(http\S+)", line))
            )
            with contextlib.closing(urllib.request.urlopen(address, timeout=60)) as page:
                assert page.status == 200
                assert b"<html" in page.read()
        finally:
            server.terminate()


def test_the_workflow_can_only_read_and_runs_pinned_actions_and_targets_that_exist():
    assert "permissions:\n  contents: read\n" in WORKFLOW
    assert WORKFLOW.count("permissions:") == 1
    actions = re.findall(r"uses: (\S+)", WORKFLOW)
    assert actions
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action) for action in actions)
    assert WORKFLOW.count("actions/checkout@") == WORKFLOW.count("persist-credentials: false")
    targets = re.findall(r"\bmake ([\w-]+)", WORKFLOW)
    assert {"coverage", "release", "test"} <= set(targets)
    assert all(f"\n.PHONY: {target}\n" in MAKEFILE for target in targets)
    assert "run: .ci/run\n" in WORKFLOW
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    steps = re.findall(r"step make ([\w-]+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert steps == ["test-environment", "lint", "proofs", "test", "docs", "test-slow"]


def test_every_target_of_the_makefile_is_explained_at_its_top():
    targets = set(re.findall(r"^\.PHONY: ([\w-]+)$", MAKEFILE, re.MULTILINE))
    explained = set(re.findall(r"^# make ([\w-]+) ", MAKEFILE, re.MULTILINE))
    assert targets - explained == {"help", "test-environment"}


def test_hooks_run_the_locked_tools_with_the_options_of_make_lint():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert "rev:" not in hooks  # no second set of versions
    entries = re.findall(r"entry: \.venv-test/bin/python -m (\w+ [\w-]+)", hooks)
    lint = re.findall(r"\$\(test_python\) -m (\w+ [\w-]+)", MAKEFILE[MAKEFILE.index("\nlint:") :])[:3]
    assert entries == lint == ["ruff check", "ruff format", "mypy --strict"]


def test_the_paper_cites_what_its_bibliography_holds_and_its_figure_is_that_of_the_readme():
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),$", (ROOT / "paper" / "paper.bib").read_text("utf-8"), re.MULTILINE)
    assert len(entries) == len(set(entries))
    body = text.split("---\n", 2)[2]
    assert set(re.findall(r"(?<![\w.])@(\w+)", body)) == set(entries)
    assert 700 <= len(body.split()) <= 1000
    (times,) = re.findall(r"([\d.]+) times fewer people", " ".join(body.split()))
    assert f"**{times} times fewer people**" in (ROOT / "README.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:examples|docs|src|tests)/[\w/.]*)`", body):
        assert (ROOT / path).exists(), path


def test_the_citation_names_the_licence_of_the_package_and_addresses_are_https():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nlicense: {project['license']}\n" in citation
    assert all(address.startswith("https://") for address in project["urls"].values())


def test_every_word_of_the_glossary_leads_to_its_place():
    rows = re.findall(r"^\| (.+?) \| .+ \| `([^`]+)`(?: `([^`]+)`)? \|$", CONTRIBUTING, re.MULTILINE)
    assert len(rows) > 40
    words = [word.strip() for row in rows for word in row[0].split(",")]
    assert len(set(words)) == len(words)
    for word, path, name in rows:
        place = ROOT / "src" / "extremal" / path
        assert place.exists(), word
        if name:
            assert re.search(
                rf"\b(class|def) {name}\b|^ *{name}\b|\bself\.{name}\b", place.read_text(), re.MULTILINE
            ), word


def test_the_files_that_contributors_are_sent_to_are_there():
    paths = re.findall(r"`((?:src|tests|tools|docs)/[\w/.<>]+)`", CONTRIBUTING)
    assert len(paths) > 15
    assert [path for path in paths if "<" not in path and not (ROOT / path).exists()] == []


def test_the_names_that_contributors_are_sent_to_are_there():
    """Each stands between backticks before its file: `COMMANDS` of `src/extremal/cli/__init__.py`."""
    pairs = re.findall(r"`(\w+)`\s+(?:of|in)\s+`((?:src|tests)/[\w/.]+\.py)`", CONTRIBUTING)
    assert len(pairs) > 4
    for name, path in pairs:
        assert re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8")), (name, path)
