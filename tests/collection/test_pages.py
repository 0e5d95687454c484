"""docs/survey.md: its survey is valid, its commands run, and its tables of keys are those that are read."""

import re
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from extremal.collection.designs import load_designs
from extremal.collection.store import Submission, create_store
from extremal.collection.survey import KEYS, TOP, read_survey
from tests.support.cli_cases import shell
from tests.support.phones import drawn

PAGE = (Path(__file__).parents[2] / "docs" / "survey.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_way_from_an_empty_folder_to_published_shares(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE)
    (survey,) = [code for kind, code in blocks if kind == "toml"]
    Path("survey.toml").write_text(survey, encoding="utf-8")
    lines = [line for kind, code in blocks if kind == "sh" for line in code.splitlines()]
    assert len(lines) == 7
    for line in lines:
        if line.startswith("extremal survey serve"):
            _answer()  # a server has tests of its own
            continue
        done = shell(line)
        assert done.status == 0, (line, done.err)
    assert Path("shares.csv").read_text(encoding="utf-8").count("\n") == 4
    assert Path("form/index.html").exists()


def _answer():
    published = load_designs(read_survey("survey.toml"))
    with create_store("survey.db", published) as store:
        store.add(Submission(f"{k:032x}", published.content(drawn(published, k))) for k in range(200))


def test_the_tables_list_the_keys_that_a_survey_can_have():
    tables = PAGE.partition("<!-- keys -->")[2].partition("<!-- keys:end -->")[0]
    survey, question = tables.split("| of a question |")
    assert set(re.findall(r"^\| `(\w+)`", survey, re.MULTILINE)) == set(TOP)
    assert set(re.findall(r"^\| `(\w+)`", question, re.MULTILINE)) == set(KEYS)
