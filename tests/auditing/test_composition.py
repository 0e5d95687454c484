"""Several releases: joint leakage by enumeration, by counts and by peers; what may be added and what may not."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extremal as ex
from extremal.auditing.composition import repeated_epsilon
from tests.support import oracles
from tests.support.strategies import mechanisms, pairs, priors

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
FOUR = ex.Prior.uniform([1, 2, 3, 4])


@st.composite
def compositions(draw):
    prior = draw(priors(max_size=4))
    return prior, draw(mechanisms(prior.size, max_outputs=4)), draw(mechanisms(prior.size, max_outputs=4))


def by_sequences(prior, mechanisms):
    """{sequence of columns: (leakage, probability)} by going through all of them, in plain Python."""
    found = {}
    for y in itertools.product(*(range(m.shape[1]) for m in mechanisms)):
        likelihood = [
            math.prod(m.matrix[i, j] for m, j in zip(mechanisms, y, strict=True)) for i in range(prior.size)
        ]
        marginal = sum(p * q for p, q in zip(prior.probabilities.tolist(), likelihood, strict=True))
        if marginal > 0:
            found[y] = (max(math.log(max(likelihood) / marginal), 0), marginal)
    return found


# Joint releases


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


# Adaptive releases


@given(compositions())
def test_the_posterior_is_bayes_rule(case):
    prior, mechanism, _ = case
    for j, y in enumerate(mechanism.outputs):
        weights = prior.probabilities * mechanism.matrix[:, j]
        alive = np.flatnonzero(weights)
        if len(alive) < 2:
            with pytest.raises((ex.errors.PriorError, ex.errors.MechanismError)):
                ex.composition.posterior(prior, mechanism, y)
            continue
        after = ex.composition.posterior(prior, mechanism, y)
        assert after.labels == tuple(alive.tolist())
        np.testing.assert_allclose(after.probabilities, weights[alive] / weights.sum(), rtol=1e-12)


@given(compositions())
def test_an_adaptive_release_with_one_choice_is_the_joint_release(case):
    prior, one, other = case
    chosen = ex.composition.adaptive(one, lambda y: other)
    assert ex.epsilon_pml(prior, chosen) == pytest.approx(
        ex.composition.compose_releases(prior, one, other).epsilon, abs=1e-11
    )


def test_a_second_mechanism_designed_for_the_posterior_adds_at_most_its_own_level():
    first = ex.Mechanism([[0.9, 0.1], [0.5, 0.5], [0, 1]], PRIOR.labels, ["low", "high"])
    following = {
        y: ex.design(ex.composition.posterior(PRIOR, first, y), 0.3, ex.mutual_information).mechanism
        for y in first.outputs
    }
    assert following["low"].inputs == ("never", "once")
    both = ex.composition.adaptive(first, following)
    leakage = dict(zip(both.outputs, ex.pml(PRIOR, both).tolist(), strict=True))
    single = dict(zip(first.outputs, ex.pml(PRIOR, first).tolist(), strict=True))
    assert len(leakage) == sum(m.shape[1] for m in following.values())
    for (y, _), total in leakage.items():
        assert total <= single[y] + 0.3 + 1e-9


@given(compositions())
def test_a_transcript_keeps_the_exact_leakage_of_what_was_seen(case):
    prior, one, other = case
    joint = ex.composition.joint_release(one, other)
    for (y, z), leakage, p in zip(
        joint.outputs, ex.pml(prior, joint).tolist(), joint.output_distribution(prior).tolist(), strict=True
    ):
        if p > 1e-12:
            seen = ex.composition.Transcript.start(prior).observe(one, y).observe(other, z)
            assert seen.leakage == pytest.approx(leakage, abs=1e-9)
            assert seen.outcomes == (y, z)


@given(compositions())
def test_what_a_transcript_admits_is_decided_by_its_worst_continuation(case):
    prior, one, other = case
    joint = ex.composition.joint_release(one, other)
    leakage = dict(zip(joint.outputs, ex.pml(prior, joint).tolist(), strict=True))
    possible = joint.output_distribution(prior) > 0
    for j, y in enumerate(one.outputs):
        if one.matrix[:, j].max() > 0:
            seen = ex.composition.Transcript.start(prior).observe(one, y)
            worst = max(
                leakage[y, z] for k, z in enumerate(other.outputs) if possible[joint.outputs.index((y, z))]
            )
            assert seen.worst_after(other) == pytest.approx(worst, abs=1e-9)
            assert seen.admits(other, worst + 1e-6)
            if worst > 1e-5:
                assert not seen.admits(other, worst - 1e-6)


def exact_posterior(prior, series):
    """The posterior after (mechanism, output) pairs, in fractions of the very doubles that were given."""
    weights = [Fraction(p) for p in prior.probabilities.tolist()]
    for mechanism, y in series:
        column = mechanism.matrix[:, mechanism.outputs.index(y)].tolist()
        weights = [w * Fraction(p) for w, p in zip(weights, column, strict=True)]
    return [w / sum(weights) for w in weights]


def exact_leakage(prior, series):
    after = exact_posterior(prior, series)
    ratio = max(q / Fraction(p) for q, p in zip(after, prior.probabilities.tolist(), strict=True))
    return math.log(ratio.numerator) - math.log(ratio.denominator)  # integers of any length


def test_a_transcript_forgets_nothing_however_unlikely_it_has_become():
    """What 160 reports made less likely than any double, 170 others make certain."""
    prior = ex.Prior({"a": 0.6, "b": 0.3, "c": 0.1})
    response = ex.Mechanism(ex.theory.randomized_response(prior, 5.0).matrix, prior.labels, prior.labels)
    seen, series = ex.composition.Transcript.start(prior), []
    for y in ["a"] * 160 + ["c"] * 170:
        seen, series = seen.observe(response, y), [*series, (response, y)]
    truth = exact_leakage(prior, series)
    assert truth == pytest.approx(math.log(10))
    assert seen.leakage == pytest.approx(truth, abs=1e-11)
    worst = max(exact_leakage(prior, [*series, (response, y)]) for y in prior.labels)
    assert seen.worst_after(response) == pytest.approx(worst, abs=1e-11)


@pytest.mark.parametrize("reports", [700, 3000])
def test_the_posterior_after_thousands_of_honest_reports_is_a_prior_for_the_next(reports):
    prior = ex.Prior({"a": 0.6, "b": 0.3, "c": 0.1})
    response = ex.Mechanism(ex.theory.randomized_response(prior, 1.0).matrix, prior.labels, prior.labels)
    drawn = np.random.default_rng(1).choice(3, reports, p=response.matrix[1])
    series = [(response, prior.labels[j]) for j in drawn.tolist()]
    seen = ex.composition.Transcript.start(prior)
    for mechanism, y in series:
        seen = seen.observe(mechanism, y)
    exact = exact_posterior(prior, series)
    np.testing.assert_allclose(seen.knowledge, [float(q) for q in exact], rtol=1e-9)
    after = seen.posterior
    assert after.labels == prior.labels  # nothing was ruled out
    np.testing.assert_allclose(after.probabilities, [max(float(q), 2e-150) for q in exact], rtol=1e-9)
    following = ex.design(after, 0.3, ex.mutual_information).mechanism
    total = max(exact_leakage(prior, [*series, (following, y)]) for y in following.outputs)
    assert seen.worst_after(following) == pytest.approx(total, abs=1e-11)


@settings(max_examples=60)
@given(compositions(), st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, 300)), max_size=4))
def test_a_long_transcript_is_exact(case, runs):
    prior, one, other = case
    seen, series = ex.composition.Transcript.start(prior), []
    for first, j, times in runs:
        mechanism = one if first else other
        y = mechanism.outputs[j % mechanism.shape[1]]
        alive = seen.knowledge > 0
        if not (mechanism.matrix[alive, j % mechanism.shape[1]] > 0).any():
            continue
        for _ in range(times):
            seen = seen.observe(mechanism, y)
        series += [(mechanism, y)] * times
    assert seen.leakage == pytest.approx(exact_leakage(prior, series), abs=1e-10)


# Budgets


@given(pairs(max_size=3, max_outputs=3), st.floats(0, 2))
def test_the_number_of_releases_is_the_largest_that_fits(pair, epsilon):
    prior, mechanism = pair
    try:
        n = ex.composition.releases_within(prior, mechanism, epsilon)
    except ex.errors.SizeError:
        return
    if n == math.inf:
        assert ex.composition.leakage_limit(prior, mechanism) <= epsilon + 1e-11
        assert repeated_epsilon(prior, mechanism, 30) <= epsilon + 1e-9
    elif n == 0:
        assert ex.epsilon_pml(prior, mechanism) > epsilon
    else:
        assert repeated_epsilon(prior, mechanism, n) <= epsilon + 1e-11
        assert repeated_epsilon(prior, mechanism, n + 1) > epsilon


def test_the_number_of_releases_of_randomized_response_by_trying_them_one_by_one():
    mechanism = ex.theory.randomized_response_for_pml(PRIOR, 0.1)
    for budget in (0.05, 0.1, 0.35, 1.0, 1.5):
        tried = next(
            n for n in itertools.count() if repeated_epsilon(PRIOR, mechanism, n + 1) > budget + 1e-12
        )
        assert ex.composition.releases_within(PRIOR, mechanism, budget) == tried
    assert ex.composition.releases_within(PRIOR, mechanism, PRIOR.epsilon_max) == math.inf
    assert ex.composition.releases_within(PRIOR, ex.Mechanism(np.ones((3, 1))), 0) == math.inf


@pytest.mark.parametrize("t", [1e-9, 1e-13, 1e-40, 1e-140])
def test_rows_that_differ_in_rare_reports_only_are_told_apart(t):
    """Leakage is pointwise: however rare the second and third report, together they name the input."""
    prior = ex.Prior.uniform(3)
    mechanism = ex.Mechanism([[1 - t, t, 0], [1 - 2 * t, t, t], [1 - t, 0, t]])
    assert ex.epsilon_pml(prior, mechanism) == pytest.approx(math.log(3 / 2))
    assert exact_leakage(prior, [(mechanism, 1), (mechanism, 2)]) == pytest.approx(math.log(3))
    assert ex.composition.leakage_limit(prior, mechanism) == pytest.approx(math.log(3))
    assert ex.composition.releases_within(prior, mechanism, 0.5) == 1
    assert ex.composition.releases_within(prior, mechanism, 0.4) == 0


@given(mechanisms(4, max_outputs=3), st.lists(st.integers(0, 3), min_size=2, max_size=9), st.randoms())
def test_the_limit_is_found_through_rows_repeated_in_any_order(mechanism, chosen, random):
    """Rows that went through another scale, and back by division, are still the same; others are not."""
    P = mechanism.matrix[chosen]
    scaled = np.array([row * random.uniform(0.1, 10) for row in P])
    noisy = ex.Mechanism(scaled / scaled.sum(axis=1, keepdims=True))
    prior = ex.Prior.from_counts([random.randint(1, 9) for _ in chosen])
    mass = {}
    for row, p in zip(P.tolist(), prior.probabilities.tolist(), strict=True):
        mass[tuple(row)] = mass.get(tuple(row), 0) + p
    assert ex.composition.leakage_limit(prior, noisy) == pytest.approx(
        -math.log(min(mass.values())), abs=1e-12
    )


def test_outputs_that_are_proportional_but_for_one_part_in_1e12_are_not_merged():
    """In a million reports the difference adds up to more than rounding."""
    d = 4e-13
    mechanism = ex.Mechanism([[0.5, 0.5], [0.5 * (1 + d), 0.5 * (1 - d)]])
    n = 1_000_000
    up = Fraction(mechanism.matrix[1, 0]) / Fraction(mechanism.matrix[0, 0])
    exact = -math.log((1 + math.exp(-n * math.log1p(float(up - 1)))) / 2)
    assert exact > 1e-7
    assert repeated_epsilon(ex.Prior.uniform(2), mechanism, n) == pytest.approx(exact, abs=3e-9)


def test_what_is_disclosed_once_may_be_disclosed_any_number_of_times():
    """A mechanism without randomness tells nothing new the second time."""
    fixed = ex.Mechanism([[1, 0], [0, 1], [0, 1]], PRIOR.labels)
    assert ex.composition.leakage_limit(PRIOR, fixed) == pytest.approx(math.log(2))
    assert ex.composition.releases_within(PRIOR, fixed, math.log(2)) == math.inf
    assert ex.composition.repeat_release(PRIOR, fixed, 50).epsilon == pytest.approx(math.log(2))


@pytest.mark.parametrize("family", [None, ex.theory.randomized_response_for_pml])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_level_for_each_of_n_releases_keeps_the_budget_and_uses_it(family, n):
    plan = ex.composition.epsilon_per_release(PRIOR, n, 0.8, family)
    assert plan.total <= 0.8 + 1e-12
    assert plan.total == pytest.approx(ex.composition.repeat_release(PRIOR, plan.mechanism, n).epsilon)
    assert plan.total > 0.79
    assert plan.epsilon == pytest.approx(ex.epsilon_pml(PRIOR, plan.mechanism))
    assert ex.composition.releases_within(PRIOR, plan.mechanism, 0.8) >= n
    if n == 1:
        assert plan.epsilon == pytest.approx(0.8, abs=1e-3)


def test_dividing_the_budget_can_break_it():
    """Two releases at half the budget each leak more than the budget."""
    mechanism = ex.theory.closed_form.uniform(FOUR, math.log(4 / 3))
    budget = 2 * math.log(4 / 3)
    assert repeated_epsilon(FOUR, mechanism, 2) > budget
    assert ex.composition.releases_within(FOUR, mechanism, budget) == 1
    plan = ex.composition.epsilon_per_release(FOUR, 2, budget)
    assert plan.total <= budget + 1e-12


# Before and after


@given(pairs(), st.data())
def test_post_processing_never_raises_the_leakage(pair, data):
    """l(X→z) <= max of l(X→y) over the y that z is made from."""
    prior, mechanism = pair
    step = data.draw(mechanisms(mechanism.shape[1]))
    after = ex.pml(prior, ex.theory.postprocess(mechanism, step))
    before = ex.pml(prior, mechanism)
    for k, leakage in enumerate(after):
        sources = before[step.matrix[:, k] > 0]
        assert leakage <= (sources.max() if len(sources) else 0) + 1e-11


@given(pairs(), st.data())
def test_merging_reports_never_raises_the_leakage(pair, data):
    prior, mechanism = pair
    merged = data.draw(st.lists(st.integers(0, 2), min_size=mechanism.shape[1], max_size=mechanism.shape[1]))
    after = ex.theory.postprocess(mechanism, dict(enumerate(merged)))
    assert after.outputs == tuple(dict.fromkeys(merged))
    assert ex.epsilon_pml(prior, after) <= ex.epsilon_pml(prior, mechanism) + 1e-11


@given(priors(max_size=5), st.data())
def test_pre_processing_leaks_no_more_about_x_than_about_what_is_made_of_it(prior, data):
    channel = data.draw(mechanisms(prior.size, min_outputs=2, max_outputs=4))
    mechanism = data.draw(mechanisms(channel.shape[1], max_outputs=4))
    if np.count_nonzero(channel.matrix.max(axis=0)) < 2:
        return
    made, whole = ex.theory.preprocess(prior, channel, mechanism)
    about_x = ex.pml(prior, whole)
    about_z = ex.pml(made, ex.theory.restrict(mechanism, made.labels))
    assert np.all(about_x <= about_z + 1e-11)


def test_a_coarser_answer_is_designed_for_and_keeps_its_level():
    def coarse(x):
        return "ever" if x != "never" else "never"

    made = ex.theory.induced_prior(PRIOR, coarse)
    assert dict(zip(made.labels, made.probabilities.tolist(), strict=True)) == {"never": 0.5, "ever": 0.5}
    mechanism = ex.design(made, 0.4, ex.mutual_information).mechanism
    same, whole = ex.theory.preprocess(PRIOR, coarse, mechanism)
    assert same == made
    assert whole.inputs == PRIOR.labels
    assert ex.epsilon_pml(PRIOR, whole) <= 0.4 + 1e-12
    # The order in which values happen to appear does not matter.
    swapped = ex.Prior({"ever": 0.5, "never": 0.5})
    _, other = ex.theory.preprocess(PRIOR, coarse, ex.design(swapped, 0.4, ex.mutual_information).mechanism)
    np.testing.assert_allclose(other.matrix.sum(axis=1), 1)
    assert ex.epsilon_pml(PRIOR, other) <= 0.4 + 1e-12


def test_post_processing_by_function_merges_equal_values():
    mechanism = ex.theory.randomized_response(PRIOR, 1.0)
    merged = ex.theory.postprocess(mechanism, lambda y: y == "never")
    assert merged.outputs == (True, False)
    assert merged.inputs == PRIOR.labels


BAD = ex.Mechanism(np.eye(2))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ex.composition.joint_release(), ex.errors.MechanismError, "at least one mechanism"),
        (lambda: ex.composition.joint_release(np.eye(2)), ex.errors.MechanismError, "must be a Mechanism"),
        (lambda: ex.composition.compose_releases(PRIOR, BAD, BAD), ex.errors.MechanismError, "got 3 and 2"),
        (
            lambda: ex.composition.repeat_release(PRIOR, ex.Mechanism(np.eye(3)), 0),
            ex.errors.OptionError,
            "whole number >= 1",
        ),
        (
            lambda: ex.composition.repeat_release(PRIOR, ex.Mechanism(np.eye(3)), 2.5),
            ex.errors.OptionError,
            "whole number >= 1",
        ),
        (
            lambda: ex.composition.repeat_release(PRIOR, ex.Mechanism(np.eye(3)), True),
            ex.errors.OptionError,
            "whole number >= 1",
        ),
        (
            lambda: ex.composition.repeat_release(
                PRIOR, ex.Mechanism(np.random.default_rng(0).dirichlet(np.ones(9), 3)), 60
            ),
            ex.errors.SizeError,
            "merge outputs",
        ),
        (
            lambda: ex.composition.posterior(PRIOR, ex.Mechanism(np.eye(3)), 7),
            ex.errors.MechanismError,
            "output of the mechanism",
        ),
        (
            lambda: ex.composition.posterior(PRIOR, ex.Mechanism(np.eye(3)), 0),
            ex.errors.PriorError,
            "the secret is known",
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
            "still possible",
        ),
        (
            lambda: ex.composition.adaptive(ex.Mechanism(np.eye(3)), {0: BAD}),
            ex.errors.MechanismError,
            "still possible|for every outcome",
        ),
        (lambda: ex.composition.releases_within(PRIOR, BAD, 1), ex.errors.MechanismError, "got 3 and 2"),
        (
            lambda: ex.composition.releases_within(PRIOR, ex.Mechanism(np.eye(3)), -1),
            ex.errors.EpsilonError,
            ">= 0",
        ),
        (
            lambda: ex.composition.epsilon_per_release(PRIOR, 2, 0.5, tolerance=2),
            ex.errors.OptionError,
            "tolerance",
        ),
        (
            lambda: ex.composition.epsilon_per_release(PRIOR, 2, 0.5, lambda p, e: ex.Mechanism(np.eye(3))),
            ex.errors.EpsilonError,
            "leak nothing at level 0",
        ),
        (lambda: ex.theory.restrict(BAD, [0, 5]), ex.errors.MechanismError, "must be inputs"),
        (lambda: ex.theory.postprocess(BAD, {0: "a"}), ex.errors.MechanismError, "KeyError for 1"),
        (
            lambda: ex.theory.preprocess(PRIOR, lambda x: x == "never", ex.Mechanism(np.eye(3))),
            ex.errors.MechanismError,
            "3 inputs",
        ),
    ],
)
def test_bad_input_is_refused_in_words(call, kind, words):
    with pytest.raises(kind, match=words):
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
    with pytest.raises(ex.errors.MechanismError, match="at least one"):
        ex.composition.added_with_ldp(ex.Prior([0.5, 0.5]))


def test_a_certified_mechanism_is_not_taken_for_its_matrix_in_postprocessing():
    prior = ex.Prior([0.5, 0.3, 0.2])
    certified = ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.6), 0.6)
    for step in ({0: "a", 1: "b", 2: "a"}, ex.Mechanism(np.eye(3))):
        with pytest.raises(ex.errors.MechanismError, match="must be a Mechanism"):
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
