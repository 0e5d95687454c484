"""Parquet: types, codecs and other columns stay; what may describe the private values does not."""

import io
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import extremal as ex
from extremal.certification.certify import certify
from extremal.errors import ExtremalError, FileError
from extremal.model.mechanism import identity
from extremal.release.files import parquet as parquet_files
from tests.support.file_cases import SAME, WORDS, C, left_behind, one_line, rows_of, write


@pytest.fixture(autouse=True)
def small_row_groups(monkeypatch):
    monkeypatch.setattr(parquet_files, "MOST_ROWS", 64)


def rich_table(n=200):
    """Columns of many types beside the private one."""
    rng = np.random.default_rng(0)
    answers = [WORDS.labels[i] for i in rng.integers(0, 3, n)]
    return pa.table(
        {
            "when": pa.array(rng.integers(0, 10**18, n), pa.timestamp("ns", "Europe/Stockholm")),
            "day": pa.array(rng.integers(0, 10000, n).astype(np.int32), pa.date32()),
            "price": pa.array(range(n), pa.decimal128(20, 3)),
            "answer": answers,
            "flags": pa.array([[True], None] * (n // 2), pa.list_(pa.bool_())),
            "deep.er": pa.array([{"a": 1, "b": ["x"]}] * n),
            "category": pa.array(answers).dictionary_encode(),
            "long": pa.array(answers, pa.large_string()),
            "small": pa.array([None, *range(n - 1)], pa.uint16()),
            "half": pa.array(np.arange(n, dtype=np.float16)),
            "raw": pa.array([b"\xff"] * n),
        }
    )


@pytest.mark.parametrize("column", ["answer", "category", "long"])
def test_types_and_values_of_other_columns_are_kept_in_parquet(tmp_path, column):
    table = rich_table()
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    pq.write_table(table, source, row_group_size=37)
    ex.privatize(source, {column: C}, target=target)
    got = pq.read_table(target)
    assert got.schema == table.schema
    assert got.drop_columns([column]).equals(table.drop_columns([column]))
    assert set(got[column].to_pylist()) == set(C.outputs)
    ex.privatize(source, {column: SAME}, target=target, overwrite=True, allow_true_answers=True)
    assert pq.read_table(target)[column].to_pylist() == table[column].to_pylist()


def test_codecs_are_kept_and_row_groups_are_not(tmp_path):
    table = rich_table().select(["answer", "small", "long"])
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    written = []
    for size in (7, 50, 200):
        pq.write_table(table, source, compression="zstd", row_group_size=size)
        ex.privatize(source, {"answer": SAME}, target=target, overwrite=True, allow_true_answers=True)
        written.append(target.read_bytes())
        about = pq.read_metadata(target)
        assert {about.row_group(0).column(c).compression for c in range(3)} == {"ZSTD"}
        assert [about.row_group(g).num_rows for g in range(about.num_row_groups)] == [64, 64, 64, 8]
    assert len(set(written)) == 1
    pq.write_table(table, source, compression={"answer": "gzip", "small": "none", "long": "snappy"})
    ex.privatize(source, {"long": C}, target=target, overwrite=True)
    about = pq.read_metadata(target)
    assert [about.row_group(0).column(c).compression for c in range(3)] == ["GZIP", "UNCOMPRESSED", "GZIP"]


def test_metadata_that_may_describe_the_values_are_left_out_of_parquet(tmp_path):
    frame = pd.DataFrame({"answer": pd.Categorical(["a", "b,b"]), "n": [1, 2]}, index=["i", "j"])
    frame.attrs = {"secret": "statistics"}
    table = pa.Table.from_pandas(frame)
    fields = [
        table.schema.field("answer").with_metadata({"PARQUET:field_id": "7", "levels": "secret"}),
        table.schema.field("n").with_metadata({"unit": "m"}),
        table.schema.field(2),
    ]
    metadata = {**table.schema.metadata, b"spark": b"secret"}
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    pq.write_table(table.cast(pa.schema(fields, metadata=metadata)), source)
    ex.privatize(source, {"answer": C}, target=target)
    assert b"secret" not in target.read_bytes()
    schema = pq.read_schema(target)
    assert schema.field("answer").metadata == {b"PARQUET:field_id": b"7"}
    assert b"unit" not in (schema.field("n").metadata or {})
    got = pd.read_parquet(target)
    assert got.index.tolist() == ["i", "j"]
    assert got["answer"].cat.categories.tolist() == list(WORDS.labels)


@pytest.mark.parametrize("dtype", ["string", "Int64", "int8", "Float32", "boolean", "category", "float64"])
def test_the_dtypes_of_pandas_survive_parquet(tmp_path, dtype):
    labels = {"string": ["x", "y"], "category": ["x", "y"], "boolean": [True, False]}.get(dtype, [1, 2])
    prior = ex.Prior.uniform(labels)
    frame = pd.DataFrame({"answer": pd.Series(labels * 40).astype(dtype), "n": 1})
    frame.to_parquet(tmp_path / "s.parquet")
    same = certify(prior, identity(prior), 1.0, allow_true_answers=True)
    ex.privatize(
        tmp_path / "s.parquet",
        {"answer": same},
        target=tmp_path / "t.parquet",
        order="keep",
        allow_true_answers=True,
    )
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), frame)


def test_more_outputs_than_inputs_change_the_type_to_integers(tmp_path):
    many = certify(WORDS, ex.Mechanism(np.full((3, 5), 0.2), WORDS.labels), 0.0)
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    pd.DataFrame({"answer": ["a"] * 200, "cat": pd.Categorical(["a"] * 200)}).to_parquet(source)
    ex.privatize(source, {"answer": many, "cat": many}, target=target)
    got = pd.read_parquet(target)
    assert got["answer"].dtype == np.int64
    assert set(got["answer"]) == set(got["cat"]) == set(range(5))


def test_a_damaged_parquet_file_is_refused_in_one_line(tmp_path):
    source = write(tmp_path / "s.parquet", rows_of(300))
    whole = source.read_bytes()
    for damaged in (whole[:-20], whole[:100] + bytes(200) + whole[300:], b"PAR1" + bytes(50) + b"PAR1"):
        source.write_bytes(damaged)
        one_line(
            FileError,
            "file",
            lambda: ex.privatize(source, {"answer": C}, target=tmp_path / "t.parquet"),
        )
        assert left_behind(tmp_path) == []
    pq.write_table(pa.table([["a"], ["a"]], names=["answer", "answer"]), source)
    one_line(
        FileError,
        "more than once",
        lambda: ex.privatize(source, {"answer": C}, target=tmp_path / "t.parquet"),
    )


def test_an_order_of_categories_is_not_claimed_for_the_order_of_the_mechanism(tmp_path):
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    order = pd.CategoricalDtype(["b,b", 'c"c', "a"], ordered=True)
    pd.DataFrame({"answer": pd.Series(["a", "b,b"] * 50, dtype=order)}).to_parquet(source)
    ex.privatize(source, {"answer": SAME}, target=target, order="keep", allow_true_answers=True)
    got = pd.read_parquet(target)["answer"]
    assert got.tolist() == ["a", "b,b"] * 50
    assert not got.cat.ordered
    table = ex.privatize(pq.read_table(source), {"answer": SAME}, allow_true_answers=True)
    assert not table.schema.field("answer").type.ordered
    assert table.to_pandas()["answer"].tolist() == ["a", "b,b"] * 50


@pytest.mark.slow
def test_a_damaged_footer_never_ends_in_anything_but_a_file_or_one_line(tmp_path):
    """Every byte of it in turn. Asked for a codec that there is not, pyarrow would end the process."""
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    whole = io.BytesIO()
    pq.write_table(
        pa.table({"answer": ["a"], "n": [1]}),
        whole,
        store_schema=False,
        write_statistics=False,
        version="1.0",
    )
    content = whole.getvalue()
    footer = int.from_bytes(content[-8:-4], "little")
    refusals = []
    for place in range(len(content) - 8 - footer, len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x55
        source.write_bytes(damaged)
        try:
            ex.privatize(source, {"answer": C}, target=target, overwrite=True)
        except ExtremalError as error:
            refusals.append((str(error), target.exists()))
        target.unlink(missing_ok=True)
    assert len(refusals) > 20
    assert not any("\n" in message or exists for message, exists in refusals)


def test_a_table_is_gone_before_more_is_read(tmp_path, monkeypatch):
    """So memory holds one row group, whatever the length of the file."""
    answers = [WORDS.labels[i] for i in np.random.default_rng(1).integers(0, 3, 300)]
    pq.write_table(pa.table({"answer": answers}), tmp_path / "in.parquet", row_group_size=50)
    made, alive = [], []
    tables, batches = parquet_files.ParquetData._tables, parquet_files.ParquetData._batches

    def watched_tables(self, *how, **columns):
        for table in tables(self, *how, **columns):
            made.append(weakref.ref(table))
            yield table
            del table

    def watched_batches(self, *how):
        found = batches(self, *how)
        while True:
            alive.append(sum(table() is not None for table in made))
            batch = next(found, None)
            if batch is None:
                return
            yield batch
            del batch

    monkeypatch.setattr(parquet_files.ParquetData, "_tables", watched_tables)
    monkeypatch.setattr(parquet_files.ParquetData, "_batches", watched_batches)
    ex.privatize(tmp_path / "in.parquet", {"answer": C}, target=tmp_path / "out.parquet", order="keep")
    assert len(made) >= 4
    assert max(alive) == 0
