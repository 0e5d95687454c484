"""Several columns as one answer: designed, released by one draw and estimated through CSV and Parquet files."""

import csv
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import extremal as ex
from tests.support.cli_cases import run

INSIST = "--allow-true-answers"
PEOPLE = 600
DESIGN = ("design", "--columns", "sex,age", "-e", 0.5, "-o")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same survey as CSV and Parquet, and a mechanism for two of its columns with more outputs than inputs."""
    folder = tmp_path_factory.mktemp("joint")
    rng = random.Random(4)
    rows = [(i, rng.choices("fm", [6, 4])[0], rng.choices([20, 40, 60], [5, 3, 2])[0]) for i in range(PEOPLE)]
    text = "id,sex,age\n" + "".join(f"{i},{sex},{age}\n" for i, sex, age in rows)
    (folder / "s.csv").write_text(text)
    table = pa.table(list(map(list, zip(*rows, strict=True))), names=["id", "sex", "age"])
    parquet.write_table(table, folder / "s.parquet")
    assert run(*DESIGN, folder / "many.json", "--data", folder / "s.csv").status == 0
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def rows_of(path):
    if path.endswith(".csv"):
        with open(path, newline="") as file:
            return [(row["sex"], row["age"]) for row in csv.DictReader(file)]
    table = parquet.read_table(path)
    return list(zip(table["sex"].to_pylist(), table["age"].to_pylist(), strict=True))


def test_the_prior_is_that_of_the_combinations_whatever_the_format():
    counts = Counter((sex, int(age)) for sex, age in rows_of("s.csv"))
    c = ex.load("many.json")
    assert c.inputs == tuple(sorted(counts))
    assert c.prior.probabilities.tolist() == pytest.approx([counts[x] / PEOPLE for x in c.inputs], abs=1e-15)
    assert run(*DESIGN, "again.json", "--data", "s.parquet", "--overwrite").status == 0
    assert ex.load("again.json").prior == c.prior


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_more_outputs_than_inputs_go_through_files_and_are_estimated(kind):
    c = ex.load("many.json")
    assert len(c.outputs) > len(c.inputs)
    assert all(isinstance(y, tuple) and len(y) == 2 for y in c.outputs)
    how = ["--columns", "sex,age", "-m", "many.json"]
    done = run("privatize", f"s.{kind}", "-o", f"p.{kind}", "--overwrite", *how)
    assert done.status == 0, done.err
    reports = rows_of(f"p.{kind}")
    assert set(reports) <= set(c.outputs)
    found = json.loads(run("estimate", f"p.{kind}", "--json", *how).out)
    expected = ex.estimate(c, reports)
    assert found["labels"] == [list(label) for label in c.inputs]
    assert found["shares"] == expected.shares.tolist()
    shares = dict(zip(c.inputs, expected.shares, strict=True))
    for k, name in enumerate(["sex", "age"]):
        rows = found["columns"][name]["rows"]
        assert [row["label"] for row in rows] == list(dict.fromkeys(str(x[k]) for x in c.inputs))
        for row in rows:
            share = sum(p for x, p in shares.items() if str(x[k]) == row["label"])
            assert row["estimate"] == pytest.approx(share, abs=1e-9)
    assert "Column age alone" in run("estimate", f"p.{kind}", *how).out


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_keyed_reports_of_columns_together_are_those_of_the_library(kind):
    Path("k").write_bytes(bytes(range(32)))
    Path("k").chmod(0o600)
    how = ["--key-file", "k", "--id-column", "id", "--ledger", "none", "--overwrite"]
    done = run("privatize", f"s.{kind}", "-o", f"k.{kind}", "--columns", "sex,age", "-m", "many.json", *how)
    assert done.status == 0, done.err
    secrets = [(sex, int(age)) for sex, age in rows_of(f"s.{kind}")]
    c = ex.load("many.json")
    key, names = bytes(range(32)), ("sex", "age")
    assert rows_of(f"k.{kind}") == c.privatize(secrets, keyed=ex.Keyed(key, range(PEOPLE)), column=names)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_where_everything_may_be_told_the_file_stays_as_it_is_and_its_shares_come_back(kind):
    done = run(
        "design",
        "--data",
        f"s.{kind}",
        "--columns",
        "sex,age",
        "-e",
        9,
        "-o",
        "all.json",
        "--overwrite",
        INSIST,
    )
    assert done.status == 0, done.err
    how = ["--columns", "sex,age", "-m", "all.json"]
    assert run("privatize", f"s.{kind}", "-o", f"same.{kind}", "--overwrite", INSIST, *how).status == 0
    assert rows_of(f"same.{kind}") == rows_of(f"s.{kind}")
    found = json.loads(run("estimate", f"same.{kind}", "--json", *how).out)
    counts = Counter((sex, int(age)) for sex, age in rows_of(f"s.{kind}"))
    assert np.allclose(found["shares"], [counts[x] / PEOPLE for x in sorted(counts)], rtol=0, atol=1e-9)


def test_combinations_that_the_mechanism_does_not_know_are_dropped_and_counted():
    Path("gaps.csv").write_text("sex,age\nf,20\nf,\nm,99\nm,40\n")
    how = ["--columns", "sex,age", "-m", "many.json", "--missing", "drop", "--json", "--overwrite"]
    facts = json.loads(run("privatize", "gaps.csv", "-o", "left.csv", *how).out)
    assert (facts["rows"], facts["dropped"]) == (2, 2)
    assert facts["dropped_why"] == {"sex,age": {"missing": 1, "not_in_the_alphabet": 1}}
    assert facts["unchanged"] == []


def test_a_robust_design_for_columns_together_goes_through_files():
    how = ["--data", "s.csv", "--columns", "sex,age", "-e", 0.5, "--robust", "-o", "robust.json"]
    assert run("design", *how, "--overwrite").status == 0
    done = run(
        "privatize", "s.csv", "-o", "r.csv", "--columns", "sex,age", "-m", "robust.json", "--overwrite"
    )
    assert done.status == 0, done.err
    assert set(rows_of("r.csv")) <= {tuple(map(str, y)) for y in ex.load("robust.json").outputs}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["design", "--data", "s.csv", "--column", "sex", "--column", "age", "-e", 1], "--columns A,B"),
        (["design", "--data", "s.csv", "--columns", "sex", "-e", 1], "--columns"),
        (["design", "--data", "s.csv", "--columns", "sex,sex", "-e", 1], "--columns"),
        (["design", "--data", "s.csv", "--columns", "sex,size", "-e", 1], "'size'"),
        (["design", "--data", "s.csv", "--columns", "sex,age", "--column", "id", "-e", 1], "--columns"),
        (["design", "--prior", "0.5,0.5", "--columns", "sex,age", "-e", 1], "--data"),
        (["privatize", "s.csv", "-o", "x.csv", "--column", "sex", "-m", "many.json"], "2 columns together"),
        (["privatize", "s.csv", "-o", "x.csv", "--columns", "id,sex,age", "-m", "many.json"], "--columns"),
        (["estimate", "s.csv", "--column", "sex", "-m", "many.json"], "--columns A,B"),
        (["estimate", "s.csv", "--columns", "sex,age", "-m", "many.json", "--group", "a=f"], "--group"),
    ],
)
def test_columns_that_make_no_sense_are_refused_in_one_line(arguments, says):
    done = run(*arguments)
    assert (done.status, done.out, len(done.error_lines)) == (2, "", 1)
    assert says in done.err
    assert not Path("x.csv").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["design", "--prior", "0.5,0.5", "-e", 1, "--epsilon", 2],
        ["design", "--prior", "0.5,0.5", "--prior", "0.4,0.6", "-e", 1],
        ["certify", "many.json", "-e", 1, "-e", 1],
        ["estimate", "s.csv", "--column", "sex", "-m", "many.json", "-m", "all.json"],
        ["privatize", "s.csv", "-o", "x.csv", "-o", "y.csv", "--column", "sex", "-m", "many.json"],
        ["audit", "many.json", "--prior", "0.5,0.5", "--prior", "0.4,0.6"],
        ["tradeoff", "--prior", "0.5,0.5", "--points", 3, "--points", 4],
        ["demo", "--output", "x", "-o", "y"],
        ["explore", "--port", 0, "--port", 1],
        ["reproduce", "-o", "x", "-o", "y"],
    ],
)
def test_an_option_given_twice_is_refused_whatever_the_command(arguments):
    done = run(*arguments)
    assert (done.status, done.out, len(done.error_lines)) == (2, "", 1)
    assert any(option in done.err for option in map(str, arguments) if option.startswith("-"))
