"""The script for R reads what the library writes, finds what the library finds, and refuses what is wrong."""

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import extremal as ex

SCRIPT = Path(__file__).parents[1] / "contrib" / "r" / "extremal.R"
pytestmark = pytest.mark.skipif(
    shutil.which("Rscript") is None and not os.environ.get("EXTREMAL_REQUIRE_R"), reason="needs R"
)


def run(*arguments, program=None):
    command = ["Rscript", "--vanilla", *(["-e", program] if program else [str(SCRIPT)]), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def write(folder, certified, values):
    """The files that are published: the mechanism, and reports of these values."""
    reports = certified.privatize(values, source=ex.randomness.SeededWords(7))
    certified.save(folder / "mechanism.json")
    with open(folder / "private.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([["person", "answer"], *enumerate(reports)])
    return reports


def many_outputs():
    """More reports than answers, and labels that are hard to write."""
    labels = ['say "no", or', "größe", "back\\slash", "line\nbreak", "\U0001f600"]
    return ex.certify(ex.design(ex.Prior(dict(zip(labels, (0.3, 0.25, 0.2, 0.15, 0.1), strict=True))), 0.9))


def numbers_as_labels():
    prior = ex.Prior({0: 0.5, 1: 0.3, 2: 0.2})
    return ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.7), 0.7)


@pytest.mark.parametrize("make", [many_outputs, numbers_as_labels])
def test_shares_errors_and_intervals_are_those_of_the_library(tmp_path, make):
    certified = make()
    values = np.random.default_rng(1).choice(len(certified.inputs), 400)
    reports = write(tmp_path, certified, [certified.inputs[k] for k in values])
    done = run(tmp_path / "mechanism.json", tmp_path / "private.csv", "answer", tmp_path / "shares.csv")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "shares.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = ex.estimate(certified, reports, method="inverse", intervals="each")
    assert [row["answer"] for row in rows] == [str(label) for label in certified.inputs]
    for name, values in {
        "share": expected.shares,
        "standard_error": expected.standard_errors,
        "lower": expected.lower,
        "upper": expected.upper,
    }.items():
        assert np.allclose([float(row[name]) for row in rows], values, rtol=0, atol=1e-9), name


def test_answers_that_cannot_be_told_apart_have_no_estimate(tmp_path):
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    merged = ex.Mechanism([[1, 0], [0, 1], [0, 1]], prior.labels, ["a", "b or c"])
    certified = ex.certify(prior, merged, 0.7)
    write(tmp_path, certified, ["a"] * 5 + ["b", "c"] * 3)
    done = run(tmp_path / "mechanism.json", tmp_path / "private.csv", "answer", tmp_path / "shares.csv")
    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in (tmp_path / "shares.csv").read_text().splitlines()[1:]]
    assert float(rows[0][1]) == pytest.approx(5 / 11)
    assert [row[1] for row in rows[1:]] == ["", ""]


def test_files_that_are_damaged_or_do_not_fit_are_refused_in_one_line(tmp_path):
    certified = numbers_as_labels()
    write(tmp_path, certified, [0, 1, 2] * 10)
    text = (tmp_path / "mechanism.json").read_text()
    document = json.loads(text)
    weights = document["weights"]
    heavier = [[[str(2**61), "0"], *weights[0][1:]], *weights[1:]]
    moved = 2**62 + 2**61  # every row sums to 2^62 still
    negative = [[[str(moved), "0-2"]], [[str(2**62 - moved), "0-2"]], []]
    files = {
        "cut": text[: len(text) // 2],
        "twice": text.replace('"bits"', '"bits": 62, "bits"'),
        "stray": text.replace('"bits"', '?"bits"'),
        "more": text + "{}",
        "deep": "[" * 50 + "]" * 50,
        "another": '{"format": "something else"}',
        "old": json.dumps(document | {"version": 1}),
        "rows": json.dumps(document | {"weights": heavier}),
        "nowhere": json.dumps(document | {"weights": [[["1", "9"]], *weights[1:]]}),
        "leaky": json.dumps(document | {"epsilon": "0.1"}),
        "unlimited": json.dumps(document | {"epsilon": "inf"}),
        "word": json.dumps(document | {"epsilon": "much"}),
        "negative": json.dumps(document | {"weights": negative}),
        "overlap": json.dumps(document | {"weights": [[*weights[0], weights[0][0]], *weights[1:]]}),
        "short": json.dumps(document | {"weights": weights[:-1]}),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    program = f"""
source({json.dumps(str(SCRIPT))})
said <- function(expression) tryCatch({{ expression; "accepted" }}, error = conditionMessage)
for (name in commandArgs(TRUE)) cat(name, ":", said(read_mechanism(name)), "\\n")
mechanism <- read_mechanism("mechanism.json")
cat("unknown :", said(estimate_shares(mechanism, c(0, 1, 7))), "\\n")
cat("none :", said(estimate_shares(mechanism, integer())), "\\n")
cat("level :", said(estimate_shares(mechanism, 0, 95)), "\\n")
"""
    command = ["Rscript", "--vanilla", "-e", program, "absent", *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(" : ", 1) for line in done.stdout.splitlines())
    assert len(said) == len(files) + 4
    assert "accepted" not in done.stdout
    assert "leaks more" in said["leaky"]
    assert "sum to 2^62" in said["rows"]
    assert "its epsilon is none" in said["word"]
    assert "two weights" in said["overlap"]
    assert "'bits' occurs twice" in said["twice"]
    assert "1 of 3 reports are none of this mechanism" in said["unknown"]


@pytest.fixture(scope="module")
def survey_package():
    """R's package survey."""
    if subprocess.run(["Rscript", "-e", "library(survey)"], capture_output=True).returncode:
        assert not os.environ.get("EXTREMAL_REQUIRE_R"), "the package survey is required"
        pytest.skip("needs the package survey")


def complex_sample(folder, missing=0):
    """A stratified sample of villages with weights, as a file and as columns."""
    certified = many_outputs()
    rng = np.random.default_rng(5)
    village = rng.integers(0, 24, 600)
    region = village % 4  # villages lie in one region
    weight = rng.uniform(0.5, 3, 600).round(3)
    lean = rng.dirichlet(np.ones(len(certified.inputs)), 24)
    values = [certified.inputs[rng.choice(len(certified.inputs), p=lean[v])] for v in village]
    reports = certified.privatize(values, source=ex.randomness.SeededWords(3))
    shown = [None if k < missing else report for k, report in enumerate(reports)]
    certified.save(folder / "mechanism.json")
    with open(folder / "private.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        rows = zip(village, region, weight, shown, strict=True)
        writer.writerows([["village", "region", "weight", "answer"], *rows])
    return certified, village, region, weight, reports


PROGRAM = f"""
suppressMessages(library(survey))
source({json.dumps(str(SCRIPT))})
mechanism <- read_mechanism("mechanism.json")
private <- read.csv("private.csv", na.strings = "")
show <- function(x) cat(sprintf("%.15g", c(coef(x), SE(x), confint(x))), "\\n")
"""
DESIGN = "svydesign(~village, strata = ~region, weights = ~weight, data = private, nest = TRUE)"


DESIGNS = {
    "svydesign(~1, weights = ~weight, data = private)": ["weights"],
    "svydesign(~village, weights = ~weight, data = private)": ["weights", "clusters"],
    "svydesign(~1, strata = ~region, weights = ~weight, data = private)": ["weights", "strata"],
    DESIGN: ["weights", "strata", "clusters"],
}


@pytest.mark.slow
@pytest.mark.usefixtures("survey_package")
def test_shares_from_designs_of_the_package_survey_are_those_of_the_library(tmp_path):
    """R's own variance between clusters, mapped, against the library's. The intervals are R's normal ones."""
    certified, village, region, weight, reports = complex_sample(tmp_path)
    shown = "\n".join(f"show(svy_shares({design}, ~answer, mechanism))" for design in DESIGNS)
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", f"{PROGRAM}\n{shown}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    given = {"weights": weight, "strata": region, "clusters": village}
    for line, parts in zip(done.stdout.splitlines(), DESIGNS.values(), strict=True):
        shares, errors, lower, upper = np.array(line.split(), dtype=float).reshape(4, -1)
        sample = ex.SampleDesign(**{name: given[name] for name in parts})
        expected = ex.estimate(certified, reports, method="inverse", sample=sample)
        assert np.allclose(shares, expected.shares, rtol=0, atol=1e-9)
        assert np.allclose(errors, expected.standard_errors, rtol=0, atol=1e-9)
        assert np.allclose(
            (lower, upper), (shares - 1.959964 * errors, shares + 1.959964 * errors), atol=1e-6
        )


@pytest.mark.slow
@pytest.mark.usefixtures("survey_package")
def test_groups_replicates_and_missing_reports_of_the_package_survey(tmp_path):
    """A group is that part of the people; replicates give errors near the linearised ones; nothing is lost unsaid."""
    certified, _, region, weight, reports = complex_sample(tmp_path, missing=7)
    program = f"""{PROGRAM}
design <- {DESIGN}
said <- function(expression) tryCatch({{ expression; "accepted" }}, error = conditionMessage)
cat(said(svy_shares(design, ~answer, mechanism)), "\n")
cat(said(svy_shares(design, ~weight, mechanism)), "\n")
cat(said(svy_shares(design, ~answer + weight, mechanism)), "\n")
cat(said(svy_shares(design, "answer", mechanism)), "\n")
show(svy_shares(subset(design, region == 2 & !is.na(answer)), ~answer, mechanism))
show(svy_shares(design, ~answer, mechanism, na.rm = TRUE))
show(svy_shares(as.svrepdesign(design, type = "JKn"), ~answer, mechanism, na.rm = TRUE))
"""
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert "7 of 600 reports are missing" in said[0]
    assert "none of this mechanism" in said[1]
    assert all("one column" in line for line in said[2:4])
    group, linear, replicates = (np.array(line.split(), dtype=float).reshape(4, -1) for line in said[4:])
    kept = [k for k in range(7, 600) if region[k] == 2]
    part = ex.estimate(
        certified,
        [reports[k] for k in kept],
        method="inverse",
        sample=ex.SampleDesign(weights=weight[kept]),
    )
    assert np.allclose(group[0], part.shares, rtol=0, atol=1e-9)
    assert np.allclose(linear[0], replicates[0], atol=1e-12)
    assert np.allclose(linear[1], replicates[1], rtol=0.05)


def test_the_command_says_how_it_is_used():
    done = run()
    assert done.returncode != 0
    assert "usage: Rscript extremal.R MECHANISM REPORTS.csv COLUMN" in done.stderr
