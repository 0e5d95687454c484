"""The command line: what it prints, for people and for programs, and the way from a CSV file to shares."""

import csv
import json
import math
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from extremal.cli import COMMANDS
from extremal.cli.options import examples
from extremal.cli.survey import COMMANDS as SURVEYS
from tests.support.cli_cases import ANSWERS, run, shell, write_survey
from tests.support.root import ROOT

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("earlier.csv").write_text("answer,count\nnever,500\nonce,300\noften,200\n")
    rng = random.Random(2)
    for name in ("first", "later"):
        rows = "".join(f"{rng.choices(ANSWERS, [5, 3, 2])[0]}\n" for _ in range(500))
        Path(f"{name}.csv").write_text("answer\n" + rows)
    habits = [f"{i},{rng.choice(['yes', 'no', 'no'])},{rng.choice(['yes', 'no'])}\n" for i in range(600)]
    Path("habits.csv").write_text("id,smokes,drinks\n" + "".join(habits))
    for k in (1, 2):
        Path(f"wave{k}.csv").write_text("id,answer\n" + "".join(f"{i},{(k * i) % 4}\n" for i in range(400)))
    towns = {"Lyon": 50, "Nice": 30, **{f"Town {k}": 1 + k % 7 for k in range(300)}}
    Path("towns.csv").write_text("answer,count\n" + "".join(f"{x},{n}\n" for x, n in towns.items()))
    homes = rng.choices(list(towns), list(towns.values()), k=500)
    Path("homes.csv").write_text("id,town\n" + "".join(f"{k},{x}\n" for k, x in enumerate(homes)))
    return write_survey(tmp_path)


def lines_of(page):
    """The extremal commands of the sh blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = [line.strip() for block in BLOCK.findall(text) for line in block.splitlines()]
    return [line.partition("  #")[0].strip() for line in lines if line.startswith("extremal ")]


def test_every_command_has_a_help_with_its_examples():
    for name in COMMANDS:
        done = run(name, "--help")
        assert done.status == 0
        assert examples(COMMANDS[name])
        for example in examples(COMMANDS[name]):
            assert example in done.out


def test_the_help_lists_the_commands_of_the_contract():
    contract = {
        "design",
        "certify",
        "privatize",
        "estimate",
        "audit",
        "tradeoff",
        "reproduce",
        "explore",
        "demo",
    }
    assert contract <= set(COMMANDS)
    for text in (run().out, run("--help").out):
        assert all(f"  {name} " in text for name in COMMANDS)
    assert run("--version").out == f"extremal {ex.__version__}\n"


def test_every_example_of_the_help_runs(survey):
    """In the order of the help, but for the key that others use; stage1.csv are reports that m1.json may have drawn."""
    Path("stage1.csv").write_text("report\n" + "never\n" * 200 + "once\n" * 160 + "often\n" * 140)
    for name in ["key", *COMMANDS]:
        if name in ("explore", "demo", "reproduce") or (name == "key" and Path("secret.key").exists()):
            continue  # a server; the other two have tests of their own
        for example in examples(COMMANDS[name]):
            done = shell(example)
            assert done.status == 0, (example, done.err)


@pytest.mark.slow
def test_the_example_of_reproduce_runs(survey):
    pytest.importorskip("matplotlib")
    done = shell(examples(COMMANDS["reproduce"])[0])
    assert done.status == 0, done.err
    assert Path("reproduced/report.md").exists()
    assert shell("extremal reproduce --output reproduced --figure 9z").status == 2


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_every_command_of_the_pages_runs(survey, page):
    lines = lines_of(page)
    assert lines
    shutil.copytree(ROOT / "examples", "examples")  # the README is read in the folder of the repository
    for line in lines:
        if line.split()[1] not in ("explore", "demo", "reproduce"):
            done = shell(line)
            assert done.status == 0, (line, done.err)


# design


def test_design_writes_a_certified_mechanism_that_the_library_would_make(survey):
    done = run("design", "--data", survey, "--column", "answer", "--epsilon", 0.7, "-o", "m.json", "--json")
    facts = json.loads(done.out)
    with survey.open(newline="") as file:
        prior = ex.Prior.from_data([row["answer"] for row in csv.DictReader(file)])
    expected = ex.design(prior, 0.7)
    c = ex.load("m.json")
    assert c.prior == prior
    assert c.epsilon == 0.7
    assert facts["value"] == pytest.approx(expected.value, abs=1e-12)
    assert ex.shares(prior, c.mechanism) == pytest.approx(expected.value, abs=1e-9)
    assert facts["digest"] == c.digest
    assert facts["realised_epsilon"] == c.realised_epsilon <= 0.7
    assert facts["mechanism"]["matrix"] == c.mechanism.matrix.tolist()
    assert facts["observations"] == 600


def test_the_same_prior_in_every_form_gives_the_same_mechanism(survey):
    values = {"never": 0.5, "often": 0.3, "once": 0.2}
    Path("map.json").write_text(json.dumps(values))
    Path("list.json").write_text(json.dumps([{"label": k, "probability": v} for k, v in values.items()]))
    Path("two.json").write_text(json.dumps({"labels": list(values), "probabilities": list(values.values())}))
    Path("counts.json").write_text(json.dumps({"never": 5, "often": 3, "once": 2}))
    Path("counts.csv").write_text("answer,count\nnever,5\noften,3\nonce,2\n")
    Path("data.csv").write_text("a\n" + "never\n" * 5 + "once\n" * 2 + "often\n" * 3)
    found = []
    for source in (
        ["--prior", "never=0.5,often=0.3,once=0.2"],
        ["--prior", "map.json"],
        ["--prior", "list.json"],
        ["--prior", "two.json"],
        ["--counts", "counts.json"],
        ["--counts", "counts.csv"],
        ["--data", "data.csv"],
        ["--prior", "0.5,0.3,0.2", "--labels", "never,often,once"],
    ):
        done = run("design", *source, "-e", 0.6, "--utility", "mutual-information", "--json")
        assert done.status == 0, (source, done.err)
        found.append(json.loads(done.out))
    assert all(facts["mechanism"] == found[0]["mechanism"] for facts in found)
    assert found[0]["value"] == pytest.approx(0.42299633, abs=1e-8)
    again = run(
        *("design", "--prior", "-", "-e", 0.6, "--utility", "mutual-information", "--json"),
        stdin=json.dumps(found[0]).encode(),
    )
    assert json.loads(again.out)["mechanism"] == found[0]["mechanism"]


def test_a_parquet_file_of_integers_gives_integer_labels(tmp_path, monkeypatch):
    import pyarrow
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    answers = [1, 2, 3, 1, 1, 2] * 50
    parquet.write_table(pyarrow.table({"id": range(300), "answer": answers}), "survey.parquet")
    Path("survey.csv").write_text("id,answer\n" + "".join(f"{i},{a}\n" for i, a in enumerate(answers)))
    for kind in ("parquet", "csv"):
        done = run(
            "design", "--data", f"survey.{kind}", "--column", "answer", "-e", 0.9, "-o", f"{kind}.json"
        )
        assert done.status == 0, done.err
        assert ex.load(f"{kind}.json").inputs == (1, 2, 3)
        source, target = f"survey.{kind}", f"private.{kind}"
        words = ("--column", "answer", "-m", f"{kind}.json", "--order", "keep")
        done = run("privatize", source, "-o", target, *words)
        assert done.status == 0, done.err
        done = run("estimate", target, "--column", "answer", "-m", f"{kind}.json", "--json")
        assert json.loads(done.out)["reports"] == 300
    assert ex.load("csv.json") == ex.load("parquet.json")


def test_a_robust_design_holds_for_the_priors_that_the_sample_leaves_possible(survey):
    done = run(
        "design", "--data", survey, "--column", "answer", "-e", 0.7, "--robust", "--confidence", 0.9, "--json"
    )
    facts = json.loads(done.out)
    counts = {row["label"]: round(600 * row["probability"]) for row in facts["prior"]}
    priors = ex.PriorSet.from_counts(counts, 0.9)
    m = ex.Mechanism(facts["mechanism"]["matrix"], sorted(ANSWERS))
    assert ex.epsilon_pml(priors, m) <= 0.7 + 1e-9
    assert facts["prior_set"]["epsilon"] == pytest.approx(ex.epsilon_pml(priors, m), abs=1e-9)
    assert (
        facts["value"]
        < json.loads(run("design", "--prior", "-", "-e", 0.7, "--json", stdin=done.out.encode()).out)["value"]
    )
    assert run("design", "--prior", "0.5,0.5", "-e", 0.3, "--robust").status == 2


def test_a_robust_design_takes_answers_that_were_never_counted(tmp_path):
    """A sample of 42 in which nobody answered c leaves c possible."""
    counts = tmp_path / "counts.csv"
    counts.write_text("a,12\nb,30\nc,0\n")
    how = ["design", "--counts", counts, "-e", 0.7]
    done = run(*how, "--robust", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["observations"] == 42
    assert "--pseudocount" in run(*how).err
    assert "--pseudocount must be 0" in run(*how, "--robust", "--pseudocount", 1).err


def test_the_file_of_a_robust_design_holds_the_set_and_every_command_speaks_of_it(survey, tmp_path):
    path = tmp_path / "robust.json"
    done = run("design", "--data", survey, "--column", "answer", "-e", 0.7, "--robust", "-o", path)
    assert done.status == 0, done.err
    c = ex.load(path)
    assert c.prior_set.confidence == 0.95
    assert c.realised_epsilon <= 0.7
    made = run("audit", path, "--json")
    assert json.loads(made.out)["epsilon"] == pytest.approx(c.realised_epsilon, abs=1e-14)
    assert json.loads(made.out)["prior_set"]["description"] == c.prior_set.description
    assert "for every prior in the set" in run("certify", path).out
    again = tmp_path / "again.json"
    assert run("certify", path, "-e", 0.8, "-o", again).status == 0
    assert ex.load(again).prior_set.radius == c.prior_set.radius
    reports = ["--column", "answer", "--mechanism", path]
    assert run("privatize", survey, "-o", "private.csv", *reports).status == 0
    estimated = run("estimate", "private.csv", *reports)
    assert estimated.status == 0
    assert all(label in estimated.out for label in ANSWERS)
    assert run("audit", path).status == 0


@pytest.mark.parametrize("utility", ["total-variation", "chi-squared", "hellinger", "jensen-shannon"])
def test_utilities_are_those_of_the_library(utility):
    facts = json.loads(run("design", "--prior", "0.5,0.3,0.2", "-e", 0.6, "--utility", utility, "--json").out)
    chosen = getattr(ex.utilities, utility.replace("-", "_"))
    prior = ex.Prior([0.5, 0.3, 0.2])
    assert facts["value"] == pytest.approx(ex.design(prior, 0.6, chosen).value, abs=1e-12)


def test_a_design_for_estimation_identifies_every_share_where_that_for_information_does_not(survey):
    how = ["design", "--data", survey, "--column", "answer", "-e", 0.7]
    information = ["--utility", "mutual-information"]
    run(*how, *information, "-o", "a.json")
    run(*how, "-o", "b.json")
    assert np.linalg.matrix_rank(ex.load("a.json").mechanism.matrix) == 2
    assert np.linalg.matrix_rank(ex.load("b.json").mechanism.matrix) == 3
    assert "--utility shares" in " ".join(run(*how, *information).out.split())


# privatize, estimate, audit


def test_reports_of_a_key_are_the_same_every_time_and_those_of_the_library(survey):
    run("design", "--data", survey, "--column", "answer", "-e", 0.7, "-o", "m.json")
    run("key", "secret.key")
    for target in ("one.csv", "two.csv"):
        how = ["--column", "answer", "--mechanism", "m.json", "--key-file", "secret.key", "--id-column", "id"]
        assert run("privatize", survey, "-o", target, *how).status == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    with survey.open(newline="") as before, open("one.csv", newline="") as after:
        old, new = list(csv.DictReader(before)), list(csv.DictReader(after))
    assert [(row["id"], row["age"]) for row in old] == [(row["id"], row["age"]) for row in new]
    expected = ex.load("m.json").privatize(
        [row["answer"] for row in old],
        keyed=ex.Keyed(ex.keys.read("secret.key"), range(600)),
        column="answer",
    )
    assert [row["answer"] for row in new] == [str(report) for report in expected]


def test_estimates_are_those_of_the_library(survey):
    run("design", "--data", survey, "--column", "answer", "-e", 0.7, "-o", "m.json")
    run("privatize", survey, "-o", "private.csv", "--column", "answer", "--mechanism", "m.json")
    done = run(
        "estimate",
        "private.csv",
        "--column",
        "answer",
        "-m",
        "m.json",
        "--group",
        "ever=once,often",
        "--json",
    )
    facts = json.loads(done.out)
    c = ex.load("m.json")
    with open("private.csv", newline="") as file:
        reports = [int(row["answer"]) for row in csv.DictReader(file)]
    expected = ex.estimate(c, reports)
    assert facts["rows"] == expected.to_dict()["rows"]
    assert facts["labels"] == list(expected.labels)
    assert facts["shares"] == expected.shares.tolist()
    assert (facts["lower"], facts["upper"]) == (expected.lower.tolist(), expected.upper.tolist())
    group = expected.group({"ever": ["once", "often"]})
    assert facts["groups"]["rows"][0]["upper"] == pytest.approx(float(group.upper[0]), abs=1e-12)
    piped = run(
        "estimate",
        "-",
        "--column",
        "answer",
        "-m",
        "m.json",
        "--json",
        stdin=Path("private.csv").read_bytes(),
    )
    assert {**json.loads(piped.out), "groups": facts["groups"]} == facts


def test_an_audit_is_that_of_the_library_and_fails_where_more_leaks_than_allowed(survey):
    run("design", "--data", survey, "--column", "answer", "-e", 0.7, "-o", "m.json")
    c = ex.load("m.json")
    assert json.loads(run("audit", "m.json", "--json").out) == json.loads(ex.audit(c.prior, c).to_json())
    assert run("audit", "m.json", "--markdown").out == ex.audit(c.prior, c).to_markdown()
    assert run("audit", "m.json", "--epsilon", 0.7).status == 0
    done = run("audit", "m.json", "--epsilon", 0.6)
    assert done.status == 1
    assert len(done.error_lines) == 1
    assert (
        run("audit", "m.json", "--prior", "0.6,0.2,0.2", "--epsilon", 0.7).status == 1
    )  # other people, other leakage


def test_certify_proves_a_matrix_or_refuses_it_with_status_1(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prior = ex.Prior([0.5, 0.3, 0.2])
    matrix = ex.theory.randomized_response_for_pml(prior, 0.5).matrix.tolist()
    Path("m.json").write_text(json.dumps(matrix))
    Path("m.csv").write_text("\n".join(",".join(map(repr, row)) for row in matrix))
    Path("named.csv").write_text(
        "\n".join(
            ["answer,a,b,c", *(f"{n},{','.join(map(repr, r))}" for n, r in zip("xyz", matrix, strict=True))]
        )
    )
    for source in ("m.json", "m.csv", "named.csv"):
        done = run("certify", source, "--prior", "0.5,0.3,0.2", "-e", 0.5, "-o", "c.json", "--overwrite")
        assert done.status == 0, done.err
        assert np.allclose(ex.load("c.json").mechanism.matrix, matrix, rtol=0, atol=1e-12)
        assert run("certify", source, "--prior", "0.5,0.3,0.2", "-e", 0.49).status == 1
    assert ex.load("c.json").inputs == ("x", "y", "z")
    assert run("certify", "c.json").status == 0
    failed = run("certify", "c.json", "-e", 0.4)
    assert (failed.status, len(failed.error_lines)) == (1, 1)
    assert "design for this one: extremal design" in failed.err  # not the words of Python
    assert run("certify", "m.json").status == 2


def test_pairs_prove_a_system_that_leaks_more_than_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{x},{x}\n" for x in ("yes", "no", "no") * 300]
    Path("pairs.csv").write_text("truth,said\n" + "".join(rows))
    how = ["--pairs", "pairs.csv", "--secret", "truth", "--report", "said"]
    assert run("audit", *how, "--epsilon", 0.2).status == 1
    done = run("audit", *how, "--epsilon", 1.2, "--json")
    assert done.status == 0
    assert 0.9 < json.loads(done.out)["epsilon_lower"] <= math.log(3)


def test_a_curve_is_that_of_the_library_in_every_format(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = ex.tradeoff(ex.Prior([0.5, 0.3, 0.2]), [0.1, 0.5, 1.0]).rows()
    how = ["tradeoff", "--prior", "0.5,0.3,0.2", "--epsilons", "0.1,0.5,1"]
    assert json.loads(run(*how, "--json").out)["points"] == expected
    assert (
        run(*how, "-o", "c.json").status
        == run(*how, "-o", "c.csv").status
        == run(*how, "-o", "c.svg").status
        == 0
    )
    assert json.loads(Path("c.json").read_text()) == expected
    with open("c.csv", newline="") as file:
        assert [float(row["optimal"]) for row in csv.DictReader(file)] == [row["optimal"] for row in expected]
    assert run(*how, "-o", "-").out == Path("c.csv").read_text()
    assert Path("c.svg").read_text().startswith("<svg")


def test_a_curve_over_samples_is_that_of_the_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = ex.sample_tradeoff(ex.Prior([0.5, 0.3, 0.2]), 0.7, [100, 1000]).rows()
    how = ["tradeoff", "--prior", "0.5,0.3,0.2", "--epsilons", "0.7", "--samples", "100,1000"]
    assert json.loads(run(*how, "--json").out)["points"] == expected
    assert run(*how, "-o", "c.csv").status == 0
    with open("c.csv", newline="") as file:
        assert [float(row["optimal"]) for row in csv.DictReader(file)] == [row["optimal"] for row in expected]
    assert "0.3571" in run(*how).out
    for wrong in (
        "--epsilons 0.7 --samples x",
        "--epsilons 0.1,0.7 --samples 9",
        "--epsilons 0.7 --samples 0",
    ):
        assert run("tradeoff", "--prior", "0.5,0.3,0.2", *wrong.split()).status == 2
    assert run(*how, "-o", "c.svg").status == 2


def test_a_file_without_records_is_refused(survey):
    run("design", "--data", survey, "--column", "answer", "-e", 0.7, "-o", "m.json")
    Path("empty.csv").write_text("answer\n")
    done = run("privatize", "empty.csv", "-o", "p.csv", "--column", "answer", "-m", "m.json")
    assert done.status == 2
    assert done.out == ""
    assert "must have records, got names of columns alone: empty.csv" in done.err
    assert not Path("p.csv").exists()


# Streams


def test_nothing_but_json_on_standard_output_and_no_colours_in_a_pipe(survey):
    run("design", "--data", survey, "--column", "answer", "-e", 0.7, "-o", "m.json")
    run("privatize", survey, "-o", "private.csv", "--column", "answer", "-m", "m.json")
    for line in (
        "design --prior 0.5,0.3,0.2 -e 0.7",
        "certify m.json",
        "privatize survey.csv -o again.csv --overwrite --column answer -m m.json",
        "estimate private.csv --column answer -m m.json",
        "audit m.json",
        "tradeoff --prior 0.5,0.5 --points 3",
    ):
        done = run(*line.split(), "--json")
        json.loads(done.out)
        assert done.err == ""
        people = run(*line.split())
        assert people.out
        assert "\x1b" not in people.out + people.err


def test_labels_cannot_smuggle_control_characters_into_a_terminal(tmp_path):
    done = run("design", "--prior", "a\x1b[31m=0.5,[bold]b=0.5", "-e", 0.3)
    assert done.status == 0
    assert "\x1b" not in done.out
    assert "[bold]b" in done.out
    mechanism = ex.certify(ex.design(ex.Prior({"a": 0.5, "b": 0.5}), 0.3))
    mechanism.save(tmp_path / "m.json")
    rows = [f"{report},g\x1b[2J\n" for report in mechanism.outputs]
    (tmp_path / "reports.csv").write_text("answer,by\x1b[1m\n" + "".join(rows) * 20)
    given = ("--column", "answer", "-m", tmp_path / "m.json", "--by", "by\x1b[1m")
    done = run("estimate", tmp_path / "reports.csv", *given)
    assert done.status == 0, done.err
    assert "by·[1m" in done.out
    assert "\x1b" not in done.out + done.err


def test_numbers_and_truth_values_survive_the_way_through_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("tradeoff", "--prior", "0.5,0.5", "--epsilons", "5", "--json")
    assert json.loads(done.out)["points"][0]["method"] == "identity"
    assert run("estimate", "-", "-m", "-", "--json").status == 2


def test_a_design_says_why_its_search_ended():
    given = ["design", "--prior", "0.3,0.25,0.2,0.15,0.1", "-e", "0.7"]
    for options, why in (([], "REACHED"), (["--time-limit", "0"], "TIME")):
        prior = ex.Prior([0.3, 0.25, 0.2, 0.15, 0.1])
        made = ex.design(prior, 0.7, time_limit=0 if options else None)
        assert made.stats.why.name == why
        assert json.loads(run(*given, *options, "--json").out)["why"] == made.stats.why.value
        assert made.stats.why.value in " ".join(run(*given, *options).out.split())


def test_why_a_search_ended_is_said_in_words_of_the_command_line():
    from extremal.cli.design import _in_words
    from extremal.optimization.effort import Why

    for why in Why:
        assert "=" not in _in_words(why.value)
        assert "math" not in _in_words(why.value)


def test_the_help_of_every_command_leads_to_its_page():
    groups = [[name] for name in COMMANDS] + [["survey", name] for name in SURVEYS]
    for words in groups:
        page = re.search(r"More in (docs/[\w-]+\.md)\.\n", run(*words, "--help").out)
        assert page, words
        text = (ROOT / page[1]).read_text(encoding="utf-8")
        assert words[0] in text, words
