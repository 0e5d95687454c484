"""What arguments must be: each check gives the value back as it is used, or says which parameter is wrong and how."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from extremal._common import checks
from extremal.errors import ExtremalError, OptionError, PriorError


def refused(check, *arguments, error=OptionError, **options) -> ExtremalError:
    """The error, of exactly this kind, and about the parameter "it"."""
    with pytest.raises(error) as caught:
        check(arguments[0], "it", *arguments[1:], error=error, **options)
    assert type(caught.value) is error
    assert caught.value.parameter == "it"
    assert caught.value.given is not None
    assert len(str(caught.value)) < 300
    return caught.value


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), Fraction(2), Decimal(2)])
def test_a_number_is_given_back_as_a_float(value):
    found = checks.number(value, "it", above=1, most=2)
    assert type(found) is float
    assert found == 2


@pytest.mark.parametrize("value", [True, np.True_, "2", None, [2], np.nan, np.inf, 10**400, 1j])
def test_what_is_no_finite_number_is_refused(value):
    refused(checks.number, value)
    refused(checks.number, value, error=PriorError)


@pytest.mark.parametrize("bounds", [{"above": 2}, {"least": 3}, {"below": 2}, {"most": 1}])
def test_numbers_out_of_bounds_are_refused_with_the_bound(bounds):
    (bound,) = bounds.values()
    assert f"{bound}" in refused(checks.number, 2, **bounds).problem


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_a_whole_number_is_given_back_as_an_int(value):
    found = checks.whole(value, "it", least=3, most=3)
    assert type(found) is int
    assert found == 3


@pytest.mark.parametrize("value", [3.0, True, "3", None, 2, 5])
def test_what_is_no_whole_number_within_the_bounds_is_refused(value):
    refused(checks.whole, value, least=3, most=4)


def test_a_confidence_lies_between_0_and_1():
    assert checks.confidence(0.9) == 0.9
    for value in (0, 1, 95, "0.9"):
        with pytest.raises(OptionError) as caught:
            checks.confidence(value)
        assert caught.value.parameter == "confidence"


@pytest.mark.parametrize("values", [[1, 2], (1.0, 2.0), np.array([1, 2], np.int8), [Fraction(1), 2]])
def test_numbers_are_given_back_as_a_fresh_vector(values):
    found = checks.numbers(values, "it", size=2)
    assert found.dtype == np.float64
    assert found.tolist() == [1, 2]
    assert not np.shares_memory(found, values)


@pytest.mark.parametrize(
    "values", ["12", ["1", "2"], [[1, 2]], 1, None, [1, None], [1, np.inf], [10**400], [1j]]
)
def test_what_is_no_list_of_finite_numbers_is_refused(values):
    refused(checks.numbers, values)


def test_numbers_that_may_be_infinite_and_numbers_of_another_length():
    assert checks.numbers([0, np.inf], "it", finite=False).tolist() == [0, np.inf]
    assert "answer" in refused(checks.numbers, [1, 2], size=3).problem


def test_masked_numbers_are_missing():
    refused(checks.numbers, np.ma.array([1, 2], mask=[False, True]))


def test_increasing_numbers_may_be_infinite_at_the_ends_only():
    assert checks.increasing([-np.inf, 0, np.inf], "it", count=3).tolist() == [-np.inf, 0, np.inf]
    for values in ([], [1, 1], [2, 1], [0, np.nan], [0, np.inf, np.inf], ["a"], 3):
        refused(checks.increasing, values)
    refused(checks.increasing, [1], count=2)


def test_probabilities_are_not_negative_and_sum_to_1():
    assert checks.probabilities([0.25, 0.75], "it").tolist() == [0.25, 0.75]
    assert len(checks.probabilities(np.full(10**6, 1e-6), "it")) == 10**6
    for values in ([0.5, 0.4], [1.5, -0.5], [np.nan, 1], [[1.0]], "1"):
        refused(checks.probabilities, values, error=PriorError)


def test_a_matrix_has_the_rows_and_columns_that_are_asked_for():
    assert checks.matrix([[1, 2]], "it", shape=(1, None)).tolist() == [[1, 2]]
    for values in ([1, 2], [], [[]], [[1], [2, 3]], [["a"]], [[np.inf]], None):
        refused(checks.matrix, values)
    assert "1 columns" in refused(checks.matrix, [[1, 2]], square=True).problem
    assert "3 columns" in refused(checks.matrix, [[1, 2]], shape=(None, 3)).problem


def test_a_choice_is_one_of_the_words():
    assert checks.choice("b", "it", ["a", "b"]) == "b"
    for value in ("c", "", None, ["a"], 0):
        assert "a, b" in refused(checks.choice, value, ["a", "b"]).problem


def test_a_label_is_given_back_as_its_position():
    assert checks.label("b", "it", ("a", "b")) == 1
    for value in ("c", None, ["a"], {}):
        refused(checks.label, value, ("a", "b"))


def test_labels_are_among_those_that_are_known_and_cover_them_where_they_must():
    checks.labels(["b"], "it", ["a", "b"])
    checks.cover({"b": 0, "a": 0, "c": 0}, "it", ["a", "b"])
    assert "'c'" in str(refused(checks.labels, ["a", "c"], ["a", "b"]).given)
    assert "['a']" in str(refused(checks.labels, [["a"]], ["a", "b"]).given)
    assert "'a'" in str(refused(checks.cover, ["b"], ["a", "b"]).given)


def test_an_instance_a_function_and_a_mapping_are_given_back_themselves():
    values = ({"a": 1}, len)
    assert checks.instance(values[0], "it", dict, "a dict") is values[0]
    assert checks.mapping(values[0], "it", "name -> number") is values[0]
    assert checks.function(values[1], "it", "(values)") is values[1]
    assert "a dict" in refused(checks.instance, 3, dict, "a dict").problem
    refused(checks.mapping, {}, "name -> number")
    refused(checks.mapping, [("a", 1)], "name -> number")
    refused(checks.function, 3, "(values)")
