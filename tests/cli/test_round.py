"""extremal round: numbers become points of a grid, and nothing else changes."""

import csv
import os

import numpy as np
import pytest

import extremal as ex
from tests.support.cli_cases import refuse, run

COMMAND = ["round", "incomes.csv", "-o", "rounded.csv", "--column", "income", "--points", "0,1000,3000"]


@pytest.fixture
def incomes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers = ["0", "1000", "3000", "", *["340"] * 2000]
    (tmp_path / "incomes.csv").write_text(
        "id,income,place\n" + "".join(f'{k},{x},"a, {k}"\n' for k, x in enumerate(numbers))
    )
    os.chmod("incomes.csv", 0o600)
    return numbers


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_numbers_become_neighbouring_points_with_the_same_mean(incomes):
    done = run(*COMMAND)
    assert done.status == 0, done.err
    assert "2003 numbers rounded to 3 points in rounded.csv, 1 missing" in done.out
    assert "keep it as secret as the numbers" in done.out
    before, after = rows("incomes.csv"), rows("rounded.csv")
    assert [(row["id"], row["place"]) for row in after] == [(row["id"], row["place"]) for row in before]
    assert [row["income"] for row in after[:4]] == ["0", "1000", "3000", ""]
    found = [int(row["income"]) for row in after[4:]]
    assert set(found) == {0, 1000}
    assert abs(np.mean(found) - 340) < 5 * np.sqrt(340 * 660 / 2000)  # five standard errors
    assert os.stat("rounded.csv").st_mode & 0o777 == 0o600


def test_points_go_on_to_privatize(incomes):
    run(*COMMAND)
    certified = ex.certify(ex.design(ex.Prior({0: 0.6, 1000: 0.3, 3000: 0.1}), 1.0))
    certified.save("m.json")
    done = run(
        "privatize", "rounded.csv", "-o", "p.csv", "--column", "income", "-m", "m.json", "--missing", "drop"
    )
    assert done.status == 0, done.err
    assert len(rows("p.csv")) == 2003


def test_what_is_no_grid_or_no_number_is_refused(incomes, tmp_path):
    def points(text):
        return [*COMMAND[:-1], text]

    refuse(*points("0,a"), says="--points")
    refuse(*points("5"), says="--points")
    refuse(*points("3,1"), says="--points")
    refuse(*points("0,500"), says="--clip")
    refuse(
        "round", "incomes.csv", "-o", "r.csv", "--column", "place", "--points", "0,1", says="must be a number"
    )
    refuse("round", "incomes.csv", "-o", "r.csv", "--column", "wage", "--points", "0,1", says="wage")
    refuse("round", "incomes.csv", "-o", "-", "--column", "income", "--points", "0,1", says="into a file")
    refuse(
        "round", "incomes.csv", "-o", "r.xls", "--column", "income", "--points", "0,1", says=".csv, .parquet"
    )
    refuse(
        "round",
        "incomes.csv",
        "-o",
        "incomes.csv",
        "--column",
        "income",
        "--points",
        "0,1",
        says="--overwrite",
    )
    assert run(*points("0,500"), "--clip").status == 0
    assert {row["income"] for row in rows("rounded.csv")} == {"0", "500", ""}


def test_a_keyed_job_that_runs_again_repeats_its_points_and_reports(incomes):
    run("key", "secret.key")
    certified = ex.certify(ex.design(ex.Prior({0: 0.6, 1000: 0.3, 3000: 0.1}), 1.0))
    certified.save("m.json")
    keyed = ["--key-file", "secret.key", "--id-column", "id", "--overwrite"]
    found = []
    for _ in range(2):
        done = run(*COMMAND, *keyed)
        assert done.status == 0, done.err
        assert "Another run" not in done.out
        private = ["privatize", "rounded.csv", "-o", "p.csv", "--column", "income", "-m", "m.json"]
        assert run(*private, "--missing", "drop", *keyed).status == 0
        found.append([(row["id"], row["income"]) for row in [*rows("rounded.csv"), *rows("p.csv")]])
    assert found[0] == found[1]
    assert "Another run gives other points" in run(*COMMAND, "--overwrite").out


def test_keyed_rounding_follows_the_rules_of_keyed_reports(incomes, tmp_path):
    run("key", "secret.key")
    refuse(*COMMAND, "--key-file", "secret.key", says="ids")
    refuse(*COMMAND, "--id-column", "id", says="key")
    refuse(*COMMAND, "--occasion", "2", says="key")
    refuse(*COMMAND, "--key-file", "secret.key", "--id-column", "place2", says="place2")
    refuse(*COMMAND, "--key-file", "incomes.csv", "--id-column", "id", says="--key-file")
    (tmp_path / "incomes.csv").write_text("id,income\n1,340\n01,350\n")
    refuse(*COMMAND, "--key-file", "secret.key", "--id-column", "id", says="distinct")
    (tmp_path / "incomes.csv").write_text("id,x1\n1,340\n2,350\n")
    named = [*COMMAND[:5], "x1", *COMMAND[6:]]
    refuse(*named, "--key-file", "secret.key", "--id-column", "id", says="rename the column")
    os.rename("secret.key", "key.csv")
    same = [
        *COMMAND[:3],
        "key.csv",
        *COMMAND[4:],
        "--key-file",
        "key.csv",
        "--id-column",
        "id",
        "--overwrite",
    ]
    refuse(*same, says="key")
    assert not (tmp_path / "rounded.csv").exists()
