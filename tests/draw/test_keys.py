"""Keyed draws: the same key, occasion, column, mechanism, id and answer give one report, any other another."""

import dataclasses
import os
import stat

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as pa_csv
from pyarrow import parquet as pq
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.draw.keys import check_key, draw_key, id_block, id_blocks, keyed_words, read_key, write_key
from extremal.draw.sampler import SeededWords
from extremal.errors import KeyingError
from tests.support.joint import independence
from tests.support.wording import refused

KEY = bytes(range(32))
PRIOR = ex.Prior.uniform(4)
C = certify(PRIOR, ex.theory.randomized_response(PRIOR, 1.0), 1.0)


def words(ids, key=KEY, column="q", digest=bytes(32), occasion=None, row=0):
    n = len(ids)
    out = np.empty(n, dtype=np.uint64)
    rows = np.arange(5, dtype=np.uint32)
    subkey = draw_key(key, occasion, column, digest)
    keyed_words(subkey, id_blocks(ids, n), np.full(n, row, np.uint8), rows)(0, out)
    return out


def test_running_again_repeats_every_report():
    values = np.random.default_rng(0).integers(0, 4, 5000)
    ids = np.random.default_rng(1).permutation(5000)

    def draw(some):
        return C.privatize(values[some], keyed=ex.Keyed(KEY, ids[some]), column="q")

    once = draw(slice(None))
    assert np.array_equal(once, draw(slice(None)))
    order = np.random.default_rng(2).permutation(5000)
    assert np.array_equal(once[order], draw(order))
    parts = [draw(slice(k, k + 700)) for k in range(0, 5000, 700)]
    assert np.array_equal(once, np.concatenate(parts))


def test_whatever_enters_the_draw_changes_every_word():
    ids = range(1000)
    base = words(ids)
    others = [
        words(ids, key=bytes(range(1, 33))),
        words(ids, column="x"),
        words(ids, column=("q", "q")),
        words(ids, column=("q", "qq")),
        words(ids, digest=bytes([1]) * 32),
        words(ids, occasion=1),
        words(ids, occasion="one"),
        words(ids, row=1),
        words(range(1000, 2000)),
    ]
    for k, other in enumerate(others):
        assert not np.isin(base, other).any()
        for another in others[:k]:
            assert not np.isin(other, another).any()


def test_fields_that_read_alike_side_by_side_are_told_apart():
    alike = [("ab", "c"), ("a", "bc"), "abc", '["ab","c"]', "columns", ("a", "b", "c")]
    assert len({draw_key(KEY, None, column, bytes(32)) for column in alike}) == len(alike)
    occasions = [None, 0, "integer 0", "text 0", "0.0"]
    assert len({draw_key(KEY, occasion, "q", bytes(32)) for occasion in occasions}) == len(occasions)


def test_an_occasion_written_as_an_integer_is_that_integer():
    ids = range(50)
    for occasion in ("2", "02", "+2", np.int64(2)):
        assert words(ids, occasion=occasion).tolist() == words(ids, occasion=2).tolist()


@pytest.mark.parametrize("occasion", ["", 1.5, True, b"1", ("a",), "\ud800", " 2"])
def test_an_occasion_is_text_or_an_integer(occasion):
    with pytest.raises(KeyingError, match="occasion"):
        ex.Keyed(KEY, [1], occasion)


SAME = [7, "7", "007", "+7", "+007", np.int64(7), np.uint8(7), np.str_("7")]
DIFFERENT = [7, -7, "seven", b"7", "7.5", "0x7", "٧", "７", 7 + 2**64, 7 + 2**119, "7e0", "--7", "7\0"]


@pytest.mark.parametrize("other", SAME)
def test_an_id_written_as_an_integer_is_that_integer(other):
    assert id_block(other) == id_block(7)
    assert words([other]).tolist() == words([7]).tolist()
    assert words([other, "x"]).tolist() == words([7, "x"]).tolist()


def test_ids_that_differ_otherwise_are_different_records():
    assert len({id_block(record) for record in DIFFERENT}) == len(DIFFERENT)
    assert words(DIFFERENT).tolist() == [words([record])[0] for record in DIFFERENT]
    assert id_block("-0") == id_block(0) == id_block("+000")
    assert id_block("0" * 30 + "5") == id_block(5)
    assert id_block(str(2**200)) == id_block(2**200) != id_block(2**200 + 1)


TEXTS = st.text("0123456789+- aé", min_size=1, max_size=24)


@given(st.lists(TEXTS | st.integers(-(2**70), 2**70).map(str), min_size=1, max_size=12))
def test_text_ids_are_the_same_from_every_container(texts):
    """The block of each text by itself is the meaning; every container must agree with it, or refuse."""
    try:
        expected = b"".join(map(id_block, texts))
    except KeyingError:
        expected = None
    containers = (
        texts,
        np.array(texts),
        np.array(texts, dtype=object),
        pd.Series(texts, dtype=object),
        pd.Series(texts, dtype="string"),
        pd.Series(texts).astype("category"),
        pl.Series(texts),
        pl.Series(texts, dtype=pl.Categorical),
        pa.array(texts),
        pa.array(texts, pa.large_string()),
        pa.array(texts).dictionary_encode(),
        pa.chunked_array([texts[:1], texts[1:]], pa.string()),
    )
    for ids in containers:
        if expected is None:
            with pytest.raises(KeyingError):
                id_blocks(ids, len(texts))
        else:
            assert id_blocks(ids, len(texts)).tobytes() == expected


@pytest.mark.parametrize("one", ["1.0", "-7.00", " 8.0", "007.0"])
def test_a_whole_number_written_as_a_fraction_is_no_id_as_its_person_may_have_the_number(one):
    for ids in (["x1", one], np.array(["x1", one]), pa.array(["x1", one]), pl.Series(["x1", one])):
        with refused(KeyingError, repr(one)):
            id_blocks(ids, 2)
    assert id_blocks(["1.5", "7.", "v1.0", "1.0.0"], 4).shape == (4, 2)


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
    names = ["a", "Zoë", "b c"]
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
        [1, 2, 10**600],
        [1, 2, ""],
        [1, 2, b""],
        [1, 2, " 3"],
        ["1", "2", "3\n"],
        ["a", "b", ""],
        pa.array(["a", "b", ""]),
        [1, 2, "9" * 601],
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
)
def test_ids_that_name_no_record_are_refused(ids):
    with pytest.raises(KeyingError, match="ids") as caught:
        C.privatize([0, 1, 2], keyed=ex.Keyed(KEY, ids), column="q")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "ids",
    [
        [5, 1, 5],
        ["a", "b", "a"],
        np.array([3, 3, 2]),
        [-1, 2, -1],
        pd.Series(["a", "a", "b"]),
        ["007", "x", "7"],
        ["007", "8", 7],
        pa.array(["+7", "8", "7"]),
        [b"a", b"a", b"b"],
    ],
)
def test_an_id_that_occurs_twice_is_refused(ids):
    with refused(KeyingError, "ids", "occasion"):
        C.privatize([0, 1, 2], keyed=ex.Keyed(KEY, ids), column="q")
    with pytest.raises(TypeError):
        C.privatize([0, 1, 2], keyed=ex.Keyed(KEY, ids), column="q", repeated_ids="allow")


def test_a_repeated_id_is_shown_as_it_is_written():
    with refused(KeyingError, "ids", "'007', 7 more than once"):
        C.privatize([0, 1, 2], keyed=ex.Keyed(KEY, ["007", "8", 7]), column="q")


def draw_all(value, n, column="q", occasion=None):
    """Reports of n people who all gave this answer."""
    return C.privatize([value] * n, keyed=ex.Keyed(KEY, range(n), occasion), column=column)


def test_different_answers_under_one_id_share_no_noise():
    """A corrected answer. Shared noise would show: reports that differ would be true."""
    n = 1 << 16
    assert independence(draw_all(0, n), draw_all(1, n), C, (0, 1)) > 1e-9


def test_occasions_and_columns_and_mechanisms_are_independent_draws():
    n = 1 << 15
    first = draw_all(0, n)
    for other in ({"occasion": 1}, {"occasion": "1x"}, {"column": "r"}, {"column": ("q", "r")}):
        for value in (0, 2):
            assert independence(first, draw_all(value, n, **other), C, (0, value)) > 1e-9
    weaker = certify(PRIOR, ex.theory.randomized_response(PRIOR, 0.5), 0.5)
    reports = weaker.privatize([0] * n, keyed=ex.Keyed(KEY, range(n)), column="q")
    assert independence(first, reports, C, (0, 0), weaker) > 1e-9


def test_the_test_of_independence_finds_shared_noise():
    n = 1 << 12
    first = draw_all(0, n)
    assert independence(first, first, C, (0, 0)) < 1e-9


NAMELESS = {
    "list": [0, 1],
    "array": np.array([0, 1]),
    "arrow": pa.array([0, 1]),
    "Series": pd.Series([0, 1]),
    "numbered Series": pd.Series([0, 1], name=5),
    "empty name": pd.Series([0, 1], name=""),
    "nested name": pd.Series([0, 1], name=("a", "b")),
    "polars": pl.Series([0, 1]),
}


@pytest.mark.parametrize("values", NAMELESS.values(), ids=NAMELESS)
def test_a_keyed_draw_without_a_column_is_refused(values):
    """Two questions under one name would share their noise: where the reports differ, both would be true."""
    with refused(KeyingError, "column"):
        C.privatize(values, keyed=ex.Keyed(KEY, [1, 2]))
    assert len(C.privatize(values, keyed=ex.Keyed(KEY, [1, 2]), column="q")) == 2
    assert len(C.privatize(values)) == 2


@pytest.mark.parametrize("column", ["", 5, b"q", ("q",), ("q", ""), ("q", 5), ()])
def test_a_column_must_have_a_name(column):
    with pytest.raises(KeyingError, match="column"):
        C.privatize([0], keyed=ex.Keyed(KEY, [1]), column=column)
    with pytest.raises(KeyingError, match="column"):
        C.privatize_codes(np.array([0]), keyed=ex.Keyed(KEY, [1]), column=column)
    with refused(KeyingError, "column"):
        C.privatize_codes(np.array([0]), keyed=ex.Keyed(KEY, [1]))


def test_distinct_ids_with_equal_low_words_are_no_duplicates():
    ids = [5, 5 + 2**64, -(2**64) + 5, 3]
    assert len(C.privatize([0] * 4, keyed=ex.Keyed(KEY, ids), column="q")) == 4


def test_the_name_of_a_series_is_its_column():
    values = [0, 1, 2, 3] * 50
    ids = range(200)
    named = C.privatize(pd.Series(values, name="answer"), keyed=ex.Keyed(KEY, ids)).tolist()
    assert named == C.privatize(values, keyed=ex.Keyed(KEY, ids), column="answer")
    assert named == C.privatize(pl.Series("answer", values), keyed=ex.Keyed(KEY, ids)).to_list()
    assert named == C.privatize(np.array(values), keyed=ex.Keyed(KEY, ids), column="answer").tolist()
    assert named == C.privatize_codes(np.array(values), keyed=ex.Keyed(KEY, ids), column="answer").tolist()
    assert named != C.privatize(values, keyed=ex.Keyed(KEY, ids), column="Answer")
    other = C.privatize(pd.Series(values, name="answer"), keyed=ex.Keyed(KEY, ids), column="other").tolist()
    assert other == C.privatize(values, keyed=ex.Keyed(KEY, ids), column="other")


def test_what_repeats_a_draw_is_one_value_that_is_right_once_it_is_built(tmp_path):
    write_key(path := tmp_path / "secret.key")
    keyed = ex.Keyed(path, ["a", "b"], "02")
    assert keyed.secret == read_key(path)
    assert keyed.occasion == 2
    assert C.privatize([0, 1], keyed=keyed, column="q") == C.privatize(
        [0, 1], keyed=ex.Keyed(bytearray(read_key(path)), ["a", "b"], np.int8(2)), column="q"
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        keyed.occasion = 3
    for wrong in ({"key": b"short"}, {"key": ""}, {"ids": None}, {"occasion": 1.5}):
        with pytest.raises(KeyingError):
            dataclasses.replace(keyed, **wrong)
    with pytest.raises(KeyingError, match="key file must be one that can be read"):
        C.privatize([0], keyed=ex.Keyed("no such file", [1]), column="q")


def test_neither_the_key_nor_the_people_are_printed():
    for keyed in (ex.Keyed(KEY, ["anna", "bert"]), ex.Keyed(KEY, np.arange(5), 2), ex.Keyed(KEY, "person")):
        text = f"{keyed} {keyed!r} {[keyed]}"
        assert KEY.hex() not in text
        assert repr(KEY) not in text
        assert "anna" not in text
    assert repr(ex.Keyed(KEY, "person", 2)) == "Keyed(ids='person', occasion=2)"


def test_key_ids_and_source_must_fit_together():
    with refused(KeyingError, "ids"):
        ex.Keyed(KEY, None)
    with refused(KeyingError, "keyed", "Keyed"):
        C.privatize([0], keyed=KEY)
    with refused(KeyingError, "both"):
        C.privatize([0], keyed=ex.Keyed(KEY, [1]), source=SeededWords(1))


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), "0" * 32, 5, None])
def test_a_key_is_32_bytes_and_is_never_shown(key):
    with refused(KeyingError, "key", "32"):
        check_key(key)
    secret = b"open sesame, open sesame!"
    with pytest.raises(KeyingError) as caught:
        C.privatize([0], keyed=ex.Keyed(secret, [1]))
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    "key", [bytes(32), b"\xff" * 32, b"k" * 32, b"correct horse battery staple 123", b"0123456789abcdef" * 2]
)
def test_a_key_that_is_not_random_is_refused_and_not_shown(key, tmp_path):
    path = tmp_path / "key"
    for content in (key, key.hex().encode()):
        path.write_bytes(content)
        path.chmod(0o600)
        with refused(KeyingError, "key") as caught:
            read_key(path)
        assert "horse" not in str(caught.value)
    with refused(KeyingError, "key"):
        C.privatize([0], keyed=ex.Keyed(key, [1]), column="q")


def test_a_key_with_one_byte_that_is_no_character_is_taken():
    assert check_key(b"k" * 31 + b"\x00") == b"k" * 31 + b"\x00"


def test_dropped_rows_do_not_shift_the_reports_of_others():
    values = ["x", 0, 1, "y", 2, 3]
    ids = [10, 11, 12, 13, 14, 15]
    whole = C.privatize([0, 1, 2, 3], keyed=ex.Keyed(KEY, [11, 12, 14, 15]), column="q")
    assert C.privatize(values, keyed=ex.Keyed(KEY, ids), column="q", unknown="drop") == whole


def test_an_unknown_answer_draws_like_the_label_that_stands_for_it():
    values, ids = ["x", 0, None, 3], [10, 11, 12, 13]
    replaced = C.privatize([2, 0, 2, 3], keyed=ex.Keyed(KEY, ids), column="q")
    assert C.privatize(values, keyed=ex.Keyed(KEY, ids), column="q", unknown_as=2) == replaced
    with refused(ex.errors.ValuesError, "2 of 4 rows"):
        C.privatize(values, keyed=ex.Keyed(KEY, ids), column="q")


def test_keyed_words_are_uniform_and_reports_follow_the_mechanism():
    """Fixed key: always passes or always fails."""
    n = 1 << 18
    for ids in (np.arange(n), [f"person-{i}" for i in range(n)]):
        drawn = words(ids)
        counts = np.bincount((drawn >> np.uint64(56)).astype(int), minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-9
        counts = np.bincount((drawn & np.uint64(255)).astype(int), minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-9
    reports = C.privatize_codes(np.full(n, 2, dtype=np.uint8), keyed=ex.Keyed(KEY, np.arange(n)), column="q")
    expected = n * C.mechanism.matrix[2]
    assert stats.chisquare(np.bincount(reports, minlength=4), expected).pvalue > 1e-9


def test_two_columns_of_the_same_people_get_independent_noise():
    n = 1 << 18
    zeros = np.zeros(n, dtype=np.uint8)
    a = C.privatize_codes(zeros, keyed=ex.Keyed(KEY, np.arange(n)), column="a").astype(int)
    b = C.privatize_codes(zeros, keyed=ex.Keyed(KEY, np.arange(n)), column="b").astype(int)
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


@pytest.mark.skipif(os.name != "posix", reason="folders are opened as on posix")
def test_a_new_key_is_on_disk_with_its_name(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def watch(handle):
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watch)
    path = tmp_path / "key"
    write_key(path)
    assert synced == [path.stat().st_ino, tmp_path.stat().st_ino]


def test_a_key_file_is_never_overwritten(tmp_path):
    path = tmp_path / "key"
    key = write_key(path)
    with refused(KeyingError, "key"):
        write_key(path)
    assert read_key(path) == key


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of posix")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601])
def test_a_key_file_that_others_can_open_is_refused(tmp_path, mode):
    path = tmp_path / "key"
    write_key(path)
    path.chmod(mode)
    with refused(KeyingError, "600"):
        read_key(path)


@pytest.mark.parametrize(
    "content", [b"", b"short", bytes(31), bytes(33), b"g" * 64, b"00" * 31, b"00" * 33, b"\n" * 64]
)
def test_a_key_file_of_the_wrong_length_is_refused(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with refused(KeyingError, "32", "bytes", "64") as caught:
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
        with refused(KeyingError, f"{path}: "):
            read_key(path)
    with refused(KeyingError, "/nowhere/key: No such"):
        write_key(tmp_path / "nowhere" / "key")
    for path in (None, 0, "", "a\0b"):
        for call in (read_key, write_key):
            with pytest.raises(KeyingError, match="must be the name of a file"):
                call(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_a_pipe_or_a_device_is_no_key_file(tmp_path):
    """Nobody writes to the pipe: reading it would wait for ever."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "pipe", "/dev/zero"):
        with refused(KeyingError, "not a regular file"):
            read_key(path)


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
    with refused(KeyingError, "UTF-8"):
        C.privatize([PRIOR.labels[0]], keyed=ex.Keyed(KEY, ["\ud800"]), column="x")
    with refused(KeyingError, "UTF-8"):
        C.privatize([PRIOR.labels[0]], keyed=ex.Keyed(KEY, [1]), column="\ud800")


def test_ids_of_numpy_are_named_as_the_numbers_they_are():
    with refused(KeyingError, "ids", "5 more than once"):
        C.privatize([PRIOR.labels[0]] * 2, keyed=ex.Keyed(KEY, [np.int64(5), np.int64(5)]), column="x")


@pytest.mark.parametrize(
    "texts",
    [["007", "8", "-010"], ["007", "+8", "x9", "1.5"], ["1", "2", "3"]],
    ids=["numbers", "mixed", "plain"],
)
def test_one_file_read_in_any_way_gives_the_same_reports(tmp_path, texts):
    """Readers make numbers of 007 or leave it as text. Each difference would be a second report."""
    people = [*texts, *map(str, range(100, 140))]
    values = [k % 4 for k in range(len(people))]
    source, target = tmp_path / "source.csv", tmp_path / "target.csv"
    source.write_text("id,answer\n" + "".join(f"{i},{v}\n" for i, v in zip(people, values, strict=True)))
    expected = C.privatize(values, keyed=ex.Keyed(KEY, people), column="answer")
    ex.privatize(source, {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"))
    assert pd.read_csv(target)["answer"].tolist() == expected
    frames = [
        pd.read_csv(source),
        pd.read_csv(source, dtype={"id": str}),
        pl.read_csv(source, schema_overrides={"id": pl.String}),
        pl.read_csv(source),
        pa_csv.read_csv(source),
    ]
    for k, frame in enumerate(frames):
        reports = ex.privatize(frame, {"answer": C}, keyed=ex.Keyed(KEY, "id"))
        assert list(np.asarray(reports["answer"])) == expected
        if isinstance(frame, pd.DataFrame):
            table = pa.Table.from_pandas(frame)
        else:
            table = frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame
        pq.write_table(table, tmp_path / f"{k}.parquet")
        done = tmp_path / f"{k}-target.parquet"
        ex.privatize(tmp_path / f"{k}.parquet", {"answer": C}, target=done, keyed=ex.Keyed(KEY, "id"))
        assert pq.read_table(done)["answer"].to_pylist() == expected
