"""The installed command, in processes of its own: streams, signals, terminals, completion."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

import extremal as ex
from extremal.cli import COMMANDS
from extremal.cli.options import examples
from tests.support.cli_cases import ANSWERS, environment, write_survey
from tests.support.root import ROOT


def command(*arguments, folder, env=None, **how):
    words = [sys.executable, "-m", "extremal", *map(str, arguments)]
    env = {**environment(), **(env or {})}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, **how)


@pytest.mark.slow
def test_the_golden_path_from_a_csv_file_to_estimates_needs_no_home(tmp_path):
    write_survey(tmp_path, people=4000)
    nowhere = str(tmp_path / "survey.csv" / "home")  # not even root can make a folder inside a file
    home = {"HOME": nowhere, "XDG_CACHE_HOME": f"{nowhere}/.cache", "XDG_CONFIG_HOME": f"{nowhere}/.config"}
    steps = (
        "design --data survey.csv --column answer --epsilon 0.7 -o mechanism.json",
        "privatize survey.csv -o private.csv --column answer --mechanism mechanism.json",
        "estimate private.csv --column answer --mechanism mechanism.json --json --confidence 0.999999",
        "audit mechanism.json --epsilon 0.7",
    )
    done = [command(*step.split(), folder=tmp_path, env=home) for step in steps]
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


def test_without_docstrings_one_line_says_what_to_do(tmp_path):
    done = command("--help", folder=tmp_path, env={"PYTHONOPTIMIZE": "2"})
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_with_one_line_at_most_and_no_files(tmp_path, number, status):
    prior = ex.Prior.uniform(ANSWERS)
    ex.certify(prior, ex.theory.randomized_response(prior, 0.7), 0.7).save(tmp_path / "m.json")
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


@pytest.mark.slow
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
    assert project["scripts"] == {"extremal": "extremal.__main__:main"}


def test_an_interrupt_while_the_program_is_loaded_ends_with_one_line(tmp_path):
    """The second Ctrl-C of somebody in a hurry comes early: here at the first import of the command line."""
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    where = {"PYTHONPATH": os.pathsep.join([str(tmp_path), environment().get("PYTHONPATH", "")])}
    done = command("--help", folder=tmp_path, env=where)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted, nothing was written\n")


SHADOWS = [
    "ast",
    "enum",
    "lazy_loader",
    "json",
    "typer",
    "rich",
    "numpy",
    "csv",
    "tempfile",
    "cryptography",
    "argparse",
    "decimal",
    "errors",
]


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["-m", "extremal"], []),
        pytest.param(["-Wignore", "-mextremal"], [], marks=pytest.mark.slow),
        (["-P", "-m", "extremal"], ["importlib", "collections", "warnings"]),
    ],
    ids=["python -m extremal", "python -mextremal", "python -P -m extremal"],
)
def test_modules_of_the_current_folder_do_not_run(tmp_path, words, more):
    """Without -P Python itself looks for the first few there, as the page on the command line says."""
    for name in [*SHADOWS, *more]:
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\nraise SystemExit(9)\n")
    design = ["design", "--prior", "0.5,0.3,0.2", "--epsilon", "0.7", "-o", "m.json"]
    done = subprocess.run(
        [sys.executable, *words, *design], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.json").exists()
    assert not (tmp_path / "ran").exists()


def test_another_program_that_uses_the_library_keeps_its_own_modules(tmp_path):
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "__init__.py").write_text("import extremal\nimport beside\n")
    (tmp_path / "program" / "__main__.py").write_text("")
    (tmp_path / "beside.py").write_text("print('found')\n")
    words = [sys.executable, "-m", "program", "extremal"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "found\n"), done.stderr


def test_a_reader_that_has_gone_ends_a_command_quietly():
    """Gone before the first line, because a program is quicker than whoever reads only some of its lines."""
    words = ["-m", "extremal", "tradeoff", "--prior", "0.5,0.3,0.2", "--points", "3", "-o", "-"]
    with subprocess.Popen(
        [sys.executable, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141  # not 1, which says that a check failed


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes streams")
def test_a_command_runs_without_the_streams_that_it_does_not_need(tmp_path):
    """As under a daemon that closes them: a message must not end in a data file that got their number."""
    ex.certify(ex.design(ex.Prior.uniform(ANSWERS), 0.7)).save(tmp_path / "m.json")

    def closed(words, streams):
        line = f'"$0" -m extremal {words} {streams}'
        shell = ["sh", "-c", line, sys.executable]
        return subprocess.run(shell, cwd=tmp_path, env=environment(), capture_output=True, text=True)

    assert closed("audit m.json -o leaks.csv", "<&- 2>&-").returncode == 0
    assert closed("audit m.json --epsilon 0.1", "<&- 2>&-").returncode == 1
    assert len((tmp_path / "leaks.csv").read_text().splitlines()) == 1 + len(
        ex.load(tmp_path / "m.json").outputs
    )
    for words, streams, says in (
        ("audit m.json", ">&-", "standard output must be open"),
        ("audit -", "<&-", "empty"),
    ):
        done = closed(words, streams)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert says in done.stderr


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
    words = examples(COMMANDS["explore"])[0].replace("8600", "0").split()[1:]
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
