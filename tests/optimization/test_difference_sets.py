"""Cyclic difference sets: differences are counted one by one."""

import math
from collections import Counter

import numpy as np
import pytest

import extremal as ex
from extremal.optimization.closed_forms import difference_set


@pytest.mark.parametrize(
    ("n", "k"),
    [
        (7, 3),
        (7, 4),
        (11, 5),
        (13, 4),
        (13, 9),
        (15, 7),
        (21, 5),
        (31, 6),
        (31, 15),
        (40, 13),
        (57, 8),
        (73, 9),
        (91, 10),
    ],
)
def test_all_differences_are_met_equally_often(n, k):
    found = difference_set(n, k).tolist()
    assert len(set(found)) == k
    counts = Counter((a - b) % n for a in found for b in found if a != b)
    assert set(counts) == set(range(1, n))
    assert set(counts.values()) == {k * (k - 1) // (n - 1)}


@pytest.mark.parametrize(("n", "k"), [(8, 3), (16, 6), (43, 7), (5, 0), (5, 5), (12, 6)])
def test_where_no_construction_gives_one_there_is_none(n, k):
    assert difference_set(n, k) is None


def test_a_loss_that_singles_out_the_first_symbol_is_searched():
    """The translates of a difference set are no optimum then that their bound could prove."""
    purpose = ex.utilities.Quadratic(np.diag([5.0, 1, 1, 1, 1, 1, 1]))
    design = ex.design(ex.Prior.uniform(7), math.log(7 / 3), purpose)
    assert design.proven
    assert ex.check_design(design).ok
