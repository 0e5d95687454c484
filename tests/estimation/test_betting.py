"""Intervals that hold at every look, and through a change of mechanism."""

import functools
import math
import tracemalloc

import numpy as np
import pytest

import extremal as ex
from extremal.estimation.betting import StageReports, always_intervals, staged_intervals
from extremal.estimation.contrasts import Channel
from extremal.estimation.intervals import target_intervals


def channel(P, expected=None):
    P = np.asarray(P, dtype=float)
    return Channel(P, np.full(len(P), 1 / len(P)) if expected is None else np.asarray(expected))


def response(truth):
    return channel([[truth, 1 - truth], [1 - truth, truth]])


@pytest.mark.slow
def test_whoever_stops_at_the_first_look_that_misses_succeeds_no_more_often_than_said():
    """All paths of 40 reports; after 15 the mechanism becomes the one that would make a miss likelier."""
    error, before = 0.3, response(0.7)

    @functools.cache
    def interval(n, first, then):
        stages = [StageReports(before, np.array([first, min(n, 15) - first]))]
        if n > 15:
            after = response(0.6 if first >= 6 else 0.9)
            stages.append(StageReports(after, np.array([then, n - 15 - then])))
        return always_intervals(stages, np.eye(2), error, 40)

    for share in (0.5, 0.1, 0.0):
        missed = missing(share, before, interval)
        assert 0 < missed <= error or (share == 0.0 and missed <= error)


def missing(share, before, interval):
    """How likely one of 40 intervals misses this share."""
    alive = {(0, 0): 1.0}
    missed = 0.0
    for n in range(1, 41):
        following = {}
        for (first, then), chance in alive.items():
            now = before if n <= 15 else response(0.6 if first >= 6 else 0.9)
            q = float(np.array([share, 1 - share]) @ now.P[:, 0])
            for hit, p in ((1, q), (0, 1 - q)):
                seen = (first + hit, then) if n <= 15 else (first, then + hit)
                following[seen] = following.get(seen, 0.0) + chance * p
        alive = {}
        for (first, then), chance in following.items():
            bounds = interval(n, first, then)
            if np.all(bounds.lower <= [share, 1 - share]) and np.all(bounds.upper >= [share, 1 - share]):
                alive[first, then] = chance
            else:
                missed += chance
    assert math.isclose(missed + math.fsum(alive.values()), 1.0)
    return missed


@pytest.mark.slow
def test_they_cover_all_shares_at_all_of_50_looks_of_a_survey_that_changes_its_mechanism():
    rng = np.random.default_rng(2)
    pi = np.array([0.6, 0.25, 0.1, 0.05])
    one = ex.design(ex.PriorSet.at_least(4, 0), 0.7).mechanism.matrix
    two = ex.design(ex.PriorSet.l1_ball(ex.Prior(pi), 0.3), 0.7).mechanism.matrix
    missed = 0
    for _ in range(40):
        counts = [np.zeros(P.shape[1]) for P in (one, two)]
        for look in range(50):
            stage = int(look >= 15)
            P = (one, two)[stage]
            counts[stage] += rng.multinomial(40, pi @ P)
            stages = [StageReports(channel(one), counts[0]), StageReports(channel(two, pi), counts[1])][
                : stage + 1
            ]
            bounds = always_intervals(stages, np.eye(4), 0.1, 2000)
            if np.any(bounds.lower > pi) or np.any(bounds.upper < pi):
                missed += 1
                break
    assert missed <= 4


@functools.cache
def designed(size):
    """A prior of so many answers, and designs for all priors, for those near it and for it alone."""
    pi = 1 / np.arange(1, size + 1)
    prior = ex.Prior(pi / pi.sum())
    told = ex.PriorSet.at_least(size, 0), ex.PriorSet.l1_ball(prior, 0.1), prior
    return prior, *(ex.design(priors, 0.7).mechanism.matrix for priors in told)


@pytest.mark.parametrize("size", [3, 4, 7, 12])
@pytest.mark.parametrize("n", [200, 2000, 50_000])
def test_they_cost_at_most_a_fifth_more_than_intervals_for_one_look(size, n):
    """From three answers on, for the number of people that was planned; expected counts, so that no chance plays in.

    Where reports under one mechanism speak for an answer or against it, and nothing else, intervals for one look are
    those of a binomial, and bets cost more: up to 45 %.
    """
    prior, for_all, for_near, for_one = designed(size)

    def stage(P, part, expected):
        return StageReports(Channel(P, expected), np.rint(part * n * prior.probabilities @ P))

    first = stage(for_all, 0.2, np.full(size, 1 / size))
    later = stage(for_near, 0.8, prior.probabilities)
    known = stage(for_one, 1.0, prior.probabilities)
    alone = first._replace(counts=5 * first.counts)
    targets = np.eye(size)
    for stages, once, most in (
        ([first, later], staged_intervals([first, later], targets, 0.05), 1.15),
        ([known], target_intervals(*known, targets, 0.05), 1.2),
        ([alone], target_intervals(*alone, targets, 0.05), 1.45),
    ):
        looked = always_intervals(stages, targets, 0.05, n)
        assert np.mean((looked.upper - looked.lower) / (once.upper - once.lower)) <= most


def test_the_order_of_stages_whose_bets_are_alike_does_not_matter_nor_does_an_empty_stage():
    P = response(0.8)
    a, b = np.array([30, 50]), np.array([12, 9])
    together = always_intervals([StageReports(P, a + b)], np.eye(2), 0.05)
    for stages in ([a, b], [b, a], [a, [0, 0], b]):
        apart = always_intervals([StageReports(P, np.array(counts)) for counts in stages], np.eye(2), 0.05)
        assert np.allclose(apart.lower, together.lower, atol=1e-9)
        assert np.allclose(apart.upper, together.upper, atol=1e-9)


def test_a_stage_that_does_not_determine_a_share_says_nothing_about_it():
    """The first mechanism merges b and c: it speaks of a alone."""
    merging = channel([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]])
    bounds = always_intervals([StageReports(merging, np.array([500, 500]))], np.eye(3), 0.05)
    assert 0 < bounds.lower[0] < 0.5 < bounds.upper[0] < 1
    assert bounds.lower[1:].tolist() == [0, 0]
    assert bounds.upper[1:].tolist() == [1, 1]


def test_many_answers_take_the_memory_of_few():
    made = channel(np.full((400, 400), 0.001) + 0.6 * np.eye(400))
    reports = np.full(400, 50)
    tracemalloc.start()
    try:
        every = always_intervals([StageReports(made, reports)], np.eye(400), 0.05)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50e6  # a table of all of them alone has 35e6, and three are needed
    assert np.allclose(every.upper, every.upper[0])
    assert 1 / 400 < every.upper[0] < 0.02


def test_scores_far_from_zero_move_their_intervals_and_nothing_else():
    P = channel(np.full((3, 3), 0.2) + 0.4 * np.eye(3))
    looked = [StageReports(P, np.array([300, 200, 100]))]
    near = always_intervals(looked, np.array([[0.0, 1.0, 2.0]]), 0.05)
    far = always_intervals(looked, np.array([[1e9, 1e9 + 1, 1e9 + 2]]), 0.05)
    assert far.lower[0] - 1e9 == pytest.approx(near.lower[0], abs=1e-6)
    assert far.upper[0] - 1e9 == pytest.approx(near.upper[0], abs=1e-6)


def test_estimates_have_them_and_say_so():
    response = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    counts = {"no": 600, "yes": 400}
    always = ex.estimate(response, counts, intervals="always")
    made = Channel(response.matrix, np.array([0.5, 0.5]))
    expected = always_intervals([StageReports(made, np.array([600, 400]))], np.eye(2), 0.05)
    assert np.allclose(always.lower, expected.lower)
    assert np.allclose(always.upper, expected.upper)
    assert always.promise.kind == "always"
    assert always.promise.exact
    once = ex.estimate(response, counts, intervals="all")
    assert np.all(always.upper - always.lower > once.upper - once.lower)


def test_differences_hold_if_the_intervals_of_both_do():
    response = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    one, other = (
        ex.estimate(response, {"no": n, "yes": 1000 - n}, intervals="always", confidence=0.9)
        for n in (600, 450)
    )
    wider = [ex.estimate(response, e.counts, 0.95, intervals="always") for e in (one, other)]
    found = one.difference(other)
    assert np.allclose(found.lower, wider[0].lower - wider[1].upper)
    assert np.allclose(found.upper, wider[0].upper - wider[1].lower)


@pytest.mark.parametrize(
    "options", [{"by": ["a", "b"] * 500}, {"sample": ex.SampleDesign(weights=[1.0] * 1000)}]
)
def test_groups_and_weights_are_refused(options):
    response = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    with pytest.raises(ex.errors.OptionError) as refused:
        ex.estimate(response, ["no", "yes"] * 500, intervals="always", **options)
    assert refused.value.parameter == "intervals"


def test_plans_have_no_such_intervals():
    with pytest.raises(ex.errors.OptionError) as refused:
        ex.plan(ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.6), people=900, intervals="always")
    assert refused.value.parameter == "intervals"
