"""Weights, strata, clusters and groups: against other packages, textbook variances, and by rearranging the rows."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2_contingency

import extremal as ex
from extremal.estimation.counts import label_finder
from extremal.estimation.promise import Promise
from tests.support.wording import refused

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
RESPONSE = ex.theory.randomized_response_for_pml(PRIOR, 0.9)
CERTIFIED = ex.certify(PRIOR, RESPONSE, 0.9)
WIDE = ex.design(PRIOR, 0.8).mechanism  # more outputs than inputs
TRUTH = ex.Mechanism(np.eye(3), inputs=PRIOR.labels, outputs=PRIOR.labels)


def people(n=600, seed=0):
    """Reports with weights, strata, and clusters nested in them."""
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 5, n)
    frame = pd.DataFrame(
        {
            "report": np.array(PRIOR.labels)[rng.choice(3, n, p=PRIOR.probabilities)],
            "w": rng.uniform(0.3, 4, n),
            "stratum": np.array(["north", "east", "south", "west", "city"])[strata],
            "school": rng.integers(0, 9, n) + 100 * strata,
            "sex": rng.choice(["f", "m"], n),
        }
    )
    return frame


def variance_between_clusters(frame, value):
    """Of the weighted mean of a column, cluster by cluster, as the textbook writes it."""
    mean = (frame.w * frame[value]).sum() / frame.w.sum()
    z = (frame.w * (frame[value] - mean) / frame.w.sum()).groupby([frame.stratum, frame.school]).sum()
    return sum(
        len(part) / (len(part) - 1) * ((part - part.mean()) ** 2).sum() for _, part in z.groupby(level=0)
    )


# Weights, strata, clusters


def test_standard_errors_are_those_of_the_linear_estimate_between_clusters():
    """The estimate by the inverse is the weighted mean of a score for each report."""
    frame = people()
    e = ex.estimate(
        RESPONSE,
        frame,
        column="report",
        sample=ex.SampleDesign(weights="w", strata="stratum", clusters="school"),
        method="inverse",
    )
    inverse = np.linalg.inv(RESPONSE.matrix)
    for k, label in enumerate(PRIOR.labels):
        frame["score"] = inverse[[RESPONSE.outputs.index(y) for y in frame.report], k]
        assert e.shares[k] == pytest.approx((frame.w * frame.score).sum() / frame.w.sum(), abs=1e-12)
        assert e.standard_errors[k] ** 2 == pytest.approx(variance_between_clusters(frame, "score"), rel=1e-9)
        assert label == e.labels[k]
    assert e.survey.degrees == frame.school.nunique() - 5
    assert e.survey.effective == pytest.approx(frame.w.sum() ** 2 / (frame.w**2).sum())
    assert "not a guarantee for every number of reports" in str(e)
    likely = ex.estimate(
        RESPONSE,
        frame,
        column="report",
        sample=ex.SampleDesign(weights="w", strata="stratum", clusters="school"),
    )
    assert likely.shares == pytest.approx(e.shares, abs=1e-8)  # the inverse is a distribution here
    assert likely.standard_errors == pytest.approx(e.standard_errors, rel=1e-9)


@pytest.mark.slow
def test_weights_strata_and_clusters_equal_samplics_and_statsmodels():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import statsmodels.api as sm
        from samplics import TaylorEstimator
        from samplics.utils.types import PopParam

        frame = people()
        e = ex.estimate(
            TRUTH,
            frame,
            column="report",
            sample=ex.SampleDesign(weights="w", strata="stratum", clusters="school"),
        )
        other = TaylorEstimator(PopParam.prop)
        other.estimate(
            y=frame.report.to_numpy(),
            samp_weight=frame.w.to_numpy(),
            stratum=frame.stratum.to_numpy(),
            psu=frame.school.to_numpy(),
        )
        for k, label in enumerate(e.labels):
            assert e.shares[k] == pytest.approx(other.point_est[label], abs=1e-9)
            assert e.standard_errors[k] == pytest.approx(other.stderror[label], rel=1e-9)
        one = np.ones(len(frame))
        for label in e.labels:
            y = (frame.report == label).astype(float)
            k = e.labels.index(label)
            model = sm.WLS(y, one, weights=frame.w)
            weighted = ex.estimate(TRUTH, frame, column="report", sample=ex.SampleDesign(weights="w"))
            robust = model.fit(cov_type="HC1")
            assert weighted.shares[k] == pytest.approx(robust.params.iloc[0], abs=1e-9)
            assert weighted.standard_errors[k] == pytest.approx(robust.bse.iloc[0], rel=1e-9)
            clustered = ex.estimate(
                TRUTH, frame, column="report", sample=ex.SampleDesign(weights="w", clusters="school")
            )
            robust = model.fit(cov_type="cluster", cov_kwds={"groups": frame.school})
            assert clustered.standard_errors[k] == pytest.approx(robust.bse.iloc[0], rel=1e-9)


def test_equal_weights_alone_change_nothing_but_the_divisor():
    """n - 1 people instead of n, and a design effect of 1."""
    frame = people()
    plain = ex.estimate(CERTIFIED, frame.report)
    weighted = ex.estimate(CERTIFIED, frame.report, sample=ex.SampleDesign(weights=np.full(len(frame), 2.5)))
    assert weighted.shares == pytest.approx(plain.shares, abs=1e-9)
    n = len(frame)
    assert weighted.standard_errors == pytest.approx(plain.standard_errors * math.sqrt(n / (n - 1)), rel=1e-6)
    assert weighted.design_effects == pytest.approx(np.ones(3), rel=1e-9)
    assert weighted.survey.effective == pytest.approx(n)


def test_results_do_not_depend_on_the_order_of_rows_or_labels_or_on_the_container():
    frame = people()
    sample = ex.SampleDesign(weights="w", strata="stratum", clusters="school")
    how = {"column": "report", "sample": sample, "by": "sex"}
    found = ex.estimate(CERTIFIED, frame, **how)
    shuffled = ex.estimate(CERTIFIED, frame.sample(frac=1, random_state=1), **how)
    renamed = frame.assign(school=frame.school.map(lambda s: f"school {9999 - s}"))
    for other in (
        shuffled,
        ex.estimate(CERTIFIED, pl.from_pandas(frame), **how),
        ex.estimate(CERTIFIED, renamed, **how),
    ):
        assert other.groups == found.groups
        assert other.shares == pytest.approx(found.shares, abs=1e-9)
        assert other.standard_errors == pytest.approx(found.standard_errors, abs=1e-9)
        assert other.test.p_value == pytest.approx(found.test.p_value, abs=1e-9)
    order = [2, 0, 1]
    turned = ex.Mechanism(RESPONSE.matrix[np.ix_(order, order)], *[[PRIOR.labels[i] for i in order]] * 2)
    one = ex.estimate(RESPONSE, frame.report, intervals="each")
    other = ex.estimate(turned, frame.report, intervals="each")
    for name in ("shares", "lower", "upper", "standard_errors"):
        assert getattr(other, name) == pytest.approx(getattr(one, name)[order], abs=1e-7)


def test_a_file_a_frame_and_columns_give_the_same(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    columns = ex.estimate(
        CERTIFIED, frame.report, sample=ex.SampleDesign(weights=frame.w, clusters=frame.school), by=frame.sex
    )
    for path in ("a.csv", "a.parquet"):
        found = ex.estimate(
            CERTIFIED,
            tmp_path / path,
            column="report",
            sample=ex.SampleDesign(weights="w", clusters="school"),
            by="sex",
        )
        assert found.table.rows() == columns.table.rows()
    assert columns.by == ("sex",)
    two = ex.estimate(CERTIFIED, tmp_path / "a.csv", column="report", by=["sex", "stratum"])
    assert two.by == ("sex", "stratum")
    assert ("f", "city") in two.groups
    assert len(two.table) == 10 * 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample": {"weights": "v"}}, "'v'"),
        ({"column": "answer"}, "'answer'"),
        ({"column": None}, "column"),
        ({"by": 3}, "by"),
        ({"by": ["sex", "nobody"]}, "'nobody'"),
        ({"by": "nobody"}, "'nobody'"),
        ({"sample": {"weights": [1.0] * 599}}, "weights"),
        (
            {"sample": {"weights": [-1.0, *[1.0] * 599]}},
            "1 below 0, the least -1",
        ),
        (
            {"sample": {"weights": [math.nan, *[1.0] * 599]}},
            "1 of 600",
        ),
        ({"sample": {"weights": ["x", *["1"] * 599]}}, "1 of 600 missing or not a number"),
        ({"sample": {"weights": [0.0] * 600}}, "weights"),
        (
            {"sample": {"weights": [0] * 300 + [1] * 300}, "by": ["a"] * 300 + ["b"] * 300},
            "next to none in ['a']",
        ),
        ({"by": [None, *["a"] * 599]}, "1 of 600 rows"),
        ({"sample": {"strata": ["lone", *["a"] * 599]}}, "one person in ['lone']"),
        (
            {"sample": {"strata": ["x"] * 300 + ["y"] * 300, "clusters": [1] * 300 + list(range(300))}},
            "one cluster in ['x']",
        ),
        ({"sample": {"clusters": ["one"] * 600}}, "1"),
        ({"intervals": "both"}, "both"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(change, message):
    def found():
        sample = ex.SampleDesign(**change.get("sample", {}))
        return ex.estimate(CERTIFIED, people(), **{"column": "report", **change, "sample": sample})

    with refused(ex.errors.ExtremalError, message):
        found()


def test_a_sample_design_is_checked_once_and_stays_as_it_was():
    weights = np.array([1.0, 2.0, 3.0])
    design = ex.SampleDesign(weights, clusters=["a", "b", "b"])
    weights[0] = 7
    assert design.weights.tolist() == [1, 2, 3]
    assert design.clusters == ("a", "b", "b")
    assert design.names == ()
    with pytest.raises(ValueError, match="read-only"):
        design.weights[0] = 5
    with refused(ex.errors.ValuesError, "3 weights, 2 strata"):
        ex.SampleDesign([1, 2, 3], strata=["x", "y"])
    with refused(ex.errors.ValuesError, "clusters"):
        ex.SampleDesign(clusters=5)
    with refused(ex.errors.OptionError, "sample"):
        ex.estimate(CERTIFIED, ["never"] * 3, sample=[1, 2, 3])
    with refused(ex.errors.OptionError, "sample"):
        ex.regress(CERTIFIED, "report ~ sex", people(), sample=ex.SampleDesign(strata="stratum"))


def test_a_sample_design_that_says_nothing_changes_nothing():
    plain = ex.estimate(CERTIFIED, people().report)
    empty = ex.estimate(CERTIFIED, people().report, sample=ex.SampleDesign())
    assert empty.table.rows() == plain.table.rows()
    assert empty.survey is None


def test_a_group_within_one_cluster_has_no_standard_error():
    """Within one cluster errors cancel: 0 would be false precision."""
    found = ex.estimate(
        CERTIFIED,
        ["never", "once", "often"] * 8,
        by=[1, 2, 3, 4] * 6,
        sample=ex.SampleDesign(clusters=[1, 2, 3, 3] * 6),
    )
    assert np.isinf(found[1].standard_errors).all()
    assert (found[1].lower == 0).all()
    assert (found[1].upper == 1).all()
    assert "group 1: all people are in one cluster of each stratum: there is no standard error" in str(found)


def test_the_unit_of_weights_does_not_matter():
    frame = people()
    found = [
        ex.estimate(CERTIFIED, frame.report, sample=ex.SampleDesign(weights=frame.w * unit))
        for unit in (1.0, 1e200, 1e-200)
    ]
    for other in found[1:]:
        assert other.standard_errors == pytest.approx(found[0].standard_errors, rel=1e-9)
        assert other.survey.effective == pytest.approx(found[0].survey.effective)
    assert found[1].survey.total == pytest.approx(1e200 * found[0].survey.total)


def test_counts_have_no_weights_and_names_need_a_frame():
    with refused(ex.errors.OptionError, "counts"):
        ex.estimate(CERTIFIED, {"never": 3, "once": 5}, sample=ex.SampleDesign(weights=[1, 2]))
    with refused(ex.errors.OptionError, "weights"):
        ex.estimate(CERTIFIED, people().report, sample=ex.SampleDesign(weights="w"))
    impossible = ex.Mechanism([[1, 0, 0], [0.5, 0.5, 0]], outputs=["a", "b", "c"])
    with refused(ex.errors.MechanismError, "reports", "1 of 'c', which no input gives"):
        ex.estimate(impossible, ["a", "b", "c"], by=[1, 1, 1])


def test_labels_written_as_text_match_integers_and_the_other_way_round():
    numbers = ex.Mechanism([[0.8, 0.2], [0.3, 0.7]], inputs=[1, 2], outputs=[1, 2])
    texts = ex.Mechanism([[0.8, 0.2], [0.3, 0.7]], inputs=["1", "2"], outputs=["1", "2"])
    whole = ex.estimate(numbers, [1, 1, 2, 1, 2]).shares
    for mechanism in (numbers, texts):
        for reports in (["1", "1", "2", "1", "2"], np.array([1, 1, 2, 1, 2]), {"1": 3, "2": 2}, {1: 3, 2: 2}):
            assert np.array_equal(ex.estimate(mechanism, reports).shares, whole)
        assert ex.estimate(mechanism, [1.0, 2.0]).group({"x": ["1"], "y": [2]}).labels == ("x", "y")
    find = label_finder((1, "1"))  # here the two are different answers
    assert (find(1), find("1"), find("2")) == (0, 1, -1)
    pairs = label_finder(((1, "a"), (2, "b")))
    assert (pairs(("2", "b")), pairs((2, "a"))) == (1, -1)
    with refused(ex.errors.ValuesError, "reports", "1 and '1'"):
        ex.estimate(numbers, {1: 3, "1": 2})


# Groups


def test_the_score_test_is_pearsons_for_reports_of_a_square_mechanism():
    """An invertible mechanism maps equal shares to equal reports and unequal ones to unequal ones."""
    frame = people()
    found = ex.estimate(RESPONSE, frame, column="report", by="stratum")
    table = pd.crosstab(frame.stratum, frame.report)
    expected = chi2_contingency(table, correction=False)
    assert found.test.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.test.degrees == (expected.dof,)
    assert found.test.p_value == pytest.approx(expected.pvalue, rel=1e-6)


def test_a_mechanism_with_many_reports_is_tested_only_in_what_it_tells():
    """More outputs than inputs: 2 directions, whatever the number of outputs."""
    rng = np.random.default_rng(3)
    wide = ex.Mechanism(rng.dirichlet(np.ones(7), 3), inputs=PRIOR.labels, outputs=list("abcdefg"))
    reports = rng.choice(list("abcdefg"), 500, p=PRIOR.probabilities @ wide.matrix)
    found = ex.estimate(wide, reports, by=rng.integers(0, 4, 500))
    assert found.test.degrees == (6,)
    merged = ex.Mechanism([[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]], inputs=PRIOR.labels, outputs=["y", "n"])
    assert ex.estimate(merged, ["y", "n"] * 9, by=[1, 2, 3] * 6).test.degrees == (2,)


def test_there_is_no_test_where_nothing_varies_in_the_direction_of_a_difference():
    truth = ex.Mechanism(np.eye(3), inputs=PRIOR.labels, outputs=PRIOR.labels)
    a, b, c = PRIOR.labels
    group, weights = ["x"] * 10 + ["y"] * 10, [1.0, 2.0] * 10
    apart = [[a] * 10 + [b] * 10, [a] * 10 + [b, c] * 5]  # the second varies, but only between b and c
    for reports in (*apart, [a] * 20):
        found = ex.estimate(truth, reports, by=group, sample=ex.SampleDesign(weights=weights))
        assert (found.test.statistic, found.test.p_value) == (None, None)
        assert "no test of whether the groups differ" in str(found)
        assert json.loads(found.to_json())["test"]["p_value"] is None
    assert ex.estimate(truth, apart[0], by=group).test.statistic == pytest.approx(20)  # Pearson's n
    assert ex.estimate(truth, [a] * 20, by=group).test.p_value is None
    both = ex.estimate(
        truth, [a, b] * 5 + [b, b, a, b, b] * 2, by=group, sample=ex.SampleDesign(weights=weights)
    )
    assert 0 < both.test.p_value < 1  # c never occurs: that is no difference


def test_the_table_of_groups_says_what_its_intervals_hold_with():
    frame = people()
    together = ex.estimate(RESPONSE, frame, column="report", by="sex", intervals="all")
    assert together.table.promise == Promise(0.95, "all", exact=True)
    alone = ex.estimate(RESPONSE, frame[frame.sex == "f"].report, confidence=0.975, intervals="all")
    assert together["f"].lower == pytest.approx(alone.lower)  # the error is divided over two groups
    each = ex.estimate(RESPONSE, frame, column="report", by="sex")
    assert (each.upper - each.lower < together.upper - together.lower).all()
    assert each.table.promise == Promise(0.95, "each", exact=False)
    assert len(str(each).splitlines()) == 1 + 1 + 6 + 2  # title, head, every row, promise, test
    records = json.loads(each.to_json())
    assert [row["sex"] for row in records["rows"]] == ["f"] * 3 + ["m"] * 3
    assert records["intervals"] == "each"
    by_hand = each["f"].shares - each["m"].shares
    apart = each.difference("f", "m")
    assert apart.estimates == pytest.approx(by_hand)
    assert apart.standard_errors == pytest.approx(
        np.hypot(each["f"].standard_errors, each["m"].standard_errors)
    )
    with refused(ex.errors.ValuesError, "group", "['f', 'm']"):
        each["x"]


def test_a_frame_has_every_row_and_says_which_intervals_it_shows():
    many = ex.Prior.uniform(60)
    mechanism = ex.theory.randomized_response(many, 2.0)
    e = ex.estimate(mechanism, list(range(60)) * 5)
    assert len(str(e).splitlines()) == 2 + 60 + 2
    assert len(e.to_frame()) == 60
    for library in ("pandas", "polars", "pyarrow"):
        frame = e.to_frame(library)
        assert type(frame).__module__.startswith(library)
        assert frame.shape == (60, 8)
    assert set(e.to_frame("pandas").intervals) == {"each"}
    with refused(ex.errors.OptionError, "library"):
        e.to_frame("excel")


# Textbook variances


def test_means_of_scores_have_the_variance_of_their_scores():
    frame = people()
    e = ex.estimate(TRUTH, frame.report, intervals="each")
    scores = {"never": 0, "once": 1, "often": 5}
    values = frame.report.map(scores)
    mean = e.mean(scores)
    assert mean.estimates[0] == pytest.approx(values.mean())
    assert mean.standard_errors[0] == pytest.approx(values.std(ddof=0) / math.sqrt(len(values)))
    assert e.mean([0, 1, 5]).estimates == pytest.approx(mean.estimates)
    with refused(ex.errors.OptionError, "scores"):
        e.mean()
    with refused(ex.errors.OptionError, "scores", "none for ['often']"):
        e.mean({"never": 0, "once": 1})


@pytest.mark.parametrize(
    ("matrix", "variance"),
    [
        # Warner: the statement or its opposite with probability p; lambda = share of "yes"
        pytest.param(
            [[0.7, 0.3], [0.3, 0.7]], lambda s, n: s * (1 - s) / n / (2 * 0.7 - 1) ** 2, id="Warner"
        ),
        # Forced response: "yes" with 1/6, "no" with 1/12, the truth otherwise
        pytest.param(
            [[1 / 6 + 0.75, 1 / 12], [1 / 6, 1 / 12 + 0.75]],
            lambda s, n: s * (1 - s) / n / 0.75**2,
            id="forced",
        ),
        # Unrelated question with a known share of 0.25, the sensitive one with probability 0.6
        pytest.param(
            [[0.6 + 0.4 * 0.25, 0.4 * 0.75], [0.4 * 0.25, 0.6 + 0.4 * 0.75]],
            lambda s, n: s * (1 - s) / n / 0.6**2,
            id="unrelated",
        ),
        # Crosswise: "both or neither" with a known share of 0.2 (Yu, Tian, Tang 2008)
        pytest.param(
            [[0.2, 0.8], [0.8, 0.2]], lambda s, n: s * (1 - s) / n / (2 * 0.2 - 1) ** 2, id="crosswise"
        ),
    ],
)
def test_classical_designs_have_their_textbook_variance_and_wilsons_interval(matrix, variance):
    yes, n = 437, 1000
    mechanism = ex.Mechanism(matrix, inputs=["yes", "no"], outputs=["yes", "no"])
    e = ex.estimate(mechanism, {"yes": yes, "no": n - yes}, intervals="each")
    share = yes / n
    (a, _), (b, _) = matrix
    assert e.shares[0] == pytest.approx((share - b) / (a - b), abs=1e-9)
    assert e.standard_errors[0] ** 2 == pytest.approx(variance(share, n), rel=1e-9)
    z = 1.959963984540054
    middle = (share + z * z / 2 / n) / (1 + z * z / n)
    away = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / 4 / n / n)
    ends = sorted(((middle - away - b) / (a - b), (middle + away - b) / (a - b)))
    assert [e.lower[0], e.upper[0]] == pytest.approx(ends, abs=1e-9)


# Coverage


def coverage(mechanism, n, rounds, weighted=False):
    """How often each ordinary interval covers the truth."""
    rng = np.random.default_rng(n)
    hits = np.zeros(len(PRIOR.labels))
    for _ in range(rounds):
        if weighted:  # people with a large weight answer otherwise
            heavy = rng.random(n) < 0.4
            theta = np.where(heavy[:, None], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1])
            x = (rng.random(n)[:, None] > theta.cumsum(axis=1)).sum(axis=1)
            w = np.where(heavy, 3.0, 1.0)
            truth = (0.4 * 3 * np.array([0.2, 0.3, 0.5]) + 0.6 * np.array([0.6, 0.3, 0.1])) / 1.8
        else:
            x, w, truth = rng.choice(3, n, p=PRIOR.probabilities), None, PRIOR.probabilities
        y = (rng.random(n)[:, None] > mechanism.matrix.cumsum(axis=1)[x]).sum(axis=1)
        reports = np.array(mechanism.outputs)[np.minimum(y, mechanism.shape[1] - 1)]
        e = ex.estimate(
            mechanism,
            reports,
            sample=ex.SampleDesign(weights=w),
            intervals="each",
            method=ex.Method(prior=PRIOR),
        )
        hits += (e.lower <= truth) & (truth <= e.upper)
    return hits / rounds


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("mechanism", "n"),
    [(TRUTH, 1000), (RESPONSE, 2000), (WIDE, 10_000)],
    ids=["truth", "response", "design"],
)
def test_ordinary_intervals_cover_the_truth_in_95_of_100_surveys(mechanism, n, weighted):
    found = coverage(mechanism, n, 2000, weighted)
    assert found.min() > 0.93
    assert found.max() < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["score", "Wald"])
def test_the_tests_of_groups_reject_5_of_100_when_the_groups_are_alike(weighted):
    rng, rejected, rounds, n = np.random.default_rng(7), 0, 2000, 900
    q = PRIOR.probabilities @ WIDE.matrix
    for _ in range(rounds):
        reports = np.array(WIDE.outputs)[rng.choice(len(q), n, p=q)]
        weights = rng.uniform(1, 4, n) if weighted else None
        found = ex.estimate(
            WIDE,
            reports,
            by=rng.integers(0, 3, n),
            sample=ex.SampleDesign(weights=weights),
            method=ex.Method(prior=PRIOR),
        )
        rejected += found.test.p_value < 0.05
    assert 0.035 < rejected / rounds < 0.065


def test_reports_that_do_not_vary_give_a_warning_with_weights_strata_or_clusters():
    """Weights say nothing about errors then: these are those of as many reports without weights."""
    reports = [RESPONSE.outputs[0]] * 43
    plain = ex.estimate(RESPONSE, reports)
    for how in ({"weights": np.ones(43)}, {"clusters": np.arange(43)}, {"strata": ["one"] * 43}):
        e = ex.estimate(RESPONSE, reports, sample=ex.SampleDesign(**how))
        assert (e.upper - e.lower >= plain.upper - plain.lower).all()
        assert e.standard_errors == pytest.approx(plain.standard_errors, rel=0.05)
        assert any(note.startswith("WARNING: reports do not vary") for note in e.notes())
    assert not any("vary" in note for note in plain.notes())
