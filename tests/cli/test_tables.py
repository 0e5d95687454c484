"""Every command that prints a table writes it too, with -o; and what takes long says so after a second."""

import csv
import io
import json
import sys
import time

import pytest

import extremal as ex
from extremal.cli import output
from tests.support.cli_cases import refuse, run

PRIOR = ["--prior", "a=50%,b=30%,c=20%"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    certified = ex.certify(ex.design(ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2}), 0.7))
    certified.save("m.json")
    (tmp_path / "survey.toml").write_text(
        'title = "T"\nwidth = 0.1\npeople = 5\n[[question]]\nname = "q"\ntext = "Q?"\n'
        'answers = ["a", "b", "c"]\nmechanism = "m.json"\n'
        '[[question]]\nname = "age"\ntext = "Age?"\nkind = "clear"\nanswers = ["young", "old"]\n'
    )
    return certified


COMMANDS = {
    "plan": (["plan", "-m", "m.json", "--people", "900"], "answer", ["a", "b", "c"]),
    "audit": (["audit", "m.json"], "report", None),
    "tradeoff": (["tradeoff", *PRIOR, "--epsilons", "0.2,0.5"], "epsilon", ["0.2", "0.5"]),
    "check": (["survey", "check", "survey.toml"], "question", ["q", "age"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_is_written_as_csv_json_and_parquet_and_printed_as_csv(here, name):
    command, column, expected = COMMANDS[name]
    expected = expected or [str(label) for label in here.outputs]
    printed = run(*command, "-o", "-")
    assert printed.status == 0, printed.err
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert [row[column] for row in rows] == expected
    assert run(*command, "-o", "t.csv").status == 0
    with open("t.csv", newline="", encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == rows
    told = run(*command, "-o", "t.json", "--json" if name == "plan" else "--overwrite")
    assert told.status == 0
    with open("t.json", encoding="utf-8") as file:
        assert [str(row[column]) for row in json.load(file)] == expected
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run(*command, "-o", "t.parquet").status == 0
    assert parquet.read_table("t.parquet").num_rows == len(expected)
    refuse(*command, "-o", "t.csv", says="--overwrite")
    refuse(*command, "-o", "t.xlsx", says=".parquet")
    refuse(*command, "-o", "nowhere/t.csv", says="nowhere")
    refuse(*command, "-o", "-", "--json", says="--json")


def test_tables_hold_what_the_library_computes(here):
    run("plan", "-m", "m.json", "--people", "900", "-o", "plan.csv")
    run("audit", "m.json", "-o", "audit.csv")
    plan, audit = ex.plan(here, people=900), ex.audit(here)
    with open("plan.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["half_width_each"]) for row in rows] == pytest.approx((plan.widths / 2).tolist())
    simultaneous = ex.planning.expected_error(here.prior, here, 900, intervals="all").widths
    assert [float(row["half_width_all"]) for row in rows] == pytest.approx((simultaneous / 2).tolist())
    with open("audit.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["leakage"]) for row in rows] == pytest.approx([o.leakage for o in audit.outcomes])
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(1)


def test_a_table_that_there_is_not_is_refused_before_any_work(here):
    refuse("plan", *PRIOR, "--efficiency", "0.2", "-o", "t.csv", says="-o")
    refuse("audit", "--pairs", "p.csv", "--secret", "x", "--report", "y", "-o", "t.csv", says="--pairs")
    refuse("tradeoff", *PRIOR, "--epsilons", "0.5", "--samples", "100", "-o", "t.svg", says=".parquet")


def test_a_survey_that_asks_too_few_people_is_warned_of(here, tmp_path):
    text = (tmp_path / "survey.toml").read_text()
    assert (
        "WARNING: 5 people are too few to say anything about q" in run("survey", "check", "survey.toml").out
    )
    (tmp_path / "survey.toml").write_text(text.replace("people = 5", "people = 900"))
    said = run("survey", "check", "survey.toml", "--json")
    (warning,) = [w for w in json.loads(said.out)["warnings"] if "you will ask" in w]
    needed = ex.planning.sample_size(here.prior, here, 0.1)
    assert (
        warning == f"q takes {needed:,} people for 95% intervals 0.1 wide, each by itself; you will ask 900."
    )
    told = " ".join(run("survey", "check", "survey.toml").out.split())
    assert told.count(warning) == 1
    assert told.index(warning) < told.index("What all reports of one person can reveal")  # beside the table
    (tmp_path / "survey.toml").write_text(text.replace("people = 5", f"people = {needed}"))
    assert "you will ask" not in run("survey", "check", "survey.toml", "--json").out


def test_the_mechanism_file_of_a_question_that_was_renamed_is_pointed_out(here, tmp_path):
    text = (tmp_path / "survey.toml").read_text()
    text = text.replace('mechanism = "m.json"', "epsilon = 0.7\nprior = [0.5, 0.3, 0.2]")
    (tmp_path / "survey.toml").write_text(text)
    run("survey", "check", "survey.toml")
    for name in ("survey.q.2", "survey.old.q"):  # learned in a later stage; of survey.old.toml
        (tmp_path / f"{name}.mechanism.json").write_text("{}")
    assert "left over" not in run("survey", "check", "survey.toml").out
    (tmp_path / "survey.toml").write_text(text.replace('name = "q"', 'name = "r"'))
    warnings = json.loads(run("survey", "check", "survey.toml", "--json").out)["warnings"]
    left = [text.split()[0] for text in warnings if "left over" in text]
    assert left == ["survey.q.2.mechanism.json", "survey.q.mechanism.json"]


def test_an_estimate_from_too_few_reports_says_so(here, tmp_path):
    eight = ex.certify(ex.design(ex.Prior.uniform(list("abcdefgh")), 0.7))
    eight.save("eight.json")
    reports = list(map(str, eight.outputs)) * 2
    (tmp_path / "few.csv").write_text("\n".join(["q", *reports]))
    few, estimate = run("estimate", "few.csv", "-m", "eight.json"), ex.estimate(eight, reports)
    errors = (estimate.shares / estimate.standard_errors).max()
    assert errors < 2.7  # of eight normal deviates one is above 2.73 with probability 5 %
    assert (estimate.upper - estimate.lower < 0.9).all()
    assert "no share can be told from 0: there are too few reports to say anything" in " ".join(
        few.out.split()
    )
    (tmp_path / "many.csv").write_text("\n".join(["q", *reports * 400]))
    assert "too few" not in run("estimate", "many.csv", "-m", "eight.json").out


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_appears_after_a_while_though_the_work_tells_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    with output.progress("proving the theorem"):
        for _ in range(3000):  # until the other thread has had its turn, however busy the machine is
            if "proving the theorem" in terminal.getvalue():
                break
            time.sleep(0.01)
    assert "proving the theorem" in terminal.getvalue()


def test_progress_turns_into_a_bar_when_the_amount_of_work_is_known(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    with output.progress("reading") as bar:
        bar(1, 0, "words")
        bar(5, 10)
    assert "50%" in terminal.getvalue()


def test_progress_is_silent_before_its_time_and_where_there_is_no_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "PATIENCE", 1000.0)
    with output.progress("reading") as bar:
        bar(5, 10)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with output.progress("reading") as bar:
        bar(5, 10)
    assert terminal.getvalue() == ""
