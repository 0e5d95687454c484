"""README and docs on surveys: surveys are valid, commands run, tables of keys are those that are read."""

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from extremal.collection.designs import load_designs
from extremal.collection.store import Submission, create_store
from extremal.collection.survey import KEYS, TOP, read_survey
from tests.support.cli_cases import shell
from tests.support.phones import drawn

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "survey.md").read_text(encoding="utf-8")
KEYS_PAGE = (ROOT / "docs" / "api" / "survey-toml.md").read_text(encoding="utf-8")
LEAKS = re.compile(r"(?<=\d%: )\d\.\d+")  # under designs that are within 0.1 % of the best
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(blocks):
    """What each command of these blocks prints. Where a server would run, 200 people answer."""
    printed = {}
    for line in "".join(blocks).splitlines():
        command = line.partition("  #")[0].strip()
        if command.startswith("extremal survey serve"):
            _answer()  # a server has tests of its own
            continue
        done = shell(command)
        assert done.status == 0, (command, done.err)
        printed[command] = " ".join(done.out.split())
    return printed


def test_the_four_commands_of_the_readme_go_from_an_empty_folder_to_shares(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    part = README.partition("## Four commands from an empty folder")[2]
    four = BLOCK.search(part)[2]
    assert four.count("\n") == 4
    printed = commands([four])
    assert "visits: 4 shares from 195 reports" in printed["extremal estimate survey.db"]


@pytest.mark.slow
def test_the_tutorial_goes_from_an_empty_folder_to_published_shares(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")  # as wide as the page
    blocks = BLOCK.findall(TUTORIAL)
    printed = commands(code for kind, code in blocks if kind == "sh")
    assert len(printed) == 7
    known = Path("survey.toml").read_text(encoding="utf-8").partition("[learn]")[0]
    (prior,) = re.findall(r"`(prior = \[.*?\])`", TUTORIAL)
    Path("known.toml").write_text(known.replace('prior = "learn"', prior), encoding="utf-8")
    (needed,) = re.findall(
        r"visits .* ([\d,]+)$", shell("extremal survey check known.toml").out, re.MULTILINE
    )
    assert f"as in section 1, {needed} would do." in " ".join(TUTORIAL.split())
    (survey,) = [code for kind, code in blocks if kind == "toml"]
    assert survey == re.sub(r'(?<=^id = ")[0-9a-f]{16}', "…", Path("survey.toml").read_text(encoding="utf-8"))
    (shown,) = [code for kind, code in blocks if kind == "text"]
    told = re.sub("[0-9a-f]{64}$", "…", printed["extremal survey check survey.toml"])
    shown = " ".join(shown.split())
    assert LEAKS.sub("…", shown) == LEAKS.sub("…", told)
    ends = re.search(r"Stages end after ([\d,]+), ([\d,]+), ([\d,]+) people", shown).groups()
    assert "When {} people have answered, the server designs".format(*ends) in " ".join(TUTORIAL.split())
    assert "It does so again after {1} and {2} people".format(*ends) in " ".join(TUTORIAL.split())
    here, there = ([float(figure) for figure in LEAKS.findall(text)] for text in (shown, told))
    assert here == pytest.approx(there, rel=0.02)
    assert Path("shares.csv").read_text(encoding="utf-8").count("\n") == 5


def test_the_survey_of_the_page_is_valid_and_its_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE)
    (survey,) = [code for kind, code in blocks if kind == "toml"]
    Path("survey.toml").write_text(survey, encoding="utf-8")
    assert len(commands(code for kind, code in blocks if kind == "sh")) == 4
    assert Path("form/index.html").exists()


def _answer():
    published = load_designs(read_survey("survey.toml"))
    with create_store("survey.db", published) as store:
        store.add(Submission(f"{k:032x}", published.content(drawn(published, k))) for k in range(200))


def test_the_tables_list_the_keys_that_a_survey_can_have():
    tables = KEYS_PAGE.partition("<!-- keys -->")[2].partition("<!-- keys:end -->")[0]
    survey, question = tables.split("| of a question |")
    assert set(re.findall(r"^\| `(\w+)`", survey, re.MULTILINE)) == set(TOP)
    assert set(re.findall(r"^\| `(\w+)`", question, re.MULTILINE)) == set(KEYS)
