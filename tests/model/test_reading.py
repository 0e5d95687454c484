"""Priors and counts from text: one grammar for command line and explorer."""

from fractions import Fraction

import pytest

import extremal as ex
from extremal.errors import ExtremalError, FormatError, PriorError, ValuesError
from extremal.model.reading import csv_rows, labelled, read_counts, read_table, split_labels
from tests.support.wording import refused

NAMED = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})


@pytest.mark.parametrize(
    "text",
    [
        "never=0.5,once=0.3,often=0.2",
        "never: 50%, once: 30%, often: 20%",
        "never=50%,once=30%,often=20%",
        "never, 0.5\nonce, 0.3\noften, 0.2\n",
        "never\t0.5\r\nonce\t3/10\r\noften\t20 %",
        '{"never": 0.5, "once": 0.3, "often": 0.2}',
        '{"labels": ["never", "once", "often"], "probabilities": [0.5, 0.3, 0.2]}',
        '[{"label": "never", "probability": 0.5}, {"label": "once", "p": 0.3}, {"label": "often", "p": 0.2}]',
        '\ufeff{"prior": {"never": 0.5, "once": 0.3, "often": 0.2}, "epsilon": 1}',
    ],
)
def test_every_form_of_a_prior_is_read_the_same(text):
    prior = read_table(text).prior()
    assert prior.labels == NAMED.labels
    assert prior.probabilities == pytest.approx(NAMED.probabilities, abs=1e-15)


def test_labels_keep_their_type():
    assert read_table("1=0.5,2=0.5").labels == [1, 2]
    assert read_table("01=0.5,2=0.5").labels == ["01", "2"]
    assert read_table("x=1=0.5, y z=0.5").labels == ["x=1", "y z"]
    assert read_table('[{"label": ["f", 20], "p": 0.5}, {"label": ["m", 20], "p": 0.5}]').labels == [
        ("f", 20),
        ("m", 20),
    ]
    assert read_counts("1,5\n2,7\n") == {1: 5, 2: 7}
    assert read_counts('[{"label": "a", "count": 5}, {"label": 2, "n": 7}]') == {"a": 5, 2: 7}


def test_percentages_are_divided_exactly():
    found = read_table("a=33%,b=33%,c=33%").numbers
    assert found == [float(Fraction(1, 3))] * 3
    assert read_table("12.5%, 87.5%").numbers == [0.125, 0.875]
    assert read_table("a=33.3%,b=33.3%,c=33.3%").numbers == [float(Fraction(1, 3))] * 3
    assert read_table("a=50%,b=0.5").numbers == [0.5, 0.5]


@pytest.mark.parametrize("text", ["a=50%,b=40%", "70%,70%", "a=33.3%,b=33.3%,c=33.1%"])
def test_percentages_that_rounding_does_not_explain_are_refused(text):
    with pytest.raises(PriorError, match=r"got .*%"):
        read_table(text)


@pytest.mark.parametrize(
    "text",
    [
        *[
            "",
            " ",
            "a=0.5,0.5",
            "hello",
            "[",
            "[[1]]",
            '{"a": "x"}',
            '{"a": NaN}',
            '{"a": 1, "a": 1}',
            "nan%,1%",
        ],
        *['[{"label": "a"}]', '[{"p": 1}]', "[1, {}]", "1e999999999%,1%", "1e-999999999%,1%", "\0"],
    ],
)
def test_what_is_not_a_prior_is_refused_in_one_line(text):
    with pytest.raises(ExtremalError) as caught:
        read_table(text).prior()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        "never,120\nonce,30\n",
        "answer;count\nnever;120\nonce;30",
        "never\t120\n\nonce\t30\n",
        '"never",120\n"once",30',
        '{"never": 120, "once": 30}',
        '[{"label": "never", "count": 120}, {"label": "once", "n": 30}]',
    ],
)
def test_every_form_of_counts_is_read_the_same(text):
    assert read_counts(text) == {"never": 120, "once": 30}


def test_counts_that_are_none_are_refused_and_say_where():
    for text, says in (
        ("a,1\nb,x\n", "line 2"),
        ("a,1\na,2\n", "again in line 2"),
        ("a,1,2\n", "line 1"),
        ("[1, 2]", "numbers alone"),
        ('[{"label": "a", "n": 1}, {"label": "a", "n": 2}]', "'a' again"),
    ):
        with pytest.raises(PriorError, match=says):
            read_counts(text)
    with pytest.raises(FormatError, match="line 1"):
        read_counts('"open,1\n')
    with pytest.raises(PriorError, match="one character"):
        read_counts("a,1", delimiter=";;")


def test_a_table_of_labels_and_numbers_is_told_from_data():
    assert labelled(csv_rows("n,label\n1,a\n3,b\n")).labels == ["a", "b"]
    assert labelled(csv_rows("a;70%\nb;30%\n")).numbers == [0.7, 0.3]
    assert labelled(csv_rows("sex,age\nf,20\nf,30\n")) is None
    assert labelled(csv_rows("id,sex,age\n1,f,20\n")) is None


def test_labels_split_at_commas_but_not_inside_quotes():
    assert split_labels('"yes, often", no') == ["yes, often", "no"]
    with pytest.raises(ValuesError, match="quotes"):
        split_labels('"open')


@pytest.mark.parametrize(
    "text",
    [
        "a: 70%, b: 30%",
        "a:70 %\nb:30 %",
        "a 70% b 30%",
        "a = 70 %; b = 30 %",
        "a=70,b=30",
        '{"a": 70, "b": 30}',
        "a=69.95%,b=29.979%",  # 99.93 % of which 70 % is a's
    ],
)
def test_percentages_are_read_however_they_are_written(text):
    prior = read_table(text).prior()
    assert prior.labels == ("a", "b")
    assert prior.probabilities.tolist() == pytest.approx([0.7, 0.3], abs=1e-4)
    assert prior.probabilities.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("text", ["70 % 30 %", "70% 30%", "70,30", "70 %, 30 %", "69.93,29.97"])
def test_percentages_without_labels(text):
    assert read_table(text).prior().probabilities.tolist() == pytest.approx([0.7, 0.3])


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("50.00%,49.80%", "99.8%"),
        ("50.00%,50.20%", "100.2%"),
        ("a: 70,5 %; b: 29,5 %", "5%"),
        ("70,30.2", "100.2"),
    ],
)
def test_percentages_that_are_far_from_100_are_refused(text, given):
    with pytest.raises(PriorError) as caught:
        read_table(text).prior()
    assert given in caught.value.given


@pytest.mark.parametrize(
    ("text", "write"),
    [
        ("never;0,5\nonce;0,45\noften;0,05", "0.5"),
        ("answer;share\nnever;0,5\nonce;0,5", "0.5"),
        ("never\t0,50\nonce\t0,45\noften\t0,05", "0.50"),
        ("never 0,50\nonce 0,45\noften 0,05", "0.50"),
        ("never: 10,50 %\nonce: 89,50 %", "10.50%"),
        ("never,0,45\nonce,0,55", "0.45"),
        ("never;1,200\nonce;800", "1200"),
        ("never,1 200\nonce,800", "1200"),
    ],
)
def test_commas_in_numbers_are_refused_and_never_read_as_parts_of_labels(text: str, write: str) -> None:
    with refused(PriorError, write):
        read_counts(text)
    if not text.startswith("answer"):
        with refused(PriorError, write):
            read_table(text)


def test_commas_that_separate_labels_from_numbers_are_read() -> None:
    assert read_counts("age 20,50\nage 30,60") == {"age 20": 50, "age 30": 60}
    assert read_counts("10:30,50\n11:30,60") == {"10:30": 50, "11:30": 60}
    assert read_counts("a;b,5\nc;d,6") == {"a;b": 5, "c;d": 6}
    assert read_counts("a,b;5\nc,d;6") == {"a,b": 5, "c,d": 6}
    assert read_table("age 20,50%\nage 30,50%").labels == ["age 20", "age 30"]
    with refused(PriorError, "1200"):
        read_counts('answer,count\nnever,"1,200"\nonce,5')
    with pytest.raises(PriorError, match=r"0\.5"):
        labelled(csv_rows("a;0,5\nb;0,5\n"))
    with pytest.raises(PriorError, match=r"0\.5"):
        labelled(csv_rows("a|0,5\nb|0,5\n"))
    for first in ("a,1 200", "a;1.200,0", "a;1'200"):  # no header
        with pytest.raises(PriorError, match="write 1200"):
            read_counts(f"{first}\nb{first[1]}5")
    assert read_counts("age,count\n70,50\n29,50") == {70: 50, 29: 50}
