"""The smallest mean over a set of priors, in exact arithmetic: against grids, vertices and random members."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.certification import proof
from extremal.certification.proof import (
    Lift,
    column_runs,
    is_at_most,
    largest_lift,
    log_above,
    set_masses,
    smallest_sum,
)
from tests.support.examples import up_to

EIGHTH = 0.125


def runs_of(column):
    """The weights of one output, run by run."""
    (runs,) = column_runs(np.array(column, dtype=np.uint64)[:, None])
    return runs


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=9), st.integers(1, 9)
)
def test_runs_spell_the_columns(rows, block):
    weights = np.array(rows, dtype=np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof, "LARGEST_BLOCK", block)
        columns = list(column_runs(weights))
    assert [
        [w for w, start, stop in runs for _ in range(start, stop)] for runs in columns
    ] == weights.T.tolist()
    for runs in columns:
        assert all(a[0] != b[0] and a[2] == b[1] for a, b in itertools.pairwise(runs))


@st.composite
def grid_sets(draw):
    """Sets whose numbers are eighths, the radius a quarter: their vertices are eighths, too."""
    n = draw(st.integers(2, 4))
    cuts = sorted(draw(st.lists(st.integers(0, 8), min_size=n - 1, max_size=n - 1)))
    center = [b - a for a, b in itertools.pairwise([0, *cuts, 8])]
    lower = [draw(st.integers(0, c)) for c in center]
    upper = [draw(st.integers(c, 8)) for c in center]
    radius = 2 * draw(st.integers(0, 8))
    return center, lower, upper, radius


def members(center, lower, upper, radius):
    """All members in eighths, one by one."""
    for pi in itertools.product(*(range(a, b + 1) for a, b in zip(lower, upper, strict=True))):
        if sum(pi) == 8 and sum(abs(a - b) for a, b in zip(pi, center, strict=True)) <= radius:
            yield pi


@up_to(300)
@given(numbers=grid_sets(), data=st.data())
def test_the_smallest_mean_is_that_of_the_best_of_all_members(numbers, data):
    center, lower, upper, radius = numbers
    w = data.draw(st.lists(st.integers(0, 5), min_size=len(center), max_size=len(center)))
    masses = set_masses(*([x * EIGHTH for x in part] for part in (center, lower, upper)), radius * EIGHTH)
    expected = min(Fraction(sum(a * b for a, b in zip(pi, w, strict=True)), 8) for pi in members(*numbers))
    assert Fraction(smallest_sum(masses, runs_of(w)), masses.total) == expected


@given(seed=st.integers(0, 2**32), n=st.integers(2, 6))
def test_no_member_of_a_set_of_doubles_has_a_smaller_mean(seed, n):
    """Doubles that do not sum to 1 exactly: members are built in fractions, from the set as it is named."""
    rng = np.random.default_rng(seed)
    priors = ex.PriorSet.l1_ball(
        ex.Prior.from_counts(rng.dirichlet(np.ones(n)) + 1e-9), float(rng.uniform(0, 1))
    )
    center = [Fraction(x) for x in priors.center.tolist()]
    masses = set_masses(center_of(priors), priors.lower.tolist(), priors.upper.tolist(), priors.radius)
    w = rng.integers(0, 1000, n).tolist()
    least = Fraction(smallest_sum(masses, runs_of(w)), masses.total)
    order = np.argsort(w).tolist()
    lacking = 1 - sum(center)  # of the order of 1e-17: put wherever it is cheapest
    for first, last in ((order[0], order[-1]), (order[-1], order[0])):
        pi = list(center)
        pi[first] += lacking
        step = min((Fraction(priors.radius) - abs(lacking)) / 2, pi[last])
        if step < 0:
            continue
        pi[first] += step
        pi[last] -= step
        assert sum(pi) == 1
        assert least <= sum(a * b for a, b in zip(pi, w, strict=True))


def center_of(priors):
    return priors.center.tolist()


def test_a_report_that_some_prior_never_gives_leaks_without_bound():
    masses = set_masses([0.5, 0.5], [0.0, 0.0], [1.0, 1.0], 2.0)
    lift = largest_lift(masses, [runs_of([0, 3])])
    assert lift.denominator == 0
    assert log_above(lift) == math.inf
    assert not is_at_most(lift, 1e6)


@pytest.mark.parametrize("shift", [0, 10, 900, 1074])
def test_the_logarithm_of_a_lift_beyond_doubles_is_found(shift):
    lift = Lift(3 << shift, 2, 0)
    f = log_above(lift)
    assert f == pytest.approx(math.log(1.5) + shift * math.log(2), rel=1e-14)
    assert is_at_most(lift, f)
