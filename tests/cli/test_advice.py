"""What the command line points out to a person who may not know it, and how it helps over slips of the pen."""

import csv
import json
import random
import re
from pathlib import Path

import pytest

import extremal as ex
from tests.support.cli_cases import refuse, run

NAMES = ["Nr", "Ort", "Alter", "Antwort"]
ANSWERS = ["nie", "einmal", "oft"]
PRIOR = "nie=0.5,einmal=0.3,oft=0.2"


def flat(text):
    """The text without its line ends, which depend on the width of the terminal."""
    return " ".join(text.split())


@pytest.fixture
def umfrage(tmp_path, monkeypatch):
    """400 records: 320 answers that are known, 50 missing, 30 unknown, with semicolons."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(3)
    answers = [rng.choices(ANSWERS, [5, 3, 2])[0] for _ in range(320)] + [""] * 50 + ["weiß nicht"] * 30
    rows = [f"{i};{rng.choice('AB')};{rng.randint(18, 90)};{a}\n" for i, a in enumerate(answers)]
    Path("umfrage.csv").write_text(";".join(NAMES) + "\n" + "".join(rows), encoding="utf-8")
    Path("rein.csv").write_text(";".join(NAMES) + "\n" + "".join(rows[:320]), encoding="utf-8")
    assert run("design", "--prior", PRIOR, "-e", "0.7", "-o", "m.json").status == 0
    return tmp_path


# The prior and epsilon


def test_a_prior_counted_from_data_is_said_to_stand_in_the_mechanism_file(umfrage):
    how = ["design", "--data", "rein.csv", "--column", "Antwort", "-e", "0.7"]
    said = (
        "The prior was counted from rein.csv, so c.json contains the exact shares. If these are the people you "
        "protect, publishing that file reveals them: take the prior from a census or an earlier study (--prior, "
        "--counts), or keep the file secret."
    )
    assert said in flat(run(*how, "-o", "c.json").out)
    with open("rein.csv", encoding="utf-8", newline="") as file:
        answers = [row["Antwort"] for row in csv.DictReader(file, delimiter=";")]
    for label, p in zip(ex.load("c.json").inputs, ex.load("c.json").prior.probabilities, strict=True):
        assert p == answers.count(label) / 320  # it is true
    assert json.loads(run(*how, "-o", "c.json", "--overwrite", "--json").out)["warnings"][0] == said
    assert "the mechanism file contains the exact shares" in flat(run(*how).out)
    assert "counted from standard input" in flat(
        run(*how[:2], "-", *how[3:], stdin=Path("rein.csv").read_bytes()).out
    )
    Path("counts.csv").write_text("nie;50\neinmal;30\noft;20\n")
    for source in (["--prior", PRIOR], ["--counts", "counts.csv"]):
        done = run("design", *source, "-e", "0.7", "--json")
        assert json.loads(done.out)["warnings"] == []


@pytest.mark.parametrize(
    ("prior", "epsilon", "said", "held"),
    [
        (PRIOR, "5", "every report tells the true answer", "holds the true answers"),
        (
            "nie=0.5,oft=0.5",
            "0.69",
            "the best guess of the answer from its report is right for 99.7% of people, for 50% without it",
            "holds nearly all true answers",
        ),
    ],
)
def test_true_answers_are_refused_everywhere_and_shown_first_where_allowed(
    umfrage, prior, epsilon, said, held
):
    Path("zwei.csv").write_text("Antwort\n" + "nie\noft\n" * 300)
    how = ["design", "--prior", prior, "-e", epsilon]
    insist = "--allow-true-answers"
    warning = f"WARNING: no protection: {said}"
    looked_at = run(*how)  # a researcher may look at it
    assert looked_at.status == 0
    assert looked_at.out.splitlines()[0] == warning
    assert said in flat(looked_at.out.partition("\n")[2])
    assert json.loads(run(*how, "--json").out)["warnings"] == [warning]
    refuse(*how, "-o", "all.json", says=f"{said}; choose a smaller epsilon, or insist with {insist}\n")
    assert run(*how, "-o", "all.json", insist).out.splitlines()[0] == warning
    refuse("certify", "all.json", says=said)
    assert run("certify", "all.json", insist).out.splitlines()[0] == warning
    assert json.loads(run("certify", "all.json", insist, "--json").out)["warnings"] == [warning]
    release = ["privatize", "zwei.csv", "-o", "p.csv", "-m", "all.json", "--order", "keep"]
    refuse(*release, says=said)
    done = run(*release, insist)
    assert done.out.splitlines()[0] == warning
    assert f"column Antwort now {held}: no protection" in done.out
    assert "not answers" not in done.out
    copied = [
        a == b for a, b in zip(*(Path(f).read_text().split() for f in ("zwei.csv", "p.csv")), strict=True)
    ]
    assert (
        all(copied) if "nearly" not in held else sum(copied) > 0.97 * 600
    )  # it is true: 0.3% are expected not to be
    assert run("audit", "all.json").out.splitlines()[0] == warning
    assert run("audit", "all.json", "--prior", prior).out.splitlines()[0] == warning
    page = Path("page.html")
    assert run("audit", "all.json", "--report-file", str(page)).status == 0
    shown = page.read_text(encoding="utf-8")
    first = shown[shown.index('<div class="beside">') :]
    assert first.startswith('<div class="beside"><section class="alarm"><h2>No protection</h2>')
    assert "This mechanism protects nobody" in first
    assert "is replaced by a random report" not in shown


def test_designs_that_tell_less_are_not_warned_of():
    assert "WARNING" not in run("design", "--prior", "yes=0.5,no=0.5", "-e", "0.6").out
    rarely = run("design", "--prior", PRIOR, "-e", "0.7").out  # some reports prove the likeliest answer
    assert "WARNING" not in rarely
    assert "Near certainty: after report" in rarely
    near = run("design", "--prior", "yes=0.9,no=0.1", "-e", "2.1").out  # a quarter of the doubt is left
    assert near.startswith("WARNING: reports are close to the answers themselves")


def test_a_mechanism_that_tells_less_than_epsilon_allows_is_not_called_the_true_answer(umfrage):
    prior = ex.Prior({"nie": 0.5, "einmal": 0.3, "oft": 0.2})
    ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.5), 5.0).save("loose.json")
    first = run("audit", "loose.json").out.splitlines()[0]
    assert first.startswith("WARNING: epsilon 5 is not below epsilon_max")
    assert "every report is" not in first


def test_labels_that_look_alike_or_like_no_answer_are_pointed_out_once_each():
    done = run("design", "--prior", "Ja=0.3,ja=0.2,nein=0.2,NA=0.2,-99=0.1", "-e", "0.3", "--json")
    notes = json.loads(done.out)["warnings"]
    assert [("'Ja' and 'ja'" in note, "'NA', '-99'" in note) for note in notes[:2]] == [
        (True, False),
        (False, True),
    ]
    assert len([note for note in notes if note.startswith("Note")]) == 2


def test_where_estimation_cannot_help_it_is_not_recommended(umfrage):
    Path("counts.csv").write_text("a;500\nb;300\nc;100\nd;60\ne;40\n")
    remedy = "--utility shares makes one that can"
    how = ["design", "--counts", "counts.csv", "--utility", "mutual-information", "-e"]
    assert remedy in flat(run(*how, "0.3").out)
    assert remedy not in flat(run(*how, "0").out)


# What privatize says


def test_columns_in_clear_are_named_and_left_out_of_the_promise(umfrage):
    done = run("privatize", "rein.csv", "-o", "p.csv", "--column", "Antwort", "-m", "m.json")
    assert "column Antwort now holds random reports" in flat(done.out)
    said = "Unchanged: Nr, Ort, Alter. The limit covers only Antwort; columns that depend on it reveal more."
    assert said in flat(done.out)
    assert "must not be added" not in done.out
    Path("one.csv").write_text("Antwort\nnie\noft\n")
    done = run("privatize", "one.csv", "-o", "q.csv", "-m", "m.json")  # its only column need not be named
    assert done.status == 0, done.err
    assert "Unchanged" not in done.out


def test_epsilons_of_several_columns_are_said_not_to_add_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["a", "b", *(f"c{i}" for i in range(40))]
    Path("w.csv").write_text(
        ",".join(names) + "\n" + "\n".join(",".join("01"[i % 2] for _ in names) for i in range(9))
    )
    run("design", "--prior", "0.5,0.5", "-e", "0.3", "-o", "m.json")
    how = [
        "privatize",
        "w.csv",
        "-o",
        "p.csv",
        "--column",
        "a",
        "--column",
        "b",
        "-m",
        "m.json",
        "-m",
        "m.json",
    ]
    done = run(*how)
    assert done.status == 0, done.err
    assert "Do not add them" in flat(done.out)
    assert "c7, … 32 more. The limits cover only a and b" in flat(done.out)
    facts = json.loads(run(*how, "--overwrite", "--json").out)
    assert facts["unchanged"] == names[2:]
    assert len(facts["warnings"]) == 2


@pytest.mark.parametrize("option", ["--missing", "--unknown"])
def test_dropped_records_are_counted_by_reason_with_a_warning_where_they_are_many(umfrage, option):
    how = ["--column", "Antwort", "-m", "m.json"]
    refuse("privatize", "umfrage.csv", "-o", "p.csv", *how, says="--missing")
    done = run("privatize", "umfrage.csv", "-o", "p.csv", *how, option, "drop")
    assert "320 reports in p.csv; 80 records dropped: 50 missing, 30 unknown to the mechanism" in done.out
    assert done.out.startswith("WARNING: 20% of the records were dropped")
    assert Path("p.csv").read_text().count("\n") == 321
    facts = json.loads(
        run("privatize", "umfrage.csv", "-o", "p.csv", "--overwrite", *how, option, "drop", "--json").out
    )
    assert facts["dropped"] == 80
    assert facts["dropped_why"] == {"Antwort": {"missing": 50, "not_in_the_alphabet": 30}}
    few = "Antwort\n" + "nie\n" * 95 + "nix\n" * 5
    Path("few.csv").write_text(few)
    done = run("privatize", "few.csv", "-o", "f.csv", *how, option, "drop")
    assert "5 records dropped: 5 unknown to the mechanism" in done.out
    assert "WARNING" not in done.out


def test_a_release_without_any_report_is_refused_and_replaces_nothing(umfrage):
    Path("other.csv").write_text("Antwort\nyes\nno\n\n")
    Path("old.csv").write_text("mine")
    how = ["-m", "m.json", "--missing", "drop", "--overwrite"]
    refuse(
        "privatize", "other.csv", "-o", "old.csv", "--column", "Antwort", *how, says="right mechanism file"
    )
    refuse("privatize", "other.csv", "-o", "-", "--column", "Antwort", *how[:-1], says="right mechanism file")
    assert Path("old.csv").read_text() == "mine"
    Path("two.csv").write_text("a,b\nnie,x\ny,oft\n")  # each column has an answer, no record has both
    refuse("privatize", "two.csv", "-o", "new.csv", "--column", "a", "--column", "b", "-m", "m.json", *how)


def test_reasons_are_counted_in_parquet_files_too(umfrage):
    import pyarrow
    from pyarrow import parquet

    column = ["nie"] * 30 + [None] * 2 + ["?"]
    parquet.write_table(pyarrow.table({"a": column}), "a.parquet")
    done = run(
        "privatize", "a.parquet", "-o", "p.parquet", "--column", "a", "-m", "m.json", "--missing", "drop"
    )
    assert "3 records dropped: 2 missing, 1 unknown to the mechanism" in done.out


@pytest.mark.parametrize("labels", [("a", "b"), (1, 2), ("1", "2"), (True, False), (1.5, 2), ("", "a")])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_reasons_add_up_to_the_records_that_are_dropped(tmp_path, labels, kind):
    import pyarrow
    from pyarrow import parquet

    prior = ex.Prior([0.5, 0.5], labels)
    certified = ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.3), 0.3)
    rng = random.Random(5)
    pools = [
        ["1", "2", "3", None],
        ["1", "1.0", "01", "1.5", "true", "FALSE", "a", " a", "b", "NA", "-99", None],
        [1, 2, 3, None],
        [1.0, 1.5, float("nan"), None],
        [True, False, None],
    ]
    for k, pool in enumerate(pools[:2] if kind == "csv" else pools):
        values = [rng.choice(pool) for _ in range(200)]
        path = str(tmp_path / f"{k}.{kind}")
        if kind == "csv":
            text = "i,x\n" + "".join(f"{i},{'' if v is None else v}\n" for i, v in enumerate(values))
            Path(path).write_text(text)
        else:
            parquet.write_table(pyarrow.table({"i": range(200), "x": values}), path)
        try:
            done = ex.privatize(path, {"x": certified}, target=tmp_path / f"p{k}.{kind}", unknown="drop")
        except ex.errors.ValuesError:  # reports that a column of this type cannot hold, or nothing is left
            continue
        missing, other = done.unknown.get("x", (0, 0))
        absent = sum(value is None or value != value for value in values)
        assert missing == (0 if kind == "csv" and "" in labels else absent)
        assert missing + other == done.dropped == 200 - done.rows


# What estimate says


def test_reports_that_tell_next_to_nothing_are_said_to(umfrage):
    Path("r.csv").write_text("r\n" + "0\n" * 8 + "1\n" * 7)
    run("design", "--prior", "0.5,0.5", "-e", "0.01", "-o", "weak.json")
    done = run("estimate", "r.csv", "-m", "weak.json")
    assert done.status == 0, done.err
    assert (
        "These reports tell next to nothing about single shares; collect more, or design for shares"
        in flat(done.out)
    )
    assert "–" in done.out  # a standard error above 1
    assert json.loads(run("estimate", "r.csv", "-m", "weak.json", "--json").out)["warnings"]
    Path("many.csv").write_text("r\n" + "0\n" * 4000 + "1\n" * 4000)
    run("design", "--prior", "0.5,0.5", "-e", "0.5", "-o", "good.json")
    assert "next to nothing" not in run("estimate", "many.csv", "-m", "good.json").out


def test_a_design_says_beforehand_that_shares_will_not_be_learned(tmp_path):
    weak = run("design", "--prior", "0.5,0.5", "-e", "0.001")
    assert "With 1000 people, these reports tell next to nothing about single shares" in flat(weak.out)
    assert "next to nothing" not in run("design", "--prior", "0.5,0.5", "-e", "0.5").out
    best = flat(weak.out)
    assert "next to nothing about single shares; ask more people, or choose a larger epsilon" in best
    Path(tmp_path / "census.json").write_text('{"a": 5000000, "b": 5000000}')  # are not the people who answer
    census = run("design", "--counts", tmp_path / "census.json", "-e", "0.001")
    assert "With 1000 people" in flat(census.out)


def test_reports_of_another_mechanism_are_warned_of_first_with_status_1(umfrage):
    prior = ex.Prior({"nie": 0.5, "einmal": 0.3, "oft": 0.2})
    ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.3), 0.3).save("other.json")
    Path("r.csv").write_text("r\n" + "oft\n" * 3000)  # the mechanism never reports one answer that often
    done = run("estimate", "r.csv", "-m", "other.json")
    assert done.status == 1
    assert done.out.startswith("WARNING: no shares explain these reports")
    assert done.out.count("WARNING") == 1
    as_json = run("estimate", "r.csv", "-m", "other.json", "--json")
    assert as_json.status == 1
    assert json.loads(as_json.out)["warnings"][0].startswith("WARNING")


def test_integers_in_a_file_may_stand_for_labels_that_are_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("i.csv").write_text("a\n" + "1\n2\n2\n" * 50)
    Path("counts.csv").write_text("a,n\n1,50\n2,100\n")
    assert run("design", "--counts", "counts.csv", "-e", "0.3", "-o", "i.json").status == 0
    assert run("privatize", "i.csv", "-o", "p.csv", "-m", "i.json", "--order", "keep").status == 0
    done = run("estimate", "p.csv", "-m", "i.json", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["reports"] == 150


# Slips of the pen


def test_a_column_that_was_forgotten_or_misspelt_is_asked_for_by_name(umfrage):
    forgotten = "--column"
    refuse("design", "-e", "0.7", "--data", "rein.csv", says=forgotten)
    refuse("privatize", "rein.csv", "-o", "new.csv", "-m", "m.json", says=forgotten)
    refuse("estimate", "rein.csv", "-m", "m.json", says=forgotten)
    for wrong in ("Antwrot", "antwort", " Antwort"):
        for how in (
            ["design", "-e", "0.7", "--data", "rein.csv"],
            ["privatize", "rein.csv", "-o", "new.csv", "-m", "m.json"],
            ["estimate", "rein.csv", "-m", "m.json"],
        ):
            refuse(*how, "--column", wrong, says="did you mean Antwort?")
    refuse(
        "audit", "--pairs", "rein.csv", "--secret", "Antwort", "--report", "Altr", says="did you mean Alter?"
    )
    done = run("design", "-e", "0.7", "--data", "rein.csv", "--column", "Zebra")
    assert "did you mean" not in done.err


def test_a_decimal_comma_is_answered_with_a_point(umfrage):
    for words in (["--epsilon", "0,7"], ["-e", "0,7"], ["--epsilon=0,7"]):
        refuse("design", "--prior", "0.5,0.5", *words, says="0.7")
    refuse("estimate", "rein.csv", "-m", "m.json", "--confidence", ",9", says="0.9")


def test_counts_are_split_by_whatever_separates_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = []
    for mark, extra in ((",", []), (";", []), ("\t", []), ("|", []), (":", ["--delimiter", ":"])):
        Path("c.csv").write_text(f'answer{mark}n\n"a{mark}b"{mark}50\nb{mark}30\nc{mark}20\n')
        done = run("design", "--counts", "c.csv", "-e", "0.5", "--json", *extra)
        assert done.status == 0, done.err
        facts = json.loads(done.out)
        assert facts["prior"][0]["label"] == f"a{mark}b"
        found.append(facts["value"])
    assert len(set(found)) == 1
    Path("c.csv").write_text("answer;n\na;50\nb;thirty\n")
    refuse("design", "--counts", "c.csv", "-e", "0.5", says="line 3: 'b;thirty'")
    Path("c.csv").write_text("answer;n\na;50\nb;3\na;4\n")
    refuse("design", "--counts", "c.csv", "-e", "0.5", says="'a'")
    refuse("design", "--counts", "c.csv", "-e", "0.5", "--delimiter", ";;", says="--delimiter")


def test_labels_that_hold_commas_stand_in_quotes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = ["--labels", 'no,"yes, often", maybe']
    Path("a.csv").write_text("x\n" + '"yes, often"\nno\nno\nmaybe\n' * 40)
    done = run("design", "--data", "a.csv", *labels, "-e", "0.5", "-o", "m.json")
    assert done.status == 0, done.err
    assert ex.load("m.json").inputs == ("no", "yes, often", "maybe")
    run("privatize", "a.csv", "-o", "p.csv", "-m", "m.json", "--order", "shuffle")
    done = run("estimate", "p.csv", "-m", "m.json", "--group", 'some="yes, often",maybe', "--json")
    assert done.status == 0, done.err
    facts = json.loads(done.out)
    assert facts["groups"]["rows"][0]["estimate"] == pytest.approx(sum(facts["shares"][1:]), abs=1e-9)
    refuse("estimate", "p.csv", "-m", "m.json", "--group", 'some="yes, often')


def test_messages_name_options_of_the_command_line(umfrage):
    Path("w.csv").write_bytes("a\nä\nb\n".encode("cp1252"))
    refuse("design", "--data", "w.csv", "-e", "1", says="iconv -f cp1252 -t utf-8")
    refuse("design", "--counts", "w.csv", "-e", "1", says="iconv -f cp1252 -t utf-8")
    refuse("design", "--data", "umfrage.csv", "--column", "Antwort", "-e", "1", says="--missing")
    Path("a.dat").write_text("a\nx\ny\n")
    refuse("design", "--data", "a.dat", "-e", "1", says="--format")
    refuse("privatize", "a.dat", "-o", "new.dat", "-m", "m.json", says="--format")
    how = ["privatize", "rein.csv", "-o", "new.csv", "--column", "Antwort", "-m", "m.json"]
    refuse(*how, "--unknown-as", "weg", says="--unknown-as")
    refuse(*how, "--key-file", "m.json", "--id-column", "Nr", says="--key-file")
    run("key", "secret.key")
    refuse(*how, "--key-file", "secret.key", says="--id-column")


# How it looks


def test_many_reports_that_leak_the_same_share_a_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how = ["design", "--prior", "0.25,0.2,0.16,0.14,0.12,0.08,0.05", "-e", "0.7", "-o", "m.json"]
    done = run(*how)
    c = ex.load("m.json")
    assert len(c.outputs) > 12
    table = done.out.partition("What each report can tell, at most\n")[2].partition("\n\n")[0].splitlines()
    assert re.match(r"report +occurs +leaks \(nats\) +factor +up to 3 nats", table[0])
    levels = {f"{x:.4f}" for x in ex.pml(c.prior, c.mechanism)}
    assert len(table) == 1 + len(levels) < len(c.outputs)
    done = run("design", "--prior", "0.5,0.3,0.2", "-e", "0.7")
    table = (
        done.out.partition("What each report can tell, at most\n")[2].partition("\n\n")[0].splitlines()[1:]
    )
    names = [int(line.split()[0]) for line in table]
    assert names == sorted(names)


def test_rare_reports_do_not_seem_impossible_and_one_nat_is_no_plural():
    from extremal.cli.show import nats, share

    assert [share(p) for p in (0.0, 1e-6, 0.0004, 0.0006, 0.25)] == [
        "0.0%",
        "<0.1%",
        "<0.1%",
        "0.1%",
        "25.0%",
    ]
    assert [nats(x) for x in (1, 1.0, 0.1, 2)] == ["1 nat", "1 nat", "0.1 nats", "2 nats"]
    said = run("design", "--prior", "0.5,0.3,0.2", "-e", "1").out
    assert "at most 1 nat:" in said
    assert not re.search(r"(?<![\d.])1 nats", said)


def test_an_audit_says_where_its_page_is(umfrage):
    titled = ["--title", "How often?"]
    assert run("audit", "m.json", "--report-file", "page.html", *titled).out.endswith("\nPage in page.html\n")
    assert "<h1>How often?</h1>" in Path("page.html").read_text(encoding="utf-8")
    assert "Mechanism: m.json." in Path("page.html").read_text(encoding="utf-8")
    refuse("audit", "m.json", *titled, says="--report-file")


def test_the_help_cuts_no_summary_off_and_writes_no_braces():
    text = run("--help").out
    assert "..." not in text.partition("Commands:")[2]
    for name in ("privatize", "certify", "key"):
        assert "] FILE\n" in run(name, "--help").out
    assert "] FILE...\n" in run("estimate", "--help").out
    assert "holds the reports" in flat(run("estimate", "--help").out)
