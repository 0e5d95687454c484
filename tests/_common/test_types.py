"""When results are the same: also after they were pickled, and not if a bit differs."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import extremal as ex
from extremal._common.types import same

PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})


@pytest.mark.parametrize(
    "make",
    [
        lambda: ex.design(PRIOR, 0.6),
        lambda: ex.design(PRIOR, 0.6, ex.mutual_information),
        lambda: ex.design(PRIOR, 0.6, ex.mean([0, 1, 2])),
        lambda: ex.design(ex.PriorSet.l1_ball(PRIOR, 0.1), 0.6),
        lambda: ex.design(ex.Prior.uniform(5), 0.6, ex.mutual_information, notion=ex.LDP),
        pytest.param(
            lambda: ex.design(ex.Prior.from_counts(range(1, 5001)), 0.6, ex.mutual_information),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["shares", "mutual information", "mean", "set", "notion", "blocks"],
)
def test_a_pickled_design_equals_itself_and_no_other(make):
    design = make()
    copy = pickle.loads(pickle.dumps(design))
    assert copy == design
    assert hash(copy) == hash(design)
    assert copy != replace(design, value=np.nextafter(design.value, 1))
    assert design != "a design"


def test_arrays_are_the_same_only_with_the_same_type_shape_and_bits():
    a = np.array([1.0, 2.0])
    assert same(a, a.copy())
    assert not same(a, a.astype(np.float32))
    assert not same(a, a[None])
    assert not same(a, np.nextafter(a, 3))
    assert not same(a, [1.0, 2.0])


def test_utilities_are_the_same_if_their_definitions_are():
    gains = ex.ExpectedGain(np.eye(3))
    assert gains == ex.ExpectedGain(np.eye(3))
    assert gains != ex.ExpectedGain(2 * np.eye(3))
    assert ex.ExpectedGain(np.eye(3), "x") != gains
    assert ex.mutual_information != ex.utilities.chi_squared


def test_certificates_plans_and_curves_are_read_in_notebooks_and_terminals():
    certified = ex.certify(ex.design(PRIOR, 0.6))
    assert certified.digest[:12] in certified._repr_html_()
    assert "Mechanism" in certified._repr_html_()
    plan = ex.plan(certified, people=944)
    assert plan._repr_html_().count("<p>") == len(plan.lines())
    curve = ex.tradeoff(PRIOR, [0.2, 0.6])
    assert len(str(curve).splitlines()) == 2 + len(curve)
    assert repr(curve) == str(curve)
    assert curve._repr_html_().count("<tr>") == 1 + len(curve)
