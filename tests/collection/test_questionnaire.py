"""What a full set of reports gives away, against enumeration of all answers and all reports in exact fractions."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import extremal as ex
from extremal.collection.designs import MOST_JOINT, choose, reason
from extremal.collection.published import Asked, item_prior, set_leakage, subsets_of
from extremal.collection.questionnaire import findings
from extremal.collection.survey import Joint, Question


def asked(name, mechanisms=(), kind="single", answers=("a", "b", "c")):
    return Asked(name, name, kind, answers, mechanisms=tuple(mechanisms))


def in_a_survey(question):
    """The question with mechanisms chosen for it, and why, in words."""
    form, mechanisms, times = choose(question)
    subsets = question.prior if form == "each" else None
    made = asked(question.name, mechanisms, "several", question.answers)
    made = replace(made, form=form, subsets=subsets, independent=question.independent)
    return made, reason(made, times)


def certified(prior, epsilon):
    return ex.certify(ex.design(prior, epsilon))


FIRST = certified(ex.Prior([0.5, 0.3, 0.2], ["a", "b", "c"]), 0.6)
SECOND = certified(ex.Prior([0.6, 0.4], ["x", "y"]), 0.4)
CLEAR = asked("age", kind="clear", answers=("young", "old"))
WEIGHTS = {
    ("a", "x", "young"): 8, ("a", "x", "old"): 3, ("a", "y", "young"): 2, ("a", "y", "old"): 4,
    ("b", "x", "young"): 1, ("b", "x", "old"): 6, ("b", "y", "young"): 3, ("b", "y", "old"): 2,
    ("c", "x", "young"): 2, ("c", "x", "old"): 1, ("c", "y", "young"): 4, ("c", "y", "old"): 5,
}  # fmt: skip
JOINT = Joint(("one", "two", "age"), ex.Prior.from_counts(WEIGHTS))


def likelihoods(clear=True):
    """P(everything that is sent | record) in fractions, for every record and everything that can be sent."""
    tables = []
    for c in (FIRST, SECOND):
        rows = {x: [Fraction(int(w), 1 << 62) for w in c.weights[i]] for i, x in enumerate(c.inputs)}
        tables.append(rows)
    sent = list(
        product(range(len(FIRST.outputs)), range(len(SECOND.outputs)), ("young", "old") if clear else (None,))
    )
    return {
        (record, y): tables[0][record[0]][y[0]]
        * tables[1][record[1]][y[1]]
        * (not clear or record[2] == y[2])
        for record in WEIGHTS
        for y in sent
    }, sent


def worst(secret, clear=True):
    """The largest log P(y|secret)/P(y), by enumeration."""
    table, sent = likelihoods(clear)
    total = sum(WEIGHTS.values())
    largest = Fraction(0)
    for y in sent:
        p_y = sum(Fraction(w, total) * table[r, y] for r, w in WEIGHTS.items())
        if p_y == 0:
            continue
        values = {secret(r) for r in WEIGHTS}
        for value in values:
            mass = sum(w for r, w in WEIGHTS.items() if secret(r) == value)
            given = sum(Fraction(w, mass) * table[r, y] for r, w in WEIGHTS.items() if secret(r) == value)
            largest = max(largest, given / p_y)
    return math.log(largest)


def test_leakages_of_independent_questions_add_up_exactly():
    found = findings((asked("one", [FIRST]), asked("two", [SECOND])), None, [])
    P, Q = FIRST.mechanism.matrix, SECOND.mechanism.matrix
    p, q = FIRST.prior.probabilities @ P, SECOND.prior.probabilities @ Q  # independent: products
    ratio = max(
        P[i, j] * Q[k, m] / (p[j] * q[m])
        for i, j, k, m in product(range(P.shape[0]), range(P.shape[1]), range(Q.shape[0]), range(Q.shape[1]))
    )
    assert found.epsilon == pytest.approx(math.log(ratio), abs=1e-12)
    assert found.epsilon == pytest.approx(FIRST.realised_epsilon + SECOND.realised_epsilon, abs=1e-9)
    assert "independent" in found.total
    assert any("can tell more about one answer" in text for text in found.warnings)
    assert not found.exact
    assert findings((asked("one", [FIRST]),), None, []).exact


def test_a_joint_prior_gives_what_enumeration_gives_with_answers_in_the_clear():
    found = findings((asked("one", [FIRST]), asked("two", [SECOND]), CLEAR), JOINT, [])
    assert found.epsilon == pytest.approx(worst(lambda r: r[:2]), abs=1e-12)
    by_name = {leakage.question: leakage for leakage in found.leakages}
    assert by_name["one"].all == pytest.approx(worst(lambda r: r[0]), abs=1e-12)
    assert by_name["two"].all == pytest.approx(worst(lambda r: r[1]), abs=1e-12)
    assert by_name["one"].all > by_name["one"].own
    assert found.exact
    assert not any("asked in the clear" in text or "independent" in text for text in found.warnings)


def test_a_joint_prior_of_private_questions_alone():
    two = Joint(("one", "two"), ex.Prior.from_counts({(r[0], r[1]): 0 for r in WEIGHTS} | _marginal()))
    found = findings((asked("one", [FIRST]), asked("two", [SECOND])), two, [])
    assert found.epsilon == pytest.approx(worst(lambda r: r[:2], clear=False), abs=1e-12)


def _marginal():
    sums = {}
    for (one, two, _), weight in WEIGHTS.items():
        sums[one, two] = sums.get((one, two), 0) + weight
    return sums


def test_a_question_outside_of_the_joint_prior_is_added():
    third = certified(ex.Prior([0.7, 0.3], ["p", "q"]), 0.3)
    questions = (asked("one", [FIRST]), asked("two", [SECOND]), CLEAR, asked("three", [third]))
    found = findings(questions, JOINT, [])
    assert found.epsilon == pytest.approx(worst(lambda r: r[:2]) + third.realised_epsilon, abs=1e-9)
    assert "if your answers to different questions are independent" in found.total
    assert not found.exact
    assert not any(leakage.exact or leakage.at_most for leakage in found.leakages)
    assert (
        found.sentences[1]
        == "Computed from the joint prior of one, two, age; three is added as if independent."
    )


def test_questions_in_the_clear_without_a_joint_prior_are_warned_of():
    found = findings((asked("one", [FIRST]), CLEAR), None, [])
    assert found.epsilon == pytest.approx(FIRST.realised_epsilon, abs=1e-9)
    assert any("age: asked in the clear" in text for text in found.warnings)
    alone = findings((CLEAR,), None, [])
    assert alone.epsilon == 0
    assert "every answer is sent as it is" in alone.sentences[0]


def test_a_joint_prior_with_too_many_combinations_gives_a_bound(monkeypatch):
    monkeypatch.setattr("extremal.collection.questionnaire.LARGEST", 10)
    found = findings((asked("one", [FIRST]), asked("two", [SECOND]), CLEAR), JOINT, [])
    assert not found.exact
    assert found.epsilon >= worst(lambda r: r[:2])
    assert "at most" in found.sentences[0]


HALVES = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["x", "y"], ["x", "y"])


def test_a_cross_table_with_other_shares_than_the_prior_hides_nothing_and_is_warned_of():
    two = asked("two", [ex.certify(ex.Prior([0.9, 0.1], ["x", "y"]), HALVES, 0.95)], answers=("x", "y"))
    even = dict.fromkeys(product(("x", "y"), ("young", "old")), 1)
    found = findings((two, CLEAR), Joint(("two", "age"), ex.Prior.from_counts(even)), [])
    (leakage,) = found.leakages  # 0.75 / 0.3 under its own prior, 0.75 / 0.5 under the table's
    assert leakage.own == pytest.approx(math.log(2.5), abs=1e-12)
    assert (leakage.all, found.epsilon) == (leakage.own, leakage.own)
    (warning,) = found.warnings
    assert "two: the cross table has a share of 50.0% for x, the question's prior 90.0%" in warning
    alike = {("x", "young"): 89, ("y", "old"): 11}
    assert not findings((two, CLEAR), Joint(("two", "age"), ex.Prior.from_counts(alike)), []).warnings
    rare = asked("one", [certified(ex.Prior([0.59, 0.4, 0.01], ["a", "b", "c"]), 0.3)])
    lacking = {("a", "young"): 6, ("b", "old"): 4}
    found = findings((rare, CLEAR), Joint(("one", "age"), ex.Prior.from_counts(lacking)), [])
    assert "a share of 0.0% for c, the question's prior 1.0%" in " ".join(found.warnings)


def test_the_most_that_dependent_answers_tell_holds_for_every_prior_of_a_set():
    """One prior of the set gives "y" 0.4 only: 0.75 / (0.6 / 4 + 0.4 * 3 / 4) = 5/3 and, if all is told, 1 / 0.4."""
    ball = ex.PriorSet.l1_ball(ex.Prior([0.5, 0.5], ["x", "y"]), 0.2)
    both = [asked(name, [ex.certify(ball, HALVES, 0.6)], answers=("x", "y")) for name in ("one", "two")]
    found = findings(tuple(both), None, [])
    assert found.leakages[0].own == pytest.approx(math.log(5 / 3), abs=1e-9)
    assert f"one {math.log(2.5):.3g}, two {math.log(2.5):.3g}." in " ".join(found.warnings)


def test_a_level_that_lets_the_answer_itself_through_is_warned_of():
    half = ex.Prior([0.5, 0.5], ["x", "y"])
    loose = ex.certify(half, ex.theory.randomized_response(half, 1.0), 0.8)  # log 2 is less
    found = findings((asked("two", [loose]),), None, [])
    assert any(text.startswith("WARNING: two: epsilon 0.8 is not below 0.6931") for text in found.warnings)
    ruling_out = findings((asked("one", [FIRST]),), None, [])
    assert any("rule answers out" in text for text in ruling_out.warnings)
    assert not any("WARNING" in text for text in ruling_out.warnings)


def test_a_report_that_leaves_one_answer_alone_is_warned_of():
    """A third of "x" gets a report of its own: a quarter of all, as 0.75 of people say "x"."""
    prior = ex.Prior([0.75, 0.2, 0.05], ["x", "y", "z"])
    telling = ex.Mechanism([[1 / 3, 2 / 3], [0, 1], [0, 1]], ["x", "y", "z"])
    found = findings((asked("one", [ex.certify(prior, telling, 0.3)]),), None, [])
    (warning,) = [text for text in found.warnings if text.startswith("WARNING")]
    assert "one: 25% of reports make an answer certain: “x”." in warning
    assert f"below {math.floor(1e4 * math.log(4 / 3)) / 1e4:g} none can" in warning


# Check all that apply


def several(shares, epsilon, prior=None):
    items = tuple(f"item {k}" for k in range(len(shares)))
    made = item_prior(list(shares)) if prior is None else prior
    return Question("q", "?", "several", items, epsilon=epsilon, prior=made, independent=prior is None)


def error_of_shares(prior, matrix, targets):
    """The sum of the variances of the best unbiased estimates, per report: t' (J^+ - pi pi') t."""
    pi = prior.probabilities
    keep = pi @ matrix > 0
    P, q = matrix[:, keep], (pi @ matrix)[keep]
    J = (P / q) @ P.T
    covariance = np.linalg.pinv(J, rcond=1e-10) - np.outer(pi, pi)
    return sum(float(t @ covariance @ t) for t in targets)


@pytest.mark.parametrize("shares", [(0.3, 0.1), (0.5, 0.5, 0.2)])
def test_the_form_with_the_smaller_error_at_equal_leakage_is_chosen(shares):
    question = several(shares, 1.0)
    made, note = in_a_survey(question)
    bits = np.array([[float(c) for c in label] for label in question.prior.labels])
    joint = ex.design(
        question.prior,
        1.0,
        ex.groups({str(k): [x for x in question.prior.labels if x[k] == "1"] for k in range(len(shares))}),
    )
    error_joint = error_of_shares(question.prior, joint.mechanism.matrix, bits.T)
    items = [ex.Prior([1 - s, s]) for s in shares]
    error_each = sum(
        error_of_shares(p, ex.design(p, 1.0 / len(shares)).mechanism.matrix, np.array([[0.0, 1.0]]))
        for p in items
    )
    assert made.form == ("joint" if error_joint <= error_each else "each")
    assert f"{max(error_joint, error_each) / min(error_joint, error_each):.2g} times" in note
    assert made.level <= 1.0
    assert "times" not in (reason(made, None) or "")


@pytest.mark.slow
def test_many_items_are_drawn_one_by_one_within_the_same_leakage():
    question = several([0.2] * (MOST_JOINT + 1), 2.0)
    made, note = in_a_survey(question)
    assert (made.form, len(made.mechanisms)) == ("each", MOST_JOINT + 1)
    assert sum(m.realised_epsilon for m in made.mechanisms) <= 2.0
    found = findings((made,), None, [note])
    assert found.epsilon == pytest.approx(2.0, abs=1e-6)
    assert found.epsilon == pytest.approx(by_enumeration(question.prior, made.mechanisms), abs=1e-9)
    assert "q: items are taken to be independent of each other" in " ".join(found.warnings)
    assert found.total.endswith("This holds if what you choose is independent from item to item.")


def by_enumeration(prior, mechanisms):
    """The largest log P(y|x)/P(y) over all subsets x and all reports y, in fractions."""
    weights = [[[Fraction(int(w), 1 << 62) for w in row] for row in m.weights] for m in mechanisms]
    masses = {x: Fraction(p) for x, p in zip(prior.labels, prior.probabilities.tolist(), strict=True)}
    largest = Fraction(0)
    for y in product(*(range(len(m.outputs)) for m in mechanisms)):
        given = {
            x: math.prod(
                w[m.inputs.index("yes" if bit == "1" else "no")][k]
                for w, m, bit, k in zip(weights, mechanisms, x, y, strict=True)
            )
            for x in masses
        }
        largest = max(largest, max(given.values()) / sum(masses[x] * given[x] for x in masses))
    return math.log(largest)


def test_items_drawn_one_by_one_leak_what_enumeration_under_the_prior_of_subsets_gives():
    """Items that exclude each other: if they were independent the reports would tell a third less."""
    items = MOST_JOINT + 1
    counts = {x: {0: 300, 1: 100}.get(x.count("1"), 0) + 0.01 for x in subsets_of(items)}
    question = several([0] * items, 1.0, ex.Prior.from_counts(counts))
    made, note = in_a_survey(question)
    found = findings((made,), None, [note])
    assert found.epsilon == pytest.approx(by_enumeration(question.prior, made.mechanisms), abs=1e-9)
    assert found.epsilon > sum(m.realised_epsilon for m in made.mechanisms) + 0.3
    assert f"{math.ceil(100 * math.exp(found.epsilon)) / 100:g} times" in found.total
    assert "independent" not in found.total + " ".join(found.warnings)


def test_items_that_depend_on_each_other_leak_epsilon_together(monkeypatch):
    prior = ex.Prior([0.55, 0.05, 0.1, 0.3], ["00", "01", "10", "11"])
    monkeypatch.setattr("extremal.collection.designs.MOST_JOINT", 1)
    _, mechanisms, _ = choose(several([0.4, 0.35], 1.0, prior))
    together = set_leakage(prior, mechanisms)
    assert 0.99 < together <= 1.0
    table = {}
    for y in product(range(2), range(2)):
        P = [
            mechanisms[0].mechanism.matrix[int(x[0]), y[0]] * mechanisms[1].mechanism.matrix[int(x[1]), y[1]]
            for x in prior.labels
        ]
        table[y] = math.log(max(P) / float(prior.probabilities @ P))
    assert together == pytest.approx(max(table.values()), abs=1e-12)
