"""A list of answers in a CSV file."""

import pytest

from extremal.errors import FormatError
from extremal.lists.answers import plain, read_answers
from tests.support.wording import refused


def test_a_list_says_how_common_answers_are_how_else_they_are_written_and_their_groups():
    read = read_answers(
        'answer,count,also,group\nŁódź,600,Lodz|Lodsch,North|City\n 東京 ,0,,City\n"a, b",25%,,\n'
    )
    assert read.labels == ("Łódź", "東京", "a, b")
    assert read.counts == (600, 0, 0.25)
    assert read.also == (("Lodz", "Lodsch"), (), ())
    assert read.groups == {"North": ["Łódź"], "City": ["Łódź", "東京"]}
    assert read.prior(1.0).probabilities.tolist() == pytest.approx([601 / 603.25, 1 / 603.25, 1.25 / 603.25])


@pytest.mark.parametrize("text", ["مكة\nLyon\n", "\ufeffanswer\nمكة\nLyon", "Label\r\n\r\nمكة\r\n  Lyon\r\n"])
def test_a_file_of_one_column_may_leave_out_its_name(text):
    read = read_answers(text)
    assert read.labels == ("مكة", "Lyon")
    assert read.counts is None
    assert read.prior() is None


def test_texts_that_look_alike_are_one():
    assert plain("Cafe\u0301  au\tlait") == "Café au lait"
    with refused(FormatError, "line 3"):
        read_answers("answer\nCafe\u0301\nCafé\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing"),
        ("only", "1"),
        ("Lyon,5\nNice,3", "Lyon,5"),
        ("answer,town\na,b\nc,d", "answer,town"),
        ("answer,label\na,b\nc,d", "answer,label"),
        ("answer,count\na,1\nb", "line 3"),
        ("answer,count\na,1\nb,many", "line 3"),
        ("answer,count\na,1\nb,-1", "line 3"),
        ("answer,count\na,inf\nb,1", "line 2"),
        ("answer,also\na,x\n ,y", "line 3"),
        ("answer\na\nb\nc\nd", "2 to 3"),
    ],
)
def test_what_is_no_list_is_refused_by_its_line(text, says):
    with refused(FormatError, says):
        read_answers(text, most=3)
