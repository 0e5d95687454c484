"""Keyed draws: the same key, id, column and mechanism give the same report, any other an independent one."""

import os
import re
import stat

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.errors import KeyingError
from extremal.release.keys import check_key, id_blocks, keyed_words, read_key, write_key
from extremal.release.sampler import SeededWords

KEY = bytes(range(32))
PRIOR = ex.Prior.uniform(4)
C = certify(PRIOR, ex.randomized_response(PRIOR, 1.0), 1.0)


def words(ids, key=KEY, column="", digest=bytes(32)):
    out = np.empty(len(ids), dtype=np.uint64)
    keyed_words(key, column, digest, id_blocks(ids, len(ids)))(0, out)
    return out


def test_running_again_repeats_every_report():
    values = np.random.default_rng(0).integers(0, 4, 5000)
    ids = np.random.default_rng(1).permutation(5000)
    once = C.privatize(values, key=KEY, ids=ids)
    assert np.array_equal(once, C.privatize(values, key=KEY, ids=ids))
    order = np.random.default_rng(2).permutation(5000)
    assert np.array_equal(once[order], C.privatize(values[order], key=KEY, ids=ids[order]))
    parts = [C.privatize(values[k : k + 700], key=KEY, ids=ids[k : k + 700]) for k in range(0, 5000, 700)]
    assert np.array_equal(once, np.concatenate(parts))


def test_key_column_and_mechanism_each_change_the_words():
    ids = range(1000)
    base = words(ids)
    others = [
        words(ids, key=bytes(32)),
        words(ids, column="x"),
        words(ids, digest=bytes([1]) * 32),
        words(range(1000, 2000)),
    ]
    for other in others:
        assert not np.isin(base, other).any()


def test_ids_of_different_types_are_different_records():
    ids = [1, "1", b"1", "01", 256, -1, "-1", 2**64 - 1, 2**64 + 1, -(2**64) + 1]
    assert len(set(words(ids).tolist())) == len(ids)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_an_array_of_integers_and_a_list_of_them_are_the_same_ids(ids):
    expected = words(ids).tolist()
    assert words(np.array(ids, dtype=np.int64)).tolist() == expected
    assert words(np.array(ids, dtype=object)).tolist() == expected
    if all(0 <= x < 256 for x in ids):
        assert words(np.array(ids, dtype=np.uint8)).tolist() == expected


@pytest.mark.parametrize(
    "ids",
    [
        range(3),
        (0, 1, 2),
        np.array([0, 1, 2], dtype=np.int8),
        np.array([0, 1, 2], dtype=np.uint64),
        np.array([0, 1, 2], dtype=">i4"),
        pd.Series([0, 1, 2], index=[7, 8, 9]),
        pd.Series([0, 1, 2], dtype="Int64"),
        pl.Series([0, 1, 2]),
        pa.array([0, 1, 2]),
        pa.chunked_array([[0, 1], [2]]),
        (i for i in [0, 1, 2]),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_ids_come_from_any_kind_of_column(ids):
    if not hasattr(ids, "__len__"):
        ids = list(ids)
    assert words(ids).tolist() == words([0, 1, 2]).tolist()


def test_string_ids_come_from_any_kind_of_column():
    names = ["a", "Zoë", ""]
    for ids in (
        np.array(names),
        pd.Series(names),
        pl.Series(names),
        pa.array(names),
        np.array(names, dtype=object),
    ):
        assert words(ids).tolist() == words(names).tolist()


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2],
        [1, 2, None],
        [1, 2, 3.0],
        [1, 2, True],
        [1, 2, ("a", 1)],
        [1, 2, 2**119],
        np.array([1.0, 2.0, 3.0]),
        np.array([True, False, True]),
        np.array(["2024-01-01"] * 3, dtype="M8[D]"),
        np.array([[1, 2, 3]]),
        np.ma.array([1, 2, 3], mask=[False, True, False]),
        pd.Series([1, None, 3]),
        pd.Series(["a", None, "c"]),
        pl.Series([1, None, 3]),
        pa.array(["a", None, "c"]),
        "abc",
        5,
    ],
    ids=repr,
)
def test_ids_that_name_no_record_are_refused(ids):
    with pytest.raises(KeyingError, match="ids") as caught:
        C.privatize([0, 1, 2], key=KEY, ids=ids)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "ids",
    [[5, 1, 5], ["a", "b", "a"], np.array([3, 3, 2]), [-1, 2, -1], pd.Series(["a", "a", "b"])],
    ids=repr,
)
def test_an_id_that_occurs_twice_is_refused_unless_allowed(ids):
    with pytest.raises(KeyingError, match="distinct"):
        C.privatize([0, 1, 2], key=KEY, ids=ids)
    assert len(C.privatize([0, 1, 2], key=KEY, ids=ids, repeated_ids="allow")) == 3
    with pytest.raises(KeyingError, match="repeated_ids"):
        C.privatize([0, 1, 2], key=KEY, ids=ids, repeated_ids="perhaps")


def test_the_same_answer_under_the_same_id_is_the_same_report():
    reports = C.privatize([2] * 50, key=KEY, ids=[7] * 50, repeated_ids="allow")
    assert len(set(reports)) == 1


def test_distinct_ids_with_equal_low_words_are_no_duplicates():
    ids = [5, 5 + 2**64, -(2**64) + 5, 3]
    assert len(C.privatize([0] * 4, key=KEY, ids=ids)) == 4


def test_the_name_of_a_series_is_its_column():
    values = [0, 1, 2, 3] * 50
    ids = range(200)
    named = C.privatize(pd.Series(values, name="answer"), key=KEY, ids=ids).tolist()
    assert named == C.privatize(values, key=KEY, ids=ids, column="answer")
    assert named == C.privatize(pl.Series("answer", values), key=KEY, ids=ids).to_list()
    assert named == C.privatize(np.array(values), key=KEY, ids=ids, column="answer").tolist()
    assert named == C.privatize_codes(np.array(values), key=KEY, ids=ids, column="answer").tolist()
    assert named != C.privatize(values, key=KEY, ids=ids)
    other = C.privatize(pd.Series(values, name="answer"), key=KEY, ids=ids, column="other").tolist()
    assert other == C.privatize(values, key=KEY, ids=ids, column="other")


def test_key_ids_and_source_must_fit_together():
    with pytest.raises(KeyingError, match="with a key"):
        C.privatize([0], ids=[1])
    with pytest.raises(KeyingError, match="with ids"):
        C.privatize([0], key=KEY)
    with pytest.raises(KeyingError, match="got both"):
        C.privatize([0], key=KEY, ids=[1], source=SeededWords(1))
    with pytest.raises(KeyingError, match="column must be a string"):
        C.privatize([0], key=KEY, ids=[1], column=5)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), "0" * 32, 5, None])
def test_a_key_is_32_bytes_and_is_never_shown(key):
    with pytest.raises(KeyingError, match="32 bytes"):
        check_key(key)
    secret = b"open sesame, open sesame!"
    with pytest.raises(KeyingError) as caught:
        C.privatize([0], key=secret, ids=[1])
    assert "sesame" not in str(caught.value)


def test_dropped_rows_do_not_shift_the_reports_of_others():
    values = ["x", 0, 1, "y", 2, 3]
    ids = [10, 11, 12, 13, 14, 15]
    whole = C.privatize([0, 1, 2, 3], key=KEY, ids=[11, 12, 14, 15])
    assert C.privatize(values, key=KEY, ids=ids, unknown="drop") == whole


def test_keyed_words_are_uniform_and_reports_follow_the_mechanism():
    """Fixed key: always passes or always fails."""
    n = 1 << 18
    for ids in (np.arange(n), [f"person-{i}" for i in range(n)]):
        drawn = words(ids)
        counts = np.bincount((drawn >> np.uint64(56)).astype(int), minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-9
        counts = np.bincount((drawn & np.uint64(255)).astype(int), minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-9
    reports = C.privatize_codes(np.full(n, 2, dtype=np.uint8), key=KEY, ids=np.arange(n))
    expected = n * C.mechanism.matrix[2]
    assert stats.chisquare(np.bincount(reports, minlength=4), expected).pvalue > 1e-9


def test_two_columns_of_the_same_people_get_independent_noise():
    n = 1 << 18
    zeros = np.zeros(n, dtype=np.uint8)
    a = C.privatize_codes(zeros, key=KEY, ids=np.arange(n), column="a").astype(int)
    b = C.privatize_codes(zeros, key=KEY, ids=np.arange(n), column="b").astype(int)
    table = np.bincount(4 * a + b, minlength=16).reshape(4, 4)
    assert stats.chi2_contingency(table, correction=False).pvalue > 1e-9


# --- key files ------------------------------------------------------------------------------------


def test_a_new_key_file_is_private_and_reads_back(tmp_path):
    path = tmp_path / "key"
    key = write_key(path)
    assert len(key) == 32
    assert read_key(path) == key
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert write_key(tmp_path / "other") != key


def test_a_key_file_is_never_overwritten(tmp_path):
    path = tmp_path / "key"
    key = write_key(path)
    with pytest.raises(KeyingError, match="never overwritten"):
        write_key(path)
    assert read_key(path) == key


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of posix")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601])
def test_a_key_file_that_others_can_open_is_refused(tmp_path, mode):
    path = tmp_path / "key"
    write_key(path)
    path.chmod(mode)
    with pytest.raises(KeyingError, match="chmod 600"):
        read_key(path)


@pytest.mark.parametrize(
    "content", [b"", b"short", bytes(31), bytes(33), b"g" * 64, b"00" * 31, b"00" * 33, b"\n" * 64]
)
def test_a_key_file_of_the_wrong_length_is_refused(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyingError, match="32 raw bytes or 64") as caught:
        read_key(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [KEY, KEY.hex().encode(), KEY.hex().upper().encode() + b"\r\n"])
def test_raw_and_hexadecimal_keys_are_read(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    assert read_key(path) == KEY


def test_a_key_must_be_a_file(tmp_path):
    for path in (tmp_path / "absent", tmp_path, tmp_path / "absent" / "key"):
        with pytest.raises(KeyingError, match=f"must be one that can be read, got {re.escape(str(path))}: "):
            read_key(path)
    with pytest.raises(KeyingError, match=r"must be one that can be written, got .*/nowhere/key: No such"):
        write_key(tmp_path / "nowhere" / "key")
    for path in (None, 0, "", "a\0b"):
        for call in (read_key, write_key):
            with pytest.raises(KeyingError, match="must be the name of a file"):
                call(path)
    if os.path.exists("/dev/zero"):
        with pytest.raises(KeyingError, match="regular file"):
            read_key("/dev/zero")


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_half_a_key_file_is_not_left_behind(tmp_path):
    """As on a full disk: nothing can be written."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(KeyingError, match="must be one that can be written"):
            write_key(tmp_path / "key")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_is_no_id_and_no_name():
    with pytest.raises(KeyingError, match="ids must be text that UTF-8 can hold"):
        C.privatize([PRIOR.labels[0]], key=KEY, ids=["\ud800"], column="x")
    with pytest.raises(KeyingError, match="column must be text that UTF-8 can hold"):
        C.privatize([PRIOR.labels[0]], key=KEY, ids=[1], column="\ud800")


def test_ids_of_numpy_are_named_as_the_numbers_they_are():
    with pytest.raises(KeyingError, match=r"got \[5\] more than once"):
        C.privatize([PRIOR.labels[0]] * 2, key=KEY, ids=[np.int64(5), np.int64(5)], column="x")
