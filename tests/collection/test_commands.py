"""The static form, reports that come as files, exports, estimates from a store; and the commands for all that."""

import csv
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import extremal as ex

pytest.importorskip("starlette")

from extremal._common.json import parse_json
from extremal.certification.stored import encode_label
from extremal.cli import survey as commands
from extremal.cli.options import examples
from extremal.cli.serving import announce, public_address, read_secret, warn_of_http
from extremal.collection.designs import check, load_designs
from extremal.collection.page import page_of
from extremal.collection.published import Asked, Published, item_prior
from extremal.collection.rehearsal import simulated
from extremal.collection.results import exported, results, tables
from extremal.collection.store import FIRST, Submission, create_store, open_store
from extremal.collection.survey import read_survey
from tests.support.cli_cases import refuse, run, shell
from tests.support.phones import INVITED, ONE, SURVEY, body, drawn, folder, published
from tests.support.wording import refused
from tests.support.xlsforms import one_garbled


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a survey that was checked."""
    monkeypatch.chdir(tmp_path)
    for path in folder().glob("*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def filled(place, people=300, survey=None):
    """A store with reports."""
    survey = survey or published()
    with create_store(place, survey) as store:
        store.add(
            Submission(f"{k:032x}", survey.content(drawn(survey, k)))
            for k in np.random.default_rng(0).permutation(people).tolist()
        )
        store.finish()
    return place


# The folder


def test_the_form_is_a_folder_of_files_for_any_host(here):
    done = run("survey", "form", "survey.toml", "-o", "form")
    assert done.status == 0, done.err
    names = {str(path.relative_to("form")) for path in Path("form").rglob("*") if path.is_file()}
    mechanisms = {f"mechanisms/{name}.json" for name in ("visits", "symptoms", "mood")}
    assert (
        names
        == {
            "index.html",
            "start.js",
            "texts/en.json",
            "form.js",
            "form.css",
            "words.js",
            "extremal.js",
            "survey.json",
            "README.txt",
        }
        | mechanisms
    )
    document = json.loads(Path("form/survey.json").read_text(encoding="utf-8"))
    assert (document["post"], document["digest"]) == (None, published().digest)
    for question in document["questions"]:
        assert all(ex.load(f"form/{path}").epsilon > 0 for path in question["mechanisms"])
    assert "survey add" in Path("form/README.txt").read_text(encoding="utf-8")
    assert "toml" not in names
    refuse("survey", "form", "survey.toml", "-o", "form", says="not empty")


def test_a_form_that_posts_may_connect_to_that_host_alone(here):
    text = SURVEY.replace("width = 0.1", 'post = "https://collect.example.org/a/reports"')
    Path("survey.toml").write_text(text, encoding="utf-8")
    assert run("survey", "form", "survey.toml", "-o", "form").status == 0
    page = Path("form/index.html").read_text(encoding="utf-8")
    assert "connect-src 'self' https://collect.example.org" in page
    assert json.loads(Path("form/survey.json").read_text())["post"] == "https://collect.example.org/a/reports"


def test_a_form_without_an_address_cannot_check_invitations(here):
    refuse("survey", "form", "invited.toml", "-o", "form", says="invitation")


def test_each_new_survey_has_an_id_of_its_own(here):
    for name in ("first.toml", "second.toml"):
        assert run("survey", "new", name).status == 0
    first, second = (read_survey(name).id for name in ("first.toml", "second.toml"))
    assert first != second
    assert None not in (first, second)


def test_check_serve_and_form_print_the_digest_of_the_page_that_they_make(here):
    done = run("survey", "check", "survey.toml")
    of_the_server = page_of(published(), "reports").digest
    assert done.out.splitlines()[-1] == f"SHA-256 of the page: {of_the_server}"
    assert json.loads(run("survey", "check", "survey.toml", "--json").out)["page_digest"] == of_the_server
    done = run("survey", "form", "survey.toml", "-o", "form")
    written = hashlib.sha256(Path("form/index.html").read_bytes()).hexdigest()
    assert done.out.splitlines()[-1] == f"SHA-256 of the page: {written}"
    assert written in Path("form/README.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("base", "warned"),
    [
        ("http://192.0.2.1:8600/", True),
        ("http://survey.example.org/", True),
        ("http://localhost.example.org/", True),
        ("http://[2001:db8::1]/", True),
        ("https://survey.example.org/", False),
        ("http://localhost:8600/", False),
        ("http://survey.localhost/", False),
        ("http://127.0.0.1:8600/", False),
        ("http://127.8.9.1/", False),
        ("http://[::1]:8600/", False),
    ],
)
def test_addresses_at_which_the_page_will_draw_nothing_are_said_to_be_so(capsys, base, warned):
    warn_of_http(base)
    assert ("the page refuses to make a report" in capsys.readouterr().out) == warned


# Reports that come as files


def test_files_are_added_once_and_bad_ones_are_named(here):
    for k in range(3):
        Path(f"report-{k}.json").write_bytes(body(published(), k))
    done = run("survey", "add", "survey.toml", *(f"report-{k}.json" for k in range(3)))
    assert (done.status, done.out) == (0, "3 added, 0 already there, 0 refused\n")
    Path("bad.json").write_bytes(body(published(), 4, reports={"visits": 1}))
    Path("large.json").write_bytes(b" " * 20_000)
    again = json.loads(Path("report-0.json").read_text()) | {"reports": drawn(published(), 9)}
    Path("forged.json").write_text(json.dumps(again))
    done = run("survey", "add", "survey.toml", "report-1.json", "bad.json", "large.json", "forged.json")
    assert done.status == 1
    lines = done.out.splitlines()
    assert lines[0] == "0 added, 1 already there, 3 refused"
    assert [line.partition(":")[0] for line in lines[1:]] == ["bad.json", "large.json", "forged.json"]
    with open_store("survey.db") as store:
        assert store.count() == 3
    Path("survey.toml").write_text("opens = 2999-01-01\n" + Path("survey.toml").read_text())
    Path("early.json").write_bytes(body(published(), 5))
    refuse("survey", "add", "survey.toml", "early.json", says="has not begun")


# Exports and estimates


def test_exports_hold_the_reports_and_nothing_else(here):
    pytest.importorskip("pyarrow")
    filled("survey.db", 50)
    assert run("survey", "export", "survey.toml", "-o", "reports.csv").status == 0
    assert run("survey", "export", "survey.toml", "-o", "reports.parquet").status == 0
    with open("reports.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = [drawn(published(), k) for k in range(50)]  # ids are numbers in this test, and rows are by id
    assert rows == [
        {name: "" if value is None else str(value) for name, value in row.items()} for row in expected
    ]
    import pyarrow.parquet

    assert pyarrow.parquet.read_table("reports.parquet").to_pylist() == expected
    refuse("survey", "export", "survey.toml", "-o", "reports.csv", says="--overwrite")
    refuse("survey", "export", "survey.toml", "-o", "reports.xlsx", says="must name a file of one format")
    piped = run("survey", "export", "survey.toml", "-o", "-")
    assert piped.out == Path("reports.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_exports_for_statisticians_have_labels_questions_and_mechanisms(here, kind):
    """The same reports as in the store, and the estimate is the same."""
    pyreadstat = pytest.importorskip("pyreadstat")
    filled("survey.db", 300)
    done = run("survey", "export", "survey.toml", "-o", f"reports.{kind}")
    assert done.status == 0, done.err
    assert Path(f"reports.{kind}").stat().st_mode & 0o777 == 0o600
    table, about = getattr(pyreadstat, f"read_{kind}")(f"reports.{kind}", output_format="dict")
    expected = [drawn(published(), k) for k in range(300)]
    labels = about.variable_value_labels
    for name in expected[0]:
        found = [labels.get(name, {}).get(x, x) for x in table[name]]
        assert [x if x == x else None for x in found] == [row[name] for row in expected]
        assert about.column_names_to_labels[name].endswith(f"[{name}]")
    done = run(
        *("estimate", f"reports.{kind}", "--column", "visits", "--json"),
        *("--mechanism", "survey.visits.mechanism.json"),
    )
    assert done.status == 0, done.err
    stored = json.loads(run("estimate", "survey.db", "--question", "visits", "--json").out)
    rows = stored["questions"]["visits"]["tables"][0]["rows"]
    assert json.loads(done.out)["shares"] == pytest.approx([row["estimate"] for row in rows], abs=1e-9)


def test_the_store_and_the_export_give_the_same_estimates(here):
    filled("survey.db")
    run("survey", "export", "survey.toml", "-o", "reports.csv")
    mechanism = ex.load("survey.visits.mechanism.json")
    counts = dict.fromkeys(mechanism.outputs, 0)
    for k in range(300):
        counts[drawn(published(), k)["visits"]] += 1
    expected = ex.estimate(mechanism, counts)
    for source in ("survey.db", "reports.csv"):
        found = ex.estimate(mechanism, source, column="visits")
        assert found.counts == expected.counts
        assert found.shares == pytest.approx(expected.shares, abs=1e-12)
    done = run("estimate", "survey.db", "--question", "visits", "--json")
    assert done.status == 0, done.err
    rows = json.loads(done.out)["questions"]["visits"]["tables"][0]["rows"]
    assert [row["estimate"] for row in rows] == pytest.approx(expected.shares, abs=1e-9)
    assert [row["lower"] for row in rows] == pytest.approx(expected.lower, abs=1e-9)
    with open_store("survey.db") as store:
        shown = results(store)["questions"][0]["rows"]
    assert [row["share"] for row in shown] == pytest.approx(expected.shares, abs=1e-9)
    assert [row["high"] for row in shown] == pytest.approx(expected.upper, abs=1e-9)


def test_every_question_of_a_store_is_estimated_and_by_answers_in_the_clear(here):
    filled("survey.db")
    done = run("estimate", "survey.db")
    assert done.status == 0, done.err
    for words in (
        "visits: 3 shares",
        "symptoms: 2 groups",
        "mood:",
        "mean",
        "age: 2 shares",
        "cough",
    ):
        assert words in done.out
    done = run("estimate", "survey.db", "--question", "visits", "--by", "age", "--json")
    assert done.status == 0, done.err
    rows = json.loads(done.out)["questions"]["visits"]["tables"][0]["rows"]
    assert {row["age"] for row in rows} == {"under 40", "40 and over", "no answer"}


def test_shares_come_back_from_many_reports(here):
    """3,000 people with known answers: the truth lies in all intervals, for every kind of question."""
    survey = published()
    rng = np.random.default_rng(3)
    truth = {
        "visits": dict(zip(("never", "once", "often"), (0.5, 0.3, 0.2), strict=True)),
        "symptoms": dict(zip(("00", "01", "10", "11"), (0.6, 0.1, 0.1, 0.2), strict=True)),
        "mood": dict(zip(("never", "at times", "often"), (0.2, 0.3, 0.5), strict=True)),
    }
    columns = {}
    for question in survey.questions[:3]:
        answers = rng.choice(list(truth[question.name]), 3000, p=list(truth[question.name].values())).tolist()
        words = ex.randomness.SeededWords(5)
        columns[question.name] = question.mechanisms[0].privatize(answers, source=words)
    with create_store("many.db", survey) as store:
        rows = zip(*columns.values(), ["under 40"] * 3000, strict=True)
        names = [q.name for q in survey.questions]
        store.add(
            Submission(f"{k:032x}", survey.content(dict(zip(names, row, strict=True))))
            for k, row in enumerate(rows)
        )
        store.finish()
        document = {q["name"]: q for q in results(store)["questions"]}
    inside = [
        *((row, truth["visits"][row["label"]]) for row in document["visits"]["rows"]),
        *zip(document["symptoms"]["rows"], (0.3, 0.3), strict=True),
        (document["mood"]["mean"], 0.3 + 1.5),
        (document["age"]["rows"][0], 1.0),
    ]
    for row, true in inside:
        assert row["low"] <= true <= row["high"], row
    # What is needed for a width is about what gives that width, by the rule that a width shrinks with the root.
    wide = max(row["high"] - row["low"] for row in document["visits"]["rows"])
    assert document["visits"]["needed"] == pytest.approx(3000 * (wide / 0.1) ** 2, rel=0.25)
    wide = max(row["high"] - row["low"] for row in document["symptoms"]["rows"])
    assert document["symptoms"]["needed"] == pytest.approx(3000 * (wide / 0.1) ** 2, rel=0.35)
    assert document["age"]["needed"] is None


def test_a_store_is_refused_where_it_does_not_fit(here):
    filled("survey.db", 5)
    refuse("estimate", "survey.db", "--question", "weight", says="it asks visits, symptoms, mood, age")
    refuse("estimate", "survey.db", "-m", "survey.visits.mechanism.json", says="its own mechanisms")
    refuse("estimate", "survey.csv", "--question", "visits", says="--mechanism")
    for option in (["--safe", "never=0.1"], ["--format", "csv"], ["--missing", "drop"]):
        refuse("estimate", "survey.db", "--question", "visits", *option, says="cannot be combined with --")
    create_store("empty.db", published()).close()
    refuse("estimate", "empty.db", says="no reports yet")
    refuse(
        "estimate",
        "none.db",
        says="none.db does not exist; run this in the folder where the survey was served",
    )
    Path("nothing.db").touch()
    refuse("estimate", "nothing.db", says="nothing.db is empty, not the store of a survey")


def test_a_question_that_nobody_answered_does_not_hide_the_others(here):
    survey = published()
    with create_store("survey.db", survey) as store:
        rows = [drawn(survey, k) | {"age": None} for k in range(6)]
        store.add(Submission(f"{k:032x}", survey.content(row)) for k, row in enumerate(rows))
        store.finish()
    done = run("estimate", "survey.db")
    assert done.status == 0, done.err
    assert "visits: 3 shares" in done.out
    assert "age: nobody answered (6 left it out)" in done.out
    done = run("estimate", "survey.db", "--question", "age", "--json", "-o", "table.csv")
    assert done.status == 0, done.err
    assert json.loads(done.out)["questions"]["age"]["tables"] == []


def test_a_store_is_read_with_the_mechanism_of_its_question_alone(here):
    filled("survey.db", 20)
    own = published().questions[0].mechanisms[0]
    assert ex.estimate(own, "survey.db", column="visits").reports == 20
    assert ex.estimate(own.mechanism, "survey.db", column="visits").reports == 20
    other = ex.certify(own.prior, ex.design(own.prior, own.epsilon / 2).mechanism, own.epsilon)
    with refused(ex.errors.MechanismError, "'visits'", "mechanism"):
        ex.estimate(other, "survey.db", column="visits")


def test_every_table_of_a_store_says_what_its_intervals_hold_with(here):
    filled("survey.db", 50)
    done = run("estimate", "survey.db", "--question", "mood")
    said = " ".join(done.out.split())  # the terminal wraps it
    assert said.count("--intervals all for all rows together") == 2  # shares, and the mean of the scores


ITEM = ex.certify(ex.design(ex.Prior({"no": 0.7, "yes": 0.3}), 0.5))


@pytest.mark.parametrize("kind", ["each", "all"])
def test_a_survey_says_which_intervals_its_results_have(here, kind):
    items = ("tea", "coffee", "milk")
    subsets = item_prior([0.3] * 3)
    own = {"independent": True, "form": "each", "mechanisms": (ITEM,) * 3, "subsets": subsets}
    drinks = Asked("drinks", "?", "several", items, **own)
    survey = published()
    survey = replace(survey, intervals=kind, questions=(*survey.questions, drinks))
    filled("survey.db", 200, survey)
    with open_store("survey.db") as store:
        document = results(store)
    assert document["intervals"] == kind
    tables = json.loads(run("estimate", "survey.db", "--json").out)["questions"]
    for question in document["questions"]:
        words = "for each row by itself;" if kind == "each" else "for all rows together;"
        assert words in question["promise"]
        assert question["promise"].count("in survey.toml") == 1
        rows = [
            row
            for name in tables
            if name.startswith(question["name"])
            for row in tables[name]["tables"][0]["rows"]
        ]
        assert [row["low"] for row in question["rows"]] == pytest.approx(
            [row["lower"] for row in rows], abs=1e-9
        )
        assert [row["high"] for row in question["rows"]] == pytest.approx(
            [row["upper"] for row in rows], abs=1e-9
        )
    looked = json.loads(run("estimate", "survey.db", "--intervals", "always", "--json").out)["questions"]
    for question in document["questions"][:1]:  # of one column: nothing divides the error
        ends = [[row["lower"], row["upper"]] for row in looked[question["name"]]["tables"][0]["rows"]]
        assert [row["always"] for row in question["rows"]] == [pytest.approx(pair, abs=1e-9) for pair in ends]
    # An item is a question of its own; all three together divide the error.
    level = 0.95 if kind == "each" else 1 - 0.05 / 3
    with open_store("survey.db") as store:
        counts = store.tallied()[FIRST]
    seen = sum(n for text, n in counts.items() if parse_json(text)[4][0] == "yes")
    own = ex.estimate(ITEM, {"yes": seen, "no": 200 - seen}, level, intervals=kind)
    row = next(q for q in document["questions"] if q["name"] == "drinks")["rows"][0]
    expected = own.group({"tea": ["yes"]})
    assert (row["low"], row["high"]) == pytest.approx((expected.lower[0], expected.upper[0]), abs=1e-9)
    other = {"each": "all", "all": "each"}[kind]
    asked = json.loads(run("estimate", "survey.db", "--intervals", other, "--json").out)["questions"]
    assert {table["intervals"] for q in asked.values() for table in q["tables"]} == {other}


def test_the_people_that_a_survey_needs_give_the_width_with_its_intervals(tmp_path, monkeypatch):
    """Simultaneous intervals take more people; those of either kind are then as wide as wanted."""
    monkeypatch.chdir(tmp_path)
    people = {}
    for kind in ("each", "all"):
        Path("survey.toml").write_text(f'intervals = "{kind}"\n{SURVEY}', encoding="utf-8")
        people[kind] = json.loads(run("survey", "check", "survey.toml", "--json").out)["people_needed"]
        survey = load_designs(read_survey("survey.toml"))
        for question in survey.questions[:3]:
            (certified,) = question.mechanisms
            n = (
                16 * people[kind][question.name]
            )  # so many that rounding does not matter: widths are then a quarter
            often = np.rint(n * certified.mechanism.output_distribution(certified.prior)).astype(int).tolist()
            counts = ex.ReportCounts(certified.outputs, often)
            (part,) = question.parts
            shares, *means = tables(part, ex.estimate(certified, counts, intervals=kind))
            table = means[0] if question.purpose == "mean" else shares
            spread = max(question.scores) - min(question.scores) if question.purpose == "mean" else 1.0
            widest = float(max(table.upper - table.lower)) / spread
            assert 4 * widest == pytest.approx(0.1, rel=0.1 if kind == "all" else 0.03)
    assert all(people["all"][name] > people["each"][name] for name in ("visits", "symptoms"))


def test_a_store_of_a_survey_that_names_no_kind_has_ordinary_intervals(here):
    filled("survey.db", 50)
    document = json.loads(published().to_json())
    del document["intervals"]
    assert Published.from_json(json.dumps(document)).intervals == "each"


def test_labels_that_are_combinations_or_decimals_come_back_from_an_export(here):
    """As an export writes them: JSON, which tells 0.5 from "0.5"."""
    labels = [("a", 1), ("b", 2), 0.5]
    mechanism = ex.Mechanism(np.full((3, 3), 0.2) + 0.4 * np.eye(3), ["x", "y", "z"], labels)
    cells = [exported(encode_label(label)) for label in [*labels, ("a", 1)]]
    with open("out.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["q"], *([cell] for cell in cells)])
    assert ex.estimate(mechanism, "out.csv", column="q").counts.counts.tolist() == [2, 1, 1]
    with refused(ex.errors.ValuesError, "others in 1 of 2 rows"):
        ex.estimate(mechanism, ["[broken", cells[0]])


def test_a_survey_whose_reports_no_server_takes_fails_the_check(here):
    survey = published()
    one = {}
    for q in survey.questions:
        parts = [parse_json(max(part, key=lambda text: len(text.encode()))) for part in q.reports]
        one[q.name] = parts if q.form == "each" else parts[0]
    sent = json.dumps(
        {"survey": survey.digest, "id": "0" * 32, "reports": one}, separators=(",", ":"), ensure_ascii=False
    )
    assert len(sent.encode()) <= survey.largest_body <= len(sent.encode()) + 3 * len(one)
    more = [
        f'\n[[question]]\nname = "q{k}"\ntext = "{k}?"\nkind = "clear"\nanswers = ["no", "{"é" * 199}"]\n'
        for k in range(42)
    ]
    Path("survey.toml").write_text(SURVEY + "".join(more), encoding="utf-8")
    refuse("survey", "check", "survey.toml", says="must fit into 16384 bytes")


@pytest.mark.parametrize("option", ["by", "weights", "strata", "clusters"])
def test_reports_of_private_questions_are_no_groups_weights_strata_or_clusters(here, option):
    filled("survey.db", 20)
    said = "'mood'"
    refuse("estimate", "survey.db", "--question", "visits", f"--{option}", "mood", says=said)
    how = {"by": "mood"} if option == "by" else {"sample": ex.SampleDesign(**{option: "mood"})}
    with refused(ex.errors.OptionError, "'mood'"):
        ex.estimate(published().questions[0].mechanisms[0], "survey.db", column="visits", **how)


def test_people_who_skipped_are_not_those_who_answered_no_answer(here):
    text = SURVEY.replace('["under 40", "40 and over"]', '["under 40", "no answer"]')
    Path("survey.toml").write_text(text, encoding="utf-8")
    assert run("survey", "check", "survey.toml").status == 0
    survey = load_designs(read_survey("survey.toml"))
    given = [{**drawn(survey, k), "age": ("under 40", "no answer", None)[k % 3]} for k in range(60)]
    with create_store("survey.db", survey) as store:
        store.add(Submission(f"{k:032x}", survey.content(row)) for k, row in enumerate(given))
        store.finish()
    done = run("estimate", "survey.db", "--question", "visits", "--by", "age", "--json")
    assert done.status == 0, done.err
    rows = json.loads(done.out)["questions"]["visits"]["tables"][0]["rows"]
    assert {row["age"] for row in rows} == {"under 40", "no answer", "(no answer)"}


def test_old_reports_are_not_exported_beside_new_mechanisms(here):
    filled("survey.db", 20)
    assert "another version" not in run("survey", "check", "survey.toml").out
    Path("survey.toml").write_text(SURVEY.replace("How old are you?", "Your age?"), encoding="utf-8")
    assert run("survey", "check", "survey.toml").status == 0
    assert run("survey", "export", "survey.toml", "-o", "same.csv").status == 0  # the mechanisms are the same
    Path("survey.toml").write_text(SURVEY.replace("epsilon = 0.7", "epsilon = 0.9", 1), encoding="utf-8")
    changed = ["survey", "export", "survey.toml", "-o", "reports.csv"]
    refuse(*changed, says="does not fit what the survey says now; estimate from the store")
    done = run("survey", "check", "survey.toml")
    assert "WARNING: survey.db holds reports for another version" in " ".join(done.out.split())
    assert (
        "another version" in json.loads(run("survey", "check", "survey.toml", "--json").out)["warnings"][-1]
    )
    refuse(*changed, says="got others for visits; estimate from the store")
    assert not Path("reports.csv").exists()


# Commands


def test_every_command_has_a_help_with_its_examples_and_the_examples_run(here):
    listed = run("survey", "--help").out
    assert run("survey").out == listed
    for k in (1, 2):
        Path(f"report-{k}.json").write_bytes(body(published(), k))
    one_garbled("form.xlsx")
    for name, command in commands.COMMANDS.items():
        assert f"  {name} " in listed
        shown = run("survey", name, "--help")
        assert shown.status == 0
        for example in examples(command):
            assert example in shown.out
            if name == "invite":
                example = example.replace("survey.toml", "invited.toml")
            if name not in ("serve", "learn"):  # test_learning has a survey that learns
                assert shell(example).status == 0, example


def test_check_tells_what_everything_together_gives_away(here):
    done = run("survey", "check", "survey.toml")
    assert done.status == 0
    assert "All 3 private reports of one person together leak 2.4 nats" in " ".join(done.out.split())
    assert "age: asked in the clear" in done.out
    facts = json.loads(run("survey", "check", "survey.toml", "--json").out)
    assert facts["digest"] == published().digest
    assert facts["epsilon"] == pytest.approx(2.4)
    Path("broken.toml").write_text(SURVEY.replace("epsilon = 0.7", "epsilon = -1", 1))
    refuse("survey", "check", "broken.toml", says="broken.toml, line 11: epsilon must be")
    refuse("survey", "check", "missing.toml", says="missing.toml")
    Path("new.toml").write_text(SURVEY)
    refuse("survey", "serve", "new.toml", says="run: extremal survey check new.toml")
    files = ["--tls-cert", "survey.toml", "--tls-key", "survey.toml"]
    refuse("survey", "serve", "survey.toml", *files, says="PEM files")
    refuse("survey", "serve", "survey.toml", "--tls-cert", "survey.toml", says="together")
    refuse("survey", "serve", "survey.toml", "--proxy", "*", says="a proxy must be an address or a network")


def test_invitations_are_links_that_stand_in_one_file(here):
    Path("invited.toml").write_text(INVITED)
    arguments = [
        "survey",
        "invite",
        "invited.toml",
        "-n",
        3,
        "--url",
        "https://survey.example.org/",
        "-o",
        "links.csv",
    ]
    assert run(*arguments).status == 0
    lines = Path("links.csv").read_text().splitlines()
    assert lines[0] == "link"
    assert all(re.fullmatch(r"https://survey\.example\.org/#[0-9a-f]{32}", line) for line in lines[1:])
    assert len(set(lines)) == 4
    refuse(*arguments, says="--overwrite")
    refuse(
        *(str(a).replace("invited", "survey").replace("links", "new") for a in arguments),
        says="invitation = true",
    )
    for bad in (
        "https://x/?a=1#frag",
        "https://x/#",
        "javascript:alert(1)",
        "x.org",
        "https://",
        "https://a b/",
    ):
        refuse(
            "survey", "invite", "invited.toml", "-n", 1, "-o", "new.csv", "--url", bad, says="--url must be"
        )
        refuse("survey", "serve", "survey.toml", "--url", bad, says="--url must be")
    with open_store("invited.db") as store:
        assert store.open_invitations() == 3
    content = Path("invited.db").read_bytes()
    assert not any(line.rpartition("#")[2].encode() in content for line in lines[1:])


def test_public_addresses_end_with_a_slash():
    for address in (
        "https://x.org",
        "http://127.0.0.1:8600",
        "https://x.org/a/b",
        "http://[::1]:80",
        "HTTPS://X",
    ):
        assert public_address(address) == public_address(address + "/") == address + "/"


def test_a_qr_code_stands_only_where_a_phone_can_open_the_link(here, monkeypatch):
    with create_store("survey.db", published()) as store:
        for local in (False, True):
            out = Console(file=io.StringIO(), force_terminal=True)
            monkeypatch.setattr("rich.console.Console", lambda out=out, **_: out)
            announce(store, "http://192.0.2.1:8600/", "secret", local)
            assert ("█" in out.file.getvalue()) is not local
            assert ("Only this machine" in out.file.getvalue()) is local


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_serve_shows_the_links_and_ends_with_an_interrupt(here):
    command = [sys.executable, "-m", "extremal", "survey", "serve", "survey.toml", "--port", "0"]
    command += ["--secret-file", "secret"]
    source = str(Path(ex.__file__).parents[1])
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    try:
        shown = [process.stdout.readline() for _ in range(8)]
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    text = "".join(shown)
    assert re.search(r"Survey: +http://127\.0\.0\.1:\d+/\n", text), text
    secret = Path("secret").read_text().strip()
    assert re.search(r"Results: +http://127\.0\.0\.1:\d+/results\n", text), text  # browsers keep addresses
    assert re.search(rf"Secret: +{secret} ", text)
    assert oct(Path("secret").stat().st_mode & 0o777) == "0o600"
    assert "show 0 so far" in text
    assert "Only this machine can open this link" in text
    assert "Traceback" not in rest
    assert process.returncode in (0, 130)
    assert not Path("survey.db-journal").exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_what_holds_reports_or_invitations_can_be_read_by_its_owner_alone(here):
    pytest.importorskip("pyarrow")
    before = os.umask(0o022)
    try:
        invite = ["survey", "invite", "invited.toml", "-n", 2, "--url", "https://x.org", "-o", "links.csv"]
        assert run(*invite).status == 0
        filled("survey.db", 20)
        for name in ("reports.csv", "reports.parquet"):
            Path(name).touch(0o644)
            assert run("survey", "export", "survey.toml", "-o", name, "--overwrite").status == 0
        for name in ("links.csv", "invited.db", "survey.db", "reports.csv", "reports.parquet"):
            assert oct(Path(name).stat().st_mode & 0o777) == "0o600", name
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_secret_that_others_can_read_is_refused(here):
    Path("secret").write_text("s" * 32)
    for mode in (0o644, 0o640, 0o604, 0o660):
        os.chmod("secret", mode)
        refuse("survey", "serve", "survey.toml", "--secret-file", "secret", says="run: chmod 600 secret")
    os.chmod("secret", 0o600)
    assert read_secret("secret") == "s" * 32
    os.mkfifo("pipe", 0o600)
    refuse("survey", "serve", "survey.toml", "--secret-file", "pipe", says="not a regular file")
    assert not Path("survey.db").exists()


def test_exports_and_estimates_grow_by_fives_until_the_survey_is_closed(here):
    for k in range(13):
        Path(f"report-{k}.json").write_bytes(body(published(), k))
    assert run("survey", "add", "survey.toml", *(f"report-{k}.json" for k in range(13))).status == 0
    done = run("survey", "export", "survey.toml", "-o", "reports.csv")
    assert done.out.startswith(
        "reports of 5 people in reports.csv; the newest five to nine follow with: extremal"
    )
    done = run("estimate", "survey.db")
    assert "from 5 reports" in done.out
    assert "the newest five to nine wait" in " ".join(done.out.split())
    assert run("survey", "close", "survey.toml").out == "closed, with the reports of 13 people\n"
    assert run("survey", "export", "survey.toml", "-o", "all.csv").out == "reports of 13 people in all.csv\n"
    done = run("estimate", "survey.db")
    assert "from 13 reports" in done.out
    assert "wait" not in done.out
    Path("late.json").write_bytes(body(published(), 99))
    done = run("survey", "add", "survey.toml", "late.json", "report-1.json")
    assert (done.status, done.out.splitlines()) == (
        1,
        ["0 added, 1 already there, 1 refused", "late.json: the survey is closed"],
    )


def test_groups_among_those_asked_are_refused_in_words(tmp_path, monkeypatch):
    """Where a private answer decides who is asked, and an answer in the clear makes the groups."""
    monkeypatch.chdir(tmp_path)
    quit = (
        '[[question]]\nname = "quit"\ntext = "Have you tried?"\nanswers = ["yes", "no"]\nepsilon = 0.7\n'
        'prior = [0.6, 0.4]\nask_if = { question = "visits", answers = ["often"] }\n'
    )
    age = SURVEY[SURVEY.index('[[question]]\nname = "age"') :]
    Path("survey.toml").write_text(f"{ONE}{quit}{age}", encoding="utf-8")
    found, _ = check(read_survey("survey.toml"))
    with create_store("survey.db", found) as store:
        store.add(simulated(found, found, FIRST, 100, np.random.default_rng(1)))
    assert run("estimate", "survey.db", "--question", "quit").status == 0
    assert run("estimate", "survey.db", "--question", "visits", "--by", "age").status == 0
    refuse("estimate", "survey.db", "--question", "quit", "--by", "age", says="without --by")


@pytest.mark.parametrize("name", ["invited.db", "invited.toml", "link.csv"])
def test_links_and_exports_do_not_replace_the_survey_or_its_store(here, name):
    invite = ["survey", "invite", "invited.toml", "-n", 2, "--url", "https://x.org", "--overwrite", "-o"]
    assert run(*invite, "links.csv").status == 0
    Path("link.csv").hardlink_to("invited.db")
    before = [Path(f"invited.{end}").read_bytes() for end in ("db", "toml")]
    refuse(*invite, name, says="must not replace")
    refuse("survey", "export", "invited.toml", "--overwrite", "-o", name, says="must not replace")
    assert [Path(f"invited.{end}").read_bytes() for end in ("db", "toml")] == before
