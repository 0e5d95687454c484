"""audit_pairs(): the stated error rate holds, leaks are found, any kind of column and report is read."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import extremal as ex
from extremal.auditing.events import encode, frozen
from extremal.estimation.intervals import lower_limit, upper_limit
from tests.support.wording import refused

PRIOR = ex.Prior([0.5, 0.3, 0.2])
LABELS = ["a", "b", "c", "d", "e"]


def draw(mechanism, secrets, rng):
    """Reports as column numbers, by inversion: none of the library's sampling."""
    u = rng.random(len(secrets))
    steps = np.cumsum(mechanism.matrix, axis=1)
    return np.minimum((u[:, None] > steps[secrets]).sum(axis=1), mechanism.shape[1] - 1)


def true_first(secrets, rng):
    """A client that hides the true value among others, and puts it first."""
    reports = []
    for value in secrets:
        others = [label for label in LABELS if label != value]
        rng.shuffle(others)
        reports.append([value, *others[:2]])
    return reports


def dirichlet(n, m, seed):
    return ex.Mechanism(np.random.default_rng(seed).dirichlet(np.full(m, 0.7), n))


MECHANISMS = {
    "randomized response": (PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.3)),
    "an optimal mechanism": (PRIOR, ex.theory.closed_form.high_privacy(PRIOR, 0.2)),
    "certain disclosure": (PRIOR, ex.Mechanism([[1, 0], [0.5, 0.5], [0, 1]])),
    "200 reports": (ex.Prior([0.4, 0.3, 0.2, 0.1]), dirichlet(4, 200, 1)),
    "2 reports": (ex.Prior([0.5, 0.5]), ex.Mechanism([[0.6, 0.4], [0.4, 0.6]])),
}
WAYS = ["estimated", "given", "drawn"]


def wrong_runs(prior, mechanism, way, runs, pairs, confidence=0.95):
    """(audits that accuse a system of the true epsilon, audits in which any bound is above the truth)."""
    truth, epsilon = ex.pml(prior, mechanism), ex.epsilon_pml(prior, mechanism)
    accused = above = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, pairs])
        if way == "given":  # as an auditor would ask: every secret equally often
            x = np.resize(np.arange(prior.size), pairs)
        else:
            x = rng.choice(prior.size, pairs, p=prior.probabilities)
        known = {} if way == "estimated" else {"prior": prior, "drawn": way == "drawn"}
        audit = ex.audit_pairs(x, draw(mechanism, x, rng), epsilon=epsilon, confidence=confidence, **known)
        accused += audit.violation
        above += audit.violation or any(t.lower > truth[t.report] + 1e-12 for t in audit.tests if t.single)
    return accused, above


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", MECHANISMS)
def test_a_system_that_keeps_its_promise_is_accused_no_more_often_than_stated(case, way):
    prior, mechanism = MECHANISMS[case]
    accused, above = wrong_runs(prior, mechanism, way, runs=40, pairs=400)
    assert accused <= above <= 40 * 0.05


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [100, 2000])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", MECHANISMS)
def test_the_error_rate_holds_in_a_thousand_runs(case, way, pairs):
    prior, mechanism = MECHANISMS[case]
    accused, above = wrong_runs(prior, mechanism, way, runs=1000, pairs=pairs)
    assert accused <= above <= 1000 * 0.05


@pytest.mark.parametrize("way", WAYS)
def test_the_error_rate_holds_where_it_is_easily_missed(way):
    """Two reports, so few corrections, and a confidence of one half: errors do occur, no more than stated."""
    prior, mechanism = MECHANISMS["2 reports"]
    accused, above = wrong_runs(prior, mechanism, way, runs=200, pairs=300, confidence=0.5)
    assert accused <= above <= 100
    if way == "drawn":
        assert above > 10  # the bounds are not vacuous


@pytest.mark.parametrize("known", [{}, {"prior": ex.Prior.uniform(LABELS)}])
@pytest.mark.parametrize("pairs", [300, 3000])
def test_a_client_that_puts_its_true_value_first_is_found(pairs, known):
    rng = np.random.default_rng(pairs)
    x = rng.choice(LABELS, pairs).tolist()
    audit = ex.audit_pairs(x, true_first(x, rng), epsilon=0.5, **known)
    assert audit.violation
    assert "item 0 of the report is" in audit.worst.event
    assert audit.epsilon_lower <= math.log(5)
    assert str(audit).startswith("VIOLATION")


def test_the_same_lists_in_random_order_are_not_accused_of_their_order():
    """A subset of 3 of 5 that holds the true value leaks log(5/3); its order tells nothing."""
    rng = np.random.default_rng(3)
    x = rng.choice(LABELS, 4000).tolist()
    y = true_first(x, rng)
    for report in y:
        rng.shuffle(report)
    audit = ex.audit_pairs(x, y, epsilon=math.log(5 / 3))
    assert not audit.violation
    assert 0.4 < audit.epsilon_lower <= math.log(5 / 3)
    assert "at any place, the report holds" in audit.worst.event


def accused_lists(runs, pairs):
    """Audits that accuse clients whose lists hold the true value at a random place, which leaks log(5/3)."""
    accused = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, pairs])
        x = rng.choice(LABELS, pairs).tolist()
        y = true_first(x, rng)
        for report in y:
            rng.shuffle(report)
        accused += ex.audit_pairs(x, y, epsilon=math.log(5 / 3)).violation
    return accused


def test_lists_and_their_parts_keep_the_error_rate():
    assert accused_lists(runs=20, pairs=300) <= 1


@pytest.mark.slow
def test_lists_and_their_parts_keep_the_error_rate_in_a_thousand_runs():
    assert accused_lists(runs=1000, pairs=300) <= 50


def test_reports_that_are_all_different_are_found_out_by_their_parts():
    rng = np.random.default_rng(4)
    x = rng.choice(LABELS, 1000).tolist()
    y = [{"noise": float(rng.random()), "value": value} for value in x]
    audit = ex.audit_pairs(x, y, epsilon=1.0)
    assert audit.violation
    assert audit.reports == 1000
    assert "item 'value' of the report is" in audit.worst.event


def test_many_reports_are_tested_as_a_group():
    """Each of 1000 reports is too rare to show anything alone."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 6000)
    y = [f"r{rng.integers(0, 500)}{'ab'[value if rng.random() < 0.95 else 1 - value]}" for value in x]
    audit = ex.audit_pairs(x, y, epsilon=0.3)
    assert audit.violation
    assert "that favour it" in audit.worst.event


def laplace(secrets, scale, rng):
    return secrets + rng.laplace(0, scale, len(secrets))


@pytest.mark.slow
def test_numbers_that_never_repeat_are_tested_by_their_tails():
    """A secret of 0 or 1 with Laplace noise of scale 1: the lift tends to 2e / (1 + e) far out."""
    rng = np.random.default_rng(6)
    x = rng.integers(0, 2, 20_000)
    y = laplace(x, 1.0, rng)
    truth = math.log(2 * math.e / (1 + math.e))
    audit = ex.audit_pairs(x, y, epsilon=0.2)
    assert audit.violation
    assert truth * 0.7 < audit.epsilon_lower <= truth
    assert " is at " in audit.worst.event
    assert not ex.audit_pairs(x, y, epsilon=truth).violation
    x, y = x[:6000], y[:6000].tolist()
    for reports in ([[0, value] for value in y], [{"sum": value} for value in y]):
        audit = ex.audit_pairs(x, reports, epsilon=0.2)
        assert audit.violation
        assert truth * 0.5 < audit.epsilon_lower <= truth
        assert " is at " in audit.worst.event
        assert not ex.audit_pairs(x, reports, epsilon=truth).violation


def accused_numbers(runs, pairs):
    truth = math.log(2 * math.e / (1 + math.e))
    accused = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, pairs])
        x = rng.integers(0, 2, pairs)
        accused += ex.audit_pairs(x, laplace(x, 1.0, rng), epsilon=truth).violation
    return accused


def test_tails_of_numbers_keep_the_error_rate():
    assert accused_numbers(runs=40, pairs=400) <= 2


@pytest.mark.slow
def test_tails_of_numbers_keep_the_error_rate_in_a_thousand_runs():
    assert accused_numbers(runs=1000, pairs=400) <= 50


@pytest.mark.parametrize("way", WAYS)
def test_more_pairs_show_more_of_the_leakage(way):
    mechanism = ex.theory.randomized_response_for_pml(PRIOR, 0.6)
    found = []
    for pairs in (300, 3000, 100_000):
        rng = np.random.default_rng(pairs)
        x = rng.choice(3, pairs, p=PRIOR.probabilities)
        known = {} if way == "estimated" else {"prior": PRIOR, "drawn": way == "drawn"}
        found.append(ex.audit_pairs(x, draw(mechanism, x, rng), **known).epsilon_lower)
    assert found == sorted(found)
    assert 0.5 < found[-1] <= 0.6


def test_a_claim_that_is_a_little_too_low_is_refuted_with_enough_pairs():
    rng = np.random.default_rng(7)
    x = rng.choice(3, 100_000, p=PRIOR.probabilities)
    y = draw(ex.theory.randomized_response_for_pml(PRIOR, 0.6), x, rng)
    assert ex.audit_pairs(x, y, epsilon=0.5).violation
    assert not ex.audit_pairs(x, y, epsilon=0.6).violation
    assert ex.audit_pairs(x, y).violation is False  # nothing claimed


def test_our_own_client_is_not_accused():
    prior = ex.Prior([0.5, 0.3, 0.2], ["never", "once", "often"])
    certified = ex.certify(prior, ex.design(prior, 0.6, ex.mutual_information).mechanism, 0.6)
    rng = np.random.default_rng(8)
    x = rng.choice(prior.labels, 20_000, p=prior.probabilities).tolist()
    y = certified.privatize(x, source=ex.randomness.SeededWords(8))
    audit = ex.audit_pairs(x, y, epsilon=0.6, prior=prior)
    assert not audit.violation
    assert audit.epsilon_lower > 0.5


def test_the_limits_are_those_of_the_binomial_distribution():
    for n, k, alpha in itertools.product([1, 7, 40], [0, 1, 5, 7, 40], [0.3, 1e-3, 1e-8]):
        if k > n:
            continue
        low, high = float(lower_limit(k, n, alpha)), float(upper_limit(k, n, alpha))
        assert low <= k / n <= high
        assert low == 0 if k == 0 else binom.sf(k - 1, n, low) == pytest.approx(alpha, rel=1e-6)
        assert high == 1 if k == n else binom.cdf(k, n, high) == pytest.approx(alpha, rel=1e-6)


def test_columns_of_every_library_give_the_same_audit():
    rng = np.random.default_rng(9)
    x = rng.choice(LABELS, 400).tolist()
    y = true_first(x, rng)
    expected = ex.audit_pairs(x, y, epsilon=1).to_dict()
    assert ex.audit_pairs(iter(x), (list(r) for r in y), epsilon=1).to_dict() == expected
    assert ex.audit_pairs(np.array(x), np.array(y), epsilon=1).to_dict() == expected
    pandas = pytest.importorskip("pandas")
    assert ex.audit_pairs(pandas.Series(x), pandas.Series(y), epsilon=1).to_dict() == expected
    pyarrow = pytest.importorskip("pyarrow")
    assert ex.audit_pairs(pyarrow.array(x), pyarrow.chunked_array([y]), epsilon=1).to_dict() == expected
    polars = pytest.importorskip("polars")
    assert ex.audit_pairs(polars.Series(x), polars.Series(y), epsilon=1).to_dict() == expected


def test_missing_secrets_of_pandas_are_refused_too():
    pandas = pytest.importorskip("pandas")
    for missing in (pandas.NA, pandas.NaT, math.nan):
        with refused(ex.errors.ValuesError, "secrets", "missing"):
            ex.audit_pairs(pandas.Series([missing, *TEN[1:]], dtype=object), TEN)


def test_reports_are_told_apart_as_they_are():
    different = [
        1,
        1.0,
        True,
        "1",
        b"1",
        None,
        [1],
        (1,),
        [[1]],
        [1, 2],
        [2, 1],
        {"a": 1},
        {1},
        np.array([1]),
    ]
    different += [{"a": 1, "b": 2}, {"b": 2, "a": 1}, math.nan, np.datetime64("2020-01-01"), []]
    assert len(encode(different).values) == len(different)
    same = [(math.nan, float("nan")), (np.int64(1), 1), ({1, 2}, {2, 1}), (np.float64(0.5), 0.5)]
    assert all(frozen(one) == frozen(other) for one, other in same)


@given(st.recursive(st.integers() | st.text(max_size=3) | st.booleans(), lambda s: st.lists(s, max_size=3)))
def test_equal_reports_get_one_code(value):
    copied = json.loads(json.dumps(value))
    assert frozen(value) == frozen(copied)


def test_the_result_is_plain_and_readable():
    rng = np.random.default_rng(10)
    x = rng.choice(LABELS, 300).tolist()
    audit = ex.audit_pairs(x, true_first(x, rng), epsilon=0.5)
    assert json.loads(audit.to_json()) == audit.to_dict()
    assert audit.to_dict()["violation"] is True
    assert "accused with probability at most 0.05" in audit.to_markdown()
    assert "<table>" in audit._repr_html_()
    assert repr(audit).startswith("PairsAudit(300 pairs")
    silent = ex.audit_pairs(x, [0] * 300)
    assert silent.epsilon_lower == 0
    assert silent.worst is None
    assert silent.to_dict()["violation"] is None
    assert "at least 0 nats" in str(silent)


def test_secrets_drawn_with_the_same_seed_as_the_split_do_not_fool_it():
    """A split by default_rng(0) would give every third of the pairs, those with small numbers, one secret."""
    mechanism = ex.theory.randomized_response_for_pml(PRIOR, 0.6)
    x = np.random.default_rng(0).choice(3, 20_000, p=PRIOR.probabilities)
    y = draw(mechanism, x, np.random.default_rng(1))
    audit = ex.audit_pairs(x, y, epsilon=0.6, seed=0)
    assert 0.4 < audit.epsilon_lower <= 0.6
    shares = {t.secret: t.secret_count / audit.tested_pairs for t in audit.tests if t.single}
    assert shares == pytest.approx({0: 0.5, 1: 0.3, 2: 0.2}, abs=0.02)


def test_the_same_seed_gives_the_same_audit():
    rng = np.random.default_rng(11)
    x = rng.choice(LABELS, 300).tolist()
    y = true_first(x, rng)
    assert ex.audit_pairs(x, y).to_dict() == ex.audit_pairs(x, y).to_dict()
    assert ex.audit_pairs(x, y, seed=1).to_dict() != ex.audit_pairs(x, y, seed=2).to_dict()


TEN = list(range(2)) * 20


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ex.audit_pairs(TEN, TEN[1:]), ex.errors.ValuesError, "39"),
        (lambda: ex.audit_pairs([], []), ex.errors.ValuesError, "0"),
        (lambda: ex.audit_pairs("abc", TEN), ex.errors.ValuesError, "'abc'"),
        (lambda: ex.audit_pairs(TEN, 5), ex.errors.ValuesError, "5"),
        (lambda: ex.audit_pairs([None, *TEN[1:]], TEN), ex.errors.ValuesError, "secrets"),
        (lambda: ex.audit_pairs([0] * 40, TEN), ex.errors.ValuesError, "x"),
        (
            lambda: ex.audit_pairs(TEN, TEN, prior=ex.Prior.uniform("ab")),
            ex.errors.PriorError,
            "'ab'",
        ),
        (
            lambda: ex.audit_pairs(TEN, TEN, prior=ex.Prior.uniform(["a", "b"])),
            ex.errors.ValuesError,
            "[0, 1, 0, 1, 0]",
        ),
        (lambda: ex.audit_pairs(TEN, TEN, prior=[0.5, 0.5]), ex.errors.PriorError, "prior"),
        (lambda: ex.audit_pairs(TEN, TEN, drawn=True), ex.errors.OptionError, "none"),
        (lambda: ex.audit_pairs(TEN, TEN, epsilon=-1), ex.errors.EpsilonError, "epsilon"),
        (lambda: ex.audit_pairs(TEN, TEN, seed=0.5), ex.errors.OptionError, "seed"),
    ],
)
def test_bad_input_is_refused_in_words(call, kind, words):
    with refused(kind, words):
        call()
