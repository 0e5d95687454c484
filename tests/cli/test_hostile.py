"""Input that makes no sense: exit status 2, one line on stderr that says what to do, nothing on stdout, no files."""

import json
import os
import re
from pathlib import Path

import pytest

import extremal as ex
from extremal.certification import file as mechanism_file
from tests.support.cli_cases import refuse, run, write_survey

DESIGN = ["design", "--epsilon", "0.7", "--column", "answer", "--data"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_survey(tmp_path)
    prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.7), 0.7).save("m.json")
    Path("target.csv").write_text("mine\n")
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_a_pipe_that_nobody_writes_to_is_refused_at_once(folder):
    os.mkfifo("pipe.json", 0o600)
    how = ["--column", "answer", "--id-column", "id"]
    refuse("design", "--epsilon", "0.7", "--prior", "pipe.json", says="pipe")
    refuse("design", "--epsilon", "0.7", "--counts", "pipe.json", says="pipe")
    refuse("audit", "pipe.json", says="pipe")
    refuse("privatize", "survey.csv", "-o", "new.csv", "--mechanism", "pipe.json", *how[:2], says="pipe")
    keyed = ["--mechanism", "m.json", "--key-file", "pipe.json", *how]
    refuse("privatize", "survey.csv", "-o", "new.csv", *keyed)


# Small files that could keep a careless reader busy

LADEN = {
    "many names": "{" + ",".join(f'"l{i}":1' for i in range(25_000)) + "}",
    "deep lists": "[" * 150_000 + "]" * 150_000,
    "open objects": '{"a":' * 50_000,
    "a long integer": '{"a": ' + "9" * 300_000 + ', "b": 1}',
    "an open string": '["' + '\\"' * 150_000,
    "nested rows": json.dumps({"a": [[0.5] * 10] * 8000}),
    "the same name": "{" + ",".join('"a":1' for _ in range(50_000)) + "}",
}


@pytest.mark.parametrize("name", LADEN)
def test_a_laden_json_file_ends_in_one_line(folder, name):
    Path("laden.json").write_text(LADEN[name])
    refuse("design", "--epsilon", "0.7", "--prior", "laden.json")
    refuse("design", "--epsilon", "0.7", "--counts", "laden.json")
    refuse("audit", "laden.json")


def mechanism_of(inputs, outputs):
    """The text of a mechanism file in which every report has the same chance for everybody."""
    document = json.loads(Path("m.json").read_text())
    del document["digest"]
    document |= {
        "inputs": [f"i{i}" for i in range(inputs)],
        "prior": [repr(1 / inputs)] * inputs,
        "outputs": [f"o{i}" for i in range(outputs)],
        "realised_epsilon": "0.0",
        "weights": [[[str((1 << 62) // outputs), f"0-{inputs - 1}"]]] * outputs,
    }
    return mechanism_file.to_text(document)


def test_a_mechanism_file_of_too_many_labels_is_refused(folder):
    Path("wide.json").write_text(mechanism_of(20_000, 20_000))
    refuse("audit", "wide.json", says="20000")


@pytest.mark.slow
def test_estimates_of_a_hundred_thousand_answers_are_refused_before_memory_is_short(folder):
    Path("wide.json").write_text(mechanism_of(100_000, 2))
    Path("reports.csv").write_text("answer\n" + "o0\no1\n" * 50)
    how = ("estimate", "reports.csv", "--column", "answer", "-m", "wide.json")
    refuse(*how, says="--method inverse")
    refuse(*how, "--method", "inverse")


@pytest.mark.slow
def test_a_record_of_thirty_million_bytes_is_refused(folder):
    for field in (b"x" * 30_000_000, b'"' + b"x\n" * 15_000_000 + b'"'):
        Path("long.csv").write_bytes(b"id,answer,note\n1,never," + field + b"\n2,once,\n")
        refuse(
            "privatize", "long.csv", "-o", "new.csv", "--column", "answer", "-m", "m.json", says="long.csv"
        )


# Files of data that are none

JUNK = {
    "empty.csv": b"",
    "blank.csv": b"\n\n\n",
    "header_only.csv": b"id,answer\n",
    "binary.csv": bytes(range(256)) * 40,
    "zeros.csv": bytes(1000),
    "latin.csv": "id,answer\n1,ça\n2,été\n".encode("latin-1"),
    "utf16.csv": "id,answer\n1,a\n2,b\n".encode("utf-16"),
    "wrong_delimiter.csv": b"id:answer\n1:a\n2:b\n",
    "twice.csv": b"answer,id,answer\na,1,b\nb,2,a\n",
    "ragged.csv": b"id,answer\n1,a,x\n2\n",
    "open_quote.csv": b'id,answer\n1,"a\n2,b\n',
    "stray_quote.csv": b'id,answer\n1,a"b"c\n2,b\n',
    "old_mac.csv": b"id,answer\r1,a\r2,b\r",
    "huge_label.csv": b"id,answer\n1,a\n2," + b"x" * 1_000_000 + b"\n",
    "missing.csv": b"id,answer\n1,a\n2,\n3,b\n",
    "one_answer.csv": b"id,answer\n1,a\n2,a\n",
    "not.parquet": b"PAR1 nonsense PAR1",
    "csv.parquet": b"id,answer\n1,a\n2,b\n",
    "truncated.parquet": b"PAR1",
    "data.xlsx": b"PK\x03\x04",
    "no_ending": b"id,answer\n1,a\n2,b\n",
}


@pytest.mark.parametrize("name", JUNK)
def test_a_file_that_is_no_survey_is_refused(folder, name):
    Path(name).write_bytes(JUNK[name])
    refuse(*DESIGN, name)
    refuse(*DESIGN, name, "-o", "new.json", "--json")
    refuse("tradeoff", "--column", "answer", "--data", name)


@pytest.mark.parametrize("name", [name for name in JUNK if name != "missing.csv"])
def test_a_file_that_holds_no_reports_is_refused(folder, name):
    Path(name).write_bytes(JUNK[name])
    refuse("estimate", name, "--column", "answer", "-m", "m.json")
    if name not in ("header_only.csv",):  # a survey without people is released without people
        refuse("privatize", name, "-o", "new" + Path(name).suffix, "--column", "answer", "-m", "m.json")


@pytest.mark.parametrize("name", JUNK)
def test_a_file_that_is_no_mechanism_prior_or_counts_is_refused(folder, name):
    Path(name).write_bytes(JUNK[name])
    for command in (
        ["audit", name],
        ["certify", name],
        ["estimate", "survey.csv", "--column", "answer", "-m", name],
    ):
        refuse(*command)
    refuse("design", "-e", "0.7", "--prior", name)
    refuse("design", "-e", "0.7", "--counts", name)
    refuse("privatize", "survey.csv", "-o", "new.csv", "--column", "answer", "-m", name)


def test_what_is_not_there_is_refused(folder):
    refuse(*DESIGN, "nowhere.csv", says="nowhere.csv")
    refuse(*DESIGN, ".", says="directory")
    refuse(*DESIGN, "/dev/null")
    refuse("audit", "nowhere.json", says="nowhere.json")
    refuse("audit", ".", says="directory")
    refuse("estimate", ".", "-m", "m.json", "--column", "answer")
    refuse("privatize", ".", "-o", "new.csv", "-m", "m.json", "--column", "answer")
    refuse("privatize", "nowhere.csv", "-o", "new.csv", "-m", "m.json", "--column", "answer")
    refuse("design", "-e", "0.7", "--prior", "nowhere.json")
    refuse("design", "-e", "0.7", "--counts", "nowhere.json")
    refuse("audit", "a\0b")
    refuse("audit", "x" * 5000)


def test_a_column_must_be_named_and_exist(folder):
    names = [f"column_{i}" for i in range(200)]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join("ab"[i % 2] for i in range(200)) + "\n")
    refuse("design", "-e", "0.7", "--data", "wide.csv")
    refuse("design", "-e", "0.7", "--data", "wide.csv", "--column", "answer")
    refuse("design", "-e", "0.7", "--data", "survey.csv", "--column", "nothing", says="answer")
    refuse("estimate", "survey.csv", "-m", "m.json")
    refuse("privatize", "survey.csv", "-o", "new.csv", "--column", "nothing", "-m", "m.json")
    refuse("privatize", "survey.csv", "-o", "new.csv", "-m", "m.json", says="--column")
    refuse("design", "-e", "0.7", "--data", "survey.csv", "--column", "id", "--delimiter", "ab")


def test_a_200_column_file_works_when_the_column_is_named(folder):
    names = [f"column_{i}" for i in range(200)]
    rows = [",".join("ab"[(i + k) % 2] for i in range(200)) for k in range(10)]
    Path("wide.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    assert run("design", "-e", "0.5", "--data", "wide.csv", "--column", "column_77").status == 0


# Options


def test_data_and_empty_files_are_no_mechanisms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("private.csv").write_text("id,answer\n1,never\n2,once\n")
    Path("empty.json").touch()
    for command in ("audit", "certify"):
        refuse(command, "private.csv", says="private.csv")
        refuse(command, "empty.json", says="empty.json")


def test_an_epsilon_in_percent_is_refused_and_says_what_to_write():
    refuse(
        "design",
        *("--prior", "0.5,0.5", "--epsilon", "70%"),
        says="2.02",
    )


@pytest.mark.parametrize("epsilon", ["nan", "-1", "inf", "-inf", "abc", "", "0,7", "1e400", "0.7 nats"])
def test_an_epsilon_that_is_no_level_is_refused(folder, epsilon):
    refuse("design", "--prior", "0.5,0.5", "--epsilon", epsilon)
    refuse("tradeoff", "--prior", "0.5,0.5", "--epsilons", f"0.1,{epsilon}") if epsilon != "0,7" else None
    refuse("audit", "m.json", "--epsilon", epsilon)  # no leakage is above nan


@pytest.mark.parametrize(
    "prior",
    [
        "0.5,0.6",
        "0.5",
        "",
        "a,b",
        "0.5,nan",
        "1,0",
        "-0.5,1.5",
        "a=0.5,a=0.5",
        "a=0.5,0.5",
        "inf,1",
        ",",
        "0,5;0,5",
    ],
)
def test_a_prior_that_is_none_is_refused(folder, prior):
    refuse("design", "--epsilon", "0.7", "--prior", prior)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "3",
        "null",
        '"a"',
        '{"a": 0.5, "a": 0.5}',
        '{"a": NaN, "b": 1}',
        '{"a": "0.5", "b": 0.5}',
        '{"a": 0.5',
        '{"a": [0.5], "b": 0.5}',
        '[{"label": "a"}]',
        '[{"label": [1], "probability": 1}]',
        "[" * 100_000,
        '{"format": "extremal-mechanism"}',
        '{"matrix": [[1]]}',
        '{"labels": [3], "probabilities": "x"}',
    ],
)
def test_a_document_that_is_none_of_ours_is_refused(folder, text):
    Path("document.json").write_text(text)
    refuse("design", "--epsilon", "0.7", "--prior", "document.json")
    refuse("design", "--epsilon", "0.7", "--counts", "document.json")
    refuse("audit", "document.json")
    refuse("certify", "document.json")


@pytest.mark.parametrize("text", ["[[0.5, 0.5", '{"format": "extremal-mechanism-9"}', "a,b\nc,d\n"])
def test_what_is_wrong_with_a_file_is_said_after_its_name(folder, text):
    Path("wrong.json").write_text(text)
    for words in (["--prior", "wrong.json"], ["--counts", "wrong.json"]):
        refuse("design", "-e", "0.7", *words, says="error: wrong.json: ")
    for command in ("audit", "certify"):
        refuse(command, "wrong.json", says="error: wrong.json: ")
    refuse("estimate", "survey.csv", "--column", "answer", "-m", "wrong.json", says="error: wrong.json: ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("privatize survey.csv -o new.csv -m m.json --epsilon 0.7", "--epsilon; it is for design, certify"),
        ("design --prior 0.5,0.5 --epsilom 0.7", "did you mean --epsilon?"),
        ("design --prior 0.5,0.5 --nothing-like-it", "unknown option: --nothing-like-it (see"),
    ],
)
def test_an_unknown_option_is_answered_by_a_near_one_or_by_who_has_it(folder, words, says):
    refuse(*words.split(), says=says)


def test_an_altered_mechanism_is_refused(folder):
    text = Path("m.json").read_text()
    Path("m.json").write_text(text.replace('"epsilon": "0.7"', '"epsilon": "0.6"'))
    refuse("audit", "m.json", says="m.json")
    refuse("estimate", "survey.csv", "--column", "answer", "-m", "m.json", says="m.json")


def test_a_matrix_is_no_certified_mechanism(folder):
    Path("matrix.json").write_text("[[0.5, 0.5], [0.5, 0.5]]")
    refuse("estimate", "survey.csv", "--column", "answer", "-m", "matrix.json", says="matrix.json")
    refuse("audit", "matrix.json", says="--prior")
    refuse("audit", "matrix.json", "--prior", "0.5,0.3,0.2")
    Path("matrix.json").write_text("[[0.5, 0.6], [0.5, 0.5]]")
    refuse("audit", "matrix.json", "--prior", "0.5,0.5")


def test_the_mechanism_of_another_question_is_refused(folder):
    prior = ex.Prior({"yes": 0.5, "no": 0.5})
    ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.3), 0.3).save("other.json")
    refuse(
        "privatize",
        "survey.csv",
        "-o",
        "new.csv",
        "--column",
        "answer",
        "-m",
        "other.json",
        says="'yes', 'no'",
    )
    refuse("estimate", "survey.csv", "--column", "answer", "-m", "other.json")


@pytest.mark.parametrize(
    "words",
    [
        ["privatize", "-o", "new.csv", "--column", "answer", "-m", "m.json"],
        ["privatize", "-o", "new.csv", "--columns", "answer,answer2", "-m", "pair.json"],
        ["estimate", "--column", "answer", "-m", "m.json"],
        ["estimate", "--column", "answer", "-m", "m.json", "--by", "id"],
        ["estimate", "--columns", "answer,answer2", "-m", "pair.json"],
        ["regress", "answer ~ id", "-m", "m.json"],
        ["change", "secrets.csv", "--column", "answer", "--id-column", "id", "-m", "m.json"],
        ["round", "-o", "new.csv", "--column", "answer", "--points", "0,1"],
        ["round", "-o", "new.csv", "--column", "amount", "--points", "0,1"],
    ],
    ids=" ".join,
)
def test_confidential_values_are_in_no_error(folder, words):
    """True answers and reports that are no labels: a message goes to terminals and logs."""
    rows = [f"{i},PRIVATE-{i % 3},PRIVATE-{i % 2},98{i % 2}" for i in range(30)]
    Path("secrets.csv").write_text("\n".join(["id,answer,answer2,amount", *rows]) + "\n")
    labels = [(a, b) for a in "xy" for b in "xy"]
    pair = ex.Prior([0.4, 0.3, 0.2, 0.1], labels)
    ex.certify(pair, ex.theory.randomized_response_for_pml(pair, 0.3), 0.3).save("pair.json")
    done = run(words[0], "secrets.csv", *words[1:])
    assert done.status == 2
    assert done.error_lines
    assert not re.search("PRIVATE|98", done.err)


def test_a_target_that_exists_or_has_no_folder_is_refused_and_kept(folder):
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "-o", "target.csv", says="--overwrite")
    refuse(
        "privatize", "survey.csv", "-o", "target.csv", "--column", "answer", "-m", "m.json", says="overwrite"
    )
    refuse("tradeoff", "--prior", "0.5,0.5", "-o", "target.csv", says="--overwrite")
    refuse("certify", "m.json", "-o", "target.csv", says="--overwrite")
    refuse("privatize", "survey.csv", "-o", "survey.csv", "--overwrite", "--column", "answer", "-m", "m.json")
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "-o", "no/such/folder.json", says="no/such")
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "-o", ".")
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "-o", "", says="''")
    refuse("audit", "m.json", "--report-file", "", says="''")
    refuse("survey", "new", "", says="''")
    refuse("tradeoff", "--prior", "0.5,0.5", "-o", "curve.doc")
    refuse("demo", "--output", "target.csv")
    refuse("reproduce", "--output", "target.csv")
    assert Path("target.csv").read_text() == "mine\n"


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_key_that_others_can_read_is_refused(folder):
    run("key", "secret.key")
    os.chmod("secret.key", 0o644)
    how = ["privatize", "survey.csv", "-o", "new.csv", "--column", "answer", "-m", "m.json"]
    refuse(*how, "--key-file", "secret.key", "--id-column", "id", says="chmod 600")
    os.chmod("secret.key", 0o600)
    refuse(*how, "--key-file", "secret.key", says="id")
    refuse(*how, "--id-column", "id")
    refuse(*how, "--key-file", "nowhere.key", "--id-column", "id")
    refuse(*how, "--key-file", "secret.key", "--id-column", "age")  # ids that repeat
    Path("short.key").write_text("abc")
    os.chmod("short.key", 0o600)
    refuse(*how, "--key-file", "short.key", "--id-column", "id")
    refuse("key", "secret.key")
    refuse("key", "-", says="must be a file")


def test_options_that_contradict_each_other_or_do_not_exist_are_refused(folder):
    refuse("design", "-e", "0.7", says="--data")
    refuse("design", "-e", "0.7", "--prior", "0.5,0.5", "--data", "survey.csv")
    refuse("design", "--prior", "0.5,0.5", says="--epsilon")
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "-o", "-", "--json")
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "--utility", "happiness", says="mutual-information")
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "--tolerance", "-1")
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "--time-limit", "-1")
    refuse(
        "design", "--data", "survey.csv", "--column", "answer", "-e", "0.3", "--robust", "--confidence", "2"
    )
    refuse("design", "--data", "survey.csv", "--column", "answer", "-e", "0.3", "--labels", "never,once")
    refuse(
        "design",
        "--data",
        "survey.csv",
        "--column",
        "answer",
        "-e",
        "0.3",
        "--labels",
        "never,once,often,always",
    )
    refuse("design", "--prior", "0.5,0.5", "-e", "0", "--utility", "estimation")
    refuse("design", "--prior", "0.5,0.5", "-e", "0.3", "--nonsense")
    refuse("nonsense")
    refuse("design", "design")
    refuse("estimate", "survey.csv", "-m", "m.json", "--column", "answer", "--confidence", "1")
    refuse("estimate", "survey.csv", "-m", "m.json", "--column", "answer", "--group", "nothing")
    refuse("estimate", "survey.csv", "-m", "m.json", "--column", "answer", "--group", "x=nobody")
    refuse("audit")
    refuse("audit", "m.json", "--pairs", "survey.csv")
    refuse("audit", "m.json", "--json", "--markdown")
    refuse("audit", "--pairs", "survey.csv")
    refuse("audit", "--pairs", "survey.csv", "--secret", "answer", "--report", "nothing")
    refuse("tradeoff", "--prior", "0.5,0.5", "--points", "1")
    refuse(
        "privatize", "survey.csv", "-o", "new.csv", "--column", "answer", "--column", "age", "-m", "m.json"
    )
    refuse(
        "privatize",
        "survey.csv",
        "-o",
        "new.csv",
        "--column",
        "answer",
        "-m",
        "m.json",
        "--unknown-as",
        "maybe",
    )
    refuse("demo", "--epsilon", "0", "--output", ".")
    refuse("demo", "--epsilon", "9", "--output", ".")


def test_a_pipe_with_nothing_in_it_is_refused(folder):
    refuse("audit", "-", stdin=b"")
    refuse("audit", "-", stdin=b"\xff\xfe\x00")
    refuse(*DESIGN, "-", stdin=b"", says="standard input")
    refuse("estimate", "-", "--column", "answer", "-m", "m.json", stdin=b"")
    gap = b"id,answer\n1,never\n2,\n3,once\n"
    refuse(
        *DESIGN,
        "-",
        stdin=gap,
        says="--missing",
    )
    refuse("privatize", "-", "-o", "-", "--column", "answer", "-m", "m.json", stdin=b"x")


def test_control_characters_of_a_label_stay_out_of_the_message(folder):
    Path("escape.csv").write_bytes(b"id,answer\n1,\x1b[31mred\n2,b\n")
    refuse("privatize", "escape.csv", "-o", "new.csv", "--column", "answer", "-m", "m.json")
    refuse("estimate", "escape.csv", "--column", "answer", "-m", "m.json")


def test_the_explorer_without_its_library_says_which_extra_to_install(folder, monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "extremal.explorer.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refuse("explore", says='the explorer needs uvicorn; run pip install ".[explorer]" in the project')


def test_every_label_of_a_mechanism_can_be_any_text(folder):
    labels = ["", "a,b", 'say "no"', "line\nend", "=1+1", "ü", "🙂"]
    Path("prior.json").write_text(json.dumps(dict.fromkeys(labels, 1 / 7)))
    done = run("design", "--prior", "prior.json", "-e", "0.9", "-o", "any.json")
    assert done.status == 0, done.err
    assert run("audit", "any.json").status == 0
    assert ex.load("any.json").inputs == tuple(labels)


IGNORED = {
    "--column": ["design", "-e", "0.7", "--prior", "0.5,0.5", "--column", "answer"],
    "--missing": ["design", "-e", "0.7", "--counts", "counts.csv", "--missing", "drop"],
    "--format": ["tradeoff", "--prior", "0.5,0.5", "--format", "csv"],
    "--pseudocount": ["design", "-e", "0.7", "--prior", "0.5,0.5", "--pseudocount", "1"],
    "--delimiter": ["plan", "--prior", "0.5,0.5", "--delimiter", ";"],
    "--confidence": ["design", "-e", "0.7", "--prior", "0.5,0.5", "--confidence", "0.9"],
    "--secret": ["audit", "m.json", "--secret", "answer"],
    "--report": ["audit", "m.json", "--report", "page.html"],  # who meant --report-file
    "--pairs": ["audit", "m.json", "--confidence", "nan"],
    "--report-file": ["audit", "m.json", "--report-file", "-"],
    "--answer": ["plan", "-m", "m.json", "--width", "0.1", "--answer", "never"],
    "--power": ["plan", "-m", "m.json", "--width", "0.1", "--power", "0.9"],
    "--mechanism": ["plan", "-m", "m.json", "--width", "0.1", "--labels", "a,b"],
    "--points": ["tradeoff", "--prior", "0.5,0.5", "--epsilons", "0.1", "--points", "3"],
    "''": ["estimate", "survey.csv", "--column", "answer", "-m", "m.json", "--weights", ""],
    "--people": ["design", "-e", "0.7", "--prior", "0.5,0.5", "--people", "9" * 400],
    "got -": ["demo", "--output", "-"],
    ", got -": ["reproduce", "--output", "-"],
}


@pytest.mark.parametrize("says", IGNORED)
def test_no_option_is_ignored(folder, says):
    """Who gave it meant something; a variable of the shell that is empty, too."""
    Path("counts.csv").write_text("answer,count\nnever,5\nonce,3\n")
    refuse(*IGNORED[says], says=says)


PRIVATE = ["design", "-e", "0.7", "--column", "answer"]
LEARN = [*PRIVATE, "--from-reports", "r.csv", "-m", "m.json"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["design", "-e", "0.7"], "--prior any"),
        (["design", "-e", "0.7", "--prior", "any"], "--labels"),
        (["design", "-e", "0.7", "--prior", "any", "--labels", "a,b", "--robust"], "--robust"),
        (["design", "-e", "0.7", "--prior", "any", "--labels", "a,b", "--counts", "c.csv"], "--counts"),
        (["design", "-e", "0.7", "--prior", "any", "--labels", "a,b", "--drift", "0.1"], "--drift"),
        (["design", "-e", "0.7", "--prior", "0.5,0.5", "-m", "m.json"], "--mechanism"),
        ([*PRIVATE, "--from-reports", "r.csv"], "1 and 0"),
        ([*PRIVATE, "--from-reports", "survey.csv", "-m", "m.json", "--column", "id"], "--column"),
        ([*LEARN, "--from-reports", "r.csv", "-m", "m.json"], "twice"),
        ([*LEARN, "--from-reports", "-"], "2 and 1"),
        ([*LEARN, "--prior", "0.5,0.5"], "--prior"),
        ([*LEARN, "--labels", "a,b"], "--labels"),
        ([*LEARN, "--robust"], "--robust"),
        ([*LEARN, "--forged", "1"], "--forged"),
        ([*LEARN, "--drift", "3"], "--drift"),
        ([*LEARN, "--confidence", "1"], "--confidence"),
        ([*LEARN, "--between", "never"], "--between"),
        ([*LEARN, "--between", "never=40%-2%"], "40%-2%"),
        ([*LEARN, "--between", "nobody=1%-2%"], "nobody"),
        ([*LEARN, "--between", "never=0-1", "--between", "never=0-1"], "again"),
        ([*LEARN, "--between", "never=0-1%"], "--between"),
        (["estimate", "r.csv", "other.csv", "-m", "m.json"], "2 and 1"),
        (["estimate", "r.csv", "-m", "m.json", "-m", "m.json"], "1 and 2"),
        (["estimate", "r.csv", "r.csv", "-m", "m.json", "-m", "m.json"], "twice"),
        (["estimate", "-", "-", "-m", "m.json", "-m", "m.json"], "twice"),
        (["estimate", "r.csv", "-", "-m", "-", "-m", "m.json"], "once"),
        (["estimate", "r.csv", "other.csv"], "--mechanism"),
        (["estimate", "r.csv", "other.csv", "-m", "m.json", "-m", "two.json"], "pair 2"),
        (["estimate", "r.csv", "-m", "m.json", "--stages"], "--stages"),
        (["estimate", "r.csv", "other.csv", "-m", "m.json", "-m", "m.json", "--question", "a"], "--question"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_stages_that_do_not_fit_are_refused(folder, words, says):
    reports = "answer\n" + "never\n" * 50 + "once\n" * 40 + "often\n" * 30
    Path("r.csv").write_text(reports)
    Path("other.csv").write_text(reports)
    Path("c.csv").write_text("a,1\nb,2\n")
    two = ex.Prior({"yes": 0.5, "no": 0.5})
    ex.certify(two, ex.theory.randomized_response_for_pml(two, 0.3), 0.3).save("two.json")
    refuse(*words, says=says)


def test_reports_of_another_mechanism_are_not_repeated(folder):
    Path("r.csv").write_text("answer\n" + "PRIVATE\n" * 50)
    refuse(*LEARN, says="50 of 50")
    assert "PRIVATE" not in run(*LEARN).err


@pytest.mark.parametrize(
    "command",
    [
        ["design", "-e", "0.7", "--data", "survey.csv", "--column", "answer"],
        ["design", "-e", "1", "--list", "survey.csv"],
        ["estimate", "survey.csv", "--column", "answer", "--mechanism", "m.json"],
        ["regress", "survey.csv", "answer ~ age", "--mechanism", "m.json"],
        [
            "change",
            "target.csv",
            "survey.csv",
            "--column",
            "answer",
            "--id-column",
            "id",
            "--mechanism",
            "m.json",
        ],
        ["tradeoff", "--data", "survey.csv", "--column", "answer"],
        ["survey", "import", "survey.csv"],
    ],
    ids=lambda command: command[0],
)
def test_no_output_takes_the_place_of_what_the_command_reads(folder, command):
    Path("link.csv").symlink_to("survey.csv")
    before = Path("survey.csv").read_bytes()
    for name in ("survey.csv", "link.csv"):
        refuse(*command, "--overwrite", "-o", name)
    assert Path("survey.csv").read_bytes() == before


def test_no_page_takes_the_place_of_the_mechanism_that_is_audited(folder):
    before = Path("m.json").read_bytes()
    refuse("audit", "m.json", "--report-file", "m.json", "--overwrite")
    refuse("audit", "m.json", "-o", "m.json", "--overwrite")
    refuse("certify", "m.json", "-o", "./m.json", "--overwrite")
    assert Path("m.json").read_bytes() == before
