"""Ordinary intervals: coverage at corners over all outcomes, and none that its own standard error contradicts."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial, norm

import extremal as ex
from extremal.estimation.approximate import difference_intervals, ordinary_intervals, ratio_intervals
from extremal.estimation.contrasts import Channel
from extremal.estimation.intervals import Ends, lower_limit, upper_limit
from tests.support.examples import at_most
from tests.support.strategies import mechanisms, priors

SKEW = ex.Prior([0.9, 0.06, 0.04])
SCORES = np.array([0.0, 1.0, 2.0])


def of(mechanism, counts, prior=None, **how):
    prior = None if prior is None else ex.Prior(prior.probabilities, mechanism.inputs)
    return ex.estimate(
        mechanism,
        dict(zip(mechanism.outputs, np.asarray(counts).tolist(), strict=True)),
        method=ex.Method(how.pop("method", "maximum-likelihood"), prior),
        **how,
    )


def assert_sensible(table, low=0.0, high=1.0):
    """Every interval holds its estimate and is no narrower than its standard error, or is all that is possible."""
    inside = np.clip(table.estimates, low, high)
    rounding = 1e-9 * max(abs(low), abs(high), high - low)
    assert (table.lower >= low - rounding).all()
    assert (table.upper <= high + rounding).all()
    assert (table.lower <= inside + rounding).all()
    assert (inside <= table.upper + rounding).all()
    known = np.isfinite(table.standard_errors)
    least = np.minimum(table.standard_errors[known], high - low)
    assert ((table.upper - table.lower)[known] >= least - rounding).all()
    assert (table.standard_errors > 0).all()


# Coverage over all outcomes


def outcomes(n, outputs):
    if outputs == 1:
        return [(n,)]
    return [(k, *rest) for k in range(n + 1) for rest in outcomes(n - k, outputs - 1)]


CASES = {
    "randomized response, 2 answers": (
        ex.theory.randomized_response_for_pml(ex.Prior([0.9, 0.1]), 1.0),
        ex.Prior([0.9, 0.1]),
        (1, 3, 10, 25),
    ),
    "randomized response, 3 answers": (ex.theory.randomized_response_for_pml(SKEW, 1.0), SKEW, (3, 9)),
    "design, rare answers": (ex.design(SKEW, 1.0).mechanism, SKEW, (5,)),
    "design, little said": (ex.design(SKEW, 0.1).mechanism, SKEW, (4,)),
    "true answers": (ex.Mechanism(np.eye(3)), SKEW, (2, 9)),
}


@cache
def all_intervals(name, n):
    """Every outcome with the intervals of all shares and of the mean of scores."""
    mechanism, prior, _ = CASES[name]
    scores = SCORES[: len(mechanism.inputs)]
    counts, lower, upper = [], [], []
    for outcome in outcomes(n, mechanism.shape[1]):
        found = of(mechanism, outcome, prior)
        mean = found.mean(scores)
        assert_sensible(found.table)
        assert_sensible(mean, scores.min(), scores.max())
        counts.append(outcome)
        lower.append([*found.lower, mean.lower[0]])
        upper.append([*found.upper, mean.upper[0]])
    return np.array(counts), np.array(lower), np.array(upper)


def truths(corner, size, reach, steps):
    """Shares near a corner, the rest of it moved to others in steps."""
    others = [i for i in range(size) if i != corner]
    for moved in itertools.product(np.linspace(0, reach, steps), repeat=size - 1):
        theta = np.zeros(size)
        theta[others] = moved
        theta[corner] = 1 - sum(moved)
        if theta[corner] >= 0:
            yield theta


def coverages(name, n, thetas):
    """For each truth, and each figure, the probability that its interval covers it: no chance is left in it."""
    mechanism = CASES[name][0]
    counts, lower, upper = all_intervals(name, n)
    found = []
    for theta in thetas:
        q = theta @ mechanism.matrix
        real = np.array([*theta, theta @ SCORES[: len(theta)]])
        covers = (lower <= real + 1e-12) & (real <= upper + 1e-12)
        found.append(multinomial.pmf(counts, n, q / q.sum()) @ covers)
    return np.array(found)


@pytest.mark.parametrize(("name", "n"), [(name, n) for name, case in CASES.items() for n in case[2]])
def test_ordinary_intervals_cover_the_truth_at_corners_over_all_outcomes(name, n):
    size = len(CASES[name][0].inputs)
    for corner in range(size):
        for reach in (1 / n, min(1.0, 5 / n)):
            found = coverages(name, n, truths(corner, size, reach, 7))
            assert found.min() >= 0.88
            assert found.mean(axis=0).min() >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("randomized response, 2 answers", 60),
        ("randomized response, 2 answers", 400),
        ("randomized response, 3 answers", 40),
        ("design, rare answers", 15),
        ("design, little said", 15),
        ("true answers", 60),
    ],
)
def test_ordinary_intervals_cover_the_truth_at_corners_over_all_outcomes_of_more_reports(name, n):
    size = len(CASES[name][0].inputs)
    for corner in range(size):
        for center in truths(corner, size, min(1.0, 10 / n), 6):
            window = [t for t in truths(corner, size, 11 / n, 23) if np.abs(t - center).max() <= 1.001 / n]
            found = coverages(name, n, window)
            assert found.min() >= 0.88
            assert found.mean(axis=0).min() >= 0.93


# The tails of few reports


@pytest.mark.parametrize("n", [1, 4, 15, 200, 10**6])
def test_with_few_reports_of_two_kinds_the_intervals_are_those_of_clopper_and_pearson(n):
    one = np.eye(2)[:1]
    for hits in sorted({0, 1, 3, 8, n - 1, n} & set(range(n + 1))):
        theta = np.array([max(hits, 1.0), max(n - hits, 1.0)])
        shares = np.array([hits / n, 1 - hits / n])
        found = ordinary_intervals(
            np.eye(2), one, one, theta / theta.sum(), shares, np.array([float(n)]), 0.05
        )
        exact = float(lower_limit(hits, n, 0.025)), float(upper_limit(hits, n, 0.025))
        length = exact[1] - exact[0]
        assert (found.lower[0], found.upper[0]) == pytest.approx(exact, abs=0.015 * length)


def test_means_of_few_reports_are_as_rare_as_the_intervals_say():
    """At each end, the exact probability of so extreme a sum is about 2.5 %; somewhat less, as steps differ."""
    q, weights, n = np.array([0.93, 0.05, 0.02]), np.array([0, 1, 3]), 40
    whole = np.array([1.0])
    for _ in range(n):
        whole = np.convolve(whole, np.bincount(weights, weights=q))
    seen = int(np.searchsorted(whole.cumsum(), 0.5))
    target = weights / 3
    counts = np.array([n - seen, seen, 0]) if seen < n else np.array([0, n, 0])
    found = ordinary_intervals(
        np.eye(3), target[None], target[None], q, counts / n, np.array([float(n)]), 0.05
    )
    middle = float(q @ target)
    for end, side in ((found.lower[0], -1), (found.upper[0], 1)):
        pole = np.array([0.0, 0.0, 1.0]) if side > 0 else np.array([1.0, 0.0, 0.0])
        part = abs(end - middle) / (1 - middle if side > 0 else middle)
        at = (1 - part) * q + part * pole
        sums = np.array([1.0])
        for _ in range(n):
            sums = np.convolve(sums, np.bincount(weights, weights=at))
        tail = sums[: seen + 1].sum() if side > 0 else sums[seen:].sum()
        assert 0.008 < tail < 0.03


def test_with_many_reports_the_ends_are_where_the_score_test_turns():
    """The test for each value on a fine grid, the other shares moved as the module says."""
    counts, scores, z = np.array([900, 500, 200]), np.array([0.0, 1.0, 5.0]), norm.isf(0.025)
    found = of(ex.Mechanism(np.eye(3)), counts).mean(scores)
    n, p = counts.sum(), counts / counts.sum()
    mean = float(p @ scores)
    assert found.standard_errors[0] == pytest.approx(math.sqrt((p @ scores**2 - mean**2) / n))
    kept = []
    for value in np.linspace(mean - 0.3, mean + 0.3, 60_001):
        pole = 2 if value > mean else 0
        part = (value - mean) / (scores[pole] - mean)
        theta = (1 - part) * p + part * np.eye(3)[pole]
        variance = theta @ scores**2 - value**2
        if n * (mean - value) ** 2 <= z * z * variance:
            kept.append(value)
    assert (found.lower[0], found.upper[0]) == pytest.approx((kept[0], kept[-1]), abs=3e-5)
    assert found.upper[0] - found.lower[0] == pytest.approx(2 * z * found.standard_errors[0], rel=0.02)


def test_differences_and_ratios_of_many_reports_are_the_usual_ones():
    """Symmetric intervals: add like standard errors; a ratio has the error of its linearisation."""
    one, other = Ends(np.array([0.28]), np.array([0.32])), Ends(np.array([0.17]), np.array([0.23]))
    a, b = np.array([0.3]), np.array([0.2])
    found = difference_intervals(one, other, a, b)
    away = math.hypot(0.02, 0.03)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0.1 - away, 0.1 + away))
    part, whole = Ends(a - 0.002, a + 0.002), Ends(b + 0.3 - 0.003, b + 0.3 + 0.003)
    ratio = ratio_intervals(part, whole, a, b + 0.3, np.array([0.5]))
    r = 0.6
    away = math.sqrt(0.002**2 + (r * 0.003) ** 2 - 2 * 0.5 * r * 0.002 * 0.003) / 0.5
    assert (ratio.lower[0], ratio.upper[0]) == pytest.approx((r - away, r + away), abs=1e-4)


# No interval that its own standard error contradicts


@pytest.mark.parametrize("intervals", ["each", "all"])
@pytest.mark.parametrize("counts", [(109, 279, 112), (500, 0, 0), (1, 0, 0), (0, 10, 0), (9, 479, 12)])
def test_reports_at_corners_and_beyond_leave_an_interval(counts, intervals):
    mechanism = ex.theory.randomized_response_for_pml(ex.Prior([0.5, 0.3, 0.2]), 0.6)
    found = of(mechanism, counts, intervals=intervals)
    assert_sensible(found.table)
    assert_sensible(found.mean([0, 1, 2]), 0, 2)


def test_ten_equal_reports_say_hardly_anything_under_much_noise():
    mechanism = ex.Mechanism([[0.6, 0.4], [0.4, 0.6]])
    for intervals in ("each", "all"):
        found = of(mechanism, (10, 0), intervals=intervals)
        assert found.standard_errors[0] > 0.6
        assert found.upper[0] - found.lower[0] >= found.standard_errors[0]


def test_reports_that_do_not_fit_are_pointed_out_above_every_table():
    mechanism = ex.theory.randomized_response_for_pml(ex.Prior([0.5, 0.3, 0.2]), 0.6)
    odd, fine = of(mechanism, (9, 479, 12)), of(mechanism, (200, 180, 120))
    for shown in (odd, odd.table, odd.mean([0, 1, 2]), odd.group({"some": [0, 1]}), odd.difference(fine)):
        assert str(shown).splitlines()[1].startswith("WARNING: no shares explain these reports")
        assert "WARNING: no shares explain" in shown._repr_html_()
    assert odd.table.to_dict()["warning"].startswith("WARNING")
    assert "WARNING" not in str(fine)
    by = ex.estimate(mechanism, [1] * 479 + [0] * 21 + [0, 1, 2] * 50, by=["a"] * 500 + ["b"] * 150)
    assert by.table.warning.startswith("group a: WARNING")
    windows = ex.large.windows(50, 1.0)
    none = ex.large.estimate(windows, np.full(2000, 7))
    assert none.warning.startswith("WARNING")
    drawn = windows.privatize(np.arange(2000) % 50, source=ex.randomness.SeededWords(1))
    assert ex.large.estimate(windows, drawn).warning == ""


sizes = st.one_of(st.integers(1, 40), st.integers(1, 10**6))


@st.composite
def collections(draw):
    """A mechanism, an expected prior at a corner or not, and counts: drawn from a corner, equal, or any."""
    kind = draw(st.sampled_from(["random", "response", "design"]))
    prior = draw(priors(2, 4))
    if kind == "random":
        mechanism = draw(mechanisms(prior.size))
    else:
        epsilon = draw(st.floats(0.05, 0.95)) * min(prior.epsilon_max, 4.0)
        if kind == "response":
            mechanism = ex.theory.randomized_response_for_pml(prior, epsilon)
        else:
            mechanism = ex.design(prior, epsilon).mechanism
    n, rng = draw(sizes), np.random.default_rng(draw(st.integers(0, 2**32)))
    theta = rng.dirichlet(np.full(prior.size, draw(st.sampled_from([0.05, 1.0]))))
    possible = mechanism.matrix.max(axis=0) > 0
    if draw(st.booleans()):
        q = np.maximum(theta @ mechanism.matrix, 0)
    else:
        q = rng.dirichlet(np.full(len(possible), 0.1)) * possible + 1e-9 * possible
    return mechanism, ex.Prior(prior.probabilities, mechanism.inputs), rng.multinomial(n, q / q.sum())


@at_most(60)
@given(
    case=collections(),
    intervals=st.sampled_from(["each", "all"]),
    method=st.sampled_from(["maximum-likelihood", "inverse"]),
)
def test_no_interval_is_narrower_than_its_standard_error(case, intervals, method):
    mechanism, prior, counts = case
    size = prior.size
    found = of(mechanism, counts, prior, intervals=intervals, method=method)
    scores = np.linspace(-1, 3, size) ** 3
    assert_sensible(found.table)
    assert_sensible(found.mean(scores), scores.min(), scores.max())
    first, last = prior.labels[0], prior.labels[-1]
    assert_sensible(found.group({"one": [first]}))
    assert_sensible(found.group({"apart": {first: 1, last: -1}}), -1, 1)
    assert_sensible(found.difference(found), -1, 1)


@at_most(40)
@given(case=collections(), intervals=st.sampled_from(["each", "all"]), seed=st.integers(0, 2**32))
def test_no_weighted_interval_is_narrower_than_its_standard_error(case, intervals, seed):
    mechanism, prior, counts = case
    counts = np.minimum(counts, 300)
    codes = np.repeat(np.arange(len(counts)), counts)
    if len(codes) < 6:
        codes = np.resize(codes, 6)
    rng = np.random.default_rng(seed)
    rng.shuffle(codes)
    reports = [mechanism.outputs[k] for k in codes]
    weights, clusters = rng.exponential(size=len(codes)) ** 2 + 1e-3, np.arange(len(codes)) // 2 % 40
    group = np.arange(len(codes)) // 2 % 2
    for beside in ({"weights": weights}, {"clusters": clusters}, {"weights": weights, "clusters": clusters}):
        drawn = ex.SampleDesign(**beside)
        found = ex.estimate(
            mechanism, reports, method=ex.Method(prior=prior), intervals=intervals, sample=drawn
        )
        assert_sensible(found.table)
        assert_sensible(found.mean(np.arange(prior.size)), 0, prior.size - 1)
    by = ex.estimate(
        mechanism,
        reports,
        method=ex.Method(prior=prior),
        intervals=intervals,
        sample=ex.SampleDesign(weights=weights),
        by=group,
    )
    assert_sensible(by.table)
    assert_sensible(by.difference(*by.groups), -1, 1)


@at_most(30)
@given(n=st.integers(1, 60), seed=st.integers(0, 2**32), equal=st.booleans(), epsilon=st.floats(0.2, 3))
def test_no_interval_of_a_change_is_narrower_than_its_standard_error(n, seed, equal, epsilon):
    prior = ex.Prior([0.6, 0.4])
    mechanism = ex.theory.randomized_response_for_pml(prior, min(epsilon, 0.9 * prior.epsilon_max))
    rng = np.random.default_rng(seed)
    waves = [np.zeros(n, dtype=int) if equal else rng.integers(0, 2, n) for _ in range(2)]
    found = ex.panels.change((mechanism, mechanism), *waves)
    for table in (found.first, found.second, found.stayed, found.transitions):
        assert_sensible(table)
    assert_sensible(found.change, -1, 1)


@at_most(30)
@given(
    n=sizes, epsilon=st.floats(0.1, 4), seed=st.integers(0, 2**32), intervals=st.sampled_from(["each", "all"])
)
def test_no_interval_for_many_answers_is_narrower_than_its_standard_error(n, epsilon, seed, intervals):
    windows = ex.large.windows(60, epsilon)
    rng = np.random.default_rng(seed)
    reports = rng.integers(0, windows.prime * windows.layout.steps, min(n, 3000))
    if seed % 2:
        reports = np.full_like(reports, reports[0])
    assert_sensible(ex.large.estimate(windows, reports, intervals=intervals))
    groups = {"first": [0], "few": range(5), "half": range(30)}
    assert_sensible(ex.large.estimate_groups(windows, reports, groups))


def test_for_shares_of_zero_standard_errors_are_those_beside_the_boundary():
    """Of n true answers, none of which is "yes": that of a share of 1/n, about."""
    for n in (10, 1000, 10**6):
        found = of(ex.Mechanism(np.eye(2)), (n, 0))
        assert found.standard_errors[1] == pytest.approx(1 / n, rel=0.2)
    mechanism = ex.design(SKEW, 0.1).mechanism
    truth, n, rng = np.array([0.01, 0.01, 0.98]), 500, np.random.default_rng(3)
    q = truth @ mechanism.matrix
    spread = float(ex.planning.expected_error(ex.Prior(truth), mechanism, n).standard_errors[0])
    errors = [of(mechanism, c, SKEW).standard_errors[0] for c in rng.multinomial(n, q / q.sum(), size=40)]
    assert min(errors) > spread / 2


# Scores far from 0


@pytest.mark.parametrize("intervals", ["each", "all"])
@pytest.mark.parametrize("offset", [1e9, -3e12])
def test_means_of_scores_far_from_0_are_those_of_the_same_scores_near_0(offset, intervals):
    """The spread of the scores is 2: no digit of it may be lost to the offset."""
    mechanism = ex.theory.randomized_response_for_pml(ex.Prior([0.5, 0.3, 0.2]), 0.6)
    found = of(mechanism, (4410, 3170, 2420), intervals=intervals)
    near, far = found.mean([0, 1, 2]), found.mean([offset, offset + 1, offset + 2])
    rounding = 4 * abs(offset) * 2.0**-52
    for name in ("estimates", "lower", "upper"):
        assert getattr(far, name) - offset == pytest.approx(getattr(near, name), abs=rounding)
    assert far.standard_errors == pytest.approx(near.standard_errors, rel=1e-12)
    by = ex.estimate(mechanism, [0, 1, 2] * 100, by=["a", "b", "b"] * 100, intervals=intervals)
    assert by.mean([offset, offset + 1, offset + 2]).lower - offset == pytest.approx(
        by.mean([0, 1, 2]).lower, abs=rounding
    )
    channel = Channel(np.array([[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]]), np.full(3, 1 / 3))
    assert not channel.identified(offset + np.array([[0.0, 1.0, 2.0]])).any()
    assert channel.identified(offset + np.array([[0.0, 1.0, 1.0]])).all()


# Simulations


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["design", "response"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("n", [60, 500, 3000])
def test_intervals_cover_the_truth_at_corners_in_simulated_surveys(kind, epsilon, n):
    """Shares and the mean of scores, each corner at several distances: none far from 95 %, never below 88 %."""
    rng, runs = np.random.default_rng(n), 300
    mechanism = (
        ex.design(SKEW, epsilon).mechanism
        if kind == "design"
        else ex.theory.randomized_response_for_pml(SKEW, epsilon)
    )
    least, made = 1.0, {}
    for corner in range(3):
        rates = []
        for moved in (0.0, 1 / n, 0.01):
            theta = np.full(3, moved)
            theta[corner] = 1 - 2 * moved
            q, real, hits = theta @ mechanism.matrix, np.array([*theta, theta @ SCORES]), np.zeros(4)
            counts, times = np.unique(rng.multinomial(n, q / q.sum(), size=runs), axis=0, return_counts=True)
            for c, often in zip(map(tuple, counts.tolist()), times, strict=True):
                if c not in made:
                    found = of(mechanism, c, SKEW)
                    mean = found.mean(SCORES)
                    made[c] = np.append(found.lower, mean.lower), np.append(found.upper, mean.upper)
                lower, upper = made[c]
                hits += often * ((lower <= real + 1e-12) & (real <= upper + 1e-12))
            rates.append(hits / runs)
        least = min(least, np.min(rates))
        assert np.mean(rates, axis=0).min() >= 0.93
    print(f"{kind}, epsilon {epsilon}, n = {n}: at least {least:.3f}")
    assert least >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10, 20, 40])
def test_changes_of_small_panels_are_covered(n):
    prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    mechanism, rng, runs = ex.theory.randomized_response_for_pml(prior, 1.2), np.random.default_rng(n), 300
    for start, moves in (
        ([0.5, 0.3, 0.2], [[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]]),
        ([1.0, 0.0, 0.0], [[0.9, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ):
        start, moves = np.array(start), np.array(moves)
        real, changes, places = start @ moves - start, np.zeros(3), np.zeros(9)
        for _ in range(runs):
            x = rng.choice(3, n, p=start)
            y = (rng.random(n)[:, None] > moves.cumsum(axis=1)[x]).sum(axis=1)
            waves = [
                np.array(mechanism.outputs, dtype=object)[
                    np.minimum((rng.random(n)[:, None] > mechanism.matrix.cumsum(axis=1)[z]).sum(axis=1), 2)
                ]
                for z in (x, y)
            ]
            found = ex.panels.change((mechanism, mechanism), *waves)
            changes += (found.change.lower <= real + 1e-12) & (real <= found.change.upper + 1e-12)
            table, truth = found.transitions, moves.ravel()
            places += (table.lower <= truth + 1e-12) & (truth <= table.upper + 1e-12)
        print(f"n = {n}: changes {changes / runs}, transitions at least {places.min() / runs:.3f}")
        assert changes.min() / runs >= 0.92
        assert places[np.repeat(start > 0, 3)].min() / runs >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(100, 0.01), (400, 0.01), (400, 0.05), (2000, 0.002)])
def test_weighted_intervals_of_rare_answers_cover_the_truth(n, share):
    """People with a large weight answer "yes" three times as often; the truth is that of the weighted population."""
    rng, runs = np.random.default_rng(n), 600
    for mechanism in (
        ex.Mechanism(np.eye(2)),
        ex.theory.randomized_response_for_pml(ex.Prior([0.8, 0.2]), 1.5),
    ):
        hits = narrow = 0
        truth = (0.7 * share + 0.3 * 3 * 3 * share) / (0.7 + 0.9)
        for _ in range(runs):
            heavy = rng.random(n) < 0.3
            x = (rng.random(n) < np.where(heavy, 3 * share, share)).astype(int)
            y = (rng.random(n) > mechanism.matrix[x, 0]).astype(int)
            found = ex.estimate(mechanism, y, sample=ex.SampleDesign(weights=np.where(heavy, 3.0, 1.0)))
            hits += found.lower[1] <= truth <= found.upper[1]
            narrow += found.upper[1] - found.lower[1] < found.standard_errors[1]
        print(f"n = {n}, {share}: {hits / runs:.3f}")
        assert narrow == 0
        assert hits / runs >= 0.92


@pytest.mark.parametrize(
    ("weights", "method"),
    [
        ([1, 2, 3, 4, 5, 6], "maximum-likelihood"),
        ([1, 1, 1, 1, 1, 1e-6], "maximum-likelihood"),
        ([1, 1, 1, 1, 1, 1e-6], "inverse"),
        pytest.param([1, 2, 3, 4, 5, 6], "inverse", marks=pytest.mark.slow),
        pytest.param([1, 2, 3, 4, 5, 6], "map", marks=pytest.mark.slow),
        ([1, 1, 1, 1, 1, 1e-6], "map"),
    ],
    ids=str,
)
def test_weighted_intervals_cover_over_all_outcomes_of_few_reports(weights, method):
    """Of three kinds of reports one often never comes, or once with hardly any weight.

    Which report stands for which answer changes nothing, so outcomes are estimated that name them in order.
    """
    response = ex.theory.randomized_response(3, 1.5)
    made, results, outcomes = {}, [], np.array(list(itertools.product(range(3), repeat=6)))
    for y in outcomes.tolist():
        order = list(dict.fromkeys([*y, 0, 1, 2]))  # by first appearance
        named = tuple(map(order.index, y))
        if named not in made:
            found = ex.estimate(
                response,
                named,
                sample=ex.SampleDesign(weights=weights),
                method=ex.Method(method, prior=ex.Prior.uniform(3)),
            )
            made[named] = np.array([found.lower, found.upper, found.standard_errors])
        results.append(made[named][:, np.argsort(order)])
    lower, upper, errors = np.array(results).transpose(1, 0, 2)
    assert (upper - lower >= np.minimum(errors, 1) - 1e-9).all()
    assert errors.min() > 0.1  # that of six true answers, none of which is this one, is at least 1/6
    for truth in ([1, 0, 0], [0.9, 0.1, 0], [0.8, 0.1, 0.1], [0.5, 0.45, 0.05], [1 / 3, 1 / 3, 1 / 3]):
        q = np.array(truth) @ response.matrix
        hits = ((lower <= truth) & (truth <= upper)).T @ q[outcomes].prod(axis=1)
        assert hits.min() >= 0.93, (truth, hits)


@pytest.mark.parametrize("method", ["maximum-likelihood", "inverse", "map"])
def test_equal_reports_have_errors_with_weights_as_without(method):
    """Reports that say nothing: the shares are those expected, and anything is possible."""
    mechanism, prior = ex.Mechanism([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3]]), ex.Prior([0.5, 0.5])
    plain = ex.estimate(mechanism, [0] * 10, method=ex.Method(method, prior=prior))
    weighted = ex.estimate(
        mechanism, [0] * 10, method=ex.Method(method, prior=prior), sample=ex.SampleDesign(weights=[2.0] * 10)
    )
    np.testing.assert_allclose(
        weighted.standard_errors, plain.standard_errors, rtol=0.06
    )  # degrees of freedom
    assert plain.standard_errors.min() > 1


def test_differences_of_groups_are_finite_where_all_report_the_same():
    mechanism = ex.Mechanism([[0.0, 1.0], [0.2, 0.8]])
    found = ex.estimate(
        mechanism,
        [1] * 40,
        by=["a"] * 20 + ["b"] * 20,
        sample=ex.SampleDesign(weights=np.linspace(1, 2, 40)),
        method=ex.Method("map", prior=ex.Prior.uniform(2)),
    )
    assert_sensible(found.difference("a", "b"), -1, 1)


@pytest.mark.slow
def test_shares_of_rare_answers_among_many_are_covered():
    windows = ex.large.windows(60, 1.0)
    rng, runs, hits, groups = np.random.default_rng(1), 300, np.zeros(60), 0
    truth = np.zeros(60)
    truth[:2] = 0.97, 0.03
    for run in range(runs):
        x = rng.choice(60, 300, p=truth)
        y = windows.privatize(x, source=ex.randomness.SeededWords(run))
        found = ex.large.estimate(windows, y, intervals="each")
        hits += (found.lower <= truth) & (truth <= found.upper)
        some = ex.large.estimate_groups(windows, y, {"rare": range(1, 5)})
        groups += some.lower[0] <= 0.03 <= some.upper[0]
    assert hits.min() / runs >= 0.92
    assert groups / runs >= 0.92


@pytest.mark.slow
def test_differences_of_groups_cover_at_corners():
    mechanism, rng, runs = ex.design(SKEW, 1.0).mechanism, np.random.default_rng(8), 600
    for sizes, truths in (
        ((50, 80), ([0.98, 0.01, 0.01], [0.9, 0.06, 0.04])),
        ((400, 300), ([1, 0, 0], [0.97, 0.03, 0])),
        ((400, 60), ([0.02, 0.49, 0.49], [0.9, 0.06, 0.04])),
    ):
        one, other = (np.array(t) for t in truths)
        hits, real = np.zeros(3), one - other
        for _ in range(runs):
            both = [
                of(mechanism, rng.multinomial(n, t @ mechanism.matrix / (t @ mechanism.matrix).sum()), SKEW)
                for n, t in zip(sizes, (one, other), strict=True)
            ]
            d = both[0].difference(both[1])
            hits += (d.lower <= real + 1e-12) & (real <= d.upper + 1e-12)
        print(sizes, hits / runs)
        assert hits.min() / runs >= 0.92
