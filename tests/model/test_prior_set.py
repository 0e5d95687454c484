"""Sets of priors, and the worst case of the leakage over them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

import extremal as ex
from extremal.errors import OptionError
from extremal.model.evidence import l1_radius
from tests.support.prior_sets import random_members, some_sets
from tests.support.strategies import priors
from tests.support.wording import refused


def smallest_mean(priors, p):
    """min pi . p over a set, by linear programming: variables pi and a bound on |pi - center|."""
    n = priors.size
    eye = np.eye(n)
    result = linprog(
        np.concatenate((p, np.zeros(n))),
        A_ub=np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, n)), np.ones((1, n))]]),
        b_ub=np.concatenate((priors.center, -priors.center, [priors.radius])),
        A_eq=np.concatenate((np.ones(n), np.zeros(n)))[None],
        b_eq=[1.0],
        bounds=[*zip(priors.lower, priors.upper, strict=True), *[(0, None)] * n],
    )
    assert result.status == 0, result.message
    return result.fun


def random_mechanism(rng, n, m):
    P = rng.dirichlet(np.full(m, 0.5), size=n)
    return ex.Mechanism(P)


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_the_greedy_minimum_is_that_of_the_linear_program(n):
    rng = np.random.default_rng(n)
    for priors_ in some_sets(rng, n) + some_sets(rng, n):
        columns = rng.random((n, 8)) * (rng.random((n, 8)) < 0.7)
        columns[:, 0] = np.rint(4 * rng.random(n))  # ties
        found = priors_.smallest_means(columns)
        for p, h in zip(columns.T, found, strict=True):
            assert h == pytest.approx(smallest_mean(priors_, p), abs=1e-9)


@pytest.mark.parametrize("n", [2, 4, 9])
def test_the_worst_prior_belongs_to_the_set(n):
    rng = np.random.default_rng(n)
    for priors_ in some_sets(rng, n):
        worst = priors_.worst_priors(rng.random((n, 50)))
        assert worst.min() >= 0
        assert all(priors_.contains(w) for w in worst.T)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_no_prior_of_the_set_leaks_more_than_the_worst_case(n):
    rng = np.random.default_rng(n)
    for priors_ in some_sets(rng, n):
        mechanism = random_mechanism(rng, n, n + 1)
        bound = ex.pml(priors_, mechanism)
        members = random_members(priors_, rng, 200)
        assert all(priors_.contains(p) for p in members.T)
        leakage = np.log(mechanism.matrix.max(axis=0)[:, None] / (mechanism.matrix.T @ members))
        assert np.all(leakage <= bound[:, None] + 1e-12)
        worst = priors_.worst_priors(mechanism.matrix)
        attained = np.log(mechanism.matrix.max(axis=0) / (mechanism.matrix * worst).sum(axis=0))
        assert attained == pytest.approx(bound, abs=1e-12)


@given(prior=priors(), t=st.floats(0, 2))
def test_a_larger_set_never_leaks_less(prior, t):
    mechanism = ex.theory.randomized_response(prior, 1.5)
    small = ex.epsilon_pml(ex.PriorSet.l1_ball(prior, t / 2), mechanism)
    large = ex.epsilon_pml(ex.PriorSet.l1_ball(prior, t), mechanism)
    assert ex.epsilon_pml(prior, mechanism) - 1e-12 <= small <= large + 1e-12


@given(prior=priors())
def test_over_a_single_prior_the_worst_case_is_the_leakage(prior):
    mechanism = ex.theory.randomized_response(prior, 2.0)
    point = ex.PriorSet.l1_ball(prior, 0.0)
    assert point.is_point
    assert ex.pml(point, mechanism) == pytest.approx(ex.pml(prior, mechanism), abs=1e-13)


@given(prior=priors(), level=st.floats(0, 5))
def test_over_all_priors_the_worst_case_is_local_differential_privacy(prior, level):
    mechanism = ex.theory.randomized_response(prior, level)
    for everything in (ex.PriorSet.at_least(prior, 0), ex.PriorSet.l1_ball(prior, 2)):
        assert ex.epsilon_pml(everything, mechanism) == pytest.approx(
            ex.measures.ldp_epsilon(mechanism), abs=1e-9
        )


def test_an_output_that_a_prior_of_the_set_excludes_leaks_without_bound():
    mechanism = ex.Mechanism([[1, 0], [0, 1], [0, 1]])
    prior = ex.Prior([0.2, 0.3, 0.5])
    assert ex.pml(ex.PriorSet.l1_ball(prior, 0.4), mechanism)[0] == math.inf
    assert ex.pml(ex.PriorSet.l1_ball(prior, 0.2), mechanism) == pytest.approx(np.log([1 / 0.1, 1 / 0.7]))


def test_an_output_that_never_occurs_leaks_nothing():
    mechanism = ex.Mechanism([[1, 0], [1, 0]])
    assert ex.pml(ex.PriorSet.at_least(2, 0), mechanism) == pytest.approx([0, 0])


def test_masses_range_over_what_the_linear_program_allows():
    rng = np.random.default_rng(1)
    for priors_ in some_sets(rng, 4):
        low, high = priors_.mass_range
        for i, e in enumerate(np.eye(4)):
            assert low[i] == pytest.approx(smallest_mean(priors_, e), abs=1e-9)
            assert high[i] == pytest.approx(-smallest_mean(priors_, -e), abs=1e-9)


def test_merging_symbols_commutes_with_the_worst_case():
    rng = np.random.default_rng(2)
    block = np.array([0, 1, 0, 2, 1, 2, 2])
    for priors_ in some_sets(rng, 7):
        columns = rng.random((3, 20))
        whole = priors_.smallest_means(columns[block])
        assert priors_.merged(block).smallest_means(columns) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "size", "confidence"), [(2, 50, 0.9), (5, 200, 0.95), (40, 300, 0.5), (300, 900, 0.5)]
)
def test_the_ball_of_a_sample_holds_the_true_prior_as_often_as_it_says(n, size, confidence):
    rng = np.random.default_rng(n)
    radius = l1_radius(n, size, confidence)
    for p in (np.full(n, 1 / n), rng.dirichlet(np.ones(n))):
        away = np.abs(rng.multinomial(size, p, size=4000) / size - p).sum(axis=1)
        assert np.mean(away <= radius) >= confidence


def coverage(kind, p, size, confidence, draws, rng):
    """How often the set of a sample of this size holds the prior that it was drawn from."""
    counts, times = np.unique(rng.multinomial(size, p, size=draws), axis=0, return_counts=True)
    held = [ex.PriorSet.from_counts(n, confidence, kind=kind).contains(p) for n in counts]
    return float(np.dot(held, times)) / draws


@pytest.mark.parametrize("kind", ["both", "intervals", "l1"])
def test_the_set_of_a_sample_holds_the_true_prior_as_often_as_it_says(kind):
    rng = np.random.default_rng(1)
    assert coverage(kind, np.array([0.6, 0.3, 0.1]), 20, 0.8, 4000, rng) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["both", "intervals", "l1"])
def test_the_sets_of_many_samples_hold_the_true_prior_as_often_as_they_say(kind):
    rng = np.random.default_rng(2)
    for n, size in ((2, 30), (3, 10), (4, 40), (7, 944), (20, 100), (60, 300)):
        for p in (np.full(n, 1 / n), 1 / np.arange(1, n + 1), rng.dirichlet(np.full(n, 0.3)) + 1e-9):
            for confidence in (0.8, 0.95):
                assert coverage(kind, p / p.sum(), size, confidence, 3000, rng) >= confidence


def test_intervals_are_those_of_the_binomial_distribution():
    """The bounds are where the count is just in the tail of the binomial distribution."""
    found = ex.PriorSet.from_counts([7, 30, 13, 0], 0.9, kind="intervals")
    tail = 0.1 / 8
    for k, low, high in zip((7, 30, 13, 0), found.lower, found.upper, strict=True):
        assert binom.cdf(k, 50, high) == pytest.approx(tail, rel=1e-6)
        assert low == 0 if k == 0 else binom.sf(k - 1, 50, low) == pytest.approx(tail, rel=1e-6)
    assert found.radius == 2


def test_both_kinds_together_each_get_half_of_what_may_fail():
    both = ex.PriorSet.from_counts([7, 30, 13], 0.9)
    assert both.radius == ex.PriorSet.from_counts([7, 30, 13], 0.95, kind="l1").radius
    assert np.array_equal(both.lower, ex.PriorSet.from_counts([7, 30, 13], 0.95, kind="intervals").lower)
    assert both.confidence == 0.9
    with refused(OptionError, "kind"):
        ex.PriorSet.from_counts([7, 30, 13], kind="ball")


def test_the_radius_is_the_smaller_of_both_bounds():
    assert l1_radius(2, 100, 0.95) == pytest.approx(math.sqrt(2 * math.log(2 / 0.05) / 100))
    many = math.sqrt(999 / 1e5) + math.sqrt(2 * math.log(20) / 1e5)
    assert l1_radius(1000, 1e5, 0.95) == pytest.approx(many)
    assert l1_radius(5000, 1e5, 0.95) < math.sqrt(2 * (5000 * math.log(2) + math.log(20)) / 1e5)
    assert l1_radius(50, 1, 0.95) == 2


def test_a_label_that_was_never_seen_stays_possible():
    found = ex.PriorSet.from_counts({"a": 30, "b": 0, "c": 10}, confidence=0.9)
    assert found.labels == ("a", "b", "c")
    assert found.center == pytest.approx([0.75, 0, 0.25])
    assert found.nominal.probabilities.min() > 0
    assert found.contains(found.nominal)
    assert found.delta == pytest.approx(0.1)
    assert ex.PriorSet.from_counts([3, 1]).nominal == ex.Prior([0.75, 0.25])


def test_the_nominal_prior_lies_in_the_set_however_rare_labels_are():
    for total in (1, 10, 1000):
        found = ex.PriorSet.from_counts([total, *[0] * 99], confidence=0.05)
        assert found.contains(found.nominal)


def test_a_prior_misses_its_set_by_at_most_what_rounding_may_exactly():
    """In fractions, for numbers at both sides of the limit and next to it."""
    rng = np.random.default_rng(8)
    center = np.array([0.25, 0.25, 0.5])
    seen = set()
    for _ in range(2000):
        lower, upper = np.zeros(3), np.ones(3)
        p = center + rng.choice([0, 2.0**-40, -(2.0**-40), 2.0**-39, 1e-3], size=3)
        k, off = int(rng.integers(3)), rng.choice([0.5, 1, 1, 2]) * 2.0**-39
        if rng.random() < 0.5:
            lower[k] = min(np.nextafter(p[k] + off, rng.choice([0, p[k] + off, 1])), center[k])
        else:
            upper[k] = max(np.nextafter(p[k] - off, rng.choice([0, p[k] - off, 1])), center[k])
        radius = float(rng.choice([0.0, 2.0**-40, 2.0**-39, 1e-3, 2.0]))
        made = ex.PriorSet(ex.Prior(center), center, lower, upper, radius, 1.0)
        q, c, l, u = ([Fraction(x) for x in numbers.tolist()] for numbers in (p, center, lower, upper))
        missed = [abs(sum(q) - 1), sum(abs(x - y) for x, y in zip(q, c, strict=True)) - Fraction(radius)]
        missed += [x - y for x, y in zip([*l, *q], [*q, *u], strict=True)]
        assert made.contains(p) == (max(missed) <= Fraction(1, 2**39))
        seen.add(made.contains(p))
    assert seen == {True, False}


def test_sets_say_what_they_are():
    assert repr(ex.PriorSet.at_least(3, 0)) == "PriorSet(3 labels, all priors)"
    assert "0.95" in repr(ex.PriorSet.from_counts([10, 20]))
    assert "30 observations" in repr(ex.PriorSet.from_counts([10, 20]))
    assert len(ex.PriorSet.intervals({"a": 0.1, "b": 0.2}, {"b": 0.9, "a": 0.5})) == 2


def test_intervals_given_by_label_are_matched_by_label():
    found = ex.PriorSet.intervals({"a": 0.1, "b": 0.2}, {"b": 0.9, "a": 0.5})
    assert found.upper == pytest.approx([0.5, 0.9])
    assert found.contains(found.nominal)


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: ex.PriorSet.from_counts([0, 0]), "counts"),
        (lambda: ex.PriorSet.from_counts([3, -1]), "counts"),
        (lambda: ex.PriorSet.from_counts([0.5, 0.5]), None),
        (lambda: ex.PriorSet.l1_ball([0.5, 0.5], 0.1), "prior"),
        (lambda: ex.PriorSet.l1_ball(ex.Prior.uniform(3), -0.1), "radius"),
        (lambda: ex.PriorSet.l1_ball(ex.Prior.uniform(3), math.nan), "radius"),
        (lambda: ex.PriorSet.at_least(3, 0.4), "mass"),
        (lambda: ex.PriorSet.intervals([0.1, 0.2], [0.3, 0.1]), None),
        (lambda: ex.PriorSet.intervals([0.1, 0.2], [0.3, 0.4]), None),
        (lambda: ex.PriorSet.intervals([0.1], [0.3, 0.4]), "upper"),
        (lambda: ex.PriorSet.intervals([0.1, 0.2], {"a": 1, "b": 1}), None),
        (lambda: ex.PriorSet.intervals({"a": 0.1}, {"b": 1}), None),
        (
            lambda: ex.PriorSet.intervals([0.4, 0.2], [0.6, 0.6], nominal=ex.Prior([0.3, 0.7])),
            None,
        ),
        (
            lambda: ex.PriorSet(
                ex.Prior.uniform(3), np.ones(2), np.zeros(2), np.ones(2), 2.0, 1.0, "by hand"
            ),
            None,
        ),
        (
            lambda: ex.PriorSet(
                ex.Prior([0.9, 0.1]), [0.5, 0.5], [0.4, 0.4], [0.6, 0.6], 2.0, 1.0, "by hand"
            ),
            None,
        ),
    ],
)
def test_a_set_that_is_none_is_refused_with_a_remedy(build, parameter):
    with pytest.raises(ex.errors.PriorError) as caught:
        build()
    assert caught.value.parameter == parameter
    assert caught.value.remedy


@pytest.mark.parametrize("priors", [ex.PriorSet.from_counts([5, 3, 0]), ex.PriorSet.at_least(3, 0.1)])
def test_a_set_cannot_be_changed(priors):
    for bounds in (priors.center, priors.lower, priors.upper):
        with pytest.raises(ValueError, match="read-only"):
            bounds[0] = 0.5


def test_a_mechanism_for_other_symbols_is_refused():
    with refused(ex.errors.MechanismError, "3 and 2"):
        ex.pml(ex.PriorSet.at_least(3, 0), ex.Mechanism(np.eye(2)))


def test_intervals_and_a_nominal_prior_are_matched_by_label_or_refused():
    lower, upper = {"a": 0.7, "b": 0.1}, {"a": 0.9, "b": 0.3}
    with refused(ex.errors.PriorError, "['b', 'a']"):
        ex.PriorSet.intervals(lower, upper, nominal=ex.Prior({"b": 0.75, "a": 0.25}))
    with refused(ex.errors.PriorError, "['x', 'y']"):
        ex.PriorSet.intervals(
            [0.7, 0.1], [0.9, 0.3], labels=["a", "b"], nominal=ex.Prior({"x": 0.75, "y": 0.25})
        )
    for found in (
        ex.PriorSet.intervals(lower, upper, nominal=ex.Prior([0.75, 0.25])),
        ex.PriorSet.intervals([0.7, 0.1], [0.9, 0.3], nominal=ex.Prior({"a": 0.75, "b": 0.25})),
    ):
        assert found.labels == ("a", "b")
        assert found.contains(ex.Prior({"a": 0.8, "b": 0.2}))
