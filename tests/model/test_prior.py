"""Prior: labels and probabilities in the caller's order, from anything a column or counts come in."""

import copy
import math
import pickle
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.model.counting import count_values
from tests.support.strategies import priors
from tests.support.wording import refused


def test_labels_keep_the_callers_order_and_type():
    prior = ex.Prior([0.2, 0.5, 0.3], labels=["c", ("a", 1), 7])
    assert prior.labels == ("c", ("a", 1), 7)
    assert prior.probabilities.tolist() == [0.2, 0.5, 0.3]
    assert (prior.size, len(prior)) == (3, 3)
    assert [prior.index(label) for label in prior.labels] == [0, 1, 2]


def test_labels_default_to_numbers_and_a_mapping_names_them():
    assert ex.Prior([0.5, 0.5]).labels == (0, 1)
    assert ex.Prior({"yes": 0.25, "no": 0.75}) == ex.Prior([0.25, 0.75], ["yes", "no"])


@pytest.mark.parametrize(
    "masses",
    [
        (0.25, 0.75),
        np.array([0.25, 0.75]),
        np.array([0.25, 0.75], dtype=np.float32),
        [np.float64(0.25), 0.75],
        [Fraction(1, 4), Fraction(3, 4)],
        {"a": 0.25, "b": 0.75}.values(),
        iter([0.25, 0.75]),
    ],
    ids=["tuple", "array", "float32", "numpy scalars", "fractions", "view", "iterator"],
)
def test_any_sequence_of_numbers_will_do(masses):
    prior = ex.Prior(masses)
    assert prior.probabilities.tolist() == [0.25, 0.75]
    assert prior.probabilities.dtype == np.float64


def test_numpy_labels_become_python_values():
    prior = ex.Prior([0.5, 0.5], labels=np.array(["a", "b"]))
    assert [type(label) for label in prior.labels] == [str, str]
    assert [type(label) for label in ex.Prior([0.5, 0.5], labels=np.arange(2)).labels] == [int, int]


def test_times_as_labels_keep_every_digit():
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]")
    prior = ex.Prior.from_data(days[[0, 1, 1]])
    assert prior.labels == tuple(days)
    assert prior.probabilities.tolist() == [1 / 3, 2 / 3]


def test_a_pandas_series_brings_its_labels():
    pandas = pytest.importorskip("pandas")
    answers = pandas.Series(["no", "yes", "no", "no"])
    assert ex.Prior(answers.value_counts(normalize=True)) == ex.Prior({"no": 0.75, "yes": 0.25})
    assert ex.Prior.from_counts(answers.value_counts()) == ex.Prior({"no": 0.75, "yes": 0.25})
    assert ex.Prior(pandas.Series([0.75, 0.25]), labels=["no", "yes"]) == ex.Prior({"no": 0.75, "yes": 0.25})


def test_polars_and_arrow_columns_hold_probabilities_too():
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    assert ex.Prior(polars.Series([0.75, 0.25])) == ex.Prior([0.75, 0.25])
    assert ex.Prior(arrow.array([0.75, 0.25])) == ex.Prior([0.75, 0.25])


@given(priors())
def test_a_prior_built_from_a_prior_is_the_same_to_the_last_bit(prior):
    assert ex.Prior(prior.probabilities, prior.labels) == prior
    assert pickle.loads(pickle.dumps(prior)) == prior
    assert copy.deepcopy(prior) == prior
    assert hash(pickle.loads(pickle.dumps(prior))) == hash(prior)


@given(priors())
def test_probabilities_sum_to_one_and_entropy_lies_between_its_bounds(prior):
    assert abs(math.fsum(prior.probabilities) - 1) <= 4e-16
    assert prior.epsilon_max == -math.log(prior.probabilities.min())
    assert -1e-15 <= prior.entropy <= math.log(prior.size) + 1e-15
    assert prior.entropy == pytest.approx(
        -np.sum(prior.probabilities * np.log(prior.probabilities)), abs=1e-14
    )


def test_a_prior_cannot_be_changed():
    given_masses = np.array([0.25, 0.75])
    prior = ex.Prior(given_masses)
    given_masses[0] = 1
    assert prior.probabilities.tolist() == [0.25, 0.75]
    for copied in (prior, pickle.loads(pickle.dumps(prior)), copy.deepcopy(prior)):
        with pytest.raises(ValueError, match="read-only"):
            copied.probabilities[0] = 0.5
    with pytest.raises(AttributeError):
        prior.labels = (1, 2)


def test_priors_differ_if_a_label_or_a_mass_does():
    prior = ex.Prior([0.25, 0.75])
    assert prior != ex.Prior([0.75, 0.25])
    assert prior != ex.Prior([0.25, 0.75], ["a", "b"])
    assert prior != "prior"
    assert len({prior, ex.Prior([0.25, 0.75]), ex.Prior([0.75, 0.25])}) == 2


@pytest.mark.parametrize("n", [2, 3, 7, 10, np.int64(4)])
def test_a_uniform_prior_is_uniform(n):
    prior = ex.Prior.uniform(n)
    assert prior.is_uniform
    assert set(prior.probabilities.tolist()) == {1 / n}
    assert prior.labels == tuple(range(n))
    assert prior.entropy == pytest.approx(math.log(n))


def test_a_uniform_prior_can_be_given_its_labels():
    assert ex.Prior.uniform(["a", "b"]) == ex.Prior({"a": 0.5, "b": 0.5})
    assert ex.Prior.uniform(str(k) for k in range(3)).labels == ("0", "1", "2")


def test_near_ties_beyond_rounding_are_not_uniform():
    assert ex.Prior([1 / 3, 1 / 3, 1 / 3]).is_uniform
    assert ex.Prior(np.array([0.1, 0.1, 0.1]) / 0.3).is_uniform
    assert not ex.Prior([0.5 + 1e-12, 0.5 - 1e-12]).is_uniform


def test_counts_become_relative_frequencies():
    assert ex.Prior.from_counts({"a": 3, "b": 1}) == ex.Prior({"a": 0.75, "b": 0.25})
    assert ex.Prior.from_counts([3, 1], labels=["a", "b"]) == ex.Prior({"a": 0.75, "b": 0.25})
    assert ex.Prior.from_counts(Counter("aaab")) == ex.Prior({"a": 0.75, "b": 0.25})
    assert ex.Prior.from_counts([1e308, 1e308]) == ex.Prior([0.5, 0.5])


def test_a_pseudocount_is_added_to_every_count():
    assert ex.Prior.from_counts({"a": 3, "b": 0}, pseudocount=1) == ex.Prior({"a": 0.8, "b": 0.2})
    assert ex.Prior.from_counts([0, 0], pseudocount=0.5).is_uniform


COLUMN = ["b", "a", "b", "b"]
EXPECTED = ex.Prior({"a": 0.25, "b": 0.75})


def columns():
    yield "list", COLUMN
    yield "tuple", tuple(COLUMN)
    yield "generator", (value for value in COLUMN)
    yield "numpy", np.array(COLUMN)
    yield "numpy objects", np.array(COLUMN, dtype=object)
    yield "numpy scalars", list(np.array(COLUMN))


@pytest.mark.parametrize(("kind", "values"), list(columns()))
def test_a_column_of_any_kind_gives_the_same_prior(kind, values):
    assert ex.Prior.from_data(values) == EXPECTED


@pytest.mark.parametrize("dtype", [None, "category", "string"])
def test_a_pandas_column_gives_the_same_prior(dtype):
    pandas = pytest.importorskip("pandas")
    assert ex.Prior.from_data(pandas.Series(COLUMN, dtype=dtype)) == EXPECTED


def test_a_polars_or_arrow_column_gives_the_same_prior():
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    assert ex.Prior.from_data(polars.Series(COLUMN)) == EXPECTED
    assert ex.Prior.from_data(polars.Series(COLUMN, dtype=polars.Categorical)) == EXPECTED
    assert ex.Prior.from_data(arrow.array(COLUMN)) == EXPECTED
    assert ex.Prior.from_data(arrow.chunked_array([COLUMN[:2], COLUMN[2:]])) == EXPECTED


def test_labels_of_data_are_sorted_where_they_can_be():
    assert ex.Prior.from_data([3, 1, 2, 2]).labels == (1, 2, 3)
    assert ex.Prior.from_data([True, False]).labels == (False, True)
    assert ex.Prior.from_data([("b", 1), ("a", 2)]).labels == (("a", 2), ("b", 1))
    assert ex.Prior.from_data(["x", 1, "x"]).labels == ("x", 1)


def test_labels_given_with_data_fix_their_order_and_leave_room_for_the_unseen():
    prior = ex.Prior.from_data(["b", "a", "b"], pseudocount=1, labels=["c", "b", "a"])
    assert prior == ex.Prior.from_counts({"c": 1, "b": 3, "a": 2})


@given(
    st.lists(st.one_of(st.integers(-3, 3), st.booleans(), st.sampled_from([0.0, 1.0, 2.5, "a"])), min_size=1)
)
def test_values_are_counted_as_a_plain_loop_counts_them(values):
    expected = {}
    for value in values:
        expected[value] = expected.get(value, 0) + 1
    assert count_values(values) == expected


@pytest.mark.timed
@pytest.mark.parametrize("kind", ["list", "numpy", "pandas", "polars"])
def test_a_million_values_are_counted_within_seconds(kind):
    values = np.random.default_rng(0).integers(0, 50, 1_000_000).astype(str)
    if kind == "list":
        values = values.tolist()
    elif kind != "numpy":
        values = pytest.importorskip(kind).Series(values.tolist())
    start = time.process_time()
    prior = ex.Prior.from_data(values)
    assert time.process_time() - start < 5
    assert prior.size == 50


def test_a_prior_on_a_hundred_thousand_labels_is_no_problem():
    prior = ex.Prior.from_counts(np.arange(1, 100_001))
    assert prior.size == 100_000
    assert prior.region(1.0) > 1
    assert "more" in repr(prior)
    assert len(repr(prior)) < 300


def test_tiny_masses_are_kept():
    prior = ex.Prior([1e-150, 1 - 1e-150])
    assert prior.probabilities[0] == 1e-150
    assert prior.epsilon_max == pytest.approx(150 * math.log(10))
    assert math.isfinite(prior.entropy)


def test_a_prior_shows_itself():
    assert repr(ex.Prior({"a": 0.25, "b": 0.75})) == "Prior({'a': 0.25, 'b': 0.75})"


def test_notebooks_show_a_shaded_table_with_escaped_labels():
    html = ex.Prior({"<b>&": 0.25, "x": 0.75})._repr_html_()
    assert "&lt;b&gt;&amp;" in html
    assert "<b>" not in html
    assert "rgba(31,119,180,0.60)'>0.75<" in html
    assert "rgba(31,119,180,0.20)'>0.25<" in html


def test_notebooks_show_the_beginning_of_a_long_prior():
    html = ex.Prior.uniform(1000)._repr_html_()
    assert html.count("<tr>") == 22
    assert "980 more" in html


def test_single_precision_that_misses_1_is_refused_with_a_way_out():
    rounded = np.array([0.1, 0.2, 0.7], dtype=np.float32)
    with refused(ex.errors.PriorError, "prior", "Prior.from_counts"):
        ex.Prior(rounded)
    assert ex.Prior.from_counts(rounded).probabilities == pytest.approx([0.1, 0.2, 0.7], abs=1e-7)
