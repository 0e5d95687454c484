"""Mechanism: a checked matrix with labels; post-processing, composition, comparison up to columns."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.model.mechanism import constant, identity
from tests.support.strategies import mechanisms, pairs, priors

FLIP = [[0.75, 0.25], [0.25, 0.75]]


def test_inputs_and_outputs_keep_their_labels_and_default_to_numbers():
    mechanism = ex.Mechanism(FLIP, inputs=["a", "b"], outputs=("x", ("y", 1)))
    assert mechanism.inputs == ("a", "b")
    assert mechanism.outputs == ("x", ("y", 1))
    assert ex.Mechanism(FLIP).inputs == ex.Mechanism(FLIP).outputs == (0, 1)
    assert ex.Mechanism(np.ones((3, 1))).shape == (3, 1)


@pytest.mark.parametrize(
    "matrix",
    [
        tuple(map(tuple, FLIP)),
        np.array(FLIP, dtype=np.float32),
        np.array(FLIP, order="F"),
        [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]],
    ],
    ids=["tuples", "float32", "Fortran order", "fractions"],
)
def test_any_matrix_of_numbers_will_do(matrix):
    assert ex.Mechanism(matrix) == ex.Mechanism(FLIP)
    assert ex.Mechanism(matrix).matrix.dtype == np.float64


def test_a_data_frame_is_a_matrix():
    pandas = pytest.importorskip("pandas")
    assert ex.Mechanism(pandas.DataFrame(FLIP)) == ex.Mechanism(FLIP)


def test_rounding_in_rows_is_corrected_and_what_is_exact_stays():
    third = [[0.333333333333, 0.333333333333, 0.333333333334], [0.3333333333, 0.3333333333, 0.3333333333]]
    mechanism = ex.Mechanism(third)
    assert mechanism.matrix[0].tolist() == third[0]
    assert abs(mechanism.matrix[1].sum() - 1) <= 2e-16
    assert ex.Mechanism([[1 + 1e-13, -1e-13], [0, 1]]).matrix.min() == 0


def test_a_mechanism_cannot_be_changed():
    given_matrix = np.array(FLIP)
    mechanism = ex.Mechanism(given_matrix)
    given_matrix[:] = 0
    for copied in (mechanism, pickle.loads(pickle.dumps(mechanism)), copy.deepcopy(mechanism)):
        assert copied == ex.Mechanism(FLIP)
        assert hash(copied) == hash(mechanism)
        with pytest.raises(ValueError, match="read-only"):
            copied.matrix[0, 0] = 0.5
    with pytest.raises(AttributeError):
        mechanism.outputs = (1, 2)


def test_mechanisms_differ_if_a_label_or_a_probability_does():
    mechanism = ex.Mechanism(FLIP)
    assert mechanism != ex.Mechanism(FLIP, inputs=["a", "b"])
    assert mechanism != ex.Mechanism(FLIP, outputs=["a", "b"])
    assert mechanism != ex.Mechanism(np.eye(2))
    assert mechanism != FLIP


@given(pairs(), st.data())
def test_post_processing_multiplies_matrices_and_never_leaks_more(pair, data):
    prior, mechanism = pair
    after = data.draw(mechanisms(mechanism.shape[1]))
    both = mechanism.then(after)
    np.testing.assert_allclose(both.matrix, mechanism.matrix @ after.matrix, atol=1e-15)
    assert ex.epsilon_pml(prior, both) <= ex.epsilon_pml(prior, mechanism) + 1e-12
    assert ex.measures.maximal_leakage(both) <= ex.measures.maximal_leakage(mechanism) + 1e-12


def test_post_processing_carries_labels_through():
    first = ex.Mechanism(FLIP, inputs=["a", "b"], outputs=["x", "y"])
    second = ex.Mechanism(FLIP, inputs=["x", "y"], outputs=["u", "v"])
    assert first.then(second).inputs == ("a", "b")
    assert first.then(second).outputs == ("u", "v")
    assert first.then(ex.Mechanism(FLIP)).outputs == (0, 1)
    assert ex.Mechanism(FLIP).then(second).outputs == ("u", "v")


@given(pairs(), st.data())
def test_composition_is_the_joint_release_of_independent_draws(pair, data):
    prior, one = pair
    other = data.draw(mechanisms(prior.size))
    joint = one.compose(other)
    assert joint.shape == (prior.size, one.shape[1] * other.shape[1])
    for j, (y, z) in enumerate(joint.outputs):
        product = one.matrix[:, one.outputs.index(y)] * other.matrix[:, other.outputs.index(z)]
        np.testing.assert_allclose(joint.matrix[:, j], product, atol=1e-15)
    back = joint.then(ex.Mechanism([[1.0 * (y == a) for a in one.outputs] for y, _ in joint.outputs]))
    np.testing.assert_allclose(back.matrix, one.matrix, atol=1e-15)


def test_composition_takes_the_labels_that_were_given():
    labelled, plain = ex.Mechanism(FLIP, inputs=["a", "b"]), ex.Mechanism(FLIP)
    assert labelled.compose(plain).inputs == plain.compose(labelled).inputs == ("a", "b")
    assert plain.compose(plain).outputs == ((0, 0), (0, 1), (1, 0), (1, 1))


@given(st.integers(2, 6).flatmap(mechanisms), st.integers(0, 2**32 - 1))
def test_columns_may_be_permuted_and_empty_ones_added_without_changing_the_class(mechanism, seed):
    rng = np.random.default_rng(seed)
    wider = np.insert(mechanism.matrix, rng.integers(mechanism.shape[1] + 1), 0, axis=1)
    other = ex.Mechanism(wider[:, rng.permutation(wider.shape[1])])
    assert mechanism.same_up_to_columns(other)
    assert other.same_up_to_columns(mechanism)


def test_a_changed_entry_leaves_the_class_beyond_the_tolerance():
    near = ex.Mechanism([[0.25 + 1e-7, 0.75 - 1e-7], [0.75, 0.25]])
    assert not ex.Mechanism(FLIP).same_up_to_columns(near)
    assert ex.Mechanism(FLIP).same_up_to_columns(near, tolerance=1e-6)
    assert not ex.Mechanism(FLIP).same_up_to_columns(ex.Mechanism(np.ones((2, 1))))
    assert not ex.Mechanism(FLIP).same_up_to_columns(ex.Mechanism(np.ones((3, 1))))


@given(pairs())
def test_utility_and_leakage_do_not_see_the_order_of_columns(pair):
    """Remark 1."""
    prior, mechanism = pair
    reverse = ex.Mechanism(mechanism.matrix[:, ::-1])
    assert ex.mutual_information(prior, reverse) == pytest.approx(
        ex.mutual_information(prior, mechanism), abs=1e-15
    )
    assert ex.epsilon_pml(prior, reverse) == pytest.approx(ex.epsilon_pml(prior, mechanism), abs=1e-15)


@given(priors())
def test_the_identity_leaks_everything_and_the_constant_nothing(prior):
    assert ex.epsilon_pml(prior, identity(prior)) == pytest.approx(prior.epsilon_max)
    assert ex.mutual_information(prior, identity(prior)) == pytest.approx(prior.entropy)
    assert identity(prior).outputs == prior.labels
    assert ex.epsilon_pml(prior, constant(prior)) == pytest.approx(0, abs=1e-15)
    assert constant(prior).outputs[0] in prior.labels


@given(pairs())
def test_the_output_distribution_is_a_distribution(pair):
    prior, mechanism = pair
    rho = mechanism.output_distribution(prior)
    assert rho.sum() == pytest.approx(1)
    np.testing.assert_allclose(rho, [prior.probabilities @ column for column in mechanism.matrix.T])


def test_a_mechanism_shows_itself():
    shown = repr(ex.Mechanism(FLIP, inputs=["yes", "no"], outputs=["yes", "no"]))
    assert (
        shown
        == "Mechanism(2 inputs, 2 outputs)\n        yes      no\nyes  0.7500  0.2500\nno   0.2500  0.7500"
    )
    assert repr(ex.Mechanism(np.eye(13))) == "Mechanism(13 inputs, 13 outputs)"


def test_notebooks_show_a_shaded_table_with_escaped_labels():
    html = ex.Mechanism(FLIP, inputs=["<i>", "b"], outputs=["&", "y"])._repr_html_()
    assert "&lt;i&gt;" in html
    assert "<i>" not in html
    assert "<th>&amp;</th>" in html
    assert html.count("rgba(31,119,180,0.45)'>0.75<") == 2
    assert html.count("rgba(31,119,180,0.15)'>0.25<") == 2


def test_notebooks_show_the_corner_of_a_large_mechanism():
    html = ex.Mechanism(np.eye(500))._repr_html_()
    assert html.count("<tr>") == 22
    assert html.count("<td") == 20 * 21 + 1
    assert "480 more" in html
