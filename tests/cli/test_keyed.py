"""Keyed releases on the command line: occasions, and the ledger beside the key."""

import json
from pathlib import Path

import pytest

from tests.support.cli_cases import run, write_survey

HOW = ("--column", "answer", "--id-column", "id", "--key-file", "secret.key")


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write_survey(tmp_path)
    Path("counts.csv").write_text("answer,count\nnever,500\nonce,300\noften,200\n")
    for epsilon, name in (("0.3", "m.json"), ("0.4", "other.json")):
        assert run("design", "--counts", "counts.csv", "--epsilon", epsilon, "-o", name).status == 0
    assert run("key", "secret.key").status == 0
    return path


def privatize(survey, target, *more, mechanism="m.json"):
    return run("privatize", survey, "-o", target, "--mechanism", mechanism, *HOW, *more)


def entries(path="secret.key.ledger"):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_a_keyed_release_is_recorded_beside_the_key_and_may_be_repeated(survey):
    assert privatize(survey, "one.csv").status == 0
    assert privatize(survey, "two.csv").status == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    (entry,) = entries()
    assert (entry["column"], entry["occasion"]) == ("answer", None)


@pytest.mark.parametrize(
    ("more", "mechanism", "says"),
    [
        (["--occasion", "2"], "m.json", "2 reports together leak at most"),
        ([], "other.json", "cannot be computed without the earlier mechanism"),
    ],
)
def test_a_second_report_is_refused_in_one_line(survey, more, mechanism, says):
    assert privatize(survey, "one.csv").status == 0
    done = privatize(survey, "two.csv", *more, mechanism=mechanism)
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert says in done.err
    assert "--ledger none" in done.err
    assert not Path("two.csv").exists()
    assert privatize(survey, "two.csv", *more, "--ledger", "none", mechanism=mechanism).status == 0
    assert len(entries()) == 1
    assert Path("one.csv").read_bytes() != Path("two.csv").read_bytes()


def test_a_ledger_may_stand_elsewhere_and_needs_a_key(survey):
    assert privatize(survey, "one.csv", "--ledger", "book", "--occasion", "02").status == 0
    assert [entry["occasion"] for entry in entries("book")] == [2]
    assert not Path("secret.key.ledger").exists()
    for option in (("--ledger", "book"), ("--occasion", "2")):
        done = run("privatize", survey, "-o", "x.csv", "--mechanism", "m.json", "--column", "answer", *option)
        assert done.status == 2
        assert "--key-file FILE" in done.err
    assert (
        run(
            "privatize", survey, "-o", "x.csv", "-m", "m.json", "--column", "answer", "--ledger", "none"
        ).status
        == 0
    )


def test_a_refused_release_is_not_recorded(survey):
    assert privatize(survey, "one.csv", "--format", "parquet").status == 2
    assert not Path("secret.key.ledger").exists()


def test_repeated_ids_are_refused_with_the_remedy(survey):
    text = Path(survey).read_text().splitlines(keepends=True)
    Path("twice.csv").write_text("".join([*text, text[1]]))
    done = privatize("twice.csv", "one.csv")
    assert done.status == 2
    assert "--occasion" in done.err
    assert "repeated" not in done.err


@pytest.mark.parametrize("name", ["Answer", "ANSWER ", " answer"])
def test_a_column_under_another_spelling_is_the_same_column(survey, name):
    Path("renamed.csv").write_text(survey.read_text().replace("answer", name, 1))
    assert privatize(survey, "one.csv").status == 0
    how = ["--mechanism", "m.json", "--column", name, "--id-column", "id", "--key-file", "secret.key"]
    assert run("privatize", "renamed.csv", "-o", "two.csv", *how).status == 2
    assert not Path("two.csv").exists()


@pytest.mark.parametrize("target", ["m.json", "secret.key", "secret.key.ledger"])
def test_reports_never_replace_what_the_command_reads(survey, target):
    before = Path(target).read_bytes() if Path(target).exists() else None
    assert privatize(survey, target, "--overwrite", "--format", "csv").status == 2
    assert (Path(target).read_bytes() if Path(target).exists() else None) == before


def test_another_file_with_a_column_of_the_same_name_is_another_question(survey):
    """Both columns are called `answer`; where their reports differed, their answers would, too."""
    rows = [line.split(",") for line in survey.read_text().splitlines()]
    place = rows[0].index("answer")
    for row in rows[1::3]:
        row[place] = "never" if row[place] != "never" else "once"
    Path("other.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    assert privatize(survey, "one.csv").status == 0
    done = privatize("other.csv", "two.csv")
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert "if it is another question, give its column another name" in done.err
    assert "if answers were corrected, use --correction" in done.err
    assert "2 reports together" in done.err
    assert not Path("two.csv").exists()
    done = privatize("other.csv", "two.csv", "--correction")
    assert done.status == 0
    assert "2 reports together" in done.err  # for who runs it, not for those who get the file
    assert "other answers" not in done.out
    assert len(entries()) == 2
    assert Path("two.csv").exists()
    assert privatize(survey, "three.csv").status == 0
    assert Path("three.csv").read_bytes() == Path("one.csv").read_bytes()


def test_a_correction_needs_a_ledger(survey):
    done = privatize(survey, "one.csv", "--correction", "--ledger", "none")
    assert done.status == 2
    assert "--correction must come with a ledger" in done.err
