"""The compiled loops of sampling against plain Python, and the checks that keep them within their arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extremal.draw import kernel
from extremal.errors import CertificationError
from tests.support.alias_tables import alias_table, random_weights, report
from tests.support.wording import refused

UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]


def tables(weights):
    """The compiled tables of some rows, the row without meaning, and b."""
    b = max(1, (len(weights[0]) - 1).bit_length())
    entries = np.zeros((len(weights) + 1) << b, dtype=np.uint64)
    kernel.build(np.array(weights, dtype=np.uint64), b, entries)
    return entries, b


@given(
    seed=st.integers(0, 2**32),
    m=st.integers(1, 40),
    count=st.integers(0, 70),
    code_type=st.sampled_from(UNSIGNED),
    out_type=st.sampled_from(UNSIGNED),
    width=st.integers(0, 2),
)
def test_every_loop_draws_what_plain_python_draws(seed, m, count, code_type, out_type, width):
    rng = np.random.default_rng(seed)
    weights = random_weights(rng, 5, m)
    entries, b = tables(weights)
    rows = np.append(rng.permutation(5), 5).astype(np.uint32)
    codes = rng.integers(0, 5, count).astype(code_type)
    words = rng.integers(0, 2**64, count, dtype=np.uint64)
    out = np.zeros(count, dtype=out_type)
    assert kernel.drawing(codes, rows, entries, b, out, width)(words)(0, count)
    plain = [alias_table(weights[row]) for row in rows[:5]]
    assert out.tolist() == [report(plain[c], w) for c, w in zip(codes.tolist(), words.tolist(), strict=True)]


@pytest.mark.parametrize("m", [2, 7, 12, 40, 300])
def test_weights_in_any_order_of_memory_give_the_same_tables(m):
    weights = np.array(random_weights(np.random.default_rng(m), 9, m), dtype=np.uint64)
    expected, b = tables(weights)
    for other in (np.asfortranarray(weights), np.repeat(weights, 2, axis=1)[:, ::2], weights[::-1][::-1]):
        entries = np.zeros_like(expected)
        kernel.build(other, b, entries)
        assert entries.tolist() == expected.tolist()


def test_a_piece_writes_its_own_records_only():
    entries, b = tables([[1 << 62, 0], [0, 1 << 62]])
    rows = np.array([0, 1, 2], dtype=np.uint32)
    for dtype in UNSIGNED:
        codes, out = np.ones(100, dtype=dtype), np.full(100, 7, dtype=dtype)
        kernel.drawing(codes, rows, entries, b, out)(np.zeros(30, dtype=np.uint64))(40, 21)
        assert out.tolist() == [7] * 40 + [1] * 21 + [7] * 39


def test_codes_with_gaps_in_memory_are_drawn_from_like_others():
    entries, b = tables([[1 << 62, 0], [0, 1 << 62]])
    codes, out = np.array([1, 7, 0, 7, 1, 7], np.uint8)[::2], np.full(3, 9, np.uint8)
    kernel.drawing(codes, np.array([0, 1, 2], np.uint32), entries, b, out)(np.zeros(3, np.uint64))(0, 3)
    assert out.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "weights", [[[1, 2]], [[1 << 62, 1]], [[2**64 - 1, 2**62 + 1]], [[0, 0]], [[2**63, 2**63]]]
)
def test_weights_that_do_not_add_up_make_no_table(weights):
    with refused(CertificationError, "2^62"):
        tables(weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": np.zeros(8, np.int8)}, " int8 "),
        ({"codes": np.zeros(7, np.uint8)}, "(7,)"),
        ({"codes": np.zeros((8, 1), np.uint8)}, "(8, 1)"),
        ({"out": np.zeros(8)}, "float64"),
        ({"out": np.zeros(9, np.uint8)}, "(9,)"),
        ({"rows": np.zeros(0, np.uint32)}, "6"),
        ({"rows": np.zeros(3, np.int64)}, "uint32"),
        ({"rows": np.array([0, 3], np.uint32)}, " 3 "),
        ({"entries": np.zeros(5, np.uint64)}, " 5 "),
        ({"entries": np.zeros(6, np.int64)}, "uint64"),
        ({"b": 0}, "2^0"),
        ({"b": 62}, "2^62"),
        ({"first": 1}, "8"),
        ({"first": -1}, "-1"),
        ({"count": 9, "words": np.zeros(9, np.uint64)}, "9"),
        ({"words": np.zeros(7, np.uint64)}, "7"),
        ({"count": -1}, "-1"),
        ({"words": np.zeros(8)}, "uint64"),
        ({"words": np.zeros(16, np.uint64)[::2]}, "uint64"),  # a copy would not be filled
        ({"out": np.zeros(16, np.uint8)[::2]}, "uint8"),
    ],
)
def test_nothing_outside_an_array_is_ever_touched(change, message):
    entries, b = tables([[1 << 62, 0], [0, 1 << 62]])
    given = {
        "codes": np.zeros(8, np.uint8),
        "rows": np.array([0, 1, 2], np.uint32),
        "entries": entries,
        "b": b,
        "out": np.zeros(8, np.uint8),
        "first": 0,
        "count": 8,
        "words": np.zeros(8, np.uint64),
    } | change
    first, count, words = given.pop("first"), given.pop("count"), given.pop("words")
    with refused(ValueError, message):
        kernel.drawing(**given)(words)(first, count)


def test_reports_never_overwrite_what_they_are_drawn_from():
    entries, b = tables([[1 << 62, 0], [0, 1 << 62]])
    codes = np.zeros(8, np.uint8)
    with pytest.raises(ValueError):  # noqa: PT011 # as the two lines above say
        kernel.drawing(codes, np.zeros(1, np.uint32), entries, b, codes)
    frozen = np.zeros(8, np.uint8)
    frozen.flags.writeable = False
    with refused(ValueError, "uint8"):
        kernel.drawing(codes, np.zeros(1, np.uint32), entries, b, frozen)


def test_tables_that_do_not_fit_are_not_made():
    weights = np.array([[1 << 62, 0, 0]], dtype=np.uint64)
    for b, length in ((1, 100), (2, 3), (0, 100), (40, 100)):
        with refused(ValueError, "1 x 3"):
            kernel.build(weights, b, np.zeros(length, dtype=np.uint64))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_codes_are_counted_as_plain_python_counts_them(dtype, count):
    rng = np.random.default_rng(count)
    codes = rng.integers(0, np.iinfo(dtype).max, count, dtype=dtype, endpoint=True)
    codes[::2] = rng.integers(0, 9, len(codes[::2]))
    for rows in (1, 5, 300):
        expected = [0] * rows
        for code in codes.tolist():
            expected[min(code, rows - 1)] += 1
        assert kernel.tally(codes, rows).tolist() == expected
        assert kernel.tally(np.repeat(codes, 2)[::2], rows).tolist() == expected  # with gaps in memory
    with refused(ValueError, "int64"):
        kernel.tally(codes.astype(np.int64), 5)
