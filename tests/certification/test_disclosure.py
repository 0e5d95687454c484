"""Mechanisms that disclose the true answers are refused wherever reports are drawn, unless somebody asks for them."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.certification.certified import Certified, load
from extremal.errors import CertificationError, DisclosureError, DisclosureWarning
from extremal.model.blocks import BlockMechanism, Blocks
from extremal.model.leakage import doubt
from tests.support import wording
from tests.support.strategies import pairs

FAIR = ex.Prior({"yes": 0.5, "no": 0.5})


def lying(wrong):
    """The true answer, but for this chance of the other one."""
    return ex.Mechanism([[1 - wrong, wrong], [wrong, 1 - wrong]], FAIR.labels, FAIR.labels)


TRUTH = ex.certify(FAIR, lying(0), 1.0, allow_true_answers=True)


@given(pairs())
def test_doubt_is_the_chance_of_a_wrong_guess_and_disclosed_where_a_tenth_is_left(pair):
    """By enumeration of all ways to guess the answer from the report, in exact fractions."""
    prior, mechanism = pair
    pi = [Fraction(p) for p in prior.probabilities.tolist()]
    joint = [[p * Fraction(x) for x in row] for p, row in zip(pi, mechanism.matrix.tolist(), strict=True)]
    before = sum(pi) - max(pi)
    after = sum(sum(column) - max(column) for column in zip(*joint, strict=True))
    found = doubt(prior, mechanism)
    assert found.before == pytest.approx(float(before), rel=1e-12)
    assert found.after == pytest.approx(float(after), rel=1e-9, abs=1e-300)
    if abs(after - before / 10) > Fraction(1, 10**9):
        assert found.disclosed == (after < before / 10)
    assert found.fully == (after == 0)


@pytest.mark.parametrize(
    ("prior", "matrix", "disclosed", "fully"),
    [
        ([0.5, 0.5], [[1, 0], [0, 1]], True, True),
        ([0.5, 0.3, 0.2], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], True, True),  # by other names
        ([0.5, 0.5], [[0.4, 0.6, 0, 0], [0, 0, 0.9, 0.1]], True, True),  # every report by one answer alone
        ([0.5, 0.3, 0.2], np.full((3, 3), 0.0005) + 0.9985 * np.eye(3), True, False),  # a diagonal of 99.9%
        ([0.5, 0.5], [[0.951, 0.049], [0.049, 0.951]], True, False),
        ([0.5, 0.5], [[0.949, 0.051], [0.051, 0.949]], False, False),
        ([0.999999, 1e-6], [[1, 0], [0, 1]], True, True),  # however little doubt there was
        ([0.999999, 1e-6], [[1, 0], [1e-3, 0.999]], True, False),
        ([0.999, 0.001], [[0.999, 0.001], [0.001, 0.999]], False, False),  # a rare answer is even odds then
        ([0.9, 0.04, 0.06], [[1, 0], [0, 1], [0, 1]], False, False),  # one common answer told, the others not
        ([0.5, 0.3, 0.2], [[1], [1], [1]], False, False),
    ],
)
def test_what_counts_as_disclosed(prior, matrix, disclosed, fully):
    known = ex.Prior(prior)
    mechanism = ex.Mechanism(matrix)
    found = doubt(known, mechanism)
    assert (found.disclosed, found.fully) == (disclosed, fully)
    if disclosed:
        with pytest.raises(DisclosureError) as caught:
            ex.certify(known, mechanism, 20.0)
        assert caught.value.parameter == "mechanism"
        assert "allow_true_answers=True" in caught.value.remedy
    assert ex.certify(known, mechanism, 20.0, allow_true_answers=True).doubt.disclosed == disclosed


def test_the_paper_s_best_designs_are_refused_only_near_full_disclosure():
    """They may tell an answer of a share above e^-epsilon for certain; most of the others then stay in doubt."""
    prior = ex.Prior([0.7, 0.2, 0.07, 0.03])
    for epsilon, refused in ((0.36, False), (0.7, False), (1.5, False), (3.4, True), (3.6, True)):
        made = ex.design(prior, epsilon, ex.mutual_information)
        if epsilon > -math.log(0.7):
            assert (np.count_nonzero(made.mechanism.matrix > 0, axis=0) == 1).any()  # some report tells it
        assert made.doubt.disclosed == refused
        if refused:
            with pytest.raises(DisclosureError):
                ex.certify(made)
        else:
            ex.certify(made)


def test_a_level_that_allows_everything_is_not_refused_if_reports_protect():
    loose = ex.certify(FAIR, ex.theory.randomized_response(FAIR, 1.0), 5.0)
    assert set(loose.privatize(["yes", "no"])) <= {"yes", "no"}


def test_a_mechanism_that_leaks_more_than_epsilon_is_not_certified_whoever_asks():
    with pytest.raises(CertificationError):
        ex.certify(FAIR, lying(0), 0.6, allow_true_answers=True)


def test_a_column_that_is_told_among_several_is_disclosed():
    """Sex is copied and party hidden: under the prior of pairs three quarters of the doubt are left."""
    pairs_ = [(sex, party) for sex in "mf" for party in "abcd"]
    matrix = np.kron(np.eye(2), np.full((4, 4), 0.25))
    prior = ex.Prior.uniform(pairs_)
    with wording.refused(DisclosureError, "mechanism", "true value of column 1"):
        ex.certify(prior, ex.Mechanism(matrix, pairs_, pairs_), 1.0)
    told = ex.certify(prior, ex.Mechanism(matrix, pairs_, pairs_), 1.0, allow_true_answers=True)
    frame = pd.DataFrame({"sex": ["m", "f"] * 9, "party": ["a", "b"] * 9})
    with wording.refused(DisclosureError, "mechanism", "true value of column 1"):
        ex.privatize(frame, {("sex", "party"): told})
    drawn = ex.privatize(frame, {("sex", "party"): told}, allow_true_answers=True)
    assert (drawn["sex"] == frame["sex"]).all()


def test_of_blocks_the_answers_within_stay_hidden():
    prior = ex.Prior([0.4, 0.1, 0.3, 0.2], list("abcd"))
    told = ex.Mechanism(np.eye(2))
    within = BlockMechanism(Blocks(prior.labels, [0, 0, 1, 1]), ex.Mechanism(told.matrix, None, None))
    found = doubt(prior, within)
    assert (found.before, found.after) == (pytest.approx(0.6), pytest.approx(0.3))
    dense = ex.Mechanism(np.repeat(np.eye(2), 2, axis=0))
    told_as_matrix = doubt(ex.Prior(prior.probabilities), dense)
    assert (found.before, found.after) == pytest.approx((told_as_matrix.before, told_as_matrix.after))
    single = BlockMechanism(Blocks(("a", "b"), [0, 1]), told)
    assert doubt(ex.Prior([0.5, 0.5], ["a", "b"]), single).fully


def test_nothing_draws_true_answers_unasked(tmp_path):
    """Whoever made the file has asked for it; whoever uses it has to ask, too."""
    TRUTH.save(tmp_path / "m.json")
    c = load(tmp_path / "m.json")
    values, codes = ["yes", "no"], np.array([0, 1])
    frame = pd.DataFrame({"answer": values})
    (tmp_path / "s.csv").write_text("answer\nyes\nno\n")
    target = tmp_path / "p.csv"
    calls = {
        "list": lambda **how: c.privatize(values, **how),
        "codes": lambda **how: c.privatize_codes(codes, **how).tolist(),
        "frame": lambda **how: ex.privatize(frame, {"answer": c}, **how)["answer"].tolist(),
        "file": lambda **how: ex.privatize(tmp_path / "s.csv", {"answer": c}, target=target, **how).rows,
    }
    expected = {"list": values, "codes": [0, 1], "frame": values, "file": 2}
    for name, call in calls.items():
        with wording.refused(DisclosureError, "mechanism", "every report tells the true answer"):
            call()
        assert call(allow_true_answers=True) == expected[name]
    assert target.read_text() == Path(tmp_path / "s.csv").read_text()


def test_a_step_of_a_pipeline_refuses_true_answers(tmp_path):
    pytest.importorskip("sklearn")
    from extremal.sklearn import Privatizer

    key = tmp_path / "k"
    ex.keys.write(key)
    frame = pd.DataFrame({"id": [1, 2], "answer": ["yes", "no"]})
    how = {"keyed": ex.Keyed(key, "id")}
    with pytest.raises(DisclosureError):
        Privatizer({"answer": TRUTH}, **how).fit_transform(frame)
    told = Privatizer({"answer": TRUTH}, **how, allow_true_answers=True).fit_transform(frame)
    assert told["answer"].tolist() == ["yes", "no"]


def test_a_design_that_discloses_is_returned_with_a_warning_and_says_so_first():
    with pytest.warns(DisclosureWarning, match="disclose the true answers") as caught:
        made = ex.design(FAIR, 0.7)
    assert caught[0].filename == __file__
    assert caught[0].message.given == "every report tells the true answer"
    assert caught[0].message.remedy == "choose a smaller epsilon"
    assert str(made).splitlines()[0] == "no protection: every report tells the true answer"
    assert "no protection" not in str(ex.design(FAIR, 0.6))
    ex.tradeoff(FAIR, [0.1, 0.7])  # a series of designs does not warn


@pytest.mark.filterwarnings("error")
def test_designs_that_protect_do_not_warn_and_series_do_not_either():
    ex.design(FAIR, 0.6)
    ex.tradeoff(FAIR, [0.1, 0.7])
    ex.compare(FAIR, 0.7)


@pytest.mark.parametrize("wrong", [0.0, 0.001])
def test_an_audit_says_first_that_nothing_is_protected(wrong):
    made = ex.audit(FAIR, lying(wrong))
    said = made.to_dict()["disclosed"]
    assert str(made).splitlines()[0] == f"no protection: {said}"
    text = made.to_markdown()
    assert "This mechanism protects nobody" in text
    assert "is replaced by a random report" not in text
    assert ex.audit(FAIR, lying(0.2)).to_dict()["disclosed"] is None


@given(st.floats(0, 0.5), st.floats(0.01, 0.99))
def test_the_words_never_round_to_certainty(wrong, share):
    found = doubt(ex.Prior([share, 1 - share]), lying(wrong))
    assert ("every report tells" in str(found)) == (wrong == 0)
    assert ("100%" in str(found)) <= (wrong == 0)


def test_building_or_loading_is_not_drawing():
    again = Certified.from_json(TRUTH.to_json())
    assert again == TRUTH
    assert ex.audit(again).doubt.fully
