"""The command line: what it prints, for people and for programs, and the way from a CSV file to shares."""

import csv
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from extremal.cli import COMMANDS, EXAMPLES
from tests.support.cli_cases import ANSWERS, environment, run, shell, write_survey

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("earlier.csv").write_text("answer,count\nnever,500\nonce,300\noften,200\n")
    rng = random.Random(2)
    habits = [f"{i},{rng.choice(['yes', 'no', 'no'])},{rng.choice(['yes', 'no'])}\n" for i in range(600)]
    Path("habits.csv").write_text("id,smokes,drinks\n" + "".join(habits))
    return write_survey(tmp_path)


def lines_of(page):
    """The extremal commands of the sh blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = [line.strip() for block in BLOCK.findall(text) for line in block.splitlines()]
    return [line.partition("  #")[0].strip() for line in lines if line.startswith("extremal ")]


# Help and its examples


def test_every_command_has_a_help_with_its_examples():
    for name in COMMANDS:
        done = run(name, "--help")
        assert done.status == 0
        assert EXAMPLES[name]
        for example in EXAMPLES[name]:
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
    for name, examples in EXAMPLES.items():
        if name in ("explore", "demo", "reproduce"):
            continue  # a server; the other two have tests of their own
        for example in examples:
            done = shell(example)
            assert done.status == 0, (example, done.err)


def test_the_example_of_reproduce_runs(survey):
    pytest.importorskip("matplotlib")
    done = shell(EXAMPLES["reproduce"][0])
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
    assert "must not be combined" in run(*how, "--robust", "--pseudocount", 1).err


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
        [row["answer"] for row in old], key=ex.keys.read("secret.key"), ids=range(600), column="answer"
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
    assert facts["frequencies"] == expected.frequencies.tolist()
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
    assert run("certify", "c.json", "-e", 0.4).status == 1
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


def test_labels_cannot_smuggle_control_characters_into_a_terminal():
    done = run("design", "--prior", "a\x1b[31m=0.5,[bold]b=0.5", "-e", 0.3)
    assert done.status == 0
    assert "\x1b" not in done.out
    assert "[bold]b" in done.out


def test_numbers_and_truth_values_survive_the_way_through_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("tradeoff", "--prior", "0.5,0.5", "--epsilons", "5", "--json")
    assert json.loads(done.out)["points"][0]["method"] == "identity"
    assert run("estimate", "-", "-m", "-", "--json").status == 2


# The installed command, in processes of its own


def command(*arguments, folder, **how):
    words = [sys.executable, "-m", "extremal", *map(str, arguments)]
    return subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, **how)


def test_the_golden_path_from_a_csv_file_to_estimates(tmp_path):
    write_survey(tmp_path, people=4000)
    steps = (
        "design --data survey.csv --column answer --epsilon 0.7 -o mechanism.json",
        "privatize survey.csv -o private.csv --column answer --mechanism mechanism.json",
        "estimate private.csv --column answer --mechanism mechanism.json --json --confidence 0.999999",
        "audit mechanism.json --epsilon 0.7",
    )
    done = [command(*step.split(), folder=tmp_path) for step in steps]
    for step, one in zip(steps, done, strict=True):
        assert one.returncode == 0, (step, one.stderr)
        assert one.stderr == ""
    with (tmp_path / "survey.csv").open(newline="") as file:
        answers = [row["answer"] for row in csv.DictReader(file)]
    rows = json.loads(done[2].stdout)["rows"]
    assert [row["label"] for row in rows] == sorted(ANSWERS)
    for row in rows:  # with this confidence a miss is no accident
        assert row["lower"] <= answers.count(row["label"]) / 4000 <= row["upper"]
        assert row["upper"] - row["lower"] < 0.2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mechanism.json", "private.csv", "survey.csv"]


@pytest.mark.timed
def test_the_help_starts_in_less_than_three_times_the_time_of_numpy(tmp_path):
    def seconds(*words):
        begin = time.perf_counter()
        subprocess.run([sys.executable, *words], env=environment(), check=True, capture_output=True)
        return time.perf_counter() - begin

    pairs = [(seconds("-m", "extremal", "--help"), seconds("-c", "import numpy")) for _ in range(6)]
    assert min(ours for ours, _ in pairs) < 3 * min(numpy for _, numpy in pairs)


def test_the_help_needs_neither_numpy_nor_rich():
    program = "import sys, extremal.cli as c; c.main(['--help']); print(*{'numpy', 'rich', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_with_one_line_at_most_and_no_files(tmp_path, number, status):
    write_survey(tmp_path)
    assert (
        command(
            *["design", "--prior", "never=0.5,once=0.3,often=0.2", "-e", "0.7", "-o", "m.json"],
            folder=tmp_path,
        ).returncode
        == 0
    )
    spool = tmp_path / "spool"
    spool.mkdir()
    words = [
        sys.executable,
        "-m",
        "extremal",
        *["privatize", "-", "-o", "private.csv", "--column", "answer", "-m", "m.json"],
    ]
    env = {**environment(), "TMPDIR": str(spool)}
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            # More than a pipe holds: when all of it is gone, the command is reading.
            process.stdin.write("id,answer\n" + "1,never\n" * 200_000)
            process.stdin.flush()
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == status
    assert out == ""
    assert len(err.splitlines()) == (number == signal.SIGINT)
    assert "Traceback" not in err
    assert list(spool.iterdir()) == []
    assert not (tmp_path / "private.csv").exists()


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
def test_a_terminal_gets_colours_unless_it_wants_none(tmp_path):
    import pty

    for extra, colours in (({}, True), ({"NO_COLOR": "1"}, False)):
        ours, theirs = pty.openpty()
        words = [sys.executable, "-m", "extremal", "design", "--prior", "0.5,0.3,0.2", "-e", "0.6"]
        words += ["--utility", "mutual-information"]
        env = {**environment(), "TERM": "xterm-256color", **extra}
        with subprocess.Popen(
            words, stdout=theirs, stderr=theirs, stdin=theirs, env=env, close_fds=True
        ) as process:
            os.close(theirs)
            text = b""
            while True:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                text += part
        os.close(ours)
        assert process.returncode == 0
        assert (b"\x1b[48;" in text or b";48;" in text) == colours
        assert "91.1" in text.decode()


def test_the_command_is_installed_under_its_name():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"extremal": "extremal.cli:main"}


def test_a_reader_that_has_gone_ends_a_command_quietly():
    """Gone before the first line, because a program is quicker than whoever reads only some of its lines."""
    words = ["-m", "extremal", "tradeoff", "--prior", "0.5,0.3,0.2", "--points", "3", "-o", "-"]
    with subprocess.Popen(
        [sys.executable, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_the_shell_completes_commands_and_values(tmp_path):
    for words, expected in (("extremal de", "design"), ("extremal design --utility tot", "total-variation")):
        env = {
            **environment(),
            "_EXTREMAL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        done = subprocess.run([sys.executable, "-m", "extremal"], env=env, capture_output=True, text=True)
        assert expected in done.stdout.split()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_example_of_explore_serves_a_page_until_it_is_interrupted(tmp_path):
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    words = EXAMPLES["explore"][0].replace("8600", "0").split()[1:]
    with subprocess.Popen(
        [sys.executable, "-m", "extremal", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert b"<!doctype html>" in answer.read().lower()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert err == ""
