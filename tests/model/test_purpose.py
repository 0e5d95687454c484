"""Purposes: their matrices, and efficiencies against their definition."""

import numpy as np
import pytest

import extremal as ex
from extremal.errors import OptionError
from extremal.model.mechanism import constant, identity
from extremal.model.purpose import shares
from extremal.model.purposes import Quadratic, groups, mean

PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})


def test_matrices_are_those_of_the_definition():
    np.testing.assert_array_equal(shares.loss(PRIOR), np.eye(3))
    np.testing.assert_allclose(shares.relative.loss(PRIOR), np.diag([4, 100 / 9, 25]))
    A = groups({"ab": ["a", "b"], "c": ["c"]}).loss(PRIOR)
    np.testing.assert_array_equal(A, [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    s = np.array([1.0, 2.0, 4.0])
    for purpose in (mean(s), mean({"c": 4, "a": 1, "b": 2})):
        A = purpose.loss(PRIOR)
        h = np.array([0.3, -0.1, -0.2])  # errors of shares sum to 0
        assert h @ A @ h == pytest.approx((s @ h) ** 2)


def test_an_efficiency_compares_the_error_with_that_of_direct_answers():
    mechanism = ex.theory.randomized_response_for_pml(PRIOR, 0.6)
    pi, P = PRIOR.probabilities, mechanism.matrix
    J = (P / (pi @ P)) @ P.T
    for purpose in (
        shares,
        shares.relative,
        mean([1, 2, 4]),
        groups({"a": ["a"]}),
        Quadratic(np.diag([1, 2, 3])),
    ):
        A = purpose.loss(PRIOR)
        direct = np.trace(A @ (np.diag(pi) - np.outer(pi, pi)))
        loss = np.trace(A @ (np.linalg.inv(J) - np.outer(pi, pi)))
        assert purpose(PRIOR, mechanism) == pytest.approx(direct / loss, rel=1e-9)
        assert purpose(PRIOR, identity(PRIOR)) == pytest.approx(1)
        assert purpose.name


def test_what_is_not_identified_has_no_efficiency():
    assert shares(PRIOR, ex.Mechanism([[1, 0], [0, 1], [0, 1]], PRIOR.labels)) == 0
    assert shares(PRIOR, constant(PRIOR)) == 0


def test_what_matters_may_be_identified_where_shares_are_not():
    merged = ex.Mechanism([[1, 0], [0, 1], [0, 1]], PRIOR.labels)
    assert groups({"a": ["a"]})(PRIOR, merged) == pytest.approx(1)


def test_purposes_are_values():
    assert shares.relative == shares.relative != shares
    assert mean([1, 2, 3]) == mean((1.0, 2.0, 3.0))
    assert hash(groups({"x": ["a"]})) == hash(groups({"x": ["a"]}))


def test_any_matrix_makes_a_purpose():
    """The best of two symbols is known: both columns as far from 1 as epsilon allows."""
    prior = ex.Prior({"a": 0.6, "b": 0.4})
    made = ex.design(prior, 0.3, ex.utilities.Quadratic([[2.0, 0.5], [0.5, 1.0]]))
    assert made.value == pytest.approx(ex.design(prior, 0.3).value, rel=1e-9)  # one error only, whatever A
    A = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 0.5]])
    made = ex.design(PRIOR, 0.6, ex.utilities.Quadratic(A, "mine"))
    assert made.proven
    assert ex.check_design(made).ok
    assert made.utility.name == "mine"
    others = (ex.design(PRIOR, 0.6).mechanism, ex.theory.randomized_response_for_pml(PRIOR, 0.6))
    assert made.value >= max(made.utility(PRIOR, other) for other in others) - 1e-9


@pytest.mark.parametrize(
    "make",
    [
        lambda: mean([1, 1, 1]),
        lambda: mean([1, float("nan"), 2]),
        lambda: mean("x"),
        lambda: mean(None),
        lambda: mean({"a": "much", "b": 2}),
        lambda: groups(["a"]),
        lambda: groups({"x": "ab"}),
        lambda: groups({"x": 1}),
        lambda: mean([1, 2]).loss(PRIOR),
        lambda: mean({"a": 1, "b": 2}).loss(PRIOR),
        lambda: groups({}),
        lambda: groups({"x": []}),
        lambda: groups({"x": ["z"]}).loss(PRIOR),
        lambda: Quadratic([[1, 2]]),
        lambda: Quadratic(np.eye(2)).loss(PRIOR),
    ],
)
def test_purposes_that_make_no_sense_are_refused(make):
    with pytest.raises(OptionError):
        make()


@pytest.mark.parametrize("rare", [1e-5, 1e-7, 1e-9])
def test_a_rare_group_has_the_efficiency_of_the_same_mechanism_for_two_labels(rare):
    """The rest of the labels have equal rows, so that they are one label."""
    rest = (1 - rare) / 2
    prior, merged = ex.Prior([rare, rest, rest]), ex.Prior([rare, 1 - rare])
    rows = [[0.55, 0.45], [0.45, 0.55]]
    expected = (0.1**2 / (0.45 * 0.55)) * rare  # of direct answers' rare (1 - rare), up to parts of `rare`
    mechanism = ex.Mechanism([rows[0], rows[1], rows[1]])
    assert mean([1, 0, 0])(prior, mechanism) == pytest.approx(expected, rel=1e-3)
    assert mean([1, 0])(merged, ex.Mechanism(rows)) == pytest.approx(expected, rel=1e-3)
    assert ex.check_design(ex.design(prior, 0.1, groups({"rare": [0]}))).ok
