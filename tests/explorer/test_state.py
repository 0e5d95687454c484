"""How the explorer reads priors: what people paste, and what is in their files."""

import pytest

import extremal as ex

pytest.importorskip("starlette")

from extremal.explorer import state
from tests.support.wording import refused

THREE = "never, 0.5\nonce, 0.3\noften, 0.2"
PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})


@pytest.mark.parametrize(
    "text",
    [
        THREE,
        "never 0.5\nonce 0.3\noften 0.2",
        "never: 50%\nonce: 30%\noften: 20%",
        "never=0.5, once=0.3, often=0.2",
        "never 0.5; once 0.3; often 0.2",
        '"never", 50 %\n"once", 30 %\n"often", 20 %',
        "never\t1/2\nonce\t3/10\noften\t1/5\n\n",
        '{"never": 0.5, "once": 0.3, "often": 0.2}',
        '{"labels": ["never", "once", "often"], "probabilities": [0.5, 0.3, 0.2]}',
        '[{"label": "never", "probability": 0.5}, {"label": "once", "p": 0.3}, {"label": "often", "p": 0.2}]',
        "never, 50\nonce, 30\noften, 20",
    ],
)
def test_a_prior_is_read_in_every_form_that_people_paste(text):
    prior = state.learned(text).prior
    assert prior.labels == PRIOR.labels
    assert prior.probabilities == pytest.approx(PRIOR.probabilities, abs=1e-15)


@pytest.mark.parametrize("text", ["0.5 0.3 0.2", "0.5, 0.3, 0.2", "0.5\n0.3\n0.2", "[0.5, 0.3, 0.2]"])
def test_numbers_alone_are_a_prior_on_0_1_2(text):
    assert state.learned(text).prior == ex.Prior([0.5, 0.3, 0.2])


def test_labels_that_are_all_integers_are_integers_and_others_are_text():
    assert state.learned("1, 0.5\n2, 0.5").prior.labels == (1, 2)
    assert state.learned("01, 0.5\n2, 0.5").prior.labels == ("01", "2")


def test_counts_can_be_forced_and_smoothed():
    found = state.learned("a, 0.5\nb, 0", "counts", 1)
    assert found.prior == ex.Prior.from_counts({"a": 0.5, "b": 0}, pseudocount=1)
    assert "1 added" in state.words(found)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("a, 0.5\nb, 0.2", lambda: ex.Prior({"a": 0.5, "b": 0.2})),
        ("a, 1.5\nb, -0.5", lambda: ex.Prior({"a": 1.5, "b": -0.5})),
        ("a, 0.5\na, 0.5", lambda: ex.Prior([0.5, 0.5], ["a", "a"])),
        ("a, 10\nb, 0", lambda: ex.Prior.from_counts({"a": 10, "b": 0})),
        ("a, 1", lambda: ex.Prior({"a": 1})),
        ("a, nan\nb, 0.5", lambda: ex.Prior({"a": float("nan"), "b": 0.5})),
    ],
)
def test_an_invalid_prior_gives_the_library_s_own_message(text, call):
    with pytest.raises(ex.errors.PriorError) as expected:
        call()
    with pytest.raises(ex.errors.PriorError) as found:
        _ = state.learned(text).prior
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "text", ["", "   ", "hello", "a b c\nd", "{", "[1, 2", '{"a": "x"}', "[[1]]", '{"a": NaN}', "\x00\x01"]
)
def test_what_is_no_prior_is_refused_with_a_message(text):
    with pytest.raises(ex.errors.ExtremalError):
        _ = state.learned(text).prior


def test_more_answers_than_the_explorer_is_for_are_refused():
    with refused(ex.errors.SizeError, "1000"):
        _ = state.learned(" ".join(["0.0001"] * 1001)).prior


def test_an_uploaded_column_of_answers_is_counted():
    text = "id,answer,city\n1,yes,A\n2,no,B\n3,yes,C\n4,,D\n"
    found = state.read_upload("survey.csv", text)
    assert (found.column, found.columns) == ("answer", ["id", "answer", "city"])
    assert found.text == "no, 1\nyes, 2"
    assert "1 empty" in found.words
    assert state.read_upload("survey.csv", text, "city").text == "A, 1\nB, 1\nC, 1\nD, 1"


@pytest.mark.parametrize(
    "text",
    ["label,probability\na,0.25\nb,0.75\n", "a;0.25\nb;0.75", "n,label\n1,a\n3,b\n", "\ufeffa,1\nb,3\n"],
)
def test_an_uploaded_table_of_labels_and_numbers_is_a_prior(text):
    found = state.read_upload("prior.csv", text)
    prior = state.learned(found.text, found.kind).prior
    assert prior == ex.Prior({"a": 0.25, "b": 0.75})


def test_an_uploaded_mechanism_file_gives_its_prior():
    text = ex.certify(PRIOR, ex.design(PRIOR, 0.6).mechanism, 0.6).to_json()
    found = state.read_upload("mechanism.json", text)
    assert state.learned(found.text).prior == PRIOR


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", ""),
        ("a.csv", "x,x\n1,2\n"),
        ("a.csv", "answer\nyes\nyes\n"),
        ("a.csv", '"open'),
        ("a.csv", "\x00\x01"),
        ("a.json", "not json"),
    ],
)
def test_a_hostile_file_is_refused_with_a_message(name, text):
    with pytest.raises(ex.errors.ExtremalError):
        state.read_upload(name, text)


def test_a_file_of_answers_is_a_release_and_a_table_of_shares_is_not():
    counted = state.read_upload("survey.csv", "answer\nyes\nno\nyes\n")
    assert counted.warning.startswith("These shares were counted from survey.csv, and the mechanism file")
    assert state.read_upload("prior.csv", "a,0.25\nb,0.75\n").warning == ""


def test_two_columns_are_counted_as_one_secret():
    text = "party,vote\nleft,yes\nleft,no\nright,yes\nleft,yes\n,no\n"
    found = state.read_upload("survey.csv", text, "party", "vote")
    assert found.text == "left | no, 1\nleft | yes, 2\nright | yes, 1"
    prior = state.learned(found.text).prior
    assert prior == ex.Prior({("left", "no"): 0.25, ("left", "yes"): 0.5, ("right", "yes"): 0.25})


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("1 | a, 1\n2 | b, 1", ((1, "a"), (2, "b"))),
        ("a | b, 1\nc, 1", ("a | b", "c")),  # not every label is a pair
        ("a | b, 1\na | b | c, 1", ("a | b", "a | b | c")),
    ],
)
def test_labels_are_pairs_if_all_are_written_as_pairs(text, labels):
    assert state.learned(text).prior.labels == labels


def test_a_set_of_priors_needs_counts_as_they_are():
    found = state.learned("a, 30\nb, 70").prior_set(0.95)
    assert found.nominal == ex.Prior({"a": 0.3, "b": 0.7})
    for text, added in (("a, 0.3\nb, 0.7", 0.0), ("a, 30\nb, 70", 1.0)):
        with pytest.raises(ex.errors.PriorError):
            state.learned(text, "auto", added).prior_set(0.95)
