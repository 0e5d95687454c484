"""audit(): figures against independent computations and peers, words that hold, JSON, notebook, plot."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from tests.support import oracles
from tests.support.audited import PRIOR, SKEWED, SOFT
from tests.support.strategies import mechanisms, pairs, priors
from tests.support.wording import refused


@given(pairs())
def test_every_outcome_has_the_leakage_and_probability_of_exact_fractions(pair):
    prior, mechanism = pair
    pi = [Fraction(p) for p in prior.probabilities.tolist()]
    P = [[Fraction(p) for p in row] for row in mechanism.matrix.tolist()]
    exact = oracles.exact_lift(pi, P)
    for j, outcome in enumerate(ex.audit(prior, mechanism).outcomes):
        column = [row[j] for row in exact]
        if column[0] is None:
            assert (outcome.leakage, outcome.probability, outcome.excluded) == (0, 0, ())
            continue
        best = max(column)
        assert outcome.leakage == pytest.approx(max(math.log(best), 0), abs=1e-13)
        assert outcome.probability == pytest.approx(
            float(sum(p * row[j] for p, row in zip(pi, P, strict=True))), abs=1e-14
        )
        attained = {i for i, x in enumerate(column) if x >= best * (1 - Fraction(1, 10**10))}
        assert set(outcome.symbols) <= attained
        assert column.index(best) in outcome.symbols
        assert outcome.excluded == tuple(i for i, x in enumerate(column) if x < Fraction(1, 10**6))
        after = [float(p * x) for p, x in zip(pi, column, strict=True)]
        assert outcome.guess_probability == pytest.approx(max(after), abs=1e-12)


@given(pairs())
def test_an_answer_is_nearly_certain_where_exact_fractions_leave_little_and_less_doubt(pair):
    """At least 95% likely after some report, and no more than half of the doubt is left; whatever the prior."""
    prior, mechanism = pair
    pi = [Fraction(p) for p in prior.probabilities.tolist()]
    P = [[Fraction(p) for p in row] for row in mechanism.matrix.tolist()]
    doubts = []
    for column in zip(*oracles.exact_lift(pi, P), strict=True):
        if column[0] is not None:
            rest = [(max(1 - p * x, 0), 1 - p) for p, x in zip(pi, column, strict=True)]
            doubts += [max(after / Fraction(1, 20), 2 * after / before) for after, before in rest]
    if min(abs(doubt - 1) for doubt in doubts) < 1e-9:
        return  # rounding decides
    found = ex.audit(prior, mechanism).near_certainty
    assert (found is not None) == (min(doubts) < 1)
    if found is not None:
        x, y = prior.labels.index(found.answer), mechanism.outputs.index(found.report)
        rho = sum(p * row[y] for p, row in zip(pi, P, strict=True))
        assert found.before == prior.probabilities[x]
        assert found.after == pytest.approx(float(pi[x] * P[x][y] / rho), abs=1e-12)


def test_even_odds_are_nearly_given_away_from_log_1_9_on():
    """The posterior of the optimal report is e^epsilon / 2; that of an answer that was likely before means little."""
    fair = ex.Prior({"yes": 0.5, "no": 0.5})
    for epsilon, near in ((0.5, False), (0.64, False), (0.645, True), (0.69, True), (math.log(2), True)):
        audit = ex.audit(fair, ex.design(fair, epsilon).mechanism)
        assert (audit.near_certainty is not None) == audit.nearly_discloses == near
        assert ("near certainty: after report “yes”" in str(audit)) == near
        assert ("nearly certain: after report “yes”" in audit.to_markdown()) == near
    found = ex.audit(ex.certify(ex.design(fair, 0.69), allow_true_answers=True)).near_certainty
    assert (found.report, found.answer, found.before) == ("yes", "yes", 0.5)
    assert found.after == pytest.approx(math.exp(0.69) / 2)
    assert found.probability == pytest.approx(1)
    likely = ex.Prior([0.94, 0.06])
    assert ex.audit(likely, ex.Mechanism([[0.6, 0.4], [0.4, 0.6]])).near_certainty is None  # 0.959 after
    rare = ex.audit(PRIOR, ex.Mechanism([[0.1, 0.9], [0, 1], [0, 1]], PRIOR.labels))
    assert rare.near_certainty.answer == "never"
    assert rare.near_certainty.probability == pytest.approx(0.05)
    assert not rare.nearly_discloses


@given(pairs())
def test_the_constructed_worst_attribute_attains_the_reported_leakage(pair):
    prior, mechanism = pair
    audit = ex.audit(prior, mechanism)
    if prior.probabilities.min() < 1e-4:
        return  # an attribute of millions of values; see the next test
    attribute, worst = audit.worst_attribute(), audit.worst_case
    assert attribute.leakage(prior, mechanism, worst.report) == pytest.approx(audit.epsilon, abs=1e-11)
    assert attribute.prior_gain(prior) == pytest.approx(worst.before, rel=1e-9)
    assert attribute.posterior_gain(prior, mechanism, worst.report) == pytest.approx(worst.after, rel=1e-9)


@given(pairs())
def test_the_worst_case_attains_the_reported_leakage_however_rare_its_answer(pair):
    prior, mechanism = pair
    audit = ex.audit(prior, mechanism)
    worst = audit.worst_case
    posterior = ex.theory.adversary.posterior(prior, mechanism, worst.report)
    assert worst.before == prior.probabilities[prior.index(worst.symbol)]
    assert worst.after == pytest.approx(posterior[prior.index(worst.symbol)], rel=1e-12)
    assert math.log(worst.after / worst.before) == pytest.approx(audit.epsilon, abs=1e-12)


@given(pairs(max_size=4), st.data())
def test_no_attribute_is_guessed_better_than_the_bound_says(pair, data):
    prior, mechanism = pair
    audit = ex.audit(prior, mechanism)
    attribute = ex.theory.adversary.Attribute(data.draw(mechanisms(prior.size)).matrix)
    before = attribute.prior_gain(prior)
    average = 0.0
    for outcome in audit.outcomes:
        if outcome.probability > 0:
            after = attribute.posterior_gain(prior, mechanism, outcome.output)
            assert after <= audit.guess_bound(min(before, 1.0)) + 1e-12
            assert after <= math.exp(outcome.leakage) * before + 1e-12
            average += outcome.probability * after
    assert average <= math.exp(audit.maximal_leakage) * before + 1e-12


@given(pairs())
def test_what_is_confirmed_with_certainty_respects_the_regions(pair):
    """Lemma 2: at most k - 1 answers are excluded in region k, and l(X→y) >= -log P_X(possible answers)."""
    prior, mechanism = pair
    audit = ex.audit(prior, mechanism)
    certainty = audit.to_dict()["certainty"]
    reports = [y for d in audit.disclosures for y in d.reports]
    assert sorted(reports) == sorted(o.output for o in audit.outcomes if o.excluded)
    leakage = {o.output: o.leakage for o in audit.outcomes}
    for d in audit.disclosures:
        assert len(d.excluded) <= certainty["most_answers_that_can_be_excluded"]
        assert d.possible_probability >= certainty["least_probability_that_can_be_confirmed"] - 1e-12
        assert set(d.possible) | set(d.excluded) == set(prior.labels)
        for y in d.reports:
            assert leakage[y] >= -math.log(d.possible_probability) - 1e-12
    found = [d.possible_probability for d in audit.disclosures]
    assert found == sorted(found)
    excluding = certainty["probability_that_some_answer_is_excluded"]
    assert excluding == pytest.approx(sum(d.probability for d in audit.disclosures))
    assert excluding == 1 or len(reports) < len(audit.outcomes)  # "100 %" where every report does


def test_where_every_report_rules_out_an_answer_that_is_said_of_all_of_them():
    for n in range(3, 40):
        prior = ex.Prior.uniform(n)
        audit = ex.audit(prior, ex.theory.closed_form.uniform(n, math.log(n) / 2))
        assert audit.to_dict()["certainty"]["probability_that_some_answer_is_excluded"] == 1
        assert "every report rules out some answer" in str(audit)


@given(pairs())
def test_the_measures_are_those_of_the_library_and_its_distribution(pair):
    prior, mechanism = pair
    audit = ex.audit(prior, mechanism)
    assert audit.epsilon == ex.epsilon_pml(prior, mechanism)
    assert audit.maximal_leakage == pytest.approx(oracles.log_mean_exp(audit.distribution), abs=1e-12)
    assert audit.lip_epsilon == pytest.approx(ex.measures.lip_epsilon(prior, mechanism), abs=1e-12)
    lowest = ex.measures.lift(prior, mechanism).min()
    assert audit.lip_lower == (math.inf if lowest == 0 else pytest.approx(-math.log(lowest), abs=1e-12))
    assert audit.tail(audit.epsilon) == 0
    assert audit.ldp_epsilon == ex.measures.ldp_epsilon(mechanism)


@given(pairs())
def test_audit_agrees_with_qif(pair):
    qif = pytest.importorskip("qif")
    prior, mechanism = pair
    audit = ex.audit(prior, mechanism)
    pi, C = prior.probabilities.copy(), np.array(mechanism.matrix, order="F")
    bayes = qif.measure.bayes_vuln
    assert audit.maximal_leakage == pytest.approx(math.log(bayes.mult_capacity(C)), abs=1e-9)
    assert audit.mutual_information == pytest.approx(
        qif.measure.shannon.add_leakage(pi, C) * math.log(2), abs=1e-9
    )
    assert audit.prior_guess == pytest.approx(bayes.prior(pi), abs=1e-9)
    assert audit.average_guess == pytest.approx(bayes.posterior(pi, C), abs=1e-9)
    used = np.array(mechanism.matrix[:, mechanism.matrix.max(axis=0) > 0], order="F")
    theirs = qif.measure.d_privacy.smallest_epsilon(used, lambda i, j: float(i != j))
    assert audit.ldp_epsilon == pytest.approx(theirs, abs=1e-9)


@given(priors(max_size=4), st.data())
def test_audit_agrees_with_dit(prior, data):
    dit = pytest.importorskip("dit")
    mechanism = data.draw(mechanisms(prior.size, max_outputs=5))
    audit = ex.audit(prior, mechanism)
    joint = prior.probabilities[:, None] * mechanism.matrix
    joint /= joint.sum()
    where = np.argwhere(joint > 0)
    distribution = dit.Distribution([tuple(pair) for pair in where.tolist()], joint[tuple(where.T)])
    theirs = dit.other.maximal_leakage(distribution, [0], [1])
    assert audit.maximal_leakage == pytest.approx(theirs * math.log(2), abs=1e-9)
    theirs = dit.shannon.mutual_information(distribution, [0], [1])
    assert audit.mutual_information == pytest.approx(theirs * math.log(2), abs=1e-9)


def test_the_figures_of_an_example_worked_out_by_hand():
    audit = ex.audit(PRIOR, SKEWED)
    low, high = audit.outcomes
    assert (low.output, low.symbols, low.excluded) == ("low", ("never",), ("often",))
    assert (high.output, high.symbols, high.excluded) == ("high", ("often",), ("never",))
    assert np.exp([low.leakage, high.leakage]) == pytest.approx([1 / 0.65, 1 / 0.35])
    assert (low.probability, high.probability) == pytest.approx((0.65, 0.35))
    assert (high.guess, high.guess_probability) == ("often", pytest.approx(0.2 / 0.35))
    assert audit.average_guess == pytest.approx(0.5 + 0.2)
    assert audit.worst_guess == pytest.approx(0.5 / 0.65)
    assert audit.guess_bound(0.1) == pytest.approx(0.1 / 0.35)
    assert audit.guess_bound(0.5) == 1
    assert [d.possible_probability for d in audit.disclosures] == pytest.approx([0.5, 0.8])
    assert audit.tail(0.5) == pytest.approx(0.35)


def test_a_certified_mechanism_is_audited_by_its_integers():
    design = ex.design(PRIOR, 0.6, ex.mutual_information)
    certified = ex.certify(PRIOR, design.mechanism, 0.6)
    audit = ex.audit(PRIOR, certified)
    assert audit.exact
    assert audit.epsilon == certified.realised_epsilon <= 0.6
    assert audit.certified_epsilon == 0.6
    pi = [Fraction(p) for p in PRIOR.probabilities.tolist()]
    for j, outcome in enumerate(audit.outcomes):
        w = [int(x) for x in certified.weights[:, j]]
        exact = max(w) * sum(pi) / sum(p * x for p, x in zip(pi, w, strict=True))
        assert outcome.leakage == pytest.approx(math.log(exact), abs=1e-15)
    other = ex.Prior([0.2, 0.3, 0.5], PRIOR.labels)
    assert ex.audit(other, certified).epsilon > 0.6
    assert "certified for ε = 0.6" in audit.to_markdown()


def test_an_attribute_leaks_no_more_than_the_answer():
    about = ex.audit(PRIOR, SKEWED, attribute=lambda x: x != "never")
    assert about.prior.labels == (False, True)
    assert about.prior.probabilities == pytest.approx([0.5, 0.5])
    # P(high | ever) = (0.3 * 0.5 + 0.2) / 0.5 = 0.7, P(high) = 0.35
    assert about.epsilon == pytest.approx(math.log(2))
    mapped = ex.audit(PRIOR, SKEWED, attribute={"never": 0, "once": 1, "often": 1})
    assert mapped.epsilon == pytest.approx(about.epsilon)
    certified = ex.certify(PRIOR, SKEWED, ex.epsilon_pml(PRIOR, SKEWED))
    assert ex.audit(certified, attribute=lambda x: x != "never").epsilon == pytest.approx(about.epsilon)
    with refused(ex.errors.PriorError, "set of priors"):
        ex.audit(ex.PriorSet.l1_ball(PRIOR, 0.1), SKEWED, attribute=lambda x: x != "never")


@given(pairs(), st.data())
def test_an_attribute_leaks_no_more_than_the_answer_whatever_it_is(pair, data):
    prior, mechanism = pair
    values = data.draw(st.lists(st.integers(0, 2), min_size=prior.size, max_size=prior.size))
    if len(set(values)) < 2:
        return
    about = ex.audit(prior, mechanism, attribute=dict(enumerate(values)))
    assert np.all(about.leakage <= ex.pml(prior, mechanism) + 1e-12)
    # the same by hand: l(U→y) = log max_u P(u|y) / P(u)
    for j, outcome in enumerate(about.outcomes):
        if outcome.probability > 0:
            joint = prior.probabilities * mechanism.matrix[:, j]
            ratio = max(
                joint[[v == u for v in values]].sum()
                / joint.sum()
                / prior.probabilities[[v == u for v in values]].sum()
                for u in set(values)
            )
            assert outcome.leakage == pytest.approx(math.log(max(ratio, 1)), abs=1e-11)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ex.audit([0.5, 0.5], SKEWED), ex.errors.PriorError, "prior"),
        (lambda: ex.audit(PRIOR, np.eye(3)), ex.errors.MechanismError, "mechanism"),
        (lambda: ex.audit(ex.Prior.uniform(2), SKEWED), ex.errors.MechanismError, "2 and 3"),
        (lambda: ex.audit(PRIOR, SKEWED).guess_bound(1.5), ex.errors.OptionError, "before"),
        (lambda: ex.audit(PRIOR, SKEWED).tail(-1), ex.errors.EpsilonError, "epsilon"),
        (
            lambda: ex.audit(PRIOR, SKEWED, attribute={"never": 1}),
            ex.errors.MechanismError,
            "KeyError for 'once'",
        ),
        (lambda: ex.audit(PRIOR, SKEWED, attribute=lambda x: 1), ex.errors.PriorError, "[1]"),
        (
            lambda: ex.audit(PRIOR, SKEWED, attribute=lambda x: [x]),
            ex.errors.MechanismError,
            "TypeError for 'never'",
        ),
        (
            lambda: ex.audit(PRIOR, SKEWED, attribute=ex.Mechanism(np.eye(2))),
            ex.errors.MechanismError,
            "3 and 2",
        ),
    ],
)
def test_bad_input_is_refused_in_words(call, kind, words):
    with refused(kind, words):
        call()


# --- residue, and sets of priors ------------------------------------------------------------------


@pytest.mark.parametrize("left", [0.0, 1e-300, 1e-16, 1e-9, 9e-7])
def test_what_leaves_less_than_a_millionth_of_a_probability_rules_out(left):
    """P(never | high) / P(never) is `left`: a number that is positive protects nobody by that."""
    t = left * 0.35
    mechanism = ex.Mechanism([[1 - t, t], [0.5, 0.5], [0, 1]], PRIOR.labels, ["low", "high"])
    audit = ex.audit(PRIOR, mechanism)
    assert [o.excluded for o in audit.outcomes] == [("often",), ("never",)]
    found = {d.reports[0]: d for d in audit.disclosures}
    assert found["high"].possible == ("once", "often")
    assert found["high"].left == pytest.approx(left, rel=1e-5)
    assert found["low"].left == 0
    assert "every report rules out some answer" in str(audit)
    page = audit.to_markdown()
    assert "rules nothing out" not in page
    assert "Every report rules out some answer." in page
    sure = "certainly" if left == 0 else "almost certainly"
    assert f"the answer is {sure} one of “once”, “often”, which is true of 50 % of people" in page


def test_what_leaves_more_than_a_millionth_rules_nothing_out():
    t = 1.1e-6
    mechanism = ex.Mechanism([[1 - t, t], [0.5, 0.5], [t, 1 - t]], PRIOR.labels, ["low", "high"])
    audit = ex.audit(PRIOR, mechanism)
    assert audit.disclosures == ()
    assert "This mechanism rules nothing out" in audit.to_markdown()
    assert str(audit).endswith("certainty: no report rules out any answer")


def test_the_example_of_the_readme_says_that_reports_rule_answers_out():
    """Of its design for shares 171 of 364 entries were positive and below 1e-6 of the prior."""
    parties = ex.Prior.from_counts(
        {"SD": 200, "WD": 200, "ID": 100, "II": 50, "IR": 100, "WR": 150, "SR": 200}
    )
    mechanism = ex.design(parties, 0.7).mechanism
    for released in (mechanism, ex.certify(parties, mechanism, 0.7)):
        audit = ex.audit(parties, released)
        lifts = ex.measures.lift(parties, audit.mechanism)
        assert len(audit.disclosures) > 0
        assert "no report excludes any answer" not in str(audit)
        assert sum(len(o.excluded) for o in audit.outcomes) == np.count_nonzero(lifts < 1e-6)
    assert not np.any((lifts > 0) & (lifts < 1e-6))


def test_the_audit_of_a_certified_mechanism_is_that_of_its_prior():
    c = ex.certify(PRIOR, SKEWED, 1.2)
    assert ex.audit(c).to_dict() == ex.audit(PRIOR, c).to_dict()
    assert ex.audit(c).to_dict()["prior_set"] is None
    for wrong in ((PRIOR,), (c, SKEWED)):
        with refused(ex.errors.MechanismError, "audit"):
            ex.audit(*wrong)


def test_the_audit_over_a_set_of_priors_is_that_of_the_worst():
    priors = ex.PriorSet.l1_ball(PRIOR, 0.2)
    c = ex.certify(priors, SOFT, 0.5)
    audit = ex.audit(c)
    # Worst for "low" (0.6, 0.5, 0.4) is to move 0.1 from "never" to "often": 0.4, 0.3, 0.3; for "high" the reverse.
    assert audit.leakage == pytest.approx([math.log(0.6 / 0.51), math.log(0.6 / 0.45)], abs=1e-12)
    assert ex.audit(priors, SOFT).leakage == pytest.approx(audit.leakage, abs=1e-12)
    assert audit.epsilon > ex.audit(PRIOR, SOFT).epsilon
    assert audit.epsilon == pytest.approx(ex.epsilon_pml(priors, SOFT), abs=1e-12)
    assert audit.prior_set is c.prior_set
    first, second, _ = str(audit).splitlines()
    assert first.endswith("for every prior in the set (l1 ball of radius 0.2)")
    assert second.startswith("worst case under the nominal prior")
    page = audit.to_markdown()
    assert "This bound is attained" not in page
    assert "some prior of the set that was given (l1 ball of radius 0.2)" in page
    assert json.loads(audit.to_json())["prior_set"] == {
        "description": "l1 ball of radius 0.2",
        "confidence": 1,
        "evidence": False,
        "note": "",
    }


def test_a_set_from_a_sample_says_how_sure_it_is():
    priors = ex.PriorSet.from_counts([50, 30, 20], 0.9, labels=PRIOR.labels)
    assert "which holds the true one with confidence 0.9" in str(ex.audit(priors, SOFT))


def test_a_leakage_without_bound_is_refused_in_words():
    with refused(ex.errors.MechanismError, "'high'") as caught:
        ex.audit(
            ex.PriorSet.l1_ball(PRIOR, 2), ex.Mechanism([[1, 0], [1, 0], [0.5, 0.5]], outputs=["low", "high"])
        )
    assert "\n" not in str(caught.value)
