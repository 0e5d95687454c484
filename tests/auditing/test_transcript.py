"""Adaptive releases and transcripts: what was seen decides what may follow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from tests.support.compositions import PRIOR, compositions, exact_leakage, exact_posterior
from tests.support.examples import at_most


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


@pytest.mark.parametrize("reports", [700, pytest.param(3000, marks=pytest.mark.slow)])
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


@at_most(60)
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
