"""Several releases: joint leakage by enumeration, by counts and by peers; what may be added and what may not."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.auditing.composition import repeated_epsilon
from tests.support import oracles
from tests.support.compositions import FOUR, PRIOR, by_sequences, compositions
from tests.support.strategies import pairs
from tests.support.wording import refused


@given(compositions())
def test_a_composition_is_what_going_through_all_pairs_gives(case):
    prior, one, other = case
    both = ex.composition.compose_releases(prior, one, other)
    sequences = by_sequences(prior, [one, other])
    assert both.epsilon == pytest.approx(max(l for l, _ in sequences.values()), abs=1e-11)
    assert both.distribution.mean == pytest.approx(sum(l * p for l, p in sequences.values()), abs=1e-11)
    assert sequences[both.worst][0] == pytest.approx(both.epsilon, abs=1e-11)
    assert both.epsilons == (ex.epsilon_pml(prior, one), ex.epsilon_pml(prior, other))


@given(pairs(max_size=3, max_outputs=4), st.integers(1, 4))
def test_repeated_releases_through_counts_are_what_all_sequences_give(pair, n):
    prior, mechanism = pair
    repeated = ex.composition.repeat_release(prior, mechanism, n)
    sequences = by_sequences(prior, [mechanism] * n)
    assert repeated.epsilon == pytest.approx(max(l for l, _ in sequences.values()), abs=1e-10)
    assert repeated.distribution.mean == pytest.approx(sum(l * p for l, p in sequences.values()), abs=1e-10)
    assert oracles.log_mean_exp(repeated.distribution) == pytest.approx(
        math.log(sum(math.exp(l) * p for l, p in sequences.values())), abs=1e-10
    )
    assert len(repeated.worst) == n
    assert sequences[repeated.worst][0] == pytest.approx(repeated.epsilon, abs=1e-10)


def test_a_thousand_releases_are_counted_not_enumerated():
    mechanism = ex.theory.randomized_response_for_pml(PRIOR, 0.01)
    thousand = ex.composition.repeat_release(PRIOR, mechanism, 1000)
    assert 0.5 < thousand.epsilon <= PRIOR.epsilon_max
    assert math.fsum(thousand.distribution.probabilities) == pytest.approx(1)
    # By the law of total probability the mean of e^l is at most e^(worst l).
    assert oracles.log_mean_exp(thousand.distribution) <= thousand.epsilon + 1e-12


@given(pairs(max_size=4, max_outputs=4), st.integers(1, 3))
def test_repeated_maximal_leakage_agrees_with_qif(pair, n):
    qif = pytest.importorskip("qif")
    prior, mechanism = pair
    C = np.array(mechanism.matrix, order="F")
    joint = C
    for _ in range(n - 1):
        joint = qif.channel.compose.parallel(joint, C)
    theirs = math.log(qif.measure.bayes_vuln.mult_capacity(np.asfortranarray(joint)))
    assert oracles.log_mean_exp(
        ex.composition.repeat_release(prior, mechanism, n).distribution
    ) == pytest.approx(theirs, abs=1e-9)
    assert ex.measures.maximal_leakage(ex.composition.joint_release(*[mechanism] * n)) == pytest.approx(
        theirs, abs=1e-9
    )


def test_a_composition_of_two_agrees_with_dit():
    dit = pytest.importorskip("dit")
    one, other = (
        ex.theory.randomized_response_for_pml(PRIOR, 0.3),
        ex.Mechanism([[1, 0], [0.5, 0.5], [0, 1]], PRIOR.labels),
    )
    outcomes, masses = [], []
    for i, j, k in itertools.product(range(3), range(3), range(2)):
        p = PRIOR.probabilities[i] * one.matrix[i, j] * other.matrix[i, k]
        if p > 0:
            outcomes.append((i, j, k))
            masses.append(p)
    theirs = dit.other.maximal_leakage(dit.Distribution(outcomes, masses), [0], [1, 2]) * math.log(2)
    both = ex.composition.compose_releases(PRIOR, one, other)
    assert oracles.log_mean_exp(both.distribution) == pytest.approx(theirs, abs=1e-9)


# What may be added, and what may not


def test_leakages_of_two_releases_must_not_be_added():
    """Uniform on four: "in {1, 2, 3}" and "in {3, 4}" leak log 4/3 and log 2 apart, log 4 together."""
    coin = 0.5
    first = ex.Mechanism([[coin, 1 - coin], [coin, 1 - coin], [coin, 1 - coin], [0, 1]], FOUR.labels)
    second = ex.Mechanism([[0, 1], [0, 1], [coin, 1 - coin], [coin, 1 - coin]], FOUR.labels)
    assert ex.pml(FOUR, first)[0] == pytest.approx(math.log(4 / 3))
    assert ex.pml(FOUR, second)[0] == pytest.approx(math.log(2))
    joint = ex.composition.joint_release(first, second)
    together = ex.pml(FOUR, joint)[joint.outputs.index((0, 0))]
    assert together == pytest.approx(math.log(4))
    assert together > math.log(4 / 3) + math.log(2) + 0.4


def test_releasing_twice_through_one_mechanism_can_leak_more_than_twice_as_much():
    mechanism = ex.theory.closed_form.uniform(FOUR, math.log(4 / 3))
    twice = ex.composition.repeat_release(FOUR, mechanism, 2)
    assert twice.epsilon == pytest.approx(math.log(2))
    assert twice.epsilon > 2 * math.log(4 / 3) + 0.1
    assert twice.added == pytest.approx(2 * math.log(4 / 3))
    assert not twice.added_is_bound
    assert "must not be added" in str(twice)
    assert "2 releases leak at most 0.693147" in str(twice)


def test_where_the_sum_is_a_bound_nothing_is_said_against_it():
    twice = ex.composition.repeat_release(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.2), 2)
    assert twice.added_is_bound
    assert twice.added == pytest.approx(0.4)
    assert str(twice).endswith("add up to 0.4")


@given(compositions())
def test_the_second_leakage_may_be_added_under_the_posterior_of_the_first(case):
    """l(X→y1, y2) <= l(X→y1) + l'(X→y2), l' under the posterior after y1."""
    prior, one, other = case
    joint = ex.composition.joint_release(one, other)
    leakage = dict(zip(joint.outputs, ex.pml(prior, joint).tolist(), strict=True))
    first = ex.pml(prior, one)
    for j, y in enumerate(one.outputs):
        if one.matrix[:, j].max() == 0:
            continue
        try:
            after = ex.composition.posterior(prior, one, y)
        except ex.errors.PriorError:
            continue  # X is known, or all but known: nothing to add
        second = ex.pml(after, ex.theory.restrict(other, after.labels))
        for k, z in enumerate(other.outputs):
            assert leakage[y, z] <= first[j] + second[k] + 1e-10


@given(pairs(max_size=4, max_outputs=4))
def test_the_same_report_twice_leaks_at_most_twice_as_much(pair):
    prior, mechanism = pair
    joint = ex.composition.joint_release(mechanism, mechanism)
    leakage = dict(zip(joint.outputs, ex.pml(prior, joint).tolist(), strict=True))
    for y, single in zip(mechanism.outputs, ex.pml(prior, mechanism).tolist(), strict=True):
        assert leakage[y, y] <= 2 * single + 1e-11


@given(compositions())
def test_one_leakage_plus_local_differential_privacy_of_the_others_is_a_bound(case):
    prior, one, other = case
    both = ex.composition.compose_releases(prior, one, other)
    assert both.epsilon <= both.without_evaluation + 1e-11
    assert both.without_evaluation <= prior.epsilon_max + 1e-12
    assert ex.composition.added_with_ldp(prior, one, other) == both.without_evaluation
    soft = [ex.Mechanism((m.matrix + 1 / m.shape[1]) / 2) for m in (one, other)]
    exact = ex.composition.compose_releases(prior, *soft)
    assert (
        exact.epsilon
        <= min(
            ex.epsilon_pml(prior, soft[0]) + ex.measures.ldp_epsilon(soft[1]),
            ex.epsilon_pml(prior, soft[1]) + ex.measures.ldp_epsilon(soft[0]),
        )
        + 1e-11
    )


@given(compositions())
def test_maximal_leakages_may_be_added(case):
    _, one, other = case
    both = ex.composition.joint_release(one, other)
    assert (
        ex.measures.maximal_leakage(both)
        <= ex.measures.maximal_leakage(one) + ex.measures.maximal_leakage(other) + 1e-11
    )


@given(pairs(max_size=3, max_outputs=3), st.integers(1, 5))
def test_further_releases_never_lower_the_leakage(pair, n):
    prior, mechanism = pair
    assert repeated_epsilon(prior, mechanism, n) <= repeated_epsilon(prior, mechanism, n + 1) + 1e-10


def test_releases_by_certified_mechanisms_count_too():
    certified = ex.certify(PRIOR, ex.design(PRIOR, 0.3, ex.mutual_information).mechanism, 0.3)
    both = ex.composition.compose_releases(PRIOR, certified, certified)
    assert both.epsilon == pytest.approx(ex.composition.repeat_release(PRIOR, certified, 2).epsilon)


BAD = ex.Mechanism(np.eye(2))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ex.composition.joint_release(), ex.errors.MechanismError, "none"),
        (lambda: ex.composition.joint_release(np.eye(2)), ex.errors.MechanismError, "mechanism"),
        (lambda: ex.composition.compose_releases(PRIOR, BAD, BAD), ex.errors.MechanismError, "3 and 2"),
        (
            lambda: ex.composition.repeat_release(PRIOR, ex.Mechanism(np.eye(3)), 0),
            ex.errors.OptionError,
            "releases",
        ),
        (
            lambda: ex.composition.repeat_release(PRIOR, ex.Mechanism(np.eye(3)), 2.5),
            ex.errors.OptionError,
            "releases",
        ),
        (
            lambda: ex.composition.repeat_release(PRIOR, ex.Mechanism(np.eye(3)), True),
            ex.errors.OptionError,
            "releases",
        ),
        (
            lambda: ex.composition.repeat_release(
                PRIOR, ex.Mechanism(np.random.default_rng(0).dirichlet(np.ones(9), 3)), 60
            ),
            ex.errors.SizeError,
            "7392009768 tables of counts",
        ),
        (
            lambda: ex.composition.posterior(PRIOR, ex.Mechanism(np.eye(3)), 7),
            ex.errors.MechanismError,
            "outcome",
        ),
        (
            lambda: ex.composition.posterior(PRIOR, ex.Mechanism(np.eye(3)), 0),
            ex.errors.PriorError,
            "only 'never' after the reports",
        ),
        (
            lambda: ex.composition.Transcript.start(PRIOR).observe(ex.Mechanism([[0, 1]] * 3), 0),
            ex.errors.MechanismError,
            "probability 0",
        ),
        (
            lambda: ex.composition.Transcript.start(PRIOR).observe(
                ex.Mechanism(np.eye(2), ["never", "once"]), 0
            ),
            ex.errors.MechanismError,
            "none for ['often']",
        ),
        (
            lambda: ex.composition.adaptive(ex.Mechanism(np.eye(3)), {0: BAD}),
            ex.errors.MechanismError,
            "none for 1",
        ),
        (lambda: ex.composition.releases_within(PRIOR, BAD, 1), ex.errors.MechanismError, "3 and 2"),
        (
            lambda: ex.composition.releases_within(PRIOR, ex.Mechanism(np.eye(3)), -1),
            ex.errors.EpsilonError,
            "epsilon",
        ),
        (
            lambda: ex.composition.epsilon_per_release(PRIOR, 2, 0.5, tolerance=2),
            ex.errors.OptionError,
            "tolerance",
        ),
        (
            lambda: ex.composition.epsilon_per_release(PRIOR, 2, 0.5, lambda p, e: ex.Mechanism(np.eye(3))),
            ex.errors.EpsilonError,
            "mechanism of which 2 release",
        ),
        (lambda: ex.theory.restrict(BAD, [0, 5]), ex.errors.MechanismError, "labels"),
        (lambda: ex.theory.postprocess(BAD, {0: "a"}), ex.errors.MechanismError, "KeyError for 1"),
        (
            lambda: ex.theory.preprocess(PRIOR, lambda x: x == "never", ex.Mechanism(np.eye(3))),
            ex.errors.MechanismError,
            "3 inputs",
        ),
    ],
)
def test_bad_input_is_refused_in_words(call, kind, words):
    with refused(kind, words):
        call()


def test_too_many_combinations_of_reports_are_refused_at_once():
    prior = ex.Prior([0.5, 0.3, 0.2])
    response = ex.theory.randomized_response_for_pml(prior, 0.6)
    for releases in (14, 30, 1000):
        with pytest.raises(ex.errors.SizeError, match=r"repeat_release|merge rare"):
            ex.composition.compose_releases(prior, *[response] * releases)
    with pytest.raises(ex.errors.SizeError, match="leakage_limit"):
        ex.composition.repeat_release(prior, ex.Mechanism(np.ones((3, 1))), 10**9)


def test_a_bound_on_no_releases_is_refused():
    with refused(ex.errors.MechanismError):
        ex.composition.added_with_ldp(ex.Prior([0.5, 0.5]))


def test_a_certified_mechanism_is_not_taken_for_its_matrix_in_postprocessing():
    prior = ex.Prior([0.5, 0.3, 0.2])
    certified = ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.6), 0.6)
    for step in ({0: "a", 1: "b", 2: "a"}, ex.Mechanism(np.eye(3))):
        with refused(ex.errors.MechanismError, "mechanism"):
            ex.theory.postprocess(certified, step)


def test_reports_that_are_too_rare_together_for_doubles_still_count():
    prior = ex.Prior([0.5, 0.5])
    mechanism = ex.Mechanism([[1, 2e-200], [1, 1e-200]])
    found = ex.composition.compose_releases(prior, mechanism, mechanism)
    assert found.epsilon == pytest.approx(math.log(4 / 2.5), rel=1e-12)
    assert found.epsilon == pytest.approx(
        ex.composition.repeat_release(prior, mechanism, 2).epsilon, rel=1e-12
    )
    assert found.worst == (1, 1)
