"""extremal regress: the library's figures, from files and pipes, as text, JSON and tables."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import extremal as ex
from tests.support import surveys
from tests.support.cli_cases import refuse, run

PRIOR = ex.Prior({1: 0.5, 2: 0.3, 3: 0.2})
BINARY = ex.Prior({"no": 0.6, "yes": 0.4})
N = 800


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """r.csv: reports of an answer and of an income, with covariates; their mechanisms."""
    made = tmp_path_factory.mktemp("regress")
    generator = np.random.default_rng(0)
    frame = surveys.covariates(generator, N)
    one = ex.certify(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.9), 0.9)
    two = ex.certify(BINARY, ex.theory.randomized_response_for_pml(BINARY, 0.6), 0.6)
    latent = surveys.predictor(frame) + generator.logistic(size=N)
    frame["answer"] = surveys.draw(generator, one.mechanism, np.digitize(latent, [-0.5, 0.8])) + 1
    frame["poor"] = np.array(BINARY.labels)[surveys.draw(generator, two.mechanism, (latent > 0).astype(int))]
    frame["visits"] = generator.poisson(np.where(latent > 0, 2.0, 1.0))
    frame["w"] = generator.uniform(0.5, 2, N).round(2)
    frame.to_csv(made / "r.csv", index=False)
    one.save(made / "m.json")
    two.save(made / "poor.json")
    return made


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_json_is_that_of_the_library():
    facts = json.loads(run("regress", "r.csv", "answer ~ age + C(sex)", "-m", "m.json", "--json").out)
    found = ex.regress(ex.load("m.json"), "answer ~ age + C(sex)", "r.csv")
    assert facts == json.loads(found.to_json())
    assert facts["answers"] == [1, 2, 3]  # the file's texts stand for the mechanism's integers


def test_the_mechanism_may_come_first_and_the_data_through_a_pipe():
    formula = "answer ~ age"
    first = run("regress", "m.json", formula, "r.csv", "--json")
    piped = run("regress", "-", formula, "-m", "m.json", "--json", stdin=Path("r.csv").read_bytes())
    usual = run("regress", "r.csv", formula, "--mechanism", "m.json", "--json")
    assert first == piped == usual
    assert usual.status == 0


def test_options_reach_the_library():
    options = ["--model", "ordinal", "--answers", "3,2,1", "--weights", "w", "--clusters", "village"]
    facts = json.loads(run("regress", "m.json", "answer ~ age", "r.csv", *options, "--json").out)
    found = ex.regress(
        ex.load("m.json"),
        "answer ~ age",
        "r.csv",
        model="ordinal",
        answers=[3, 2, 1],
        sample=ex.SampleDesign(weights="w", clusters="village"),
    )
    assert facts == json.loads(found.to_json())
    assert facts["errors"] == "cluster"


def test_several_private_columns_are_named():
    words = ["-m", "poor=poor.json", "--predictors", "corrected", "--model", "poisson", "--json"]
    facts = json.loads(run("regress", "r.csv", "visits ~ poor + age", *words).out)
    found = ex.regress(
        {"poor": ex.load("poor.json")},
        "visits ~ poor + age",
        "r.csv",
        model="poisson",
        predictors="corrected",
    )
    assert facts == json.loads(found.to_json())


def test_people_see_a_table_for_each_answer_with_effects_and_tests(tmp_path):
    target = tmp_path / "c.csv"
    done = run("regress", "r.csv", "answer ~ age", "-m", "m.json", "--effects", "--tests", "-o", target)
    assert done.status == 0, done.err
    pieces = [
        "Multinomial logit of answer",
        "answer = 2",
        "answer = 3",
        "privacy",
        "predicted shares",
        "d/d age",
    ]
    for piece in [*pieces, "tests of each term", "LR chi2", "about 95% for each row by itself", "Table in"]:
        assert piece in done.out
    found = ex.regress(ex.load("m.json"), "answer ~ age", "r.csv")
    for b in found.coefficients:
        assert f"{b:.4f}" in done.out
    with open(target, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["estimate"]) for row in rows] == pytest.approx(found.coefficients)
    assert [row["term"] for row in rows] == ["Intercept", "age"] * 2


def test_tables_are_written_in_every_format(tmp_path):
    how = ["regress", "r.csv", "answer ~ 1", "-m", "m.json"]
    run(*how, "-o", tmp_path / "c.parquet")
    run(*how, "-o", tmp_path / "c.json")
    piped = run(*how, "-o", "-")
    table = pq.read_table(tmp_path / "c.parquet").to_pylist()
    assert json.loads((tmp_path / "c.json").read_text()) == table
    assert piped.out.splitlines()[0] == ",".join(table[0])
    assert "answer = 2" in piped.err
    refuse(*how, "-o", tmp_path / "c.json", says="--overwrite")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["r.csv", "answer ~ age"], "--mechanism"),
        (["r.csv", "answer ~ agee", "-m", "m.json"], "did you mean age?"),
        (["r.csv", "answer ~ age", "m.json", "-m", "m.json"], "r.csv and m.json"),
        (["r.csv", "answer ~ age", "-m", "m.json", "-m", "poor=poor.json"], "COLUMN=FILE"),
        (["r.csv", "poor ~ age", "-m", "m.json"], "'poor'"),
        (["r.csv", "answer ~ age", "-m", "m.json", "--errors", "cluster"], "--clusters"),
        (
            ["r.csv", "answer ~ age", "-m", "m.json", "--model", "logit"],
            "--model",
        ),
        (["r.csv", "answer ~ age", "-m", "m.json", "--answers", "4"], "--answers"),
        (["r.csv", "answer ~ age + (", "-m", "m.json"], "answer ~ age + ("),
        (["gone.csv", "answer ~ age", "-m", "m.json"], "gone.csv"),
        (["r.csv", "answer ~ age", "-m", "m.json", "-o", "c.txt"], ".csv, .parquet or .json"),
        (["r.csv", "answer ~ age + I(2 * age)", "-m", "m.json"], "2 * age"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(words, says):
    refuse("regress", *words, says=says)
