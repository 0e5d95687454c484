"""One estimate from the reports of different people under different mechanisms."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, chi2_contingency

import extremal as ex
from extremal.estimation.betting import StageReports, staged_intervals
from extremal.estimation.contrasts import Channel
from tests.support.wording import refused

ANSWERS = ("a", "b", "c")
PI = np.array([0.6, 0.3, 0.1])
NOISY = ex.Mechanism([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]], ANSWERS, ("x", "y", "z"))
TRUER = ex.Mechanism(
    [[0.8, 0.1, 0.05, 0.05], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.6, 0.2]], ANSWERS, ("x", "y", "z", "w")
)
FIRST_OR_NOT = ex.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], ANSWERS)
LAST_OR_NOT = ex.Mechanism([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], ANSWERS)


def drawn(mechanism, people, seed=0, pi=PI):
    counts = np.random.default_rng(seed).multinomial(people, pi @ mechanism.matrix)
    return dict(zip(mechanism.outputs, counts.tolist(), strict=True))


def column(counts):
    return [label for label, count in counts.items() for _ in range(count)]


def test_the_shares_make_all_reports_together_most_likely():
    pairs = [(NOISY, drawn(NOISY, 500)), (TRUER, drawn(TRUER, 800, 1))]

    def loss(free):
        theta = np.exp([0.0, *free])
        theta /= theta.sum()
        return -sum(np.array(list(r.values())) @ np.log(theta @ m.matrix) for m, r in pairs)

    best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    theta = np.exp([0.0, *best])
    np.testing.assert_allclose(ex.estimate(pairs).shares, theta / theta.sum(), atol=1e-6)


def test_standard_errors_come_from_the_information_of_every_person():
    pairs = [(NOISY, drawn(NOISY, 5000)), (TRUER, drawn(TRUER, 20_000, 1))]
    found = ex.estimate(pairs)
    information = sum(
        n * (m.matrix / (found.shares @ m.matrix)) @ m.matrix.T
        for (m, _), n in zip(pairs, (5000, 20_000), strict=True)
    )
    covariance = np.linalg.inv(information) - np.outer(found.shares, found.shares) / 25_000
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(covariance)), rtol=1e-6)


def test_two_stages_of_one_mechanism_are_one_collection():
    one, two = drawn(NOISY, 600), drawn(NOISY, 400, 1)
    together = ex.estimate(NOISY, {label: one[label] + two[label] for label in one})
    apart = ex.estimate([(NOISY, one), (NOISY, two)])
    np.testing.assert_allclose(apart.shares, together.shares, atol=1e-9)
    np.testing.assert_allclose(apart.standard_errors, together.standard_errors, rtol=1e-6)
    np.testing.assert_allclose(apart.lower, together.lower, atol=1e-3)
    np.testing.assert_allclose(apart.upper, together.upper, atol=1e-3)


def test_the_inverse_is_the_mean_of_what_each_stage_tells_weighted_by_people():
    pairs = [(NOISY, drawn(NOISY, 500)), (TRUER, drawn(TRUER, 1500, 1))]
    found = ex.estimate(pairs, method="inverse").shares
    each = [ex.estimate(*pair, method="inverse").shares for pair in pairs]
    np.testing.assert_allclose(found, 0.25 * each[0] + 0.75 * each[1], atol=1e-12)


def test_mechanisms_that_tell_answers_apart_only_together_do_so():
    pairs = [(FIRST_OR_NOT, drawn(FIRST_OR_NOT, 20_000)), (LAST_OR_NOT, drawn(LAST_OR_NOT, 20_000, 1))]
    assert not ex.estimate(*pairs[0]).identified.all()
    for kind in ("each", "all"):
        found = ex.estimate(pairs, intervals=kind)
        assert found.identified.all()
        np.testing.assert_allclose(found.shares, PI, atol=0.03)
        assert (found.lower <= PI).all()
        assert (found.upper >= PI).all()
        assert (found.upper - found.lower).max() < 0.12


def test_stages_that_alone_do_not_tell_a_share_do_not_count_at_every_look_and_the_table_says_so():
    silent, telling = drawn(FIRST_OR_NOT, 5000), drawn(TRUER, 1000, 1)
    found = ex.estimate([(FIRST_OR_NOT, silent), (TRUER, telling)], intervals="always")
    assert any("stage 1" in note for note in found.notes())
    alone = found.uncertainty.unit_bounds(np.eye(3)[1:2], 0.05, "always")
    other = dict(zip(silent, (2500, 2500), strict=True))
    again = ex.estimate([(FIRST_OR_NOT, other), (TRUER, telling)], intervals="always")
    np.testing.assert_array_equal(alone, again.uncertainty.unit_bounds(np.eye(3)[1:2], 0.05, "always"))


def test_the_drift_of_true_answers_is_pearsons_test_of_a_table():
    truth = ex.Mechanism(np.eye(3), ANSWERS)
    table = np.array([[60, 30, 10], [150, 100, 50], [90, 20, 15]])
    found = ex.estimate([(truth, row) for row in ({0: r[0], 1: r[1], 2: r[2]} for r in table.tolist())]).drift
    pearson = chi2_contingency(table, correction=False)
    assert found.degrees == (pearson.dof,)
    assert found.statistic == pytest.approx(pearson.statistic, rel=0.01)


def test_the_drift_of_stages_is_the_test_of_groups_where_the_mechanism_is_the_same():
    one, two = drawn(NOISY, 600), drawn(NOISY, 900, 1, np.array([0.5, 0.3, 0.2]))
    stages = ex.estimate([(NOISY, one), (NOISY, two)]).drift
    groups = ex.estimate(NOISY, column(one) + column(two), by=[1] * 600 + [2] * 900).test
    assert stages.degrees == groups.degrees
    assert stages.between == "stages"
    assert stages.statistic == pytest.approx(groups.statistic, rel=0.02)


def test_groups_and_weights_may_come_in_frames_of_every_stage():
    import pandas as pd

    frames = []
    for m, seed in ((NOISY, 0), (TRUER, 1)):
        for group in ("old", "young"):
            reports = column(drawn(m, 400, seed + (group == "old")))
            frames.append(pd.DataFrame({"report": reports, "age": group, "w": 1.0}))
    pairs = [(NOISY, pd.concat(frames[:2])), (TRUER, pd.concat(frames[2:]))]
    found = ex.estimate(pairs, by="age", column="report")
    alone = ex.estimate([(NOISY, list(frames[0]["report"])), (TRUER, list(frames[2]["report"]))])
    np.testing.assert_allclose(found["old"].shares, alone.shares)
    np.testing.assert_allclose(found["old"].lower, alone.lower)
    assert found.drift.between == "stages"
    assert found.drift.degrees == (4,)
    weighted = ex.estimate(pairs, column="report", sample=ex.SampleDesign(weights="w"))
    plain = ex.estimate(pairs, column="report")
    np.testing.assert_allclose(weighted.shares, plain.shares, atol=1e-6)
    np.testing.assert_allclose(weighted.standard_errors, plain.standard_errors, rtol=0.02)
    assert weighted.drift.name == "Wald"
    assert weighted.drift.statistic * 2 == pytest.approx(plain.drift.statistic, rel=0.03)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(NOISY, {"x": 3}), (TRUER, {"v": 3})], "2"),
        ([(NOISY, {"x": 3}), (ex.Mechanism(np.eye(3), ("a", "c", "b")), {0: 3})], "2"),
        ([(NOISY, {"x": 3}), (TRUER, {"x": 3}), (3, {"x": 3})], "3"),
        ([(NOISY, {"x": 3}), TRUER], "2"),
        ([], "0 pairs"),
    ],
)
def test_what_does_not_fit_is_refused_and_the_pair_is_named(pairs, said):
    with refused(ex.errors.ExtremalError, said):
        ex.estimate(pairs)


def test_a_stage_with_reports_of_another_mechanism_is_named():
    swapped = drawn(ex.Mechanism([[0.02, 0.08, 0.9]] * 3, ANSWERS, ("x", "y", "z")), 2000)
    found = ex.estimate([(TRUER, drawn(TRUER, 2000)), (NOISY, swapped)])
    assert "stage 2" in found.warning


def test_simultaneous_intervals_of_two_answers_hold_over_all_outcomes_of_a_chosen_second_mechanism():
    """The second mechanism is that of two which is worse for whoever trusts the first stage."""
    error, n = 0.1, (12, 9)
    first = np.array([[0.8, 0.2], [0.3, 0.7]])
    seconds = (np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.6, 0.4], [0.5, 0.5]]))
    flat = np.full(2, 0.5)
    ends = {}
    for k, j, which in itertools.product(range(n[0] + 1), range(n[1] + 1), (0, 1)):
        stages = [
            StageReports(Channel(P, flat), np.array([people - hits, hits]))
            for P, people, hits in ((first, n[0], k), (seconds[which], n[1], j))
        ]
        ends[k, j, which] = staged_intervals(stages, np.eye(2), error)
    for share in np.linspace(0.02, 0.98, 25):
        q = np.array([1 - share, share])
        missed = 0.0
        for k in range(n[0] + 1):
            misses = [
                sum(
                    binom.pmf(j, n[1], (q @ P)[1])
                    for j in range(n[1] + 1)
                    if not ends[k, j, which].lower[1] <= share <= ends[k, j, which].upper[1]
                )
                for which, P in enumerate(seconds)
            ]
            missed += binom.pmf(k, n[0], (q @ first)[1]) * max(misses)
        assert missed <= error


def test_simultaneous_intervals_hold_where_the_second_mechanism_follows_the_first_reports():
    rng, error, missed, surveys = np.random.default_rng(5), 0.2, 0, 300
    for _ in range(surveys):
        counts = rng.multinomial(200, PI @ NOISY.matrix)
        start = NOISY.matrix @ (counts / 200)
        second = TRUER if start[0] > np.median(start) else FIRST_OR_NOT
        then = rng.multinomial(300, PI @ second.matrix)
        stages = [
            StageReports(Channel(m.matrix, np.full(3, 1 / 3)), c)
            for m, c in ((NOISY, counts), (second, then))
        ]
        lower, upper = staged_intervals(stages, np.eye(3), error)
        missed += bool((lower > PI).any() or (upper < PI).any())
    assert missed <= surveys * error + 3 * math.sqrt(surveys * error)


def test_a_regression_of_pairs_is_that_of_the_likelihood_of_all_rows():
    """Compared with the likelihood written out, by another optimiser."""
    import pandas as pd

    rng = np.random.default_rng(7)
    yes_no = ("no", "yes")
    mechanisms = (
        ex.Mechanism([[0.8, 0.2], [0.3, 0.7]], yes_no),
        ex.Mechanism([[0.9, 0.05, 0.05], [0.1, 0.6, 0.3]], yes_no),
    )
    frames, rows = [], []
    for m in mechanisms:
        x = rng.normal(size=1500)
        answer = rng.random(1500) < 1 / (1 + np.exp(0.5 - x))
        reports = np.array([rng.choice(m.shape[1], p=m.matrix[int(a)]) for a in answer])
        frames.append(pd.DataFrame({"ill": reports, "x": x}))
        rows.append((m.matrix[0][reports], m.matrix[1][reports], x))

    def loss(b):
        total = 0.0
        for no, yes, x in rows:
            p = 1 / (1 + np.exp(-b[0] - b[1] * x))
            total -= np.log(no * (1 - p) + yes * p).sum()
        return total

    best = minimize(loss, [0.0, 0.0], options={"gtol": 1e-8}).x
    found = ex.regress(list(zip(mechanisms, frames, strict=True)), "ill ~ x")
    np.testing.assert_allclose(found.coefficients, best, atol=1e-4)
    assert found.rows == 3000


def test_a_regression_says_which_pair_is_wrong():
    import pandas as pd

    data = pd.DataFrame({"ill": ["x"] * 9, "age": range(9)})
    with pytest.raises(ex.errors.ExtremalError, match="pair 2"):
        ex.regress([(NOISY, data), (FIRST_OR_NOT, data)], "ill ~ age")
    with pytest.raises(ex.errors.OptionError, match="beside their mechanisms"):
        ex.regress([(NOISY, data), (TRUER, data)], "ill ~ age", data)


def test_a_plan_of_stages_expects_what_the_estimate_has():
    prior = ex.Prior(dict(zip(ANSWERS, PI.tolist(), strict=True)))
    certified = [ex.certify(ex.design(prior, epsilon)) for epsilon in (0.5, 1.0)]
    people = (10_000, 30_000)
    planned = ex.plan(list(zip(certified, people, strict=True)))
    assert planned.people == 40_000
    expected = [
        (c, {y: round(n * q) for y, q in zip(c.outputs, PI @ c.mechanism.matrix, strict=True)})
        for c, n in zip(certified, people, strict=True)
    ]
    found = ex.estimate(expected)
    np.testing.assert_allclose(planned.standard_errors, found.standard_errors, rtol=0.01)
    wide = float((found.upper - found.lower).max())
    more = ex.plan(list(zip(certified, people, strict=True)), width=wide / 2)
    assert more.people == pytest.approx(4 * 40_000, rel=0.02)
    with pytest.raises(ex.errors.OptionError, match="pair 2"):
        ex.plan([(certified[0], 10), (NOISY, 10)])


def test_the_inverse_is_unbiased_over_all_outcomes_where_the_second_mechanism_follows_the_first():
    share, n = 0.3, (6, 4)
    q = np.array([1 - share, share])
    first = ex.Mechanism([[0.8, 0.2], [0.3, 0.7]])
    seconds = (ex.Mechanism([[0.9, 0.1], [0.1, 0.9]]), ex.Mechanism([[0.6, 0.4], [0.4, 0.6]]))
    mean = 0.0
    for k in range(n[0] + 1):
        second = seconds[k > 2]
        for j in range(n[1] + 1):
            found = ex.estimate(
                [(first, {0: n[0] - k, 1: k}), (second, {0: n[1] - j, 1: j})], method="inverse"
            )
            chance = binom.pmf(k, n[0], (q @ first.matrix)[1]) * binom.pmf(j, n[1], (q @ second.matrix)[1])
            mean += chance * found.shares[1]
    assert mean == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize(("shift", "least", "most"), [(0.0, 0.02, 0.09), (0.2, 0.85, 1.0)])
def test_drift_is_found_in_nine_of_ten_surveys_and_hardly_where_there_is_none(shift, least, most):
    pi = np.array([0.7, 0.2, 0.1])
    later = pi + shift * np.array([-1.0, 0.0, 1.0])
    first = ex.design(ex.PriorSet.at_least(3, 0), 0.7).mechanism
    second = ex.design(ex.Prior(pi), 0.7).mechanism
    found = [
        ex.estimate(
            [(first, drawn(first, 1000, 2 * k, pi)), (second, drawn(second, 4000, 2 * k + 1, later))]
        ).drift.p_value
        <= 0.05
        for k in range(300)
    ]
    assert least <= np.mean(found) <= most


def test_all_stages_together_tell_more_than_the_last_alone():
    """Simultaneous intervals, where two thirds of the people are in the last stage."""
    rng = np.random.default_rng(3)
    for pi in ([0.1, 0.9], [0.7, 0.2, 0.07, 0.03], [0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.05]):
        mechanism = ex.design(ex.Prior(pi), 0.8).mechanism
        counts = [rng.multinomial(n, pi @ mechanism.matrix) for n in (2000, 4000, 12_000)]
        pairs = [(mechanism, dict(zip(mechanism.outputs, c.tolist(), strict=True))) for c in counts]
        together, alone = ex.estimate(pairs, intervals="all"), ex.estimate(*pairs[-1], intervals="all")
        width, other = (e.uncertainty.unit_bounds(np.eye(len(pi)), 0.05, "all") for e in (together, alone))
        ratio = (width.upper - width.lower).mean() / (other.upper - other.lower).mean()
        assert 0.8 < ratio < 1.0
