"""Texts in a block of bytes: numbered, read as integers and put together as Python's own strings are."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extremal.draw.texts import LETTERED, OTHER, SHORT_INTEGER, Texts, replace_fields

TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(["a", "b", ""])
)
INTEGERS = st.lists(st.from_regex(r"[+-]?[0-9]{0,20} ?[a-z]?é?", fullmatch=True) | st.integers().map(str))


@given(TEXTS)
def test_texts_are_numbered_as_they_first_occur(texts):
    codes, found = Texts.of(texts).numbered()
    assert found == list(dict.fromkeys(texts))
    assert [found[code] for code in codes] == texts


def test_many_different_texts_are_told_apart():
    texts = [f"{'x' * (i % 17)}{i}" for i in range(50_000)]
    codes, found = Texts.of(texts).numbered()
    assert found == texts
    assert np.array_equal(codes, np.arange(len(texts)))


@given(INTEGERS)
def test_short_integers_are_read_and_others_are_told_by_letters(texts):
    numbers, kinds = Texts.of(texts).integers()
    for text, number, kind in zip(texts, numbers.tolist(), kinds.tolist(), strict=True):
        if re.fullmatch("[+-]?[0-9]{1,18}", text):
            assert (number, kind) == (int(text), SHORT_INTEGER)
        else:
            assert (number, kind) == (0, LETTERED if re.search("[A-Za-z]", text) else OTHER)


@given(TEXTS)
def test_a_list_of_texts_comes_back_as_it_was(texts):
    assert list(Texts.of(texts)) == texts


@given(
    st.lists(
        st.tuples(*[st.sampled_from(["", "x", "größe", "0" * 40])] * 5, st.integers(0, 2), st.integers(0, 2))
    )
)
def test_records_get_other_fields_and_keep_the_rest(records):
    pool = ["", "report", "€"]
    block = "".join("".join(record[:5]) for record in records).encode()
    sizes = np.array([[len(part.encode()) for part in record[:5]] for record in records], dtype=np.int64)
    ends = np.cumsum(sizes.ravel()).reshape(-1, 5)
    edges = (
        np.concatenate([ends[:, :1] - sizes[:, :1], ends], axis=1) if records else np.empty((0, 6), np.int64)
    )
    chosen = np.array([record[5:] for record in records], dtype=np.int64).reshape(-1, 2)
    text, places = replace_fields(block, edges, chosen, Texts.of(pool))
    wanted = [f"{a}{pool[i]}{c}{pool[j]}{e}".encode() for a, _, c, _, e, i, j in records]
    assert bytes(text) == b"".join(wanted)
    assert [bytes(text[a:b]) for a, b in pairwise(places)] == wanted


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 5), (5, 6)])
def test_places_outside_the_block_are_refused(start, end):
    texts = Texts(b"four", np.array([0, start]), np.array([4, end]))
    for call in (texts.numbered, texts.integers):
        with pytest.raises(ValueError):  # noqa: PT011 # of the wrapper
            call()
    edges = np.array([[0, 0, start, end]])
    with pytest.raises(ValueError):  # noqa: PT011 # of the wrapper, or of numpy
        replace_fields(b"four", edges, np.array([[0]]), Texts.of(["report"]))


def test_numbers_beyond_the_pool_are_refused():
    with pytest.raises((ValueError, IndexError)):
        replace_fields(b"four", np.array([[0, 0, 4, 4]]), np.array([[1]]), Texts.of(["report"]))
    with pytest.raises(ValueError):  # noqa: PT011 # of the wrapper
        replace_fields(b"four", np.array([[0, 0, 4, 4]]), np.array([[-1]]), Texts.of(["report"]))
