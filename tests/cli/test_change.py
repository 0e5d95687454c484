"""extremal change: two files of reports, joined by ids."""

import csv
import json

import numpy as np
import pytest

import extremal as ex
from tests.support.cli_cases import refuse, run

ANSWERS = ["never", "once", "often"]
COMMAND = ["change", "wave1.csv", "wave2.csv", "-m", "m.json", "--id-column", "id"]


@pytest.fixture
def waves(tmp_path, monkeypatch):
    """Reports of 300 people in two waves, in another order in the second; 10 people come and 10 go."""
    monkeypatch.chdir(tmp_path)
    certified = ex.certify(ex.design(ex.Prior(dict(zip(ANSWERS, (0.5, 0.3, 0.2), strict=True))), 1.0))
    certified.save("m.json")
    rng = np.random.default_rng(4)
    found = []
    for wave, people in ((1, np.arange(300)), (2, rng.permutation(np.arange(10, 310)))):
        answers = [ANSWERS[k] for k in rng.choice(3, 300)]
        reports = certified.privatize(answers, source=ex.randomness.SeededWords(wave))
        rows = list(zip(people.tolist(), reports, strict=True))
        with open(f"wave{wave}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["id", "answer"], *rows])
        found.append(dict(rows))
    return certified, *found


def test_tables_are_those_of_the_library_for_people_who_are_in_both_waves(waves):
    certified, first, second = waves
    both = sorted(first.keys() & second.keys())
    expected = ex.panels.change([certified] * 2, [first[i] for i in both], [second[i] for i in both])
    facts = json.loads(run(*COMMAND, "--json").out)
    assert (facts["people"], facts["left_out"]) == (290, 20)
    for name, table in {
        "change": expected.change,
        "same": expected.stayed,
        "from_to": expected.transitions,
    }.items():
        assert [row["estimate"] for row in facts[name]["rows"]] == pytest.approx(
            table.estimates.tolist(), abs=1e-6
        )
    worst = ex.panels.leakage([certified] * 2, [certified.prior] * 2).epsilon
    assert worst == np.inf  # answers may have changed so that both reports together give one away
    assert facts["leakage_of_both"] is None


def test_people_see_every_row_and_what_both_reports_tell(waves):
    done = run(*COMMAND, "-o", "change.csv")
    assert done.status == 0, done.err
    assert "290 people reported in both waves, 20 in one only." in done.out
    assert "often -> never" in done.out
    assert "2 waves, whose reports leak" in done.out
    with open("change.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["table"] for row in rows] == ["change"] * 3 + ["same"] + ["from_to"] * 9


def test_what_does_not_fit_is_refused(waves):
    refuse(
        *COMMAND,
        "--column",
        "a",
        "--column",
        "b",
        "--column",
        "c",
        says="--column",
    )
    refuse(*COMMAND, "--column", "vote", says="vote")
    refuse("change", "-", "wave2.csv", "-m", "m.json", "--id-column", "id", says="got -")
    refuse("change", "wave1.csv", "no.csv", "-m", "m.json", "--id-column", "id", says="no.csv")
    refuse("change", "wave1.csv", "wave2.csv", "-m", "m.json", says="--id-column")
    refuse(*COMMAND, "--confidence", "95", says="--confidence")
    with open("twice.csv", "w") as file:
        file.write("id,answer\n1,0\n1,1\n")
    refuse(
        "change",
        "wave1.csv",
        "twice.csv",
        "-m",
        "m.json",
        "--id-column",
        "id",
        says=".csv",
    )
    with open("others.csv", "w") as file:
        file.write("id,answer\nx,0\ny,1\n")
    refuse("change", "wave1.csv", "others.csv", "-m", "m.json", "--id-column", "id", says="no id in both")
    other = ex.certify(ex.design(ex.Prior({"yes": 0.5, "no": 0.5}), 0.5))
    other.save("other.json")
    refuse(*COMMAND, "-m", "other.json", says="['")
    refuse(*COMMAND, "-o", "m.json", says="m.json")
