"""Sets of priors learned from reports: they hold the prior as often as said, whatever was chosen on the way."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

import extremal as ex
from extremal.certification.certified import Certified
from extremal.errors import FormatError, PriorError
from extremal.model import report_evidence
from extremal.model.report_sums import Stage, Sums, passing
from tests.support.blocks import in_blocks
from tests.support.mechanism_files import redigest

PRIORS = [[0.5, 0.5], [0.1, 0.9], [0.02, 0.98]]


def response(truth, n=2):
    return np.full((n, n), (1 - truth) / (n - 1)) + np.eye(n) * (truth - (1 - truth) / (n - 1))


def holds(stages, error, priors, always=False, drift=0.0):
    """Whether the set that these reports give holds each of the priors."""
    n = len(priors[0])
    told = Sums(tuple(stages), 0.0, always, np.zeros(n), np.ones(n), drift).told(error)
    if not told.possible:
        return [False] * len(priors)
    center = told.center(told.lower, told.upper)
    radius = told.radius(center) + 1e-12
    return [
        bool(
            np.all(told.lower <= pi + 1e-12)
            and np.all(told.upper >= pi - 1e-12)
            and np.abs(center - pi).sum() <= radius
        )
        for pi in map(np.array, priors)
    ]


@pytest.mark.parametrize(
    ("n", "m", "error"), [(12, 9, 0.3), (12, 9, 0.05), pytest.param(4, 150, 0.05, marks=pytest.mark.slow)]
)
def test_over_all_outcomes_a_set_misses_the_prior_no_more_often_than_said(n, m, error):
    """Two stages of two answers; the mechanism of the second depends on what the first reported."""
    first, missed = response(0.7), np.zeros(len(PRIORS))
    for seen in range(n + 1):
        one = Stage(first, np.array([0.5, 0.5]), np.array([seen, n - seen], dtype=float))
        # The more "yes" there were, the harder it is to learn more: the worst that a second stage could do.
        second = response(0.95 if seen < n / 2 else 0.6)
        for also in range(m + 1):
            two = Stage(second, np.array([0.4, 0.6]), np.array([also, m - also], dtype=float))
            for k, held in enumerate(holds([one, two], error, PRIORS)):
                q = np.array(PRIORS[k])
                both = binom.pmf(seen, n, q @ first[:, 0]) * binom.pmf(also, m, q @ second[:, 0])
                missed[k] += both * (not held)
    assert (missed <= error).all()


@pytest.mark.parametrize("people", [40, 300, 2000])
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.4])
def test_what_is_passed_by_is_bounded_for_every_prior_and_limit(people, rate):
    """By adding up the outcomes: two reports, drawn in proportion to their chance times g."""
    P = np.array([[0.8, 0.2], [0.3, 0.7]])
    bet = rate * np.array([[-0.6, 1.4]])
    bound = float(passing(P, bet, people)[0])
    k = np.arange(people + 1)
    most = 0.0
    for share in np.linspace(0, 1, 11):
        q = np.array([1 - share, share]) @ P * np.exp(bet[0])
        q /= q.sum()
        passed = 0.0  # of sums from the highest on: a limit between two of them is passed by more
        for chance in binom.pmf(k, people, q[1])[::-1]:
            passed = chance + passed * math.exp(bet[0, 0] - bet[0, 1])
            most = max(most, passed)
    assert most <= bound * (1 + 1e-9)
    assert bound < 1 or rate * people**0.5 < 2


@pytest.mark.parametrize(
    ("pi", "looks"),
    [(PRIORS[0], 20), *(pytest.param(pi, 40, marks=pytest.mark.slow) for pi in PRIORS)],
)
def test_whoever_stops_when_the_set_misses_the_prior_succeeds_no_more_often_than_said(pi, looks):
    """At every look, by all paths: a set that misses once has missed."""
    pi, P, error = np.array(pi), response(0.75), 0.2
    q = float(pi @ P[:, 0])
    alive = {0: 1.0}
    for n in range(1, looks + 1):
        following = {}
        for seen, chance in alive.items():
            for more, p in ((1, q), (0, 1 - q)):
                following[seen + more] = following.get(seen + more, 0.0) + chance * p
        alive = {
            seen: chance
            for seen, chance in following.items()
            if holds([Stage(P, np.array([0.5, 0.5]), np.array([seen, n - seen], float))], error, [pi], True)[
                0
            ]
        }
    assert 1 - math.fsum(alive.values()) <= error


def polytope_by_definition(stages, n, error):
    """Every test of every set of answers, written out; the half-space of its tangent where the estimate lies."""
    sets = [np.array(bits, float) for bits in itertools.product((0, 1), repeat=n) if 0 < sum(bits) < n]
    return Sums(tuple(stages), 0.0, False, np.zeros(n), np.ones(n))._polytope(np.array(sets), error), sets


def test_half_spaces_hold_whatever_the_tests_do_not_refute():
    """prod g(Y) / (pi . P g) <= k / error, by its definition, at random priors."""
    rng = np.random.default_rng(5)
    P = rng.dirichlet(np.full(4, 2.0), size=3)
    stage = Stage(P, np.array([0.5, 0.3, 0.2]), np.array([30.0, 20.0, 25.0, 5.0]))
    (normals, offsets), sets = polytope_by_definition([stage], 3, 0.1)
    scores, variances = stage.scores(np.array(sets))
    limit = math.log(len(sets) / 0.1)
    rates = np.sqrt(2 * limit / (80 / variances)) / variances
    for pi in rng.dirichlet(np.ones(3), size=300):
        for k in range(len(sets)):
            g = np.exp(rates[k] * scores[k])
            level = float(np.log(g) @ stage.counts - 80 * np.log(pi @ P @ g))
            if level <= limit + math.log(passing(P, np.log(g)[None], 80)[0]):
                assert normals[k] @ pi >= offsets[k] - 1e-9


def test_the_least_shares_are_those_of_the_linear_programs():
    rng = np.random.default_rng(6)
    P = rng.dirichlet(np.full(5, 2.0), size=4)
    pi = np.array([0.4, 0.3, 0.2, 0.1])
    stage = Stage(P, pi, rng.multinomial(800, pi @ P).astype(float))
    sums = Sums((stage,), 0.0, False, np.array([0.1, 0, 0, 0]), np.array([1, 1, 0.5, 1.0]))
    told = sums.told(0.05)
    normals, offsets = sums._polytope(told.sets, 0.05)
    for inside, least in zip(told.sets, told.least, strict=True):
        found = linprog(inside, A_ub=-normals, b_ub=-offsets, A_eq=np.ones((1, 4)), b_eq=[1])
        assert least == pytest.approx(found.fun, abs=1e-6)
        assert least <= found.fun + 1e-9


@pytest.mark.parametrize("seed", [4, 8, 10, 21, 35])
def test_mechanisms_from_which_shares_hardly_follow_have_the_best_least_shares_too(seed):
    """Another computer that ends a program elsewhere finds the same bounds, so it accepts the file."""
    rng = np.random.default_rng(seed)
    pi = rng.dirichlet(np.full(5, 0.5))
    stages = []
    for _ in range(3):
        P = rng.dirichlet(np.full(2, 20.0), size=5)
        stages.append(Stage(P, np.full(5, 0.2), rng.multinomial(100_000, pi @ P).astype(float)))
    sums = Sums(tuple(stages), 0.0, False, np.zeros(5), np.ones(5))
    told = sums.told(0.05)
    normals, offsets = sums._polytope(told.sets, 0.05)
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    for inside, least in zip(told.sets, told.least, strict=True):
        found = linprog(inside, A_ub=-normals, b_ub=-offsets, A_eq=np.ones((1, 5)), b_eq=[1], options=exact)
        assert least == pytest.approx(max(found.fun, 0.0), abs=2e-8)


@pytest.mark.parametrize("valid", ["fixed", "always"])
@pytest.mark.parametrize("rows", [[[0.5, 0.5]] * 3, [[1.0]] * 3])
def test_reports_that_tell_nothing_leave_every_prior(rows, valid):
    labels = list("abc")
    outputs = ["x", "y"][: len(rows[0])]
    nothing = ex.certify(ex.Prior.uniform(labels), ex.Mechanism(rows, labels, outputs), 0.7)
    with np.errstate(all="raise"):
        priors = ex.PriorSet.from_reports(nothing, dict.fromkeys(outputs, 500), valid=valid)
    assert all(priors.contains(corner) for corner in np.eye(3))


def collect(certified, pi, n, rng):
    counts = rng.multinomial(n, np.asarray(pi) @ certified.mechanism.matrix)
    return dict(zip(certified.outputs, counts.tolist(), strict=True))


@pytest.fixture(scope="module")
def first():
    return ex.certify(ex.design(ex.PriorSet.at_least(list("abcd"), 0), 0.7))


PI = [0.6, 0.25, 0.1, 0.05]


def test_a_design_for_the_set_keeps_epsilon_under_the_prior_that_nobody_knew(first):
    rng = np.random.default_rng(7)
    priors = ex.PriorSet.from_reports(first, collect(first, PI, 1500, rng))
    assert priors.contains(PI)
    design = ex.design(priors, 0.7)
    assert ex.check_design(design).ok
    true = ex.Prior(dict(zip("abcd", PI, strict=True)))
    assert ex.epsilon_pml(true, design.mechanism) <= 0.7
    assert ex.shares(true, design.mechanism) > 1.5 * ex.shares(true, first.mechanism)


def test_a_second_stage_makes_the_set_smaller_and_reports_may_come_as_columns(first):
    rng = np.random.default_rng(8)
    counts = collect(first, PI, 1000, rng)
    column = [label for label, count in counts.items() for _ in range(count)]
    one = ex.PriorSet.from_reports(first, column)
    assert one.radius == ex.PriorSet.from_reports(first, counts).radius
    second = ex.certify(ex.design(one, 0.7))
    two = ex.PriorSet.from_reports([(first, counts), (second, collect(second, PI, 2000, rng))])
    assert two.radius < 0.7 * one.radius
    assert two.contains(PI)


@pytest.mark.parametrize("forged", [0.01, pytest.param(0.1, marks=pytest.mark.slow)])
def test_reports_that_were_forged_as_badly_as_can_be_do_not_move_the_prior_out_of_the_set(first, forged):
    """Every forged report is the one that moves the estimates most; without the assumption the set misses."""
    rng = np.random.default_rng(9)
    missed = trusting = 0
    for _ in range(20):
        honest = collect(first, PI, round(20_000 * (1 - forged)), rng)
        for label in first.outputs:
            reports = honest | {label: honest[label] + round(20_000 * forged)}
            missed += not ex.PriorSet.from_reports(first, reports, forged=forged).contains(PI)
            try:
                trusting += not ex.PriorSet.from_reports(first, reports).contains(PI)
            except PriorError:
                trusting += 1
    assert missed == 0
    assert forged < 0.1 or trusting > 50


def test_a_drift_is_allowed_for_in_every_direction(first):
    rng = np.random.default_rng(10)
    reports = collect(first, PI, 100_000, rng)
    priors = ex.PriorSet.from_reports(first, reports, drift=0.1)
    for away in itertools.permutations([0.05, -0.05, 0.0, 0.0]):
        moved = np.array(PI) + away
        if moved.min() >= 0:
            assert priors.contains(moved)


def test_stages_may_each_have_drifted_in_another_direction():
    """Each tells one answer from the others, and the people of each gave that one less often than the next people."""
    pi, drift, stages = np.full(4, 0.25), 0.1, []
    for one in np.eye(4):
        theirs = pi - drift / 2 * one + drift / 6 * (1 - one)
        matrix = np.where(one[:, None] > 0, [[0.8, 0.2]], [[0.3, 0.7]])
        stages.append(Stage(matrix, pi, 1e6 * (theirs @ matrix)))
    assert holds(stages, 0.05, [pi], drift=drift) == [True]
    assert holds(stages, 0.05, [pi], drift=drift / 2) == [False]


def test_what_is_sure_always_limits_the_set(first):
    reports = collect(first, PI, 500, np.random.default_rng(11))
    wide = ex.PriorSet.from_reports(first, reports, drift=0.05)
    sure = ex.PriorSet.from_reports(first, reports, drift=0.05, between={"a": (0.5, 0.7)})
    assert (sure.lower[0], sure.upper[0]) == (0.5, 0.7)
    assert sure.radius < wide.radius
    assert sure.contains(PI)


def test_a_set_whose_center_lies_at_the_end_of_a_sure_range_has_a_nominal_prior_without_zeros(first):
    reports = dict(zip("abcd", [918, 812, 678, 592], strict=True))
    sure = {"d": (0.0, 0.0001), "a": (0.6, 0.7)}
    priors = ex.PriorSet.from_reports(first, reports, 0.7, drift=0.1, between=sure)
    assert priors.contains(priors.nominal.probabilities)
    assert 0 < priors.nominal.probabilities[3] < 0.0001


@pytest.mark.parametrize("n", [2, 7])
@pytest.mark.parametrize("people", [10**9, 2**52])
def test_as_many_reports_as_can_be_counted_leave_next_to_nothing_open(n, people):
    """As many as expected, so that a bet is smaller than what doubles lose beside 1."""
    pi = np.arange(1, n + 1) / (n * (n + 1) / 2)
    certified = ex.certify(ex.design(ex.PriorSet.at_least(n, 0), 0.7))
    expected = np.floor(people * (pi @ certified.mechanism.matrix)).astype(int)
    counts = dict(zip(certified.outputs, expected.tolist(), strict=True))
    priors = ex.PriorSet.from_reports(certified, counts)
    assert priors.contains(pi)
    assert priors.radius < 100 / people**0.5 + 1e-6


@pytest.mark.parametrize("n", [pytest.param(n, marks=pytest.mark.slow) for n in (12, 30)])
def test_many_answers_have_sets_too(n):
    rng = np.random.default_rng(n)
    pi = 1 / np.arange(1, n + 1)
    pi /= pi.sum()
    certified = ex.certify(ex.Prior.uniform(n), ex.theory.randomized_response(n, 2.0), 2.0)
    for valid in ("fixed", "always"):
        priors = ex.PriorSet.from_reports(certified, collect(certified, pi, 20_000, rng), valid=valid)
        assert priors.contains(pi)
        assert priors.upper.max() < 0.9


def test_the_file_carries_the_reports_and_is_computed_again(first, tmp_path):
    rng = np.random.default_rng(12)
    priors = ex.PriorSet.from_reports(
        first, collect(first, PI, 700, rng), 0.9, forged=0.001, drift=0.02, between={"d": (0.0, 0.3)}
    )
    made = ex.certify(ex.design(priors, 0.7))
    made.save(tmp_path / "m.json")
    found = ex.load(tmp_path / "m.json").prior_set
    assert found.evidence == priors.evidence
    assert found.description == priors.description
    assert "700 reports" in found.description
    assert "0.1 % of them forged" in found.description
    document = json.loads((tmp_path / "m.json").read_text())
    assert Certified.from_json(json.dumps(redigest(document))).prior_set.radius == priors.radius


def widen(stage):
    """A stage of 5,000 outputs, nearly all of which nobody reports."""
    more = ["0"] * 5000
    stage["weights"] = [row + more for row in stage["weights"]]
    stage["counts"] += more


def altered():
    def stage(**members):
        return lambda e: e["stages"][0].update(members)

    yield "more reports", lambda e: e["stages"][0]["counts"].__setitem__(0, "99999")
    yield "a count too few", lambda e: e["stages"][0]["counts"].pop()
    yield "no stages", lambda e: e.update(stages=[])
    yield "another drift", lambda e: e.update(assumed=["0.0", "0.2"])
    yield "a decimal of another form", lambda e: e.update(assumed=["0", "0.00"])
    yield "an unknown kind of validity", lambda e: e.update(valid="never")
    yield "a member more", lambda e: e.update(note="x")
    yield "other bits", stage(bits=61)
    yield "true for bits", stage(bits=True)
    yield "a prior that does not sum to 1", stage(prior=["0.3"] * 4)
    yield "no ranges", lambda e: e.update(between=None)
    yield "more reports than doubles count", lambda e: e["stages"][0]["counts"].__setitem__(0, "9" * 300)
    yield "more stages than anybody asks", lambda e: e.update(stages=e["stages"] * 101)
    yield "outputs that take hours", lambda e: widen(e["stages"][0])
    yield "ranges upside down", lambda e: e.update(between=e["between"][::-1])


@pytest.mark.parametrize(("what", "change"), list(altered()), ids=[name for name, _ in altered()])
def test_a_file_whose_evidence_was_altered_is_refused(first, what, change, monkeypatch):
    monkeypatch.setattr(
        report_evidence, "MOST_SCORES", 16 * 4000
    )  # for each output, one of every set of answers
    reports = collect(first, PI, 700, np.random.default_rng(13))
    priors = ex.PriorSet.from_reports(first, reports, between={"a": (0.55, 0.65)})
    document = json.loads(ex.certify(ex.design(priors, 0.7)).to_json())
    change(document["evidence"])
    with pytest.raises((FormatError, PriorError)):
        Certified.from_json(json.dumps(redigest(document)))


def test_a_file_that_calls_it_certain_what_reports_tell_is_refused(first):
    reports = collect(first, PI, 700, np.random.default_rng(13))
    document = json.loads(ex.certify(ex.design(ex.PriorSet.from_reports(first, reports), 0.7)).to_json())
    document["prior_set"]["confidence"] = "1.0"
    with pytest.raises(FormatError):
        Certified.from_json(json.dumps(redigest(document)))


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"forged": 1}, "forged"),
        ({"forged": math.nan}, "forged"),
        ({"drift": -0.1}, "drift"),
        ({"valid": "often"}, "valid"),
        ({"between": {"z": (0, 1)}}, "between"),
        ({"between": {"a": (0.5, 0.2)}}, "between"),
        ({"between": {"a": (0.8, 1), "b": (0.8, 1)}}, "between"),
        ({"between": {"a": (0.0, 0.01)}}, "reports"),
        ({"confidence": 1}, "confidence"),
        ({"reports": []}, "reports"),
        ({"reports": ["another"]}, "reports"),
        ({"reports": {"a": -1}}, "reports"),
        ({"reports": {"a": 1 << 53}}, "reports"),
        ({"reports": {"a": 10**400}}, "reports"),
        ({"reports": None}, "certified"),
    ],
)
def test_what_cannot_be_is_refused_in_one_error(first, options, parameter):
    given = {"reports": collect(first, PI, 5000, np.random.default_rng(14))} | options
    with pytest.raises(ex.errors.ExtremalError) as refused:
        ex.PriorSet.from_reports(first, **given)
    assert refused.value.parameter == parameter


def test_pairs_of_different_answers_are_refused(first):
    other = ex.certify(ex.design(ex.Prior.uniform(list("abce")), 0.7))
    with pytest.raises(PriorError) as refused:
        ex.PriorSet.from_reports([(first, {first.outputs[0]: 3}), (other, {other.outputs[0]: 3})])
    assert refused.value.parameter == "certified"


def test_a_confidence_in_the_place_of_reports_is_refused(first):
    with pytest.raises(PriorError):
        ex.PriorSet.from_reports([(first, {first.outputs[0]: 300})], 0.95)


@pytest.mark.parametrize("wrong", [5, None, "first", ex.Mechanism(np.eye(2))])
def test_a_mechanism_without_a_certificate_is_refused(wrong):
    for given in ([[(wrong, {0: 3})]], [wrong, {0: 3}]):
        with pytest.raises(PriorError) as refused:
            ex.PriorSet.from_reports(*given)
        assert refused.value.parameter == "certified"


def test_blocks_of_answers_are_refused_because_reports_do_not_tell_the_answers_of_one_apart():
    prior = ex.Prior(dict(zip("abcdefg", [0.1, 0.2, 0.1, 0.1, 0.2, 0.1, 0.2], strict=True)))
    made = in_blocks(prior, [0, 1, 1, 0, 1, 1, 1], response(0.6), ["low", "high"])
    certified = ex.certify(prior, made, 2.0)
    with pytest.raises(PriorError) as refused:
        ex.PriorSet.from_reports(certified, {"low": 300})
    assert refused.value.parameter == "certified"


def test_more_stages_or_answers_than_a_file_may_hold_are_refused(first):
    with pytest.raises(PriorError) as refused:
        ex.PriorSet.from_reports([(first, {first.outputs[0]: 300})] * 101)
    assert refused.value.parameter == "reports"
    many = ex.certify(ex.Prior.uniform(201), ex.theory.randomized_response(201, 2.0), 2.0)
    with pytest.raises(PriorError) as refused:
        ex.PriorSet.from_reports(many, {0: 300})
    assert refused.value.parameter == "reports"
