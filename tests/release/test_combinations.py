"""Combinations of releases that a careful person may make, judged by the falsifier of joint releases; and bytes.

What is published is a function of the public part of the source, the reports and nothing else: sources that differ in
their answers alone give the same bytes wherever the reports are the same.
"""

import io
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import extremal as ex
from extremal.certification.certify import certify
from extremal.draw import sampler
from extremal.draw.keys import write_key
from extremal.draw.sampler import SecureWords, SeededWords
from extremal.errors import KeyingError, ValuesError
from extremal.release.files.parquet import ParquetData
from tests.support.cli_cases import run
from tests.support.joint import Released, all_findings, findings, promise

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
PAIRS = ex.Prior.product(PRIOR, PRIOR)
C = certify(PRIOR, ex.theory.randomized_response(PRIOR, 1.0), 1.0)
D = certify(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.5), 0.5)
BOTH = certify(PAIRS, ex.theory.randomized_response(PAIRS, 1.0), 1.0)
KEY = bytes(range(150, 182))
N = 3000
A, B = (
    np.random.default_rng(seed).choice(PRIOR.labels, N, p=PRIOR.probabilities).tolist() for seed in (1, 2)
)
FRAME = pd.DataFrame({"id": [f"p{i}" for i in range(N)], "a": A, "b": B})


def released(how, certified, answers, reports, column=None, occasion=None, key=KEY):
    seed = None if column is None else (key, column, occasion, promise(certified))
    return Released(how, certified, tuple(answers), tuple(reports), seed)


class Csv:
    name = "csv"

    @staticmethod
    def write(frame, path):
        frame.to_csv(path, index=False)

    @staticmethod
    def read(path):
        return pd.read_csv(path, dtype=str)


class Parquet:
    name = "parquet"

    @staticmethod
    def write(frame, path):
        pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=1000)

    @staticmethod
    def read(path):
        return pq.read_table(path).to_pandas()


FORMATS = [Csv, Parquet]


def through(kind, folder, frame, mechanisms, name="target", **how):
    """The frame after a trip through a file."""
    source, target = folder / f"source.{kind.name}", folder / f"{name}.{kind.name}"
    kind.write(frame, source)
    if "source" in how:
        how["unmarked"] = "allow"
    ex.privatize(source, mechanisms, target=target, overwrite=True, **how)
    return kind.read(target)


# --- two columns in one release ---------------------------------------------------------------------

IN_MEMORY = {
    "pandas": pd.DataFrame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def columns_of(frame):
    return [frame[name].to_pylist() if isinstance(frame, pa.Table) else list(frame[name]) for name in "ab"]


@pytest.mark.parametrize("kind", IN_MEMORY)
@pytest.mark.parametrize("keyed", [True, False])
def test_two_columns_of_a_frame_have_noise_of_their_own(kind, keyed):
    how = {"keyed": ex.Keyed(KEY, "id")} if keyed else {"source": SeededWords(3)}
    a, b = columns_of(ex.privatize(IN_MEMORY[kind](FRAME), {"a": C, "b": C}, **how))
    assert findings(released("a", C, A, a), released("b", C, B, b)) == []


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("keyed", [True, False])
def test_two_columns_of_a_file_have_noise_of_their_own(kind, keyed, tmp_path):
    how = {"keyed": ex.Keyed(KEY, "id")} if keyed else {"source": SeededWords(3)}
    a, b = columns_of(through(kind, tmp_path, FRAME, {"a": C, "b": C}, **how))
    assert findings(released("a", C, A, a), released("b", C, B, b)) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_two_columns_that_begin_the_same_stream_are_found(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(SeededWords, "stream", lambda self, count: sampler.keystream(bytes(32)))
    twins = FRAME.assign(b=A)
    a, b = columns_of(through(kind, tmp_path, twins, {"a": C, "b": C}, source=SeededWords(3)))
    assert findings(released("a", C, A, a), released("b", C, A, b))


# --- several releases -------------------------------------------------------------------------------


def test_a_keyed_and_a_fresh_file_of_the_same_people_are_independent(tmp_path):
    keyed = through(Csv, tmp_path, FRAME, {"a": C, "b": D}, keyed=ex.Keyed(KEY, "id"))
    fresh = through(Parquet, tmp_path, FRAME, {"a": C, "b": C}, source=SeededWords(6))
    releases = [
        released("keyed a", C, A, keyed["a"], "a"),
        released("keyed b", D, B, keyed["b"], "b"),
        released("fresh a", C, A, fresh["a"]),
        released("fresh b", C, B, fresh["b"]),
    ]
    assert all_findings(releases) == []


def test_one_call_refuses_a_column_twice_and_two_calls_are_independent(tmp_path):
    for twice in ({"a": C, ("a", "b"): BOTH}, {("a", "b"): BOTH, ("b", "a"): BOTH}):
        with pytest.raises(ValuesError, match="a column must be released once"):
            ex.privatize(FRAME, twice, keyed=ex.Keyed(KEY, "id"))
    how = {"keyed": ex.Keyed(KEY, "id")}
    pairs = ex.privatize(FRAME, {("a", "b"): BOTH}, **how)
    releases = [
        released("a", C, A, ex.privatize(FRAME, {"a": C}, **how)["a"], "a"),
        released("a by another mechanism", D, A, ex.privatize(FRAME, {"a": D}, **how)["a"], "a"),
        released(
            "both",
            BOTH,
            zip(A, B, strict=True),
            zip(pairs["a"], pairs["b"], strict=True),
            ("a", "b"),
        ),
    ]
    assert all_findings(releases) == []
    ledger = tmp_path / "ledger"
    ex.privatize(FRAME, {"a": C}, ledger=ledger, **how)
    for second in ({"a": D}, {("a", "b"): BOTH}):
        with pytest.raises(KeyingError, match="must be released once for each person"):
            ex.privatize(FRAME, second, ledger=ledger, **how)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_value_that_unknown_as_replaces_reports_as_its_replacement(kind, tmp_path):
    gone = np.random.default_rng(3).random(N) < 0.2
    holes = FRAME.assign(a=[None if hole else answer for hole, answer in zip(gone, A, strict=True)])
    filled = FRAME.assign(a=["often" if hole else answer for hole, answer in zip(gone, A, strict=True)])
    how = {"keyed": ex.Keyed(KEY, "id")}
    one = through(kind, tmp_path, holes, {"a": C}, unknown_as={"a": "often"}, **how)
    two = ex.privatize(filled, {"a": C}, keyed=ex.Keyed(KEY, "id"))
    releases = [
        released("file", C, filled["a"], one["a"], "a"),
        released("frame", C, filled["a"], two["a"], "a"),
    ]
    assert all_findings(releases) == []
    corrected = ex.privatize(FRAME, {"a": C}, keyed=ex.Keyed(KEY, "id"))
    assert findings(releases[0], released("corrected", C, A, corrected["a"], "a")) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_people_who_stay_keep_their_reports_when_others_are_dropped(kind, tmp_path):
    holes = FRAME.assign(a=["?" if i % 7 == 3 else answer for i, answer in enumerate(A)])
    kept = [i for i in range(N) if i % 7 != 3]
    how = {"keyed": ex.Keyed(KEY, "id")}
    few = through(kind, tmp_path, holes, {"a": C, "b": C}, unknown="drop", **how)
    assert few["id"].tolist() == [f"p{i}" for i in kept]
    for name, answers in (("a", A), ("b", B)):
        everybody = ex.privatize(FRAME, {name: C}, keyed=ex.Keyed(KEY, "id"))[name]
        whole = released("everybody", C, answers, everybody, name)
        assert (
            findings(whole.among(kept), released("kept", C, [answers[i] for i in kept], few[name], name))
            == []
        )


@pytest.mark.parametrize("kind", FORMATS)
def test_shuffled_keyed_reports_stay_with_their_people_and_the_order_tells_nothing(
    kind, tmp_path, monkeypatch
):
    """The order is a function of the words alone: other answers, the same words, the same order."""
    monkeypatch.setattr(SecureWords, "stream", lambda self, count: sampler.keystream(bytes(32)))
    mixed = FRAME.sample(frac=1, random_state=1)  # ids in order would give it away, and are refused
    how = {"keyed": ex.Keyed(KEY, "id"), "order": "shuffle"}
    one = through(kind, tmp_path, mixed, {"a": C, "b": C}, **how)
    assert one["id"].tolist() != mixed["id"].tolist()
    places = [int(name[1:]) for name in one["id"]]
    for name, answers in (("a", A), ("b", B)):
        whole = released(
            "frame", C, answers, ex.privatize(FRAME, {name: C}, keyed=ex.Keyed(KEY, "id"))[name], name
        )
        shuffled = released("shuffled", C, [answers[i] for i in places], one[name], name)
        assert findings(whole.among(places), shuffled) == []
    others = mixed.assign(a=mixed["b"].tolist(), b=mixed["a"].tolist())
    assert through(kind, tmp_path, others, {"a": C, "b": C}, **how)["id"].tolist() == one["id"].tolist()
    sorted_by_answer = mixed.sort_values("a")
    monkeypatch.undo()
    two = through(kind, tmp_path, sorted_by_answer, {"a": C, "b": C}, **how)
    assert two.set_index("id")["a"].to_dict() == one.set_index("id")["a"].to_dict()


@pytest.mark.parametrize("kind", FORMATS)
def test_overwriting_repeats_keyed_reports_and_draws_others_anew(kind, tmp_path):
    target = tmp_path / f"target.{kind.name}"
    seen = []
    for _ in range(2):
        through(kind, tmp_path, FRAME, {"a": C}, keyed=ex.Keyed(KEY, "id"))
        seen.append(target.read_bytes())
    assert seen[0] == seen[1]
    words = SeededWords(2)
    fresh = [
        released("fresh", C, A, through(kind, tmp_path, FRAME, {"a": C}, source=words)["a"]) for _ in range(3)
    ]
    assert all_findings(fresh) == []


def test_a_copied_key_has_no_ledger_and_its_reports_are_a_second_draw_as_documented(tmp_path, monkeypatch):
    """The limit that docs/threat-model.md names: the ledger stands beside the key, and a copy of the key has none."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("s.csv", index=False)
    write_key("secret.key")
    C.save("c.json")
    D.save("d.json")

    def privatize(mechanism, key, target):
        how = ("--column", "a", "--id-column", "id", "--key-file", key, "-o", target)
        return run("privatize", "s.csv", "--mechanism", mechanism, *how)

    assert privatize("c.json", "secret.key", "one.csv").status == 0
    assert privatize("d.json", "secret.key", "two.csv").status == 2
    assert not Path("two.csv").exists()
    shutil.copy("secret.key", "copy.key")
    assert privatize("c.json", "copy.key", "same.csv").status == 0
    assert Path("same.csv").read_bytes() == Path("one.csv").read_bytes()
    shutil.copy("secret.key.ledger", "copy.key.ledger")
    assert privatize("d.json", "copy.key", "two.csv").status == 2
    Path("copy.key.ledger").unlink()
    assert privatize("d.json", "copy.key", "two.csv").status == 0
    one, two = (pd.read_csv(name)["a"] for name in ("one.csv", "two.csv"))
    assert findings(released("one", C, A, one), released("two", D, A, two)) == []


KILLED = """
import os, sys
from extremal.certification.certified import load
from extremal._common import files
from extremal.release.files.parquet import ParquetData
import extremal as ex

def killed(*arguments):
    os._exit(9)  # as a power failure would: no clean-up, no exit handlers

files._publish = killed
how = {"keyed": ex.Keyed("secret.key", "id"), "ledger": "ledger"}
ex.privatize("s.csv", {"a": load("c.json")}, target="t.csv", **how)
"""


def test_a_process_killed_between_ledger_and_publication_leaves_an_entry_and_no_reports(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("s.csv", index=False)
    key = write_key("secret.key")
    C.save("c.json")
    done = subprocess.run([sys.executable, "-c", KILLED], check=False, cwd=tmp_path, capture_output=True)
    assert done.returncode == 9, done.stderr
    assert not Path("t.csv").exists()
    (entry,) = map(json.loads, Path("ledger").read_text().splitlines())
    assert (entry["column"], entry["digest"], entry["people"]) == ("a", C.digest, N)
    how = {"keyed": ex.Keyed(key, "id"), "ledger": "ledger"}
    with pytest.raises(KeyingError, match="must be released once for each person"):
        ex.privatize("s.csv", {"a": D}, target="t.csv", **how)
    ex.privatize("s.csv", {"a": C}, target="t.csv", **how)
    assert len(Path("ledger").read_text().splitlines()) == 1
    reports = ex.privatize(FRAME, {"a": C}, keyed=ex.Keyed(key, "id"))["a"]
    assert pd.read_csv("t.csv")["a"].tolist() == reports.tolist()
    assert {p.name for p in Path().iterdir()} == {"s.csv", "secret.key", "c.json", "ledger", "t.csv"}


# --- bytes ------------------------------------------------------------------------------------------

# Every answer is reported by chance alone, so the same words give the same reports of any answers.
LABELS = ("a", "bb", "a longer answer", 'comma, quote " and more')
CHANCE = certify(
    ex.Prior([0.25] * 4, LABELS),
    ex.Mechanism(np.full((4, 4), 0.25), LABELS, LABELS),
    0.5,
)
ANSWERS = {
    "all the first": [0] * 400,
    "all the longest": [3] * 400,
    "mixed": np.random.default_rng(1).integers(0, 4, 400).tolist(),
    "alternating": [i % 2 for i in range(400)],
    "sorted": sorted(np.random.default_rng(2).integers(0, 4, 400).tolist()),
}


def public(values):
    """A column that does not number the records, which would tell their order after shuffling."""
    return [7 * i % 13 for i in range(len(values))]


def plain_csv(values):
    return pd.DataFrame({"n": public(values), "x": values}).to_csv(index=False).encode()


def quoted_csv(values):
    lines = [f'{n},"{v.replace(chr(34), chr(34) * 2)}"' for n, v in zip(public(values), values, strict=True)]
    return "\n".join(["n,x", *lines, ""]).encode()


def parquet_bytes(values, **how):
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": public(values), "x": values}), sink, **how)
    return sink.getvalue()


def by_answers(values):
    """Row groups, dictionary and statistics as a writer may choose them by what is in the column."""
    distinct = list(dict.fromkeys(values))
    column = pa.DictionaryArray.from_arrays(pa.array([distinct.index(v) for v in values]), pa.array(distinct))
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"n": public(values), "x": column}),
        sink,
        row_group_size=50 + len(values[0]),
        write_statistics=len(distinct) > 2,
        compression={"n": "SNAPPY", "x": "ZSTD" if len(distinct) > 2 else "NONE"},
    )
    return sink.getvalue()


FILES = {
    "CSV": ("csv", plain_csv),
    "CSV, quoted": ("csv", quoted_csv),
    "Parquet": ("parquet", parquet_bytes),
    "Parquet without a dictionary": ("parquet", lambda v: parquet_bytes(v, use_dictionary=["n"])),
    "Parquet by answers": ("parquet", by_answers),
}


def written(kind, content, folder, **how):
    source, target = folder / f"s.{kind}", folder / f"t.{kind}"
    source.write_bytes(content)
    ex.privatize(
        source, {"x": CHANCE}, target=target, source=SeededWords(1), unmarked="allow", overwrite=True, **how
    )
    return target.read_bytes()


@pytest.mark.parametrize("order", ["keep", "shuffle"])
@pytest.mark.parametrize("name", FILES)
def test_equal_reports_give_equal_bytes_whatever_the_answers(name, order, tmp_path):
    kind, build = FILES[name]
    outputs = {
        answers: written(kind, build([LABELS[i] for i in codes]), tmp_path, order=order)
        for answers, codes in ANSWERS.items()
    }
    assert len(set(outputs.values())) == 1, sorted(outputs)


def test_a_codec_that_is_kept_from_the_answers_shows(tmp_path, monkeypatch):
    """The comparison of bytes is no formality: a codec that the writer chose by the answers is found."""

    def kept(self, private):
        codecs = [self.metadata.row_group(0).column(i).compression for i in (0, 1)]
        return {"n": codecs[0], "x": codecs[1].replace("UNCOMPRESSED", "NONE")}, private

    monkeypatch.setattr(ParquetData, "_encodings", kept)
    columns = ([LABELS[i] for i in codes] for codes in ANSWERS.values())
    outputs = {written("parquet", by_answers(values), tmp_path, order="keep") for values in columns}
    assert len(outputs) > 1


def test_how_answers_were_quoted_or_stored_does_not_show(tmp_path):
    for kind in ("csv", "parquet"):
        outputs = {
            written(kind, build([LABELS[i] for i in codes]), tmp_path, order="keep")
            for (name, build), codes in itertools.product(FILES.values(), ANSWERS.values())
            if name == kind and build is not by_answers  # whose type is another
        }
        assert len(outputs) == 1


def test_unknown_values_that_are_replaced_do_not_show(tmp_path):
    values = [LABELS[i] for i in ANSWERS["mixed"]]
    holes = [None if i % 3 == 0 else v for i, v in enumerate(values)]
    for kind, build in (FILES["Parquet"], FILES["CSV"]):
        one = written(kind, build(values), tmp_path, order="keep")
        assert written(kind, build(holes), tmp_path, order="keep", unknown_as={"x": "a"}) == one
