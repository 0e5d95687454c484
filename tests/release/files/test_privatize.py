"""CSV and Parquet files: reports in the named columns, all else as it was, whole or not there at all."""

import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import CSVWriter
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.draw import drawing
from extremal.draw.sampler import SecureWords, SeededWords
from extremal.errors import FileError, KeyingError, OptionError, ValuesError
from extremal.model.mechanism import identity
from extremal.release.files import csv_scan, task
from extremal.release.files import parquet as parquet_files
from extremal.release.files.privatize import FileOptions, privatize_file
from extremal.release.files.source import open_data
from extremal.release.job import Terms
from tests.support.falsifier import finds_more_than
from tests.support.file_cases import (
    ALL,
    FORMATS,
    KEY,
    PATH,
    SAME,
    WORDS,
    C,
    left_behind,
    one_line,
    read,
    rows_of,
    write,
)
from tests.support.wording import refused


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Many pieces in small files, and no waiting for the disk."""
    monkeypatch.setattr(csv_scan, "BLOCK", 256)
    monkeypatch.setattr(parquet_files, "MOST_ROWS", 64)
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(params=ALL)
def source(request, tmp_path):
    return write(tmp_path / f"source.{request.param}", rows_of(300))


@pytest.fixture
def target(source):
    return source.with_stem("target")


# --- what is written ------------------------------------------------------------------------------


def test_the_file_comes_back_with_the_reports_of_its_column(source, target):
    before = source.read_bytes()
    done = ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"))
    assert (done.rows, done.dropped, done.target) == (300, 0, str(target))
    expected = rows_of(300)
    expected["answer"] = C.privatize(expected["answer"], keyed=ex.Keyed(KEY, expected["id"]), column="answer")
    if source.suffix == ".csv":
        expected["id"] = list(map(str, expected["id"]))
    assert read(target) == expected
    assert source.read_bytes() == before
    assert left_behind(source.parent) == []


def test_a_rerun_with_the_same_key_gives_the_same_bytes(source, target):
    ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"))
    first = target.read_bytes()
    ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"), overwrite=True)
    assert target.read_bytes() == first
    ex.privatize(source, {"answer": C}, target=target, overwrite=True)
    second = target.read_bytes()
    ex.privatize(source, {"answer": C}, target=target, overwrite=True)
    assert len({first, second, target.read_bytes()}) == 3


@pytest.mark.parametrize("source", FORMATS, indirect=True)
def test_a_file_gets_the_keyed_reports_of_its_frame(source, target):
    ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"))
    load = pd.read_csv if source.suffix == ".csv" else pd.read_parquet
    frame = ex.privatize(load(source), {"answer": C}, keyed=ex.Keyed(KEY, "id"))
    assert load(target).equals(frame)


def test_nothing_but_the_column_changes(source, target):
    """A mechanism that reports the truth copies the file."""
    ex.privatize(source, {"answer": SAME}, target=target, allow_true_answers=True)
    assert read(target) == read(source)
    if source.suffix == ".csv":
        assert target.read_bytes() == source.read_bytes()


def test_every_piece_and_column_has_its_own_words(tmp_path):
    """Error rate: four binomial tails at 1e-9."""
    pair = ex.Prior.uniform(["x", "y"])
    coin = certify(pair, ex.Mechanism(np.full((2, 2), 0.5), pair.labels, pair.labels), 0.0)
    n = 4096
    for suffix in FORMATS:
        source = write(tmp_path / f"s.{suffix}", {"one": ["x"] * n, "two": ["x"] * n})
        target = source.with_stem("t")
        ex.privatize(source, {"one": coin, "two": coin}, target=target)
        one, two = (np.array(column) == "x" for column in read(target).values())
        pieces = one.reshape(-1, 64)
        for same, of in ((one == two, n), (pieces[1:] == pieces[:-1], n - 64)):
            count = int(same.sum())
            assert min(stats.binom.cdf(count, of, 0.5), stats.binom.sf(count - 1, of, 0.5)) > 0.5e-9


@pytest.mark.parametrize("source", FORMATS, indirect=True)
def test_no_stream_of_words_is_used_twice(source, target):
    class Counted(SecureWords):
        def stream(self, count):
            streams.append(count)
            return super().stream(count)

    streams = []
    ex.privatize(source, {"answer": C}, target=target, source=Counted())
    assert sum(streams) == 300
    assert len(streams) > 3


def test_reports_follow_the_certified_distribution(tmp_path, monkeypatch):
    """Error rate: 2 x 3 binomial tails at 1e-9; less than 1e-8 in all."""
    monkeypatch.setattr(csv_scan, "BLOCK", 1 << 16)
    monkeypatch.setattr(parquet_files, "MOST_ROWS", 1 << 14)
    n = 60_000
    for suffix in FORMATS:
        source = write(tmp_path / f"s.{suffix}", {"answer": ["b,b"] * n, "n": [1] * n}, 7000)
        ex.privatize(source, {"answer": C}, target=source.with_stem("t"))
        reports = read(source.with_stem("t"))["answer"]
        for j, y in enumerate(C.outputs):
            p, count = float(C.weights[1, j]) / 2**62, reports.count(y)
            assert min(stats.binom.cdf(count, n, p), stats.binom.sf(count - 1, n, p)) > 0.5e-9


def test_several_columns_one_by_one_and_together(source, target):
    columns = rows_of(300)
    columns["twin"] = columns["answer"][1:] + columns["answer"][:1]
    write(source, columns)
    both = ex.Prior.product(WORDS, WORDS)
    joint = certify(both, identity(both), 4.0, allow_true_answers=True)
    ex.privatize(source, {("twin", "answer"): joint}, target=target, allow_true_answers=True)
    assert read(target) == read(source)
    loose = certify(both, ex.theory.randomized_response(both, 1.0), 1.0)
    ex.privatize(
        source, {("twin", "answer"): loose}, target=target, keyed=ex.Keyed(KEY, "id"), overwrite=True
    )
    got = read(target)
    pairs = list(zip(columns["twin"], columns["answer"], strict=True))
    assert list(zip(got["twin"], got["answer"], strict=True)) == loose.privatize(
        pairs, keyed=ex.Keyed(KEY, columns["id"]), column=("twin", "answer")
    )
    ex.privatize(
        source, {"answer": SAME, "twin": SAME}, target=target, overwrite=True, allow_true_answers=True
    )
    assert read(target) == read(source)


def test_unknown_values_are_refused_counted_dropped_or_mapped(source, target):
    columns = rows_of(300)
    columns["answer"][10] = columns["answer"][200] = "strange"
    columns["answer"][250] = None
    write(source, columns)
    with refused(ValuesError, "'answer'", "others in 3 of 300 rows, first in record 11 (1 missing)"):
        ex.privatize(source, {"answer": C}, target=target)
    assert os.listdir(source.parent) == [source.name]
    done = ex.privatize(source, {"answer": SAME}, target=target, unknown="drop", allow_true_answers=True)
    assert (done.rows, done.dropped) == (297, 3)
    assert done.unknown == {"answer": (1, 2)}
    kept = [i for i in range(300) if i not in (10, 200, 250)]
    assert read(target) == {name: [values[i] for i in kept] for name, values in read(source).items()}
    ex.privatize(
        source,
        {"answer": SAME},
        target=target,
        unknown_as={"answer": "a"},
        overwrite=True,
        allow_true_answers=True,
    )
    assert [read(target)["answer"][i] for i in (10, 200, 250)] == ["a", "a", "a"]
    assert len(read(target)["id"]) == 300


def test_ids_of_dropped_rows_take_their_words_with_them(source, target):
    columns = rows_of(300)
    columns["answer"][10] = "strange"
    write(source, columns)
    ex.privatize(source, {"answer": C}, target=target, unknown="drop", keyed=ex.Keyed(KEY, "id"))
    del columns["answer"][10], columns["id"][10]
    assert read(target)["answer"] == C.privatize(
        columns["answer"], keyed=ex.Keyed(KEY, columns["id"]), column="answer"
    )


@pytest.mark.parametrize("source", FORMATS, indirect=True)
def test_progress_goes_from_the_start_to_the_end(source, target):
    seen = []
    ex.privatize(
        source, {"answer": C}, target=target, progress=lambda done, total: seen.append((done, total))
    )
    total = 300 if source.suffix == ".parquet" else source.stat().st_size
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(seen) > 3


@pytest.mark.parametrize("source", FORMATS, indirect=True)
def test_a_file_without_records_is_refused(source, target):
    write(source, {name: [] for name in rows_of(0)} if source.suffix == ".csv" else rows_of(1))
    if source.suffix == ".parquet":
        pq.write_table(pq.read_table(source).slice(0, 0), source)
    one_line(
        ValuesError,
        "names of columns alone",
        lambda: ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id")),
    )
    assert not target.exists()


def test_a_file_is_opened_once_and_a_change_since_then_is_noticed(source, target):
    data = open_data(str(source), ["answer"], None, None)
    os.utime(source, ns=(1, 1))
    one_line(
        FileError,
        "source",
        lambda: privatize_file(data, target, {"answer": C}, Terms(), FileOptions()),
    )
    assert not target.exists()


# --- what is refused ------------------------------------------------------------------------------


def test_a_target_that_is_there_or_is_the_source_is_left_alone(source, target):
    target.write_text("precious")
    one_line(FileError, "overwrite=True", lambda: ex.privatize(source, {"answer": C}, target=target))
    assert target.read_text() == "precious"
    before = source.read_bytes()
    target.unlink()
    os.link(source, target)
    other = source.with_stem("link")
    other.symlink_to(source)
    for name in (source, target, other, source.parent / "." / source.name):
        one_line(
            FileError,
            name.stem,
            lambda name=name: ex.privatize(source, {"answer": C}, target=name, overwrite=True),
        )
    assert source.read_bytes() == before
    dangling = source.with_stem("dangling")
    dangling.symlink_to(source.parent / "nowhere")
    one_line(FileError, "dangling", lambda: ex.privatize(source, {"answer": C}, target=dangling))


def test_a_target_that_appears_in_the_meantime_is_left_alone(source, target):
    def meddle(done, total):
        target.write_text("precious")

    one_line(
        FileError,
        "target",
        lambda: ex.privatize(source, {"answer": C}, target=target, progress=meddle),
    )
    assert target.read_text() == "precious"
    assert left_behind(source.parent) == []


def test_a_source_that_changes_is_noticed(source, target):
    def meddle(done, total):
        os.utime(source, ns=(1, 1))

    one_line(
        FileError,
        "source",
        lambda: ex.privatize(source, {"answer": C}, target=target, progress=meddle),
    )
    assert not target.exists()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mechanisms": {"question": C}}, ValuesError, "'question'"),
        ({"mechanisms": {}}, ValuesError, "mechanisms"),
        ({"mechanisms": {"answer": C.mechanism}}, ValuesError, "Mechanism"),
        ({"keyed": KEY}, KeyingError, "keyed"),
        ({"keyed": ex.Keyed(KEY, [1, 2])}, KeyingError, "ids"),
        ({"keyed": ex.Keyed(KEY, "who")}, ValuesError, "'who'"),
        ({"keyed": ex.Keyed(KEY, "answer")}, ValuesError, "'answer', which is to be privatised"),
        ({"keyed": ex.Keyed(KEY, "id"), "words": SeededWords(1)}, KeyingError, "draws"),
        ({"words": 5}, ValuesError, "SecureWords"),
        ({"format": "csv", "delimiter": 5}, FileError, ""),
        ({"format": "excel"}, FileError, "format"),
        ({"unmarked": "yes"}, FileError, "unmarked"),
        ({"unknown": "keep"}, ValuesError, "unknown"),
        ({"target": "no/such/folder.{}"}, FileError, "folder"),
        ({"target": "target.xlsx"}, FileError, "target.xlsx"),
        ({"target": "folder.{}"}, FileError, "folder"),
        ({"source": "absent.{}"}, FileError, "No such file"),
        ({"source": "folder.{}"}, FileError, "source"),
        ({"source": "empty.{}"}, FileError, "empty"),
        ({"source": "other.{}"}, FileError, "other."),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(source, options, error, message):
    folder, kind = source.parent, source.suffix[1:]
    (folder / f"folder.{kind}").mkdir()
    (folder / f"empty.{kind}").touch()
    (folder / f"other.{kind}").write_bytes(b"id,answer,note\n1,a,\xff\xfe\n")
    given = {"source": source.name, "target": f"target.{kind}", "mechanisms": {"answer": C}, **options}
    files_before = sorted(os.listdir(folder))
    paths = [folder / given.pop(name).format(kind) for name in ("source", "target")]
    if "words" in given:
        given["source"] = given.pop("words")
    one_line(
        error, message, lambda: ex.privatize(paths[0], given.pop("mechanisms"), target=paths[1], **given)
    )
    assert sorted(os.listdir(folder)) == files_before


@pytest.mark.parametrize("path", [None, 5, "", "a\0b.csv", ["s.csv"]])
def test_what_is_no_path_is_refused(source, target, path):
    kind = FileError if isinstance(path, str) else OptionError
    one_line(kind, "", lambda: ex.privatize(path, {"answer": C}, target=target))
    one_line(FileError, "", lambda: ex.privatize(source, {"answer": C}, target=path))


def test_paths_of_bytes_are_paths_too(source, target):
    done = ex.privatize(os.fsencode(source), {"answer": C}, target=os.fsencode(target))
    assert done.target == str(target)
    assert read(target).keys() == read(source).keys()


@pytest.mark.parametrize("source", FORMATS, indirect=True)
@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_full_disk_is_one_line_and_leaves_nothing(source, target):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        one_line(FileError, str(target), lambda: ex.privatize(source, {"answer": C}, target=target))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not target.exists()
    assert left_behind(target.parent) == []


def test_twenty_thousand_unknown_values_are_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_scan, "BLOCK", 1 << 18)
    monkeypatch.setattr(parquet_files, "MOST_ROWS", 1 << 12)
    values = {"answer": [f"unknown {i}" for i in range(20_000)], "n": [1] * 20_000}
    for kind in FORMATS:
        source = write(tmp_path / f"s.{kind}", values, 6_000)
        one_line(
            ValuesError,
            "others in 20000 of 20000 rows, first in record 1",
            lambda source=source: ex.privatize(source, {"answer": C}, target=source.with_stem("t")),
        )


def test_a_hopeless_file_is_not_read_to_its_end(source, target, monkeypatch):
    monkeypatch.setattr(drawing, "MOST_UNKNOWN", 20)
    write(source, {"answer": ["x"] * 300, "n": [1] * 300})
    one_line(ValuesError, "rows", lambda: ex.privatize(source, {"answer": C}, target=target))


def same_hash(ids, again=task.Ids._again):
    for hashes, blocks in again(ids):
        yield hashes % np.uint64(7), blocks


@pytest.mark.parametrize("turns", [1, 5])
@pytest.mark.parametrize("ids", ["shuffled", "negative", "text", "same hash"])
def test_ids_must_be_distinct_in_the_whole_file(source, target, monkeypatch, ids, turns):
    monkeypatch.setattr(task, "MOST_IDS", 300 // turns)
    if ids == "same hash":
        monkeypatch.setattr(task.Ids, "_again", same_hash)
    columns = rows_of(300)
    numbers = np.random.default_rng(0).permutation(300).tolist()
    if ids == "negative":
        numbers = [-n for n in numbers]
    columns["id"] = [f"person {n}" for n in numbers] if ids == "text" else numbers
    write(source, columns)
    ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"))
    columns["id"][290] = columns["id"][5]
    write(source, columns)
    call = {"keyed": ex.Keyed(KEY, "id"), "overwrite": True}
    one_line(
        KeyingError,
        "the same in records 6 and 291 of column 'id'",
        lambda: ex.privatize(source, {"answer": C}, target=target, **call),
    )


def test_every_record_needs_an_id(source, target):
    columns = rows_of(300)
    columns["id"][7] = None
    write(source, columns)
    one_line(
        KeyingError,
        "id",
        lambda: ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id")),
    )


def test_increasing_ids_are_read_once(source, target, monkeypatch):
    monkeypatch.setattr(task.Ids, "_again", lambda *_: pytest.fail("read again"))
    ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"))


# --- experiments ----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", FORMATS, indirect=True)
def test_reports_for_experiments_say_so(source, target):
    call = {"source": SeededWords(7)}
    if source.suffix == ".csv":
        one_line(FileError, "NOT PRIVATE", lambda: ex.privatize(source, {"answer": C}, target=target, **call))
        ex.privatize(source, {"answer": C}, target=target, unmarked="allow", **call)
    else:
        ex.privatize(source, {"answer": C}, target=target, **call)
        assert b"NOT PRIVATE" in pq.read_schema(target).metadata[b"extremal"]
    first = target.read_bytes()
    again = {"source": SeededWords(7), "unmarked": "allow", "overwrite": True}
    ex.privatize(source, {"answer": C}, target=target, **again)
    assert target.read_bytes() == first
    for how in ({}, {"keyed": ex.Keyed(KEY, "id")}):
        ex.privatize(source, {"answer": C}, target=target, overwrite=True, **how)
        assert b"extremal" not in target.read_bytes()


# --- interruptions --------------------------------------------------------------------------------


def test_an_error_leaves_nothing_behind(source, target):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ex.privatize(source, {"answer": C}, target=target, progress=stop)
    assert os.listdir(source.parent) == [source.name]
    target.write_text("precious")
    with pytest.raises(KeyboardInterrupt):
        ex.privatize(source, {"answer": C}, target=target, progress=stop, overwrite=True)
    assert target.read_text() == "precious"


NAMED = """
import os
if hasattr(os, "O_TMPFILE"):
    del os.O_TMPFILE
"""
JOB = """
import sys, time
import extremal as ex
from extremal.certification.certified import load
from extremal.release.files import csv_scan, parquet as parquet_files
csv_scan.BLOCK, parquet_files.MOST_ROWS = 256, 64

def wait(done, total):
    if done > total / 2:
        print("halfway", flush=True)
        time.sleep(100)

source, target, mechanism = sys.argv[1:]
keyed = ex.Keyed(bytes(range(32)), "id")
ex.privatize(source, {"answer": load(mechanism)}, target=target, keyed=keyed, progress=wait)
"""


@pytest.mark.parametrize("named", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_killed_job_leaves_the_source_and_no_target_and_the_next_run_succeeds(source, target, named):
    """A file without a name leaves nothing at all; one with a name goes when the next job begins."""
    if not named and not hasattr(os, "O_TMPFILE"):
        pytest.skip("files without a name")
    before = source.read_bytes()
    mechanism = source.parent / "m.json"
    C.save(mechanism)
    job = subprocess.Popen(
        [sys.executable, "-c", NAMED * named + JOB, source, target, mechanism],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": PATH},
    )
    try:
        assert job.stdout.readline() == b"halfway\n"
        assert len(left_behind(source.parent)) == named
        other = source.with_stem("other")
        ex.privatize(source, {"answer": C}, target=other, keyed=ex.Keyed(KEY, "id"))  # does not disturb it
        assert len(left_behind(source.parent)) == named
    finally:
        os.kill(job.pid, signal.SIGKILL)
        job.communicate()
    assert source.read_bytes() == before
    assert not target.exists()
    assert len(left_behind(source.parent)) == named
    ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"))
    assert target.read_bytes() == other.read_bytes()
    assert left_behind(source.parent) == []  # what the killed job left is gone


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_what_only_looks_like_an_unfinished_file_is_left_alone(source, target):
    """A named pipe would keep the job waiting for ever, a link would lead to a file of somebody else."""
    pipe, link = (target.with_name(f".{target.name}.{letter * 16}.part") for letter in "ab")
    os.mkfifo(pipe)
    other = source.with_name("other")
    other.write_text("mine")
    link.symlink_to(other)
    ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"))
    assert target.exists()
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert other.read_text() == "mine"


def test_two_jobs_for_one_target_do_not_disturb_each_other(source, target):
    def second(done, total):
        if not target.exists():
            ex.privatize(source, {"answer": C}, target=target, overwrite=True)

    ex.privatize(
        source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"), overwrite=True, progress=second
    )
    alone = source.with_stem("alone")
    ex.privatize(source, {"answer": C}, target=alone, keyed=ex.Keyed(KEY, "id"))
    assert target.read_bytes() == alone.read_bytes()
    assert left_behind(source.parent) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_the_target_is_no_more_readable_than_the_source(source, target):
    source.chmod(0o600)
    ex.privatize(source, {"answer": C}, target=target)
    assert target.stat().st_mode & 0o777 == 0o600
    os.umask(umask := os.umask(0o022))
    source.chmod(0o644)
    ex.privatize(source, {"answer": C}, target=target, overwrite=True)
    assert target.stat().st_mode & 0o777 == 0o644 & ~umask


# --- the falsifier --------------------------------------------------------------------------------

LEAST = 0.4
FEW = certify(WORDS, ex.theory.randomized_response_for_pml(WORDS, LEAST), LEAST)


def csv_source(path, values):
    """Some values are quoted without need, as some programs do by the value."""
    path.write_bytes(
        b"n,answer\n"
        + b"".join(b'%d,"%s"\n' % (i, v.replace('"', '""').encode()) for i, v in enumerate(values))
    )


def parquet_source(path, values):
    """A categorical in the order of the values, row groups that depend on them, and pandas' metadata."""
    frame = pd.DataFrame({"answer": pd.Categorical(values, pd.unique(np.array(values))), "n": [1, 2, 3]})
    frame.attrs = {"first": values[0]}
    frame.to_parquet(path, row_group_size=1 + len(values[0]) % 2)


@pytest.mark.parametrize("kind", FORMATS)
def test_the_bytes_of_a_file_leak_no_more_than_epsilon(tmp_path, kind):
    """Files with the same reports are the same bytes, whatever the answers were: so they leak what reports leak."""
    written = defaultdict(set)
    target = tmp_path / f"t.{kind}"
    for i, label in enumerate(WORDS.labels):
        source = tmp_path / f"s{i}.{kind}"
        (csv_source if kind == "csv" else parquet_source)(source, [label, 'c"c', "a"])
        for _ in range(50):
            ex.privatize(source, {"answer": FEW}, target=target, overwrite=True)
            frame = pd.read_csv(target) if kind == "csv" else pd.read_parquet(target)
            written[tuple(frame["answer"])].add((target.read_bytes(), i))
    assert all(len({content for content, _ in files}) == 1 for files in written.values())
    assert sum(len({answer for _, answer in files}) > 1 for files in written.values()) > 6  # of 27


def test_the_falsifier_finds_what_a_careless_copy_keeps(tmp_path):
    """The reports are as they should be, but the categories come from the source."""
    runs = {}
    for i, label in enumerate(WORDS.labels):
        source = tmp_path / f"s{i}.parquet"
        parquet_source(source, [label, 'c"c', "a"])
        frame = pd.read_parquet(source)
        known = [*frame["answer"].cat.categories, *WORDS.labels]
        runs[label] = []
        for _ in range(120):
            reports = FEW.privatize(frame["answer"].tolist())
            careless = frame.assign(answer=pd.Categorical(reports, list(dict.fromkeys(known))))
            runs[label].append(careless.to_parquet())
    assert finds_more_than(LEAST, runs, WORDS)


# --- size -----------------------------------------------------------------------------------------

MEASURED = """
import re, sys
from pathlib import Path
from extremal.certification.certified import load
import extremal as ex
source, target, mechanism = sys.argv[1:]
c = load(mechanism)
ex.privatize(source, {"answer": c}, target=target)
keyed = ex.Keyed(bytes(range(32)), "id")
ex.privatize(source, {"answer": c}, target=target, overwrite=True, keyed=keyed)
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
@pytest.mark.parametrize("kind", FORMATS)
def test_memory_does_not_grow_with_the_file(tmp_path, kind):
    """Ids are turned around in blocks, so that they have to be compared with each other, too."""
    mechanism, million = tmp_path / "m.json", 10**6
    C.save(mechanism)
    peaks = []
    for millions in (1, 6):
        source = tmp_path / f"s{millions}.{kind}"
        fixed = {"answer": ["a"] * million, "note": [f"note {i}" for i in range(million)]}
        schema = pa.schema({"id": pa.int64(), "answer": pa.string(), "note": pa.string()})
        with (CSVWriter if kind == "csv" else pq.ParquetWriter)(source, schema) as writer:
            for k in reversed(range(millions)):
                ids = np.arange(million)[::-1] + k * million
                writer.write_table(pa.table({"id": ids, **fixed}))
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, source, tmp_path / f"t{millions}.{kind}", mechanism],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONPATH": PATH},
        )
        peaks.append(int(done.stdout))
    assert peaks[1] < 1024
    assert peaks[1] < peaks[0] + 150  # what is kept of ids has an upper limit, which a million does not reach
