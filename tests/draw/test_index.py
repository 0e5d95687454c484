"""An index of pandas that tells the private column is refused, whatever it is made of and whatever is missing."""

import warnings

import numpy as np
import pandas as pd
import pytest

import extremal as ex
from extremal.errors import ValuesError
from tests.support import wording

PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
C = ex.certify(ex.design(PRIOR, 0.7))
NUMBERS = ex.certify(ex.design(ex.Prior({1: 0.5, 2: 0.3, 3: 0.2}), 0.7))
PAIRS = ex.Prior.product(ex.Prior({"a": 0.6, "b": 0.4}), ex.Prior({"x": 0.6, "y": 0.4}))
JOINT = ex.certify(ex.design(PAIRS, 0.7))
ANSWERS = ["a", "b", "c", "a", "b", "a", None]
RENAMED = dict(zip("abc", "zxy", strict=True))

TYPES = {
    "object": object,
    "string": "string",
    "arrow text": "string[pyarrow]",
    "category": "category",
}


def refused(frame, mechanisms, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with wording.refused(ValuesError, "index"):
            ex.privatize(frame, mechanisms, **how)
        if isinstance(frame.index, pd.MultiIndex) or len(mechanisms) > 1 or tuple in map(type, mechanisms):
            return
        ((name, certified),) = mechanisms.items()
        how = {"unknown_as": how["unknown_as"][name]} if how.get("unknown_as") else how
        with wording.refused(ValuesError, "index"):
            certified.privatize(frame[name], **how)


@pytest.mark.parametrize("of_column", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("of_index", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("hidden", ["column", "index", "neither"])
def test_an_index_of_the_answers_is_refused_though_values_are_missing(of_column, of_index, hidden):
    column, index = list(ANSWERS), ["c" if x is None else x for x in ANSWERS]
    if hidden == "index":
        column, index = index, column
    if hidden == "neither":
        column = index
    for how in ({"unknown": "drop"}, {"unknown_as": {"answer": "a"}}):
        given = pd.Series(index, dtype=of_index).array
        frame = pd.DataFrame({"answer": pd.Series(column, dtype=of_column).array, "n": 0}, index=given)
        refused(frame, {"answer": C}, **how)
        frame.index = pd.MultiIndex.from_arrays([range(7), given])
        refused(frame, {"answer": C}, **how)


@pytest.mark.parametrize("kind", ["int64", "Int64", "Float64", "int64[pyarrow]", "object"])
def test_an_index_of_numbers_is_refused_though_values_are_missing(kind):
    numbers = [1, 2, 3, 1, 2, 1, 3]
    missing = [*numbers[:-1], None if kind != "int64" else 3]
    for column, index in ((missing, numbers), (numbers, missing)):
        given = pd.Series(index, dtype=kind).array
        frame = pd.DataFrame({"answer": pd.Series(column, dtype=kind).array}, index=given)
        refused(frame, {"answer": NUMBERS}, unknown="drop")


def test_an_index_of_the_answers_under_other_names_is_refused():
    frame = pd.DataFrame({"answer": ANSWERS[:-1]}, index=[RENAMED[x] for x in ANSWERS[:-1]])
    refused(frame, {"answer": C})
    refused(frame.set_index(frame["answer"].map({"a": 10, "b": 20, "c": 5})), {"answer": C})
    large = pd.DataFrame({"answer": ["a"] * 20_000 + ["b", "c"]})
    refused(large.set_index(large["answer"].map(RENAMED).to_numpy()), {"answer": C})


def test_an_index_of_two_columns_that_are_drawn_together_is_refused():
    frame = pd.DataFrame({"p": list("abababba"), "q": list("xxyyxyyx")})
    for index in (
        [x + y for x, y in zip(frame["p"], frame["q"], strict=True)],
        pd.MultiIndex.from_frame(frame.replace({"a": 0, "b": 1, "x": 0, "y": 1}), names=["m", "n"]),
        frame["q"].map({"x": 1, "y": 0}).to_numpy(),
    ):
        refused(frame.set_index(pd.Index(index)), {("p", "q"): JOINT})


def test_an_index_that_says_something_else_is_kept():
    """Row numbers, ids, groups, names of people, and a column of one answer."""
    answers = ANSWERS[:-1]
    indices = [
        range(6),
        range(1, 7),
        [9, 4, 7, 1, 0, 2],
        [1, 1, 2, 2, 3, 3],
        list("uvwxyz"),
        pd.MultiIndex.from_product([[1, 2], list("xyz")]),
        pd.Index([None] * 6),
        pd.Index([pd.NA, *"vwxyz"], name=pd.NA),
    ]
    for index in indices:
        frame = pd.DataFrame({"answer": answers}, index=index)
        assert ex.privatize(frame, {"answer": C}).index.equals(frame.index)
        assert C.privatize(frame["answer"]).index.equals(frame.index)
    one = pd.DataFrame({"answer": ["a"] * 3}, index=[5, 5, 5])
    assert ex.privatize(one, {"answer": C}).index.equals(one.index)
    assert C.privatize(pd.Series(["a", "b", "a"])).index.equals(pd.RangeIndex(3))
    numbered = pd.DataFrame({"answer": [1, 2, 3]}, index=range(1, 4))
    assert ex.privatize(numbered, {"answer": NUMBERS}).index.equals(numbered.index)


def test_an_index_with_the_name_of_the_column_is_refused():
    frame = pd.DataFrame({"answer": ["a", "b"]}, index=pd.Index([7, 8], name="answer"))
    refused(frame, {"answer": C})


def test_values_that_no_label_can_be_are_named_as_such():
    frame = pd.DataFrame({"answer": [["a"], np.nan, {}]}, index=["x", "y", "z"])
    with wording.refused(ValuesError, "'answer'"):
        ex.privatize(frame, {"answer": C})
