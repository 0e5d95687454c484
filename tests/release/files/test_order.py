"""Files whose order tells answers are refused, or shuffled; what is far from the prior is said to the operator."""

import csv
import math
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import extremal as ex
from extremal.certification.certify import certify
from extremal.errors import FileError
from extremal.release.files import privatize, task
from extremal.release.files.privatize import leakage_under
from tests.support.cli_cases import environment, run
from tests.support.file_cases import ALL, FORMATS, KEY, SAME, C, one_line, read, write
from tests.support.wording import refused

LABELS = ["a", "b,b", 'c"c']
SORTED = ["a"] * 100 + ["b,b"] * 60 + ['c"c'] * 40


def survey(values, ids=None):
    mixed = list(range(len(values))) if ids is None else ids
    return {"id": mixed, "answer": values, "note": [f"n{i}" for i in mixed]}


def shuffled_ids(n):
    ids = list(range(n))
    random.Random(3).shuffle(ids)
    return ids


@pytest.mark.parametrize("kind", ALL)
def test_a_file_sorted_by_the_private_column_is_refused_unless_that_is_accepted(tmp_path, kind):
    source, target = write(tmp_path / f"s.{kind}", survey(SORTED)), tmp_path / f"t.{kind}"
    one_line(FileError, "order", lambda: ex.privatize(source, {"answer": C}, target=target))
    assert [p.name for p in tmp_path.iterdir()] == [source.name]
    ex.privatize(source, {"answer": C}, target=target, order="keep")
    one_line(FileError, "order", lambda: ex.privatize(source, {"answer": C}, target=target, order="sort"))


@pytest.mark.parametrize("kind", ALL)
def test_shuffling_keeps_every_record_whole_and_no_order(tmp_path, kind):
    ids = shuffled_ids(200)
    source, target = write(tmp_path / f"s.{kind}", survey(SORTED, ids)), tmp_path / f"t.{kind}"
    orders = []
    for _ in range(2):
        ex.privatize(
            source, {"answer": SAME}, target=target, order="shuffle", overwrite=True, allow_true_answers=True
        )
        got = read(target)
        rows = list(zip(*(map(str, got[name]) for name in ("id", "answer", "note")), strict=True))
        meant = zip(map(str, ids), SORTED, (f"n{i}" for i in ids), strict=True)
        assert sorted(rows) == sorted(meant)
        orders.append(rows)
    assert orders[0] != orders[1]
    assert [row[1] for row in orders[0]] != SORTED
    ex.privatize(
        source, {"answer": C}, target=target, order="shuffle", overwrite=True, keyed=ex.Keyed(KEY, "id")
    )
    meant = C.privatize(random_free(SORTED), keyed=ex.Keyed(KEY, random_free(ids)), column="answer")
    of = dict(zip(random_free(ids), meant, strict=True))
    got = read(target)
    assert [of[int(i)] for i in got["id"]] == got["answer"]


def random_free(values):
    """The values in an order that raises no warning: keyed reports do not depend on it."""
    order = shuffled_ids(len(values))
    return [values[i] for i in order]


@pytest.mark.parametrize("kind", ALL)
def test_shuffling_does_not_help_where_a_column_numbers_the_records(tmp_path, kind):
    source, target = write(tmp_path / f"s.{kind}", survey(SORTED)), tmp_path / f"t.{kind}"
    one_line(
        FileError,
        "'id'",
        lambda: ex.privatize(source, {"answer": C}, target=target, order="shuffle"),
    )
    assert not target.exists()


def test_the_last_line_gets_its_end_when_records_are_shuffled(tmp_path):
    (tmp_path / "s.csv").write_bytes(b"answer,n\na,2\na,1\na,3")
    ex.privatize(
        tmp_path / "s.csv",
        {"answer": SAME},
        target=tmp_path / "t.csv",
        order="shuffle",
        allow_true_answers=True,
    )
    assert sorted((tmp_path / "t.csv").read_bytes().splitlines()) == [b"a,1", b"a,2", b"a,3", b"answer,n"]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_too_large_to_shuffle_is_refused(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(task, "LARGEST", 1000)
    source, target = write(tmp_path / f"s.{kind}", survey(SORTED)), tmp_path / f"t.{kind}"
    one_line(
        FileError,
        "1000",
        lambda: ex.privatize(source, {"answer": C}, target=target, order="shuffle"),
    )
    assert not target.exists()


def test_the_command_line_refuses_an_order_that_tells(tmp_path):
    source = write(tmp_path / "s.csv", survey(SORTED, shuffled_ids(200)))
    C.save(tmp_path / "m.json")
    target = tmp_path / "t.csv"
    words = ["privatize", source, "-o", target, "-m", tmp_path / "m.json", "--column", "answer"]
    done = run(*words)
    assert (done.status, done.out, len(done.error_lines)) == (2, "", 1)
    assert "--order shuffle" in done.err
    assert not target.exists()
    piped = run("privatize", "-", "-o", "-", *words[4:], stdin=source.read_bytes())
    assert (piped.status, piped.out) == (2, "")
    assert run(*words, "--order", "shuffle").status == 0


# --- frequencies ----------------------------------------------------------------------------------


def test_answers_far_from_the_prior_are_told_to_the_operator_alone(tmp_path):
    half = ex.Prior({"yes": 0.5, "no": 0.5})
    c = certify(half, ex.theory.randomized_response_for_pml(half, 0.4), 0.4)
    c.save(tmp_path / "m.json")
    p = math.exp(0.4) / 2  # the chance of a true report
    meant = math.log(p / (0.1 * p + 0.9 * (1 - p)))
    assert leakage_under(c.sampler, np.array([100, 900])) == pytest.approx(meant, abs=1e-6)
    words = (
        "privatize",
        tmp_path / "s.csv",
        "-o",
        tmp_path / "t.csv",
        "-m",
        tmp_path / "m.json",
        "--overwrite",
    )
    for yes, said in ((100, True), (500, False)):
        values = random.Random(2).sample(["yes"] * yes + ["no"] * (1000 - yes), 1000)
        write(tmp_path / "s.csv", {"answer": values})
        done, as_json = run(*words), run(*words, "--json")
        for text in (done.err, as_json.err):
            assert ("far from the prior" in text) == said
            assert ("0.90 nats" in text) == said
            assert ("would be a release" in text) == said
        assert "far from the prior" not in done.out + as_json.out + (tmp_path / "t.csv").read_text()
        assert "who knows only how common the answers are" in done.out


def test_answers_that_follow_the_prior_are_not_worth_a_word(tmp_path):
    values = random.Random(4).choices(LABELS, [0.5, 0.3, 0.2], k=2000)
    source = write(tmp_path / "s.csv", {"answer": values})
    assert ex.privatize(source, {"answer": C}, target=tmp_path / "t.csv").notes == ()


# --- what is left behind, and who can read it -----------------------------------------------------


@pytest.fixture(params=["nameless", "named"])
def way(request, monkeypatch):
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


MIXED = survey(random.Random(6).choices(LABELS, k=300))


def test_a_target_is_written_replaced_and_never_half_there(tmp_path, way):
    source, target = write(tmp_path / "s.csv", MIXED), tmp_path / "t.csv"
    ex.privatize(source, {"answer": SAME}, target=target, allow_true_answers=True)
    assert target.read_bytes() == source.read_bytes()
    target.write_text("old")
    seen = []
    ex.privatize(
        source,
        {"answer": SAME},
        target=target,
        overwrite=True,
        progress=lambda *_: seen.append(target.read_text()),
        allow_true_answers=True,
    )
    assert set(seen) == {"old"}
    assert target.read_bytes() == source.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.csv", "t.csv"]


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_readers_of_another_group_gain_nothing(tmp_path, way, monkeypatch):
    source, target = write(tmp_path / "s.csv", MIXED), tmp_path / "t.csv"
    umask = os.umask(0)
    try:

        def refuse(*_):
            raise PermissionError

        monkeypatch.setattr(os, "fchown", refuse)
        seen = []
        for mode, meant in ((0o640, 0o600), (0o644, 0o644), (0o604, 0o600), (0o660, 0o600)):
            monkeypatch.setattr(privatize, "readers_of", lambda p, mode=mode: (mode, os.stat(p).st_gid + 1))
            ex.privatize(
                source,
                {"answer": C},
                target=target,
                overwrite=True,
                progress=lambda *_: seen.extend(p.stat().st_mode for p in tmp_path.glob(".*part")),
            )
            assert target.stat().st_mode & 0o777 == meant
            assert {mode & 0o777 for mode in seen} <= {0o600}  # nobody else reads along
    finally:
        os.umask(umask)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_pipes_folders_links_and_the_source_itself_are_no_targets_and_pipes_no_source(tmp_path):
    source = write(tmp_path / "s.csv", MIXED)
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    before = sorted(p.name for p in tmp_path.iterdir())
    one_line(
        FileError,
        "source",
        lambda: ex.privatize(tmp_path / "pipe.csv", {"answer": C}, target=tmp_path / "t.csv"),
    )
    for name in ("pipe", "folder", "link", "hard", "s"):
        for overwrite in (False, True):
            with refused(FileError, "target"):
                ex.privatize(source, {"answer": C}, target=tmp_path / f"{name}.csv", overwrite=overwrite)
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    (tmp_path / "away.csv").symlink_to(tmp_path / "nowhere.csv")
    ex.privatize(source, {"answer": C}, target=tmp_path / "away.csv", overwrite=True)
    assert not (tmp_path / "away.csv").is_symlink()
    assert not (tmp_path / "nowhere.csv").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="files without names")
@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(k, marks=pytest.mark.slow) for k in (signal.SIGHUP, signal.SIGTERM))],
)
def test_a_killed_pipe_leaves_no_answer_on_disk(tmp_path, number):
    """Killed while it waits for the rest: nothing is in the temporary folder, nor beside the target."""
    C.save(tmp_path / "m.json")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = [
        "privatize",
        "-",
        "-o",
        str(tmp_path / "t.csv"),
        "-m",
        str(tmp_path / "m.json"),
        "--column",
        "answer",
    ]
    reset = None if number == signal.SIGKILL else signal.signal(number, signal.SIG_DFL)  # `nohup` ignores it
    job = subprocess.Popen(
        [sys.executable, "-m", "extremal", *words],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**environment(), "TMPDIR": str(scratch)},
    )
    if reset is not None:
        signal.signal(number, reset)
    try:
        job.stdin.write(b"id,answer\n" + b"1,a\n2,a\n" * 200_000)  # more than a pipe holds: it is being read
        job.stdin.flush()
        job.send_signal(number)
        job.stdin.close()  # a signal just before Python begins to read is seen when it has read
        job.wait()
    finally:
        job.kill()
        job.wait()
    assert list(scratch.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.json", "scratch"]


def test_nothing_of_a_private_column_survives_in_the_bytes_of_a_parquet_file(tmp_path):
    truths = ["Truth-one", "Truth-two", "Truth-three"]
    prior = ex.Prior.uniform(truths)
    secret = certify(prior, ex.Mechanism(np.full((3, 3), 1 / 3), truths, ["r0", "r1", "r2"]), 0.5)
    values = random.Random(1).choices(truths, k=500)
    frame = pd.DataFrame({"answer": values, "n": range(500)})
    frame.attrs = {"modes": truths}
    table = pa.Table.from_pandas(frame)
    about = table.schema.metadata[b"pandas"].decode()
    about = about.replace('"creator"', '"counts": {"Truth-one": 7}, "note": ["Truth-two"], "creator"', 1)
    about = about.replace('"numpy_type": "int64"', '"numpy_type": "int64", "seen": "Truth-three"', 1)
    inner = pa.field("part", pa.int64(), metadata={"from": "Truth-one"})
    nested = pa.array([{"part": 1}] * 500, pa.struct([inner]))
    table = table.append_column(pa.field("s", nested.type, metadata={"by": "Truth-two"}), nested)
    table = table.replace_schema_metadata({"pandas": about, "crosstab": "Truth-one: 99"})
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    pq.write_table(
        table,
        source,
        compression="NONE",
        write_page_index=True,
        sorting_columns=[pq.SortingColumn(0)],
        row_group_size=100,
        data_page_size=64,
    )
    assert source.read_bytes().count(b"Truth-") > 5
    ex.privatize(source, {"answer": secret}, target=target)
    assert b"Truth" not in target.read_bytes()
    got = pq.read_table(target)
    assert set(got["answer"].to_pylist()) <= {"r0", "r1", "r2"}
    assert got["s"].to_pylist() == [{"part": 1}] * 500
    assert pd.read_parquet(target)["n"].tolist() == list(range(500))
    assert set(pq.read_metadata(target).metadata) <= {b"pandas", b"ARROW:schema"}


def test_refusing_everything_leaves_an_old_target_alone(tmp_path):
    source, target = write(tmp_path / "s.csv", survey(["x"] * 5)), tmp_path / "t.csv"
    target.write_text("old")
    with refused(ex.errors.ValuesError, "No"):
        ex.privatize(source, {"answer": C}, target=target, unknown="drop", overwrite=True)
    assert target.read_text() == "old"


def test_a_stream_gets_everything_or_nothing(tmp_path):
    source = write(tmp_path / "s.csv", MIXED)
    with open(tmp_path / "out", "w+b") as stream:
        ex.privatize(source, {"answer": SAME}, target=stream, allow_true_answers=True)
        stream.seek(0)
        assert stream.read() == source.read_bytes()
    bad = write(tmp_path / "b.csv", survey([*MIXED["answer"], "strange"]))
    with open(tmp_path / "out", "w+b") as stream:
        with pytest.raises(ex.errors.ValuesError):
            ex.privatize(bad, {"answer": SAME}, target=stream, allow_true_answers=True)
        stream.seek(0)
        assert stream.read() == b""
    assert list(csv.reader((tmp_path / "out").read_text().splitlines())) == []
