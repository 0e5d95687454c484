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


@pytest.fixture
def stages(tmp_path, monkeypatch):
    """Reports of different people under two mechanisms, the second designed for what the first tell."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(8)
    for number, people in ((1, 500), (2, 2000)):
        rows = [f"{rng.choices(['no', 'yes'], [4, 1])[0]},{rng.choice('fm')}" for _ in range(people)]
        Path(f"people{number}.csv").write_text("\n".join(["ill,sex", *rows]) + "\n")
    learn = ["--from-reports", "stage1.csv", "--mechanism", "m1.json", "--column", "ill", "--drift", "0.1"]
    for number, how in ((1, ["--prior", "any", "--labels", "no,yes"]), (2, learn)):
        assert run("design", *how, "-e", "0.7", "-o", f"m{number}.json").status == 0
        column = ["--column", "ill", "--mechanism", f"m{number}.json"]
        assert run("privatize", f"people{number}.csv", "-o", f"stage{number}.csv", *column).status == 0
    return ["estimate", "stage1.csv", "stage2.csv", "-m", "m1.json", "-m", "m2.json", "--column", "ill"]


def column(number, name="ill"):
    with open(f"stage{number}.csv", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def test_the_first_design_is_for_every_prior_and_the_next_for_the_set_that_reports_tell(stages):
    first, second = ex.load("m1.json"), ex.load("m2.json")
    assert first.prior_set.contains(ex.Prior({"no": 1e-9, "yes": 1 - 1e-9}))
    learned = ex.PriorSet.from_reports(first, column(1), drift=0.1)
    assert second.prior_set.radius == pytest.approx(learned.radius)
    assert second.prior_set.evidence == learned.evidence
    how = ["--forged", "0.02", "--between", "yes=1% to 50%", "--confidence", "0.9", "--json"]
    pairs = ["--from-reports", "stage1.csv", "-m", "m1.json", "--from-reports", "stage2.csv", "-m", "m2.json"]
    done = run("design", *pairs, "--column", "ill", "-e", "0.7", *how)
    third = ex.PriorSet.from_reports(
        [(first, column(1)), (second, column(2))],
        confidence=0.9,
        forged=0.02,
        drift=0.05,
        between={"yes": (0.01, 0.5)},
    )
    facts = json.loads(done.out)
    assert facts["value"] == pytest.approx(ex.design(third, 0.7).value, rel=1e-4)
    assert facts["observations"] == 2500
    assert facts["prior_set"]["confidence"] == 0.9
    (assumed,) = facts["warnings"]
    assert "2%" in assumed
    assert "0.05" in assumed
    assert "10%" in assumed


@pytest.mark.parametrize("kind", ["each", "all", "always"])
def test_several_files_give_the_pooled_estimate_and_what_each_tells(stages, kind):
    done = run(*stages, "--intervals", kind, "--stages", "--json")
    facts = json.loads(done.out)
    pairs = [(ex.load(f"m{k}.json"), column(k)) for k in (1, 2)]
    found = ex.estimate(pairs, intervals=kind)
    assert facts["shares"] == pytest.approx(found.shares.tolist())
    assert facts["lower"] == pytest.approx(found.lower.tolist())
    assert facts["drift"]["p_value"] == pytest.approx(found.drift.p_value)
    assert facts["stages"] == [500, 2000]
    for table, pair in zip(facts["stage_by_stage"], pairs, strict=True):
        alone = ex.estimate(*pair, intervals=kind)
        assert [row["estimate"] for row in table["rows"]] == pytest.approx(alone.shares.tolist())
    shown = " ".join(run(*stages, "--stages").out.split())
    assert "test that all stages have the same shares" in shown
    assert "Stage 2, stage2.csv" in shown


def test_groups_of_several_files_are_those_of_the_library(stages):
    import pandas as pd

    facts = json.loads(run(*stages, "--by", "sex", "--json").out)
    pairs = [(ex.load(f"m{k}.json"), pd.read_csv(f"stage{k}.csv", dtype=str)) for k in (1, 2)]
    found = ex.estimate(pairs, by="sex", column="ill")
    assert [row["estimate"] for row in facts["rows"]] == pytest.approx(found.table.estimates)
    weighted = json.loads(run(*stages, "--method", "inverse", "--json").out)
    each = [ex.estimate(ex.load(f"m{k}.json"), column(k), method="inverse").shares for k in (1, 2)]
    assert weighted["shares"] == pytest.approx((0.2 * each[0] + 0.8 * each[1]).tolist())
