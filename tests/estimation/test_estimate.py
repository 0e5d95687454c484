"""estimate(): the right figures by independent means, from every kind of column, and clear errors."""

import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import extremal as ex
from extremal.estimation.contrasts import Channel
from extremal.estimation.likelihood import _by_squares, _newton, _separable, maximize
from tests.support.examples import at_most
from tests.support.strategies import mechanisms
from tests.support.wording import refused

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
MECHANISM = ex.design(PRIOR, 0.6, ex.mutual_information).mechanism
CERTIFIED = ex.certify(PRIOR, MECHANISM, 0.6)
REPORTS = ["never"] * 30 + ["once"] * 50 + ["often"] * 20
TWINS = ex.Mechanism([[0.9, 0.1, 0.0], [0.9, 0.1, 0.0], [0.0, 0.3, 0.7]], inputs=["a", "b", "c"])


def log_likelihood(P, counts, theta):
    q = theta @ P
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(q[seen]))


# Maximum likelihood


def test_the_binary_maximum_is_the_clamped_inverse_exactly():
    P = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    for hits in range(0, 41):
        exact = min(max((Fraction(hits, 40) - Fraction(1, 4)) * 2, Fraction(0)), Fraction(1))
        e = ex.estimate(P, {0: hits, 1: 40 - hits})
        assert e.shares[0] == pytest.approx(float(exact), abs=1e-9)


def test_the_maximum_is_the_exact_rational_solution_where_that_is_a_distribution():
    rows = [
        [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        [0, Fraction(2, 3), Fraction(1, 3)],
        [Fraction(1, 5), 0, Fraction(4, 5)],
    ]
    truth = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    q = [sum(t * row[y] for t, row in zip(truth, rows, strict=True)) for y in range(3)]
    whole = math.lcm(*(x.denominator for x in q))
    e = ex.estimate(ex.Mechanism(np.array(rows, dtype=float)), {y: int(x * whole) for y, x in enumerate(q)})
    assert e.shares == pytest.approx([float(t) for t in truth], abs=1e-14)
    assert e.gap <= 1e-9


@at_most(40)
@given(data=st.data(), n=st.integers(2, 5))
def test_no_shares_are_better_than_the_gap_allows(data, n):
    """The certificate against shares of every kind, and the maximum against another solver."""
    mechanism = data.draw(mechanisms(n))
    P = mechanism.matrix
    counts = np.array(data.draw(st.lists(st.integers(0, 60), min_size=P.shape[1], max_size=P.shape[1])))
    counts = np.where(P.max(axis=0) > 0, counts, 0)
    if counts.sum() == 0:
        return
    fit = maximize(P, counts, np.full(n, 1 / n))
    best = log_likelihood(P, counts, fit.theta)
    assert fit.theta.min() >= 0
    assert fit.theta.sum() == pytest.approx(1, abs=1e-12)
    assert fit.gap * counts.sum() <= 1e-8
    rng = np.random.default_rng(0)
    for theta in [*np.eye(n), *rng.dirichlet(np.ones(n), 20), *rng.dirichlet(np.full(n, 0.1), 20)]:
        assert log_likelihood(P, counts, theta) <= best + fit.gap * counts.sum() + 1e-9

    def loss(x):
        return -log_likelihood(P, counts, np.maximum(x, 1e-300) / np.maximum(x, 1e-300).sum()) / counts.sum()

    other = minimize(loss, np.full(n, 1 / n), bounds=[(1e-9, 1)] * n, method="L-BFGS-B")
    assert -other.fun * counts.sum() <= best + 1e-8
    assert best == pytest.approx(-other.fun * counts.sum(), abs=1e-2 * counts.sum())


@pytest.mark.slow
def test_a_strictly_concave_maximum_is_that_of_another_solver_and_of_plain_em():
    rng = np.random.default_rng(3)
    for _ in range(10):
        P, counts = rng.dirichlet(np.full(6, 0.5), size=4), rng.integers(0, 300, 6)
        fit = maximize(P, counts, np.full(4, 0.25))
        constraint = {"type": "eq", "fun": lambda x: x.sum() - 1}
        other = minimize(
            lambda x, P=P, c=counts: -c @ np.log(np.maximum(x @ P, 1e-12)) / c.sum(),
            np.full(4, 0.25),
            jac=lambda x, P=P, c=counts: -P @ (c / np.maximum(x @ P, 1e-12)) / c.sum(),
            bounds=[(0, 1)] * 4,
            constraints=constraint,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert fit.theta == pytest.approx(other.x, abs=1e-5)
        theta = np.full(4, 0.25)
        for _ in range(20_000):
            theta = theta * (P @ (counts / counts.sum() / (theta @ P)))
        assert fit.theta == pytest.approx(theta, abs=1e-4)


@pytest.mark.parametrize("size", [3, 6, 40])
def test_closed_forms_for_randomized_response_and_high_privacy_are_what_newtons_method_finds(size):
    rng = np.random.default_rng(size)
    found = 0
    for _ in range(25):
        prior = ex.Prior(rng.dirichlet(np.full(size, 2.0)))
        for mechanism in (
            ex.theory.randomized_response_for_pml(prior, rng.uniform(0.1, 1.5)),
            ex.theory.closed_form.high_privacy(prior, 0.9 * prior.region_edges[1]),
        ):
            P = mechanism.matrix[:, rng.permutation(size)]
            q = rng.dirichlet(np.full(size, 0.3)) @ P
            f = rng.multinomial(3000, q / q.sum()) / 3000
            theta = _separable(P, f)
            if theta is None:
                continue
            found += 1
            seen = f > 0
            fit = _newton(P[:, seen], f[seen], np.zeros(size), np.full(size, 1 / size), 1e-13)
            assert theta == pytest.approx(fit.theta, abs=1e-5)
            assert theta.min() == 0 or theta @ P == pytest.approx(f, abs=1e-12)
    assert found >= 30


@pytest.mark.parametrize(("outputs", "n"), [(40, 10**6), (40, 10**4), (60, 10**6)])
def test_quadratic_models_lead_to_the_maximum_with_many_zeros(outputs, n):
    rng = np.random.default_rng(outputs)
    for _ in range(5):
        P = rng.dirichlet(np.ones(outputs), size=40)
        f = rng.multinomial(n, rng.dirichlet(np.full(40, 0.2)) @ P) / n
        theta = _by_squares(P, f)
        assert theta is not None
        assert theta.min() == 0
        slope = P @ (f / (theta @ P))  # the conditions of a maximum on the simplex
        assert slope.max() <= 1 + 1e-12
        assert slope[theta > 0] == pytest.approx(1, abs=1e-12)
        seen = f > 0
        fit = _newton(P[:, seen], f[seen], np.zeros(40), np.full(40, 1 / 40), 1e-13)
        assert theta == pytest.approx(fit.theta, abs=1e-5)


def test_of_equally_likely_shares_those_nearest_the_prior_are_given():
    prior = ex.Prior([0.2, 0.4, 0.4], labels=["a", "b", "c"])
    e = ex.estimate(TWINS, {0: 4500, 1: 2000, 2: 3500}, method=ex.Method(prior=prior))
    assert e.shares == pytest.approx([0.5 / 3, 1 / 3, 0.5], abs=1e-6)


def test_the_posterior_mode_satisfies_its_conditions_and_moves_from_the_data_to_the_prior():
    counts = {"never": 80, "once": 15, "often": 5}
    free = ex.estimate(CERTIFIED, counts).shares
    last = np.abs(free - PRIOR.probabilities).sum()
    for strength in (0.1, 10.0, 1e3, 1e6):
        e = ex.estimate(CERTIFIED, counts, method=ex.Method("map", strength=strength))
        c, theta = e.counts.counts, e.shares
        P = CERTIFIED.mechanism.matrix
        gradient = P @ (c / (theta @ P)) + strength * PRIOR.probabilities / theta
        assert gradient == pytest.approx(np.full(3, 100 + strength), rel=1e-6)
        distance = np.abs(theta - PRIOR.probabilities).sum()
        assert distance < last
        last = distance
    assert last < 1e-3


def test_the_inverse_is_unbiased_over_all_collections_of_three_reports():
    """The expectation over all 27 sequences is the truth."""
    P, theta = CERTIFIED.mechanism.matrix, np.array([0.1, 0.65, 0.25])
    q, mean = theta @ P, np.zeros(3)
    for i, j, k in np.ndindex(3, 3, 3):
        counts = Counter(CERTIFIED.outputs[y] for y in (i, j, k))
        mean += q[i] * q[j] * q[k] * ex.estimate(CERTIFIED, counts, method="inverse").shares
    assert mean == pytest.approx(theta, abs=1e-12)


def test_standard_errors_are_the_spread_of_the_inverse_over_many_collections():
    rng = np.random.default_rng(1)
    q = PRIOR.probabilities @ CERTIFIED.mechanism.matrix
    samples = np.array(
        [
            ex.estimate(
                CERTIFIED,
                dict(zip(CERTIFIED.outputs, rng.multinomial(2000, q).tolist(), strict=True)),
                method="inverse",
            ).shares
            for _ in range(1500)
        ]
    )
    e = ex.estimate(
        CERTIFIED, dict(zip(CERTIFIED.outputs, np.round(2000 * q).astype(int).tolist(), strict=True))
    )
    assert samples.std(axis=0) == pytest.approx(e.standard_errors, rel=0.08)


# What is identified


def test_symbols_that_are_not_identified_are_named_and_their_sum_is_identified():
    e = ex.estimate(TWINS, {0: 450, 1: 200, 2: 350})
    assert e.identified.tolist() == [False, False, True]
    assert e.indistinguishable == [["a", "b"]]
    assert e.identifies(["a", "b"])
    assert not e.identifies({"a": 1, "b": -1})
    assert e.standard_errors[0] == math.inf
    assert "cannot tell ['a', 'b'] apart" in str(e)
    assert e.lower[0] == pytest.approx(0, abs=1e-6)
    together = e.group({"a or b": ["a", "b"]})
    assert together.identified.all()
    assert together.upper[0] - together.lower[0] < 0.1


@at_most(60)
@given(data=st.data(), n=st.integers(2, 6))
def test_identification_agrees_with_the_rank_of_the_matrix_in_exact_fractions(data, n):
    """e_i is in the column space of P exactly if it does not raise its rank."""
    P = data.draw(mechanisms(n)).matrix
    exact = [[Fraction(x).limit_denominator(1000) for x in row] for row in P.tolist()]
    flags = Channel(P, np.full(n, 1 / n)).identified(np.eye(n))
    for i in range(n):
        wider = [[*row, Fraction(int(k == i))] for k, row in enumerate(exact)]
        assert flags[i] == (rank(wider) == rank(exact))


def rank(rows):
    rows, found = [list(row) for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(found, len(rows)) if rows[r][column] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for r in range(found + 1, len(rows)):
            factor = rows[r][column] / rows[found][column]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[found], strict=True)]
        found += 1
    return found


def test_reports_of_another_mechanism_are_pointed_out():
    assert ex.estimate(TWINS, {0: 450, 1: 200, 2: 350}).misfit == 1.0
    odd = ex.estimate(TWINS, {0: 10, 1: 900, 2: 10})
    assert odd.misfit < 1e-10
    assert "were they made by this mechanism?" in str(odd)


def test_a_small_misfit_is_as_rare_as_it_says():
    """Over all collections of 14 reports, exactly."""
    q = [0.2, 0.5, 0.3]
    same = ex.Mechanism([q, q])
    rare = dict.fromkeys((0.3, 0.1, 0.01), 0.0)
    for a in range(15):
        for b in range(15 - a):
            c = 14 - a - b
            probability = math.comb(14, a) * math.comb(14 - a, b) * q[0] ** a * q[1] ** b * q[2] ** c
            found = ex.estimate(same, {0: a, 1: b, 2: c}).misfit
            for level in rare:
                rare[level] += probability * (found <= level)
    assert all(0 < probability <= level for level, probability in rare.items())


# Columns, counts, streams


@pytest.mark.parametrize(
    "column",
    [
        REPORTS,
        tuple(REPORTS),
        iter(REPORTS),
        np.array(REPORTS),
        np.array(REPORTS, dtype=object),
        pd.Series(REPORTS),
        pd.Series(REPORTS, dtype="category"),
        pl.Series(REPORTS),
        pl.Series(REPORTS, dtype=pl.Categorical),
        pl.Series(REPORTS, dtype=pl.Enum(["often", "never", "once"])),
        pa.array(REPORTS),
        pa.chunked_array([REPORTS[:7], REPORTS[7:]]).dictionary_encode(),
        Counter(REPORTS),
    ],
    ids=lambda column: type(column).__module__.partition(".")[0] + " " + type(column).__name__,
)
def test_every_kind_of_column_gives_the_same_counts(column):
    assert ex.ReportCounts(CERTIFIED.outputs).add(column).to_dict() == {"never": 30, "once": 50, "often": 20}


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i8", "u8", ">i4", "f8", "f4", "O"])
def test_integer_labels_of_every_width_are_counted(dtype):
    m = ex.Mechanism(np.full((2, 4), 0.25), outputs=[3, 0, 7, 100])
    reports = np.array([3, 3, 0, 100, 7, 3], dtype=dtype)
    assert ex.ReportCounts(m.outputs).add(reports).counts.tolist() == [3, 1, 1, 1]
    with pytest.raises(ex.errors.ValuesError, match="others in 2 of 4 rows;"):
        ex.ReportCounts(m.outputs).add(np.array([3, 5, 5, 7], dtype=dtype))


def test_extreme_integers_are_unknown_and_do_not_exhaust_memory():
    m = ex.Mechanism([[0.5, 0.5], [0.1, 0.9]])
    with refused(ex.errors.ValuesError, "others in 3 of 4 rows"):
        ex.ReportCounts(m.outputs).add(np.array([0, -1, 2**62, -(2**63)]))


def test_a_stream_of_batches_gives_the_estimate_of_the_whole():
    counts = ex.ReportCounts(CERTIFIED.outputs)
    for k in range(0, 100, 13):
        counts = counts.add(REPORTS[k : k + 13])
    halves = (
        ex.ReportCounts(CERTIFIED.outputs)
        .add(REPORTS[:50])
        .merge(ex.ReportCounts(CERTIFIED.outputs).add(REPORTS[50:]))
    )
    assert counts == halves
    assert counts.total == 100
    a, b = ex.estimate(CERTIFIED, counts), ex.estimate(CERTIFIED, REPORTS)
    assert a.shares.tolist() == b.shares.tolist()
    assert (a.lower.tolist(), a.upper.tolist()) == (b.lower.tolist(), b.upper.tolist())


def test_from_answers_to_shares_and_back():
    truth = np.random.default_rng(0).choice(["never", "once", "often"], 20_000, p=[0.3, 0.3, 0.4])
    reports = CERTIFIED.privatize(truth.tolist(), source=ex.randomness.SeededWords(5))
    e = ex.estimate(CERTIFIED, reports, intervals="all")
    real = [np.mean(truth == label) for label in e.labels]
    assert (e.lower <= real).all()
    assert (real <= e.upper).all()
    assert ((e.lower <= e.shares) & (e.shares <= e.upper)).all()


# Groups and display


@pytest.mark.parametrize("kind", ["each", "all"])
def test_a_group_of_everything_is_one_and_groups_add_up(kind):
    e = ex.estimate(CERTIFIED, REPORTS, intervals=kind)
    g = e.group({"all": e.labels, "ever": ["once", "often"], "times": {"once": 1, "often": 2}})
    assert g.estimates[0] == pytest.approx(1)
    assert (g.lower[0], g.upper[0]) == pytest.approx((1, 1), abs=1e-9)
    assert g.estimates[1] == pytest.approx(1 - e.shares[0])
    assert g.estimates[2] == pytest.approx(e.shares @ [0, 1, 2])
    assert g.upper[1] - g.lower[1] <= (e.upper - e.lower)[1:].sum()


@pytest.mark.parametrize("kind", ["each", "all"])
def test_a_lower_confidence_gives_narrower_intervals(kind):
    wide, narrow = (ex.estimate(CERTIFIED, REPORTS * 50, confidence=c, intervals=kind) for c in (0.99, 0.5))
    assert ((narrow.upper - narrow.lower) < (wide.upper - wide.lower)).all()


def test_an_estimate_prints_and_becomes_json_html_and_a_picture():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    e = ex.estimate(TWINS, {0: 450, 1: 200, 2: 350})
    for shown in (e, e.group({"ab": ["a", "b"]}), e.difference(e)):
        assert "interval" in str(shown)
        assert "</table>" in shown._repr_html_()
        assert json.loads(shown.to_json())["confidence"] == 0.95
        axes = shown.plot()
        assert len(axes.get_yticklabels()) == len(json.loads(shown.to_json())["rows"])
        plt.close(axes.figure)
    assert json.loads(e.to_json())["rows"][0]["standard_error"] is None
    assert (
        "<script>"
        not in ex.estimate(
            ex.Mechanism(np.eye(2), ["<script>", "b"], ["<script>", "b"]), {"b": 1}
        )._repr_html_()
    )


def test_a_picture_of_500_shares_is_one_page_high_and_names_some_of_them():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    prior = ex.Prior.uniform(500)
    found = ex.estimate(ex.theory.randomized_response_for_pml(prior, 3.0), dict.fromkeys(range(500), 20))
    axes = found.plot()
    assert 20 <= len(axes.get_yticklabels()) <= 50
    assert axes.figure.get_figheight() < 20
    assert len(axes.collections[0].get_segments()) == 500
    plt.close(axes.figure)


# Errors


@pytest.mark.parametrize(
    ("reports", "error", "message"),
    [
        (
            [*REPORTS, "nver", "nver", None],
            ex.errors.ValuesError,
            "others in 3 of 103 rows (1 missing)",
        ),
        ({"never": 3, "nver": 2}, ex.errors.ValuesError, "others in 2 of 5 rows"),
        ({"never": 3, "once": -2}, ex.errors.ValuesError, "-2 for 'once'"),
        ({"never": 2.5}, ex.errors.ValuesError, "2.5"),
        ({"never": float("nan")}, ex.errors.ValuesError, "counts"),
        ({"never": "3x"}, ex.errors.ValuesError, "counts"),
        ([], ex.errors.ValuesError, "reports"),
        ({}, ex.errors.ValuesError, "reports"),
        ({"never": 0}, ex.errors.ValuesError, "reports"),
        ("never", ex.errors.ValuesError, "values"),
        (np.zeros((2, 2)), ex.errors.ValuesError, "values"),
        (ex.ReportCounts(("x", "y"), [1, 2]), ex.errors.MechanismError, "outputs"),
    ],
)
def test_bad_reports_are_refused_with_a_reason(reports, error, message):
    with refused(error, message):
        ex.estimate(CERTIFIED, reports)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "em"}, "method"),
        ({"strength": 2.0}, "maximum-likelihood"),
        ({"name": "map", "strength": -1.0}, "strength"),
    ],
)
def test_bad_options_are_refused_with_a_reason(options, message):
    with refused(ex.errors.OptionError, message):
        ex.estimate(CERTIFIED, REPORTS, method=ex.Method(**options))


def test_a_mechanism_that_does_not_match_is_refused():
    with refused(ex.errors.MechanismError, "mechanism", "Mechanism"):
        ex.estimate(np.eye(2), {0: 1})
    with refused(ex.errors.MechanismError, "4 and 3"):
        ex.estimate(MECHANISM, REPORTS, method=ex.Method(prior=ex.Prior.uniform(4)))
    never = ex.Mechanism([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]])
    with refused(ex.errors.MechanismError, "reports", "4 of 2, which no input gives"):
        ex.estimate(never, {0: 10, 2: 4})
    with refused(ex.errors.OptionError, "prior"):
        ex.estimate(MECHANISM, REPORTS, method="map")
    with refused(ex.errors.MechanismError, "inputs"):
        ex.estimate(CERTIFIED, REPORTS).difference(ex.estimate(TWINS, {0: 1}))
    with refused(ex.errors.MechanismError, "['a'] and ['b']"):
        ex.ReportCounts(("a",)) + ex.ReportCounts(("b",))


@pytest.mark.parametrize(
    ("groups", "given"),
    [
        (["once"], "groups"),
        ({}, "groups"),
        ({"g": ["twice"]}, "'twice'"),
        ({"g": "once"}, "'once'"),
        ({"g": {"once": math.nan}}, "nan"),
    ],
)
def test_bad_groups_are_refused(groups, given):
    with refused(ex.errors.ValuesError, given):
        ex.estimate(CERTIFIED, REPORTS).group(groups)


@pytest.mark.parametrize("kind", ["each", "all"])
def test_one_report_is_enough_for_an_answer(kind):
    e = ex.estimate(CERTIFIED, ["never"], intervals=kind)
    assert ((e.lower >= 0) & (e.upper <= 1) & (e.lower <= e.upper)).all()
    assert (e.upper - e.lower > 0.5).all()


@at_most(40)
@given(data=st.data(), n=st.integers(2, 5), kind=st.sampled_from(["each", "all"]))
def test_every_mechanism_gives_an_answer_that_makes_sense(data, n, kind):
    """Constant mechanisms, zero columns and repeated rows included."""
    mechanism = data.draw(mechanisms(n))
    outputs = mechanism.shape[1]
    counts = np.array(data.draw(st.lists(st.integers(0, 10**7), min_size=outputs, max_size=outputs)))
    counts[mechanism.matrix.max(axis=0) == 0] = 0
    if counts.sum() == 0:
        return
    e = ex.estimate(mechanism, dict(enumerate(counts.tolist())), intervals=kind)
    assert ((e.lower >= -1e-12) & (e.lower <= e.shares) & (e.shares <= e.upper)).all()
    assert (e.upper <= 1 + 1e-12).all()
    assert json.loads(e.to_json())["reports"] == counts.sum()
    same = e.difference(e)
    assert ((same.lower <= 0) & (same.upper >= 0)).all()
    assert (e.group({"all": e.labels}).upper >= 1 - 1e-9).all()


@pytest.mark.parametrize("members", [{"a": "2"}, {"a": None}, {"a": True}, {"a": 10**400}, [["a"]], [{}]])
def test_coefficients_that_are_no_numbers_and_labels_that_cannot_be_any_are_refused(members):
    mechanism = ex.Mechanism([[0.8, 0.2], [0.3, 0.7]], inputs=["a", "b"])
    found = ex.estimate(mechanism, [0, 1, 1])
    with refused(ex.errors.ValuesError, ": "):
        found.group({"some": members})
    for strength in ("x", [1], 10**400):
        with refused(ex.errors.OptionError, "strength"):
            ex.estimate(
                mechanism,
                [0, 1],
                method=ex.Method("map", prior=ex.Prior.uniform(["a", "b"]), strength=strength),
            )


@pytest.mark.parametrize("other", [None, 5, {"a": 3}])
def test_a_difference_of_what_is_no_estimate_is_refused(other):
    found = ex.estimate(ex.Mechanism([[0.8, 0.2], [0.3, 0.7]]), [0, 1, 1])
    with refused(ex.errors.ValuesError, "other"):
        found.difference(other)


def test_more_reports_than_can_be_counted_are_refused():
    mechanism = ex.Mechanism([[0.8, 0.2], [0.3, 0.7]])
    with refused(ex.errors.ValuesError, "counts", "2^63"):
        ex.estimate(mechanism, {0: 2**62, 1: 2**62})
    most = ex.ReportCounts(mechanism.outputs).add({0: 2**62, 1: 2**62 - 1})
    for more in ({0: 1}, {1: 2**62}, most):
        with refused(ex.errors.ValuesError, "counts"):
            most.add(more.to_dict() if isinstance(more, ex.ReportCounts) else more)


def test_a_set_of_reports_is_refused_as_it_lost_how_often_each_came():
    mechanism = ex.Mechanism([[0.8, 0.2], [0.3, 0.7]])
    for reports in ({0, 1}, frozenset([0]), {0: 1, 1: 1}.keys()):
        with refused(ex.errors.ValuesError, "reports", "set"):
            ex.estimate(mechanism, reports)


# Large alphabets


@pytest.fixture(scope="module")
def hundred_thousand():
    """Two outputs for 100,000 answers: a table of answer by answer would take 80 GB."""
    n = 100_000
    high = np.arange(n) < n // 4
    matrix = np.where(high[:, None], [0.8, 0.2], [0.3, 0.7])
    return ex.Mechanism(matrix), high


def test_figures_of_every_one_of_too_many_answers_are_refused_in_one_line(hundred_thousand):
    mechanism, _ = hundred_thousand
    prior = ex.Prior.uniform(mechanism.shape[0])
    reports = {0: 4000, 1: 6000}
    with refused(ex.errors.SizeError, "5000", "100000", 'method="inverse"'):
        ex.estimate(mechanism, reports)
    e = ex.estimate(mechanism, reports, method="inverse")
    for ask in (
        lambda: e.lower,
        lambda: e.standard_errors,
        lambda: e.identified,
        lambda: e.indistinguishable,
        lambda: str(e),
        lambda: e.difference(e),
        lambda: ex.planning.expected_error(prior, mechanism, 1000),
        lambda: ex.planning.sample_size(prior, mechanism, 0.1),
    ):
        with refused(ex.errors.SizeError, "5000"):
            ask()


def test_sums_over_groups_of_any_number_of_answers_are_estimated(hundred_thousand):
    """Groups of equal rows are a mechanism of two answers, whose estimate is known."""
    mechanism, high = hundred_thousand
    reports = {0: 4000, 1: 6000}
    e = ex.estimate(mechanism, reports, method="inverse")
    members = {"high": np.flatnonzero(high).tolist(), "low": np.flatnonzero(~high).tolist()}
    table = e.group(members)
    small = ex.estimate(
        ex.Mechanism([[0.8, 0.2], [0.3, 0.7]]),
        reports,
        method=ex.Method("inverse", prior=ex.Prior([0.25, 0.75])),
    )
    np.testing.assert_allclose(table.estimates, [0.2, 0.8], rtol=1e-9)
    np.testing.assert_allclose(table.lower, small.lower, rtol=1e-6)
    np.testing.assert_allclose(table.upper, small.upper, rtol=1e-6)
    assert table.identified.all()
    assert not e.identifies([0])


def test_the_inverse_applied_at_once_is_that_of_the_weights_of_each_symbol():
    rng = np.random.default_rng(7)
    for shape in ((4, 4), (3, 6), (6, 3)):
        mechanism = ex.Mechanism(rng.dirichlet(np.ones(shape[1]), shape[0]))
        expected = rng.dirichlet(np.ones(shape[0]))
        channel = Channel(mechanism.matrix, expected)
        shares = rng.dirichlet(np.ones(shape[1]))
        one_by_one = [w @ shares for w in channel.weights(np.eye(shape[0]))]
        gain = expected - channel.weights(np.eye(shape[0])) @ (expected @ mechanism.matrix)
        np.testing.assert_allclose(channel.inverse(shares), one_by_one + gain, atol=1e-9)
