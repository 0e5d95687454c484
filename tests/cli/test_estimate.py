"""extremal estimate: groups, weights, kinds of intervals, means, and tables in files."""

import csv
import json
import random
from pathlib import Path

import pytest

import extremal as ex
from tests.support.cli_cases import run

PRIOR = ex.Prior({1: 0.5, 2: 0.3, 3: 0.2})
RESPONSE = ex.theory.randomized_response_for_pml(PRIOR, 0.9)
HOW = ["estimate", "a.csv", "--column", "answer", "-m", "m.json"]


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """300 reports with sex, weight, district and household, as a CSV file; one has no answer in b.csv."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(5)
    rows = [
        (rng.choices([1, 2, 3], [5, 3, 2])[0], rng.choice("fm"), round(rng.uniform(0.5, 3), 3), k % 3, k // 4)
        for k in range(300)
    ]
    for name, more in (("a.csv", []), ("b.csv", [("", "f", 1.0, 1, 80)])):
        with open(name, "w", newline="") as file:
            csv.writer(file).writerows([("answer", "sex", "w", "district", "home"), *rows, *more])
    ex.certify(PRIOR, RESPONSE, 0.9).save("m.json")
    return rows


def test_groups_and_weights_are_those_of_the_library(reports):
    options = ["--by", "sex", "--weights", "w", "--strata", "district", "--clusters", "home"]
    facts = json.loads(run(*HOW, *options, "--mean", "--json").out)
    answer, sex, w, district, home = zip(*reports, strict=True)
    found = ex.estimate(
        ex.load("m.json"), answer, sample=ex.SampleDesign(weights=w, strata=district, clusters=home), by=sex
    )
    assert [row["estimate"] for row in facts["rows"]] == pytest.approx(found.table.estimates)
    assert [row["lower"] for row in facts["rows"]] == pytest.approx(found.table.lower)
    assert [row["sex"] for row in facts["rows"]] == ["f"] * 3 + ["m"] * 3
    assert facts["test"]["p_value"] == pytest.approx(found.test.p_value)
    assert facts["mean"]["rows"][1]["estimate"] == pytest.approx(found.mean().estimates[1])
    shown = " ".join(run(*HOW, *options).out.split())
    assert "Wald test that all groups have the same shares" in shown


def test_bounds_for_people_who_do_not_comply_are_those_of_the_library(reports):
    expected = ex.compliance.bounds(ex.estimate(ex.load("m.json"), [row[0] for row in reports]), 1, 0.1)
    assert json.loads(run(*HOW, "--safe", "1=0.1", "--json").out)["bounds"] == expected.rows()
    assert "if at most 10% of all people answer 1" in " ".join(run(*HOW, "--safe", "1=0.1").out.split())


def test_records_without_a_report_are_refused_or_dropped(reports):
    how = ["estimate", "b.csv", *HOW[2:], "--by", "sex"]
    refused = run(*how)
    assert refused.status == 2
    assert "others in 1 of 301 rows (1 missing)" in refused.err
    facts = json.loads(run(*how, "--missing", "drop", "--json").out)
    assert facts["reports"] == 300
    piped = run("estimate", "-", *HOW[2:], "--by", "sex", "--json", stdin=Path("a.csv").read_bytes())
    assert json.loads(piped.out)["rows"] == facts["rows"]


def test_tables_are_written_as_csv_parquet_and_json(reports):
    import pandas as pd

    for name in ("t.csv", "t.parquet", "t.json"):
        assert run(*HOW, "--by", "sex", "-o", name).status == 0
    tables = [
        pd.read_csv("t.csv"),
        pd.read_parquet("t.parquet"),
        pd.DataFrame(json.loads(Path("t.json").read_text())),
    ]
    for table in tables:
        assert list(table.columns)[:5] == ["sex", "label", "estimate", "lower", "upper"]
        assert table.estimate.to_list() == pytest.approx(tables[0].estimate.to_list())
        assert set(table.intervals) == {"each"}
    assert "already exists" in run(*HOW, "-o", "t.csv").err
    assert run(*HOW, "-o", "t.csv", "--overwrite").status == 0
    assert ".csv, .parquet or .json" in run(*HOW, "-o", "t.xlsx").err
    assert len(run(*HOW, "-o", "-").out.splitlines()) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weights", "weight"], "'weight'"),
        (["--weights", "sex"], "300 of 300"),
        (["--strata", "w"], "2"),
        (["--safe", "1"], "never=0.1"),
        (["--safe", "9=0.1"], "[1, 2, 3]"),
        (["--safe", "1=0.1", "--by", "sex"], "--by"),
        (["--scores", "1=0,2=x"], "A=0,B=1"),
        (["--scores", "1=0,2=1"], "none for [3]"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(reports, options, message):
    done = run(*HOW, *options)
    assert done.status == 2
    assert message in done.err
    assert len(done.error_lines) == 1
